// The table: functions, images, threads, lines and types by weight.

import { NONE } from "./decode.js";
import { h } from "./elements.js";
import { expression, literally } from "./entities.js";
import { baseName, formatCount, formatShare, formatWeight, safeText, shorten } from "./format.js";
import { csvText, offerFile } from "./csv.js";
import { sparkline } from "./sparkline.js";
import { SPANS, functionGrouping, tableRows, weightsOverTime } from "./table-rows.js";
import { inclusive, neighbours } from "./totals.js";
import { SELECTING } from "./selection.js";
import { VirtualList, markChosen } from "./virtual-list.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./table-rows.js").Rows} Rows */
/** @typedef {import("./table-rows.js").TableKind} TableKind */
/** @typedef {{id: string, label: string, kind: "weight" | "count" | "text" | "curve"}} TableColumn */

/** @type {[TableKind, string][]} */
const TABLE_KINDS = [
  ["functions", "Functions"],
  ["images", "Images"],
  ["threads", "Threads"],
  ["lines", "Lines"],
  ["types", "Types"],
];

/** @type {Record<TableKind, {name: string, where: string, place: string}>} headings of texts; empty: no such column */
const HEADINGS = {
  functions: { name: "Function", where: "Image", place: "File" },
  images: { name: "Image", where: "Path", place: "" },
  threads: { name: "Thread", where: "Process", place: "Thread id" },
  lines: { name: "Line", where: "Function", place: "File" },
  types: { name: "Type", where: "Size", place: "" },
};

/** Rows of callers and callees that are listed. */
const LISTED = 12;

/** The table and the details of its chosen row. */
export class TableView {
  /** @param {App} app @param {HTMLElement} root @param {HTMLElement} tools */
  constructor(app, root, tools) {
    this.app = app;
    this.kinds = TABLE_KINDS.map(([kind, text]) =>
      h("button", { type: "button", "data-table": kind, onclick: () => app.state.set({ table: kind, sort: "-self" }) }, text),
    );
    this.found = h("span", { class: "dim", id: "table-count", role: "status" });
    tools.append(
      h("div", { class: "choice", role: "group", "aria-label": "Rows" }, ...this.kinds),
      this.found,
      h("span", { class: "spacer" }),
      h("button", { type: "button", id: "csv", title: "Save these rows as CSV (c)", onclick: () => this.saveCsv() }, "CSV"),
    );
    this.head = h("div", { class: "grid-head", role: "row", "aria-rowindex": 1 });
    this.grid = h("div", {
      class: "card grid",
      id: "table",
      role: "grid",
      tabindex: 0,
      "aria-label": "Weights",
      onclick: (/** @type {MouseEvent} */ event) => this.click(event),
      ondblclick: (/** @type {MouseEvent} */ event) => this.click(event, true),
    });
    this.grid.append(this.head);
    this.details = h("aside", { class: "card row-details", "aria-label": "Details of the chosen row" });
    root.append(h("div", { class: "table-view" }, this.grid, this.details));
    this.list = new VirtualList(this.grid, (i) => this.drawRow(i));
    /** @type {Rows | null} */
    this.rows = null;
    /** Numbers of rows as they are shown. @type {Uint32Array} */
    this.order = new Uint32Array(0);
    /** Position of the chosen row in ``order``, or -1. */
    this.at = -1;
    /** Key of the chosen row. @type {string | null} */
    this.chosen = null;
    /** Part "types": null if there is none, undefined before it was asked for. @type {import("./decode.js").Part | null | undefined} */
    this.types = undefined;
    /** @type {Float32Array | null} */
    this.over = null;
    this.generation = 0;
    this.registerKeys();
  }

  registerKeys() {
    const { keys } = this.app;
    const add = (/** @type {string | string[]} */ key, /** @type {string} */ text, /** @type {() => void} */ run) =>
      keys.add("table", "Table", key, text, run);
    add(["j", "ArrowDown"], "Next row", () => this.move(this.at + 1));
    add(["k", "ArrowUp"], "Row before", () => this.move(Math.max(0, this.at - 1)));
    add("PageDown", "A page down", () => this.move(this.at + this.list.page));
    add("PageUp", "A page up", () => this.move(Math.max(0, this.at - this.list.page)));
    add("Home", "First row", () => this.move(0));
    add("End", "Last row", () => this.move(this.order.length - 1));
    add("Enter", "Open: code of a function or line, the type, else only its stacks", () => this.openRow());
    add("s", "Sandwich of the function: callers and callees", () => this.sandwich());
    add("f", "Focus on stacks with it", () => this.focus());
    add("h", "Hide its frames", () => this.hide());
    add("[", "Table before: functions, images, …", () => this.nextKind(-1));
    add("]", "Next table", () => this.nextKind(1));
    add("<", "Sort by the column before", () => this.nextSort(-1));
    add(">", "Sort by the next column", () => this.nextSort(1));
    add("r", "Reverse the order", () => this.sortBy(this.app.state.view.sort.replace(/^-/, "")));
    add("c", "Save the rows as CSV", () => this.saveCsv());
  }

