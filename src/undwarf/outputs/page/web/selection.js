// Which rows the state selects, and their weight by stack node. Recomputed only when what it depends on changes.

import { NONE } from "./decode.js";

/** @typedef {import("./entities.js").Entities} Entities */
/** @typedef {import("./profile.js").Profile} Profile */
/** @typedef {import("./state.js").View} View */

/**
 * Rows that are selected, and sums over them. ``chosen`` (1 for each selected row), ``weight`` (of a row, as the state wants it:
 * period or samples), ``self``: the weight of each node's own rows, ``total`` of all selected rows, ``rootless``: of rows without
 * a stack, ``idle``: of rows that would be selected if idle tasks counted, ``unfocused``: of rows that are left out because no
 * frame of theirs is in focus. No row before ``first``, or from ``last`` on, is selected. ``hidden``: 1 for each frame that is not to be shown, or null if all are.
 * @typedef {{chosen: Uint8Array, weight: Float64Array | Uint32Array, self: Float64Array, total: number, rootless: number,
 *   idle: number, unfocused: number, first: number, last: number, hidden: Uint8Array | null}} Selection
 */

/** Names of the properties that a selection depends on. */
export const SELECTING = ["measure", "weight", "range", "processes", "threads", "cpus", "gaps", "idle", "focus", "hide"];

/** Of a comparison: the weight of each row, and the side that is selected, null for both. @typedef {{weight: Float64Array, side: number | null}} Compared */

/**
 * @param {Profile} profile
 * @param {View} view
 * @param {Entities} entities
 * @param {Compared | null} [compared]
 * @returns {Selection}
 */
export function select(profile, view, entities, compared = null) {
  const { row } = profile;
  const rows = row.time.length;
  const events = new Uint8Array(256);
  for (const event of profile.measures[view.measure]?.events ?? []) events[event] = 1;
  const threads = threadsOf(profile, view);
  const cpus = view.cpus.length ? new Uint8Array(0x10000) : null;
  if (cpus) for (const cpu of view.cpus) cpus[cpu] = 1;
  const gaps = view.gaps.length ? new Set(view.gaps) : null;
  const focus = focused(profile, view, entities);
  const [from, to] = view.range ?? [0, NONE];
  const weight = compared ? compared.weight : view.weight === "samples" ? row.count : row.weight;
  const side = compared?.side ?? null;
  const chosen = new Uint8Array(rows);
  const nodes = profile.node.parent.length;
  const self = new Float64Array(nodes);
  let total = 0;
  let rootless = 0;
  let idle = 0;
  let unfocused = 0;
  const first = view.range ? firstAt(row.time, from) : 0;
  const last = view.range ? firstAt(row.time, to + 1) : rows;
  for (let i = first; i < last; i++) {
    if (!events[row.event[i]] || (cpus && !cpus[row.cpu[i]]) || (gaps && !gaps.has(row.gap[i]))) continue;
    const wanted = threads[row.thread[i]];
    if (!wanted || (side !== null && row.side && row.side[i] !== side)) continue;
    if (wanted === IDLE) {
      idle += weight[i];
      continue;
    }
    const node = row.node[i];
    if (focus && (node >= nodes || !focus[node])) {
      unfocused += weight[i];
      continue;
    }
    chosen[i] = 1;
    total += weight[i];
    if (node >= nodes) rootless += weight[i];
    else self[node] += weight[i];
  }
  return { chosen, weight, self, total, rootless, idle, unfocused, first, last, hidden: hiddenFrames(view, entities) };
}

const IDLE = 2;

/**
 * For each thread 1 if it is selected, 2 if it would be but for being idle, else 0.
 * @param {Profile} profile
 * @param {View} view
 */
export function threadsOf(profile, view) {
  const chosen = new Set(view.threads);
  const processes = new Set(view.processes);
  return Uint8Array.from(profile.threads, (thread, i) => {
    if ((chosen.size && !chosen.has(i)) || (processes.size && !processes.has(thread.process))) return 0;
    // A thread that was asked for by name counts, idle or not.
    return thread.idle && !view.idle && !chosen.has(i) ? IDLE : 1;
  });
}

/**
 * The index of the first of rising times that is not below ``time``.
 * @param {Uint32Array} times
 * @param {number} time
 */
export function firstAt(times, time) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (times[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** @type {WeakMap<Entities, {pattern: string, nodes: Uint8Array}>} */
const FOCUSED = new WeakMap();

/**
 * The nodes that have, or whose callers have, a frame in focus; null without a focus.
 * @param {Profile} profile
 * @param {View} view
 * @param {Entities} entities
 */
function focused(profile, view, entities) {
  const known = FOCUSED.get(entities);
  if (known && known.pattern === view.focus) return known.nodes;
  const matching = entities.matching(view.focus);
  if (!matching) return null;
  const { parent, frame } = profile.node;
  const nodes = new Uint8Array(parent.length);
  for (let i = 0; i < nodes.length; i++)
    if (matching[entities.ofFrame[frame[i]]] || (parent[i] < i && nodes[parent[i]])) nodes[i] = 1;
  FOCUSED.set(entities, { pattern: view.focus, nodes });
  return nodes;
}

/**
 * @param {View} view
 * @param {Entities} entities
 */
function hiddenFrames(view, entities) {
  const matching = entities.matching(view.hide);
  return matching && Uint8Array.from(entities.ofFrame, (entity) => matching[entity]);
}
