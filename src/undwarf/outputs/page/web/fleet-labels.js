// A label of a store as a selector: its values in the span, with the number of samples of each.

import { h } from "./elements.js";
import { isPattern, quoted, unquoted } from "./fleet-choice.js";
import { formatCount, safeText, shorten } from "./format.js";

/** @typedef {{name: string, values: [string, number][], more: number, unset: number}} LabelValues */

/** The selector that is open. @type {LabelSelector | null} */
let openedSelector = null;

/** A button that says which values of a label are chosen, and opens the list of all. */
export class LabelSelector {
  /**
   * @param {LabelValues} label
   * @param {string[]} chosen values as spans have them; none: all
   * @param {(values: string[]) => void} choose
   * @param {string} [side] of a comparison
   */
  constructor(label, chosen, choose, side = "") {
    this.label = label;
    this.chosen = chosen;
    this.choose = choose;
    /** What is ticked in the list. */
    this.ticked = new Set(chosen);
    const count = label.values.length + label.more;
    const one = chosen.length === 1 ? unquoted(chosen[0]) : !chosen.length && count === 1 && !label.unset ? label.values[0][0] : null;
    const shown = one !== null ? shorten(safeText(one), 28) : !chosen.length ? "all" : count ? `${chosen.length} of ${formatCount(count)}` : `${chosen.length} values`;
    this.button = h(
      "button",
      {
        type: "button",
        class: "fleet-label",
        "data-label": label.name,
        "aria-haspopup": "dialog",
        "aria-expanded": "false",
        "aria-pressed": String(chosen.length > 0),
        title: chosen.length ? chosen.map((one) => safeText(unquoted(one))).join("\n") : `${safeText(label.name)}: ${formatCount(count)} ${count === 1 ? "value" : "values"}`,
        onclick: () => (this.list ? this.close() : this.open()),
      },
      h("span", { class: "dim" }, safeText(label.name)),
      " ",
      shown,
      h("span", { class: "dim", "aria-hidden": "true" }, " ▾"),
    );
    this.root = h("div", { class: "fleet-selector", "data-side": side || null }, this.button);
  }

  open() {
    openedSelector?.close();
    openedSelector = this;
    this.field = /** @type {HTMLInputElement} */ (
      h("input", {
        type: "search",
        class: "fleet-find",
        placeholder: "Value, or a pattern: web-*",
        "aria-label": `Find a value of ${safeText(this.label.name)}`,
        autocomplete: "off",
        spellcheck: "false",
        oninput: () => this.fill(),
      })
    );
    this.rows = h("div", { class: "fleet-values" });
    this.other = h("p", { class: "dim fleet-more" });
    this.list = h(
      "div",
      { class: "popover fleet-list", role: "dialog", "aria-label": `Values of ${safeText(this.label.name)}`, onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event) },
      this.field,
      this.rows,
      this.other,
      h(
        "div",
        { class: "fleet-list-end" },
        h("button", { type: "button", class: "fleet-apply", onclick: () => this.apply([...this.ticked]) }, "Apply"),
        h("button", { type: "button", class: "quiet", onclick: () => this.apply([]) }, "All values"),
      ),
    );
    this.button.setAttribute("aria-expanded", "true");
    this.root.append(this.list);
    this.fill();
    // Within the window, also near its right edge.
    const box = this.list.getBoundingClientRect();
    const left = Math.max(8, Math.min(box.left, document.documentElement.clientWidth - 8 - box.width));
    this.list.style.left = `${left - (this.list.offsetParent?.getBoundingClientRect().left ?? 0)}px`;
    this.field.focus();
    this.outside = (/** @type {Event} */ event) => {
      if (!this.root.contains(/** @type {Node} */ (event.target))) this.close();
    };
    document.addEventListener("pointerdown", this.outside);
  }

  close() {
    this.list?.remove();
    this.list = undefined;
    this.ticked = new Set(this.chosen);
    this.button.setAttribute("aria-expanded", "false");
    if (this.outside) document.removeEventListener("pointerdown", this.outside);
    if (openedSelector === this) openedSelector = null;
  }

  /** @param {string[]} values */
  apply(values) {
    this.close();
    this.button.focus();
    if (JSON.stringify([...values].sort()) !== JSON.stringify([...this.chosen].sort())) this.choose(values);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    event.stopPropagation();
    if (event.key === "Escape") {
      this.close();
      this.button.focus();
    } else if (event.key === "Enter" && event.target === this.field) {
      event.preventDefault();
      const value = this.typed(this.field?.value ?? "");
      if (value !== null) this.apply([value]);
      else if (this.ticked.size) this.apply([...this.ticked]);
    }
  }

  /** What was typed as a value: the only one that has it, a pattern, or one that is not listed. Null: several have it. @param {string} text */
  typed(text) {
    if (/[*?]/.test(text)) return text.replace(/[\\,|]/g, "\\$&");
    const found = this.label.values.filter(([value]) => value.toLowerCase().includes(text.toLowerCase()));
    const one = found.find(([value]) => value === text) ?? (found.length === 1 ? found[0] : null);
    if (one) return quoted(one[0]);
    return text && !found.length ? quoted(text) : null;
  }

  /** Show the values that have what was typed. */
  fill() {
    const { label, rows, other, field } = this;
    if (!rows || !other || !field) return;
    const text = field.value.toLowerCase();
    /** @type {[string, number | null][]} */
    const all = label.values.map(([value, samples]) => [quoted(value), samples]);
    const listed = new Set(all.map(([value]) => value));
    for (const value of this.chosen) if (!listed.has(value)) all.unshift([value, null]);
    const shown = all.filter(([value]) => unquoted(value).toLowerCase().includes(text));
    rows.replaceChildren(...shown.map(([value, samples]) => this.row(value, samples)));
    const hints = [];
    if (text && !shown.length) hints.push(/[*?]/.test(text) ? "Enter takes all values that fit this pattern." : "Enter takes this value.");
    if (label.more) hints.push(`${formatCount(label.more)} more with fewer samples: type a value or a pattern.`);
    if (label.unset) hints.push(`${formatCount(label.unset)} samples have no ${safeText(label.name)}.`);
    other.textContent = hints.join(" ");
    other.hidden = !hints.length;
  }

  /** @param {string} value as spans have it @param {number | null} samples */
  row(value, samples) {
    const text = safeText(unquoted(value));
    const box = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox", checked: this.ticked.has(value), onchange: () => (box.checked ? this.ticked.add(value) : this.ticked.delete(value)) }));
    return h(
      "div",
      { class: "fleet-value" },
      h("label", { title: text }, box, h("span", { class: "name" }, isPattern(value) ? `${text} (pattern)` : text)),
      h("button", { type: "button", class: "quiet", "aria-label": `Only ${text}`, onclick: () => this.apply([value]) }, "only"),
      h("span", { class: "number dim" }, samples === null ? "0" : formatCount(samples)),
    );
  }
}
