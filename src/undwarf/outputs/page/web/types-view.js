// (being written)

import { h } from "./elements.js";

/** @typedef {import("./app.js").App} App */

export class TypesView {
  /** @param {App} app @param {HTMLElement} root @param {HTMLElement} tools */
  constructor(app, root, tools) {
    this.app = app;
    root.append(h("p", {}, "types"));
  }

  /** Draw what the state says. @param {Set<string>} changed properties; all must be drawn if it is empty or has "view" */
  show(changed) {}
}
