// What happened when: weight by time of each lane of the time line.

import { NONE16 } from "./decode.js";
import { firstAt } from "./selection.js";

/** @typedef {import("./profile.js").Profile} Profile */
/** @typedef {"all" | "side" | "process" | "thread" | "cpu"} LaneKind kinds of lanes; sides are those of a comparison */

/**
 * A lane: ``id`` is an index of processes or threads, or a CPU; ``total`` the weight of all its rows; ``values`` what it did in each
 * part of the time, ``waiting`` what of this was not on a CPU.
 * @typedef {{kind: LaneKind, id: number, total: number, values: Float64Array, waiting: Float64Array}} Series
 */

/** Whether an event's weight is time that a thread did not run. @param {string} name */
export function isWaiting(name) {
  return /off-?_?cpu/i.test(name);
}

/** The last time of a profile, in its unit. @param {Profile} profile */
export function lastTime({ row, timeUnit, timeStart, timeEnd }) {
  const last = row.time.length ? row.time[row.time.length - 1] : 0;
  const length = timeUnit && timeStart !== null && timeEnd !== null ? Math.floor((timeEnd - timeStart) / timeUnit) : 0;
  return Math.max(1, last, Math.min(length, 0xfffffffe));
}

/**
 * Which lane a row is in, by kind of lanes; CPUs are numbered as they are.
 * @param {Profile} profile
 * @param {LaneKind} kind
 * @returns {(row: number) => number}
 */
function laneOfRow(profile, kind) {
  const { row, threads } = profile;
  if (kind === "all") return () => 0;
  if (kind === "side") return (i) => row.side?.[i] ?? 0;
  if (kind === "cpu") return (i) => row.cpu[i];
  if (kind === "thread") return (i) => row.thread[i];
  const process = Uint32Array.from(threads, (thread) => thread.process);
  return (i) => process[row.thread[i]];
}

/** Adds weights that lasted for some time to parts of the time. */
class Spread {
  /** @param {number} from @param {number} to @param {number} parts */
  constructor(from, to, parts) {
    this.from = from;
    this.width = (to - from) / parts;
    this.parts = parts;
    this.values = new Float64Array(parts);
    /** Changes of what each whole part gets. */
    this.steps = new Float64Array(parts + 1);
  }

  /** @param {number} start @param {number} end @param {number} weight */
  add(start, end, weight) {
    const { parts } = this;
    const a = (start - this.from) / this.width;
    const b = (end - this.from) / this.width;
    if (b < 0 || a >= parts) return;
    if (!(b > a)) {
      this.values[Math.min(parts - 1, Math.floor(b))] += weight;
      return;
    }
    const density = weight / (b - a);
    const low = Math.max(0, a);
    const high = Math.min(parts, b);
    const first = Math.floor(low);
    const last = Math.min(parts - 1, Math.floor(high));
    if (first === last) this.values[first] += density * (high - low);
    else {
      this.values[first] += density * (first + 1 - low);
      this.values[last] += density * (high - last);
      this.steps[first + 1] += density;
      this.steps[last] -= density;
    }
  }

  done() {
    let level = 0;
    for (let i = 0; i < this.parts; i++) {
      level += this.steps[i];
      this.values[i] = Math.max(0, this.values[i] + level);
    }
    return this.values;
  }
}

/**
 * Weight by time. A weight that is time is spread over the time before the sample;
 * other weights count at the sample's time.
 * @param {Profile} profile
 * @param {{measure: number, weight: "period" | "samples", idle: boolean}} view
 * @param {LaneKind} kind
 * @param {[number, number]} span
 * @param {number} parts
 * @returns {Series[]} heaviest first, CPUs by number
 */
export function seriesOf(profile, view, kind, span, parts) {
  const { row, events, timeUnit, threads } = profile;
  const measured = new Uint8Array(256);
  for (const event of profile.measures[view.measure]?.events ?? []) measured[event] = isWaiting(events[event]?.name ?? "") ? 2 : 1;
  const isTime = events.map(({ unit }) => unit === "ns" && view.weight === "period");
  const lane = laneOfRow(profile, kind);
  const weights = view.weight === "samples" ? row.count : row.weight;
  const hidden = Uint8Array.from(threads, (thread) => (thread.idle && !view.idle ? 1 : 0));
  const [from, to] = span;
  /** @type {Map<number, {total: number, on: Spread, off: Spread}>} */
  const lanes = new Map();
  const merged = timeUnit ? profile.mergedTime / timeUnit : 0;
  // What lasted until later has begun before: all rows from the start of the span on count.
  for (let i = 0; i < row.time.length; i++) {
    const what = measured[row.event[i]];
    if (!what || hidden[row.thread[i]]) continue;
    const number = lane(i);
    if (kind === "cpu" && number === NONE16) continue;
    let sums = lanes.get(number);
    if (!sums) lanes.set(number, (sums = { total: 0, on: new Spread(from, to, parts), off: new Spread(from, to, parts) }));
    sums.total += weights[i];
    const time = row.time[i];
    const lasted = isTime[row.event[i]] && timeUnit ? weights[i] / row.count[i] / timeUnit : 0;
    if (time < from || time - lasted > to) continue;
    const spread = what === 2 ? sums.off : sums.on;
    if (merged) spread.add(time + merged - Math.max(merged, lasted), time + merged, weights[i]);
    else spread.add(time - lasted, time, weights[i]);
  }
  const series = [...lanes].map(([id, { total, on, off }]) => {
    const waiting = off.done();
    const values = on.done();
    for (let i = 0; i < parts; i++) values[i] += waiting[i];
    return { kind, id, total, values, waiting };
  });
  return series.sort((a, b) => (kind === "cpu" ? a.id - b.id : b.total - a.total || a.id - b.id));
}

/**
 * How much of each part of the time threads ran, from context switches: by lane, 1 is one CPU.
 * @param {Profile} profile
 * @param {LaneKind} kind
 * @param {[number, number]} span
 * @param {number} parts
 * @param {boolean} idle whether idle tasks count
 * @returns {Map<number, {busy: Float64Array, switches: number}>}
 */
export function runningOf(profile, kind, span, parts, idle) {
  /** @type {Map<number, {spread: Spread, switches: number}>} */
  const lanes = new Map();
  const { run, threads } = profile;
  const [from, to] = span;
  for (let i = 0; run && i < run.thread.length; i++) {
    const thread = run.thread[i];
    if (!threads[thread] || (threads[thread].idle && !idle)) continue;
    const id = kind === "all" ? 0 : kind === "cpu" ? run.cpu[i] : kind === "thread" ? thread : threads[thread].process;
    let sums = lanes.get(id);
    if (!sums) lanes.set(id, (sums = { spread: new Spread(from, to, parts), switches: 0 }));
    if (run.end[i] < from || run.start[i] > to) continue;
    sums.switches++;
    sums.spread.add(run.start[i], run.end[i], (run.end[i] - run.start[i]) / ((to - from) / parts));
  }
  return new Map([...lanes].map(([id, { spread, switches }]) => [id, { busy: spread.done(), switches }]));
}

/** Number of rows between two times. @param {Profile} profile @param {number} from @param {number} to */
export function rowsBetween(profile, from, to) {
  return firstAt(profile.row.time, to + 1) - firstAt(profile.row.time, from);
}
