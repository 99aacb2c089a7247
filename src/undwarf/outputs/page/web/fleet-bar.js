// The bar of a store's page: time, labels, comparison. What is chosen becomes the page's address.

import { h } from "./elements.js";
import { DAY, LASTS, everything, fieldMoment, fieldText, halves, queryOf, quoted, spanText, valuesOf, withValues } from "./fleet-choice.js";
import { LabelSelector } from "./fleet-labels.js";
import { StoreTimes } from "./fleet-times.js";
import { formatTime, safeText } from "./format.js";
import { Parts } from "./parts.js";
import { DEFAULTS, toAddress } from "./state.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./decode.js").Part} Part */
/** @typedef {import("./fleet-choice.js").Choice} Choice */
/** @typedef {import("./fleet-choice.js").StoreSpan} StoreSpan */
/** @typedef {import("./fleet-labels.js").LabelValues} LabelValues */
/** @typedef {{text: string, hint: string, empty: boolean}} Problem */
/** @typedef {{store: string, within: string | null, contents: string, first: number, end: number, span: StoreSpan, before: StoreSpan | null}} About */

/** How often the server is asked whether the store has more, in ms. */
const LOOK_AGAIN = 60_000;
/** Characters of a query: the server answers addresses of 2,048. */
const MOST_QUERY = 1900;
/** Where the control that had the focus is kept while the next page is loaded. */
const FOCUSED_CONTROL = "undwarf-focused";
/** What a span may be compared with by one press: name, and how much earlier it is; null: just before. @type {[string, number | null][]} */
const EARLIER = [
  ["Time before", null],
  ["Day before", DAY],
  ["Week before", 7 * DAY],
];
/** What a new address does not keep of the view: numbers that mean something in one profile only. */
const OF_ONE_PROFILE = /** @type {(keyof import("./state.js").View)[]} */ (["range", "span", "processes", "threads", "cpus", "gaps", "measure"]);

export class StoreBar {
  constructor() {
    const query = new URLSearchParams(location.search);
    query.delete("event");
    /** What the page's address asks for. */
    this.query = query.toString();
    this.split = query.get("split") ?? "";
    /** @type {About | null} */
    this.about = null;
    /** @type {Choice | null} */
    this.choice = null;
    /** Labels of each side, before first if two are compared. @type {(LabelValues[] | null)[]} */
    this.labels = [];
    /** @type {Part | null} */
    this.times = null;
    /** @type {App | null} */
    this.app = null;
    /** The choice that is waited for. */
    this.waiting = 0;
    this.store = h("strong", { class: "fleet-store" });
    this.sides = h("div", { class: "fleet-sides" });
    this.histogram = new StoreTimes(
      (range, lane) => this.take(range, lane),
      (value) => this.chooseValue(value),
    );
    this.splitChoice = /** @type {HTMLSelectElement} */ (
      h("select", { id: "fleet-split", "aria-label": "Lanes: values of a label", onchange: () => this.chooseSplit(this.splitChoice.value) })
    );
    this.compare = h("button", { type: "button", id: "fleet-compare", onclick: () => this.toggleComparison() }, "Compare");
    this.reload = h("button", { type: "button", class: "quiet", id: "fleet-reload", title: "Load what the store has now", onclick: () => location.reload() }, "Reload");
    const steps = /** @type {[string, string, number][]} */ ([
      ["‹", "Earlier", -1],
      ["›", "Later", 1],
      ["−", "Three times as long", 0],
    ]).map(([text, title, step]) => h("button", { type: "button", class: "quiet", title, "aria-label": title, onclick: () => this.step(step) }, text));
    this.steps = h("span", { class: "fleet-steps" }, ...steps);
    this.status = h("div", { class: "fleet-status", id: "fleet-status", role: "status", hidden: true });
    this.root = h(
      "section",
      { id: "fleet", "aria-label": "What of the store is shown" },
      h("div", { class: "fleet-head" }, this.store, this.status, h("span", { class: "spacer" }), this.splitChoice, this.compare, this.reload),
      this.sides,
      this.histogram.root,
    );
    window.addEventListener("popstate", () => {
      const split = new URLSearchParams(location.search).get("split") ?? "";
      if (split !== this.split) this.chooseSplit(split, false);
    });
    setInterval(() => this.lookAgain(), LOOK_AGAIN);
  }

