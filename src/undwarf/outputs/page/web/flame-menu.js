// What pops up over the flame graph: a menu, and what the pointer is on.

import { h } from "./elements.js";

/** @typedef {{text: string, key?: string, run: () => void} | null} MenuItem null: a line between others */

/** @type {HTMLElement | null} */
let openedMenu = null;

/** Close the menu that is open, if any. */
export function closeMenu() {
  // To be removed takes the focus away, which closes menus.
  const menu = openedMenu;
  openedMenu = null;
  menu?.remove();
}

/**
 * Open a menu; it closes when something is chosen, with Escape, and when something else is clicked.
 * @param {number} x where, in the window
 * @param {number} y
 * @param {string} title
 * @param {MenuItem[]} items
 * @param {HTMLElement} owner gets the focus back
 */
export function openMenu(x, y, title, items, owner) {
  closeMenu();
  const finish = () => {
    closeMenu();
    owner.focus();
  };
  const menu = h("div", { class: "flame-menu", role: "menu", "aria-label": title }, h("p", { class: "flame-menu-title" }, title));
  for (const item of items) {
    if (!item) menu.append(h("hr"));
    else
      menu.append(
        h(
          "button",
          {
            type: "button",
            role: "menuitem",
            tabindex: "-1",
            onclick: () => {
              finish();
              item.run();
            },
          },
          item.text,
          item.key ? h("kbd", { "aria-hidden": "true" }, item.key) : null,
        ),
      );
  }
  const buttons = /** @type {HTMLElement[]} */ ([...menu.querySelectorAll("button")]);
  menu.addEventListener("keydown", (event) => {
    event.stopPropagation();
    const at = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (next !== undefined) buttons[(next + buttons.length) % buttons.length].focus();
    else if (event.key === "Escape" || event.key === "Tab") finish();
    else return;
    event.preventDefault();
  });
  menu.addEventListener("focusout", (event) => {
    if (!menu.contains(/** @type {Node | null} */ (event.relatedTarget))) closeMenu();
  });
  document.body.append(menu);
  openedMenu = menu;
  const { width, height } = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 4))}px`;
  menu.style.top = `${Math.max(4, Math.min(y, innerHeight - height - 4))}px`;
  buttons[0]?.focus();
}

/** What a box is, beside the pointer. */
export class Tooltip {
  constructor() {
    this.element = h("div", { class: "flame-tip", role: "tooltip", hidden: true });
    document.body.append(this.element);
  }

  /**
   * @param {string} title
   * @param {string[]} lines below it
   * @param {{name: string, values: string[]}[]} table
   * @param {string[]} columns headings of the table
   */
  fill(title, lines, table, columns) {
    const heads = columns.map((name) => h("th", { scope: "col" }, name));
    const rows = table.map(({ name, values }) => h("tr", {}, h("th", { scope: "row" }, name), ...values.map((value) => h("td", {}, value))));
    this.element.replaceChildren(
      h("p", { class: "flame-tip-title" }, title),
      ...lines.map((line) => h("p", { class: "flame-tip-line" }, line)),
      ...(rows.length ? [h("table", {}, h("thead", {}, h("tr", {}, h("td"), ...heads)), h("tbody", {}, ...rows))] : []),
    );
  }

  /** @param {number} x @param {number} y of the pointer */
  show(x, y) {
    const { element } = this;
    element.hidden = false;
    const { width, height } = element.getBoundingClientRect();
    const left = x + 14 + width > innerWidth ? x - width - 10 : x + 14;
    const top = y + 16 + height > innerHeight ? y - height - 10 : y + 16;
    element.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
    element.style.top = `${Math.max(4, top)}px`;
  }

  hide() {
    this.element.hidden = true;
  }
}
