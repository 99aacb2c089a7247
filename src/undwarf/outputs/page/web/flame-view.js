// The flame graph: boxes on a canvas, and what one can do with them.

import { NONE } from "./decode.js";
import { h } from "./elements.js";
import { GUESSED, INLINED, CALLED, OTHER_LINES, isFunction } from "./call-tree.js";
import { literally } from "./entities.js";
import { csvText, offerFile } from "./csv.js";
import { foldedOf, saveBlob, svgOf } from "./export.js";
import { KIND_LABELS, Palette } from "./flame-colors.js";
import { ComparedFlame } from "./flame-compare.js";
import { axisTicks, isMerged, place } from "./flame-layout.js";
import { Tooltip, closeMenu, openMenu } from "./flame-menu.js";
import { FlameTrees, MOST_LANES, TREE_PROPERTIES } from "./flame-trees.js";
import { formatCount, formatShare, formatTime, formatWeight, safeText, shorten } from "./format.js";
import { SELECTING } from "./selection.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./flame-layout.js").Placed} Placed */
/** @typedef {import("./state.js").View} View */
/** @typedef {Placed & {pane: number, y: number}} Shown a box and where it is drawn: ``y`` of the content, ``row`` of the pane */

const GROUP = "Flame graph";
const AXIS = 22;
const TEXT_FROM = 22;
const ZOOM_MS = 220;
const LANE_GAP = 6;
/** Between two graphs beside each other, and the width from which they are not one below the other. */
const BESIDE_GAP = 14;
const LEAST_BESIDE = 620;

/** Height of a row. */
function rowHeight() {
  return Math.round(19 * Math.max(1, parseFloat(getComputedStyle(document.documentElement).fontSize) / 16));
}

export class FlameView {
  /** @param {App} app @param {HTMLElement} root @param {HTMLElement} tools */
  constructor(app, root, tools) {
    this.app = app;
    this.trees = new FlameTrees(app);
    /** Words and looks of a comparison; null for the page of one recording. */
    this.compared = this.trees.compared && new ComparedFlame(app, this.trees.compared);
    /** The box of each pane that fills its width, of two graphs beside each other. @type {number[]} */
    this.frames = [];
    this.tip = new Tooltip();
    this.window = { from: 0, to: 1 };
    /** @type {{from: number, to: number, start: number, before: {from: number, to: number}} | null} */
    this.moving = null;
    /** What is drawn, by row of the whole content. @type {Map<number, Shown[]>} */
    this.rows = new Map();
    /** @type {{pane: number, box: number, count: number} | null} */
    this.focus = null;
    /** @type {Shown | null} */
    this.hovered = null;
    /** @type {Uint8Array | null} */
    this.matching = null;
    /** @type {{nodes: number[], functions: number, weight: number} | null} */
    this.matches = null;
    this.match = -1;
    this.scheduled = 0;
    this.contentHeight = 0;
    this.keepBottom = true;
    /** @type {{pane: number, box: number} | null} */
    this.zoomed = null;
    /** @type {Shown | null} */
    this.clicked = null;
    /** How hot a function is, 0 to 1. @type {((entity: number) => number) | null} */
    this.heatOf = null;
    this.everythingKey = "";
    this.everythingSum = 0;
    this.palette = this.makePalette();
    /** @type {((view: View) => void)[]} */
    this.shown = [];
    this.order = this.drawn = h("div");
    this.exporter = h("button", { type: "button", "aria-haspopup": "menu", onclick: () => this.exportMenu() }, "Export…");
    this.makeTools(tools);
    this.crumbs = h("nav", { class: "flame-crumbs", "aria-label": "Path of the frame in view" });
    this.note = h("p", { class: "flame-note" });
    this.canvas = /** @type {HTMLCanvasElement} */ (
      h("canvas", {
        id: "flame-canvas",
        tabindex: "0",
        role: "application",
        "aria-roledescription": "flame graph",
        "aria-label": "Flame graph. Arrow keys move among boxes, Enter zooms; the tab Table has the same functions as a table.",
        "aria-describedby": "flame-said",
      })
    );
    this.context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d", { alpha: false }));
    this.filler = h("div", { class: "flame-filler" });
    this.scroll = h("div", { class: "flame-scroll" }, this.filler, this.canvas);
    this.said = h("p", { id: "flame-said", class: "unseen", "aria-live": "polite" });
    this.legend = h("div", { class: "flame-legend", "aria-label": "What colours and patterns mean", title: "With the share of self weight" });
    this.empty = h("div", { class: "empty", hidden: true });
    root.classList.add("flame");
    root.append(h("div", { class: "flame-head" }, this.crumbs, this.note), this.empty, this.scroll, this.legend, this.said);
    this.listen();
    this.addKeys();
  }

  makePalette() {
    return new Palette(this.app.entities, document.documentElement.dataset.theme === "dark");
  }

  // --- Controls ---

