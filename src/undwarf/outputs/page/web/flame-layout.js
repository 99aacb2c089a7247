// Where boxes are: what is at least 2 pixels wide is a box, narrower neighbours are merged into one.

/** @typedef {import("./call-tree.js").Boxes} Boxes */

/** Narrower boxes are merged, in pixels. */
export const NARROWEST = 2;

/**
 * A box on the screen: ``box``, or ``count`` of them from ``box`` on that are merged. ``x`` and ``width`` are pixels, ``weight`` that of
 * all.
 * @typedef {{box: number, count: number, x: number, width: number, row: number, weight: number}} Placed
 */

/**
 * The boxes of a tree between two places, by row from the root's on.
 * @param {Boxes} boxes
 * @param {number} from
 * @param {number} to
 * @param {number} width in pixels
 * @param {number} [deepest] number of rows
 * @returns {Placed[][]}
 */
export function place(boxes, from, to, width, deepest = 10000) {
  const scale = to > from ? width / (to - from) : 0;
  const { x0, x1, first, count, total } = boxes;
  const at = (/** @type {number} */ x) => (x - from) * scale;
  /** @type {Placed[][]} */
  const rows = [[{ box: 0, count: 1, x: at(x0[0]), width: (x1[0] - x0[0]) * scale, row: 0, weight: total[0] }]];
  let level = [0];
  while (level.length && rows.length < deepest) {
    /** @type {Placed[]} */
    const row = [];
    const number = rows.length;
    const next = [];
    for (const box of level) {
      boxes.open(box);
      const start = first[box];
      const end = start + count[box];
      let low = start;
      for (let high = end; low < high; ) {
        const middle = (low + high) >>> 1;
        if (x1[middle] <= from) low = middle + 1;
        else high = middle;
      }
      /** @type {Placed | null} */
      let merged = null;
      for (let i = low; i < end && x0[i] < to; i++) {
        const wide = (x1[i] - x0[i]) * scale;
        if (wide >= NARROWEST) {
          row.push({ box: i, count: 1, x: at(x0[i]), width: wide, row: number, weight: total[i] });
          next.push(i);
          merged = null;
        } else if (boxes.falling) {
          // All that follow are as narrow.
          const last = end - 1;
          row.push({ box: i, count: end - i, x: at(x0[i]), width: (x1[last] - x0[i]) * scale, row: number, weight: x1[last] - x0[i] });
          break;
        } else if (merged && at(x0[i]) - (merged.x + merged.width) < 1) {
          merged.width = at(x1[i]) - merged.x;
          merged.weight += total[i];
          merged.count++;
        } else row.push((merged = { box: i, count: 1, x: at(x0[i]), width: wide, row: number, weight: total[i] }));
      }
    }
    if (row.length) rows.push(row);
    level = next;
  }
  return rows;
}

/** Whether it stands for boxes that are too narrow. @param {Placed} one */
export function isMerged(one) {
  return one.count > 1 || one.width < NARROWEST;
}

/**
 * Round numbers to label an axis with: their distance is 1, 2 or 5 times a power of ten.
 * @param {number} from
 * @param {number} to
 * @param {number} most how many
 */
export function axisTicks(from, to, most) {
  if (!(to > from) || most < 1) return { step: 1, ticks: [] };
  const rough = (to - from) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = /** @type {number} */ ([1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough * 0.999));
  const ticks = [];
  for (let i = Math.ceil(from / step); i * step <= to && ticks.length < 1000; i++) ticks.push(i * step);
  return { step, ticks };
}
