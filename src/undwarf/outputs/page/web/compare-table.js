// The table of a comparison: both sides, the difference with its interval, and whether chance explains it.

import { NONE } from "./decode.js";
import { changeText, differenceText, intervalText, markOf, probabilityText, sharesText } from "./comparison.js";
import { comparedRows } from "./compare-rows.js";
import { csvText, offerFile } from "./csv.js";
import { h } from "./elements.js";
import { expression, literally } from "./entities.js";
import { formatCount, formatWeight, safeText, shorten } from "./format.js";
import { SELECTING } from "./selection.js";
import { VirtualList, markChosen } from "./virtual-list.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./compare-rows.js").TableEntry} TableEntry */
/** @typedef {import("./state.js").View} View */

/** @type {[View["by"], string, string, string][]} kind of row, title, heading of the name and of where it is */
const COMPARED_KINDS = [
  ["function", "Functions", "Function", "Image"],
  ["path", "Call paths", "Call path", "Callers"],
  ["image", "Images", "Image", ""],
  ["line", "Lines", "Line", "Function"],
  ["thread", "Threads", "Thread", ""],
  ["type", "Types", "Type", ""],
  ["field", "Members", "Member", ""],
];

/** Columns of numbers: id, heading, explanation. */
const COMPARED_COLUMNS = /** @type {const} */ ([
  ["before", "Before", ""],
  ["after", "After", ""],
  ["change", "Difference", "In percent of before; the line is the interval of 95 %, its small mark no difference"],
  ["p", "p", "The probability of a difference as large without any, corrected for all rows of the comparison"],
]);

/** The table of a comparison, and the details of its chosen row. */
export class CompareTable {
  /** @param {App} app @param {HTMLElement} root @param {HTMLElement} tools */
  constructor(app, root, tools) {
    this.app = app;
    const { comparison } = this;
    const kinds = COMPARED_KINDS.filter(([by]) => comparison.events.some((_, i) => comparison.table(i, by)));
    this.kinds = kinds.map(([by, title]) => h("button", { type: "button", "data-by": by, onclick: () => app.state.set({ by, sort: "-self" }) }, title));
    this.found = h("span", { class: "dim", id: "table-count", role: "status" });
    tools.append(
      h("div", { class: "choice", role: "group", "aria-label": "Rows" }, ...this.kinds),
      this.found,
      h("span", { class: "spacer" }),
      h("button", { type: "button", id: "csv", title: "Save these rows as CSV (c)", onclick: () => this.saveCsv() }, "CSV"),
    );
    this.head = h("div", { class: "grid-head", role: "row", "aria-rowindex": 1 });
    this.grid = h("div", {
      class: "card grid compared",
      id: "table",
      role: "grid",
      tabindex: 0,
      "aria-label": "Differences",
      onclick: (/** @type {MouseEvent} */ event) => this.click(event),
      ondblclick: () => this.openRow(),
    });
    this.grid.append(this.head);
    this.details = h("aside", { class: "card row-details", "aria-label": "Details of the chosen row" });
    root.append(h("div", { class: "table-view" }, this.grid, this.details));
    this.list = new VirtualList(this.grid, (i) => this.drawRow(i));
    /** @type {TableEntry[]} */
    this.entries = [];
    /** As they are shown. @type {TableEntry[]} */
    this.order = [];
    this.at = -1;
    /** @type {string | null} */
    this.chosen = null;
    /** The difference at the end of the interval's axis. */
    this.limit = 1;
    this.hasNotes = false;
    this.registerKeys();
  }

  get comparison() {
    return /** @type {import("./comparison.js").Comparison} */ (this.app.comparison);
  }

  get by() {
    const { by } = this.app.state.view;
    return this.kinds.some((one) => one.dataset.by === by) ? by : /** @type {View["by"]} */ (this.kinds[0]?.dataset.by ?? "function");
  }

