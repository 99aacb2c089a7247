// Data types: what is accessed, where it lies in the type, and which cache lines it takes.

import { h } from "./elements.js";
import { expression } from "./entities.js";
import { formatCount, formatShare, formatWeight, safeText, shorten } from "./format.js";
import { SELECTING } from "./selection.js";
import { TypeWeights } from "./type-weights.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./type-weights.js").DataType} DataType */
/** @typedef {import("./type-weights.js").Member} Member */
/** @typedef {import("./type-weights.js").AccessWeight} AccessWeight */
/** @typedef {{kind: "member", member: Member, weight: AccessWeight} | {kind: "hole", offset: number, size: number}} Piece */

/** Cache lines that are drawn one by one; of more, only those that are accessed. */
const DRAWN_LINES = 24;
/** Members that are listed. */
const MOST_MEMBERS = 3000;

/** The view of data types. */
export class TypesView {
  /** @param {App} app @param {HTMLElement} root @param {HTMLElement} tools */
  constructor(app, root, tools) {
    this.app = app;
    this.list = h("div", { class: "type-list card", role: "listbox", tabindex: 0, id: "type-list", "aria-label": "Data types" });
    this.drawing = h("div", { class: "type-drawing" });
    this.root = h("div", { class: "types-view" }, h("div", { class: "type-side" }, this.list), this.drawing);
    this.summary = h("div", { class: "type-summary" });
    root.append(this.root);
    tools.append(this.summary);
    /** @type {import("./decode.js").Part | null} */
    this.part = null;
    /** The name of the part: of a comparison, each side has one. */
    this.partName = "";
    /** The name of the part that is fetched, if one is. */
    this.loading = "";
    /** @type {TypeWeights | null} */
    this.weights = null;
    /** Numbers of the types that are listed, the heaviest first. @type {number[]} */
    this.order = [];
    /** Path of the chosen member. @type {string | null} */
    this.member = null;
    /** Number of the chosen type, or -1. */
    this.chosen = -1;
    /** @type {Piece[]} */
    this.pieces = [];
    this.registerKeys();
  }

  registerKeys() {
    const add = (/** @type {string | string[]} */ key, /** @type {string} */ text, /** @type {() => void} */ run) =>
      this.app.keys.add("types", "Types", key, text, run);
    add(["j", "ArrowDown"], "Next member", () => this.step(1));
    add(["k", "ArrowUp"], "Member before", () => this.step(-1));
    add("n", "Next hot member, by weight", () => this.hot());
    add("]", "Next type", () => this.nextType(1));
    add("[", "Type before", () => this.nextType(-1));
    add("Enter", "Code of the function that accesses it most", () => this.openCode());
  }

  /** @param {Set<string>} changed */
  show(changed) {
    const name = this.app.partOfSide("types");
    if (!this.part || this.partName !== name) {
      this.load(name);
      return;
    }
    if (!changed.size || changed.has("view") || SELECTING.some((name) => changed.has(name))) this.refresh();
    else if (changed.has("type") || changed.has("search")) this.draw();
  }

  /** Fetch the part. A server may take seconds to recover the types. @param {string} name */
  load(name) {
    if (this.loading === name) return;
    this.loading = name;
    this.drawing.replaceChildren(h("div", { class: "card empty-card" }, h("div", { class: "empty" }, h("p", { role: "status" }, "Recovering data types…"))));
    this.app.parts
      .get(name)
      .then(
        (part) => {
          if (this.loading !== name) return;
          this.part = part;
          this.partName = name;
          this.app.warn("");
          this.refresh();
        },
        (error) => {
          this.app.warn(error.message);
          this.drawing.replaceChildren();
        },
      )
      .finally(() => {
        if (this.loading === name) this.loading = "";
      });
  }

