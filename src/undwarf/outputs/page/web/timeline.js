// The time line: what used the CPUs when. What is dragged over is selected, and all views follow.

import { SIDES } from "./comparison.js";
import { clearedCanvas, h } from "./elements.js";
import { axisTicks } from "./flame-layout.js";
import { Tooltip } from "./flame-menu.js";
import { formatCount, formatMoment, formatShare, formatTime, formatWeight, safeText, shorten } from "./format.js";
import { isWaiting, lastTime, rowsBetween, runningOf, seriesOf } from "./timeline-series.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./timeline-series.js").Series} Series */
/** @typedef {import("./timeline-series.js").LaneKind} LaneKind */
/**
 * A lane as it is drawn. ``measure``: of another event, in the background.
 * @typedef {{series: Series, name: string, top: number, height: number, measure: number | null, busy: Float64Array | null, switches: number}} Lane
 */

const AXIS_HEIGHT = 20;
const MAIN_HEIGHT = 40;
const LANE_HEIGHT = 22;
const OTHER_HEIGHT = 16;
/** Lanes that are shown before "more" is chosen, and at most. */
const FEW_LANES = 4;
const MOST_SHOWN = 64;
const REDRAWING = ["measure", "weight", "idle", "lanes", "span", "range", "threads", "processes", "cpus"];

export class Timeline {
  /** @param {App} app @param {HTMLElement} root */
  constructor(app, root) {
    this.app = app;
    this.root = root;
    /** @type {Lane[]} */
    this.lanes = [];
    this.hiddenLanes = 0;
    this.more = false;
    this.computed = "";
    this.scheduled = 0;
    /** @type {{mode: "new" | "from" | "to" | "move", at: number, range: [number, number], moved: boolean} | null} */
    this.drag = null;
    /** @type {[number, number] | null} */
    this.pending = null;
    this.end = lastTime(app.profile);
    if (app.profile.timeUnit === null || !app.profile.row.time.length) {
      root.hidden = true;
      return;
    }
    this.tip = new Tooltip();
    this.build();
  }

  // --- Parts of the time line ---