  /** @returns {TableColumn[]} */
  columns() {
    const { table } = this.app.state.view;
    const headings = HEADINGS[table];
    const both = table !== "threads" && table !== "types";
    const columns = /** @type {TableColumn[]} */ ([
      { id: "self", label: both ? "Self" : "Weight", kind: "weight" },
      ...(both ? [{ id: "total", label: "Total", kind: "weight" }] : []),
      { id: "samples", label: "Samples", kind: "count" },
      { id: "name", label: headings.name, kind: "text" },
      { id: "where", label: headings.where, kind: "text" },
      ...(headings.place ? [{ id: "place", label: headings.place, kind: "text" }] : []),
      ...(this.app.profile.timeUnit === null ? [] : [{ id: "over", label: "Over time", kind: "curve" }]),
    ]);
    return columns;
  }

  /** @param {Set<string>} changed */
  show(changed) {
    const { view } = this.app.state;
    if (view.table === "types" && this.types === undefined) this.loadTypes();
    const fresh = !changed.size || changed.has("view") || !this.rows;
    if (fresh || changed.has("table") || SELECTING.some((name) => changed.has(name))) this.refresh();
    else if (changed.has("search") || changed.has("sort")) this.arrange();
    else if (changed.has("chosen")) this.followChosen();
  }

  /** Fetch the part with types. A server may take seconds to recover them. */
  async loadTypes() {
    try {
      this.types = await this.app.parts.get("types");
    } catch (error) {
      this.app.warn(/** @type {Error} */ (error).message);
      return;
    }
    if (this.app.state.view.table === "types") this.refresh();
  }

  /** Compute and show all rows. */
  refresh() {
    const { app } = this;
    const { view } = app.state;
    for (const button of this.kinds) button.setAttribute("aria-pressed", String(button.dataset.table === view.table));
    this.rows = tableRows(app, view.table, this.types ?? null);
    if (view.table === "functions" && view.chosen !== null) this.chosen = view.chosen;
    this.arrange();
    this.startCurves();
  }

  /** Filter and sort. */
  arrange() {
    const rows = /** @type {Rows} */ (this.rows);
    const { view } = this.app.state;
    const pattern = view.search ? expression(view.search) : null;
    const kept = [];
    let present = 0;
    for (let i = 0; i < rows.count; i++) {
      if (!rows.total[i]) continue;
      present++;
      if (!pattern || pattern.test(rows.name(i)) || pattern.test(rows.where(i)) || pattern.test(rows.place(i))) kept.push(i);
    }
    const order = Uint32Array.from(kept);
    const falling = view.sort.startsWith("-");
    const id = view.sort.replace(/^-/, "");
    const sign = falling ? -1 : 1;
    const byWeight = (/** @type {number} */ a, /** @type {number} */ b) =>
      rows.total[b] - rows.total[a] || rows.self[b] - rows.self[a] || a - b;
    if (id === "self" || id === "total" || id === "samples") {
      const values = rows[id];
      order.sort((a, b) => sign * (values[a] - values[b]) || byWeight(a, b));
    } else {
      const text = id === "where" ? rows.where : id === "place" ? rows.place : rows.name;
      const texts = Array.from({ length: rows.count }, (_, i) => text(i));
      const compare = new Intl.Collator("en", { numeric: true }).compare;
      order.sort((a, b) => sign * compare(texts[a], texts[b]) || byWeight(a, b));
    }
    this.order = order;
    this.drawHead();
    const noun = view.table;
    this.found.textContent = pattern ? `${formatCount(order.length)} of ${formatCount(present)} ${noun}` : `${formatCount(order.length)} ${noun}`;
    this.app.header.matches(pattern ? order.length : null, noun);
    this.grid.setAttribute("aria-rowcount", String(order.length + 1));
    this.grid.style.setProperty("--columns", this.template());
    this.list.show(order.length);
    this.at = this.chosen === null ? -1 : order.findIndex((i) => rows.key(i) === this.chosen);
    this.mark();
    if (this.at >= 0) this.list.reveal(this.at, true);
    this.showEmpty();
    this.drawDetails();
  }

