// A field to choose a function: the hottest first, filtered by what is typed.

import { h } from "./elements.js";
import { expression } from "./entities.js";
import { formatShare, safeText, shorten } from "./format.js";

/** @typedef {{key: string, name: string, where: string, share: number, note: string}} Choice */

/** Choices that are listed. */
const MOST_CHOICES = 60;

/** A text field with a list, as WAI-ARIA's combobox. */
export class FunctionChoice {
  /**
   * @param {() => Choice[]} choices all, in order
   * @param {(key: string) => void} choose
   */
  constructor(choices, choose) {
    this.choices = choices;
    this.choose = choose;
    /** @type {Choice[]} */
    this.listed = [];
    this.at = -1;
    this.list = h("ul", { role: "listbox", id: "function-list", class: "choices", "aria-label": "Functions", hidden: true });
    this.input = /** @type {HTMLInputElement} */ (
      h("input", {
        type: "text",
        id: "function-choice",
        role: "combobox",
        "aria-label": "Function",
        "aria-expanded": "false",
        "aria-controls": "function-list",
        "aria-autocomplete": "list",
        autocomplete: "off",
        spellcheck: "false",
        placeholder: "Choose a function",
        onfocus: () => this.input.select(),
        onclick: () => this.open(""),
        oninput: () => this.open(this.input.value),
        onblur: () => setTimeout(() => this.close(), 150),
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.press(event),
      })
    );
    this.element = h("div", { class: "function-choice" }, this.input, this.list);
    this.name = "";
  }

  /** @param {string} name of the function that is shown */
  show(name) {
    this.name = safeText(name);
    this.input.value = this.name;
    this.input.title = shorten(this.name, 2000);
  }

  /** @param {string} text */
  open(text) {
    const pattern = text ? expression(text) : null;
    const all = this.choices();
    const kept = pattern ? all.filter((one) => pattern.test(one.name) || pattern.test(one.where)) : all;
    this.listed = kept.slice(0, MOST_CHOICES);
    this.at = this.listed.length ? 0 : -1;
    this.list.replaceChildren(
      ...this.listed.map((one, i) =>
        h(
          "li",
          {
            role: "option",
            id: `choice-${i}`,
            "aria-selected": "false",
            onmousedown: (/** @type {MouseEvent} */ event) => {
              event.preventDefault();
              this.take(i);
            },
          },
          h("span", { class: "number" }, formatShare(one.share)),
          h("span", { class: "name mono" }, shorten(safeText(one.name), 200)),
          h("span", { class: "dim name" }, shorten(safeText(one.note || one.where), 60)),
        ),
      ),
      ...(kept.length > MOST_CHOICES ? [h("li", { class: "dim more", role: "presentation" }, `and ${kept.length - MOST_CHOICES} more: type to filter`)] : []),
      ...(kept.length ? [] : [h("li", { class: "dim more", role: "presentation" }, "No function matches")]),
    );
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.mark();
  }

  close() {
    if (this.list.hidden) return;
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
    this.input.value = this.name;
  }

  mark() {
    this.list.querySelectorAll("[role=option]").forEach((option, i) => {
      option.setAttribute("aria-selected", String(i === this.at));
      if (i === this.at) option.scrollIntoView({ block: "nearest" });
    });
    if (this.at >= 0) this.input.setAttribute("aria-activedescendant", `choice-${this.at}`);
  }

  /** @param {number} i */
  take(i) {
    const choice = this.listed[i];
    if (!choice) return;
    this.close();
    this.input.blur();
    this.choose(choice.key);
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      if (this.list.hidden) this.open("");
      else {
        this.at = Math.max(0, Math.min(this.listed.length - 1, this.at + step));
        this.mark();
      }
    } else if (event.key === "Enter") this.take(this.at);
    else if (event.key === "Escape" && !this.list.hidden) this.close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
