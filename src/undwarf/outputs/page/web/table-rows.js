// What the tables show: weights of functions, images, threads, lines and types.

import { NONE } from "./decode.js";
import { baseName } from "./format.js";
import { Grouping, byNode, entitiesOfNodes } from "./totals.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./selection.js").Selection} Selection */
/** @typedef {import("./state.js").View["table"]} TableKind */

/**
 * The rows of a table: weights and texts by row number. ``key`` tells a row from others, ``place`` is "file:line" or "";
 * ``over``: the row's weight by span of time, or null before it is computed.
 * @typedef {object} Rows
 * @property {TableKind} kind
 * @property {number} count
 * @property {Float64Array} self
 * @property {Float64Array} total
 * @property {Float64Array} samples
 * @property {(row: number) => string} name
 * @property {(row: number) => string} where image, path, process or function
 * @property {(row: number) => string} place
 * @property {(row: number) => string} key
 * @property {Grouping | null} grouping of stack nodes, where rows are groups of those
 * @property {(row: number) => number} entity number of the function in ``app.entities``, or none
 * @property {Uint32Array | null} ofRow the row of the table for each row of the profile, where rows are groups of those
 */

/** Spans of time of a sparkline. */
export const SPANS = 24;

/** @type {WeakMap<object, Map<string, Grouping>>} */
const GROUPINGS = new WeakMap();

/**
 * A grouping that is kept as long as the selection hides the same frames.
 * @param {App} app
 * @param {Selection} selection
 * @param {string} kind
 * @param {() => {of: Uint32Array, count: number}} make
 */
function groupingOf(app, selection, kind, make) {
  const owner = selection.hidden ?? app.profile;
  let known = GROUPINGS.get(owner);
  if (!known) GROUPINGS.set(owner, (known = new Map()));
  let grouping = known.get(kind);
  if (!grouping) {
    const { of, count } = make();
    grouping = new Grouping(app.profile.node.parent, entitiesOfNodes(app.profile, of, selection.hidden), count);
    known.set(kind, grouping);
  }
  return grouping;
}

/**
 * The grouping of stack nodes by function; numbers are those of ``app.entities``.
 * @param {App} app
 */
export function functionGrouping(app) {
  return groupingOf(app, app.selection, "functions", () => ({ of: app.entities.ofFrame, count: app.entities.functions }));
}

/**
 * Groups of frames by file and line: the group of each frame, and a frame of each group.
 * @param {App} app
 */
function linesOf(app) {
  const { file, line } = app.profile.frame;
  const of = new Uint32Array(file.length).fill(NONE);
  const first = [];
  const known = new Map();
  for (let i = 0; i < of.length; i++) {
    if (file[i] === NONE || !line[i]) continue;
    const key = file[i] * 2 ** 24 + line[i];
    let number = known.get(key);
    if (number === undefined) known.set(key, (number = first.push(i) - 1));
    of[i] = number;
  }
  return { of, count: first.length, first };
}

/** @type {WeakMap<object, ReturnType<typeof linesOf>>} */
const LINE_GROUPS = new WeakMap();

/**
 * @param {App} app
 * @param {TableKind} kind
 * @param {import("./decode.js").Part | null} types part "types", for the table of types
 * @returns {Rows}
 */
export function tableRows(app, kind, types) {
  if (kind === "threads") return threadRows(app);
  if (kind === "types") return typeRows(app, types);
  const { profile, selection, entities } = app;
  let lines = LINE_GROUPS.get(profile);
  if (kind === "lines" && !lines) LINE_GROUPS.set(profile, (lines = linesOf(app)));
  const grouping =
    kind === "functions"
      ? functionGrouping(app)
      : kind === "images"
        ? groupingOf(app, selection, kind, () => ({ of: profile.frame.image, count: profile.images.length }))
        : groupingOf(app, selection, kind, () => /** @type {NonNullable<typeof lines>} */ (lines));
  const { self, total } = grouping.sum(selection.self);
  const samples = grouping.sum(byNode(profile, selection.chosen, profile.row.count)).self;
  const base = { kind, count: grouping.count, self, total, samples, grouping, ofRow: null };
  if (kind === "functions") {
    const places = new Uint32Array(grouping.count).fill(NONE);
    profile.frame.function.forEach((_, i) => {
      const e = entities.ofFrame[i];
      if (profile.frame.file[i] !== NONE && (places[e] === NONE || profile.frame.line[i] < profile.frame.line[places[e]])) places[e] = i;
    });
    return {
      ...base,
      name: (i) => entities.names[i],
      where: (i) => entities.imageName(i),
      place: (i) => (places[i] === NONE ? "" : placeOf(app, places[i], false)),
      key: (i) => entities.keys[i],
      entity: (i) => i,
    };
  }
  if (kind === "images")
    return {
      ...base,
      name: (i) => profile.images[i].name,
      where: (i) => profile.images[i].path,
      place: () => "",
      key: (i) => profile.images[i].path,
      entity: () => NONE,
    };
  const first = /** @type {NonNullable<typeof lines>} */ (lines).first;
  return {
    ...base,
    name: (i) => placeOf(app, first[i], true),
    where: (i) => entities.names[entities.ofFrame[first[i]]],
    place: (i) => profile.files[profile.frame.file[first[i]]],
    key: (i) => `${profile.frame.file[first[i]]}:${profile.frame.line[first[i]]}`,
    entity: (i) => entities.ofFrame[first[i]],
  };
}

