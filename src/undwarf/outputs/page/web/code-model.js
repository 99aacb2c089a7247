// A function's code with weights: instructions, source lines, jumps.

import { NONE } from "./decode.js";
import { parseAddress } from "./format.js";
import { Grouping, inclusive } from "./totals.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {[number, number, string | null, string | null, number | null]} OperandType first and last column, type, member, offset */
/** @typedef {[number, string, number | null, number | null, OperandType[] | null]} Instruction offset, text, line, jump target, operand types */
/** @typedef {{start: string | null, end: string | null, image: number | null, file: number | null, first_line: number, instructions: Instruction[], problem: string | null}} FunctionCode */
/** @typedef {[number | null, number, (string | null)[]]} CodeLine file, line, inlined functions */
/** @typedef {{first: number, text: string[], problem: string | null}} SourceText */
/** @typedef {{kind: "head", file: number} | {kind: "gap"} | {kind: "line", file: number, line: number, text: string}} SourceRow */
/** @typedef {{kind: "inline", chain: string[]} | {kind: "gap"} | {kind: "instruction", number: number}} AssemblyRow */
/** @typedef {{from: number, to: number, lane: number}} Jump instructions, by number */

/** Lines around those with code that are shown. */
const CONTEXT = 3;
/** Jumps side by side that are drawn. */
export const LANES = 6;
/** No instruction of x86-64 or AArch64 has more bytes. */
const LONGEST_INSTRUCTION = 15;

/**
 * A line as a number.
 * @param {number} file
 * @param {number} line
 */
export function lineKey(file, line) {
  return file * 2 ** 24 + line;
}

/** The code of one function and its weights in a selection. */
export class CodeModel {
  /**
   * @param {App} app
   * @param {any} json of the part that has the function
   * @param {FunctionCode} code
   */
  constructor(app, json, code) {
    this.app = app;
    this.code = code;
    this.lines = /** @type {CodeLine[]} */ (json.lines ?? []);
    this.sources = /** @type {Record<string, SourceText>} */ (json.sources ?? {});
    this.files = [...app.profile.files, .../** @type {string[]} */ (json.files ?? [])];
    this.start = parseAddress(code.start);
    this.end = parseAddress(code.end);
    this.instructions = code.instructions ?? [];
    /** @type {Map<number, number>} */
    this.numberAt = new Map(this.instructions.map((one, i) => [one[0], i]));
    this.assembly = this.assemblyRows();
    this.source = this.sourceRows();
    this.loops = this.findLoops();
    /** The instruction of each stack node, or none. */
    this.nodes = new Uint32Array(0);
    /** Weights of instructions: in them, and with what they call. @type {Float64Array} */
    this.self = new Float64Array(0);
    /** @type {Float64Array} */
    this.total = new Float64Array(0);
    /** Weights of lines, by key. @type {Map<number, {self: number, total: number}>} */
    this.ofLine = new Map();
    /** Weights of all of it. */
    this.allSelf = 0;
    this.allTotal = 0;
    /** The highest self weight of an instruction, and of a line. */
    this.most = 0;
    this.mostLine = 0;
    this.weigh();
  }

  /** The line of an instruction as a number, or -1. @param {number} number */
  lineOf(number) {
    const line = this.instructions[number]?.[2];
    const place = line === null || line === undefined ? undefined : this.lines[line];
    return place && place[0] !== null && place[1] ? lineKey(place[0], place[1]) : -1;
  }

  /** Names of the functions that are inlined at an instruction, outermost first. @param {number} number @returns {string[]} */
  chainOf(number) {
    const line = this.instructions[number]?.[2];
    const names = line === null || line === undefined ? [] : (this.lines[line]?.[2] ?? []);
    return names.map((name) => name ?? "[unknown]");
  }

