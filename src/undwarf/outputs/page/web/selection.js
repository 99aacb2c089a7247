// Which rows the state selects, and their weight by stack node. Recomputed only when what it depends on changes.

import { NONE } from "./decode.js";

/** @typedef {import("./profile.js").Profile} Profile */
/** @typedef {import("./state.js").View} View */

/**
 * Rows that are selected, and sums over them. ``chosen`` (1 for each selected row), ``weight`` (of a row, as the state wants it:
 * period or samples), ``self``: the weight of each node's own rows, ``total`` of all selected rows, ``rootless``: of rows without
 * a stack.
 * @typedef {{chosen: Uint8Array, weight: Float64Array | Uint32Array, self: Float64Array, total: number, rootless: number}} Selection
 */

/** Names of the properties that a selection depends on. */
export const SELECTING = ["measure", "weight", "range", "processes", "threads", "cpus", "gaps", "idle"];

/**
 * @param {Profile} profile
 * @param {View} view
 * @returns {Selection}
 */
export function select(profile, view) {
  const { row } = profile;
  const rows = row.time.length;
  const events = new Uint8Array(256);
  for (const event of profile.measures[view.measure]?.events ?? []) events[event] = 1;
  const threads = new Uint8Array(profile.threads.length);
  profile.threads.forEach((thread, i) => {
    const wanted =
      (!view.threads.length || view.threads.includes(i)) &&
      (!view.processes.length || view.processes.includes(thread.process)) &&
      (view.idle || !thread.idle);
    threads[i] = wanted ? 1 : 0;
  });
  const cpus = view.cpus.length ? new Set(view.cpus) : null;
  const gaps = view.gaps.length ? new Set(view.gaps) : null;
  const [from, to] = view.range ?? [0, NONE];
  const weight = view.weight === "samples" ? row.count : row.weight;
  const chosen = new Uint8Array(rows);
  const self = new Float64Array(profile.node.parent.length);
  let total = 0;
  let rootless = 0;
  for (let i = 0; i < rows; i++) {
    if (!events[row.event[i]] || !threads[row.thread[i]] || row.time[i] < from || row.time[i] > to) continue;
    if (cpus && !cpus.has(row.cpu[i])) continue;
    if (gaps && !gaps.has(row.gap[i])) continue;
    chosen[i] = 1;
    total += weight[i];
    if (row.node[i] === NONE) rootless += weight[i];
    else self[row.node[i]] += weight[i];
  }
  return { chosen, weight, self, total, rootless };
}
