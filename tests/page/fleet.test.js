import assert from "node:assert/strict";
import { test } from "node:test";
import {
  everything,
  fieldMoment,
  fieldText,
  halves,
  isPattern,
  momentText,
  momentTicks,
  queryOf,
  quoted,
  spanText,
  unquoted,
  valuesOf,
  withValues,
} from "../../src/undwarf/outputs/page/web/fleet-choice.js";
import { lanesOf } from "../../src/undwarf/outputs/page/web/fleet-times.js";

const TEN = Date.parse("2026-11-28T10:00:00Z") * 1000;
const HOUR = 3600e6;
const ALL = { span: everything(), last: "", before: null, split: "" };

test("values with the characters of spans are marked, and read as they were", () => {
  for (const value of ["a,b", "a|b*?", "\\", "a\\,b", " a b ", "é<script>", "x=y"]) {
    assert.equal(unquoted(quoted(value)), value);
    assert.equal(isPattern(quoted(value)), false);
  }
  assert.equal(quoted("a,b|c*"), "a\\,b\\|c\\*");
  assert.equal(isPattern("web-*"), true);
  assert.equal(unquoted("web-*"), "web-*");
});

test("a span has its time first, and all is two dots", () => {
  assert.equal(spanText(everything()), "..");
  assert.equal(spanText({ start: TEN, end: TEN + HOUR, labels: [["host", ["a", "b\\,c"]], ["release", []]] }), "2026-11-28T10:00:00..2026-11-28T11:00:00,host=a|b\\,c");
  assert.equal(spanText({ start: TEN, end: null, labels: [] }), "2026-11-28T10:00:00..");
});

test("times keep their microseconds", () => {
  assert.equal(momentText(TEN + 123456), "2026-11-28T10:00:00.123456");
  assert.equal(momentText(TEN + 250000), "2026-11-28T10:00:00.250");
  assert.equal(fieldMoment(fieldText(TEN + 123456)), TEN + 123456);
});

test("fields take a day or a time, and nothing else", () => {
  assert.equal(fieldMoment("2026-11-28 10:00"), TEN);
  assert.equal(fieldMoment(" 2026-11-28T10:00:00Z "), TEN);
  assert.equal(fieldMoment("2026-11-28"), TEN - 10 * HOUR);
  assert.equal(fieldMoment(""), null);
  for (const text of ["yesterday", "2026-13-01", "2026-11-28 25:00", "10:00"]) assert.ok(Number.isNaN(fieldMoment(text)), text);
});

test("a query has what differs from all", () => {
  assert.equal(queryOf(ALL), "");
  const span = { start: TEN, end: null, labels: /** @type {[string, string[]][]} */ ([["host", ["a"]]]) };
  assert.equal(new URLSearchParams(queryOf({ ...ALL, span })).get("span"), "2026-11-28T10:00:00..,host=a");
  const query = new URLSearchParams(queryOf({ ...ALL, span, last: "1h", before: everything(), split: "host" }));
  assert.deepEqual(Object.fromEntries(query), { span: "host=a", last: "1h", before: "..", split: "host" });
});

test("values of a label are replaced in their place", () => {
  const span = { ...everything(), labels: /** @type {[string, string[]][]} */ ([["host", ["a"]], ["release", ["1"]]]) };
  assert.deepEqual(withValues(span, "host", ["b", "c"]).labels, [["host", ["b", "c"]], ["release", ["1"]]]);
  assert.deepEqual(withValues(span, "host", []).labels, [["release", ["1"]]]);
  assert.deepEqual(withValues(span, "pod", ["x"]).labels.at(-1), ["pod", ["x"]]);
  assert.deepEqual(valuesOf(span, "pod"), []);
});

test("a time is compared with that before it, all with its earlier half", () => {
  const store = { first: TEN, end: TEN + 4 * HOUR };
  const [before, after] = halves({ start: TEN + 2 * HOUR, end: TEN + 3 * HOUR, labels: [] }, store);
  assert.deepEqual([before.start, before.end, after.start, after.end], [TEN + HOUR, TEN + 2 * HOUR, TEN + 2 * HOUR, TEN + 3 * HOUR]);
  const [one] = halves(everything(), { first: TEN + 5, end: TEN + 4 * HOUR - 7 });
  assert.deepEqual([one.start, one.end], [TEN, TEN + 2 * HOUR]);
  const [first, second] = halves(everything(), store);
  assert.deepEqual([first.start, first.end, second.start, second.end], [TEN, TEN + 2 * HOUR, TEN + 2 * HOUR, TEN + 4 * HOUR]);
});

test("an axis has few marks, at whole times", () => {
  const year = 365 * 24 * HOUR;
  for (const length of [1, 50, 1e3, 1e6, 45e6, HOUR, 24 * HOUR, 30 * 24 * HOUR, year, 8000 * year]) {
    const ticks = momentTicks(TEN + 1234, TEN + 1234 + length, 10);
    assert.ok(ticks.length <= 11, `${length}: ${ticks.length}`);
  }
  assert.deepEqual(
    momentTicks(TEN, TEN + 2 * HOUR, 4).map(({ text }) => text),
    ["10:00", "10:30", "11:00", "11:30", "12:00"],
  );
  assert.equal(momentTicks(TEN - 12 * HOUR, TEN + 30 * HOUR, 5)[0].text, "2026-11-28");
});

const PART = {
  json: { start: TEN, step: 60e6, count: 3, events: ["cycles", "faults"], series: ["a", "b", null] },
  columns: {
    bar_time: Uint32Array.of(0, 1, 1, 2),
    bar_event: Uint32Array.of(0, 0, 1, 0),
    bar_series: Uint32Array.of(0, 0, 0, 1),
    bar_weight: Float64Array.of(100, 200, 7, 50),
    bar_samples: Float64Array.of(1, 2, 7, 5),
  },
};

test("lanes add up the weight of the events that are shown, or all samples", () => {
  const [a, b, ...more] = lanesOf(PART, ["cycles"]);
  assert.deepEqual([...a.values], [100, 200, 0]);
  assert.deepEqual([a.total, a.samplesTotal, b.total, b.samplesTotal], [300, 3, 50, 5]);
  assert.deepEqual(more, []);
  assert.deepEqual(
    lanesOf(PART, null).map(({ values }) => [...values]),
    [
      [1, 9, 0],
      [0, 0, 5],
    ],
  );
});

test("a store without series has one lane, also an empty one", () => {
  const empty = { json: { ...PART.json, series: [null] }, columns: Object.fromEntries(Object.entries(PART.columns).map(([name, column]) => [name, column.slice(0, 0)])) };
  assert.equal(lanesOf(empty, null).length, 1);
});
