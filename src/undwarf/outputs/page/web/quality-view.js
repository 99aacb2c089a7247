// How whole the selected stacks are, why others end early, and what would mend it.

import { NONE } from "./decode.js";
import { sideNumber } from "./comparison.js";
import { h } from "./elements.js";
import { formatCount, formatShare, safeText, shorten } from "./format.js";
import { NOT_UNWOUND, wholenessOf } from "./quality.js";
import { SELECTING } from "./selection.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {{gap: number, samples: number}} GapRow */

/** The view of stack quality. */
export class QualityView {
  /** @param {App} app @param {HTMLElement} root @param {HTMLElement} tools */
  constructor(app, root, tools) {
    this.app = app;
    this.root = h("div", { class: "quality-view" });
    root.append(this.root);
    this.at = -1;
    /** @type {GapRow[]} */
    this.rows = [];
    const add = (/** @type {string | string[]} */ key, /** @type {string} */ text, /** @type {() => void} */ run) =>
      app.keys.add("quality", "Quality", key, text, run);
    add(["j", "ArrowDown"], "Next reason", () => this.choose(this.at + 1));
    add(["k", "ArrowUp"], "Reason before", () => this.choose(this.at - 1));
    add("Enter", "Its stacks in the flame graph", () => this.rows[this.at] && this.open(this.rows[this.at].gap));
  }

  /** @param {Set<string>} changed */
  show(changed) {
    if (!changed.size || changed.has("view") || changed.has("search") || SELECTING.some((name) => changed.has(name))) this.draw();
  }

  draw() {
    const { app } = this;
    const { profile } = app;
    const wholeness = wholenessOf(profile, app.selection);
    const { byGap, known, whole, samples } = wholeness;
    const share = known ? whole / known : 1;
    this.rows = profile.gaps
      .map((_, gap) => ({ gap, samples: byGap[gap] }))
      .filter((one) => one.gap > 0 && one.samples > 0)
      .sort((a, b) => b.samples - a.samples);
    const broken = this.rows.filter((one) => !NOT_UNWOUND.has(profile.gaps[one.gap].reason));
    const without = this.rows.filter((one) => NOT_UNWOUND.has(profile.gaps[one.gap].reason));
    this.rows = [...broken, ...without];
    const inferred = this.inferredSamples();
    const marked = profile.marks.filter((mark) => mark.kind === "lost").reduce((sum, mark) => sum + mark.count, 0);
    const lost = app.comparison ? app.comparison.lost(sideNumber(app.state.view.side)) : marked;
    const poor = known > 0 && share < 0.9;
    const cut = known - whole;
    const meter = h("div", { class: "meter", role: "img", "aria-label": `${formatShare(share)} of the stacks are whole` });
    const full = h("span", { class: "meter-whole" });
    const rest = h("span", { class: "meter-cut" });
    full.style.flexGrow = String(whole);
    rest.style.flexGrow = String(cut);
    meter.append(full, rest);
    const figures = /** @type {[string, number, string][]} */ ([
      ["stacks that end early", cut, "Totals of their callers are too small."],
      ["with frames that were inferred", inferred, "Found by something weaker than unwind information or a recorded chain: mostly right, not certain."],
      ["without a stack to unwind", samples - known, "Kernel threads, idle CPUs, events without call chains: they count neither as whole nor as broken."],
      ["samples lost while recording", lost, "Of the whole recording: the kernel had no room for them. The time line marks when."],
    ]);
    this.root.replaceChildren(
      h(
        "section",
        { class: "card quality-head" },
        h(
          "div",
          { class: "quality-share" },
          h("p", { class: poor ? "big poor" : "big", id: "whole-share", "data-value": String(share) }, known ? formatShare(share) : "–"),
          h("p", {}, known ? "of the selected stacks are whole: they reach the start of their thread." : "No selected sample has a stack to unwind."),
          h("p", { class: "dim" }, `${formatCount(whole)} of ${formatCount(known)} samples`),
        ),
        meter,
        h(
          "ul",
          { class: "figures" },
          ...figures.map(([text, count, what]) =>
            h("li", { title: what }, h("strong", { "data-value": count }, formatCount(count)), ` ${text}`, h("span", { class: "dim block" }, what)),
          ),
        ),
      ),
      broken.length
        ? h("section", { class: "card", "aria-label": "Reasons" }, h("h2", { class: "card-title" }, "Why stacks end early"), this.table(broken, known))
        : h("p", { class: "card empty" }, known ? "Every selected stack is whole." : "Nothing to say."),
      ...(without.length ? [h("section", { class: "card", "aria-label": "Without stacks" }, h("h2", { class: "card-title" }, "Samples without a stack to unwind"), this.table(without, samples))] : []),
      ...(broken.length ? [this.images(broken, known)] : []),
    );
    this.mark();
  }