  /** @param {HTMLElement} tools */
  makeTools(tools) {
    const { state, profile } = this.app;
    const choice = (/** @type {string} */ label, /** @type {keyof View} */ name, /** @type {[string, string, string, (() => void)?][]} */ options) => {
      const buttons = options.map(([value, text, title, run]) =>
        h("button", { type: "button", title, "data-value": value, onclick: run ?? (() => state.set(/** @type {any} */ ({ [name]: value }))) }, text),
      );
      this.shown.push((view) => {
        for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.value === view[name]));
      });
      return h("div", { class: "choice", role: "group", "aria-label": label, "data-name": name }, ...buttons);
    };
    const check = (/** @type {"recursion" | "byThread"} */ name, /** @type {string} */ text, /** @type {string} */ title) => {
      const box = /** @type {HTMLInputElement} */ (
        h("input", { type: "checkbox", id: `flame-${name}`, onchange: () => state.set({ [name]: box.checked }) })
      );
      this.shown.push((view) => (box.checked = view[name]));
      return h("label", { class: "check", title }, box, text);
    };
    this.order = choice("Order", "order", [
      ["heavy", "Heaviest first", "Siblings by falling weight (o)"],
      ["time", "By time", "Each thread's stacks where they were in time (o)"],
    ]);
    if (profile.timeUnit === null) this.order.hidden = true;
    this.drawn = choice("Drawn as", "draw", [
      ["icicle", "Icicle", "Roots at the top (i)"],
      ["flame", "Flame", "Roots at the bottom (i)"],
    ]);
    if (this.compared) {
      this.order.hidden = true;
      this.widths = choice("Widths", "width", [
        ["larger", "Larger", "Widths are the larger of before and after: what is gone is seen, too (x)"],
        ["after", "After", "Widths are weights after (x)"],
        ["before", "Before", "Widths are weights before (x)"],
      ]);
      const sides = choice("Sides", "compare", [
        ["one", "Both in one", "One flame graph of both sides (b)"],
        ["beside", "Side by side", "A flame graph for each side (b)"],
      ]);
      tools.append(sides, this.widths);
    }
    tools.append(
      choice("Tree", "tree", [
        ["callees", "Callees", "From the roots down (v)", () => this.turn("callees")],
        ["callers", "Callers", "Bottom-up: from the innermost functions to their callers (v)", () => this.turn("callers")],
        ["sandwich", "Sandwich", "Callers and callees of one function (s)", () => this.sandwich()],
      ]),
      this.drawn,
      this.order,
      choice("Colours", "colour", [
        ...(this.compared ? [/** @type {[string, string, string]} */ (["change", "Change", "Colours by what changed (c)"])] : []),
        ["kind", "Kind", "Colours by kind of code (c)"],
        ["module", "Module", "Colours by file (c)"],
        ["self", "Self", "Colours by self weight (c)"],
      ]),
      check("recursion", "merge recursion", "A function below itself is merged with the first one (r)"),
      ...(this.compared ? [] : [check("byThread", "by thread", "Threads as rows below the stacks")]),
      h("span", { class: "spacer" }),
      this.exporter,
    );
  }

  addKeys() {
    const { keys, state } = this.app;
    const add = (/** @type {string | string[]} */ key, /** @type {string} */ text, /** @type {(event: KeyboardEvent) => void} */ run) =>
      keys.add("flame", GROUP, key, text, run);
    add(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"], "move among boxes", (event) => this.move(event.key));
    add("Enter", "zoom in", () => this.zoomFocus());
    add("Backspace", "zoom out one frame", () => this.zoomOut());
    add("0", "zoom out wholly", () => this.zoomTo([]));
    add(["+", "="], "wider", () => this.scale(0.5));
    add("-", "narrower", () => this.scale(2));
    add("n", "next match", () => this.nextMatch(1));
    add("N", "previous match", () => this.nextMatch(-1));
    add("i", "flame or icicle", () => state.set({ draw: state.view.draw === "flame" ? "icicle" : "flame" }));
    add("v", "callers or callees", () => this.turn(state.view.tree === "callers" ? "callees" : "callers"));
    add("s", "sandwich of this function", () => this.sandwich());
    add("o", "order: weight or time", () => state.set({ order: state.view.order === "heavy" ? "time" : "heavy" }));
    add("r", "merge recursion", () => state.set({ recursion: !state.view.recursion }));
    add("c", "next colours", () => {
      const choices = /** @type {View["colour"][]} */ (["kind", "module", "self", ...(this.compared ? ["change"] : [])]);
      state.set({ colour: choices[(choices.indexOf(state.view.colour) + 1) % choices.length] });
    });
    if (this.compared) {
      add("b", "both sides in one, or side by side", () => state.set({ compare: state.view.compare === "one" ? "beside" : "one" }));
      add("x", "widths: larger, after, before", () => {
        const widths = /** @type {const} */ (["larger", "after", "before"]);
        state.set({ width: widths[(widths.indexOf(state.view.width) + 1) % 3] });
      });
    }
    add("e", "open the code of this function", () => this.openCode(this.current()));
    add(["m", "ContextMenu"], "menu of this box", () => this.menuAtFocus());
  }

  // --- What is shown ---

  /** Draw what the state says. @param {Set<string>} changed properties; all must be drawn if it is empty or has "view" */
  show(changed) {
    const { state } = this.app;
    const { view } = state;
    const all = !changed.size || changed.has("view");
    for (const one of this.shown) one(view);
    this.order.toggleAttribute("inert", view.tree !== "callees");
    this.widths?.toggleAttribute("inert", view.compare === "beside");
    this.drawn.toggleAttribute("inert", view.tree === "sandwich");
    const stale = [...SELECTING, ...TREE_PROPERTIES].some((name) => changed.has(name));
    if (all || stale) {
      this.trees.update();
      this.focus = null;
      this.hovered = null;
      this.tip.hide();
    }
    if (all || stale || changed.has("search")) this.findMatches();
    const { pane, box } = this.trees.resolve(view.zoom);
    const boxes = this.trees.panes[pane]?.boxes;
    this.frames = this.beside ? /** @type {any} */ (this.trees.compared).zoomBoxes({ pane, box }) : [];
    const target = boxes ? this.extent(pane, box) : { from: 0, to: 1 };
    if (!(target.to > target.from)) target.to = target.from + 1;
    if (all || stale || changed.has("draw")) this.window = target;
    else if (changed.has("zoom")) this.animate(target);
    if (changed.has("zoom") && boxes && !this.focus) this.focus = { pane, box, count: 1 };
    this.zoomed = { pane, box };
    this.keepBottom ||= all || changed.has("draw") || changed.has("tree") || changed.has("order") || changed.has("zoom");
    this.showHead();
    this.showLegend();
    this.draw();
  }

  /** Whether there is a graph for each side of a comparison; the window is then relative to the box in view of each. */
  get beside() {
    return Boolean(this.trees.compared?.beside);
  }

  /** Where the window's 0 is in a pane, and what its 1 is. @param {number} pane */
  scaleOf(pane) {
    const { boxes } = this.trees.panes[pane];
    if (!this.beside) return { at: 0, size: 1 };
    const box = this.frames[pane] ?? 0;
    return { at: boxes.x0[box], size: boxes.x1[box] - boxes.x0[box] || 1 };
  }

  /** Where boxes are, in units of the window. @param {number} pane @param {number} box @param {number} [last] */
  extent(pane, box, last = box) {
    const { boxes } = this.trees.panes[pane];
    const { at, size } = this.scaleOf(pane);
    return { from: (boxes.x0[box] - at) / size, to: (boxes.x1[last] - at) / size };
  }

  /** Draw at the next frame. */
  draw() {
    if (this.scheduled) return;
    this.scheduled = requestAnimationFrame((now) => {
      this.scheduled = 0;
      this.step(now);
      this.paint();
      if (this.moving) this.draw();
    });
  }

  /** @param {{from: number, to: number}} target */
  animate(target) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.window = target;
      this.moving = null;
    } else this.moving = { ...target, start: 0, before: { ...this.window } };
    this.draw();
  }

  /** @param {number} now */
  step(now) {
    const { moving } = this;
    if (!moving) return;
    moving.start ||= now;
    const t = Math.min(1, (now - moving.start) / ZOOM_MS);
    const eased = 1 - (1 - t) ** 3;
    const { before } = moving;
    // Widths change by a factor, so that each moment looks the same.
    const ratio = (moving.to - moving.from) / (before.to - before.from);
    const share = Math.abs(Math.log(ratio)) < 1e-3 ? eased : (ratio ** eased - 1) / (ratio - 1);
    this.window = {
      from: before.from + (moving.from - before.from) * share,
      to: before.to + (moving.to - before.to) * share,
    };
    if (t >= 1) {
      this.window = { from: moving.from, to: moving.to };
      this.moving = null;
    }
  }

  get unit() {
    return this.app.unit;
  }

  /** @param {number} value */
  weightText(value) {
    return formatWeight(value, this.unit);
  }

  showHead() {
    const { app, trees } = this;
    const { selection } = app;
    const { zoomed } = this;
    const boxes = trees.panes[zoomed?.pane ?? 0]?.boxes;
    const nothing = !(selection.total > 0);
    this.empty.hidden = !nothing && (app.state.view.tree !== "sandwich" || Boolean(trees.panes[0]?.up));
    this.scroll.hidden = this.legend.hidden = !this.empty.hidden;
    if (!this.empty.hidden) this.showEmpty(nothing);
    /** @type {HTMLElement[]} */
    const items = [];
    if (boxes && zoomed) {
      const path = [];
      for (let box = zoomed.box; box >= 0; box = boxes.parent[box]) path.push(box);
      path.reverse();
      const everyThread = trees.inTime && !app.state.view.zoom.length;
      for (const box of path) {
        const last = box === zoomed.box;
        const name = everyThread ? `all threads (${formatCount(trees.panes.length)})` : this.nameOf(boxes.entity[box]);
        const keys = trees.pathOf(zoomed.pane, box);
        items.push(
          last
            ? h("span", { class: "crumb last", "aria-current": "true", title: name }, name)
            : h("button", { type: "button", class: "crumb", title: name, onclick: () => this.zoomTo(keys) }, name),
        );
      }
    }
    this.layCrumbs(items);
    this.note.replaceChildren(...this.notes().map((text) => h("span", {}, text)));
    if (selection.idle > 0) {
      const share = formatShare(selection.idle / (selection.idle + selection.total));
      this.note.append(
        h("span", {}, `idle hidden: ${share} `, h("button", { type: "button", class: "flame-link", onclick: () => app.state.set({ idle: true }) }, "show")),
      );
    }
  }

  /** What is said beside the path. @returns {string[]} */
  notes() {
    const { app, trees } = this;
    const { selection } = app;
    const notes = [];
    const boxes = trees.panes[this.zoomed?.pane ?? 0]?.boxes;
    const box = this.zoomed?.box ?? 0;
    if (boxes && this.compared) notes.push(...this.compared.notes(this.zoomed?.pane ?? 0, box));
    else if (boxes) {
      const every = trees.inTime && !app.state.view.zoom.length ? trees.panes.map((pane) => pane.boxes) : [boxes];
      const total = every.reduce((sum, one) => sum + one.total[box], 0);
      const samples = every.reduce((sum, one) => sum + one.samples[box], 0);
      const share = total < selection.total ? ` (${formatShare(total / selection.total)})` : "";
      notes.push(`${this.weightText(total)}${share}${this.unit === "samples" ? "" : `, ${formatCount(samples)} samples`}`);
    }
    if (trees.left) notes.push(`the ${MOST_LANES} heaviest threads; ${formatCount(trees.left)} more are not drawn`);
    if (selection.unfocused > 0) notes.push(`out of focus: ${formatShare(selection.unfocused / (selection.unfocused + selection.total))}`);
    const { matches } = this;
    if (matches) {
      const at = this.match >= 0 ? `match ${formatCount(this.match + 1)} of ` : "";
      const share = formatShare(trees.whole ? matches.weight / trees.whole : 0);
      notes.push(
        `${at}${formatCount(matches.nodes.length)} ${matches.nodes.length === 1 ? "box" : "boxes"} of ${formatCount(matches.functions)} ` +
          `${matches.functions === 1 ? "function" : "functions"} found: ${share}`,
      );
    }
    return notes;
  }

  /** @param {boolean} nothing whether no sample is selected */
  showEmpty(nothing) {
    if (nothing)
      this.empty.replaceChildren(
        h("h2", {}, "Nothing is selected"),
        h("p", {}, this.app.selection.idle > 0 ? "All that is selected is idle time." : "No sample passes the filters above."),
      );
    else
      this.empty.replaceChildren(
        h("h2", {}, "A sandwich of which function?"),
        h("p", {}, "Choose one in the table, or with its menu or the key s in the tree: callers are drawn above it, callees below."),
        h("p", {}, h("button", { type: "button", onclick: () => this.app.state.set({ tree: "callees" }) }, "Back to the tree")),
      );
  }

  /** All of the path if there is room, else with its middle cut out; the last is always seen. @param {HTMLElement[]} items */
  layCrumbs(items) {
    this.crumbItems = items;
    const { crumbs } = this;
    crumbs.replaceChildren(...items);
    if (items.length < 4 || crumbs.scrollWidth <= crumbs.clientWidth + 1) return;
    const widths = items.map((item) => item.getBoundingClientRect().width + 16);
    const room = crumbs.clientWidth - 44;
    let used = widths[0] + Math.min(widths[widths.length - 1], room * 0.7);
    let from = items.length - 1;
    while (from > 1 && used + widths[from - 1] <= room) used += widths[--from];
    const left = items.slice(1, from);
    if (!left.length) return;
    const more = h(
      "button",
      { type: "button", class: "crumb", title: left.map((item) => item.textContent).join("\n"), "aria-label": `${left.length} more frames` },
      "…",
    );
    more.addEventListener("click", () => {
      const { left: x, bottom } = more.getBoundingClientRect();
      openMenu(x, bottom, "Frames between", left.map((item) => ({ text: shorten(item.textContent ?? "", 80), run: () => item.click() })), more);
    });
    crumbs.replaceChildren(items[0], more, ...items.slice(from));
  }

  showLegend() {
    const { view } = this.app.state;
    const { entities, profile } = this.app;
    const total = this.app.selection.total;
    /** @type {HTMLElement[]} */
    const items = [];
    this.heatOf = null;
    const entry = (/** @type {string} */ fill, /** @type {string} */ kind, /** @type {string} */ text, /** @type {string} */ share) => {
      const swatch = /** @type {HTMLCanvasElement} */ (h("canvas", { width: 36, height: 24, "aria-hidden": "true" }));
      const pen = /** @type {CanvasRenderingContext2D} */ (swatch.getContext("2d"));
      pen.scale(2, 2);
      pen.fillStyle = fill;
      pen.fillRect(0, 0, 18, 12);
      const pattern = this.palette.pattern(pen, kind);
      if (pattern) {
        pen.fillStyle = pattern;
        pen.fillRect(0, 0, 18, 12);
      }
      items.push(h("span", { class: "flame-key" }, swatch, text, share ? h("span", { class: "dim" }, share) : null));
    };
    const kinds = this.kindShares();
    if (view.colour === "change" && this.compared) this.compared.legend(this.palette, entry);
    else if (view.colour === "module") {
      const { totals } = this.trees;
      const sums = new Float64Array(profile.images.length);
      for (let i = 0; i < entities.functions; i++) if (entities.image[i] !== NONE) sums[entities.image[i]] += totals.self[i];
      const images = [...sums.keys()].filter((i) => sums[i] > 0).sort((a, b) => sums[b] - sums[a]);
      for (const image of images.slice(0, 10))
        entry(this.palette.ofModule(image), profile.images[image].kind, safeText(shorten(entities.imageLabels[image], 36)), formatShare(sums[image] / total));
      if (images.length > 10) items.push(h("span", { class: "flame-key dim" }, `${formatCount(images.length - 10)} more files`));
    } else if (view.colour === "self") {
      const { totals } = this.trees;
      const max = totals.self.reduce((a, b) => Math.max(a, b), 0);
      this.heatOf = (/** @type {number} */ entity) => (entity < entities.functions && max > 0 ? Math.sqrt(totals.self[entity] / max) : 0);
      for (const share of [0, 0.25, 0.5, 0.75, 1]) entry(this.palette.ofHeat(share), "", share === 0 ? "no self weight" : share === 1 ? "most self weight of a function" : "", "");
    } else
      for (const [kind, weight] of kinds)
        entry(this.palette.ofKind(kind), kind, KIND_LABELS[kind] ?? kind, kind === "broken" ? "" : formatShare(weight / total));
    if (view.colour !== "kind" && view.colour !== "change")
      for (const [kind] of kinds) if (["inlined", "unnamed", "broken"].includes(kind)) entry(this.palette.theme.back, kind, KIND_LABELS[kind], "");
    this.legend.replaceChildren(...items);
  }

  /** Self weight by kind of the innermost frame, heaviest first. @returns {[string, number][]} */
  kindShares() {
    const { selection, profile, entities } = this.app;
    const { node } = profile;
    /** @type {Map<string, number>} */
    const sums = new Map();
    const cut = profile.gaps.some((gap) => gap.kind === "early");
    for (let i = 0; i < selection.self.length; i++) {
      if (!selection.self[i]) continue;
      const frame = node.frame[i];
      const kind = this.palette.kindOf(entities.ofFrame[frame], profile.frame.inline[frame] > 0);
      sums.set(kind, (sums.get(kind) ?? 0) + selection.self[i]);
    }
    const order = [...sums].sort((a, b) => b[1] - a[1]);
    return cut ? [...order, ["broken", 0]] : order;
  }

  // --- Names ---

  /** @param {number} entity */
  nameOf(entity) {
    return entity === NONE ? "all" : safeText(this.app.entities.names[entity]);
  }

  /** Kind by which a box is drawn. @param {number} pane @param {number} box */
  kindOf(pane, box) {
    const { boxes } = this.trees.panes[pane];
    const flags = boxes.flags[box];
    return this.palette.kindOf(boxes.entity[box], (flags & INLINED) !== 0 && (flags & CALLED) === 0);
  }

  /** "file:line" of a box, or "". @param {number} pane @param {number} box */
  placeOf(pane, box) {
    const { boxes } = this.trees.panes[pane];
    const frame = boxes.frame[box];
    const { profile } = this.app;
    if (frame === NONE || profile.frame.file[frame] >= profile.files.length) return "";
    const file = safeText(profile.files[profile.frame.file[frame]]);
    const line = profile.frame.line[frame];
    return `${file}${line ? `:${line}` : ""}${boxes.flags[box] & OTHER_LINES ? " and other lines" : ""}`;
  }

  /** One line about a box. @param {{pane: number, box: number, count: number, weight?: number}} one */
  sentence(one) {
    const { boxes } = this.trees.panes[one.pane];
    const total = this.trees.whole;
    if (one.count > 1) {
      const weight = one.weight ?? 0;
      return `${formatCount(one.count)} narrow frames, ${this.weightText(weight)}, ${formatShare(weight / total)} of all`;
    }
    const { box } = one;
    const image = boxes.entity[box] === NONE ? "" : this.app.entities.imageName(boxes.entity[box]);
    if (this.compared) return this.compared.sentence(one.pane, box, this.nameOf(boxes.entity[box]), safeText(image));
    const kind = KIND_LABELS[this.kindOf(one.pane, box)];
    return [
      this.nameOf(boxes.entity[box]),
      image ? safeText(image) : "",
      kind && kind !== "program" && kind !== "library" ? kind : "",
      `total ${this.weightText(boxes.total[box])}, ${formatShare(boxes.total[box] / total)} of all`,
      `self ${this.weightText(boxes.self[box])}`,
    ]
      .filter(Boolean)
      .join(", ");
  }

  /** @param {Shown} one */
  fillTip(one) {
    const { boxes } = this.trees.panes[one.pane];
    const all = this.trees.whole;
    const unit = this.unit === "samples";
    if (isMerged(one) && one.count > 1) {
      this.tip.fill(
        `${formatCount(one.count)} frames, too narrow to draw`,
        [`${this.weightText(one.weight)}, ${formatShare(one.weight / all)} of all`, "Click to zoom in on them"],
        [],
        [],
      );
      return;
    }
    const { box } = one;
    const entity = boxes.entity[box];
    const image = entity === NONE ? "" : safeText(this.app.entities.imageName(entity));
    const kind = KIND_LABELS[this.kindOf(one.pane, box)] ?? "";
    const flags = boxes.flags[box];
    const lines = [];
    const about = [image, kind, flags & INLINED && flags & CALLED ? "partly inlined" : "", flags & GUESSED ? "in some stacks found without an unwind rule" : ""];
    if (about.some(Boolean)) lines.push(about.filter(Boolean).join(" · "));
    const where = this.placeOf(one.pane, box);
    if (where) lines.push(where);
    if (this.compared) {
      const { lines: more, table, columns } = this.compared.tip(one.pane, box);
      this.tip.fill(this.nameOf(entity), [...lines, ...more], table, columns);
      return;
    }
    const parent = boxes.parent[box];
    const whole = parent >= 0 ? boxes.total[parent] : all;
    const share = (/** @type {number} */ value, /** @type {number} */ of) => (of > 0 ? formatShare(value / of) : "");
    const zoomed = this.zoomed && this.trees.panes[this.zoomed.pane] ? this.trees.panes[this.zoomed.pane].boxes.total[this.zoomed.box] : all;
    const everything = this.everything();
    const selecting = everything !== all;
    const columns = ["weight", selecting ? "of selection" : "of all", ...(selecting ? ["of all"] : []), "of parent", ...(this.zoomed?.box ? ["of view"] : [])];
    const row = (/** @type {string} */ name, /** @type {number} */ value, /** @type {boolean} */ related) => ({
      name,
      values: [
        this.weightText(value),
        share(value, all),
        ...(selecting ? [share(value, everything)] : []),
        related ? share(value, whole) : "",
        ...(this.zoomed?.box ? [related ? share(value, zoomed) : ""] : []),
      ],
    });
    const table = [row("total", boxes.total[box], true), row("self", boxes.self[box], true)];
    if (isFunction(this.app.entities, entity)) {
      const { totals } = this.trees;
      table.push(row("function, total", totals.total[entity], false), row("function, self", totals.self[entity], false));
    }
    if (!unit) lines.push(`${formatCount(boxes.samples[box])} ${boxes.samples[box] === 1 ? "sample" : "samples"}`);
    if (this.trees.inTime) lines.push(`${formatTime((boxes.x1[box] - boxes.x0[box]) * (this.app.profile.timeUnit ?? 1))} long`);
    this.tip.fill(this.nameOf(entity), lines, table, columns);
  }

  /** Weight of all rows of the measure, idle ones too where they are shown. */
  everything() {
    const { profile, state, selection } = this.app;
    const { view } = state;
    const key = `${view.measure} ${view.weight} ${view.idle}`;
    if (this.everythingKey !== key) {
      this.everythingKey = key;
      const events = new Set(profile.measures[view.measure]?.events ?? []);
      let sum = 0;
      for (let i = 0; i < selection.weight.length; i++)
        if (events.has(profile.row.event[i]) && (view.idle || !profile.threads[profile.row.thread[i]]?.idle)) sum += selection.weight[i];
      this.everythingSum = sum;
    }
    return this.everythingSum;
  }

  // --- Drawing ---

  /**
   * All boxes of the window, and the height of the content.
   * @param {number} width
   */
  lay(width) {
    const { view } = this.app.state;
    const height = rowHeight();
    const { from, to } = this.window;
    if (this.beside) return this.layBeside(width);
    const laid = this.trees.panes.map(({ boxes }) => place(boxes, from, to, width));
    const axis = this.trees.inTime ? AXIS : 0;
    /** @type {Shown[]} */
    const shown = [];
    let y = axis;
    const add = (/** @type {number} */ pane, /** @type {boolean} */ upward, /** @type {number} */ skipped) => {
      const rows = laid[pane];
      const count = rows.length - skipped;
      for (let i = skipped; i < rows.length; i++) {
        const row = upward ? count - 1 - (i - skipped) : i - skipped;
        for (const one of rows[i]) shown.push({ ...one, pane, y: y + row * height });
      }
      y += count * height;
    };
    const flame = view.draw === "flame";
    for (let pane = 0; pane < laid.length; pane++) {
      const { up, skip } = this.trees.panes[pane];
      const sandwiched = this.trees.panes.length > 1 && this.trees.panes[0].up;
      add(pane, sandwiched ? up : flame, skip ? 1 : 0);
      if (this.trees.inTime) y += LANE_GAP;
    }
    return { shown, height: y };
  }

  /**
   * The boxes of both sides: before at the left, after at the right; on narrow screens one below the other.
   * @param {number} width
   */
  layBeside(width) {
    const compared = /** @type {import("./compare-trees.js").ComparedTrees} */ (this.trees.compared);
    const { from, to } = this.window;
    const row = rowHeight();
    const stacked = width < LEAST_BESIDE;
    const wide = stacked ? width : Math.floor((width - BESIDE_GAP) / 2);
    const flame = this.app.state.view.draw === "flame";
    /** @type {Shown[][]} */
    const columns = [[], []];
    const heights = [0, 0];
    this.trees.panes.forEach(({ boxes, up, skip }, pane) => {
      const { at, size } = this.scaleOf(pane);
      const column = compared.column(pane);
      const left = column && !stacked ? width - wide : 0;
      const rows = place(boxes, at + from * size, at + to * size, wide).slice(skip ? 1 : 0);
      const upward = compared.perSide > 1 ? up : flame;
      rows.forEach((list, i) => {
        const y = heights[column] + (upward ? rows.length - 1 - i : i) * row;
        for (const one of list) {
          // What is beyond the edge of its graph is not drawn over the other.
          const x = Math.max(0, one.x);
          const end = Math.min(wide, one.x + one.width);
          if (end - x > 0.3) columns[column].push({ ...one, x: x + left, width: end - x, pane, y });
        }
      });
      heights[column] += rows.length * row;
    });
    const below = stacked ? heights[0] + row : 0;
    const height = stacked ? below + heights[1] : Math.max(...heights);
    columns.forEach((list, column) => {
      const shift = stacked ? (column ? below : 0) : flame && compared.perSide === 1 ? height - heights[column] : 0;
      for (const one of list) one.y += shift;
    });
    return { shown: columns.flat(), height };
  }

  paint() {
    const { canvas, context, scroll } = this;
    if (scroll.hidden || !canvas.isConnected) return;
    const width = scroll.clientWidth;
    const height = scroll.clientHeight;
    if (!width || !height) return;
    const { shown, height: content } = this.lay(width);
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const bottom = this.app.state.view.draw === "flame" && (this.trees.panes.length === 1 || (this.beside && this.trees.panes.length === 2));
    const before = this.contentHeight;
    const total = Math.max(content, bottom ? height : 0);
    if (total !== before) {
      this.contentHeight = total;
      this.filler.style.height = `${total}px`;
      // With the roots at the bottom, what is seen stays when rows are added above.
      if (bottom && before && !this.keepBottom) scroll.scrollTop += total - before;
    }
    if (this.keepBottom && !this.moving) {
      this.keepBottom = false;
      this.reveal(shown, bottom, total, height);
    }
    this.offset = bottom ? total - content : 0;
    const top = scroll.scrollTop;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this.palette.theme.back;
    context.fillRect(0, 0, width, height);
    this.rows.clear();
    const row = rowHeight();
    const visible = shown.filter((one) => {
      one.y += this.offset ?? 0;
      const index = Math.round(one.y);
      const list = this.rows.get(index);
      if (list) list.push(one);
      else this.rows.set(index, [one]);
      return one.y + row > top && one.y < top + height;
    });
    this.paintBoxes(context, visible, -top, width);
    if (this.trees.inTime) this.paintAxis(context, width);
    canvas.dataset.boxes = String(visible.length);
    canvas.dataset.first ??= String(Math.round(performance.now()));
    canvas.dataset.drawn = String(Number(canvas.dataset.drawn ?? 0) + 1);
  }

  /** Scroll to the frame in view. @param {Shown[]} shown @param {boolean} bottom @param {number} total @param {number} height */
  reveal(shown, bottom, total, height) {
    const { scroll } = this;
    const { pane, box } = this.zoomed ?? { pane: 0, box: 0 };
    const one = shown.find((placed) => placed.pane === pane && placed.box === box && placed.count === 1);
    const row = rowHeight();
    if (!box && (this.trees.panes.length === 1 || (this.beside && !this.trees.panes[0]?.up))) scroll.scrollTop = bottom ? total : 0;
    else if (one || this.trees.panes[0]?.up) {
      const y = one ? one.y + (bottom ? total - Math.max(...shown.map((placed) => placed.y)) - row : 0) : 0;
      const room = bottom ? height - 4 * row : this.trees.panes[0]?.up ? height / 2 : 3 * row;
      const seen = y - room;
      if (bottom || this.trees.panes[0]?.up || y > height / 2 || scroll.scrollTop > y) scroll.scrollTop = Math.max(0, seen);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Shown[]} shown
   * @param {number} dy
   * @param {number} width
   */
  paintBoxes(context, shown, dy, width) {
    const { palette, matching } = this;
    const { theme } = palette;
    const { view } = this.app.state;
    const row = rowHeight();
    const size = (row * 11.5) / 19;
    const family = getComputedStyle(document.documentElement).getPropertyValue("--mono") || "monospace";
    const plain = `${size}px ${family}`;
    const bold = `bold ${size}px ${family}`;
    context.font = plain;
    context.textBaseline = "middle";
    const character = context.measureText("0").width;
    const { zoomed } = this;
    for (const one of shown) {
      const { boxes } = this.trees.panes[one.pane];
      const x = Math.max(0, one.x);
      const wide = Math.min(width, one.x + one.width) - x;
      const y = one.y + dy;
      const gap = wide > 12 ? 1 : wide > 4 ? 0.5 : 0;
      if (isMerged(one)) {
        if (wide < 0.3) continue;
        context.fillStyle = theme.grey;
        context.fillRect(x, y, Math.max(wide - gap, 0.5), row - 1);
        if (matching && this.mergedMatch(one, matching)) this.mark(context, x, y, wide, row);
        const label = `${formatCount(one.count)} frames`;
        if (wide > label.length * character + 10) this.text(context, label, x + 5, y + row / 2, wide - 8, character, theme.text);
        continue;
      }
      const entity = boxes.entity[one.box];
      const kind = this.kindOf(one.pane, one.box);
      const look = this.compared?.colours ? this.compared.look(palette, one.pane, one.box) : null;
      const matches = matching !== null && entity !== NONE && matching[entity] === 1;
      // Callers of the frame in view are there for the way back.
      const faded = (matching !== null && !matches) || this.isAbove(one);
      context.fillStyle = look ? look.fill : palette.fill(view.colour, entity, kind, this.heatOf ? this.heatOf(entity) : 0);
      if (faded) context.globalAlpha = 0.5;
      context.fillRect(x, y, wide - gap, row - 1);
      const pattern = wide > 5 ? palette.pattern(context, look ? look.pattern : kind) : null;
      if (pattern) {
        context.fillStyle = pattern;
        context.fillRect(x, y, wide - gap, row - 1);
      }
      if (view.colour === "self" && boxes.self[one.box] > 0 && !this.trees.inTime) {
        context.fillStyle = theme.text;
        context.globalAlpha = faded ? 0.25 : 0.55;
        const own = (one.width * boxes.self[one.box]) / boxes.total[one.box];
        const end = Math.min(width, one.x + one.width) - gap;
        context.fillRect(Math.max(x, end - own), y + row - 3, end - Math.max(x, end - own), 2);
      }
      context.globalAlpha = 1;
      if (matches) this.mark(context, x, y, wide - gap, row);
      if (wide >= TEXT_FROM) {
        if (matches) context.font = bold;
        const own = this.nameOf(entity);
        const name = (matches ? "▸" : "") + (this.compared ? this.compared.label(own, one.pane, one.box, look) : own);
        this.text(context, name, x + 5, y + row / 2, wide - 9, character, theme.text);
        if (matches) context.font = plain;
      }
    }
    this.paintFocus(context, shown, dy, width, row);
  }

  /** Whether a box is a caller of the one in view: those are there for the way back. @param {Shown} one */
  isAbove(one) {
    const { zoomed, trees } = this;
    if (!zoomed) return false;
    const box = this.beside ? (this.frames[one.pane] ?? 0) : one.pane === zoomed.pane ? zoomed.box : 0;
    return one.row < trees.panes[one.pane].boxes.depth[box];
  }

  /** @param {Shown} one @param {Uint8Array} matching */
  mergedMatch(one, matching) {
    const { boxes } = this.trees.panes[one.pane];
    for (let i = one.box; i < one.box + one.count; i++) if (matching[boxes.entity[i]]) return true;
    return false;
  }

  /** Mark a match: a line around it. @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} wide @param {number} row */
  mark(context, x, y, wide, row) {
    context.fillStyle = this.palette.theme.text;
    if (wide < 6) context.fillRect(x, y + row - 4, Math.max(1, wide), 3);
    else {
      context.strokeStyle = this.palette.theme.text;
      context.lineWidth = 1.5;
      context.strokeRect(x + 0.75, y + 0.75, wide - 1.5, row - 2.5);
    }
  }

  /**
   * Text that is cut to fit.
   * @param {CanvasRenderingContext2D} context
   * @param {string} name
   * @param {number} x
   * @param {number} y
   * @param {number} room in pixels
   * @param {number} character width of one
   * @param {string} colour
   */
  text(context, name, x, y, room, character, colour) {
    const label = fitted(name, Math.floor(room / character));
    if (!label) return;
    context.fillStyle = colour;
    // The width that is given is for characters that are wider than others.
    if (/[^\u0020-\u024f…▸]/.test(label)) context.fillText(label, x, y, room);
    else context.fillText(label, x, y);
  }

  /** @param {CanvasRenderingContext2D} context @param {Shown[]} shown @param {number} dy @param {number} width @param {number} row */
  paintFocus(context, shown, dy, width, row) {
    const outline = (/** @type {{pane: number, box: number, count: number}} */ of, /** @type {number} */ thick) => {
      const one = shown.find((placed) => placed.pane === of.pane && (placed.box === of.box || (placed.count > 1 && of.box > placed.box && of.box < placed.box + placed.count)));
      if (!one) return;
      const x = Math.max(0, one.x);
      const wide = Math.max(4, Math.min(width, one.x + one.width) - x);
      context.lineWidth = thick;
      context.strokeStyle = this.palette.theme.text;
      context.strokeRect(x + thick / 2, one.y + dy + thick / 2, wide - thick, row - thick);
    };
    // The same box of the other side of a comparison.
    const other = this.compared && this.trees.compared?.otherBox(this.hovered ?? this.focus);
    if (other) outline(other, 1.5);
    if (this.hovered) outline(this.hovered, this.beside ? 1.5 : 1);
    if (this.focus && document.activeElement === this.canvas) outline(this.focus, 2.5);
    else if (this.focus && this.match >= 0) outline(this.focus, 2.5);
  }

  /** @param {CanvasRenderingContext2D} context @param {number} width */
  paintAxis(context, width) {
    const { profile } = this.app;
    const unit = profile.timeUnit ?? 1;
    const { from, to } = this.window;
    const { theme } = this.palette;
    context.fillStyle = theme.back;
    context.fillRect(0, 0, width, AXIS - 2);
    context.fillStyle = theme.text;
    context.globalAlpha = 0.75;
    const { step, ticks } = axisTicks((from * unit) / 1e9, (to * unit) / 1e9, Math.max(2, width / 110));
    const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step))));
    for (const tick of ticks) {
      const x = ((tick * 1e9) / unit - from) * (width / (to - from));
      context.fillRect(Math.round(x), AXIS - 6, 1, 4);
      context.fillText(`${tick.toFixed(digits)} s`, x + 4, AXIS / 2 - 1);
    }
    context.globalAlpha = 1;
  }

  // --- Pointer ---

  listen() {
    const { canvas, scroll } = this;
    this.app.state.onChange(() => this.tip.hide());
    new ResizeObserver(() => {
      if (this.crumbItems) this.layCrumbs(this.crumbItems);
      this.draw();
    }).observe(scroll);
    document.addEventListener("themechange", () => {
      this.palette = this.makePalette();
      this.showLegend();
      this.draw();
    });
    scroll.addEventListener("scroll", () => {
      this.tip.hide();
      this.draw();
    });
    canvas.addEventListener("focus", () => this.draw());
    canvas.addEventListener("blur", () => this.draw());
    canvas.addEventListener("pointermove", (event) => this.pointAt(event));
    canvas.addEventListener("pointerleave", () => {
      this.hovered = null;
      this.tip.hide();
      this.draw();
    });
    canvas.addEventListener("pointerdown", (event) => {
      closeMenu();
      if (event.button !== 0) return;
      this.pressed = { x: event.clientX, y: event.clientY, window: { ...this.window }, top: scroll.scrollTop, moved: false };
    });
    canvas.addEventListener("pointerup", (event) => {
      const { pressed } = this;
      this.pressed = null;
      if (pressed && !pressed.moved) this.click(event);
    });
    canvas.addEventListener("pointercancel", () => (this.pressed = null));
    canvas.addEventListener("dblclick", () => {
      if (this.clicked) this.openCode(this.clicked);
    });
    canvas.addEventListener("contextmenu", (event) => {
      event.preventDefault();
      const one = this.boxAt(event);
      // A key opens it where the focus is.
      if (event.button === 0 && !event.ctrlKey) this.menuAtFocus();
      else if (one) this.menu(one, event.clientX, event.clientY);
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        const sideways = event.shiftKey ? event.deltaY : event.deltaX;
        if (event.ctrlKey || event.metaKey) {
          event.preventDefault();
          const rect = canvas.getBoundingClientRect();
          this.scale(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.008), (event.clientX - rect.left) / rect.width);
        } else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
          event.preventDefault();
          this.shift((sideways / canvas.clientWidth) * (this.window.to - this.window.from));
        }
      },
      { passive: false },
    );
  }

  /** @param {MouseEvent} event @returns {Shown | null} */
  boxAt(event) {
    const rect = this.canvas.getBoundingClientRect();
    const x = event.clientX - rect.left;
    const y = event.clientY - rect.top + this.scroll.scrollTop;
    const row = rowHeight();
    for (const [top, list] of this.rows)
      if (y >= top && y < top + row) {
        // The widest that has this pixel: a merged box of less than one is not what is meant.
        const hits = list.filter((one) => x >= one.x && x < one.x + Math.max(one.width, 1));
        return hits.sort((a, b) => b.width - a.width)[0] ?? null;
      }
    return null;
  }

  /** @param {PointerEvent} event */
  pointAt(event) {
    const { pressed } = this;
    if (pressed && event.buttons & 1) {
      const dx = event.clientX - pressed.x;
      const dy = event.clientY - pressed.y;
      if (pressed.moved || Math.hypot(dx, dy) > 5) {
        if (!pressed.moved) this.canvas.setPointerCapture(event.pointerId);
        pressed.moved = true;
        this.tip.hide();
        this.moving = null;
        const width = pressed.window.to - pressed.window.from;
        this.window = { ...pressed.window };
        this.shift((-dx / this.canvas.clientWidth) * width);
        this.scroll.scrollTop = pressed.top - dy;
        return;
      }
    }
    const one = this.boxAt(event);
    const same = one && this.hovered && one.box === this.hovered.box && one.pane === this.hovered.pane && one.count === this.hovered.count;
    this.canvas.style.cursor = one ? "pointer" : "default";
    if (!one) {
      this.tip.hide();
      if (this.hovered) {
        this.hovered = null;
        this.draw();
      }
      return;
    }
    if (!same) {
      this.hovered = one;
      this.fillTip(one);
      this.draw();
    }
    this.tip.show(event.clientX, event.clientY);
  }

  /** @param {MouseEvent} event */
  click(event) {
    const one = this.boxAt(event);
    if (event.detail > 1) return;
    this.clicked = one;
    if (!one) return;
    this.tip.hide();
    this.zoomInto(one);
  }

  // --- Moving ---

  /** Bounds of what can be in the window. */
  bounds() {
    const all = this.trees.panes.map((_, pane) => this.extent(pane, 0));
    return { from: Math.min(...all.map((one) => one.from)), to: Math.max(...all.map((one) => one.to)) };
  }

  /** @param {number} factor @param {number} [at] 0 to 1: what stays where it is */
  scale(factor, at = 0.5) {
    const bounds = this.bounds();
    const { from, to } = this.window;
    const width = Math.min(bounds.to - bounds.from, Math.max((bounds.to - bounds.from) * 1e-9, (to - from) * factor));
    const start = Math.max(bounds.from, Math.min(bounds.to - width, from + (to - from - width) * at));
    this.moving = null;
    this.window = { from: start, to: start + width };
    this.hovered = null;
    this.tip.hide();
    this.draw();
  }

  /** @param {number} by */
  shift(by) {
    const bounds = this.bounds();
    const { from, to } = this.window;
    const start = Math.max(bounds.from, Math.min(bounds.to - (to - from), from + by));
    this.window = { from: start, to: start + (to - from) };
    this.draw();
  }

  /** @param {string[]} zoom */
  zoomTo(zoom) {
    const { state } = this.app;
    if (JSON.stringify(zoom) !== JSON.stringify(state.view.zoom)) state.set({ zoom });
    else {
      const { pane, box } = this.trees.resolve(zoom);
      this.animate(this.extent(pane, box));
    }
  }

  /** @param {{pane: number, box: number, count: number, x?: number, width?: number}} one */
  zoomInto(one) {
    const { boxes } = this.trees.panes[one.pane];
    this.focus = { pane: one.pane, box: one.box, count: one.count };
    this.say(this.focus);
    if (one.count > 1) {
      // What is merged has no frame of its own: its caller stays in view, the window is that of the narrow ones.
      this.animate(this.extent(one.pane, one.box, one.box + one.count - 1));
    } else this.zoomTo(this.trees.pathOf(one.pane, one.box));
  }

  zoomFocus() {
    const one = this.focusPlaced() ?? this.focus;
    if (one) this.zoomInto(one);
  }

  zoomOut() {
    const { zoomed } = this;
    if (!zoomed) return;
    const { boxes } = this.trees.panes[zoomed.pane];
    const { from, to } = this.window;
    const extent = this.extent(zoomed.pane, zoomed.box);
    const free = Math.abs(from - extent.from) + Math.abs(to - extent.to) > (to - from) * 1e-6;
    if (free && !this.moving) this.animate(extent);
    else if (zoomed.box > 0) {
      this.focus = { pane: zoomed.pane, box: zoomed.box, count: 1 };
      this.zoomTo(boxes.parent[zoomed.box] > 0 ? this.trees.pathOf(zoomed.pane, boxes.parent[zoomed.box]) : []);
    }
  }

  /** The focused box as it is drawn, or null if it is not. @returns {Shown | null} */
  focusPlaced() {
    const { focus } = this;
    if (!focus) return null;
    for (const list of this.rows.values())
      for (const one of list)
        if (one.pane === focus.pane && (one.box === focus.box || (one.count > 1 && focus.box > one.box && focus.box < one.box + one.count))) return one;
    return null;
  }

  /** @param {string} key an arrow */
  move(key) {
    const { zoomed } = this;
    const at = this.focusPlaced();
    const width = this.canvas.clientWidth;
    /** @type {Shown | null | undefined} */
    let next;
    if (!at) {
      this.focus = zoomed ? { ...zoomed, count: 1 } : null;
      next = this.focusPlaced() ?? [...this.rows.values()].flat()[0];
    } else if (key === "ArrowLeft" || key === "ArrowRight") {
      const list = (this.rows.get(Math.round(at.y)) ?? []).filter((one) => one.x + one.width > 0.01 && one.x < width - 0.01);
      list.sort((a, b) => a.x - b.x);
      next = list[list.indexOf(at) + (key === "ArrowRight" ? 1 : -1)];
    } else {
      const tops = [...this.rows.keys()].sort((a, b) => a - b);
      const index = tops.indexOf(Math.round(at.y)) + (key === "ArrowDown" ? 1 : -1);
      const list = this.rows.get(tops[index]) ?? [];
      // The child that is widest, or the box that this one stands on.
      const over = list.filter((one) => one.x < at.x + at.width - 0.01 && one.x + one.width > at.x + 0.01 && one.x < width && one.x + one.width > 0);
      next = over.sort((a, b) => b.width - a.width)[0];
    }
    this.canvas.focus({ preventScroll: true });
    if (!next) return;
    this.focus = { pane: next.pane, box: next.box, count: next.count };
    this.say(next);
    const row = rowHeight();
    const { scroll } = this;
    if (next.y < scroll.scrollTop) scroll.scrollTop = next.y - row;
    else if (next.y + row > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = next.y + 2 * row - scroll.clientHeight;
    this.draw();
  }

  /** @param {{pane: number, box: number, count: number, weight?: number}} one */
  say(one) {
    this.said.textContent = this.sentence(one);
  }

  /** What keys act on: the focused box, what the pointer is on, or the frame in view. */
  current() {
    return this.focus ?? this.hovered ?? (this.zoomed ? { ...this.zoomed, count: 1 } : null);
  }

  /** @param {{pane: number, box: number, count: number} | null} one */
  entityOf(one) {
    if (!one || one.count > 1) return NONE;
    return this.trees.panes[one.pane]?.boxes.entity[one.box] ?? NONE;
  }

  // --- What one can do with a box ---

  /** Turn the tree over; the function in view stays. @param {"callees" | "callers"} tree */
  turn(tree) {
    const { state } = this.app;
    const { view } = state;
    if (view.tree === tree) return;
    const { zoomed } = this;
    const boxes = zoomed ? this.trees.panes[zoomed.pane]?.boxes : null;
    let entity = boxes && zoomed ? boxes.entity[zoomed.box] : NONE;
    if (zoomed && !zoomed.box && view.tree !== "sandwich") entity = NONE;
    const path = boxes && zoomed && view.tree === "callees" ? boxes.path(zoomed.box) : [];
    state.set({ tree, zoom: entity === NONE ? [] : this.trees.turned(tree, entity, path) });
  }

  /** @param {{pane: number, box: number, count: number} | null} [one] */
  sandwich(one = this.current()) {
    const { state, entities } = this.app;
    const entity = this.entityOf(one);
    if (isFunction(entities, entity)) state.set({ tree: "sandwich", chosen: entities.keys[entity], zoom: [] });
    else state.set({ tree: "sandwich", zoom: [] });
  }

  /** @param {{pane: number, box: number, count: number} | null} one */
  openCode(one) {
    const { state, entities } = this.app;
    const entity = this.entityOf(one);
    if (isFunction(entities, entity)) state.set({ view: "code", chosen: entities.keys[entity] });
  }

  menuAtFocus() {
    const placed = this.focusPlaced();
    const one = placed ?? this.focus ?? (this.zoomed ? { ...this.zoomed, count: 1 } : null);
    if (!one) return;
    const rect = this.canvas.getBoundingClientRect();
    this.menu(one, rect.left + Math.max(0, placed?.x ?? 0) + 8, rect.top + (placed ? placed.y - this.scroll.scrollTop : 0) + rowHeight());
  }

  /** @param {{pane: number, box: number, count: number}} one @param {number} x @param {number} y */
  menu(one, x, y) {
    this.tip.hide();
    const { state, entities } = this.app;
    const { view } = state;
    const { boxes } = this.trees.panes[one.pane];
    this.focus = { pane: one.pane, box: one.box, count: one.count };
    const entity = this.entityOf(one);
    const hide = (/** @type {string} */ pattern) => state.set({ hide: view.hide ? `${view.hide}|${pattern}` : pattern });
    const exactly = (/** @type {string} */ text) => `^${literally(text)}$`;
    /** @type {import("./flame-menu.js").MenuItem[]} */
    const items = [{ text: "Zoom in", key: "Enter", run: () => this.zoomInto(one) }];
    if (isFunction(entities, entity)) {
      const name = entities.names[entity];
      const image = entities.imageName(entity);
      items.push(
        { text: "Callers and callees of this function", key: "s", run: () => this.sandwich(one) },
        { text: "Source and assembly", key: "e", run: () => this.openCode(one) },
        null,
        { text: "Only stacks with this function", run: () => state.set({ focus: exactly(name), zoom: [] }) },
        { text: "Hide this function", run: () => hide(exactly(name)) },
      );
      if (image) items.push({ text: `Hide ${safeText(shorten(image, 40))}`, run: () => hide(exactly(image)) });
      items.push(null, { text: "Copy name", run: () => this.copy(name) });
    }
    if (one.count === 1)
      items.push({
        text: "Copy stack",
        run: () => this.copy(boxes.path(one.box).map((each) => `${entities.names[each]}${entities.imageName(each) ? ` (${entities.imageName(each)})` : ""}`).join("\n")),
      });
    openMenu(x, y, one.count > 1 ? `${formatCount(one.count)} frames` : shorten(this.nameOf(boxes.entity[one.box]), 60), items, this.canvas);
  }

  /** @param {string} text */
  async copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      this.app.say("Copied");
    } catch {
      this.app.say("The browser does not permit to copy");
    }
  }

  // --- Search ---

  findMatches() {
    const { entities, state, header } = this.app;
    this.matching = entities.matching(state.view.search);
    this.matches = this.matching ? this.trees.search(this.matching) : null;
    this.match = -1;
    if (this.matches) {
      const total = this.trees.whole;
      header.matches(this.matches.nodes.length, `· ${formatShare(total ? this.matches.weight / total : 0)}`);
    } else header.matches(null);
  }

  /** Go to another match. @param {number} step */
  nextMatch(step) {
    const { matches, trees } = this;
    if (!matches?.nodes.length) return;
    const count = matches.nodes.length;
    for (let tries = 0; tries < Math.min(count, 2000); tries++) {
      this.match = this.match < 0 && step < 0 ? count - 1 : (this.match + step + count) % count;
      const keys = trees.locate(matches.nodes[this.match]);
      if (!keys) continue;
      const found = trees.resolve(keys);
      this.focus = { ...found, count: 1 };
      const extent = this.extent(found.pane, found.box);
      const scale = this.canvas.clientWidth / (this.window.to - this.window.from);
      const wide = (extent.to - extent.from) * scale;
      const inside = extent.from >= this.window.from && extent.to <= this.window.to;
      if (wide < 60 || !inside) this.app.state.set({ zoom: keys });
      else {
        const placed = this.focusPlaced();
        if (placed) this.scroll.scrollTop = Math.max(0, placed.y - this.scroll.clientHeight / 2);
      }
      this.say(this.focus);
      this.showHead();
      this.draw();
      return;
    }
  }

  // --- Files ---

  exportMenu() {
    const { left, bottom } = this.exporter.getBoundingClientRect();
    openMenu(
      left,
      bottom + 2,
      "Save what is shown",
      [
        { text: "Picture as SVG", run: () => this.exportSvg() },
        { text: "Picture as PNG", run: () => this.exportPng() },
        { text: "Stacks, folded", run: () => this.exportFolded() },
        { text: "Functions as CSV", run: () => this.exportCsv() },
      ],
      this.exporter,
    );
  }

  get fileName() {
    return (this.app.profile.title || "profile").replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 60);
  }

  exportSvg() {
    const width = this.scroll.clientWidth;
    const { shown, height } = this.lay(width);
    const row = rowHeight();
    const { palette } = this;
    const { view } = this.app.state;
    const drawn = shown
      .filter((one) => one.width >= 0.3)
      .map((one) => {
        const { boxes } = this.trees.panes[one.pane];
        const merged = isMerged(one);
        const entity = boxes.entity[one.box];
        const look = !merged && this.compared?.colours ? this.compared.look(palette, one.pane, one.box) : null;
        const kind = merged ? "" : look ? look.pattern : this.kindOf(one.pane, one.box);
        const x = Math.max(0, one.x);
        const wide = Math.min(width, one.x + one.width) - x;
        const name = merged ? `${formatCount(one.count)} frames` : this.nameOf(entity);
        const label = this.compared && !merged ? this.compared.label(name, one.pane, one.box, look) : name;
        return {
          x,
          y: one.y,
          width: wide,
          height: row - 1,
          fill: merged ? palette.theme.grey : look ? look.fill : palette.fill(view.colour, entity, kind, this.heatOf ? this.heatOf(entity) : 0),
          kind,
          label: wide >= TEXT_FROM ? fitted(label, Math.floor((wide - 9) / 7)) : "",
          title: this.sentence(one),
        };
      });
    const { theme } = palette;
    const title = `${this.app.profile.title}: ${this.notes().join(", ")}`;
    const look = { width, height: Math.max(1, height), title, text: theme.text, back: theme.back, edge: theme.edge, ink: theme.ink };
    offerFile(`${this.fileName}.svg`, "image/svg+xml", svgOf(drawn, look));
  }

  exportPng() {
    const width = this.scroll.clientWidth;
    const { shown, height } = this.lay(width);
    const canvas = document.createElement("canvas");
    const ratio = Math.min(2, 16000 / Math.max(width, height));
    canvas.width = Math.ceil(width * ratio);
    canvas.height = Math.ceil(Math.max(1, height) * ratio);
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.scale(ratio, ratio);
    context.fillStyle = this.palette.theme.back;
    context.fillRect(0, 0, width, height);
    this.paintBoxes(context, shown, 0, width);
    if (this.trees.inTime) this.paintAxis(context, width);
    canvas.toBlob((blob) => {
      if (blob) saveBlob(`${this.fileName}.png`, blob);
    }, "image/png");
  }

  exportFolded() {
    offerFile(`${this.fileName}.folded`, "text/plain", foldedOf(this.trees.stacks()));
  }

  exportCsv() {
    const { entities, selection } = this.app;
    const { totals } = this.trees;
    const rows = [...Array(entities.functions).keys()].filter((i) => totals.total[i] > 0).sort((a, b) => totals.total[b] - totals.total[a] || a - b);
    const share = (/** @type {number} */ value) => Number((value / selection.total).toFixed(6));
    offerFile(
      `${this.fileName}.csv`,
      "text/csv",
      csvText([
        ["function", "image", "self", "self share", "total", "total share", "samples"],
        ...rows.map((i) => [entities.names[i], entities.imageName(i), totals.self[i], share(totals.self[i]), totals.total[i], share(totals.total[i]), totals.samples[i]]),
      ]),
    );
  }
}

/**
 * The start of a name that fits; nothing if less than three characters do.
 * @param {string} name
 * @param {number} length in characters
 */
export function fitted(name, length) {
  if (name.length <= length) return name;
  return length < 3 ? "" : `${name.slice(0, length - 1)}…`;
}