  /** The instruction of each frame, or none. Code may be in several places, in any order. */
  ofFrames() {
    const { image, address } = this.app.profile.frame;
    const of = new Uint32Array(image.length).fill(NONE);
    const numbers = Array.from(this.instructions, (_, i) => i).sort((a, b) => this.instructions[a][0] - this.instructions[b][0]);
    const offsets = numbers.map((i) => this.instructions[i][0]);
    for (let i = 0; i < of.length; i++) {
      if (image[i] !== this.code.image) continue;
      // Callers' addresses are inside of the call.
      const offset = address[i] - this.start;
      let low = 0;
      let high = offsets.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (offsets[middle] <= offset) low = middle + 1;
        else high = middle;
      }
      if (low && offset - offsets[low - 1] < LONGEST_INSTRUCTION) of[i] = numbers[low - 1];
    }
    return of;
  }

  /** Compute the weights in the selection. */
  weigh() {
    const { profile, selection } = this.app;
    const { parent, frame } = profile.node;
    const of = this.ofFrames();
    const nodes = new Uint32Array(parent.length);
    const lineOf = new Uint32Array(parent.length).fill(NONE);
    /** @type {Map<number, number>} */
    const lines = new Map();
    for (let n = 0; n < nodes.length; n++) {
      const f = frame[n];
      nodes[n] = of[f];
      const key = of[f] === NONE ? -1 : this.lineOf(of[f]);
      if (key < 0) continue;
      let number = lines.get(key);
      if (number === undefined) lines.set(key, (number = lines.size));
      lineOf[n] = number;
    }
    this.nodes = nodes;
    const { self, total } = new Grouping(parent, nodes, Math.max(1, this.instructions.length)).sum(selection.self);
    this.self = self;
    this.total = total;
    const byLine = new Grouping(parent, lineOf, lines.size).sum(selection.self);
    this.ofLine = new Map([...lines].map(([key, i]) => [key, { self: byLine.self[i], total: byLine.total[i] }]));
    // All of the function's samples, and those with what it calls.
    const whole = new Uint32Array(nodes.length);
    for (let n = 0; n < whole.length; n++) whole[n] = nodes[n] === NONE ? NONE : 0;
    const all = new Grouping(parent, whole, 1).sum(selection.self);
    this.allSelf = all.self[0];
    this.allTotal = all.total[0];
    this.most = self.reduce((a, b) => Math.max(a, b), 0);
    this.mostLine = [...this.ofLine.values()].reduce((a, b) => Math.max(a, b.self), 0);
  }

  /**
   * What an instruction calls: functions with their weight, the heaviest first.
   * @param {number} number
   * @returns {[number, number][]}
   */
  calls(number) {
    const { app, nodes } = this;
    const { parent, frame } = app.profile.node;
    const sums = inclusive(parent, app.selection.self);
    /** @type {Map<number, number>} */
    const found = new Map();
    for (let n = 0; n < parent.length; n++) {
      const p = parent[n];
      if (p === NONE || nodes[p] !== number || !sums[n]) continue;
      // A function inlined at the same address is no callee.
      if (nodes[n] === number && app.profile.frame.inline[frame[n]] > app.profile.frame.inline[frame[p]]) continue;
      const e = app.entities.ofFrame[frame[n]];
      found.set(e, (found.get(e) ?? 0) + sums[n]);
    }
    return [...found].sort((a, b) => b[1] - a[1]);
  }

  /** @returns {AssemblyRow[]} */
  assemblyRows() {
    /** @type {AssemblyRow[]} */
    const rows = [];
    let before = "";
    this.instructions.forEach((one, number) => {
      const chain = this.chainOf(number);
      const key = chain.join("\0");
      const distance = number ? one[0] - this.instructions[number - 1][0] : 0;
      if (distance < 0 || distance > 64) rows.push({ kind: "gap" });
      if (key && key !== before) rows.push({ kind: "inline", chain });
      before = key;
      rows.push({ kind: "instruction", number });
    });
    return rows;
  }

  /** @returns {SourceRow[]} */
  sourceRows() {
    const { code, lines, sources } = this;
    /** @type {Map<number, Set<number>>} */
    const wanted = new Map();
    const add = (/** @type {number} */ file, /** @type {number} */ line) => {
      let set = wanted.get(file);
      if (!set) wanted.set(file, (set = new Set()));
      for (let i = line - CONTEXT; i <= line + CONTEXT; i++) set.add(i);
    };
    if (code.file !== null && code.first_line) {
      add(code.file, code.first_line);
      let last = code.first_line;
      for (const one of this.instructions) {
        const place = one[2] === null ? undefined : lines[one[2]];
        if (place && place[0] === code.file && place[1] < code.first_line + 2000) last = Math.max(last, place[1]);
      }
      for (let i = code.first_line; i <= last; i++) wanted.get(code.file)?.add(i);
    }
    for (const one of this.instructions) {
      const line = one[2] === null ? undefined : lines[one[2]];
      if (line && line[1] && line[0] !== null) add(line[0], line[1]);
    }
    const files = [...wanted.keys()].sort((a, b) => Number(b === code.file) - Number(a === code.file) || a - b);
    /** @type {SourceRow[]} */
    const rows = [];
    for (const file of files) {
      const source = sources[file];
      if (!source || !source.text?.length) continue;
      // The pane's heading names the first file.
      if (rows.length) rows.push({ kind: "head", file });
      let before = 0;
      for (const line of [.../** @type {Set<number>} */ (wanted.get(file))].sort((a, b) => a - b)) {
        const text = source.text[line - source.first];
        if (text === undefined || line < source.first) continue;
        if (before && line > before + 1) rows.push({ kind: "gap" });
        rows.push({ kind: "line", file, line, text });
        before = line;
      }
    }
    return rows;
  }

  /** Why there is no source text: sentences. @returns {string[]} */
  sourceProblems() {
    const problems = new Set();
    for (const [file, source] of Object.entries(this.sources)) {
      const used = Number(file) === this.code.file || this.instructions.some((one) => one[2] !== null && this.lines[one[2]]?.[0] === Number(file));
      if (used && source.problem) problems.add(`${this.files[Number(file)] ?? ""}: ${source.problem}`);
    }
    return [...problems];
  }

  /** Backward jumps, each in a lane of its own where they overlap. @returns {Jump[]} */
  findLoops() {
    /** @type {Jump[]} */
    const loops = [];
    this.instructions.forEach((one, from) => {
      const to = one[3] === null ? undefined : this.numberAt.get(one[3]);
      if (to !== undefined && to <= from) loops.push({ from, to, lane: 0 });
    });
    loops.sort((a, b) => a.from - a.to - (b.from - b.to));
    /** @type {[number, number][][]} */
    const lanes = Array.from({ length: LANES }, () => []);
    return loops.slice(0, 2000).filter((loop) => {
      const lane = lanes.findIndex((taken) => taken.every(([from, to]) => loop.from < to || loop.to > from));
      if (lane < 0) return false;
      lanes[lane].push([loop.from, loop.to]);
      loop.lane = lane;
      return true;
    });
  }

  /**
   * Jumps from and to an instruction.
   * @param {number} number
   * @returns {Jump[]}
   */
  jumpsOf(number) {
    /** @type {Jump[]} */
    const jumps = [];
    const own = this.instructions[number];
    if (!own) return jumps;
    const target = own[3] === null ? undefined : this.numberAt.get(own[3]);
    if (target !== undefined) jumps.push({ from: number, to: target, lane: LANES });
    this.instructions.forEach((one, from) => {
      if (one[3] !== null && one[3] === own[0] && from !== number) jumps.push({ from, to: number, lane: LANES });
    });
    return jumps.slice(0, 100);
  }
}
