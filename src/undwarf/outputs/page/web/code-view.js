// A function's source and assembly, with weights.

import { NONE } from "./decode.js";
import { CodeModel, LANES, lineKey } from "./code-model.js";
import { h } from "./elements.js";
import { baseName, formatAddress, formatCount, formatShare, formatWeight, safeText, shorten } from "./format.js";
import { FunctionChoice } from "./function-choice.js";
import { colouredInstruction, colouredSource } from "./highlight.js";
import { SELECTING } from "./selection.js";
import { functionGrouping } from "./table-rows.js";
import { VirtualList } from "./virtual-list.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./code-model.js").FunctionCode} FunctionCode */
/** @typedef {import("./code-model.js").OperandType} OperandType */
/** @typedef {"source" | "assembly"} PaneName */
/** @typedef {{name: PaneName, root: HTMLElement, head: HTMLElement, body: HTMLElement, list: VirtualList, at: number}} CodePane */

const ARROW_SVG = "http://www.w3.org/2000/svg";
const LANE_WIDTH = 7;

/** The type of an operand as text. @param {OperandType} type */
export function describeOperand([, , type, member, offset]) {
  const name = type === null ? "unknown type" : `${type}${member ? `: ${member}` : ""}`;
  return safeText(offset === null ? name : `${name} (offset ${offset})`);
}

/** The view of code. */
export class CodeView {
  /** @param {App} app @param {HTMLElement} root @param {HTMLElement} tools */
  constructor(app, root, tools) {
    this.app = app;
    this.choice = new FunctionChoice(
      () => this.choices(),
      (key) => app.state.set({ chosen: key }),
    );
    this.facts = h("span", { class: "code-facts dim" });
    this.pieces = h("div", { class: "choice", role: "group", "aria-label": "Parts of this function", hidden: true });
    tools.append(this.choice.element, this.pieces, this.facts);
    this.source = this.pane("source", "Source");
    this.assembly = this.pane("assembly", "Assembly");
    this.arrows = document.createElementNS(ARROW_SVG, "svg");
    this.arrows.setAttribute("class", "jumps");
    this.arrows.setAttribute("aria-hidden", "true");
    this.assembly.body.addEventListener("scroll", () => this.drawArrows(), { passive: true });
    this.status = h("div", { class: "code-status card", role: "status", "aria-live": "polite", id: "code-status" });
    this.message = h("div", { class: "card code-message", hidden: true });
    this.panes = h("div", { class: "code-panes" }, this.source.root, this.assembly.root);
    this.root = h("div", { class: "code-view" }, this.message, this.panes, this.status);
    root.append(this.root);
    /** @type {CodeModel | null} */
    this.model = null;
    /** @type {PaneName} */
    this.active = "assembly";
    /** Key of the line that is pointed at. */
    this.litLine = -1;
    this.wanted = 0;
    /** Lanes of arrows beside the assembly. */
    this.lanes = 1;
    /** Number of the function that is shown. */
    this.number = NONE;
    this.registerKeys();
  }

  registerKeys() {
    const add = (/** @type {string | string[]} */ key, /** @type {string} */ text, /** @type {() => void} */ run) =>
      this.app.keys.add("code", "Code", key, text, run);
    add(["j", "ArrowDown"], "Next line or instruction", () => this.step(1));
    add(["k", "ArrowUp"], "Line or instruction before", () => this.step(-1));
    add("PageDown", "A page down", () => this.step(this.activePane.list.page));
    add("PageUp", "A page up", () => this.step(-this.activePane.list.page));
    add("Home", "First", () => this.go(this.activePane, 0));
    add("End", "Last", () => this.go(this.activePane, this.activePane.list.count - 1));
    add("n", "Next hot one, by weight", () => this.hot(1));
    add("p", "Hotter one before", () => this.hot(-1));
    add("o", "Other side: source or assembly", () => this.other());
    add("Enter", "Follow the jump or the call", () => this.follow());
    add("c", "Choose a function", () => {
      this.choice.input.focus();
      this.choice.open("");
    });
    add("]", "Next hot function", () => this.nextFunction(1));
    add("[", "Hotter function before", () => this.nextFunction(-1));
    add("s", "Sandwich of the function", () => {
      const { chosen } = this.app.state.view;
      if (chosen !== null) this.app.state.set({ view: "flame", tree: "sandwich", zoom: [] });
    });
  }