  refresh() {
    const problem = this.part ? this.part.json.problem : "This page has no data types.";
    if (!this.part || problem) {
      this.root.replaceChildren(
        h(
          "div",
          { class: "card empty-card" },
          h(
            "div",
            { class: "empty" },
            h("h2", {}, "No data types"),
            h("p", {}, safeText(problem)),
            h("p", {}, "Types are recovered from samples with registers or precise addresses, where the programs' debug information is found."),
          ),
        ),
      );
      return;
    }
    this.weights = new TypeWeights(this.app, this.part);
    this.draw();
  }

  draw() {
    const { app } = this;
    const weights = /** @type {TypeWeights} */ (this.weights);
    const { search, type } = app.state.view;
    const pattern = search ? expression(search) : null;
    const matches = (/** @type {DataType} */ one) =>
      !pattern || pattern.test(one.name) || one.members.some((member) => pattern.test(member.name ?? ""));
    this.order = weights.types
      .map((_, i) => i)
      .filter((i) => weights.ofType[i].weight > 0 && matches(weights.types[i]))
      .sort((a, b) => weights.ofType[b].weight - weights.ofType[a].weight);
    app.header.matches(pattern ? this.order.length : null, "types");
    this.drawSummary();
    let chosen = weights.types.findIndex((one, i) => one.name === type && weights.ofType[i].weight > 0);
    if (chosen < 0) chosen = weights.types.findIndex((one) => one.name === type);
    if (chosen < 0) chosen = this.order[0] ?? -1;
    if (chosen !== this.chosen) this.member = null;
    this.chosen = chosen;
    this.drawList();
    this.drawType();
  }

  /** Which part of the selection accesses data of known types. */
  drawSummary() {
    const { app } = this;
    const weights = /** @type {TypeWeights} */ (this.weights);
    const { total } = app.selection;
    const parts = /** @type {[string, string, number, string][]} */ ([
      ["typed", "typed data", weights.typed, ""],
      ["unknown", "accesses of unknown type", weights.untyped, ""],
      ["none", "no access to data", weights.none.weight, ""],
    ]);
    const bar = h("div", { class: "share-bar", role: "img", "aria-label": parts.map(([, text, weight]) => `${text} ${formatShare(weight / (total || 1))}`).join(", ") });
    const labels = [];
    for (const [kind, text, weight] of parts) {
      const piece = h("span", { class: `share-piece ${kind}` });
      piece.style.flexGrow = String(weight || 0);
      bar.append(piece);
      labels.push(h("span", { class: "share-label" }, h("span", { class: `swatch ${kind}`, "aria-hidden": "true" }), `${text} ${formatShare(total ? weight / total : 0)}`));
    }
    const reasons = [...weights.unknown].sort((a, b) => b[1].weight - a[1].weight).slice(0, 6);
    const why = reasons.length
      ? h(
          "details",
          { class: "about" },
          h("summary", {}, "Why unknown"),
          h(
            "div",
            { class: "popover" },
            h("dl", {}, ...reasons.flatMap(([reason, weight]) => [h("dt", {}, formatShare(weight.weight / (total || 1))), h("dd", {}, safeText(reason))])),
            ...this.adviceOf("untyped").map((text) => h("p", { class: "advice" }, `→ ${safeText(text)}`)),
          ),
        )
      : null;
    this.summary.replaceChildren(bar, ...labels, ...(why ? [why] : []));
  }

  /** @param {string} kind @returns {string[]} */
  adviceOf(kind) {
    return (this.part?.json.advice ?? []).filter((/** @type {any} */ one) => one.kind === kind).map((/** @type {any} */ one) => String(one.text));
  }