  registerKeys() {
    const { keys } = this.app;
    const add = (/** @type {string | string[]} */ key, /** @type {string} */ text, /** @type {() => void} */ run) => keys.add("table", "Table", key, text, run);
    add(["j", "ArrowDown"], "Next row", () => this.move(this.at + 1));
    add(["k", "ArrowUp"], "Row before", () => this.move(Math.max(0, this.at - 1)));
    add("PageDown", "A page down", () => this.move(this.at + this.list.page));
    add("PageUp", "A page up", () => this.move(Math.max(0, this.at - this.list.page)));
    add("Home", "First row", () => this.move(0));
    add("End", "Last row", () => this.move(this.order.length - 1));
    add("Enter", "Open: code of a function or line, layout of a type, a call path in the flame graph", () => this.openRow());
    add("s", "Sandwich of the function: callers and callees", () => this.sandwich());
    add("f", "Focus on stacks with it", () => this.focus());
    add("[", "Table before: functions, call paths, …", () => this.nextKind(-1));
    add("]", "Next table", () => this.nextKind(1));
    add("0", "Order: significant ones first", () => this.app.state.set({ sort: "-self" }));
    add("c", "Save the rows as CSV", () => this.saveCsv());
  }

  /** @param {Set<string>} changed */
  show(changed) {
    const fresh = !changed.size || changed.has("view") || changed.has("by") || SELECTING.some((name) => changed.has(name));
    if (fresh) this.refresh();
    else if (changed.has("search") || changed.has("sort")) this.arrange();
    else if (changed.has("chosen")) this.followChosen();
  }

  refresh() {
    const { view } = this.app.state;
    for (const button of this.kinds) button.setAttribute("aria-pressed", String(button.dataset.by === this.by));
    this.entries = comparedRows(this.app, this.by);
    this.hasNotes = this.entries.some((one) => one.notes.length > 0);
    if (this.by === "function" && view.chosen !== null) this.chosen = view.chosen;
    // What more than doubled is at the axis' end: smaller differences are to be seen, too.
    const sizes = this.entries.map(({ change, row }) => (row && change.before && change.after ? Math.abs(change.after / change.before - 1) : 0));
    this.limit = Math.max(0.05, 1.25 * Math.max(0, ...sizes.filter((size) => size <= 1)));
    this.arrange();
  }

  arrange() {
    const { view } = this.app.state;
    const pattern = view.search ? expression(view.search) : null;
    const kept = this.entries.filter((one) => one.kind === "row" && (!pattern || pattern.test(one.name) || pattern.test(one.where) || pattern.test(one.nameBefore)));
    const present = this.entries.reduce((sum, one) => sum + (one.kind === "row" ? 1 : 0), 0);
    const id = view.sort.replace(/^-/, "");
    const sign = view.sort.startsWith("-") ? -1 : 1;
    const compare = new Intl.Collator("en", { numeric: true }).compare;
    /** @type {Record<string, (a: TableEntry, b: TableEntry) => number>} */
    const orders = {
      before: (a, b) => a.change.before - b.change.before,
      after: (a, b) => a.change.after - b.change.after,
      change: (a, b) => a.change.after - a.change.before - (b.change.after - b.change.before),
      p: (a, b) => (a.adjusted ?? 2) - (b.adjusted ?? 2),
      name: (a, b) => compare(a.name, b.name),
      where: (a, b) => compare(a.where, b.where),
    };
    if (orders[id]) kept.sort((a, b) => sign * orders[id](a, b));
    const others = (/** @type {string} */ kind) => (pattern ? [] : this.entries.filter((one) => one.kind === kind));
    this.order = [...others("total"), ...kept, ...others("others")];
    this.drawHead();
    const noun = COMPARED_KINDS.find(([by]) => by === this.by)?.[1].toLowerCase() ?? "rows";
    const significant = kept.filter((one) => one.significant).length;
    const part = this.comparison.isPart(view);
    this.found.textContent = `${pattern ? `${formatCount(kept.length)} of ` : ""}${formatCount(present)} ${noun}${part ? ": of a part, not tested" : `, ${formatCount(significant)} significant`}`;
    this.app.header.matches(pattern ? kept.length : null, noun);
    this.grid.setAttribute("aria-rowcount", String(this.order.length + 1));
    this.grid.style.setProperty("--columns", this.template());
    this.list.show(this.order.length);
    this.at = this.chosen === null ? -1 : this.order.findIndex((one) => one.key === this.chosen);
    this.mark();
    if (this.at >= 0) this.list.reveal(this.at, true);
    this.showEmpty();
    this.drawDetails();
  }