  /**
   * @param {PaneName} name
   * @param {string} title
   * @returns {CodePane}
   */
  pane(name, title) {
    const head = h("div", { class: "pane-head" });
    const body = h("div", {
      class: "pane-body",
      id: `code-${name}`,
      role: "listbox",
      tabindex: 0,
      "aria-label": title,
      onclick: (/** @type {MouseEvent} */ event) => {
        const row = this.rowOf(event);
        if (row >= 0) this.go(pane, row);
      },
      onmouseover: (/** @type {MouseEvent} */ event) => this.hover(pane, this.rowOf(event)),
      onmouseleave: () => this.hover(pane, -1),
      onfocus: () => {
        this.active = name;
      },
    });
    const root = h("section", { class: `card code-pane ${name}`, "aria-label": title }, head, body);
    /** @type {CodePane} */
    const pane = { name, root, head, body, at: -1, list: new VirtualList(body, (i) => (name === "source" ? this.sourceRow(i) : this.assemblyRow(i))) };
    return pane;
  }

  get activePane() {
    return this[this.active].list.count ? this[this.active] : this.active === "source" ? this.assembly : this.source;
  }

  /** @param {MouseEvent} event */
  rowOf(event) {
    const row = /** @type {HTMLElement | null} */ (/** @type {HTMLElement} */ (event.target).closest("[data-row]"));
    return row ? Number(row.dataset.row) : -1;
  }

  /** Functions by self weight. */
  byWeight() {
    const { app } = this;
    const grouping = functionGrouping(app);
    const { self, total } = grouping.sum(app.selection.self);
    return Array.from(self, (weight, e) => ({ e, weight, total: total[e] }))
      .filter((one) => one.total > 0)
      .sort((a, b) => b.weight - a.weight || b.total - a.total);
  }

  /** @returns {import("./function-choice.js").Choice[]} */
  choices() {
    const { entities, selection } = this.app;
    return this.byWeight().map(({ e, weight }) => ({
      key: entities.keys[e],
      name: entities.names[e],
      where: entities.imageName(e),
      share: selection.total ? weight / selection.total : 0,
      note: "",
    }));
  }

  /** @param {Set<string>} changed */
  show(changed) {
    const { view } = this.app.state;
    if (!changed.size || changed.has("view") || changed.has("chosen")) this.load();
    else if (SELECTING.some((name) => changed.has(name))) {
      if (this.model) {
        this.model.weigh();
        this.draw(true);
      } else this.load();
    }
    if (changed.has("search") && view.view === "code") this.countMatches();
  }

  /** Numbers of the functions of an entity. @param {number} e */
  functionsOf(e) {
    const { ofFunction } = this.app.entities;
    const found = [];
    for (let f = 0; f < ofFunction.length; f++) if (ofFunction[f] === e) found.push(f);
    return found;
  }