  drawList() {
    const { app } = this;
    const weights = /** @type {TypeWeights} */ (this.weights);
    const { total } = app.selection;
    this.list.replaceChildren(
      ...this.order.slice(0, 500).map((i) => {
        const weight = weights.ofType[i];
        const type = weights.types[i];
        const share = total ? weight.weight / total : 0;
        const most = weights.ofType[this.order[0]].weight;
        const bar = h("span", { class: "bar", "aria-hidden": "true" });
        bar.style.width = `${((weight.weight / most) * 100).toFixed(1)}%`;
        const item = h(
          "div",
          {
            role: "option",
            id: `type-${i}`,
            class: i === this.chosen ? "type-item chosen" : "type-item",
            "aria-selected": String(i === this.chosen),
            "data-value": weight.weight,
            onclick: () => app.state.set({ type: type.name }),
          },
          h("span", { class: "name mono", title: shorten(safeText(type.name), 2000) }, shorten(safeText(type.name), 200)),
          h("span", { class: "number" }, formatShare(share)),
          h("span", { class: "dim" }, [type.size === null ? "" : `${formatCount(type.size)} bytes`, `${formatCount(weight.samples)} samples`].filter(Boolean).join(" · ")),
          bar,
        );
        return item;
      }),
    );
    if (!this.order.length) this.list.append(h("p", { class: "hint dim" }, app.state.view.search ? "No type matches." : "No typed access in this selection."));
    if (this.chosen >= 0) this.list.setAttribute("aria-activedescendant", `type-${this.chosen}`);
  }

  /** Members and holes of a type in order. @param {number} number @returns {Piece[]} */
  piecesOf(number) {
    const weights = /** @type {TypeWeights} */ (this.weights);
    const type = weights.types[number];
    /** @type {Piece[]} */
    const pieces = type.members.slice(0, MOST_MEMBERS).map((member) => ({ kind: "member", member, weight: weights.ofMember(number, member) }));
    for (const [offset, size] of type.holes) {
      const at = pieces.findIndex((one) => one.kind === "member" && one.member.offset >= offset && one.member.depth === 0);
      const hole = /** @type {Piece} */ ({ kind: "hole", offset, size });
      if (at < 0) pieces.push(hole);
      else pieces.splice(at, 0, hole);
    }
    return pieces;
  }

  drawType() {
    const { app } = this;
    const weights = /** @type {TypeWeights} */ (this.weights);
    const number = this.chosen;
    if (number < 0) {
      this.pieces = [];
      this.drawing.replaceChildren(h("div", { class: "card empty-card" }, h("div", { class: "empty" }, h("p", {}, "No typed access in this selection."))), ...this.sharing());
      return;
    }
    const type = weights.types[number];
    this.pieces = this.piecesOf(number);
    const weight = weights.ofType[number];
    const { total } = app.selection;
    const lineSize = this.part?.json.line_size || 64;
    const lost = type.holes.reduce((sum, [, size]) => sum + size, 0);
    const facts = [
      `${formatWeight(weight.weight, app.unit)} (${formatShare(total ? weight.weight / total : 0)})`,
      `loads ${formatShare(weight.weight ? weight.loads / weight.weight : 0)}, stores ${formatShare(weight.weight ? weight.stores / weight.weight : 0)}`,
      type.size === null ? null : `${formatCount(type.size)} bytes, ${formatCount(Math.max(1, Math.ceil(type.size / lineSize)))} cache line${type.size > lineSize ? "s" : ""}`,
      lost ? `${formatCount(lost)} bytes in ${type.holes.length} hole${type.holes.length > 1 ? "s" : ""}` : null,
      weights.hasLatency && weight.samples ? `${(weight.latency / weight.samples).toFixed(0)} cycles on average` : null,
      type.one_object ? "one object" : null,
    ].filter(Boolean);
    this.drawing.replaceChildren(
      h(
        "section",
        { class: "card type-card", "aria-label": "Layout" },
        h("h2", { class: "mono details-name" }, shorten(safeText(type.name), 400)),
        h("p", { class: "dim" }, facts.join(" · ")),
        type.members.length ? this.legendLine() : null,
        type.members.length ? this.lineMap(type, lineSize) : h("p", { class: "dim" }, type.drawn ? "It has no members." : "Its layout is left out, to keep the page small."),
        type.members.length ? this.memberTable(type, lineSize) : null,
      ),
      this.accessors(),
      ...this.spread(type),
      ...this.sharing(),
    );
  }

