// What boxes and rows of tables stand for: functions of an image, and what is not a function: processes, threads, why a stack
// ends early.

import { NONE } from "./decode.js";
import { formatAddress } from "./format.js";

/** @typedef {import("./profile.js").Profile} Profile */

/** Kinds of entities; those of images first. */
export const KINDS = /** @type {const} */ ([
  "program",
  "library",
  "kernel",
  "jit",
  "vdso",
  "type",
  "unnamed",
  "broken",
  "process",
  "thread",
  "empty",
]);

/** @type {Record<string, number>} */
export const KIND = Object.fromEntries(KINDS.map((name, i) => [name, i]));

/**
 * The functions of a profile, as ``report`` tells them apart: by name and image. One without a name is told apart by its start,
 * and named file+0xstart. Behind the functions are threads, processes, reasons why stacks end early, and samples without a
 * frame.
 */
export class Entities {
  /** @param {Profile} profile */
  constructor(profile) {
    this.profile = profile;
    /** Short names of images; the path where two have the same short name. @type {string[]} */
    this.imageLabels = imageLabels(profile);
    /** @type {string[]} */
    this.names = [];
    /** As "name@image": how addresses and the state refer to a function. @type {string[]} */
    this.keys = [];
    /** @type {number[]} */
    const images = [];
    /** @type {number[]} */
    const kinds = [];
    /** @type {number[]} */
    const functions = [];
    /** @type {Map<string, number>} */
    this.byKey = new Map();
    const add = (/** @type {string} */ name, /** @type {number} */ image, /** @type {number} */ kind, /** @type {number} */ number) => {
      const key = image === NONE ? name : `${name}@${this.imageLabels[image]}`;
      const known = this.byKey.get(key);
      if (known !== undefined) return known;
      const entity = this.names.length;
      this.byKey.set(key, entity);
      this.names.push(name);
      this.keys.push(key);
      images.push(image);
      kinds.push(kind);
      functions.push(number);
      return entity;
    };
    const kindOf = (/** @type {number} */ image) => (image === NONE ? KIND.program : (KIND[profile.images[image].kind] ?? KIND.library));
    const count = profile.functionNames.length;
    /** The entity of each function of the profile. */
    this.ofFunction = new Uint32Array(count);
    for (let i = 0; i < count; i++) {
      const image = profile.function.image[i] < profile.images.length ? profile.function.image[i] : NONE;
      const name = profile.functionNames[i];
      const start = `${image === NONE ? "" : this.imageLabels[image]}+${formatAddress(profile.function.address[i])}`;
      const kind = kindOf(image);
      const bare = name === null || name === undefined;
      const nameless = bare || (profile.function.flags[i] & 1) !== 0;
      this.ofFunction[i] = add(bare ? start : name, image, nameless && kind !== KIND.kernel ? KIND.unnamed : kind, i);
    }
    const frames = profile.frame.function.length;
    /** The entity of each frame. */
    this.ofFrame = new Uint32Array(frames);
    for (let i = 0; i < frames; i++) {
      const number = profile.frame.function[i];
      if (number < count) this.ofFrame[i] = this.ofFunction[number];
      else {
        const image = profile.frame.image[i] < profile.images.length ? profile.frame.image[i] : NONE;
        this.ofFrame[i] = add("[unknown]", image, image !== NONE && kindOf(image) === KIND.kernel ? KIND.kernel : KIND.unnamed, NONE);
      }
    }
    /** Number of entities that are functions. */
    this.functions = this.names.length;
    const pseudo = (/** @type {string} */ name, /** @type {string} */ key, /** @type {number} */ kind) => {
      this.names.push(name);
      this.keys.push(key);
      this.byKey.set(key, this.names.length - 1);
      images.push(NONE);
      kinds.push(kind);
      functions.push(NONE);
    };
    this.firstThread = this.names.length;
    for (const thread of profile.threads) {
      const name = thread.name ?? "[unknown]";
      pseudo(`${name} (thread ${thread.tid})`, `thread:${thread.tid}/${profile.processes[thread.process]?.pid ?? ""}/${name}`, KIND.thread);
    }
    /** The entity of each process: those of one name are one, a build runs thousands of compilers. */
    this.ofProcess = new Uint32Array(profile.processes.length);
    /** @type {Map<string, number[]>} */
    const byName = new Map();
    profile.processes.forEach(({ name }, i) => {
      const known = byName.get(name ?? "[unknown]");
      if (known) known.push(i);
      else byName.set(name ?? "[unknown]", [i]);
    });
    for (const [name, numbers] of byName) {
      for (const number of numbers) this.ofProcess[number] = this.names.length;
      const which = numbers.length > 1 ? `${numbers.length} processes` : `process ${profile.processes[numbers[0]].pid}`;
      pseudo(`${name} (${which})`, `process:${name}`, KIND.process);
    }
    this.firstGap = this.names.length;
    for (const gap of profile.gaps) {
      const image = gap.image === null || gap.image === undefined ? "" : (profile.images[gap.image]?.name ?? "");
      pseudo(`[cut off: ${gap.description || gap.reason}${image ? `, ${image}` : ""}]`, `cut:${gap.reason}/${image}`, KIND.broken);
    }
    this.noFrame = this.names.length;
    pseudo("[no frame]", "empty:", KIND.empty);
    this.image = Uint32Array.from(images);
    this.kind = Uint8Array.from(kinds);
    /** A function of the profile for each entity, none for what is not one. */
    this.function = Uint32Array.from(functions);
  }

  /** @param {number} entity */
  imageName(entity) {
    return this.image[entity] === NONE ? "" : this.imageLabels[this.image[entity]];
  }

  /** The number of the entity with this key, or -1. @param {string | null} key */
  find(key) {
    return key === null ? -1 : (this.byKey.get(key) ?? -1);
  }

  /**
   * Which entities have a name, or an image, that a regular expression finds: 1 for each of them; null without an expression, or
   * with a wrong one.
   * @param {string} pattern
   * @returns {Uint8Array | null}
   */
  matching(pattern) {
    const wanted = expression(pattern);
    if (!wanted) return null;
    const images = this.profile.images.map((image, i) => wanted.test(this.imageLabels[i]) || wanted.test(image.path));
    return Uint8Array.from(this.names, (name, i) => (wanted.test(name) || (this.image[i] !== NONE && images[this.image[i]]) ? 1 : 0));
  }
}

/**
 * A regular expression without regard to case unless it has capitals; null for an empty or a wrong one.
 * @param {string} pattern
 */
export function expression(pattern) {
  if (!pattern) return null;
  try {
    return new RegExp(pattern, /\p{Lu}/u.test(pattern) ? "" : "i");
  } catch {
    return null;
  }
}

/** A regular expression for exactly this text. @param {string} text */
export function literally(text) {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

/** @param {Profile} profile */
function imageLabels(profile) {
  /** @type {Map<string, Set<string>>} */
  const paths = new Map();
  for (const image of profile.images) {
    const known = paths.get(image.name);
    if (known) known.add(image.path);
    else paths.set(image.name, new Set([image.path]));
  }
  return profile.images.map((image) => (/** @type {Set<string>} */ (paths.get(image.name)).size > 1 ? image.path : image.name));
}