  /** Find the code of the chosen function, and show it. */
  async load() {
    const { app } = this;
    const turn = ++this.wanted;
    let { chosen } = app.state.view;
    let part = null;
    try {
      part = await app.parts.get(app.partOfSide("code"));
    } catch (error) {
      app.warn(/** @type {Error} */ (error).message);
    }
    if (turn !== this.wanted) return;
    if (chosen === null || app.entities.find(chosen) < 0) {
      const hottest = this.byWeight().find(({ e }) => this.functionsOf(e).some((f) => part?.json.functions[f])) ?? this.byWeight()[0];
      if (!hottest) return this.tell("Nothing is selected", ["Widen the time, or clear the filters."]);
      chosen = app.entities.keys[hottest.e];
      app.state.set({ chosen }, true);
      // The change of the state loads it.
      return;
    }
    const e = app.entities.find(chosen);
    this.choice.show(app.entities.names[e]);
    const numbers = this.functionsOf(e);
    /** @type {Map<number, any>} */
    const found = new Map();
    for (const f of numbers) if (part?.json.functions?.[f]) found.set(f, part.json);
    if (!found.size && app.profile.served && numbers.length) {
      try {
        const more = await app.parts.get(`code?function=${numbers[0]}`);
        if (more?.json.functions?.[numbers[0]]) found.set(numbers[0], more.json);
        app.warn("");
      } catch (error) {
        app.warn(/** @type {Error} */ (error).message);
      }
      if (turn !== this.wanted) return;
    }
    this.pieces.hidden = found.size < 2;
    if (!found.size) return this.tellNone(e, part);
    const models = [...found].map(([f, json]) => /** @type {const} */ ([f, new CodeModel(app, json, json.functions[f])]));
    models.sort((a, b) => b[1].allSelf - a[1].allSelf);
    this.pieces.replaceChildren(
      ...models.map(([f, model], i) =>
        h("button", { type: "button", "aria-pressed": String(i === 0), title: formatAddress(model.start), onclick: () => this.take(model, f) }, `part ${i + 1}`),
      ),
    );
    this.take(models[0][1], models[0][0]);
  }

  /** @param {CodeModel} model @param {number} f */
  take(model, f) {
    this.model = model;
    this.number = f;
    this.litLine = -1;
    const { code } = model;
    if (!code.instructions.length && !model.source.length) {
      this.tell("No code to show", [code.problem ?? "The code was not read.", ...this.weightSentence(model), ...this.help(code.problem)]);
      return;
    }
    this.draw(false);
    this.hot(1, true);
  }

  /** @param {CodeModel} model */
  weightSentence(model) {
    return model.allSelf ? [`${formatWeight(model.allSelf, this.app.unit)} of the selection were taken in it.`] : [];
  }

  /**
   * What to do about code that is not there.
   * @param {string | null} problem
   */
  help(problem) {
    return /kernel|vmlinux/i.test(problem ?? "")
      ? ["The kernel's code is read from vmlinux: install its debug package, or give --vmlinux."]
      : ["Give the folder that has the recording's programs with --symfs, or fetch them by build-id with --debuginfod."];
  }

  /**
   * @param {number} e
   * @param {import("./decode.js").Part | null} part
   */
  tellNone(e, part) {
    const { app } = this;
    const { profile, entities } = app;
    const name = safeText(entities.names[e]);
    const hosts = this.hostsOf(e);
    if (hosts.length) {
      this.tell(`${shorten(name, 120)} was inlined`, ["It has no code of its own here: its instructions are in these functions."], hosts);
      return;
    }
    if (part?.json.problem) return this.tell("No code", [part.json.problem, ...this.help(part.json.problem)]);
    if (profile.served)
      return this.tell("No code", [`${shorten(name, 120)}: its file could not be read, or it is not a function.`, ...this.help(null)]);
    if (!part) return this.tell("This page has no code", ["It was written without source and assembly, or the recording's programs were not found.", ...this.help(null)]);
    const known = Object.keys(part.json.functions).length;
    this.tell(`The code of ${shorten(name, 120)} is not in this page`, [
      `To keep the file small it has the code of the ${formatCount(known)} heaviest functions. undwarf view FILE, without -o, shows all of them.`,
    ]);
  }

