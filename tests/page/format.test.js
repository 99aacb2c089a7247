import assert from "node:assert/strict";
import { test } from "node:test";
import {
  formatAddress,
  formatCount,
  formatShare,
  formatWeight,
  parseAddress,
  safeText,
  shorten,
  sourceText,
} from "../../src/undwarf/outputs/page/web/format.js";
import { csvText } from "../../src/undwarf/outputs/page/web/csv.js";
import { problemOf } from "../../src/undwarf/outputs/page/web/pattern.js";

test("weights have three digits and a unit", () => {
  assert.equal(formatWeight(1130391143, "ns"), "1.13\u00a0s");
  assert.equal(formatWeight(70_000_000, "ns"), "70.0\u00a0ms");
  assert.equal(formatWeight(999, "ns"), "999\u00a0ns");
  assert.equal(formatWeight(4_000_000_000_000, "ns"), "4,000\u00a0s");
  assert.equal(formatWeight(2573, "samples"), "2,573");
  assert.equal(formatWeight(12_345_678, "cycles"), "12.3\u00a0M cycles");
  assert.equal(formatWeight(12_345_678, null), "12.3\u00a0M");
  assert.equal(formatWeight(0, "ns"), "0");
});

test("counts are grouped by thousands", () => {
  assert.equal(formatCount(1234567), "1,234,567");
  assert.equal(formatCount(999), "999");
});

test("shares are 0 or 100 % only if they are exactly that", () => {
  assert.equal(formatShare(1), "100.0\u00a0%");
  assert.equal(formatShare(0.99999), ">99.9\u00a0%");
  assert.equal(formatShare(0.0001), "<0.1\u00a0%");
  assert.equal(formatShare(0), "0.0\u00a0%");
  assert.equal(formatShare(NaN), "");
});

test("addresses of the kernel are exact", () => {
  const text = "0xffffffff81000123";
  assert.equal(formatAddress(parseAddress(text)), text);
  assert.equal(parseAddress("0xffffffff81000124") - parseAddress(text), 1);
  assert.equal(formatAddress(parseAddress("401200")), "0x401200");
  assert.equal(formatAddress(parseAddress(null)), "");
  assert.ok(Number.isNaN(parseAddress("0x")));
});

test("what hides or turns other text is shown", () => {
  assert.equal(safeText("a\u202eb"), "a\\u{202e}b");
  assert.equal(safeText("a\x1b[31m"), "a␛[31m");
  assert.equal(safeText("a\u200bb\u0000"), "a\\u{200b}b␀");
  assert.equal(safeText("operator<< <T>"), "operator<< <T>");
  assert.equal(safeText("größe 名前 😀"), "größe 名前 😀");
  assert.equal(safeText(null), "");
});

test("tabs of source text go to the next stop", () => {
  assert.equal(sourceText("\tx\ty"), "        x       y");
});

test("long names keep both ends", () => {
  const text = shorten(`${"a".repeat(100)}${"b".repeat(100)}`, 30);
  assert.equal(text.length, 30);
  assert.match(text, /^a+…b+$/);
});

test("a spreadsheet takes no cell for a formula", () => {
  assert.equal(csvText([["=1+1", 5, 'a "b", c', "-x"]]), `'=1+1,5,"a ""b"", c",'-x\r\n`);
});

test("invalid expressions are told from valid ones", () => {
  assert.equal(problemOf("a|b"), null);
  assert.ok(problemOf("("));
});
