// The page: its state, its data, and the views that share them.

import { Comparison, sideNumber } from "./comparison.js";
import { CompareTable } from "./compare-table.js";
import { Entities } from "./entities.js";
import { Header } from "./header.js";
import { Keys } from "./keys.js";
import { SELECTING, select } from "./selection.js";
import { ONE_SIDED, State } from "./state.js";
import { Timeline } from "./timeline.js";
import { FlameView } from "./flame-view.js";
import { TableView } from "./table-view.js";
import { CodeView } from "./code-view.js";
import { TypesView } from "./types-view.js";
import { QualityView } from "./quality-view.js";

/** @typedef {import("./parts.js").Parts} Parts */
/** @typedef {import("./profile.js").Profile} Profile */
/** @typedef {{show(changed: Set<string>): void}} Shown */

const VIEWS = { flame: FlameView, table: TableView, code: CodeView, types: TypesView, quality: QualityView };

/** What views share. */
export class App {
  /** @param {Profile} profile @param {Parts} parts @param {import("./decode.js").Part | null} [compared] part "comparison" */
  constructor(profile, parts, compared = null) {
    this.profile = profile;
    this.parts = parts;
    this.entities = new Entities(profile);
    /** What was compared; null for the page of one recording. */
    this.comparison = compared && new Comparison(compared, profile, this.entities);
    this.state = new State();
    const { view } = this.state;
    if (view.measure >= profile.measures.length) view.measure = 0;
    if (!this.comparison && view.colour === "change") view.colour = "kind";
    /** What is selected, of each side and of both. @type {Map<number | null, import("./selection.js").Selection>} */
    this.selected = new Map();
    /** @type {Partial<Record<keyof typeof VIEWS, Shown>>} */
    this.views = {};
    this.keys = new Keys(this);
    this.header = new Header(this);
    this.timeline = new Timeline(this, /** @type {HTMLElement} */ (document.getElementById("timeline")));
    this.state.onChange((changed) => this.update(changed));
  }

  /** The rows that the state selects; of a comparison those of both sides, or of the side that a view shows. */
  get selection() {
    const { view, side } = this.state.view;
    return this.selectionOf(this.comparison && ONE_SIDED.includes(view) ? sideNumber(side) : null);
  }

  /** The rows of a side that the state selects; null: of both. @param {number | null} side */
  selectionOf(side) {
    let selected = this.selected.get(side);
    if (!selected) {
      const { view } = this.state;
      const compared = this.comparison && { weight: this.comparison.rowWeights(view.measure), side };
      selected = select(this.profile, view, this.entities, compared);
      this.selected.set(side, selected);
    }
    return selected;
  }

  /** The name of a part that each side has. @param {string} name */
  partOfSide(name) {
    return this.comparison && this.state.view.side === "before" ? `before-${name}` : name;
  }

  /** The unit of the weights that are shown, or null if it is not known. */
  get unit() {
    const { measure, weight } = this.state.view;
    if (this.comparison) return this.comparison.unit(measure);
    return weight === "samples" ? "samples" : (this.profile.measures[measure]?.unit ?? null);
  }

  /**
   * Tell those who cannot see it what happened.
   * @param {string} text
   */
  say(text) {
    const place = /** @type {HTMLElement} */ (document.getElementById("said"));
    place.textContent = text;
  }

  /**
   * Show a problem above the views; empty: none.
   * @param {string} text
   */
  warn(text) {
    const place = /** @type {HTMLElement} */ (document.getElementById("problem"));
    place.textContent = text;
    place.hidden = !text;
  }

  /** @param {Set<string>} changed */
  update(changed) {
    if (SELECTING.some((name) => changed.has(name))) this.selected.clear();
    if (changed.has("side")) changed.add("view");
    this.header.show(changed);
    this.timeline.show(changed);
    const name = this.state.view.view;
    for (const panel of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-view]")))
      panel.hidden = panel.dataset.view !== name;
    const known = this.views[name];
    if (known) known.show(changed);
    else this.create(name).show(new Set());
  }

  /** Make a view: it is not drawn before it is shown. @param {keyof typeof VIEWS} name @returns {Shown} */
  create(name) {
    const root = /** @type {HTMLElement} */ (document.getElementById(`view-${name}`));
    const tools = /** @type {HTMLElement} */ (document.querySelector(`.tools[data-view="${name}"]`));
    const view = new (this.comparison && name === "table" ? CompareTable : VIEWS[name])(this, root, tools);
    this.views[name] = view;
    return view;
  }

  /** Make all views, so that each has told its keys. */
  createAll() {
    for (const name of /** @type {(keyof typeof VIEWS)[]} */ (Object.keys(VIEWS))) if (!this.views[name]) this.create(name);
  }
}
