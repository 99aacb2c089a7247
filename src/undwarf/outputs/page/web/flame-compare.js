// What the flame graph of a comparison adds: colours, marks and words for what changed.

import { NONE } from "./decode.js";
import { SIDES, changeShare, changeText, differenceText, intervalText, markOf, probabilityText, sharesText } from "./comparison.js";
import { formatWeight, safeText } from "./format.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./compare-trees.js").BoxChange} BoxChange */
/** @typedef {import("./compare-trees.js").ComparedTrees} ComparedTrees */
/** @typedef {import("./flame-colors.js").Palette} Palette */
/** How a box looks: its colour, the name of its pattern or "", a mark before its name; whether it is no grey. @typedef {{fill: string, pattern: string, mark: string, coloured: boolean}} Look */

const MORE = 55;
const LESS = 252;
/** Steps of each half of the scale. */
const STEPS = 12;

/**
 * The colour of a change: blue for less, orange for more, stronger for larger ones; grey for 0.
 * @param {Palette} palette
 * @param {number} share -1 (gone) to 1 (new)
 */
export function changeColour(palette, share) {
  // A change of 5 % is seen, and one of 50 % is not yet the strongest.
  const strength = Math.round(Math.sqrt(Math.min(1, Math.abs(share))) * STEPS) / STEPS;
  if (!strength) return noiseColour(palette);
  const hue = share > 0 ? MORE : LESS;
  return palette.dark
    ? palette.colour(0.3 + 0.17 * strength, 0.025 + 0.1 * strength, hue)
    : palette.colour(0.945 - 0.155 * strength, 0.02 + 0.125 * strength, hue);
}

/** The colour of what chance explains. @param {Palette} palette */
export function noiseColour(palette) {
  return palette.dark ? "#33373e" : "#e6e6e2";
}

/** Words and looks of boxes of a comparison. */
export class ComparedFlame {
  /** @param {App} app @param {ComparedTrees} trees */
  constructor(app, trees) {
    this.app = app;
    this.trees = trees;
  }

  get comparison() {
    return /** @type {import("./comparison.js").Comparison} */ (this.app.comparison);
  }

  /** Whether differences of what is shown were not tested. */
  get untested() {
    return this.trees.untested;
  }

  /** @param {number} value */
  text(value) {
    return formatWeight(value, this.app.unit);
  }

  /** Whether the colours are those of changes. */
  get colours() {
    return this.app.state.view.colour === "change";
  }

  /**
   * @param {Palette} palette
   * @param {number} pane
   * @param {number} box
   * @returns {Look}
   */
  look(palette, pane, box) {
    const change = this.trees.change(pane, box);
    const share = changeShare(change.before, change.after);
    const { untested } = this;
    if (!untested && !(change.row ?? change.within)?.significant) return { fill: noiseColour(palette), pattern: "", mark: "", coloured: false };
    const pattern = share === 1 ? "appeared" : share === -1 ? "gone" : "";
    return { fill: changeColour(palette, share), pattern, mark: !change.row || !share ? "" : share > 0 ? "▲" : "▼", coloured: true };
  }

  /**
   * What is written on a box: its mark, its name, and how much it changed.
   * @param {string} name
   * @param {number} pane
   * @param {number} box
   * @param {Look | null} look
   */
  label(name, pane, box, look) {
    const change = this.trees.change(pane, box);
    const entity = this.trees.panes[pane].boxes.entity[box];
    if (this.trees.beside && box === 0 && entity === NONE) {
      const side = this.trees.column(pane);
      name = `${SIDES[side]}: ${this.text(side ? change.after : change.before)}`;
      if (!side) return name;
    }
    if (!look?.coloured) return name;
    const text = changeText(change.before, change.after);
    return `${look?.mark ? `${look.mark} ` : ""}${name}${text ? `  ${text}` : ""}`;
  }