/**
 * "file:line" of a frame; without the line: the file alone.
 * @param {App} app
 * @param {number} frame
 * @param {boolean} exact
 */
function placeOf(app, frame, exact) {
  const { files } = app.profile;
  const { file, line } = app.profile.frame;
  const name = baseName(files[file[frame]] ?? "");
  return exact ? `${name}:${line[frame]}` : name;
}

/** @param {App} app @returns {Rows} */
function threadRows(app) {
  const { profile, selection } = app;
  const { threads, processes, row } = profile;
  const total = new Float64Array(threads.length);
  const samples = new Float64Array(threads.length);
  for (let i = 0; i < row.thread.length; i++) {
    if (!selection.chosen[i]) continue;
    total[row.thread[i]] += selection.weight[i];
    samples[row.thread[i]] += row.count[i];
  }
  return {
    kind: "threads",
    count: threads.length,
    self: total,
    total,
    samples,
    name: (i) => threads[i].name ?? "[unknown]",
    where: (i) => {
      const process = processes[threads[i].process];
      return process ? `${process.name ?? "[unknown]"} (${process.pid})` : "";
    },
    place: (i) => String(threads[i].tid),
    key: (i) => `${threads[i].tid}/${i}`,
    grouping: null,
    entity: () => NONE,
    ofRow: row.thread,
  };
}

/** @param {App} app @param {import("./decode.js").Part | null} types @returns {Rows} */
function typeRows(app, types) {
  const { profile, selection } = app;
  const { row } = profile;
  const list = /** @type {any[]} */ (types?.json.types ?? []);
  const accesses = /** @type {any[]} */ (types?.json.accesses ?? []);
  const access = /** @type {Uint32Array | undefined} */ (types?.columns.row_access);
  const total = new Float64Array(list.length);
  const samples = new Float64Array(list.length);
  const ofRow = new Uint32Array(row.time.length).fill(NONE);
  if (access)
    for (let i = 0; i < access.length; i++) {
      const type = accesses[access[i]]?.type;
      if (type === null || type === undefined) continue;
      ofRow[i] = type;
      if (!selection.chosen[i]) continue;
      total[type] += selection.weight[i];
      samples[type] += row.count[i];
    }
  return {
    kind: "types",
    count: list.length,
    self: total,
    total,
    samples,
    name: (i) => list[i].name,
    where: (i) => (list[i].size === null ? "" : `${list[i].size} bytes`),
    place: () => "",
    key: (i) => list[i].name,
    grouping: null,
    entity: () => NONE,
    ofRow,
  };
}

/**
 * Weights of all rows by span of time, computed one span a step, so that the page stays quick. Each step gives whether it was
 * the last one. The weights are ``SPANS`` for each row; null without times.
 * @param {App} app
 * @param {Rows} rows
 * @returns {{over: Float32Array, step: () => boolean} | null}
 */
export function weightsOverTime(app, rows) {
  const { profile, selection } = app;
  const { row } = profile;
  if (profile.timeUnit === null || !row.time.length) return null;
  const [from, to] = app.state.view.range ?? [row.time[0], row.time[row.time.length - 1]];
  const width = Math.max(1, (to + 1 - from) / SPANS);
  const over = new Float32Array(rows.count * SPANS);
  const { grouping, ofRow } = rows;
  if (ofRow) {
    for (let i = 0; i < ofRow.length; i++)
      if (selection.chosen[i] && ofRow[i] !== NONE)
        over[ofRow[i] * SPANS + Math.min(SPANS - 1, Math.floor((row.time[i] - from) / width))] += selection.weight[i];
    return { over, step: () => true };
  }
  let span = 0;
  let at = 0;
  const step = () => {
    const self = new Float64Array(profile.node.parent.length);
    const end = span === SPANS - 1 ? Infinity : from + (span + 1) * width;
    for (; at < row.time.length && row.time[at] < end; at++)
      if (selection.chosen[at] && row.node[at] !== NONE) self[row.node[at]] += selection.weight[at];
    const { total } = /** @type {Grouping} */ (grouping).sum(self);
    for (let i = 0; i < rows.count; i++) if (total[i]) over[i * SPANS + span] = total[i];
    return ++span === SPANS;
  };
  return { over, step };
}
