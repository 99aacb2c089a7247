// The page: its state, its data, and the views that share them.

import { Entities } from "./entities.js";
import { Parts } from "./parts.js";
import { Profile } from "./profile.js";
import { SELECTING, select } from "./selection.js";
import { State } from "./state.js";
import { Timeline } from "./timeline.js";
import { FlameView } from "./flame-view.js";
import { TableView } from "./table-view.js";
import { CodeView } from "./code-view.js";
import { TypesView } from "./types-view.js";
import { QualityView } from "./quality-view.js";

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
    /** @type {import("./selection.js").Selection | null} */
    this.selected = null;
    /** @type {Record<string, Shown>} */
    this.views = {};
    this.timeline = new Timeline(this, /** @type {HTMLElement} */ (document.getElementById("timeline")));
    this.state.onChange((changed) => this.update(changed));
  }

  /** The rows that the state selects. */
  get selection() {
    this.selected ??= select(this.profile, this.state.view, this.entities);
    return this.selected;
  }

  /** @param {Set<string>} changed */
  update(changed) {
    if (SELECTING.some((name) => changed.has(name))) this.selected = null;
    this.timeline.show(changed);
    const name = this.state.view.view;
    for (const panel of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-view]")))
      panel.hidden = panel.dataset.view !== name;
    if (!this.views[name]) {
      const root = /** @type {HTMLElement} */ (document.querySelector(`main[data-view="${name}"]`));
      const tools = /** @type {HTMLElement} */ (document.querySelector(`.tools[data-view="${name}"]`));
      this.views[name] = new VIEWS[name](this, root, tools);
      this.views[name].show(new Set());
    } else this.views[name].show(changed);
  }
}
