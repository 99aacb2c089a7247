// How much weight the store has when, as lanes of bars; what is dragged over is the time that is shown.

import { clearedCanvas, h } from "./elements.js";
import { momentText, momentTicks } from "./fleet-choice.js";
import { Tooltip } from "./flame-menu.js";
import { formatCount, formatShare, formatTime, formatWeight, safeText, shorten } from "./format.js";

/** @typedef {import("./decode.js").Part} Part */
/** @typedef {[number, number]} MomentRange µs since 1970 */
/** @typedef {{name: string | null, values: Float64Array, samples: Float64Array, total: number, samplesTotal: number}} StoreLane */

const MOMENTS_HEIGHT = 18;
const STORE_HEIGHT = 46;
const SIDE_HEIGHT = 32;
const VALUE_HEIGHT = 18;
/** Pixels within which an edge of what is chosen is moved. */
const NEAR_EDGE = 6;

/**
 * The lanes of part "times": sums of the events' weights, or of all samples where no events are named.
 * @param {Part} part
 * @param {string[] | null} events
 * @returns {StoreLane[]}
 */
export function lanesOf({ json, columns }, events) {
  const { bar_time, bar_event, bar_series, bar_weight, bar_samples } = columns;
  const wanted = /** @type {string[]} */ (json.events).map((name) => !events || events.includes(name));
  /** @type {StoreLane[]} */
  const lanes = json.series.map((/** @type {string | null} */ name) => ({
    name,
    values: new Float64Array(json.count),
    samples: new Float64Array(json.count),
    total: 0,
    samplesTotal: 0,
  }));
  for (let i = 0; i < bar_time.length; i++) {
    const lane = lanes[bar_series[i]];
    if (!lane || !wanted[bar_event[i]] || bar_time[i] >= json.count) continue;
    const value = events ? bar_weight[i] : bar_samples[i];
    lane.values[bar_time[i]] += value;
    lane.samples[bar_time[i]] += bar_samples[i];
    lane.total += value;
    lane.samplesTotal += bar_samples[i];
  }
  // Other values than those with lanes of their own may have nothing.
  return lanes.filter(({ name, samplesTotal }) => samplesTotal || name !== null || lanes.length === 1);
}

