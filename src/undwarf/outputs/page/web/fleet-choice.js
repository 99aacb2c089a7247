// What of a store is shown: one span, or two that are compared, and how the page's address has it.

/**
 * A part of a store. ``start`` and ``end`` (exclusive) in µs since 1970, UTC; null: open. ``labels``: name and the values of which
 * one must fit, written as in ``--span``: with wildcards, and backslashes before what is none.
 * @typedef {{start: number | null, end: number | null, labels: [string, string[]][]}} StoreSpan
 */

/**
 * What is asked for. ``last``: time that ends with the last sample, in place of the span's own. ``before``: what the span is compared
 * with. ``split``: the label whose values have lanes of their own.
 * @typedef {{span: StoreSpan, last: string, before: StoreSpan | null, split: string}} Choice
 */

const SECOND = 1e6;
export const DAY = 86400 * SECOND;

export const LASTS = /** @type {const} */ ([
  ["1h", "Last hour"],
  ["1d", "Last day"],
  ["7d", "Last 7 days"],
]);

/** All of a store. @returns {StoreSpan} */
export function everything() {
  return { start: null, end: null, labels: [] };
}

/** A text as a value of a span: its own commas, bars, wildcards and spaces at the ends are marked by backslashes. @param {string} text */
export function quoted(text) {
  return text.replace(/[\\,|*?]|^\s|\s$/g, (one) => (/\s/.test(one) && one !== " " ? one : `\\${one}`));
}

/** The text of a value without wildcards, as people read it; with wildcards it stays as it is. @param {string} value */
export function unquoted(value) {
  return isPattern(value) ? value : value.replace(/\\([,|*?\\ ])/g, "$1");
}

/** Whether a value has wildcards. @param {string} value */
export function isPattern(value) {
  return /[*?]/.test(value.replace(/\\[,|*?\\ ]/g, ""));
}

/** A time as spans have it: "2026-11-28T10:00:00". @param {number} micros since 1970 */
export function momentText(micros) {
  const text = new Date(Math.floor(micros / 1000)).toISOString().replace("Z", "");
  const rest = ((micros % 1000) + 1000) % 1000;
  return `${text}${rest ? String(Math.round(rest)).padStart(3, "0") : ""}`.replace(/\.000$/, "");
}

/** A span as ``--span`` takes it; ".." for all. @param {StoreSpan} span */
export function spanText({ start, end, labels }) {
  const terms = labels.filter(([, values]) => values.length).map(([name, values]) => `${name}=${values.join("|")}`);
  if (start !== null || end !== null) terms.unshift(`${start === null ? "" : momentText(start)}..${end === null ? "" : momentText(end)}`);
  return terms.join(",") || "..";
}

/** The values of a label that a span is restricted by. @param {StoreSpan} span @param {string} name @returns {string[]} */
export function valuesOf(span, name) {
  return span.labels.find(([one]) => one === name)?.[1] ?? [];
}

/** The span with other values of a label; none: all. @param {StoreSpan} span @param {string} name @param {string[]} values @returns {StoreSpan} */
export function withValues(span, name, values) {
  const others = span.labels.filter(([one]) => one !== name);
  const at = span.labels.findIndex(([one]) => one === name);
  if (values.length) others.splice(at < 0 ? others.length : at, 0, [name, values]);
  return { ...span, labels: others };
}

/** What the server is asked for a choice: the part of its address behind "?". @param {Choice} choice */
export function queryOf({ span, last, before, split }) {
  const query = new URLSearchParams();
  const text = spanText(last ? { ...span, start: null, end: null } : span);
  if (text !== "..") query.set("span", text);
  if (last) query.set("last", last);
  if (before) query.set("before", spanText(before));
  if (split) query.set("split", split);
  return query.toString();
}

/**
 * The time just before a span, as long; of a span without one the earlier half of what the store has.
 * @param {StoreSpan} span
 * @param {{first: number, end: number}} store
 * @returns {[StoreSpan, StoreSpan]} before, after
 */
export function halves(span, store) {
  if (span.start !== null) {
    const length = (span.end ?? store.end) - span.start;
    return [{ ...span, start: span.start - length, end: span.start }, { ...span, end: span.start + length }];
  }
  const last = span.end ?? store.end;
  // Whole seconds, where they are short.
  const unit = last - store.first > 100 * SECOND ? SECOND : 1;
  const start = Math.floor(store.first / unit) * unit;
  const end = Math.ceil(last / unit) * unit;
  const middle = Math.floor((start + end) / 2 / unit) * unit;
  return [{ ...span, start, end: middle }, { ...span, start: middle, end }];
}

/** A time as a field shows it: "2026-11-28 10:00:00". @param {number | null} micros */
export function fieldText(micros) {
  return micros === null ? "" : momentText(micros).replace("T", " ");
}

/** The time of a field in µs, null if it is empty, NaN if it is none. @param {string} text a day, or a day and a time */
export function fieldMoment(text) {
  const found = /^\s*(\d{4}-\d\d-\d\d)(?:[ T]+(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?\s*Z?\s*$/.exec(text);
  if (!found) return text.trim() ? NaN : null;
  const [, day, hours = "00", minutes = "00", seconds = "00", rest = ""] = found;
  return Date.parse(`${day}T${hours}:${minutes}:${seconds}Z`) * 1000 + Number(rest.padEnd(6, "0"));
}

const TICKS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200].map((one) => one * SECOND);

/**
 * Marks of an axis of time: at most ``most``, at whole seconds, minutes, hours or days.
 * @param {number} start
 * @param {number} end
 * @param {number} most
 * @returns {{at: number, text: string}[]}
 */
export function momentTicks(start, end, most) {
  const least = (end - start) / Math.max(1, most);
  let step = TICKS.find((one) => one >= least);
  if (least < SECOND) step = [1, 2, 5].flatMap((one) => [1, 10, 100, 1000, 1e4, 1e5].map((power) => one * power)).sort((a, b) => a - b).find((one) => one >= least) ?? SECOND;
  for (let days = 1; step === undefined; days = days < 7 ? days * 7 : days * 2) if (days * DAY >= least) step = days * DAY;
  const ticks = [];
  for (let at = Math.ceil(start / step) * step; at <= end; at += step) ticks.push({ at, text: tickText(at, step) });
  return ticks;
}

/** @param {number} at @param {number} step */
function tickText(at, step) {
  const text = momentText(at);
  if (step >= DAY || at % DAY === 0) return text.slice(0, 10);
  return step % (60 * SECOND) === 0 ? text.slice(11, 16) : step >= SECOND ? text.slice(11, 19) : text.slice(17);
}
