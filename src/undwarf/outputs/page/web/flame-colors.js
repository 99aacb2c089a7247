// Colours and patterns of boxes. Each text has a contrast of at least 4.5 to what is below it (WCAG AA), in both themes.

import { NONE } from "./decode.js";
import { KIND, KINDS } from "./entities.js";

/** @typedef {import("./entities.js").Entities} Entities */
/** @typedef {[number, number, number]} Rgb */

/** Hue and share of the theme's chroma of each kind of box. @type {Record<string, [number, number]>} */
const KIND_HUES = {
  program: [68, 1.25],
  library: [238, 0.9],
  kernel: [22, 1.05],
  jit: [150, 1.1],
  vdso: [335, 0.8],
  type: [285, 0.9],
  unnamed: [200, 0.22],
  broken: [40, 0.5],
  process: [270, 0.12],
  thread: [270, 0.18],
  empty: [270, 0.05],
  inlined: [108, 1.15],
  root: [270, 0.08],
};

/** Kinds of pattern: lines and dots over a box, so that nothing is told by colour alone. @type {Record<string, string>} */
export const PATTERNS = { kernel: "diagonal", vdso: "backward", jit: "vertical", inlined: "dots", unnamed: "dashes", broken: "cross", appeared: "vertical", gone: "backward" };

/** What kinds are called. @type {Record<string, string>} */
export const KIND_LABELS = {
  program: "program",
  library: "library",
  kernel: "kernel",
  jit: "JIT",
  vdso: "vdso",
  type: "data type",
  unnamed: "without symbol",
  broken: "stack cut off",
  process: "process",
  thread: "thread",
  empty: "no frame",
  inlined: "inlined",
};

const LIGHT = { text: "#17181b", back: "#ffffff", lightness: 0.87, chroma: 0.062, grey: "#d4d4d0", ink: 0.13, edge: "#ffffff" };
const DARK = { text: "#f2f3f5", back: "#1b1e23", lightness: 0.385, chroma: 0.058, grey: "#41454d", ink: 0.13, edge: "#1b1e23" };

/**
 * A colour of the OKLCH space in sRGB, with less chroma where there is no such colour.
 * @param {number} lightness 0 to 1
 * @param {number} chroma
 * @param {number} hue in degrees
 * @returns {Rgb} 0 to 255
 */
export function fromOklch(lightness, chroma, hue) {
  for (let c = chroma; ; c *= 0.9) {
    const a = c * Math.cos((hue * Math.PI) / 180);
    const b = c * Math.sin((hue * Math.PI) / 180);
    const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
    const linear = [
      4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
      -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
      -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
    ];
    if (c > 0.001 && linear.some((one) => one < -0.0005 || one > 1.0005)) continue;
    const [red, green, blue] = linear.map((one) => {
      const v = Math.min(1, Math.max(0, one));
      return Math.round(255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055));
    });
    return [red, green, blue];
  }
}

/** @param {Rgb} rgb */
export function toHex(rgb) {
  return `#${rgb.map((one) => one.toString(16).padStart(2, "0")).join("")}`;
}

/** @param {string} hex @returns {Rgb} */
export function fromHex(hex) {
  const [red, green, blue] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  return [red, green, blue];
}

/** Contrast of two colours as WCAG defines it. @param {Rgb} one @param {Rgb} other */
export function contrast(one, other) {
  const luminance = (/** @type {Rgb} */ rgb) => {
    const [red, green, blue] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

/** A number from text that is the same everywhere. @param {string} text */
export function hashOf(text) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) >>> 0;
}

/** Number of hues that are told apart. */
const HUES = 14;

/**
 * A hue for each image: by its name, the next free one where two have the same.
 * @param {string[]} names
 * @returns {number[]} 0 to HUES - 1, and so on for lighter and darker ones
 */
export function moduleHues(names) {
  const taken = new Set();
  /** @type {Map<string, number>} */
  const known = new Map();
  return names.map((name) => {
    let slot = known.get(name);
    if (slot === undefined) {
      slot = hashOf(name) % HUES;
      for (let i = 0; i < 3 * HUES && taken.has(slot); i++) slot = slot % HUES === HUES - 1 ? slot + 1 : slot + 1;
      taken.add(slot);
      known.set(name, slot);
    }
    return slot % (3 * HUES);
  });
}

/** Colours of boxes in one theme. */
export class Palette {
  /** @param {Entities} entities @param {boolean} dark */
  constructor(entities, dark) {
    this.entities = entities;
    this.dark = dark;
    this.theme = dark ? DARK : LIGHT;
    this.hues = moduleHues(entities.imageLabels);
    /** @type {Map<string, string>} */
    this.known = new Map();
    /** @type {Map<string, CanvasPattern | null>} */
    this.patterns = new Map();
  }