  /** Functions that an entity is inlined into: with their weight, the heaviest first. @param {number} e @returns {[number, number][]} */
  hostsOf(e) {
    const { profile, entities, selection } = this.app;
    const { node, frame } = profile;
    /** @type {Map<number, number>} */
    const hosts = new Map();
    for (let n = 0; n < node.parent.length; n++) {
      const f = node.frame[n];
      if (entities.ofFrame[f] !== e) continue;
      if (!frame.inline[f]) return [];
      let up = node.parent[n];
      while (up !== NONE && frame.inline[node.frame[up]]) up = node.parent[up];
      if (up === NONE) continue;
      const host = entities.ofFrame[node.frame[up]];
      hosts.set(host, (hosts.get(host) ?? 0) + selection.self[n]);
    }
    return [...hosts].sort((a, b) => b[1] - a[1]).slice(0, 12);
  }

  /**
   * Say why there is no code.
   * @param {string} title
   * @param {string[]} sentences
   * @param {[number, number][]} [functions] to open instead
   */
  tell(title, sentences, functions = []) {
    const { app } = this;
    this.model = null;
    this.panes.hidden = true;
    this.status.hidden = true;
    this.message.hidden = false;
    this.facts.textContent = "";
    this.message.replaceChildren(
      h(
        "div",
        { class: "empty" },
        h("h2", {}, safeText(title)),
        ...sentences.map((one) => h("p", {}, safeText(one))),
        h(
          "div",
          { class: "buttons centred" },
          ...functions.map(([e, weight]) =>
            h(
              "button",
              { type: "button", onclick: () => app.state.set({ chosen: app.entities.keys[e] }) },
              `${shorten(safeText(app.entities.names[e]), 80)} · ${formatWeight(weight, app.unit)}`,
            ),
          ),
        ),
      ),
    );
  }

  /** @param {boolean} keep the places in the lists */
  draw(keep) {
    const { app, source, assembly } = this;
    const model = /** @type {CodeModel} */ (this.model);
    this.panes.hidden = false;
    this.status.hidden = false;
    this.message.hidden = true;
    const { total } = app.selection;
    this.facts.textContent = [
      `${formatWeight(model.allSelf, app.unit)} in its code (${formatShare(total ? model.allSelf / total : 0)})`,
      model.allTotal > model.allSelf ? `${formatWeight(model.allTotal, app.unit)} with what it calls` : "",
    ]
      .filter(Boolean)
      .join(" · ");
    const first = model.source.find((row) => row.kind === "line");
    const path = first?.kind === "line" ? safeText(model.files[first.file]) : "";
    const doubts = model.source.length ? model.sourceProblems() : [];
    source.head.replaceChildren(
      h("h2", {}, "Source"),
      h("span", { class: "dim name", title: path }, shorten(path, 90)),
      this.legend(),
      ...doubts.slice(0, 2).map((one) => h("p", { class: "doubt" }, `⚠ ${shorten(safeText(one), 160)}`)),
    );
    assembly.head.replaceChildren(
      h("h2", {}, "Assembly"),
      h("span", { class: "dim name mono" }, `${formatAddress(model.start)} – ${formatAddress(model.end)}`),
      this.legend(),
    );
    this.panes.classList.toggle("no-source", !model.source.length);
    this.fill(source, model.source.length, this.sourceMissing(model));
    this.fill(assembly, model.assembly.length, [model.code.problem ?? "There are no instructions.", ...this.help(model.code.problem)]);
    this.lanes = Math.min(LANES, model.loops.reduce((most, loop) => Math.max(most, loop.lane + 1), 0)) + 1;
    assembly.root.style.setProperty("--gutter", `${(this.lanes + 1) * LANE_WIDTH}px`);
    assembly.list.content.append(this.arrows);
    if (!keep) {
      source.at = -1;
      assembly.at = -1;
    }
    this.markAll();
    this.drawArrows();
    this.countMatches();
  }

  legend() {
    return h("span", { class: "legend dim" }, "self, total: % of the function");
  }

  /** @param {CodeModel} model */
  sourceMissing(model) {
    const problems = model.sourceProblems();
    if (problems.length) return [...problems.slice(0, 3), "Source text is read where the debug information says that it was, or at that path below --symfs, when the page is made."];
    if (model.code.file === null)
      return ["There is no debug information with lines for this function.", "Build with -g, or provide its debug file: --debuginfod fetches them."];
    return ["Source text was not found."];
  }

