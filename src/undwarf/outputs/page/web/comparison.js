// What a comparison says: the rows of its tables with intervals and p-values, and how much work each recording did.

import { formatShare, formatWeight } from "./format.js";

/** @typedef {import("./decode.js").Part} Part */
/** @typedef {import("./entities.js").Entities} Entities */
/** @typedef {import("./profile.js").Profile} Profile */
/** @typedef {import("./selection.js").Selection} Selection */
/**
 * A quantity on both sides; ``low`` and ``high`` of the difference, ``ratioLow`` and ``ratioHigh`` of after / before: intervals of
 * 95 %, null where nothing says how far it varies.
 * @typedef {{before: number, after: number, low: number | null, high: number | null, ratioLow: number | null, ratioHigh: number | null,
 *   p: number | null}} Change
 */
/**
 * A row of a comparison: ``function`` and ``path`` are numbers of the page's functions, null where it has no such node.
 * @typedef {{name: string, nameBefore: string | null, image: string | null, kernel: boolean, function: number | null, path: (number | null)[],
 *   weight: Change, share: Change, samples: [number, number], adjusted: number | null, significant: boolean, notes: [string, string][]}} ComparedRow
 */
/** @typedef {{by: string, rows: ComparedRow[], others: ComparedRow | null, othersCount: number}} ComparedTable */
/** @typedef {{name: string, nameAfter: string, unit: string | null, alike: number | null, work: number[], total: ComparedRow, tables: ComparedTable[]}} ComparedEvent */
/** @typedef {{recording: string, samples: number, lost: number}} ComparedRecording */

/** Names of the sides. */
export const SIDES = /** @type {const} */ (["before", "after"]);

/** The comparison of a page. */
export class Comparison {
  /** @param {Part} part @param {Profile} profile @param {Entities} entities */
  constructor({ json }, profile, entities) {
    if (json.version !== 1) throw new Error(`a comparison of version ${json.version}, and this page reads version 1`);
    this.profile = profile;
    this.entities = entities;
    /** The recordings of each side. @type {[ComparedRecording[], ComparedRecording[]]} */
    this.sides = [json.before, json.after];
    this.machines = /** @type {Record<string, string | null>[]} */ (json.machines ?? []);
    this.normalizedBy = /** @type {string} */ (json.normalized_by);
    this.normalizingEvent = /** @type {string | null} */ (json.normalizing_event);
    this.weight = /** @type {string} */ (json.weight);
    this.tests = /** @type {number} */ (json.tests);
    /** What the recordings of a side are called: of a store they are parts of spans. */
    this.called = /** @type {string} */ (json.recordings_are ?? "recordings");
    this.anySignificant = /** @type {boolean} */ (json.any_significant);
    this.files = /** @type {{before: string, after: string}[]} */ (json.files);
    this.whole = json.whole ? rowOf(json.whole) : null;
    /** @type {ComparedEvent[]} */
    this.events = json.events.map((/** @type {any} */ one) => ({
      name: one.event,
      nameAfter: one.event_after,
      unit: one.unit,
      alike: one.alike,
      work: one.work,
      total: rowOf(one.total),
      tables: one.tables.map((/** @type {any} */ table) => ({
        by: table.by,
        rows: table.rows.map(rowOf),
        others: table.others ? rowOf(table.others) : null,
        othersCount: table.others_count,
      })),
    }));
    /** The name before of functions that had another one, by entity. @type {Map<number, string>} */
    this.nameBefore = new Map();
    for (const [number, name] of json.renamed ?? []) this.nameBefore.set(entities.ofFunction[number], name);
    /** @type {{thread: Uint8Array, process: Uint8Array} | null} */
    this.owners = null;
    /** @type {Map<number, Float64Array>} */
    this.weights = new Map();
    /** @type {Map<string, Map<any, ComparedRow>>} */
    this.known = new Map();
  }

  /** Samples that were lost on a side. @param {number} side */
  lost(side) {
    return this.sides[side].reduce((sum, one) => sum + one.lost, 0);
  }

  /** How many recordings a side has. @param {number} side */
  recordings(side) {
    return this.sides[side].length;
  }

  /**
   * The weight of each row for one unit of work: the sum of a side's rows is the mean of its recordings.
   * @param {number} measure
   */
  rowWeights(measure) {
    let weights = this.weights.get(measure);
    if (weights) return weights;
    const { row } = this.profile;
    const { work } = this.events[measure];
    const first = this.recordings(0);
    const scale = work.map((one, i) => 1 / (one * (i < first ? first : this.recordings(1))));
    const of = /** @type {ArrayLike<number>} */ (row.recording ?? row.side);
    weights = new Float64Array(row.time.length);
    for (let i = 0; i < weights.length; i++) weights[i] = row.weight[i] * scale[of[i]];
    this.weights.set(measure, weights);
    return weights;
  }

  /**
   * The side whose a thread or process is; null if it is on both.
   * @param {"thread" | "process"} kind
   * @param {number} id
   */
  sideOf(kind, id) {
    this.owners ??= ownersOf(this.profile);
    const owner = this.owners[kind][id];
    return owner !== 0 && owner !== 1 ? null : owner;
  }

  /** The unit of weights for one unit of work. @param {number} measure */
  unit(measure) {
    return this.normalizedBy === "samples" ? "share" : this.events[measure].unit;
  }

  /** The unit of work, in words. */
  get per() {
    return (
      { run: "per recording", samples: "of all weight", time: "per second", event: `per ${this.normalizingEvent}`, number: "per unit of work" }[this.normalizedBy] ?? ""
    );
  }

  /** @param {number} measure @param {string} by @returns {ComparedTable | null} */
  table(measure, by) {
    return this.events[measure].tables.find((one) => one.by === by) ?? null;
  }