/** The histogram of a store. */
export class StoreTimes {
  /**
   * @param {(range: MomentRange, lane: number) => void} onRange
   * @param {(value: string) => void} onValue a lane of a value was chosen
   */
  constructor(onRange, onValue) {
    this.onRange = onRange;
    this.onValue = onValue;
    /** @type {StoreLane[]} */
    this.lanes = [];
    /** The chosen time of each lane, or of all. @type {(MomentRange | null)[]} */
    this.ranges = [];
    this.kind = /** @type {"all" | "sides" | "values"} */ ("all");
    /** @type {string | null} */
    this.unit = "samples";
    /** @type {{lane: number, at: number, kept: number, range: MomentRange, moved: boolean} | null} */
    this.drag = null;
    this.scheduled = 0;
    this.tip = new Tooltip();
    this.names = h("div", { class: "timeline-names" });
    this.canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { id: "fleet-canvas", role: "img", "aria-label": "Weight in the store over time" }));
    this.plot = h("div", { class: "timeline-plot fleet-plot" }, this.canvas);
    this.root = h("div", { class: "timeline-body fleet-times" }, this.names, this.plot);
    this.listen();
  }

  /**
   * @param {Part} part
   * @param {(MomentRange | null)[]} ranges of each side of a comparison, else one
   * @param {string} split the label whose values are lanes
   * @param {{events: string[], unit: string | null} | null} measure what is added up; null: samples
   */
  show(part, ranges, split, measure) {
    this.part = part;
    this.ranges = ranges;
    this.lanes = lanesOf(part, measure?.events ?? null);
    this.unit = measure ? measure.unit : "samples";
    this.kind = ranges.length > 1 ? "sides" : split ? "values" : "all";
    this.split = split;
    this.showNames();
    this.draw();
  }

  get start() {
    return this.part?.json.start ?? 0;
  }

  get end() {
    return this.start + (this.part?.json.step ?? 1) * (this.part?.json.count ?? 1);
  }

  get laneHeight() {
    return { all: STORE_HEIGHT, sides: SIDE_HEIGHT, values: VALUE_HEIGHT }[this.kind];
  }

  get height() {
    return MOMENTS_HEIGHT + this.lanes.length * (this.laneHeight + 2);
  }

  /** @param {StoreLane} lane */
  nameOf({ name }) {
    return this.kind === "all" ? "all" : name === null ? "others, or none" : safeText(name);
  }

  showNames() {
    const { kind } = this;
    const total = this.lanes.reduce((sum, lane) => sum + lane.total, 0) || 1;
    this.names.replaceChildren(
      h("span", { class: "fleet-date dim" }, momentText(this.start).slice(0, 10)),
      ...this.lanes.map((lane, i) => {
        const { name } = lane;
        const text = this.nameOf(lane);
        const share = kind === "values" ? formatShare(lane.total / total) : formatWeight(lane.total, this.unit);
        const can = kind === "values" && name !== null;
        const label = h(
          can ? "button" : "div",
          can ? { type: "button", title: `${safeText(this.split)}=${text}: show it alone`, onclick: () => this.onValue(/** @type {string} */ (name)) } : { title: `${text}: ${formatCount(lane.samplesTotal)} samples` },
          h("span", { class: "lane-name" }, shorten(text, 30)),
          h("span", { class: "lane-share" }, share),
        );
        label.classList.add("fleet-lane");
        label.style.top = `${MOMENTS_HEIGHT + i * (this.laneHeight + 2)}px`;
        label.style.height = `${this.laneHeight}px`;
        return label;
      }),
    );
    this.names.style.height = `${this.height}px`;
  }

  draw() {
    if (this.scheduled) return;
    this.scheduled = requestAnimationFrame(() => {
      this.scheduled = 0;
      this.paint();
    });
  }

  /** @param {number} moment @param {number} width */
  x(moment, width) {
    return ((moment - this.start) / (this.end - this.start)) * width;
  }

  paint() {
    const { canvas, plot, part } = this;
    const width = plot.clientWidth;
    if (!width || !part) return;
    const { height } = this;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = plot.style.height = `${height}px`;
    const { context, colour } = clearedCanvas(canvas, width, height, ratio);
    context.textBaseline = "middle";
    for (const { at, text } of momentTicks(this.start, this.end, Math.max(2, width / 110))) {
      const x = Math.round(this.x(at, width)) + 0.5;
      context.fillStyle = colour("--line");
      context.fillRect(x, MOMENTS_HEIGHT - 5, 1, height);
      context.fillStyle = colour("--muted");
      if (x + 4 + context.measureText(text).width < width) context.fillText(text, x + 4, MOMENTS_HEIGHT / 2);
    }
    const peaks = this.lanes.map(({ values }) => values.reduce((high, one) => Math.max(high, one), 1e-30));
    const highest = Math.max(...peaks);
    const count = /** @type {number} */ (part.json.count);
    const wide = width / count;
    this.lanes.forEach(({ values }, i) => {
      // Sides are compared by shares: each has its own scale.
      const most = this.kind === "sides" ? peaks[i] : highest;
      const top = MOMENTS_HEIGHT + i * (this.laneHeight + 2);
      context.globalAlpha = 1;
      context.fillStyle = colour("--surface");
      context.fillRect(0, top, width, this.laneHeight);
      context.globalAlpha = 0.75;
      context.fillStyle = colour(this.kind === "sides" && i === 0 ? "--less-fill" : this.kind === "sides" ? "--more-fill" : "--accent");
      for (let bar = 0; bar < count; bar++) {
        if (!values[bar]) continue;
        const tall = Math.max(1, (values[bar] / most) * (this.laneHeight - 2));
        context.fillRect(bar * wide, top + this.laneHeight - tall, Math.max(wide - (wide > 4 ? 1 : 0), 0.6), tall);
      }
      context.globalAlpha = 1;
      this.paintRange(context, i, top, width, colour);
    });
    canvas.dataset.drawn = String(Number(canvas.dataset.drawn ?? 0) + 1);
  }

  /** The chosen time of a lane. @param {number} lane */
  rangeOf(lane) {
    const { drag } = this;
    if (drag && drag.moved && (this.kind !== "sides" || drag.lane === lane)) return drag.range;
    return this.ranges[this.kind === "sides" ? lane : 0] ?? null;
  }

  /** @param {CanvasRenderingContext2D} context @param {number} lane @param {number} top @param {number} width @param {(name: string) => string} colour */
  paintRange(context, lane, top, width, colour) {
    const range = this.rangeOf(lane);
    if (!range) return;
    const [a, b] = range.map((one) => Math.max(0, Math.min(width, this.x(one, width))));
    context.fillStyle = colour("--bg");
    context.globalAlpha = 0.72;
    context.fillRect(0, top, a, this.laneHeight + 2);
    context.fillRect(b, top, width - b, this.laneHeight + 2);
    context.globalAlpha = 1;
    context.fillStyle = colour("--accent");
    for (const x of [a, b]) context.fillRect(Math.min(width - 2, Math.max(0, x - 1)), top, 2, this.laneHeight);
    if (lane === 0 || this.kind === "sides") context.fillRect(a, top - 2, Math.max(1, b - a), 2);
  }

  // --- The pointer ---

  /** @param {PointerEvent} event */
  where(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = Math.max(0, Math.min(box.width, event.clientX - box.left));
    const lane = Math.max(0, Math.min(this.lanes.length - 1, Math.floor((event.clientY - box.top - MOMENTS_HEIGHT) / (this.laneHeight + 2))));
    return { x, lane, width: box.width, moment: this.start + (x / box.width) * (this.end - this.start) };
  }

  /** A range of whole bars. @param {number} one @param {number} other @returns {MomentRange} */
  bars(one, other) {
    const { step } = this.part?.json ?? { step: 1 };
    const first = this.start + Math.floor((Math.min(one, other) - this.start) / step) * step;
    const end = this.start + Math.ceil((Math.max(one, other) - this.start) / step) * step;
    return [first, Math.min(Math.max(end, first + step), this.end)];
  }

  listen() {
    const { plot } = this;
    new ResizeObserver(() => this.draw()).observe(plot);
    document.addEventListener("themechange", () => this.draw());
    plot.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.part) return;
      const { x, lane, width, moment } = this.where(event);
      const range = this.rangeOf(lane);
      const near = (/** @type {number} */ edge) => Math.abs(this.x(edge, width) - x) <= NEAR_EDGE;
      // The end that stays where it is.
      const kept = range && near(range[0]) ? range[1] : range && near(range[1]) ? range[0] : moment;
      this.drag = { lane, at: moment, kept, range: [moment, moment], moved: false };
      plot.setPointerCapture(event.pointerId);
      this.tip.hide();
    });
    plot.addEventListener("pointermove", (event) => {
      const { x, lane, width, moment } = this.where(event);
      const { drag } = this;
      if (!drag) return this.hover(event, lane, x, width);
      if (!drag.moved && Math.abs(this.x(drag.at, width) - x) < 4) return;
      drag.moved = true;
      drag.range = this.bars(drag.kept, moment);
      this.draw();
    });
    const finish = (/** @type {boolean} */ taken) => {
      const { drag } = this;
      this.drag = null;
      if (drag && drag.moved && taken) this.onRange(drag.range, drag.lane);
      this.draw();
    };
    plot.addEventListener("pointerup", () => finish(true));
    plot.addEventListener("pointercancel", () => finish(false));
    plot.addEventListener("pointerleave", () => this.tip.hide());
  }

  /** @param {PointerEvent} event @param {number} number @param {number} x @param {number} width */
  hover(event, number, x, width) {
    const lane = this.lanes[number];
    if (!lane || !this.part) return;
    const { step, count } = this.part.json;
    const bar = Math.min(count - 1, Math.floor((x / width) * count));
    const range = this.rangeOf(number);
    const near = range && range.some((edge) => Math.abs(this.x(edge, width) - x) <= NEAR_EDGE);
    this.plot.style.cursor = near ? "ew-resize" : "crosshair";
    const from = this.start + bar * step;
    const weight = lane.values[bar] && this.unit !== "samples" ? `${formatWeight(lane.values[bar], this.unit)}, ` : "";
    const lines = [`${momentText(from).replace("T", " ")} UTC, ${formatTime(step * 1000)}`, `${weight}${formatCount(lane.samples[bar])} samples`];
    this.tip.fill(this.nameOf(lane), lines, [], []);
    this.tip.show(event.clientX, event.clientY);
  }
}
