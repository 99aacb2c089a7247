// Keys: each is registered with what it does, and "?" shows them all.

import { h } from "./elements.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {{view: string | null, group: string, keys: string[], text: string, run: (event: KeyboardEvent) => void}} Binding */

/** @type {Record<string, string>} */
const KEY_LABELS = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", " ": "Space", Escape: "Esc", PageUp: "PgUp", PageDown: "PgDn" };

/** All keys of the page. */
export class Keys {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {Binding[]} */
    this.bindings = [];
    this.dialog = /** @type {HTMLDialogElement} */ (h("dialog", { id: "help", "aria-labelledby": "help-title" }));
    document.body.append(this.dialog);
    document.addEventListener("keydown", (event) => this.press(event));
  }

  /**
   * @param {string | null} view in which the key works; null: in all
   * @param {string} group heading in the list of keys
   * @param {string | string[]} keys values of KeyboardEvent.key
   * @param {string} text what it does
   * @param {(event: KeyboardEvent) => void} run
   */
  add(view, group, keys, text, run) {
    this.bindings.push({ view, group, keys: [keys].flat(), text, run });
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || this.dialog.open) return;
    const target = /** @type {HTMLElement} */ (event.target);
    if (target.matches?.("input, select, textarea") && event.key !== "Escape") return;
    const presses = event.key === "Enter" || event.key === " ";
    if (presses && target.matches?.("button, a, summary, [role=tab], th")) return;
    if (target.matches?.("[role=tab]") && event.key.startsWith("Arrow")) return;
    const view = this.app.state.view.view;
    const fits = (/** @type {Binding} */ one) => one.keys.includes(event.key);
    const binding =
      this.bindings.find((one) => one.view === view && fits(one)) ?? this.bindings.find((one) => one.view === null && fits(one));
    if (!binding) return;
    event.preventDefault();
    binding.run(event);
  }

  /** Show all keys, those of the current view first. */
  help() {
    this.app.createAll();
    const view = this.app.state.view.view;
    /** @type {Map<string, Binding[]>} */
    const groups = new Map();
    const ordered = [...this.bindings].sort((a, b) => Number(b.view === view) - Number(a.view === view));
    for (const binding of ordered) groups.set(binding.group, [...(groups.get(binding.group) ?? []), binding]);
    const lists = [...groups].map(([group, bindings]) =>
      h(
        "section",
        {},
        h("h3", {}, group),
        h(
          "dl",
          {},
          ...bindings.map((one) =>
            h("div", {}, h("dt", {}, ...one.keys.map((key) => h("kbd", {}, KEY_LABELS[key] ?? key))), h("dd", {}, one.text)),
          ),
        ),
      ),
    );
    const close = h("button", { type: "button", class: "quiet", onclick: () => this.dialog.close() }, "Close");
    this.dialog.replaceChildren(
      h("div", { class: "dialog-head" }, h("h2", { id: "help-title" }, "Keys"), close),
      h("div", { class: "key-groups" }, ...lists),
    );
    this.dialog.showModal();
  }
}