  legendLine() {
    return h(
      "p",
      { class: "legend-line dim" },
      h("span", { class: "swatch load", "aria-hidden": "true" }),
      "loads ",
      h("span", { class: "swatch store", "aria-hidden": "true" }),
      "stores ",
      h("span", { class: "swatch hole", "aria-hidden": "true" }),
      "hole; darker is hotter; a row is a cache line if the object starts at one",
    );
  }

  /** Pieces at the outermost level that have bytes: what the map draws. */
  outermostPieces() {
    return this.pieces.filter((one) => one.kind === "hole" || (one.member.depth === 0 && one.member.size > 0));
  }

  /** The type's bytes: a row for each cache line. @param {DataType} type @param {number} lineSize */
  lineMap(type, lineSize) {
    const weights = /** @type {TypeWeights} */ (this.weights);
    const number = this.chosen;
    const most = this.pieces.reduce((max, one) => (one.kind === "member" && this.isLeaf(one.member) ? Math.max(max, one.weight.weight) : max), 0);
    /** @type {Map<number, HTMLElement[]>} */
    const lines = new Map();
    const hot = new Map();
    let union = -1;
    for (const piece of this.outermostPieces()) {
      const offset = piece.kind === "hole" ? piece.offset : piece.member.offset;
      const size = piece.kind === "hole" ? piece.size : piece.member.size * piece.member.repeat;
      // Members of a union, and bit fields, lie over each other: the first is drawn.
      if (offset < union) continue;
      union = offset + size;
      const first = Math.floor(offset / lineSize);
      const last = Math.min(Math.floor((offset + size - 1) / lineSize), first + 4096);
      for (let line = first; line <= last; line++) {
        const start = Math.max(offset, line * lineSize);
        const end = Math.min(offset + size, (line + 1) * lineSize);
        const cell = this.cell(piece, most);
        cell.style.gridColumn = `${start - line * lineSize + 1} / span ${end - start}`;
        if (line > first) cell.classList.add("continued");
        const cells = lines.get(line);
        if (cells) cells.push(cell);
        else lines.set(line, [cell]);
        if (piece.kind === "member" && piece.weight.weight) hot.set(line, (hot.get(line) ?? 0) + piece.weight.weight / (last - first + 1));
      }
    }
    const total = weights.ofType[number]?.weight || 1;
    const all = [...lines].sort((a, b) => a[0] - b[0]);
    const drawn = all.length > DRAWN_LINES ? all.filter(([line]) => hot.has(line)).slice(0, 200) : all;
    const map = h("div", { class: "line-map", role: "group", "aria-label": "Cache lines" });
    let before = -1;
    const skipped = (/** @type {number} */ count) => h("div", { class: "line-skip dim" }, `${formatCount(count)} cache line${count > 1 ? "s" : ""} without accesses`);
    for (const [line, cells] of drawn) {
      if (line > before + 1) map.append(skipped(line - before - 1));
      before = line;
      const strip = h("div", { class: "line-strip" }, ...cells);
      strip.style.gridTemplateColumns = `repeat(${lineSize}, minmax(0, 1fr))`;
      map.append(
        h(
          "div",
          { class: "cache-line" },
          h("span", { class: "dim number", title: `cache line ${line}` }, String(line * lineSize)),
          strip,
          h("span", { class: "number" }, hot.has(line) ? formatShare((hot.get(line) ?? 0) / total) : ""),
        ),
      );
    }
    const end = all.length ? all[all.length - 1][0] : -1;
    if (end > before) map.append(skipped(end - before));
    return map;
  }

  /** @param {Member} member */
  isLeaf(member) {
    const at = this.pieces.findIndex((one) => one.kind === "member" && one.member === member);
    const next = this.pieces.slice(at + 1).find((one) => one.kind === "member");
    return !next || next.kind !== "member" || next.member.depth <= member.depth;
  }