  /**
   * @param {CodePane} pane
   * @param {number} count
   * @param {string[]} missing why there is nothing
   */
  fill(pane, count, missing) {
    pane.body.querySelector(".empty")?.remove();
    pane.list.show(count);
    pane.root.classList.toggle("bare", !count);
    if (!count) pane.body.append(h("div", { class: "empty" }, ...missing.map((one) => h("p", {}, safeText(one)))));
  }

  /**
   * Weight cells of a row.
   * @param {number} self
   * @param {number} total
   * @param {number} most self weight of a row
   */
  weights(self, total, most) {
    const model = /** @type {CodeModel} */ (this.model);
    const { unit } = this.app;
    const all = model.allTotal || 1;
    const title = (/** @type {number} */ value) => `${formatCount(value)}${unit && unit !== "samples" ? ` ${unit}` : " samples"}`;
    const bar = h("span", { class: "heat-bar", "aria-hidden": "true" });
    bar.style.width = `${most ? ((self / most) * 100).toFixed(1) : 0}%`;
    return [
      h("span", { class: "w self", "data-value": self, title: self ? title(self) : null }, self ? formatShare(self / all) : "", bar),
      h("span", { class: "w total", "data-value": total, title: total > self ? title(total) : null }, total > self ? formatShare(total / all) : ""),
    ];
  }

  /** @param {number} i @returns {HTMLElement} */
  sourceRow(i) {
    const model = /** @type {CodeModel} */ (this.model);
    const row = model.source[i];
    if (row.kind === "head") {
      const path = safeText(model.files[row.file]);
      return h("div", { class: "code-row head", role: "presentation", title: path }, shorten(path, 120));
    }
    if (row.kind === "gap") return h("div", { class: "code-row gap", role: "presentation" }, "⋯");
    const key = lineKey(row.file, row.line);
    const weight = model.ofLine.get(key) ?? { self: 0, total: 0 };
    const element = this.codeRow(this.source, i, this.heat(weight.self, model.mostLine));
    element.dataset.line = String(key);
    element.append(
      ...this.weights(weight.self, weight.total, model.mostLine),
      h("span", { class: "line-number" }, String(row.line)),
      h("code", {}, colouredSource(row.text)),
    );
    if (key === this.litLine) element.classList.add("lit");
    return element;
  }

  /** @param {number} i @returns {HTMLElement} */
  assemblyRow(i) {
    const model = /** @type {CodeModel} */ (this.model);
    const row = model.assembly[i];
    if (row.kind === "gap") return h("div", { class: "code-row gap", role: "presentation" }, "⋯ elsewhere");
    if (row.kind === "inline") {
      const chain = row.chain.map((name) => shorten(safeText(name), 80)).join(" → ");
      return h("div", { class: "code-row inline-head", role: "presentation", title: chain }, `↳ inlined: ${chain}`);
    }
    const [offset, text, line, target, types] = model.instructions[row.number];
    const self = model.self[row.number];
    const total = model.total[row.number];
    const element = this.codeRow(this.assembly, i, this.heat(self, model.most));
    const key = model.lineOf(row.number);
    const place = line === null ? undefined : model.lines[line];
    element.dataset.line = String(key);
    const before = model.assembly[i - 1];
    const same = before?.kind === "instruction" && model.instructions[before.number][2] === line;
    if (model.chainOf(row.number).length) element.classList.add("inlined");
    element.append(
      ...this.weights(self, total, model.most),
      h("span", { class: "gutter", "aria-hidden": "true" }),
      h("span", { class: "offset", title: formatAddress(model.start + offset) }, offset.toString(16)),
      h("code", {}, colouredInstruction(text, types, describeOperand)),
      h("span", { class: "place dim" }, same || key < 0 || !place ? "" : `${baseName(safeText(model.files[place[0] ?? -1] ?? ""))}:${place[1]}`),
    );
    if (target !== null) element.classList.add("jump");
    if (key === this.litLine && key >= 0) element.classList.add("lit");
    return element;
  }