  /** Ask what the store has. Errors are shown. */
  async load() {
    const parts = new Parts();
    const query = new URLSearchParams(this.query);
    const about = await parts.load(`fleet?${this.query}`).catch(() => {
      // An address that cannot be read: the bar has all, and what waits for the profile says what is wrong.
      this.query = this.split = "";
      return parts.load("fleet?");
    });
    if (!about) throw new Error("the server has no store");
    this.about = /** @type {About} */ (about.json);
    const { span, before } = this.about;
    this.choice = { span, before, last: this.query ? (query.get("last") ?? "") : "", split: this.split };
    this.store.textContent = safeText(this.about.store);
    this.store.title = this.about.within ? `restricted to ${safeText(this.about.within)}` : "";
    this.show();
    const asked = before ? [before, span] : [span];
    await Promise.all([
      this.loadTimes(),
      ...asked.map(async (one, side) => {
        const part = await parts.load(`labels?span=${encodeURIComponent(spanText(one))}`);
        this.labels[side] = part?.json.labels ?? [];
        this.show();
      }),
    ]);
    const focused = sessionStorage.getItem(FOCUSED_CONTROL);
    sessionStorage.removeItem(FOCUSED_CONTROL);
    if (focused && document.activeElement === document.body) /** @type {HTMLElement | null} */ (this.root.querySelector(focused))?.focus();
    this.root.dataset.loaded = "true";
  }

  async loadTimes() {
    const query = new URLSearchParams(this.query);
    query.delete("split");
    if (this.split) query.set("split", this.split);
    this.times = await new Parts().load(`times?${query}`);
    this.showTimes();
  }

  /** The page is there: its event is what the histogram adds up. @param {App} app */
  attach(app) {
    this.app = app;
    this.showTimes();
    app.state.onChange((changed) => {
      if (changed.has("measure") || changed.has("weight")) this.showTimes();
    });
    app.keys.add(null, "Store", "b", "compare two spans of the store, or show one", () => this.toggleComparison());
  }

  // --- What is shown ---

  show() {
    const { choice, about } = this;
    if (!choice || !about) return;
    const { span, before } = choice;
    const focused = this.focused();
    this.sides.replaceChildren(...(before ? [this.side(before, 0, "Before"), this.side(span, 1, "After")] : [this.side(span, 0, "")]));
    if (focused) /** @type {HTMLElement | null} */ (this.root.querySelector(focused))?.focus();
    this.compare.setAttribute("aria-pressed", String(Boolean(before)));
    this.compare.title = before ? "Show the span after alone (b)" : "Compare with another time, or other labels (b)";
    this.steps.hidden = span.start === null || span.end === null;
    const labels = (this.labels.at(-1) ?? []).filter(({ values }) => values.length);
    const names = labels.map(({ name }) => name);
    if (this.split && !names.includes(this.split)) names.push(this.split);
    this.splitChoice.replaceChildren(h("option", { value: "" }, "One lane"), ...names.map((name) => h("option", { value: name }, `By ${safeText(name)}`)));
    this.splitChoice.value = this.split;
    this.splitChoice.hidden = Boolean(before);
  }

  /** The controls of a span. @param {StoreSpan} span @param {number} side @param {string} name */
  side(span, side, name) {
    const labels = this.labels[side] ?? [];
    const shown = [...labels];
    for (const [label] of span.labels) if (!labels.some((one) => one.name === label)) shown.push({ name: label, values: [], more: 0, unset: 0 });
    return h(
      "div",
      { class: "fleet-side", role: "group", "aria-label": name || "Span", "data-side": name.toLowerCase() || null },
      name ? h("strong", { class: "fleet-side-name" }, name) : null,
      this.presets(span, name),
      this.fields(span, side, name),
      name ? null : this.steps,
      ...shown.map((label) => new LabelSelector(label, valuesOf(span, label.name), (values) => this.change(side, withValues(span, label.name, values)), name).root),
      span.labels.length
        ? h("button", { type: "button", class: "quiet fleet-clear", title: "All labels", "aria-label": "All labels", onclick: () => this.change(side, { ...span, labels: [] }) }, "×")
        : null,
    );
  }