  showEmpty() {
    this.grid.querySelector(".empty")?.remove();
    if (this.order.length) return;
    const { view } = this.app.state;
    const text = view.search
      ? "Nothing here matches the search."
      : this.comparison.isPart(view)
        ? "These rows are of all that was recorded: clear the filters."
        : "No row has enough weight.";
    this.grid.append(h("div", { class: "empty" }, h("p", {}, text)));
  }

  get headings() {
    const [, , name, where] = /** @type {(typeof COMPARED_KINDS)[0]} */ (COMPARED_KINDS.find(([by]) => by === this.by) ?? COMPARED_KINDS[0]);
    return { name, where };
  }

  template() {
    const { where } = this.headings;
    if (!this.hasNotes) return `5rem 5rem 11.5rem 4.4rem minmax(9rem, 1fr)${where ? " minmax(5rem, 1fr)" : ""}`;
    return `5rem 5rem 11.5rem 4.4rem minmax(9rem, 3fr)${where ? " minmax(5rem, 1fr)" : ""} minmax(6rem, 1.6fr)`;
  }

  drawHead() {
    const { sort } = this.app.state.view;
    const id = sort.replace(/^-/, "");
    const { name, where } = this.headings;
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset?.sort;
    const cell = (/** @type {string} */ column, /** @type {string} */ label, /** @type {string} */ kind, /** @type {string} */ title) =>
      h(
        "div",
        { role: "columnheader", class: `cell ${kind} at-${column}`, "aria-sort": column === id ? (sort.startsWith("-") ? "descending" : "ascending") : "none", title: title || null },
        h(
          "button",
          { type: "button", class: "sorter", "data-sort": column, onclick: () => this.sortBy(column) },
          kind === "text" ? label : null,
          h("span", { "aria-hidden": "true", class: "arrow" }, column === id ? (sort.startsWith("-") ? "▾" : "▴") : ""),
          kind === "text" ? null : label,
        ),
      );
    this.head.replaceChildren(
      ...COMPARED_COLUMNS.map(([column, label, title]) => cell(column, label, "count", title)),
      cell("name", name, "text", ""),
      ...(where ? [cell("where", where, "text", "")] : []),
      ...(this.hasNotes ? [h("div", { role: "columnheader", class: "cell text at-notes" }, "Notes")] : []),
    );
    if (focused) /** @type {HTMLElement | null} */ (this.head.querySelector(`[data-sort="${focused}"]`))?.focus();
  }

  /** @param {number} position @returns {HTMLElement} */
  drawRow(position) {
    const one = this.order[position];
    const { unit } = this.app;
    const { change } = one;
    const row = h("div", {
      class: ["grid-row", one.kind, position === this.at ? "chosen" : "", one.significant ? "significant" : "noise"].filter(Boolean).join(" "),
      role: "row",
      id: `row-${position}`,
      "aria-rowindex": position + 2,
      "aria-selected": String(position === this.at),
      "data-position": position,
      "data-kind": one.kind,
    });
    const weight = (/** @type {"before" | "after"} */ id) => {
      const cell = h("div", { role: "gridcell", class: `cell count at-${id}`, "data-value": change[id] }, change[id] ? formatWeight(change[id], unit) : "–");
      return cell;
    };
    const text = this.changeOf(one);
    const mark = one.row ? markOf(one.row) : "";
    const difference = h(
      "div",
      { role: "gridcell", class: `cell count at-change ${mark ? (mark === "▲" ? "more" : "less") : ""}`, "data-value": change.after - change.before, title: this.sentence(one) },
      this.interval(one),
      h("span", { class: "change-text" }, mark ? `${mark} ` : "", text),
    );
    const { where } = this.headings;
    const name = safeText(one.name);
    row.append(
      weight("before"),
      weight("after"),
      difference,
      h("div", { role: "gridcell", class: "cell count at-p", "data-value": one.adjusted }, probabilityText(one.adjusted)),
      h("div", { role: "gridcell", class: "cell text at-name", title: shorten(name, 2000) }, shorten(name, 400)),
    );
    if (where) {
      const place = safeText(one.where);
      row.append(h("div", { role: "gridcell", class: "cell text at-where", title: shorten(place, 2000) }, shorten(place, 400)));
    }
    const notes = safeText(one.notes.join("; "));
    if (this.hasNotes) row.append(h("div", { role: "gridcell", class: "cell text at-notes", title: shorten(notes, 2000) }, shorten(notes, 400)));
    return row;
  }