  /** Number of selected samples with a frame that was found by something weak. */
  inferredSamples() {
    const { profile, selection } = this.app;
    const { node, frame, row } = profile;
    const weak = new Uint8Array(node.parent.length);
    for (let n = 0; n < weak.length; n++) weak[n] = frame.flags[node.frame[n]] & 1 || (node.parent[n] !== NONE && weak[node.parent[n]]) ? 1 : 0;
    let samples = 0;
    for (let i = 0; i < row.node.length; i++) if (selection.chosen[i] && row.node[i] !== NONE && weak[row.node[i]]) samples += row.count[i];
    return samples;
  }

  /** @param {GapRow[]} rows @param {number} all */
  table(rows, all) {
    const { profile } = this.app;
    return h(
      "table",
      { class: "gaps" },
      h(
        "thead",
        {},
        h("tr", {}, h("th", { class: "number", scope: "col" }, "Samples"), h("th", { class: "number", scope: "col" }, "Share"), h("th", { scope: "col" }, "Reason"), h("th", { scope: "col" }, "In"), h("th", { scope: "col" }, "What would mend it"), h("th", {}, h("span", { class: "unseen" }, "Open"))),
      ),
      h(
        "tbody",
        {},
        ...rows.map(({ gap, samples }) => {
          const one = profile.gaps[gap];
          const image = one.image === null || one.image === undefined ? "" : safeText(profile.images[one.image]?.name);
          const path = one.image === null || one.image === undefined ? "" : safeText(profile.images[one.image]?.path);
          return h(
            "tr",
            { "data-gap": gap, onclick: () => this.choose(this.rows.findIndex((row) => row.gap === gap)) },
            h("td", { class: "number", "data-value": samples }, formatCount(samples)),
            h("td", { class: "number dim" }, formatShare(all ? samples / all : 0)),
            h("td", {}, safeText(one.description || one.reason)),
            h("td", { class: "mono where", title: shorten(path, 2000) }, shorten(image, 60)),
            h("td", { class: "mend" }, one.advice ? shorten(safeText(one.advice), 600) : h("span", { class: "dim" }, "–")),
            h("td", {}, h("button", { type: "button", onclick: () => this.open(gap) }, "Stacks")),
          );
        }),
      ),
    );
  }

  /** Broken stacks by the image where they end. @param {GapRow[]} broken @param {number} known */
  images(broken, known) {
    const { profile } = this.app;
    /** @type {Map<number, number>} */
    const by = new Map();
    for (const { gap, samples } of broken) {
      const image = profile.gaps[gap].image ?? NONE;
      by.set(image, (by.get(image) ?? 0) + samples);
    }
    const sorted = [...by].sort((a, b) => b[1] - a[1]);
    return h(
      "section",
      { class: "card", "aria-label": "By image" },
      h("h2", { class: "card-title" }, "By image"),
      h(
        "ul",
        { class: "image-bars" },
        ...sorted.slice(0, 20).map(([image, samples]) => {
          const bar = h("span", { class: "image-bar", "aria-hidden": "true" });
          bar.style.width = `${((samples / sorted[0][1]) * 100).toFixed(1)}%`;
          const name = image === NONE ? "(no file)" : safeText(profile.images[image].name);
          return h("li", {}, h("span", { class: "mono name", title: name }, shorten(name, 60)), h("span", { class: "bar-place" }, bar), h("span", { class: "number" }, `${formatCount(samples)} (${formatShare(known ? samples / known : 0)})`));
        }),
      ),
    );
  }

  /** Show the stacks that end for a reason. @param {number} gap */
  open(gap) {
    this.app.state.set({ view: "flame", gaps: [gap], tree: "callees", zoom: [] });
  }

  /** @param {number} at */
  choose(at) {
    if (!this.rows.length) return;
    this.at = Math.max(0, Math.min(at, this.rows.length - 1));
    this.mark();
    this.root.querySelector("tr.chosen")?.scrollIntoView({ block: "nearest" });
    const gap = this.app.profile.gaps[this.rows[this.at].gap];
    this.app.say(`${formatCount(this.rows[this.at].samples)} samples: ${gap.description}`);
  }

  mark() {
    const gap = this.rows[this.at]?.gap;
    for (const row of /** @type {NodeListOf<HTMLElement>} */ (this.root.querySelectorAll("tr[data-gap]"))) row.classList.toggle("chosen", row.dataset.gap === String(gap));
  }
}