  showEmpty() {
    this.grid.querySelector(".empty")?.remove();
    if (this.order.length) return;
    this.grid.append(h("div", { class: "empty" }, h("p", {}, safeText(this.emptyText()))));
  }

  /** Why there are no rows. */
  emptyText() {
    const { view } = this.app.state;
    if (view.table === "types") {
      if (this.types === undefined) return "Recovering data types…";
      if (!this.types) return "This page has no data types: it was written without them. undwarf view --types recovers them.";
      if (this.types.json.problem) return String(this.types.json.problem);
    }
    if (view.search) return "Nothing here matches the search.";
    return "Nothing is selected: widen the time, or clear the filters.";
  }

  template() {
    const widths = { weight: "9.5rem", count: "5.5rem", curve: "7rem" };
    const texts = /** @type {Record<string, string>} */ ({ name: "minmax(11rem, 3fr)", where: "minmax(6rem, 1fr)", place: "minmax(5rem, 0.8fr)" });
    return this.columns()
      .map((one) => (one.kind === "text" ? texts[one.id] : widths[one.kind]))
      .join(" ");
  }

  drawHead() {
    const { sort } = this.app.state.view;
    const id = sort.replace(/^-/, "");
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset?.sort;
    this.head.replaceChildren(
      ...this.columns().map((column) => {
        const sorted = column.id === id;
        const cell = h("div", {
          role: "columnheader",
          class: `cell ${column.kind} at-${column.id}`,
          "aria-sort": sorted ? (sort.startsWith("-") ? "descending" : "ascending") : column.kind === "curve" ? null : "none",
        });
        if (column.kind === "curve") cell.append(column.label);
        else
          cell.append(
            h(
              "button",
              { type: "button", class: "sorter", "data-sort": column.id, onclick: () => this.sortBy(column.id) },
              column.kind === "text" ? column.label : null,
              h("span", { "aria-hidden": "true", class: "arrow" }, sorted ? (sort.startsWith("-") ? "▾" : "▴") : ""),
              column.kind === "text" ? null : column.label,
            ),
          );
        return cell;
      }),
    );
    if (focused) /** @type {HTMLElement | null} */ (this.head.querySelector(`[data-sort="${focused}"]`))?.focus();
  }

  /** @param {number} position @returns {HTMLElement} */
  drawRow(position) {
    const rows = /** @type {Rows} */ (this.rows);
    const i = this.order[position];
    const { unit } = this.app;
    const { total } = this.app.selection;
    const row = h("div", {
      class: position === this.at ? "grid-row chosen" : "grid-row",
      role: "row",
      id: `row-${position}`,
      "aria-rowindex": position + 2,
      "aria-selected": String(position === this.at),
      "data-position": position,
    });
    for (const column of this.columns()) {
      const cell = h("div", { role: "gridcell", class: `cell ${column.kind} at-${column.id}` });
      if (column.kind === "weight") {
        const value = column.id === "self" ? rows.self[i] : rows.total[i];
        const share = total ? value / total : 0;
        cell.dataset.value = String(value);
        cell.title = `${formatCount(value)}${unit ? ` ${unit}` : ""}`;
        const bar = h("span", { class: "bar", "aria-hidden": "true" });
        bar.style.width = `${(share * 100).toFixed(2)}%`;
        cell.append(bar, h("span", { class: "weight-text" }, formatWeight(value, unit)), h("span", { class: "share" }, value ? formatShare(share) : "–"));
      } else if (column.kind === "count") {
        cell.dataset.value = String(rows.samples[i]);
        cell.append(formatCount(rows.samples[i]));
      } else if (column.kind === "text") {
        const text = safeText(column.id === "name" ? rows.name(i) : column.id === "where" ? rows.where(i) : rows.place(i));
        // Images with one name are told apart by their paths: the end is what differs to the eye.
        cell.append(shorten(column.id === "where" && rows.kind === "functions" ? baseName(text) : text, 400));
        cell.title = shorten(text, 2000);
      } else if (this.over) {
        cell.append(sparkline(this.over.subarray(i * SPANS, (i + 1) * SPANS), "weight over time"));
      }
      row.append(cell);
    }
    return row;
  }

  /** Compute weights over time, a span at a time. */
  startCurves() {
    const generation = ++this.generation;
    this.over = null;
    const rows = /** @type {Rows} */ (this.rows);
    const work = weightsOverTime(this.app, rows);
    if (!work) return;
    const next = () => {
      if (generation !== this.generation) return;
      const until = performance.now() + 8;
      while (performance.now() < until) {
        if (!work.step()) continue;
        this.over = work.over;
        this.list.redrawAll();
        return;
      }
      setTimeout(next);
    };
    setTimeout(next, 30);
  }