  /**
   * The kind by which a box is coloured: "inlined" for a function that was never called there.
   * @param {number} entity
   * @param {boolean} inlined
   */
  kindOf(entity, inlined) {
    if (entity === NONE) return "root";
    const kind = KINDS[this.entities.kind[entity]];
    return inlined && kind !== "unnamed" && this.entities.kind[entity] < KIND.broken ? "inlined" : kind;
  }

  /** @param {string} kind */
  ofKind(kind) {
    const [hue, share] = KIND_HUES[kind] ?? KIND_HUES.library;
    const raised = kind === "process" || kind === "thread" || kind === "root" || kind === "empty";
    const lightness = this.theme.lightness + (raised ? (this.dark ? -0.08 : 0.06) : 0);
    return this.colour(lightness, this.theme.chroma * share, hue);
  }

  /** @param {number} image */
  ofModule(image) {
    const slot = this.hues[image];
    const ring = Math.floor(slot / HUES);
    const lightness = this.theme.lightness + [0, this.dark ? -0.07 : 0.055, this.dark ? 0.05 : -0.06][ring];
    // Neighbours in the ring are far apart: 5 has no divisor in common with the number of hues.
    return this.colour(lightness, this.theme.chroma * 1.1, (20 + ((slot * 5) % HUES) * (360 / HUES)) % 360);
  }

  /** @param {number} share 0 to 1: how hot */
  ofHeat(share) {
    const t = Math.min(1, Math.max(0, share));
    const step = Math.round(t * 24) / 24;
    return this.dark
      ? this.colour(0.31 + 0.17 * step, 0.012 + 0.125 * step, 70 - 38 * step)
      : this.colour(0.955 - 0.2 * step, 0.012 + 0.15 * step, 88 - 46 * step);
  }

  /** @param {number} lightness @param {number} chroma @param {number} hue */
  colour(lightness, chroma, hue) {
    const key = `${lightness} ${chroma} ${hue}`;
    let colour = this.known.get(key);
    if (!colour) this.known.set(key, (colour = toHex(fromOklch(lightness, chroma, hue))));
    return colour;
  }

  /**
   * The colour of a box.
   * @param {import("./state.js").View["colour"]} choice
   * @param {number} entity
   * @param {string} kind as kindOf says
   * @param {number} heat 0 to 1
   */
  fill(choice, entity, kind, heat) {
    if (entity === NONE || this.entities.kind[entity] >= KIND.broken) return this.ofKind(kind);
    if (choice === "self") return this.ofHeat(heat);
    const image = this.entities.image[entity];
    return choice === "module" && image !== NONE ? this.ofModule(image) : this.ofKind(kind);
  }

  /**
   * The pattern over boxes of a kind; null for a plain one.
   * @param {CanvasRenderingContext2D} context
   * @param {string} kind
   */
  pattern(context, kind) {
    const name = PATTERNS[kind];
    if (!name) return null;
    const known = this.patterns.get(name);
    if (known !== undefined) return known;
    const tile = document.createElement("canvas");
    const scale = 2;
    tile.width = tile.height = PATTERN_SIZE * scale;
    const pen = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
    pen.scale(scale, scale);
    pen.strokeStyle = pen.fillStyle = this.theme.text;
    pen.globalAlpha = this.theme.ink;
    for (const [x0, y0, x1, y1] of PATTERN_LINES[name] ?? []) {
      pen.beginPath();
      pen.moveTo(x0, y0);
      pen.lineTo(x1, y1);
      pen.stroke();
    }
    if (name === "dots")
      for (const [x, y] of PATTERN_DOTS) {
        pen.beginPath();
        pen.arc(x, y, 0.9, 0, 7);
        pen.fill();
      }
    const pattern = context.createPattern(tile, "repeat");
    pattern?.setTransform(new DOMMatrix([1 / scale, 0, 0, 1 / scale, 0, 0]));
    this.patterns.set(name, pattern);
    return pattern;
  }
}

/** Width and height of the tile that a pattern repeats. */
export const PATTERN_SIZE = 8;

/** Lines of patterns: from x, y to x, y. @type {Record<string, number[][]>} */
export const PATTERN_LINES = {
  diagonal: [
    [-1, 9, 9, -1],
    [-1, 1, 1, -1],
    [7, 9, 9, 7],
  ],
  backward: [
    [-1, -1, 9, 9],
    [7, -1, 9, 1],
    [-1, 7, 1, 9],
  ],
  vertical: [[4, 0, 4, 8]],
  dashes: [
    [0, 2, 4, 2],
    [4, 6, 8, 6],
  ],
  cross: [
    [-1, 9, 9, -1],
    [-1, -1, 9, 9],
  ],
};

/** Places of the dots of a pattern. */
export const PATTERN_DOTS = [
  [2, 2],
  [6, 6],
];