  /** A piece of the map. @param {Piece} piece @param {number} most @returns {HTMLElement} */
  cell(piece, most) {
    if (piece.kind === "hole") return h("div", { class: "byte-cell hole", title: `hole of ${piece.size} bytes` });
    const { member, weight } = piece;
    const name = safeText(member.name ?? member.type);
    const heat = weight.weight && most ? Math.min(5, Math.max(1, Math.ceil((weight.weight / most) * 5))) : 0;
    const text = `${name}${member.repeat > 1 ? ` ×${member.repeat}` : ""}`;
    const cell = h(
      "button",
      {
        type: "button",
        tabindex: -1,
        class: `byte-cell heat-${heat}${member.path === this.member && this.member !== null ? " chosen" : ""}`,
        "data-path": member.path,
        title: `${shorten(text, 200)}: ${shorten(safeText(member.type), 200)}, ${member.size} bytes at ${member.offset}, ${formatShare(this.shareOf(weight))} of the type`,
        onclick: () => this.choose(member.path),
      },
      h("span", { class: "cell-name" }, shorten(text, 60)),
    );
    if (weight.weight) cell.append(this.kindBar(weight));
    return cell;
  }

  /** Share of the chosen type's weight. @param {AccessWeight} weight */
  shareOf(weight) {
    const whole = this.weights?.ofType[this.chosen]?.weight ?? 0;
    return whole ? weight.weight / whole : 0;
  }

  /** Loads and stores: plain and striped. @param {AccessWeight} weight */
  kindBar(weight) {
    const bar = h("span", { class: "kind-bar", "aria-hidden": "true" });
    const loads = h("span", { class: "load" });
    const stores = h("span", { class: "store" });
    loads.style.flexGrow = String(weight.loads);
    stores.style.flexGrow = String(weight.stores);
    if (weight.loads) bar.append(loads);
    if (weight.stores) bar.append(stores);
    return bar;
  }

