// The top of the page: what was recorded, what is added up, what is left out, and the tabs.

import { SIDES } from "./comparison.js";
import { h } from "./elements.js";
import { formatCount, formatMoment, formatShare, formatTime, safeText, shorten } from "./format.js";
import { problemOf } from "./pattern.js";
import { wholenessOf } from "./quality.js";
import { DEFAULTS, ONE_SIDED } from "./state.js";
import { THEMES, chosenTheme, setTheme } from "./theme.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./state.js").View} View */
/** @typedef {{text: string, clear: Partial<View>}} Chip */

/** @type {[View["view"], string, string][]} */
const TABS = [
  ["flame", "Flame graph", "1"],
  ["table", "Table", "2"],
  ["code", "Code", "3"],
  ["types", "Types", "4"],
  ["quality", "Quality", "5"],
];

/** Below this share of whole stacks the page warns. */
const WHOLE_ENOUGH = 0.9;

const FILTERS = /** @type {(keyof View)[]} */ (["range", "processes", "threads", "cpus", "gaps", "hide", "focus", "idle", "search"]);

/** The header, the tabs and the filters. */
export class Header {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    const { profile } = app;
    const facts = this.facts();
    this.details = /** @type {HTMLDetailsElement} */ (
      h(
        "details",
        { class: "about" },
        h("summary", {}, app.comparison ? `About these ${app.comparison.called}` : "About this recording"),
        h("div", { class: "popover" }, h("dl", {}, ...facts.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, safeText(text))]))),
      )
    );
    this.search = /** @type {HTMLInputElement} */ (
      h("input", {
        type: "search",
        id: "search",
        placeholder: "Search",
        "aria-label": "Search names: regular expression",
        "aria-describedby": "search-count",
        autocomplete: "off",
        spellcheck: "false",
        oninput: () => app.state.set({ search: this.search.value }, true),
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.searchKey(event),
      })
    );
    this.count = h("output", { id: "search-count", class: "count" });
    this.measure = /** @type {HTMLSelectElement} */ (
      h(
        "select",
        { id: "measure", "aria-label": "Event", onchange: () => app.state.set({ measure: Number(this.measure.value) }) },
        ...profile.measures.map((one, i) => h("option", { value: i }, safeText(one.name))),
      )
    );
    this.weights = ["period", "samples"].map((weight) =>
      h("button", { type: "button", "data-weight": weight, onclick: () => app.state.set({ weight: /** @type {any} */ (weight) }) }),
    );
    this.theme = h("button", { type: "button", class: "quiet", id: "theme", onclick: () => this.nextTheme() });
    this.patterns = /** @type {const} */ (["focus", "hide"]).map((name) => this.pattern(name));
    const header = /** @type {HTMLElement} */ (document.querySelector("header"));
    const { command } = profile.recording;
    header.append(
      h(
        "div",
        { class: "identity" },
        h("h1", { title: safeText(command ?? profile.title) }, shorten(safeText(profile.title), 90)),
        h("p", { class: "summary" }, safeText(this.summary())),
        this.details,
      ),
      h("div", { class: "finders" }, ...this.patterns.map((one) => one.field), h("div", { class: "find" }, this.search, this.count)),
      h(
        "div",
        { class: "actions" },
        h("button", { type: "button", class: "quiet", id: "copy-link", title: "Copy a link to what is shown (y)", onclick: () => this.copyLink() }, "Copy link"),
        this.theme,
        h("button", { type: "button", class: "quiet", id: "show-keys", title: "All keys (?)", onclick: () => app.keys.help() }, "Keys"),
      ),
    );
    this.tabs = TABS.map(([name, text, key]) =>
      h(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${name}`,
          "aria-controls": `view-${name}`,
          "data-tab": name,
          title: `${text} (${key})`,
          onclick: () => app.state.set({ view: name }),
          onkeydown: (/** @type {KeyboardEvent} */ event) => this.tabKey(event),
        },
        text,
      ),
    );
    this.idle = /** @type {HTMLInputElement} */ (
      h("input", { type: "checkbox", id: "idle", onchange: () => app.state.set({ idle: this.idle.checked }) })
    );
    const hasIdle = profile.threads.some((thread) => thread.idle);
    this.whole = h("button", { type: "button", id: "whole", onclick: () => app.state.set({ view: "quality" }) });
    /** @type {HTMLElement} */ (document.getElementById("views")).append(
      h("div", { role: "tablist", "aria-label": "Views", class: "tabs" }, ...this.tabs),
      h("div", { class: "weighing" }, ...(hasIdle ? [h("label", { class: "check" }, this.idle, "idle CPUs")] : []), this.whole, this.measure, h("div", { class: "choice", role: "group", "aria-label": "What is added up" }, ...this.weights)),
    );
    const { comparison } = app;
    if (comparison) {
      // What is added up was decided when it was compared.
      /** @type {HTMLElement} */ (this.weights[0].parentElement).remove();
      this.sides = SIDES.map((side) => h("button", { type: "button", "data-side": side, onclick: () => app.state.set({ side }) }, side === "before" ? "Before" : "After"));
      this.sideChoice = h("div", { class: "choice", role: "group", "aria-label": "Side that is shown", id: "side" }, ...this.sides);
      this.whole.before(this.sideChoice);
    }
    this.chips = h("div", { class: "chips", role: "group", "aria-label": "Active filters" });
    /** @type {HTMLElement} */ (document.getElementById("filters")).append(
      this.chips,
    );
    const footer = /** @type {HTMLElement} */ (document.querySelector("footer"));
    for (const note of this.notes()) footer.append(h("p", {}, safeText(note)));
    footer.append(h("p", { class: "quiet-note" }, `undwarf ${safeText(profile.recording.undwarf ?? "")}`.trim()));
    this.registerKeys();
    document.addEventListener("click", (event) => {
      if (!this.details.contains(/** @type {Node} */ (event.target))) this.details.open = false;
    });
  }

  registerKeys() {
    const { app } = this;
    for (const [name, text, key] of TABS) app.keys.add(null, "Views", key, text, () => this.open(name));
    app.keys.add(null, "Everywhere", "/", "Search", () => this.search.select());
    app.keys.add(null, "Everywhere", "?", "These keys", () => app.keys.help());
    app.keys.add(null, "Everywhere", "y", "Copy a link to what is shown", () => this.copyLink());
    app.keys.add(null, "Everywhere", "t", "Theme: as the system, light, dark", () => this.nextTheme());
    app.keys.add(null, "Everywhere", "e", "Next event", () => {
      const count = app.profile.measures.length;
      if (count > 1) app.state.set({ measure: (app.state.view.measure + 1) % count });
    });
    if (app.comparison)
      app.keys.add(null, "Everywhere", "d", "Side that code, types and quality show: before or after", () =>
        app.state.set({ side: app.state.view.side === "before" ? "after" : "before" }),
      );
    else
      app.keys.add(null, "Everywhere", "w", "Add up periods, or samples", () =>
        app.state.set({ weight: app.state.view.weight === "period" ? "samples" : "period" }),
      );
    app.keys.add(null, "Filters", "F", "Focus on stacks with a name", () => this.patterns[0].input.select());
    app.keys.add(null, "Filters", "H", "Hide frames by name", () => this.patterns[1].input.select());
    app.keys.add(null, "Filters", "I", "Count idle CPUs", () => app.state.set({ idle: !app.state.view.idle }));
    app.keys.add(null, "Filters", "X", "Clear all filters", () => this.clear());
    app.keys.add(null, "Everywhere", "Escape", "Back: out of the field, then what was shown before", () => this.back());
  }

  /** Out of the focused field, else to what was shown before. */
  back() {
    const active = /** @type {HTMLElement | null} */ (document.activeElement);
    if (this.details.open) this.details.open = false;
    else if (active?.matches("input, select, textarea")) active.blur();
    else if (this.app.state.steps > 0) history.back();
  }

  /** @param {View["view"]} name */
  open(name) {
    this.app.state.set({ view: name });
    /** @type {HTMLElement} */ (document.getElementById("main")).focus({ preventScroll: true });
    this.app.say(`${TABS.find(([one]) => one === name)?.[1]}`);
  }

  /** @returns {[string, string][]} */
  facts() {
    if (this.app.comparison) return this.comparedFacts(this.app.comparison);
    const { recording, timeStart, timeEnd, measures, origin, threads, row, quality } = this.app.profile;
    let samples = 0;
    for (const count of row.count) samples += count;
    const length = timeStart !== null && timeEnd !== null ? formatTime(timeEnd - timeStart) : null;
    const rows = /** @type {[string, string | null][]} */ ([
      ["Recording", recording.path],
      ["Command", recording.command],
      ["Host", recording.host],
      ["Processor", recording.cpu],
      ["Kernel", recording.kernel],
      ["Recorded", recording.recorded],
      ["Length", length],
      ["Events", measures.map((one) => one.name).join(", ")],
      ["Samples", formatCount(samples)],
      ["Threads", formatCount(threads.length)],
      ["Whole stacks", quality?.share === null || quality?.share === undefined ? null : formatShare(quality.share)],
      ["Read from", origin ? `${origin.format}${origin.sums ? " (sums without single samples)" : ""}` : null],
    ]);
    return /** @type {[string, string][]} */ (rows.filter(([, text]) => text));
  }

  /** @param {import("./comparison.js").Comparison} comparison @returns {[string, string][]} */
  comparedFacts(comparison) {
    const { machines, sides, files, whole } = comparison;
    const both = (/** @type {string} */ name) => {
      const texts = machines.map((one) => one[name] ?? "unknown");
      return texts[0] === texts[1] ? texts[0] : texts.join(" → ");
    };
    const recordings = sides.map((side) => side.map(({ recording, samples, lost }) => `${recording}: ${formatCount(samples)} samples${lost ? `, ${formatCount(lost)} lost` : ""}`));
    return /** @type {[string, string][]} */ (
      [
        ...recordings[0].map((text, i) => [i ? "" : "Before", text]),
        ...recordings[1].map((text, i) => [i ? "" : "After", text]),
        ["Weights", comparison.per],
        ["Taken as the same file", files.map(({ before, after }) => `${before} → ${after}`).join(", ")],
        ["Command", both("command")],
        ["Host", both("host")],
        ["Processor", both("cpu")],
        ["Kernel", both("kernel")],
        ["Recorded", both("recorded")],
        ["Whole stacks", whole ? `${formatShare(whole.weight.before)} → ${formatShare(whole.weight.after)}` : ""],
      ].filter(([, text]) => text)
    );
  }

  /** What was found. @param {import("./comparison.js").Comparison} comparison */
  comparedSummary({ sides, tests, anySignificant, events, called }) {
    const samples = sides.map((side) => formatCount(side.reduce((sum, one) => sum + one.samples, 0)));
    const recordings = sides.some((side) => side.length > 1) ? ` of ${sides.map((side) => side.length).join(" → ")} ${called}` : "";
    const found = !tests ? "nothing was tested: too few samples, or no times" : anySignificant ? "" : "no difference is larger than chance explains";
    return [`${samples.join(" → ")} samples${recordings}`, events[0]?.name, found].filter(Boolean).join(" · ");
  }

  summary() {
    if (this.app.comparison) return this.comparedSummary(this.app.comparison);
    const { recording, timeStart, timeEnd, measures } = this.app.profile;
    const length = timeStart !== null && timeEnd !== null ? formatTime(timeEnd - timeStart) : null;
    return [recording.host, recording.recorded?.slice(0, 16).replace("T", " "), length, measures[0]?.name].filter(Boolean).join(" · ");
  }

  notes() {
    const { profile } = this.app;
    const notes = [...profile.notes];
    if (profile.mergedTime) notes.push(`Equal samples within ${formatTime(profile.mergedTime)} are one entry, to keep the page small.`);
    return notes;
  }

  /**
   * An input for a regular expression.
   * @param {"focus" | "hide"} name
   */
  pattern(name) {
    const input = /** @type {HTMLInputElement} */ (
      h("input", {
        type: "text",
        id: name,
        placeholder: name === "focus" ? "stacks with…" : "frames named…",
        title: name === "focus" ? "Focus: only stacks with a frame that this regular expression finds (F)" : "Hide: frames that this regular expression finds; their weight goes to their callers (H)",
        "aria-describedby": `${name}-problem`,
        autocomplete: "off",
        spellcheck: "false",
        oninput: () => this.app.state.set(/** @type {any} */ ({ [name]: input.value }), true),
      })
    );
    const problem = h("span", { id: `${name}-problem`, class: "field-problem", role: "status" });
    const field = h("div", { class: "pattern" }, h("label", { for: name }, name === "focus" ? "Focus" : "Hide"), input, problem);
    return { name, input, problem, field };
  }

  /**
   * The number of matches of the search, as the view that is shown counts them; null: nothing to count.
   * @param {number | null} count
   * @param {string} [of] what is counted
   */
  matches(count, of = "") {
    const invalid = problemOf(this.app.state.view.search);
    this.count.textContent = invalid ? "invalid" : count === null ? "" : `${formatCount(count)}${of ? ` ${of}` : ""}`;
    this.count.title = invalid ?? "";
  }

  /** @param {KeyboardEvent} event */
  searchKey(event) {
    if (event.key !== "Enter") return;
    event.preventDefault();
    const shown = /** @type {any} */ (this.app.views[this.app.state.view.view]);
    shown.nextMatch?.(event.shiftKey ? -1 : 1);
  }

  /** @param {KeyboardEvent} event */
  tabKey(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = TABS.findIndex(([name]) => name === this.app.state.view.view);
    const next = (at + step + TABS.length) % TABS.length;
    this.app.state.set({ view: TABS[next][0] });
    this.tabs[next].focus();
  }

  nextTheme() {
    const next = THEMES[(THEMES.indexOf(chosenTheme()) + 1) % THEMES.length];
    setTheme(next);
    this.showTheme();
    this.app.say(`Theme: ${next}`);
  }

  showTheme() {
    const theme = chosenTheme();
    this.theme.textContent = { auto: "Auto", light: "Light", dark: "Dark" }[theme];
    this.theme.title = `Theme: ${theme === "auto" ? "as the system" : theme} (t)`;
  }

  async copyLink() {
    const link = location.href;
    try {
      await navigator.clipboard.writeText(link);
      this.app.say("The link is copied");
      this.flash("Copied");
    } catch {
      // No clipboard without permission: the address bar has the same link.
      this.app.say("The link is in the address bar");
      this.flash("In the address bar");
    }
  }

  /** @param {string} text */
  flash(text) {
    const button = /** @type {HTMLElement} */ (document.getElementById("copy-link"));
    button.textContent = text;
    setTimeout(() => (button.textContent = "Copy link"), 1500);
  }

  clear() {
    const patch = /** @type {any} */ ({});
    for (const name of FILTERS) patch[name] = DEFAULTS[name];
    this.app.state.set(patch);
  }

  /** What is filtered, and how each filter is removed. @returns {Chip[]} */
  active() {
    const { profile } = this.app;
    const { view } = this.app.state;
    /** @type {Chip[]} */
    const chips = [];
    const unit = profile.timeUnit ?? 1;
    if (view.range) {
      const [from, to] = view.range;
      chips.push({
        text: `${formatMoment(from * unit)} – ${formatMoment((to + 1) * unit)} (${formatTime((to + 1 - from) * unit)})`,
        clear: { range: null },
      });
    }
    for (const p of view.processes) {
      const process = profile.processes[p];
      if (process)
        chips.push({ text: `process ${process.name ?? "?"} (${process.pid})`, clear: { processes: view.processes.filter((one) => one !== p) } });
    }
    for (const t of view.threads) {
      const thread = profile.threads[t];
      if (thread) chips.push({ text: `thread ${thread.name ?? "?"} (${thread.tid})`, clear: { threads: view.threads.filter((one) => one !== t) } });
    }
    for (const cpu of view.cpus) chips.push({ text: `CPU ${cpu}`, clear: { cpus: view.cpus.filter((one) => one !== cpu) } });
    if (view.gaps.length === 1) {
      const gap = profile.gaps[view.gaps[0]];
      if (gap) chips.push({ text: view.gaps[0] === 0 ? "whole stacks" : `stacks cut short: ${gap.description}`, clear: { gaps: [] } });
    } else if (view.gaps.length) chips.push({ text: `stacks that end for ${view.gaps.length} reasons`, clear: { gaps: [] } });
    if (view.focus) chips.push({ text: `focus: ${view.focus}`, clear: { focus: "" } });
    if (view.hide) chips.push({ text: `hidden: ${view.hide}`, clear: { hide: "" } });
    if (view.idle) chips.push({ text: "with idle CPUs", clear: { idle: false } });
    if (view.search) chips.push({ text: `search: ${view.search}`, clear: { search: "" } });
    return chips;
  }

  /** @param {Set<string>} changed */
  show(changed) {
    const { app } = this;
    const { view } = app.state;
    const all = !changed.size;
    for (const tab of this.tabs) {
      const chosen = tab.dataset.tab === view.view;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    document.documentElement.dataset.shown = view.view;
    if (this.search.value !== view.search) this.search.value = view.search;
    if (all || changed.has("search") || changed.has("view")) this.matches(null);
    this.search.setAttribute("aria-invalid", String(problemOf(view.search) !== null));
    this.measure.value = String(view.measure);
    this.measure.hidden = app.profile.measures.length < 2;
    this.weights[0].textContent = { ns: "Time", bytes: "Bytes" }[app.profile.measures[view.measure]?.unit ?? ""] ?? "Periods";
    this.weights[1].textContent = "Samples";
    for (const button of this.weights) button.setAttribute("aria-pressed", String(button.dataset.weight === view.weight));
    for (const { name, input, problem } of this.patterns) {
      if (input.value !== view[name]) input.value = view[name];
      const wrong = problemOf(view[name]);
      problem.textContent = wrong ?? "";
      input.setAttribute("aria-invalid", String(wrong !== null));
    }
    this.idle.checked = view.idle;
    if (this.sideChoice) this.sideChoice.hidden = !ONE_SIDED.includes(view.view);
    for (const button of this.sides ?? []) button.setAttribute("aria-pressed", String(button.dataset.side === view.side));
    this.showTheme();
    this.showChips();
    this.showWhole();
  }

  showChips() {
    const chips = this.active();
    /** @type {HTMLElement} */ (document.getElementById("filters")).hidden = !chips.length;
    this.chips.replaceChildren(
      ...chips.map((chip) =>
        h(
          "span",
          { class: "chip" },
          h("span", { class: "chip-text", title: safeText(chip.text) }, shorten(safeText(chip.text), 60)),
          h(
            "button",
            { type: "button", "aria-label": `Remove: ${safeText(chip.text)}`, onclick: () => this.app.state.set(chip.clear) },
            "×",
          ),
        ),
      ),
      ...(chips.length > 1 ? [h("button", { type: "button", class: "quiet", id: "clear-filters", onclick: () => this.clear() }, "Clear all")] : []),
    );
  }

  showWhole() {
    const { comparison } = this.app;
    if (comparison && !ONE_SIDED.includes(this.app.state.view.view)) {
      const shares = [0, 1].map((side) => wholenessOf(this.app.profile, this.app.selectionOf(side))).map(({ whole, known }) => (known ? whole / known : 1));
      const poor = Math.min(...shares) < WHOLE_ENOUGH;
      this.whole.className = poor ? "whole poor" : "whole";
      this.whole.textContent = `${poor ? "⚠ " : "✓ "}${shares.map(formatShare).join(" → ")} whole stacks`;
      this.whole.title = "Stacks that reach the start of their thread, before and after. Open the details.";
      return;
    }
    const { whole, known } = wholenessOf(this.app.profile, this.app.selection);
    if (!known) {
      this.whole.hidden = true;
      return;
    }
    const share = whole / known;
    const poor = share < WHOLE_ENOUGH;
    this.whole.hidden = false;
    this.whole.className = poor ? "whole poor" : "whole";
    this.whole.textContent = `${poor ? "⚠ only " : "✓ "}${formatShare(share)} whole stacks`;
    this.whole.title = poor
      ? "Many stacks end early: totals of callers are too small. Open the reasons, and what would mend it."
      : "Stacks that reach the start of their thread. Open the details.";
  }
}