  /**
   * @param {CodePane} pane
   * @param {number} i
   * @param {number} heat
   */
  codeRow(pane, i, heat) {
    const chosen = i === pane.at;
    return h("div", {
      class: `code-row heat-${heat}${chosen ? " chosen" : ""}`,
      role: "option",
      id: `${pane.name}-${i}`,
      "aria-selected": String(chosen),
      "data-row": i,
    });
  }

  /** @param {number} value @param {number} most */
  heat(value, most) {
    return value > 0 && most > 0 ? Math.max(1, Math.ceil((value / most) * 5)) : 0;
  }

  /** The line of a row of a pane, or -1. @param {CodePane} pane @param {number} row */
  lineOf(pane, row) {
    const model = this.model;
    if (!model || row < 0) return -1;
    if (pane.name === "source") {
      const one = model.source[row];
      return one?.kind === "line" ? lineKey(one.file, one.line) : -1;
    }
    const one = model.assembly[row];
    if (one?.kind !== "instruction") return -1;
    return model.lineOf(one.number);
  }

  /** @param {CodePane} pane @param {number} row pointed at, or -1 */
  hover(pane, row) {
    const line = row < 0 ? this.lineOf(this.activePane, this.activePane.at) : this.lineOf(pane, row);
    this.light(line);
    if (pane.name === "assembly") this.describe(row < 0 ? pane.at : row);
  }

  /** Mark what belongs to a line. @param {number} line */
  light(line) {
    if (line === this.litLine) return;
    this.litLine = line;
    for (const pane of [this.source, this.assembly])
      for (const row of pane.list.drawn.values()) row.classList.toggle("lit", line >= 0 && row.dataset.line === String(line));
  }

  /** Whether a row can be chosen. @param {CodePane} pane @param {number} row */
  choosable(pane, row) {
    const kind = (pane.name === "source" ? this.model?.source : this.model?.assembly)?.[row]?.kind;
    return kind === "line" || kind === "instruction";
  }

  /** @param {number} by */
  step(by) {
    const pane = this.activePane;
    let row = pane.at + by;
    const direction = Math.sign(by);
    row = Math.max(0, Math.min(row, pane.list.count - 1));
    while (row >= 0 && row < pane.list.count && !this.choosable(pane, row)) row += direction;
    if (row >= 0 && row < pane.list.count) this.go(pane, row);
  }

  /**
   * Choose a row, and show its counterpart in the other pane.
   * @param {CodePane} pane
   * @param {number} row
   * @param {boolean} [quiet] without moving the focus
   */
  go(pane, row, quiet = false) {
    if (!this.model || row < 0 || row >= pane.list.count) return;
    pane.at = row;
    this.active = pane.name;
    pane.list.reveal(row, true);
    const line = this.lineOf(pane, row);
    this.light(line);
    const other = pane.name === "source" ? this.assembly : this.source;
    if (line >= 0) {
      const best = this.counterpart(other, line);
      if (best >= 0) {
        other.at = best;
        other.list.reveal(best, true);
      }
    }
    this.markAll();
    this.drawArrows();
    this.describe(this.assembly.at);
    if (!quiet && document.activeElement !== pane.body) pane.body.focus({ preventScroll: true });
  }

  /** The row of a pane that belongs to a line, the hottest if there are several; -1 for none. @param {CodePane} pane @param {number} line */
  counterpart(pane, line) {
    if (this.lineOf(pane, pane.at) === line) return pane.at;
    let best = -1;
    let most = -1;
    for (let i = 0; i < pane.list.count; i++) {
      if (this.lineOf(pane, i) !== line) continue;
      const weight = this.weightOf(pane, i);
      if (weight > most) {
        most = weight;
        best = i;
      }
    }
    return best;
  }