  /** @param {MouseEvent} event @param {boolean} [open] */
  click(event, open = false) {
    const row = /** @type {HTMLElement | null} */ (/** @type {HTMLElement} */ (event.target).closest(".grid-row"));
    if (!row) return;
    this.move(Number(row.dataset.position));
    this.grid.focus({ preventScroll: true });
    if (open) this.openRow();
  }

  /** Choose the row at a position. @param {number} position */
  move(position) {
    if (!this.order.length) return;
    this.at = Math.max(0, Math.min(position, this.order.length - 1));
    const rows = /** @type {Rows} */ (this.rows);
    const i = this.order[this.at];
    this.chosen = rows.key(i);
    this.list.reveal(this.at);
    this.mark();
    if (rows.kind === "functions") this.app.state.set({ chosen: this.chosen }, true);
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
    const rows = /** @type {Rows} */ (this.rows);
    const { chosen } = this.app.state.view;
    if (rows.kind !== "functions" || chosen === this.chosen) return;
    this.chosen = chosen;
    this.at = this.order.findIndex((i) => rows.key(i) === chosen);
    if (this.at >= 0) this.list.reveal(this.at, true);
    this.mark();
    this.drawDetails();
  }

  /** @param {string} id */
  sortBy(id) {
    const { sort } = this.app.state.view;
    const text = id === "name" || id === "where" || id === "place";
    const next = sort === id ? `-${id}` : sort === `-${id}` ? id : text ? id : `-${id}`;
    this.app.state.set({ sort: next });
    this.app.say(`Sorted by ${id}, ${next.startsWith("-") ? "falling" : "rising"}`);
  }

  /** @param {number} step */
  nextSort(step) {
    const ids = this.columns().filter((one) => one.kind !== "curve").map((one) => one.id);
    const at = ids.indexOf(this.app.state.view.sort.replace(/^-/, ""));
    const id = ids[(at + step + ids.length) % ids.length];
    const text = id === "name" || id === "where" || id === "place";
    this.app.state.set({ sort: text ? id : `-${id}` });
    this.app.say(`Sorted by ${id}`);
  }

  /** @param {number} step */
  nextKind(step) {
    const at = TABLE_KINDS.findIndex(([kind]) => kind === this.app.state.view.table);
    const [kind, text] = TABLE_KINDS[(at + step + TABLE_KINDS.length) % TABLE_KINDS.length];
    this.app.state.set({ table: kind, sort: "-self" });
    this.app.say(text);
  }

  /** Number of the chosen row, or -1. */
  get row() {
    return this.at < 0 ? -1 : this.order[this.at];
  }

  openRow() {
    const { rows, row, app } = this;
    if (!rows || row < 0) return;
    if (rows.kind === "types") app.state.set({ view: "types", type: rows.name(row) });
    else if (rows.kind === "threads") app.state.set({ threads: [row], view: "flame" });
    else if (rows.kind === "images") app.state.set({ focus: this.patternOf(row), view: "flame" });
    else app.state.set({ view: "code", chosen: app.entities.keys[rows.entity(row)] });
  }

  sandwich() {
    const { rows, row, app } = this;
    if (!rows || row < 0 || rows.entity(row) === NONE) return;
    app.state.set({ view: "flame", tree: "sandwich", chosen: app.entities.keys[rows.entity(row)], zoom: [] });
  }

  /** A regular expression for exactly the chosen row. @param {number} row */
  patternOf(row) {
    const rows = /** @type {Rows} */ (this.rows);
    const e = rows.entity(row);
    return `^${literally(e === NONE ? rows.where(row) : this.app.entities.names[e])}$`;
  }

  focus() {
    const { rows, row, app } = this;
    if (!rows || row < 0 || rows.kind === "types") return;
    if (rows.kind === "threads") app.state.set({ threads: [row] });
    else app.state.set({ focus: this.patternOf(row) });
  }

  hide() {
    const { rows, row, app } = this;
    if (!rows || row < 0 || rows.kind === "types" || rows.kind === "threads") return;
    const { hide } = app.state.view;
    app.state.set({ hide: hide ? `${hide}|${this.patternOf(row)}` : this.patternOf(row) });
  }

