// (being written)

/** @typedef {import("./app.js").App} App */

export class Timeline {
  /** @param {App} app @param {HTMLElement} root */
  constructor(app, root) {
    this.app = app;
  }

  /** @param {Set<string>} changed */
  show(changed) {}
}
