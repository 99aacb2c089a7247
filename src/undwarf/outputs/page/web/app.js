// The page: its state, its data, and the views that share them.

import { Entities } from "./entities.js";
import { Header } from "./header.js";
import { Keys } from "./keys.js";
import { SELECTING, select } from "./selection.js";
import { State } from "./state.js";
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
  /** @param {Profile} profile @param {Parts} parts */
  constructor(profile, parts) {
    this.profile = profile;
    this.parts = parts;
    this.entities = new Entities(profile);
    this.state = new State();
    const { view } = this.state;
    if (view.measure >= profile.measures.length) view.measure = 0;
    /** @type {import("./selection.js").Selection | null} */
    this.selected = null;
    /** @type {Record<string, Shown>} */
    this.views = {};
    this.keys = new Keys(this);
    this.header = new Header(this);
    this.timeline = new Timeline(this, /** @type {HTMLElement} */ (document.getElementById("timeline")));
    this.state.onChange((changed) => this.update(changed));
  }

  /** The rows that the state selects. */
  get selection() {
    this.selected ??= select(this.profile, this.state.view, this.entities);
    return this.selected;
  }

  /** The unit of the weights that are shown, or null if it is not known. */
  get unit() {
    const { measure, weight } = this.state.view;
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
    if (SELECTING.some((name) => changed.has(name))) this.selected = null;
    this.header.show(changed);
    this.timeline.show(changed);
    const name = this.state.view.view;
    for (const panel of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-view]")))
      panel.hidden = panel.dataset.view !== name;
    if (!this.views[name]) {
      const root = /** @type {HTMLElement} */ (document.getElementById(`view-${name}`));
      const tools = /** @type {HTMLElement} */ (document.querySelector(`.tools[data-view="${name}"]`));
      this.views[name] = new VIEWS[name](this, root, tools);
      this.views[name].show(new Set());
    } else this.views[name].show(changed);
  }
}