  /** Times that one press chooses. @param {StoreSpan} span @param {string} name */
  presets(span, name) {
    const { choice } = this;
    if (!choice) return null;
    /** @type {[string, boolean, () => void][]} */
    let items;
    if (name === "Before") {
      const after = choice.span;
      const { start, end } = after;
      items = EARLIER.map(([text, shift]) => {
        const by = shift ?? (start !== null && end !== null ? end - start : 0);
        const same = start !== null && end !== null && span.start === start - by && span.end === end - by;
        return [text, same, () => start !== null && end !== null && this.apply({ ...choice, before: { ...span, start: start - by, end: end - by } })];
      });
      if (start === null || end === null) items = [];
      items.push(["Same time", span.start === start && span.end === end, () => this.apply({ ...choice, before: { ...span, start, end } })]);
    } else {
      const last = name ? "" : choice.last;
      items = name ? [] : LASTS.map(([key, text]) => [text, last === key, () => this.apply({ ...choice, last: key })]);
      items.push(["All", span.start === null && span.end === null && !last, () => this.apply({ ...choice, last: "", span: { ...span, start: null, end: null } })]);
    }
    return h(
      "div",
      { class: "choice fleet-presets", role: "group", "aria-label": "Time" },
      ...items.map(([text, pressed, run]) => h("button", { type: "button", "aria-pressed": String(pressed), onclick: run }, text)),
    );
  }

  /** The fields of a span's time. @param {StoreSpan} span @param {number} side @param {string} name */
  fields(span, side, name) {
    const inputs = /** @type {const} */ (["start", "end"]).map(
      (edge) =>
        /** @type {HTMLInputElement} */ (
          h("input", {
            type: "text",
            value: fieldText(span[edge]),
            placeholder: edge === "start" ? "from the first" : "to the last",
            title: "A day, or a day and a time: 2026-11-28 10:00 (UTC)",
            "aria-label": `${name ? `${name}: ` : ""}${edge === "start" ? "from" : "to"}, UTC`,
            autocomplete: "off",
            spellcheck: "false",
            "data-field": `${side}-${edge}`,
            oninput: () => (go.hidden = inputs.every((input, i) => input.value === fieldText(i ? span.end : span.start))),
            onkeydown: (/** @type {KeyboardEvent} */ event) => {
              event.stopPropagation();
              if (event.key === "Enter") take();
            },
          })
        ),
    );
    const wrong = h("span", { class: "field-problem", role: "status" });
    const take = () => {
      const [start, end] = inputs.map((input) => fieldMoment(input.value));
      inputs.forEach((input, i) => input.setAttribute("aria-invalid", String(Number.isNaN(i ? end : start))));
      wrong.textContent = Number.isNaN(start) || Number.isNaN(end) ? "a time is as 2026-11-28 10:00" : start !== null && end !== null && start >= end ? "it ends before it starts" : "";
      if (!wrong.textContent) this.change(side, { ...span, start, end });
    };
    const go = h("button", { type: "button", class: "fleet-go", hidden: true, onclick: take }, "Show");
    return h("span", { class: "fleet-fields" }, inputs[0], "–", inputs[1], h("span", { class: "dim" }, "UTC"), go, wrong);
  }