  /** Self weight of a row. @param {CodePane} pane @param {number} row */
  weightOf(pane, row) {
    const model = /** @type {CodeModel} */ (this.model);
    if (pane.name === "source") return model.ofLine.get(this.lineOf(pane, row))?.self ?? 0;
    const one = model.assembly[row];
    return one?.kind === "instruction" ? model.self[one.number] : 0;
  }

  markAll() {
    for (const pane of [this.source, this.assembly]) {
      for (const [i, row] of pane.list.drawn) {
        row.classList.toggle("chosen", i === pane.at);
        if (row.hasAttribute("aria-selected")) row.setAttribute("aria-selected", String(i === pane.at));
      }
      if (pane.at >= 0) pane.body.setAttribute("aria-activedescendant", `${pane.name}-${pane.at}`);
      else pane.body.removeAttribute("aria-activedescendant");
    }
  }

  /**
   * Go to the next row by falling weight.
   * @param {number} step
   * @param {boolean} [first] the hottest, without moving the focus
   */
  hot(step, first = false) {
    const pane = this.activePane;
    const rows = [];
    for (let i = 0; i < pane.list.count; i++) if (this.choosable(pane, i) && this.weightOf(pane, i) > 0) rows.push(i);
    rows.sort((a, b) => this.weightOf(pane, b) - this.weightOf(pane, a) || a - b);
    if (!rows.length) return;
    const at = first ? -1 : rows.indexOf(pane.at);
    const next = first || at < 0 ? 0 : (at + step + rows.length) % rows.length;
    this.go(pane, rows[next], first);
    if (!first) this.app.say(`${next + 1} of ${rows.length} by weight`);
  }

  other() {
    const pane = this.active === "source" ? this.assembly : this.source;
    if (!pane.list.count) return;
    this.active = pane.name;
    pane.body.focus();
  }

  follow() {
    const row = this.model?.assembly[this.assembly.at];
    if (!this.model || row?.kind !== "instruction") return;
    const target = this.model.instructions[row.number][3];
    const number = target === null ? undefined : this.model.numberAt.get(target);
    if (number !== undefined) {
      const to = this.model.assembly.findIndex((one) => one.kind === "instruction" && one.number === number);
      this.go(this.assembly, to);
      return;
    }
    const [callee] = this.model.calls(row.number);
    if (callee) this.app.state.set({ chosen: this.app.entities.keys[callee[0]] });
  }

  /** @param {number} step */
  nextFunction(step) {
    const { app } = this;
    const list = this.byWeight().filter((one) => one.weight > 0);
    if (!list.length) return;
    const at = list.findIndex(({ e }) => app.entities.keys[e] === app.state.view.chosen);
    app.state.set({ chosen: app.entities.keys[list[(at + step + list.length) % list.length].e] });
  }

  /** Rows that match the search. */
  matchingRows() {
    const { search } = this.app.state.view;
    const model = this.model;
    if (!search || !model) return [];
    const wanted = search.toLowerCase();
    const pane = this.activePane;
    const texts =
      pane.name === "source"
        ? model.source.map((row) => (row.kind === "line" ? row.text : ""))
        : model.assembly.map((row) => (row.kind === "instruction" ? model.instructions[row.number][1] : ""));
    return texts.flatMap((text, i) => (text.toLowerCase().includes(wanted) ? [i] : []));
  }

  countMatches() {
    const { search } = this.app.state.view;
    this.app.header.matches(search && this.model ? this.matchingRows().length : null, "lines");
  }

  /** @param {number} step */
  nextMatch(step) {
    const rows = this.matchingRows();
    if (!rows.length) return;
    const pane = this.activePane;
    const next = step > 0 ? rows.find((row) => row > pane.at) : rows.findLast((row) => row < pane.at);
    this.go(pane, next ?? rows[step > 0 ? 0 : rows.length - 1], true);
  }