  build() {
    const { app, root } = this;
    const { state } = app;
    this.fold = h("button", { type: "button", class: "quiet timeline-fold", "aria-controls": "timeline-body", onclick: () => this.toggle() });
    this.kinds = /** @type {const} */ ([
      ["process", "Processes"],
      ["thread", "Threads"],
      ["cpu", "CPUs"],
    ]).map(([value, text]) => h("button", { type: "button", "data-value": value, onclick: () => state.set({ lanes: value }) }, text));
    this.choice = h("div", { class: "choice", role: "group", "aria-label": "Lanes" }, ...this.kinds);
    this.text = h("span", { class: "timeline-text" });
    this.clearing = h("button", { type: "button", class: "quiet", onclick: () => this.select(null), title: "Select all of the time (Esc)" }, "Select all");
    this.fit = h("button", { type: "button", class: "quiet", onclick: () => this.zoomToSelection() }, "Zoom to selection");
    this.whole = h("button", { type: "button", class: "quiet", onclick: () => state.set({ span: null }) }, "Whole time");
    this.meaning = h("span", { class: "timeline-meaning" });
    this.names = h("div", { class: "timeline-names" });
    this.canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { id: "timeline-canvas", role: "img", "aria-label": "CPU use over time" }));
    this.handles = /** @type {const} */ (["from", "to"]).map((edge) =>
      h("div", {
        class: `timeline-handle ${edge}`,
        role: "slider",
        tabindex: "0",
        "aria-label": edge === "from" ? "Start of the selected time" : "End of the selected time",
        "aria-orientation": "horizontal",
        "data-edge": edge,
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event, edge),
      }),
    );
    this.plot = h("div", { class: "timeline-plot" }, this.canvas, ...this.handles);
    this.body = h("div", { class: "timeline-body", id: "timeline-body" }, this.names, this.plot);
    this.moreButton = h("button", {
      type: "button",
      class: "quiet timeline-more",
      onclick: () => {
        this.more = !this.more;
        this.computed = "";
        this.draw();
      },
    });
    root.append(
      h("div", { class: "timeline-head" }, this.fold, this.choice, this.text, this.clearing, this.fit, this.whole, h("span", { class: "spacer" }), this.meaning),
      this.body,
      this.moreButton,
    );
    this.showLost();
    this.listen();
    app.keys.add(null, "Time line", "l", "fold or unfold the time line", () => this.toggle());
    app.keys.add(null, "Time line", "w", "to the handles of the selected time (arrows move them)", () => this.handles?.[0].focus());
  }

  toggle() {
    const { state } = this.app;
    if (state.view.lanes === "none") state.set({ lanes: this.lastLanes ?? "process" });
    else {
      this.lastLanes = state.view.lanes;
      state.set({ lanes: "none" });
    }
  }

  /** Say what marks and lines mean, and how much was lost. */
  showLost() {
    const { marks, run, events } = this.app.profile;
    const lost = marks.filter(({ kind }) => kind === "lost");
    const others = marks.length - lost.length;
    const count = lost.reduce((sum, mark) => sum + mark.count, 0);
    const parts = [];
    if (run) parts.push(h("span", { class: "timeline-ran" }, "▂ ran, by context switches"));
    if (events.some(({ name }) => isWaiting(name))) parts.push(h("span", { class: "timeline-waited" }, "▥ waited"));
    if (lost.length) parts.push(h("span", { class: "timeline-lost" }, `▼ ${formatCount(count)} lost at ${formatCount(lost.length)} ${lost.length === 1 ? "time" : "times"}`));
    if (others) parts.push(h("span", { class: "timeline-waited" }, `▽ throttled ${formatCount(others)} ${others === 1 ? "time" : "times"}`));
    this.meaning?.replaceChildren(...parts);
  }

  /** @param {Set<string>} changed */
  show(changed) {
    if (!this.canvas) return;
    if (changed.size && !REDRAWING.some((name) => changed.has(name))) return;
    const { view } = this.app.state;
    const folded = view.lanes === "none";
    const { body, fold, choice, moreButton } = /** @type {Record<string, HTMLElement>} */ (/** @type {any} */ (this));
    body.hidden = choice.hidden = folded;
    moreButton.hidden = folded || !this.hiddenLanes;
    fold.setAttribute("aria-expanded", String(!folded));
    fold.textContent = `${folded ? "▸" : "▾"} Time`;
    for (const button of this.kinds ?? []) button.setAttribute("aria-pressed", String(button.dataset.value === view.lanes));
    this.showSelection();
    this.draw();
  }

  showSelection() {
    const { view } = this.app.state;
    const unit = this.app.profile.timeUnit ?? 1;
    const { range } = view;
    const { text, clearing, fit, whole } = /** @type {Record<string, HTMLElement>} */ (/** @type {any} */ (this));
    const [from, to] = range ?? [0, this.end];
    text.textContent = range
      ? `${formatMoment(from * unit)} – ${formatMoment((to + 1) * unit)}: ${formatTime((to + 1 - from) * unit)} selected`
      : `${formatTime(this.end * unit)}; drag to select`;
    clearing.hidden = !range;
    fit.hidden = !range || (view.span !== null && view.span[0] === from && view.span[1] === to);
    whole.hidden = !view.span;
    for (const handle of this.handles ?? []) {
      const value = handle.dataset.edge === "from" ? from : to;
      handle.setAttribute("aria-valuemin", "0");
      handle.setAttribute("aria-valuemax", String(this.end));
      handle.setAttribute("aria-valuenow", String(value));
      handle.setAttribute("aria-valuetext", `${formatMoment(value * unit)}${range ? "" : ", all is selected"}`);
      handle.classList.toggle("all", !range);
    }
  }

  get span() {
    return this.app.state.view.span ?? /** @type {[number, number]} */ ([0, this.end]);
  }

  // --- Numbers ---

  /** @param {number} width */
  compute(width) {
    const { profile, state } = this.app;
    const { view } = state;
    const { span } = this;
    const parts = Math.max(10, Math.min(Math.floor(width / 2), Math.ceil((rowsBetween(profile, span[0], span[1]) + 20) / 3)));
    const key = JSON.stringify([view.measure, view.weight, view.idle, view.lanes, view.span, parts, this.more]);
    if (key === this.computed) return;
    this.computed = key;
    this.parts = parts;
    const main = this.mains(parts);
    const kind = /** @type {LaneKind} */ (view.lanes);
    let series = seriesOf(profile, view, kind, span, parts);
    // One lane that is the same as the sum says nothing new.
    if (series.length === 1 && kind !== "cpu") series = [];
    const heaviest = [...series].sort((a, b) => b.total - a.total);
    const most = this.more ? MOST_SHOWN : FEW_LANES;
    const kept = new Set(heaviest.slice(0, series.length <= most + 1 ? series.length : most));
    this.hiddenLanes = series.length - kept.size;
    const running = runningOf(profile, kind, span, parts, view.idle);
    const allRunning = runningOf(profile, "all", span, parts, view.idle).get(0);
    /** @type {Lane[]} */
    this.lanes = [];
    let top = AXIS_HEIGHT;
    const add = (/** @type {Series} */ one, /** @type {string} */ name, /** @type {number} */ height, /** @type {number | null} */ measure) => {
      const ran = one.kind === "all" ? (measure === null ? allRunning : undefined) : running.get(one.id);
      this.lanes.push({ series: one, name, top, height, measure, busy: ran?.busy ?? null, switches: ran?.switches ?? 0 });
      top += height + 2;
    };
    for (const { series: one, name } of main) add(one, name, MAIN_HEIGHT, null);
    let others = 0;
    profile.measures.forEach((measure, i) => {
      if (i === view.measure || others >= 3 || measure.events.length > 1) return;
      const [other] = seriesOf(profile, { ...view, measure: i }, "all", span, parts);
      if (!other) return;
      others++;
      add(other, safeText(measure.name), OTHER_HEIGHT, i);
    });
    for (const one of series) if (kept.has(one)) add(one, this.laneName(one), LANE_HEIGHT, null);
    this.height = top;
    this.showNames();
  }

  /**
   * The lanes of everything: one, or of a comparison one for each side, which shows the mean of its recordings.
   * @param {number} parts
   * @returns {{series: Series, name: string}[]}
   */
  mains(parts) {
    const { profile, comparison, state } = this.app;
    /** @type {Series} */
    const empty = { kind: "all", id: 0, total: 0, values: new Float64Array(parts), waiting: new Float64Array(parts) };
    if (!comparison) return [{ series: seriesOf(profile, state.view, "all", this.span, parts)[0] ?? empty, name: "all" }];
    const found = seriesOf(profile, state.view, "side", this.span, parts);
    return SIDES.map((name, side) => {
      const one = found.find(({ id }) => id === side) ?? empty;
      const count = comparison.recordings(side);
      const mean = (/** @type {Float64Array} */ values) => values.map((value) => value / count);
      return { series: { ...one, kind: "all", values: mean(one.values), waiting: mean(one.waiting) }, name };
    });
  }

  /** @param {Series} series */
  laneName(series) {
    const name = this.plainName(series);
    const { comparison } = this.app;
    if (!comparison || series.kind === "cpu" || series.kind === "all") return name;
    const side = comparison.sideOf(series.kind === "thread" ? "thread" : "process", series.id);
    return side === null ? name : `${SIDES[side]}: ${name}`;
  }

  /** @param {Series} series */
  plainName({ kind, id }) {
    const { profile } = this.app;
    if (kind === "cpu") return `CPU ${id}`;
    if (kind === "thread") {
      const thread = profile.threads[id];
      return thread ? `${safeText(thread.name ?? "?")} ${thread.tid}` : "?";
    }
    const process = profile.processes[id];
    return process ? `${safeText(process.name ?? "?")} ${process.pid}` : "?";
  }

  /** The property of the state that says which lanes of a kind are selected. @param {LaneKind} kind */
  static property(kind) {
    return kind === "cpu" ? "cpus" : kind === "thread" ? "threads" : "processes";
  }

  /** @param {Lane} lane */
  isChosen({ series }) {
    const { view } = this.app.state;
    if (series.kind === "all") return false;
    return /** @type {any} */ (view)[Timeline.property(series.kind)].includes(series.id);
  }

  showNames() {
    const { names } = this;
    const total = this.lanes.reduce((sum, { series, measure }) => sum + (series.kind === "all" && measure === null ? series.total : 0), 0) || 1;
    names?.replaceChildren(
      ...this.lanes.map((lane, i) => {
        const share = lane.series.kind === "all" ? "" : formatShare(lane.series.total / total);
        const switched = lane.switches ? `; ${formatCount(lane.switches)} times on a CPU` : "";
        const title =
          lane.measure !== null
            ? `${lane.name}: show this event`
            : lane.series.kind === "all"
              ? `${lane.name}: select everything${switched}`
              : `${lane.name}, ${share}${switched}: click to select it alone, with Shift to add it`;
        const button = h(
          "button",
          { type: "button", title, class: lane.measure !== null ? "other" : "", onclick: (/** @type {MouseEvent} */ event) => this.chooseLane(i, event.shiftKey) },
          h("span", { class: "lane-name" }, shorten(lane.name, 30)),
          share ? h("span", { class: "lane-share" }, share) : null,
        );
        button.style.top = `${lane.top}px`;
        button.style.height = `${lane.height}px`;
        return button;
      }),
    );
    if (names) names.style.height = `${this.height ?? 0}px`;
    const { moreButton } = this;
    if (moreButton) {
      moreButton.hidden = !this.more && !this.hiddenLanes;
      moreButton.textContent = this.more
        ? `Fewer lanes${this.hiddenLanes ? ` (${formatCount(this.hiddenLanes)} are not drawn)` : ""}`
        : `${formatCount(this.hiddenLanes)} more`;
      moreButton.setAttribute("aria-expanded", String(this.more));
    }
  }

  /** @param {number} number @param {boolean} more */
  chooseLane(number, more) {
    const { state } = this.app;
    const lane = this.lanes[number];
    if (lane.measure !== null) state.set({ measure: lane.measure });
    else if (lane.series.kind === "all") state.set({ processes: [], threads: [], cpus: [] });
    else {
      const name = Timeline.property(lane.series.kind);
      const before = /** @type {number[]} */ (/** @type {any} */ (state.view)[name]);
      const { id } = lane.series;
      const without = before.filter((one) => one !== id);
      const had = without.length !== before.length;
      const next = more ? (had ? without : [...before, id]) : had && before.length === 1 ? [] : [id];
      state.set(/** @type {any} */ ({ [name]: next }));
      const button = /** @type {HTMLElement | undefined} */ (this.names?.children[number]);
      button?.focus();
    }
  }

  // --- Drawing ---

  draw() {
    if (this.scheduled) return;
    this.scheduled = requestAnimationFrame(() => {
      this.scheduled = 0;
      this.paint();
    });
  }

  paint() {
    const { canvas, plot } = this;
    if (!canvas || !plot || this.app.state.view.lanes === "none") return;
    const width = plot.clientWidth;
    if (!width) return;
    this.compute(width);
    const height = this.height ?? 0;
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = plot.style.height = `${height}px`;
    }
    const { context, colour } = clearedCanvas(canvas, width, height, ratio);
    this.paintAxis(context, width, height, colour);
    const all = this.lanes.filter((lane) => lane.measure === null && lane.series.kind !== "all");
    const top = Math.max(1e-30, ...all.map(({ series }) => peak(series.values)), 0);
    // Both sides of a comparison have one scale.
    const most = Math.max(...this.lanes.filter((lane) => lane.measure === null && lane.series.kind === "all").map(({ series }) => peak(series.values)));
    const { view } = this.app.state;
    const chosen = view.threads.length || view.processes.length || view.cpus.length;
    for (const lane of this.lanes) {
      const own = lane.series.kind !== "all" ? top : lane.measure === null ? most : peak(lane.series.values);
      const faint = lane.measure !== null || (chosen && lane.series.kind !== "all" && !this.isChosen(lane));
      this.paintLane(context, lane, own, width, colour, Boolean(faint));
    }
    this.paintMarks(context, width, height, colour);
    this.paintSelection(context, width, height, colour);
    [...(this.names?.children ?? [])].forEach((button, i) => button.setAttribute("aria-pressed", String(this.isChosen(this.lanes[i]))));
    canvas.dataset.drawn = String(Number(canvas.dataset.drawn ?? 0) + 1);
  }

  /** Pixel of a time. @param {number} time @param {number} width */
  x(time, width) {
    const [from, to] = this.span;
    return ((time - from) / (to - from)) * width;
  }

  /** @param {number} x @param {number} width */
  timeAt(x, width) {
    const [from, to] = this.span;
    return Math.max(0, Math.min(this.end, from + (x / width) * (to - from)));
  }

  /** @param {CanvasRenderingContext2D} context @param {number} width @param {number} height @param {(name: string) => string} colour */
  paintAxis(context, width, height, colour) {
    const unit = this.app.profile.timeUnit ?? 1;
    const [from, to] = this.span;
    const { step, ticks } = axisTicks((from * unit) / 1e9, (to * unit) / 1e9, Math.max(2, width / 120));
    const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step) + 1e-9)));
    context.textBaseline = "middle";
    for (const tick of ticks) {
      const x = Math.round(this.x((tick * 1e9) / unit, width)) + 0.5;
      context.fillStyle = colour("--line");
      context.fillRect(x, AXIS_HEIGHT - 5, 1, height);
      context.fillStyle = colour("--muted");
      const text = `${tick.toFixed(digits)} s`;
      if (x + 4 + context.measureText(text).width < width) context.fillText(text, x + 4, AXIS_HEIGHT / 2);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Lane} lane
   * @param {number} top value that is as high as the lane
   * @param {number} width
   * @param {(name: string) => string} colour
   * @param {boolean} faint
   */
  paintLane(context, lane, top, width, colour, faint) {
    const { series } = lane;
    const parts = series.values.length;
    const part = width / parts;
    // What context switches say has a line of its own below.
    const bottom = lane.top + lane.height - (lane.busy ? 5 : 0);
    const scale = top > 0 ? (bottom - lane.top - 2) / top : 0;
    context.globalAlpha = 1;
    context.fillStyle = colour("--surface");
    context.fillRect(0, lane.top, width, lane.height);
    if (lane.busy) {
      const most = Math.max(1, peak(lane.busy));
      context.fillStyle = colour("--good");
      for (let i = 0; i < parts; i++) {
        if (!(lane.busy[i] > 0)) continue;
        context.globalAlpha = (faint ? 0.4 : 1) * Math.min(1, 0.25 + (0.75 * lane.busy[i]) / most);
        context.fillRect(i * part, bottom + 1, Math.max(part, 0.6), 4);
      }
    }
    const area = (/** @type {Float64Array} */ values, /** @type {string} */ fill, /** @type {number} */ alpha) => {
      context.beginPath();
      context.moveTo(0, bottom);
      for (let i = 0; i < parts; i++) {
        const y = bottom - values[i] * scale;
        context.lineTo(i * part, y);
        context.lineTo((i + 1) * part, y);
      }
      context.lineTo(width, bottom);
      context.globalAlpha = alpha;
      context.fillStyle = fill;
      context.fill();
    };
    const waits = series.waiting.some((one) => one > 0);
    const running = waits ? series.values.map((value, i) => value - series.waiting[i]) : series.values;
    if (waits) {
      area(series.values, colour("--warn"), faint ? 0.15 : 0.28);
      this.hatch(context, series, scale, bottom, part, colour("--warn"), faint ? 0.2 : 0.4);
    }
    area(running, lane.measure !== null ? colour("--muted") : colour("--accent"), lane.measure !== null ? 0.4 : faint ? 0.25 : 0.75);
    context.globalAlpha = 1;
    if (series.kind === "all") {
      const text = this.scaleText(lane, top);
      context.fillStyle = colour("--surface");
      context.globalAlpha = 0.8;
      const wide = context.measureText(text).width;
      context.fillRect(width - wide - 8, lane.top + 1, wide + 7, 13);
      context.globalAlpha = 1;
      context.fillStyle = colour("--muted");
      context.fillText(text, width - wide - 4, lane.top + 8);
    }
  }

  /**
   * Lines over what was waiting, so that it is not told by colour alone.
   * @param {CanvasRenderingContext2D} context
   * @param {Series} series
   * @param {number} scale
   * @param {number} bottom
   * @param {number} part
   * @param {string} colour
   * @param {number} alpha
   */
  hatch(context, series, scale, bottom, part, colour, alpha) {
    context.fillStyle = colour;
    context.globalAlpha = alpha;
    for (let i = 0; i < series.values.length; i++) {
      if (Math.floor((i * part) / 4) === Math.floor(((i - 1) * part) / 4) || !(series.waiting[i] > 0)) continue;
      context.fillRect(i * part, bottom - series.values[i] * scale, 1, series.waiting[i] * scale);
    }
    context.globalAlpha = 1;
  }

  /** What the top of a lane means. @param {Lane} lane @param {number} top */
  scaleText(lane, top) {
    const { profile, state } = this.app;
    const seconds = (((this.span[1] - this.span[0]) / (this.parts ?? 1)) * (profile.timeUnit ?? 1)) / 1e9;
    const measure = profile.measures[lane.measure ?? state.view.measure];
    if (state.view.weight === "samples") return `${formatCount(Math.max(1, top / seconds))} samples/s`;
    if (measure?.unit !== "ns") return `${formatWeight(top / seconds, measure?.unit)}/s`;
    const count = top / seconds / 1e9;
    const what = measure.events.some((event) => isWaiting(profile.events[event].name)) ? "threads" : "CPUs";
    return `${count >= 9.95 ? count.toFixed(0) : count.toFixed(1)} ${what}`;
  }

  /** @param {CanvasRenderingContext2D} context @param {number} width @param {number} height @param {(name: string) => string} colour */
  paintMarks(context, width, height, colour) {
    for (const mark of this.app.profile.marks) {
      const x = this.x(mark.time, width);
      if (x < -5 || x > width + 5) continue;
      context.fillStyle = context.strokeStyle = colour(mark.kind === "lost" ? "--bad" : "--warn");
      context.beginPath();
      context.moveTo(x - 5, AXIS_HEIGHT - 9);
      context.lineTo(x + 5, AXIS_HEIGHT - 9);
      context.lineTo(x, AXIS_HEIGHT - 1);
      context.closePath();
      if (mark.kind === "lost") context.fill();
      else context.stroke();
      context.globalAlpha = 0.5;
      for (let y = AXIS_HEIGHT; y < height; y += 6) context.fillRect(x - 0.5, y, 1, 3);
      context.globalAlpha = 1;
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {number} width @param {number} height @param {(name: string) => string} colour */
  paintSelection(context, width, height, colour) {
    const { range } = this.app.state.view;
    const [from, to] = range ?? [0, this.end];
    const a = Math.max(0, Math.min(width, this.x(from, width)));
    const b = Math.max(0, Math.min(width, this.x(range ? to + 1 : to, width)));
    for (const handle of this.handles ?? []) {
      const time = handle.dataset.edge === "from" ? from : range ? to + 1 : to;
      const x = this.x(time, width);
      handle.style.left = `${Math.max(0, Math.min(width, x))}px`;
      handle.classList.toggle("outside", x < -1 || x > width + 1);
    }
    if (!range) return;
    context.fillStyle = colour("--bg");
    context.globalAlpha = 0.72;
    context.fillRect(0, AXIS_HEIGHT, a, height);
    context.fillRect(b, AXIS_HEIGHT, width - b, height);
    context.globalAlpha = 1;
    context.fillStyle = colour("--accent");
    context.fillRect(a, AXIS_HEIGHT - 3, Math.max(1, b - a), 2);
  }

  // --- Pointer and keys ---

  listen() {
    const { plot } = this;
    if (!plot) return;
    new ResizeObserver(() => this.draw()).observe(plot);
    document.addEventListener("themechange", () => this.draw());
    plot.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const { x, width } = this.where(event);
      const { range } = this.app.state.view;
      const time = this.timeAt(x, width);
      const [from, to] = range ?? [0, this.end];
      const near = (/** @type {number} */ edge) => Math.abs(this.x(edge, width) - x) <= 6;
      const edge = /** @type {HTMLElement} */ (event.target).dataset?.edge;
      /** @type {"new" | "from" | "to" | "move"} */
      let mode = "new";
      if (range && (edge === "from" || near(from))) mode = "from";
      else if (range && (edge === "to" || near(to + 1))) mode = "to";
      else if (range && event.offsetY < AXIS_HEIGHT && time > from && time < to) mode = "move";
      this.drag = { mode, at: time, range: [from, to], moved: false };
      plot.setPointerCapture(event.pointerId);
      this.tip?.hide();
    });
    plot.addEventListener("pointermove", (event) => this.pointer(event));
    const finish = () => {
      const { drag } = this;
      this.drag = null;
      if (!drag) return;
      this.catchUp();
      if (!drag.moved && drag.mode === "new" && this.app.state.view.range) this.select(null);
      else this.app.say(/** @type {HTMLElement} */ (this.text).textContent ?? "");
    };
    plot.addEventListener("pointerup", finish);
    plot.addEventListener("pointercancel", finish);
    plot.addEventListener("pointerleave", () => this.tip?.hide());
    plot.addEventListener("dblclick", () => this.zoomToSelection());
    plot.addEventListener(
      "wheel",
      (event) => {
        const { x, width } = this.where(event);
        const sideways = event.shiftKey ? event.deltaY : event.deltaX;
        if (event.ctrlKey || event.metaKey) {
          event.preventDefault();
          this.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.008), this.timeAt(x, width));
        } else if (sideways && this.app.state.view.span) {
          event.preventDefault();
          this.pan(sideways / width);
        }
      },
      { passive: false },
    );
    this.root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.app.state.view.range) return;
      event.preventDefault();
      this.drag = null;
      this.pending = null;
      this.select(null);
    });
  }

  /** @param {MouseEvent} event */
  where(event) {
    const rect = /** @type {HTMLElement} */ (this.plot).getBoundingClientRect();
    return { x: event.clientX - rect.left, y: event.clientY - rect.top, width: rect.width };
  }

  /** @param {PointerEvent} event */
  pointer(event) {
    const { x, y, width } = this.where(event);
    const time = this.timeAt(x, width);
    const { drag } = this;
    if (!drag) {
      this.hover(event, x, y, width);
      return;
    }
    const distance = Math.abs(this.x(drag.at, width) - x);
    if (!drag.moved && distance < 3) return;
    const first = !drag.moved;
    drag.moved = true;
    let [from, to] = drag.range;
    if (drag.mode === "new") [from, to] = [Math.min(drag.at, time), Math.max(drag.at, time)];
    else if (drag.mode === "from") [from, to] = [Math.min(time, to), Math.max(time, to)];
    else if (drag.mode === "to") [from, to] = [Math.min(from, time), Math.max(from, time)];
    else {
      const by = Math.max(-from, Math.min(this.end - to, time - drag.at));
      [from, to] = [from + by, to + by];
    }
    this.follow([Math.floor(from), Math.max(Math.floor(from), Math.ceil(to) - 1)], !first);
  }

  /** Select at the next frame: views need not follow each move of the pointer. @param {[number, number]} range @param {boolean} replace */
  follow(range, replace) {
    const waiting = this.pending !== null;
    this.pending = range;
    this.replacing = waiting ? this.replacing && replace : replace;
    if (waiting) return;
    requestAnimationFrame(() => this.catchUp());
  }

  /** Select what waits for the next frame. */
  catchUp() {
    const { pending } = this;
    this.pending = null;
    if (pending) this.app.state.set({ range: pending }, this.replacing);
  }

  /** @param {[number, number] | null} range */
  select(range) {
    this.app.state.set({ range });
    this.app.say(/** @type {HTMLElement} */ (this.text).textContent ?? "");
  }

  /** @param {PointerEvent} event @param {number} x @param {number} y @param {number} width */
  hover(event, x, y, width) {
    const { tip, plot } = this;
    if (!tip || !plot) return;
    const unit = this.app.profile.timeUnit ?? 1;
    const { range } = this.app.state.view;
    const near = range && (Math.abs(this.x(range[0], width) - x) <= 6 || Math.abs(this.x(range[1] + 1, width) - x) <= 6);
    plot.style.cursor = near ? "ew-resize" : "crosshair";
    const mark = this.app.profile.marks.find((one) => Math.abs(this.x(one.time, width) - x) <= 5 && y < AXIS_HEIGHT + 4);
    const lane = this.lanes.find((one) => y >= one.top && y < one.top + one.height);
    if (!lane && !mark) {
      tip.hide();
      return;
    }
    const lines = [];
    if (mark) lines.push(safeText(mark.text) || `${mark.kind}: ${formatCount(mark.count)}`);
    if (lane) {
      const parts = lane.series.values.length;
      const at = Math.min(parts - 1, Math.floor((x / width) * parts));
      lines.push(`${lane.name}: ${this.scaleText(lane, lane.series.values[at])}`);
      if (lane.series.waiting[at] > 0) lines.push(`of this waiting: ${formatShare(lane.series.waiting[at] / lane.series.values[at])}`);
      if (lane.busy) lines.push(`running: ${formatShare(Math.min(1, lane.busy[at]))}`);
    }
    tip.fill(formatMoment(this.timeAt(x, width) * unit), lines, [], []);
    tip.show(event.clientX, event.clientY);
  }

  /** @param {number} factor @param {number} at time that stays where it is */
  zoom(factor, at) {
    const [from, to] = this.span;
    const width = Math.max(10, Math.min(this.end, (to - from) * factor));
    const start = Math.max(0, Math.min(this.end - width, at - ((at - from) / (to - from)) * width));
    this.app.state.set({ span: width >= this.end ? null : [Math.floor(start), Math.ceil(start + width)] }, true);
  }

  /** @param {number} share of what is shown */
  pan(share) {
    const [from, to] = this.span;
    const by = Math.max(-from, Math.min(this.end - to, Math.round((to - from) * share)));
    if (this.app.state.view.span) this.app.state.set({ span: [from + by, to + by] }, true);
  }

  zoomToSelection() {
    const { range } = this.app.state.view;
    if (range && range[1] > range[0]) this.app.state.set({ span: [range[0], range[1]] });
  }

  /** Keys of a handle. @param {KeyboardEvent} event @param {"from" | "to"} edge */
  key(event, edge) {
    const { range } = this.app.state.view;
    const [shownFrom, shownTo] = this.span;
    const step = Math.max(1, Math.round((shownTo - shownFrom) / 100)) * (event.shiftKey ? 10 : 1);
    const now = range ?? [0, this.end];
    const value = now[edge === "from" ? 0 : 1];
    const next = { ArrowLeft: value - step, ArrowDown: value - step, ArrowRight: value + step, ArrowUp: value + step, Home: 0, End: this.end }[event.key];
    if (next !== undefined) {
      const bounded = Math.max(0, Math.min(this.end, next));
      const chosen = /** @type {[number, number]} */ (
        edge === "from" ? [Math.min(bounded, now[1]), now[1]] : [now[0], Math.max(bounded, now[0])]
      );
      this.app.state.set({ range: chosen[0] === 0 && chosen[1] === this.end ? null : chosen }, range !== null);
    } else if (event.key === "+" || event.key === "=") this.zoom(0.5, value);
    else if (event.key === "-") this.zoom(2, value);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** @param {Float64Array} values */
function peak(values) {
  let most = 0;
  for (const value of values) if (value > most) most = value;
  return most;
}
