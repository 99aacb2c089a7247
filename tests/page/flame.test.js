// Colours, layout, exports and the time line's sums.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Boxes } from "../../src/undwarf/outputs/page/web/call-tree.js";
import { Entities, KINDS } from "../../src/undwarf/outputs/page/web/entities.js";
import { escapeXml, foldedOf, svgOf } from "../../src/undwarf/outputs/page/web/export.js";
import { Palette, contrast, fromHex, hashOf, moduleHues } from "../../src/undwarf/outputs/page/web/flame-colors.js";
import { axisTicks, isMerged, place } from "../../src/undwarf/outputs/page/web/flame-layout.js";
import { fitted } from "../../src/undwarf/outputs/page/web/flame-view.js";
import { runningOf, seriesOf } from "../../src/undwarf/outputs/page/web/timeline-series.js";
import { profileOf } from "./profiles.js";

const over = (back, ink, alpha) => back.map((one, i) => one + (ink[i] - one) * alpha);

for (const dark of [false, true])
  test(`text on every box has a contrast of 4.5 (${dark ? "dark" : "light"})`, () => {
    const samples = Array.from({ length: 42 }, (_, i) => ({ stack: [`f@image${i}`] }));
    const entities = new Entities(profileOf(samples));
    const palette = new Palette(entities, dark);
    const { theme } = palette;
    const text = fromHex(theme.text);
    const colours = [theme.back, theme.grey, ...[...KINDS, "inlined", "root"].map((kind) => palette.ofKind(kind))];
    for (let i = 0; i < 42; i++) colours.push(palette.ofModule(i));
    for (let i = 0; i <= 24; i++) colours.push(palette.ofHeat(i / 24));
    for (const colour of colours) {
      const plain = fromHex(colour);
      assert.ok(contrast(plain, text) >= 4.5, `${colour}: ${contrast(plain, text)}`);
      const patterned = over(plain, text, theme.ink);
      assert.ok(contrast(patterned, text) >= 4.5, `${colour} with a pattern: ${contrast(patterned, text)}`);
      const faded = over(fromHex(theme.back), plain, 0.5);
      assert.ok(contrast(faded, text) >= 4.5, `${colour} faded: ${contrast(faded, text)}`);
    }
  });

test("contrast is that of WCAG", () => {
  assert.equal(contrast([0, 0, 0], [255, 255, 255]), 21);
  assert.ok(Math.abs(contrast([0x76, 0x76, 0x76], [255, 255, 255]) - 4.54) < 0.01);
});

test("a module keeps its colour, and two of them have different ones", () => {
  const names = ["libc.so.6", "server", "libm.so.6", "[kernel]", "libz.so", "libssl.so"];
  const hues = moduleHues(names);
  assert.equal(new Set(hues).size, names.length);
  assert.equal(moduleHues(["x", "server"])[1], hashOf("server") % 14);
});

/** Boxes with these weights below the root, of which each has one child as wide as itself. */
function row(weights, { falling = true, gaps = 0 } = {}) {
  const boxes = new Boxes((made, box) => {
    let x = made.x0[box];
    const list = made.depth[box] === 0 ? weights : made.depth[box] === 1 ? [made.total[box]] : [];
    for (const total of list) {
      made.add(box, 0, x, x + total, { total, self: 0, samples: 1, flags: 0, frame: 0 }, null);
      x += total + gaps;
    }
  });
  boxes.falling = falling;
  const total = weights.reduce((a, b) => a + b + gaps, 0);
  boxes.add(-1, 0, 0, total, { total, self: 0, samples: 1, flags: 0, frame: 0 }, null);
  return boxes;
}

test("boxes under 2 pixels are merged into one that says how many and how much", () => {
  const boxes = row([900, ...Array(100).fill(1)]);
  const [, first] = place(boxes, 0, 1000, 1000);
  assert.equal(first.length, 2);
  assert.deepEqual([first[1].count, first[1].weight, first[1].x, first[1].width], [100, 100, 900, 100]);
  assert.ok(isMerged(first[1]) && !isMerged(first[0]));
});