  /** Say what an instruction is: its operands' types, its callees. @param {number} row */
  describe(row) {
    const model = this.model;
    const one = model?.assembly[row];
    if (!model || one?.kind !== "instruction") {
      this.status.replaceChildren(h("span", { class: "dim" }, "Point at an instruction, or choose it, to see the types of its operands and what it calls."));
      return;
    }
    const { app } = this;
    const [offset, text, , target, types] = model.instructions[one.number];
    const chain = model.chainOf(one.number);
    const parts = [h("code", { class: "status-text" }, shorten(safeText(`${offset.toString(16)}: ${text}`), 160))];
    for (const type of types ?? [])
      parts.push(h("span", { class: "operand" }, h("code", {}, safeText(text.slice(type[0], type[1]))), " is ", h("strong", {}, describeOperand(type))));
    if (chain.length) parts.push(h("span", { class: "dim" }, `inlined: ${shorten(safeText(chain.join(" → ")), 160)}`));
    if (target !== null) parts.push(h("span", { class: "dim" }, `jumps to ${target.toString(16)}`));
    if (model.total[one.number] > model.self[one.number]) {
      const calls = model.calls(one.number).slice(0, 3);
      const kernel = (/** @type {number} */ e) => app.profile.images[app.entities.image[e]]?.kind === "kernel";
      for (const [e, weight] of calls)
        parts.push(
          h(
            "span",
            {},
            // What interrupts an instruction is its callee too.
            kernel(e) && this.model?.code.image !== app.entities.image[e] ? "in the kernel: " : "calls ",
            h("button", { type: "button", class: "link inline", onclick: () => app.state.set({ chosen: app.entities.keys[e] }) }, shorten(safeText(app.entities.names[e]), 60)),
            ` ${formatWeight(weight, app.unit)}`,
          ),
        );
    }
    this.status.replaceChildren(...parts);
  }

  /** Draw loops, and the jumps of the chosen instruction. */
  drawArrows() {
    const { model, arrows, assembly } = this;
    arrows.replaceChildren();
    if (!model || !assembly.list.count) return;
    const { height } = assembly.list;
    const top = assembly.body.scrollTop;
    const seen = assembly.body.clientHeight;
    const gutter = /** @type {HTMLElement | null} */ (assembly.body.querySelector(".code-row .gutter"));
    if (!gutter) return;
    arrows.style.top = `${top}px`;
    arrows.style.left = `${gutter.offsetLeft}px`;
    const width = (this.lanes + 1) * LANE_WIDTH;
    arrows.setAttribute("width", String(width));
    arrows.setAttribute("height", String(seen));
    const rowOf = new Map();
    model.assembly.forEach((row, i) => row.kind === "instruction" && rowOf.set(row.number, i));
    const at = model.assembly[assembly.at];
    const own = at?.kind === "instruction" ? model.jumpsOf(at.number) : [];
    const draw = (/** @type {import("./code-model.js").Jump} */ jump, /** @type {boolean} */ chosen) => {
      const from = (rowOf.get(jump.from) + 0.5) * height - top;
      const to = (rowOf.get(jump.to) + 0.5) * height - top;
      if (Math.max(from, to) < 0 || Math.min(from, to) > seen) return;
      const x = width - (chosen ? this.lanes : Math.min(jump.lane, LANES - 1) + 1) * LANE_WIDTH - 0.5;
      const path = document.createElementNS(ARROW_SVG, "path");
      const clamp = (/** @type {number} */ y) => Math.max(-50, Math.min(seen + 50, y)).toFixed(1);
      const tip = width - 2;
      path.setAttribute(
        "d",
        `M${tip} ${clamp(from)}H${x}V${clamp(to)}H${tip}m-4 -3l4 3l-4 3`,
      );
      path.setAttribute("class", chosen ? "jump chosen" : "jump");
      arrows.append(path);
    };
    for (const loop of model.loops) if (!own.some((one) => one.from === loop.from && one.to === loop.to)) draw(loop, false);
    for (const jump of own) draw(jump, true);
  }
}