  saveCsv() {
    const rows = /** @type {Rows} */ (this.rows);
    const { app } = this;
    const headings = HEADINGS[rows.kind];
    const unit = app.unit ?? "weight";
    const head = [headings.name, headings.where, ...(headings.place ? [headings.place] : []), `self (${unit})`, `total (${unit})`, "samples"];
    const lines = Array.from(this.order, (i) => [
      rows.name(i),
      rows.where(i),
      ...(headings.place ? [rows.place(i)] : []),
      rows.self[i],
      rows.total[i],
      rows.samples[i],
    ]);
    offerFile(`${rows.kind}.csv`, "text/csv", csvText([head, ...lines]));
    app.say(`Saved ${lines.length} rows`);
  }

  drawDetails() {
    const { rows, row, app } = this;
    if (!rows || row < 0) {
      this.details.replaceChildren(h("p", { class: "hint dim" }, "Choose a row to see its callers and callees. Enter opens it."));
      return;
    }
    const { unit, selection, entities } = app;
    const share = (/** @type {number} */ value) => `${formatCount(value)}${unit && unit !== "samples" ? ` ${unit}` : ""} (${formatShare(selection.total ? value / selection.total : 0)})`;
    const same = rows.self === rows.total;
    const facts = /** @type {[string, string][]} */ ([
      [same ? "Weight" : "Self", share(rows.self[row])],
      ...(same ? [] : [["Total", share(rows.total[row])]]),
      ["Samples", formatCount(rows.samples[row])],
      [HEADINGS[rows.kind].where, rows.where(row)],
      ...(HEADINGS[rows.kind].place && rows.place(row) ? [[HEADINGS[rows.kind].place, rows.place(row)]] : []),
    ]);
    const name = safeText(rows.name(row));
    const e = rows.entity(row);
    const open = { functions: "Code", lines: "Code", types: "Layout", threads: "Only this thread", images: "Only its stacks" }[rows.kind];
    const parts = [
      h("h2", { title: name, class: "details-name" }, shorten(name, 300)),
      h(
        "div",
        { class: "buttons" },
        h("button", { type: "button", onclick: () => this.openRow(), title: "Enter" }, open),
        ...(e === NONE
          ? []
          : [
              h("button", { type: "button", onclick: () => this.sandwich(), title: "s" }, "Sandwich"),
              h("button", { type: "button", onclick: () => this.focus(), title: "f" }, "Focus"),
              h("button", { type: "button", onclick: () => this.hide(), title: "h" }, "Hide"),
            ]),
      ),
      h("dl", { class: "facts" }, ...facts.flatMap(([term, text]) => [h("dt", {}, term), h("dd", {}, shorten(safeText(text), 400))])),
    ];
    if (rows.kind === "functions") {
      const grouping = functionGrouping(app);
      const sums = inclusive(app.profile.node.parent, selection.self);
      const { callers, callees } = neighbours(app.profile.node.parent, sums, grouping.entity, row, grouping.count);
      parts.push(this.relatives("Callers", callers, entities), this.relatives("Callees", callees, entities));
    }
    this.details.replaceChildren(...parts);
  }

  /**
   * A small table of callers or callees.
   * @param {string} title
   * @param {[number, number][]} list
   * @param {import("./entities.js").Entities} entities
   */
  relatives(title, list, entities) {
    const { total } = this.app.selection;
    const rows = list.slice(0, LISTED).map(([e, weight]) => {
      const name = e === NONE ? "(none: the stack starts or ends here)" : safeText(entities.names[e]);
      const cell = h("td", { class: "name" });
      if (e === NONE) cell.append(h("span", { class: "dim" }, name));
      else
        cell.append(
          h("button", { type: "button", class: "link", title: shorten(name, 2000), onclick: () => this.choose(entities.keys[e]) }, shorten(name, 300)),
        );
      return h(
        "tr",
        {},
        h("td", { class: "number", "data-value": weight, title: formatCount(weight) }, formatWeight(weight, this.app.unit)),
        h("td", { class: "number dim" }, formatShare(total ? weight / total : 0)),
        cell,
      );
    });
    return h(
      "section",
      { class: "relatives", "data-relatives": title.toLowerCase() },
      h("h3", {}, title),
      list.length
        ? h("table", {}, h("tbody", {}, ...rows))
        : h("p", { class: "dim" }, title === "Callees" ? "It calls nothing that was sampled." : "None."),
      list.length > LISTED ? h("p", { class: "dim" }, `and ${formatCount(list.length - LISTED)} more`) : null,
    );
  }

  /** @param {string} key of a function */
  choose(key) {
    const { app } = this;
    if (app.state.view.search && this.order.every((i) => /** @type {Rows} */ (this.rows).key(i) !== key)) app.state.set({ chosen: key, search: "" });
    else app.state.set({ chosen: key });
  }
}