  showTimes() {
    const { times, choice, app, about } = this;
    if (!times || !choice || !about) return;
    const range = (/** @type {StoreSpan} */ span) =>
      span.start === null && span.end === null ? null : /** @type {[number, number]} */ ([span.start ?? about.first, span.end ?? about.end]);
    // What is drawn is what is loaded, also while something else is chosen and waited for.
    const ranges = about.before ? [choice.before && range(choice.before), range(choice.span)] : [range(choice.span)];
    const measure = app && app.state.view.weight === "period" ? app.profile.measures[app.state.view.measure] : null;
    const events = measure?.events.map((event) => app?.profile.events[event].name ?? "") ?? [];
    // Names of a comparison's events are those before.
    const known = events.length > 0 && events.every((name) => times.json.events.includes(name));
    this.histogram.show(times, ranges, this.split, measure && known ? { events, unit: measure.unit } : null);
  }

  /** Say that something is computed; empty: that it is not. @param {string} text */
  progress(text) {
    this.status.hidden = !text;
    this.status.className = "fleet-status busy";
    this.status.textContent = text;
  }

  /** Say why nothing is shown, and what to do. @param {Problem} problem */
  problem({ text, hint, empty }) {
    const { choice } = this;
    this.progress("");
    const main = /** @type {HTMLElement} */ (document.getElementById("main"));
    main.querySelector(".fleet-empty")?.remove();
    const actions = [];
    if (choice && (choice.span.labels.length || choice.before?.labels.length))
      actions.push(h("button", { type: "button", onclick: () => this.apply({ ...choice, span: { ...choice.span, labels: [] }, before: choice.before && { ...choice.before, labels: [] } }) }, "All labels"));
    if (choice && (choice.last || spanText({ ...choice.span, labels: [] }) !== ".."))
      actions.push(h("button", { type: "button", onclick: () => this.apply({ ...choice, last: "", span: { ...choice.span, start: null, end: null } }) }, "All of the time"));
    if (choice && !actions.length) actions.push(h("button", { type: "button", onclick: () => this.apply(choice) }, "All of the store"));
    if (choice?.before) actions.push(h("button", { type: "button", onclick: () => this.toggleComparison() }, "Do not compare"));
    const lines = empty ? ["Nothing in the store fits this time and these labels: choose another time, or fewer labels."] : [safeText(text), safeText(hint)];
    main.prepend(
      h(
        "div",
        { class: "card empty fleet-empty", role: "alert" },
        h("h2", {}, empty ? "No samples" : "This cannot be shown"),
        ...lines.filter(Boolean).map((line) => h("p", {}, line)),
        h("div", { class: "fleet-actions" }, ...actions),
      ),
    );
  }

  // --- What is chosen ---

  /** @param {number} side @param {StoreSpan} span */
  change(side, span) {
    const { choice } = this;
    if (!choice) return;
    if (choice.before && side === 0) return this.apply({ ...choice, before: span });
    const timed = span.start !== choice.span.start || span.end !== choice.span.end;
    return this.apply({ ...choice, span, last: timed ? "" : choice.last });
  }

  /** A range of the histogram was chosen. @param {[number, number]} range @param {number} lane */
  take([start, end], lane) {
    const { choice } = this;
    if (!choice) return;
    const side = choice.before && this.about?.before ? lane : choice.before ? 1 : 0;
    this.change(side, { ...(choice.before && side === 0 ? choice.before : choice.span), start, end });
  }

  /** @param {string} value of the label that lanes are made by */
  chooseValue(value) {
    if (this.choice) this.change(0, withValues(this.choice.span, this.split, [quoted(value)]));
  }

  /** @param {number} step −1: earlier, 1: later, 0: longer */
  step(step) {
    const { choice, about } = this;
    const { start, end } = choice?.span ?? everything();
    if (!choice || !about || start === null || end === null) return;
    const length = end - start;
    const [from, to] = step ? [start + step * length, end + step * length] : [start - length, end + length];
    const all = !step && from <= about.first && to >= about.end;
    this.change(0, { ...choice.span, start: all ? null : from, end: all ? null : to });
  }

  toggleComparison() {
    const { choice, about } = this;
    if (!choice || !about) return;
    if (choice.before) return this.apply({ ...choice, before: null });
    const [before, after] = halves(choice.span, about);
    return this.apply({ ...choice, last: "", before, span: after });
  }