  /** "Significant", "noise" and so on, of a box. @param {BoxChange} change */
  verdict(change) {
    if (this.untested) return this.comparison.isPart(this.app.state.view) ? "not tested: a part is selected" : "not tested";
    if (!change.row || change.row.adjusted === null) return "not tested";
    return change.row.significant ? "more than chance explains" : "chance explains it";
  }

  /** @param {number} pane @param {number} box @param {string} name @param {string} image */
  sentence(pane, box, name, image) {
    const change = this.trees.change(pane, box);
    return [
      name,
      image,
      `before ${this.text(change.before)}`,
      `after ${this.text(change.after)}`,
      changeText(change.before, change.after),
      this.verdict(change),
    ]
      .filter(Boolean)
      .join(", ");
  }

  /**
   * Lines and rows of the tooltip of a box.
   * @param {number} pane
   * @param {number} box
   */
  tip(pane, box) {
    const change = this.trees.change(pane, box);
    const { unit } = this.app;
    const { row } = change;
    const entity = this.trees.panes[pane].boxes.entity[box];
    const lines = [];
    const was = this.comparison.nameBefore.get(entity);
    if (was) lines.push(`before: ${safeText(was)}`);
    const row_ = (/** @type {string} */ name, /** @type {number} */ before, /** @type {number} */ after) => ({
      name,
      values: [this.text(before), this.text(after), differenceText(after - before, unit), changeText(before, after)],
    });
    const table = [row_("with callees", change.before, change.after), row_("self", change.selfBefore, change.selfAfter)];
    const tested = !row || row.adjusted === null ? null : row;
    if (tested) {
      const interval = intervalText(tested.weight, unit);
      const mark = markOf(tested);
      lines.push(
        [mark ? `${mark} ${this.verdict(change)}` : this.verdict(change), `p ${probabilityText(tested.adjusted)}`, interval ? `95 %: ${interval}` : ""]
          .filter(Boolean)
          .join(" · "),
      );
      if (box > 0) lines.push(`share ${sharesText(tested)}`);
    } else lines.push(this.verdict(change));
    const own = entity === NONE ? null : this.comparison.functionRow(this.app.state.view.measure, entity);
    for (const [, text] of own?.notes ?? []) lines.push(safeText(text));
    return { lines, table, columns: ["before", "after", "difference", ""] };
  }

  /** What is said beside the path. @param {number} pane @param {number} box */
  notes(pane, box) {
    const change = this.trees.change(pane, box);
    const parts = [`${this.text(change.before)} → ${this.text(change.after)} ${this.comparison.per}`];
    const text = changeText(change.before, change.after);
    const { row } = change;
    const interval = row ? intervalText(row.weight, this.app.unit) : "";
    if (text) parts.push(`${row && markOf(row) ? `${markOf(row)} ` : ""}${text}${interval ? ` (95 %: ${interval})` : ""}`);
    if (this.comparison.isPart(this.app.state.view)) parts.push("a part is selected: its differences are not tested");
    else if (this.untested) parts.push("sums of a sandwich are not tested");
    const { alike } = this.comparison.events[this.app.state.view.measure];
    if (alike !== null && !box) parts.push("one recording a side: the total is not tested");
    return parts;
  }

  /**
   * Entries of the legend.
   * @param {Palette} palette
   * @param {(fill: string, pattern: string, text: string, share: string) => void} entry
   */
  legend(palette, entry) {
    const { untested } = this;
    entry(changeColour(palette, -1), "gone", untested ? "gone" : "▼ gone", "");
    entry(changeColour(palette, -0.5), "", untested ? "half" : "▼ half", "");
    entry(changeColour(palette, -0.1), "", "−10 %", "");
    entry(noiseColour(palette), "", untested ? "no change" : "not more than chance explains, or not tested", "");
    entry(changeColour(palette, 0.1), "", "+10 %", "");
    entry(changeColour(palette, 0.5), "", untested ? "twice" : "▲ twice", "");
    entry(changeColour(palette, 1), "appeared", untested ? "new" : "▲ new", "");
  }
}
