// The rows of a comparison's table: those of the comparison, or of a part of what was recorded, which nobody tested.

import { NONE } from "./decode.js";
import { tableRows } from "./table-rows.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./comparison.js").Change} Change */
/** @typedef {import("./comparison.js").ComparedRow} ComparedRow */
/**
 * A row as it is shown. ``row``: what the comparison says, null of a part. ``entity``: the function, or none; ``path``: keys of a call
 * path, root first; ``kind``: "total" and "others" are sums.
 * @typedef {{key: string, kind: "row" | "total" | "others", name: string, nameBefore: string, where: string, change: {before: number, after: number},
 *   adjusted: number | null, significant: boolean, notes: string[], entity: number, path: string[], row: ComparedRow | null}} TableEntry
 */

/** What lighter rows are called. @type {Record<string, string>} */
const NOUNS = { path: "call path", image: "image", line: "line", type: "type", field: "member", thread: "thread", function: "function" };

/** Tables that can be computed of a part. @type {Record<string, "functions" | "images" | "lines" | "threads">} */
const OF_PART = { function: "functions", image: "images", line: "lines", thread: "threads" };

/**
 * @param {App} app
 * @param {import("./state.js").View["by"]} by
 * @returns {TableEntry[]}
 */
export function comparedRows(app, by) {
  const { view } = app.state;
  const comparison = /** @type {import("./comparison.js").Comparison} */ (app.comparison);
  if (comparison.isPart(view)) return partRows(app, by);
  const table = comparison.table(view.measure, by);
  if (!table) return [];
  const { entities } = app;
  const entries = table.rows.map((row, i) => {
    const entity = row.function === null ? NONE : entities.ofFunction[row.function];
    const path = row.path.map((one) => (one === null ? "" : entities.keys[entities.ofFunction[one]]));
    const callers = row.path.slice(0, -1).map((one) => (one === null ? "…" : entities.names[entities.ofFunction[one]]));
    return entryOf(row, {
      key: by === "function" && entity !== NONE ? entities.keys[entity] : `${by} ${i}`,
      kind: "row",
      where: by === "path" ? callers.reverse().join(" ‹ ") : by === "line" && row.function !== null ? (row.image ?? entities.names[entity]) : (row.image ?? ""),
      entity,
      path,
    });
  });
  const event = comparison.events[view.measure];
  const total = entryOf(event.total, { key: "total", kind: "total", where: "", entity: NONE, path: [] });
  const rest = table.others ? [entryOf(table.others, { key: "others", kind: "others", where: "", entity: NONE, path: [] })] : [];
  for (const one of rest) one.name = `${table.othersCount} other ${NOUNS[by]}${table.othersCount === 1 ? "" : "s"}`;
  return [total, ...entries, ...rest];
}

/**
 * @param {ComparedRow} row
 * @param {{key: string, kind: "row" | "total" | "others", where: string, entity: number, path: string[]}} more
 * @returns {TableEntry}
 */
function entryOf(row, more) {
  return {
    ...more,
    name: row.name,
    nameBefore: row.nameBefore ?? "",
    change: row.weight,
    adjusted: row.adjusted,
    significant: row.significant,
    notes: row.notes.map(([, text]) => text),
    row,
  };
}

/**
 * Both sides of what is selected, heaviest first.
 * @param {App} app
 * @param {import("./state.js").View["by"]} by
 * @returns {TableEntry[]}
 */
function partRows(app, by) {
  const kind = OF_PART[by];
  if (!kind) return [];
  const [before, after] = [0, 1].map((side) => {
    const { profile, entities, state } = app;
    return tableRows(/** @type {any} */ ({ profile, entities, state, selection: app.selectionOf(side) }), kind, null);
  });
  /** @type {TableEntry[]} */
  const entries = [];
  for (let i = 0; i < after.count; i++) {
    if (!before.self[i] && !after.self[i]) continue;
    entries.push({
      key: kind === "functions" ? after.key(i) : `${by} ${i}`,
      kind: "row",
      name: after.name(i),
      nameBefore: "",
      where: kind === "threads" || kind === "images" ? "" : after.where(i),
      change: { before: before.self[i], after: after.self[i] },
      adjusted: null,
      significant: false,
      notes: [],
      entity: after.entity(i),
      path: [],
      row: null,
    });
  }
  const size = (/** @type {TableEntry} */ { change }) => Math.max(change.before, change.after);
  return entries.sort((a, b) => size(b) - size(a));
}