  /** @param {DataType} type @param {number} lineSize */
  memberTable(type, lineSize) {
    const weights = /** @type {TypeWeights} */ (this.weights);
    const rows = [];
    let line = -1;
    const several = (type.size ?? 0) > lineSize;
    this.pieces.forEach((piece, i) => {
      const offset = piece.kind === "hole" ? piece.offset : piece.member.offset;
      const at = Math.floor(offset / lineSize);
      if (several && at > line) {
        line = at;
        rows.push(h("tr", { class: "line-row" }, h("th", { colspan: 8, scope: "colgroup" }, `cache line ${at}`)));
      }
      if (piece.kind === "hole") {
        rows.push(
          h("tr", { class: "hole-row" }, h("td", { class: "number" }, String(piece.offset)), h("td", { class: "number" }, String(piece.size)), h("td", { colspan: 6 }, "hole")),
        );
        return;
      }
      const { member, weight } = piece;
      const name = h("td", { class: "member-name mono" });
      name.style.paddingLeft = `${0.6 + Math.min(member.depth, 12) * 1.1}rem`;
      const dimensions = member.elements.map((count) => `[${count}]`).join("");
      name.append(
        h("span", {}, shorten(safeText(member.name ?? "(unnamed)"), 120)),
        h("span", { class: "dim" }, `${dimensions}${member.bits === null ? "" : ` : ${member.bits} bits`}${member.repeat > 1 ? ` ×${formatCount(member.repeat)}` : ""}`),
      );
      const chosen = member.path !== null && member.path === this.member;
      rows.push(
        h(
          "tr",
          { class: `member-row${chosen ? " chosen" : ""}${weight.weight ? " hot" : ""}`, "data-piece": i, "data-path": member.path, "aria-selected": String(chosen), onclick: () => this.choose(member.path) },
          h("td", { class: "number dim" }, String(member.offset)),
          h("td", { class: "number dim" }, String(member.size * member.repeat)),
          name,
          h("td", { class: "mono dim name", title: shorten(safeText(member.type), 2000) }, shorten(safeText(member.type), 60)),
          h("td", { class: "number", "data-value": weight.weight, title: formatCount(weight.weight) }, weight.weight ? formatShare(this.shareOf(weight)) : ""),
          h("td", { class: "number dim" }, weight.weight ? formatCount(weight.samples) : ""),
          h("td", {}, weight.weight ? this.kindBar(weight) : null),
          h(
            "td",
            { class: "dim kinds" },
            weight.weight ? [weight.loads ? `loads ${formatShare(weight.loads / weight.weight)}` : "", weight.stores ? `stores ${formatShare(weight.stores / weight.weight)}` : ""].filter(Boolean).join(", ") : "",
          ),
        ),
      );
    });
    const others = [...weights.members[this.chosen]].filter(([path]) => !type.members.some((one) => one.path === path));
    for (const [path, weight] of others) {
      if (!weight.weight) continue;
      rows.push(
        h(
          "tr",
          { class: "member-row hot" },
          h("td", { colspan: 2 }),
          h("td", { class: "member-name dim" }, path ? shorten(safeText(path), 120) : "(the whole, or between members)"),
          h("td"),
          h("td", { class: "number", "data-value": weight.weight }, formatShare(this.shareOf(weight))),
          h("td", { class: "number dim" }, formatCount(weight.samples)),
          h("td", {}, this.kindBar(weight)),
          h("td"),
        ),
      );
    }
    if (type.members.length > MOST_MEMBERS) rows.push(h("tr", {}, h("td", { colspan: 8, class: "dim" }, `and ${formatCount(type.members.length - MOST_MEMBERS)} more members`)));
    const head = ["Offset", "Bytes", "Member", "Type", "Weight", "Samples", "Loads, stores", ""];
    return h(
      "table",
      { class: "members", id: "members" },
      h("thead", {}, h("tr", {}, ...head.map((text, i) => h(text ? "th" : "td", { scope: text ? "col" : null, class: i < 2 || i === 4 || i === 5 ? "number" : "" }, text)))),
      h("tbody", {}, ...rows),
    );
  }

  /** Functions that access the chosen member, or the type. */
  accessors() {
    const { app } = this;
    const weights = /** @type {TypeWeights} */ (this.weights);
    const { total } = app.selection;
    const found = weights.functionsOf(this.chosen, this.member);
    return h(
      "section",
      { class: "card type-card", "aria-label": "Functions", id: "accessors" },
      h("h2", {}, this.member === null ? "Functions that access it" : h("span", {}, "Functions that access ", h("code", {}, shorten(safeText(this.member), 120)))),
      h(
        "table",
        { class: "plain" },
        h(
          "tbody",
          {},
          ...found.slice(0, 15).map(([e, weight]) =>
            h(
              "tr",
              {},
              h("td", { class: "number", "data-value": weight.weight, title: formatCount(weight.weight) }, formatWeight(weight.weight, app.unit)),
              h("td", { class: "number dim" }, formatShare(total ? weight.weight / total : 0)),
              h("td", { class: "kind-cell" }, this.kindBar(weight)),
              h("td", { class: "name" }, h("button", { type: "button", class: "link", onclick: () => app.state.set({ view: "code", chosen: app.entities.keys[e] }) }, shorten(safeText(app.entities.names[e]), 200))),
            ),
          ),
        ),
      ),
      found.length > 15 ? h("p", { class: "dim" }, `and ${formatCount(found.length - 15)} more`) : null,
      this.member === null ? null : h("button", { type: "button", class: "quiet", onclick: () => this.choose(null) }, "All members"),
    );
  }