  /** Lanes are no other data: the page stays. @param {string} split @param {boolean} [written] in the address */
  chooseSplit(split, written = true) {
    this.split = split;
    if (this.choice) this.choice.split = split;
    const query = new URLSearchParams(location.search);
    query.delete("split");
    if (split) query.set("split", split);
    if (written) history.replaceState(history.state, "", `${query.size ? `?${query}` : location.pathname}${location.hash}`);
    this.splitChoice.value = split;
    this.loadTimes().catch((error) => this.app?.warn(error.message));
  }

  /**
   * Go to what was chosen: when the server has it, so that the page stays usable until then.
   * @param {Choice} choice
   */
  async apply(choice) {
    const query = queryOf(choice);
    if (query.length > MOST_QUERY) {
      this.show();
      return this.app?.warn("These are more values than an address can have: choose fewer, or a pattern as web-*.");
    }
    this.app?.warn("");
    if (Boolean(choice.before) !== Boolean(this.choice?.before)) {
      // Until those of the next page are there.
      const labels = this.labels.at(-1) ?? null;
      this.labels = choice.before ? [labels, labels] : [labels];
    }
    this.choice = choice;
    this.show();
    this.showTimes();
    const waiting = ++this.waiting;
    try {
      await this.ready(query, () => waiting === this.waiting);
    } catch (error) {
      this.progress("");
      this.app?.warn(/** @type {Error} */ (error).message);
      return;
    }
    if (waiting !== this.waiting) return;
    const next = new URLSearchParams(query);
    const { app } = this;
    const measure = app?.state.view.measure;
    if (app && measure) next.set("event", app.profile.measures[measure].name);
    const address = `${next.size ? `?${next}` : location.pathname}${this.hash()}`;
    sessionStorage.setItem(FOCUSED_CONTROL, this.focused());
    if (new URL(address, location.href).href === location.href) location.reload();
    else location.assign(address);
  }

  /** What finds the control that has the focus; empty: none has it. */
  focused() {
    const element = document.activeElement;
    if (!(element instanceof HTMLElement) || !this.root.contains(element)) return "";
    const { field, label } = element.dataset;
    const side = /** @type {HTMLElement | null} */ (element.closest(".fleet-side"))?.dataset.side;
    if (field) return `[data-field="${field}"]`;
    if (label) return `.fleet-side${side ? `[data-side="${side}"]` : ""} [data-label="${CSS.escape(label)}"]`;
    return element.id ? `#${element.id}` : "";
  }

  /** The part of the next address behind "#". */
  hash() {
    const view = this.app?.state.view;
    if (!view) return location.hash;
    const kept = { ...view };
    for (const name of OF_ONE_PROFILE) /** @type {any} */ (kept)[name] = /** @type {any} */ (DEFAULTS)[name];
    const text = toAddress(kept);
    return text ? `#${text}` : "";
  }

  /**
   * Wait until the server has computed what a query asks for, and say so meanwhile.
   * @param {string} query
   * @param {() => boolean} [wanted] whether it is still waited for
   * @returns {Promise<{result: string, problem: Problem | null}>}
   */
  async ready(query, wanted = () => true) {
    const started = performance.now();
    const parts = new Parts();
    let stage = "adding up samples";
    const tell = () => wanted() && this.progress(`${stage} … ${formatTime(Math.round((performance.now() - started) / 100) * 1e8)}`);
    const timer = setInterval(tell, 200);
    try {
      for (;;) {
        // The server answers within a second, ready or not.
        const part = await parts.load(`ready?${query}`);
        if (!part) throw new Error("the server has no such page");
        const { json } = part;
        if (json.ready || json.problem || !wanted()) return json;
        stage = json.stage;
      }
    } finally {
      clearInterval(timer);
    }
  }

  /** Whether the store has more than what is shown. */
  async lookAgain() {
    if (document.hidden || !this.about) return;
    try {
      const part = await new Parts().load("fleet?");
      if (!part || part.json.contents === this.about.contents) return;
      this.reload.textContent = "Reload: new data";
      this.reload.classList.remove("quiet");
    } catch {
      // The next request of what is chosen says that the server is gone.
    }
  }
}