  /** The difference in words. @param {TableEntry} one */
  changeOf({ change }) {
    const { unit } = this.app;
    if (unit === "share" && change.before && change.after) return differenceText(change.after - change.before, unit);
    return changeText(change.before, change.after);
  }

  /** @param {TableEntry} one */
  sentence(one) {
    const { unit } = this.app;
    const interval = one.row ? intervalText(one.row.weight, unit) : "";
    return [differenceText(one.change.after - one.change.before, unit), interval ? `95 %: ${interval}` : ""].filter(Boolean).join("; ");
  }

  /** The interval of the difference as a line; its axis has 0 in the middle. @param {TableEntry} one */
  interval(one) {
    const { row } = one;
    const bar = h("span", { class: "interval", "aria-hidden": "true" });
    if (!row || row.weight.ratioLow === null || !row.weight.before || !row.weight.after) return bar;
    const at = (/** @type {number} */ value) => 50 + 50 * Math.max(-1, Math.min(1, value / this.limit));
    const low = at(row.weight.ratioLow - 1);
    const high = row.weight.ratioHigh === null ? 100 : at(row.weight.ratioHigh - 1);
    const range = h("span", { class: "interval-range" });
    range.style.left = `${low.toFixed(1)}%`;
    range.style.width = `${Math.max(1.5, high - low).toFixed(1)}%`;
    const dot = h("span", { class: "interval-dot" });
    dot.style.left = `${at(row.weight.after / row.weight.before - 1).toFixed(1)}%`;
    bar.append(h("span", { class: "interval-zero" }), range, dot);
    return bar;
  }

  /** @param {MouseEvent} event */
  click(event) {
    const row = /** @type {HTMLElement | null} */ (/** @type {HTMLElement} */ (event.target).closest(".grid-row"));
    if (!row) return;
    this.move(Number(row.dataset.position));
    this.grid.focus({ preventScroll: true });
  }

  /** Choose the row at a position. @param {number} position */
  move(position) {
    if (!this.order.length) return;
    this.at = Math.max(0, Math.min(position, this.order.length - 1));
    const one = this.order[this.at];
    this.chosen = one.key;
    this.list.reveal(this.at);
    this.mark();
    if (this.by === "function" && one.entity !== NONE) this.app.state.set({ chosen: one.key }, true);
    this.drawDetails();
    if (document.activeElement !== this.grid) this.grid.focus({ preventScroll: true });
  }

  /** The next match of the search. @param {number} step */
  nextMatch(step) {
    this.move((this.at + step + this.order.length) % Math.max(1, this.order.length));
  }

  mark() {
    markChosen(this.grid, this.list, this.at);
  }

  followChosen() {
    const { chosen } = this.app.state.view;
    if (this.by !== "function" || chosen === this.chosen) return;
    this.chosen = chosen;
    this.at = this.order.findIndex((one) => one.key === chosen);
    if (this.at >= 0) this.list.reveal(this.at, true);
    this.mark();
    this.drawDetails();
  }

  /** @param {string} id */
  sortBy(id) {
    const { sort } = this.app.state.view;
    const rising = id === "name" || id === "where" || id === "p";
    const first = rising ? id : `-${id}`;
    const second = rising ? `-${id}` : id;
    // The third time, significant ones are first again.
    this.app.state.set({ sort: sort === first ? second : sort === second ? "-self" : first });
  }

  /** @param {number} step */
  nextKind(step) {
    const at = this.kinds.findIndex((one) => one.dataset.by === this.by);
    this.kinds[(at + step + this.kinds.length) % this.kinds.length].click();
  }

  get entry() {
    return this.at < 0 ? null : this.order[this.at];
  }

  openRow() {
    const { entry, app } = this;
    if (!entry || entry.kind !== "row") return;
    if (entry.path.length) app.state.set({ view: "flame", tree: "callees", zoom: entry.path });
    else if (entry.entity !== NONE) app.state.set({ view: "code", chosen: app.entities.keys[entry.entity] });
    else if (this.by === "image") this.focus();
    else if (this.by === "type") app.state.set({ view: "types", type: entry.name });
  }