  /** @param {number} measure @param {string} by @param {(row: ComparedRow) => any} key */
  index(measure, by, key) {
    const name = `${measure} ${by}`;
    let known = this.known.get(name);
    if (!known) {
      known = new Map();
      for (const row of this.table(measure, by)?.rows ?? []) known.set(key(row), row);
      this.known.set(name, known);
    }
    return known;
  }

  /** The row of a function; null if it has none. @param {number} measure @param {number} entity */
  functionRow(measure, entity) {
    const { ofFunction } = this.entities;
    return this.index(measure, "function", (row) => (row.function === null ? null : ofFunction[row.function])).get(entity) ?? null;
  }

  /** The row of a call path of entities, root first; null if it has none. @param {number} measure @param {number[]} path */
  pathRow(measure, path) {
    const { ofFunction } = this.entities;
    const key = (/** @type {ComparedRow} */ row) => row.path.map((one) => (one === null ? "" : ofFunction[one])).join(",");
    return this.index(measure, "path", key).get(path.join(",")) ?? null;
  }

  /** Whether anything but all is selected: the rows of the comparison are of all. @param {import("./state.js").View} view */
  isPart(view) {
    return Boolean(
      view.range || view.processes.length || view.threads.length || view.cpus.length || view.gaps.length || view.focus || view.hide,
    );
  }
}

const BOTH = 2;
const NOBODY = 3;

/** The side of each thread and process. @param {Profile} profile */
function ownersOf({ row, threads, processes }) {
  const thread = new Uint8Array(threads.length).fill(NOBODY);
  const process = new Uint8Array(processes.length).fill(NOBODY);
  const add = (/** @type {Uint8Array} */ of, /** @type {number} */ id, /** @type {number} */ side) => {
    if (of[id] === NOBODY) of[id] = side;
    else if (of[id] !== side) of[id] = BOTH;
  };
  for (let i = 0; i < row.thread.length; i++) {
    const side = row.side?.[i] ?? 0;
    add(thread, row.thread[i], side);
    add(process, threads[row.thread[i]].process, side);
  }
  return { thread, process };
}

/** @param {any} json @returns {ComparedRow} */
function rowOf(json) {
  return {
    name: json.name,
    nameBefore: json.name_before,
    image: json.image,
    kernel: json.kernel,
    function: json.function,
    path: json.path ?? [],
    weight: changeOf(json.weight),
    share: changeOf(json.share),
    samples: json.samples,
    adjusted: json.p_corrected,
    significant: json.significant,
    notes: json.notes,
  };
}

/** @param {(number | null)[]} list @returns {Change} */
function changeOf([before, after, low, high, ratioLow, ratioHigh, p]) {
  return { before: before ?? 0, after: after ?? 0, low, high, ratioLow, ratioHigh, p };
}

/**
 * A weight on the way from before to after, from -1 (gone) to 1 (new): half as much is -0.5, twice as much 0.5.
 * @param {number} before
 * @param {number} after
 */
export function changeShare(before, after) {
  const most = Math.max(before, after);
  return most > 0 ? (after - before) / most : 0;
}

/** @param {number} percent */
function signed(percent) {
  const size = Math.abs(percent);
  return `${percent < 0 ? "−" : "+"}${size.toFixed(size < 99.95 ? 1 : 0)}`;
}

/**
 * The difference in percent of before: "+5.2 %", "new", "gone", "3.4 times".
 * @param {number} before
 * @param {number} after
 */
export function changeText(before, after) {
  if (!before) return after ? "new" : "";
  if (!after) return "gone";
  if (sameWeight(before, after)) return "0.0\u00a0%";
  const percent = 100 * (after / before - 1);
  return percent >= 999.5 ? `${(after / before).toFixed(1)} times` : `${signed(percent)}\u00a0%`;
}

/**
 * The difference as a weight with its sign.
 * @param {number} difference
 * @param {string | null} unit
 */
export function differenceText(difference, unit) {
  if (unit === "share") return `${signed(100 * difference)}\u00a0points`;
  return difference === 0 ? "0" : `${difference < 0 ? "−" : "+"}${formatWeight(Math.abs(difference), unit)}`;
}

/**
 * The interval of the difference in percent of before; of shares, in points. Empty if there is none.
 * @param {Change} change
 * @param {string | null} unit
 */
export function intervalText(change, unit) {
  if (unit === "share") return change.low === null || change.high === null ? "" : `${signed(100 * change.low)} … ${signed(100 * change.high)}\u00a0points`;
  if (change.ratioLow === null || !change.after) return "";
  const low = signed(100 * (change.ratioLow - 1));
  return change.ratioHigh === null ? `${low} % …` : `${low} … ${signed(100 * (change.ratioHigh - 1))}\u00a0%`;
}

/** A p-value. @param {number | null} p */
export function probabilityText(p) {
  if (p === null) return "";
  return p < 0.0001 ? "<0.0001" : p < 0.1 ? p.toFixed(4) : p.toFixed(2);
}

/** ▲ for more, ▼ for less, if it is more than chance. @param {ComparedRow} row */
export function markOf(row) {
  return row.significant ? (row.weight.after > row.weight.before ? "▲" : "▼") : "";
}

/** Shares of both sides. @param {ComparedRow} row */
export function sharesText({ share }) {
  return `${formatShare(share.before)} → ${formatShare(share.after)}`;
}

/** Number of a side by its name. @param {"before" | "after"} name */
export function sideNumber(name) {
  return name === "before" ? 0 : 1;
}

/** Whether two weights are the same but for how they were added up. @param {number} one @param {number} other */
export function sameWeight(one, other) {
  return Math.abs(one - other) <= 1e-9 * Math.max(Math.abs(one), Math.abs(other));
}