test("zoom shows what was merged", () => {
  const boxes = row([900, ...Array(100).fill(1)]);
  const [, first] = place(boxes, 900, 1000, 1000);
  assert.equal(first.length, 100);
  assert.ok(!first.some(isMerged));
});

test("narrow boxes in order of time are merged with their neighbours only", () => {
  const boxes = row([1, 1, 10, 1, 1, 1], { falling: false });
  const [, first] = place(boxes, 0, 15, 15);
  assert.deepEqual(first.map(({ count }) => count), [2, 1, 3]);
});

test("what is not in the window is not placed", () => {
  const boxes = row([10, 10, 10, 10]);
  const [, first, second] = place(boxes, 10, 20, 100);
  assert.deepEqual(first.map(({ x, width }) => [x, width]), [[0, 100]]);
  assert.equal(second.length, 1);
});

test("ticks of an axis are round", () => {
  assert.deepEqual(axisTicks(0, 10, 5).ticks, [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(axisTicks(0, 0, 5).ticks, []);
  assert.equal(axisTicks(0.12, 0.18, 6).step, 0.01);
});

test("a name is cut to fit, or left out", () => {
  assert.deepEqual([fitted("main", 4), fitted("parse_line", 6), fitted("main", 2)], ["main", "parse…", ""]);
});

test("names are escaped in XML", () => {
  assert.equal(escapeXml(`<a b="c">&'\u0001`), "&#60;a b=&#34;c&#34;&#62;&#38;&#39;\ufffd");
});

test("a picture has each box with its title, and patterns that are used", () => {
  const look = { width: 10, height: 20, title: "<t>", text: "#000000", back: "#ffffff", edge: "#ffffff", ink: 0.1 };
  const svg = svgOf([{ x: 0, y: 0, width: 5, height: 18, fill: "#abcdef", kind: "kernel", label: "f<", title: "f< total" }], look);
  assert.match(svg, /<title>f&#60; total<\/title>/);
  assert.match(svg, /<pattern id="p-kernel"/);
  assert.doesNotMatch(svg, /p-jit|<t>|<script/);
});

test("folded stacks have no separators in names", () => {
  assert.equal(foldedOf([[["a;b", "c\nd"], 3]]), "a:b;c:d 3\n");
  assert.equal(foldedOf([]), "");
});

const VIEW = { measure: 0, weight: "period", idle: false };

test("weight over time adds up to the weight of the rows", () => {
  // Weights are times in ns, the unit of time is 1000 ns.
  const samples = [5, 30, 31, 77, 99].map((time, i) => ({ stack: ["f@x"], time, weight: (i + 1) * 1000, cpu: i % 2, thread: 0 }));
  const profile = profileOf(samples);
  for (const parts of [1, 7, 50]) {
    const [all] = seriesOf(profile, VIEW, "all", [0, 100], parts);
    assert.ok(Math.abs(all.values.reduce((a, b) => a + b) - 15000) < 1e-6);
    const cpus = seriesOf(profile, VIEW, "cpu", [0, 100], parts);
    assert.deepEqual(cpus.map(({ id, total }) => [id, total]), [[0, 9000], [1, 6000]]);
  }
});

test("a long wait is drawn where it was, not at its end", () => {
  const profile = profileOf([{ stack: ["f@x"], time: 100, weight: 50_000 }]);
  const [all] = seriesOf(profile, VIEW, "all", [0, 100], 10);
  assert.deepEqual([...all.values], [0, 0, 0, 0, 0, 10000, 10000, 10000, 10000, 10000]);
});

test("threads that ran are drawn from context switches", () => {
  const profile = profileOf([{ stack: ["f@x"], time: 100 }]);
  profile.run = { thread: Uint32Array.of(0, 0), cpu: Uint16Array.of(3, 4), start: Uint32Array.of(0, 60), end: Uint32Array.of(20, 65) };
  const running = runningOf(profile, "cpu", [0, 100], 10, false);
  assert.deepEqual([...running.get(3).busy], [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  assert.deepEqual([...running.get(4).busy], [0, 0, 0, 0, 0, 0, 0.5, 0, 0, 0]);
  assert.equal(runningOf(profile, "all", [0, 100], 10, false).get(0).switches, 2);
});
