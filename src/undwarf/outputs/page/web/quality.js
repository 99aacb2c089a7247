// How many of the selected stacks are whole, as ``report --json`` counts them.

/** @typedef {import("./profile.js").Profile} Profile */
/** @typedef {import("./selection.js").Selection} Selection */
/** @typedef {{whole: number, known: number, samples: number, byGap: Float64Array, weightByGap: Float64Array}} Wholeness */

/** Reasons of stacks that had nothing to unwind: they count neither as whole nor as broken. */
export const NOT_UNWOUND = new Set(["none", "no_dump", "unstated"]);

/** @type {WeakMap<Selection, Wholeness>} */
const COUNTED = new WeakMap();

/**
 * Samples of a selection: ``whole``, of the ``known`` ones that had something to unwind, and all by reason.
 * @param {Profile} profile
 * @param {Selection} selection
 * @returns {Wholeness}
 */
export function wholenessOf(profile, selection) {
  const counted = COUNTED.get(selection);
  if (counted) return counted;
  const { row, gaps } = profile;
  const byGap = new Float64Array(gaps.length);
  const weightByGap = new Float64Array(gaps.length);
  let samples = 0;
  for (let i = 0; i < row.gap.length; i++) {
    if (!selection.chosen[i]) continue;
    samples += row.count[i];
    byGap[row.gap[i]] += row.count[i];
    weightByGap[row.gap[i]] += selection.weight[i];
  }
  let known = 0;
  gaps.forEach((gap, i) => {
    if (!NOT_UNWOUND.has(gap.reason)) known += byGap[i];
  });
  const result = { whole: byGap[0] ?? 0, known, samples, byGap, weightByGap };
  COUNTED.set(selection, result);
  return result;
}