  /** Members that are used together but far apart. @param {DataType} type @returns {HTMLElement[]} */
  spread(type) {
    return (this.part?.json.advice ?? [])
      .filter((/** @type {any} */ one) => one.kind === "spread" && one.type === type.name)
      .map((/** @type {any} */ one) =>
        h(
          "section",
          { class: "card type-card advice-card", "aria-label": "Advice" },
          h("h2", {}, "Used together, far apart"),
          h("p", {}, ...(one.members ?? []).slice(0, 12).flatMap((/** @type {any} */ member, /** @type {number} */ i) => [i ? ", " : "", h("code", {}, shorten(safeText(member.field), 80))])),
          h("p", {}, safeText(one.text)),
          one.functions_text ? h("p", { class: "dim" }, safeText(one.functions_text)) : null,
        ),
      );
  }

  /** Cache lines that move between CPUs: of the whole recording. @returns {HTMLElement[]} */
  sharing() {
    const { app } = this;
    const sharing = this.part?.json.sharing;
    const found = /** @type {any[]} */ (sharing?.found ?? []);
    if (!found.length) return [];
    const unit = sharing.weighted_by === "samples" ? "samples" : (app.profile.measures[0]?.unit ?? null);
    return [
      h(
        "section",
        { class: "card type-card sharing", "aria-label": "Sharing between CPUs", id: "sharing" },
        h("h2", {}, "Cache lines that move between CPUs"),
        h("p", { class: "dim" }, "Of the whole recording: it does not follow the selection."),
        ...found.slice(0, 20).map((one) =>
          h(
            "div",
            { class: "clash" },
            h(
              "h3",
              {},
              h("span", { class: one.kind === "false sharing" ? "tag bad" : "tag" }, safeText(one.kind)),
              ` ${shorten(safeText(one.type), 120)} · ${formatWeight(one.weight, unit)} (${formatShare(sharing.weight ? one.weight / sharing.weight : 0)})`,
            ),
            h("p", { class: "dim" }, safeText(one.place ?? "")),
            h("ul", { class: "mono" }, ...(one.parties ?? []).slice(0, 20).map((/** @type {string} */ text) => h("li", {}, shorten(safeText(text), 300)))),
            ...(one.advice ?? []).map((/** @type {string} */ text) => h("p", { class: "advice" }, `→ ${safeText(text)}`)),
          ),
        ),
      ),
    ];
  }

  /** @param {string | null} path */
  choose(path) {
    this.member = path;
    const scroll = this.drawing.scrollTop;
    this.drawType();
    this.drawing.scrollTop = scroll;
    this.app.say(path === null ? "All members" : `${path}`);
  }

  /** Pieces that can be chosen. */
  choosable() {
    return this.pieces.flatMap((one) => (one.kind === "member" && one.member.path !== null ? [one] : []));
  }

  /** @param {number} by */
  step(by) {
    const list = this.choosable();
    if (!list.length) return;
    const at = list.findIndex((one) => one.member.path === this.member);
    const next = list[at < 0 ? 0 : Math.max(0, Math.min(list.length - 1, at + by))];
    this.choose(next.member.path);
    this.drawing.querySelector("tr.chosen")?.scrollIntoView({ block: "nearest" });
  }

  hot() {
    const list = this.choosable()
      .filter((one) => one.weight.weight > 0)
      .sort((a, b) => b.weight.weight - a.weight.weight);
    if (!list.length) return;
    const at = list.findIndex((one) => one.member.path === this.member);
    this.choose(list[(at + 1) % list.length].member.path);
    this.drawing.querySelector("tr.chosen")?.scrollIntoView({ block: "nearest" });
  }

  /** @param {number} step */
  nextType(step) {
    const { weights, order } = this;
    if (!weights || !order.length) return;
    const at = order.indexOf(this.chosen);
    this.app.state.set({ type: weights.types[order[(at + step + order.length) % order.length]].name });
    document.getElementById(`type-${this.chosen}`)?.scrollIntoView({ block: "nearest" });
  }

  openCode() {
    const [first] = this.weights?.functionsOf(this.chosen, this.member) ?? [];
    if (first) this.app.state.set({ view: "code", chosen: this.app.entities.keys[first[0]] });
  }
}