  sandwich() {
    const { entry, app } = this;
    if (entry && entry.entity !== NONE) app.state.set({ view: "flame", tree: "sandwich", chosen: app.entities.keys[entry.entity], zoom: [] });
  }

  focus() {
    const { entry, app } = this;
    if (!entry || entry.kind !== "row" || (entry.entity === NONE && this.by !== "image")) return;
    const name = entry.entity === NONE ? entry.name : app.entities.names[entry.entity];
    app.state.set({ view: "flame", focus: `^${literally(name)}$`, zoom: [] });
  }

  saveCsv() {
    const { app } = this;
    const unit = app.unit ?? "weight";
    const { name, where } = this.headings;
    const number = (/** @type {number | null | undefined} */ value) => value ?? "";
    const head = [name, where || "where", `before (${unit})`, `after (${unit})`, "difference", "difference low", "difference high", "p corrected", "significant", "notes"];
    const lines = this.order.map((one) => [
      one.name,
      one.where,
      one.change.before,
      one.change.after,
      one.change.after - one.change.before,
      number(one.row?.weight.low),
      number(one.row?.weight.high),
      number(one.adjusted),
      one.significant ? "yes" : "no",
      one.notes.join("; "),
    ]);
    offerFile(`${this.by}-differences.csv`, "text/csv", csvText([head, ...lines]));
    app.say(`Saved ${lines.length} rows`);
  }

  drawDetails() {
    const { entry, app, comparison } = this;
    if (!entry) {
      this.details.replaceChildren(h("p", { class: "hint dim" }, "Choose a row to see its interval and shares. Enter opens it."));
      return;
    }
    const { unit } = app;
    const { row, change } = entry;
    const name = safeText(entry.name);
    const interval = row ? intervalText(row.weight, unit) : "";
    const facts = /** @type {[string, string][]} */ (
      [
        ["Before", `${formatWeight(change.before, unit)} ${comparison.per}`],
        ["After", `${formatWeight(change.after, unit)} ${comparison.per}`],
        ["Difference", [differenceText(change.after - change.before, unit), this.changeOf(entry)].filter(Boolean).join(", ")],
        ["95 % interval", interval],
        ["p, corrected", entry.adjusted === null ? "not tested" : probabilityText(entry.adjusted)],
        ["p of this row alone", row ? probabilityText(row.weight.p) : ""],
        ["Share", row && entry.kind !== "total" ? sharesText(row) : ""],
        ["Samples", row ? `${formatCount(row.samples[0])} → ${formatCount(row.samples[1])}` : ""],
        [this.headings.where, entry.where],
        ["Name before", entry.nameBefore],
      ].filter(([term, text]) => term && text)
    );
    const verdict = !row || entry.adjusted === null ? "" : entry.significant ? `${markOf(row)} more than chance explains` : "chance explains this difference";
    const functions = entry.entity !== NONE;
    this.details.replaceChildren(
      h("h2", { title: name, class: "details-name" }, shorten(name, 300)),
      h("p", { class: `verdict ${entry.significant ? (change.after > change.before ? "more" : "less") : "dim"}` }, verdict),
      h(
        "div",
        { class: "buttons" },
        ...(entry.path.length ? [h("button", { type: "button", onclick: () => this.openRow(), title: "Enter" }, "In the flame graph")] : []),
        ...(functions && !entry.path.length ? [h("button", { type: "button", onclick: () => this.openRow(), title: "Enter" }, "Code")] : []),
        ...(functions ? [h("button", { type: "button", onclick: () => this.sandwich(), title: "s" }, "Sandwich")] : []),
        ...(this.by === "type" && entry.kind === "row" ? [h("button", { type: "button", onclick: () => this.openRow(), title: "Enter" }, "Layout")] : []),
        ...(functions || (this.by === "image" && entry.kind === "row") ? [h("button", { type: "button", onclick: () => this.focus(), title: "f" }, "Focus")] : []),
      ),
      h("dl", { class: "facts" }, ...facts.flatMap(([term, text]) => [h("dt", {}, term), h("dd", {}, shorten(safeText(text), 600))])),
      ...(entry.notes.length ? [h("ul", { class: "row-notes" }, ...entry.notes.map((note) => h("li", {}, shorten(safeText(note), 400))))] : []),
    );
  }
}
