// The page of a comparison: weights per unit of work, trees of both sides, and what is marked.

import assert from "node:assert/strict";
import { test } from "node:test";
import { calleeBoxes, mergeStacks, weigh } from "../../src/undwarf/outputs/page/web/call-tree.js";
import { ComparedTrees, largerWeights } from "../../src/undwarf/outputs/page/web/compare-trees.js";
import { Comparison, changeShare, changeText, differenceText, intervalText, probabilityText } from "../../src/undwarf/outputs/page/web/comparison.js";
import { DEFAULTS } from "../../src/undwarf/outputs/page/web/state.js";
import { Entities } from "../../src/undwarf/outputs/page/web/entities.js";
import { Palette, contrast, fromHex } from "../../src/undwarf/outputs/page/web/flame-colors.js";
import { ComparedFlame, changeColour, noiseColour } from "../../src/undwarf/outputs/page/web/flame-compare.js";
import { select } from "../../src/undwarf/outputs/page/web/selection.js";
import { formatWeight } from "../../src/undwarf/outputs/page/web/format.js";
import { profileOf, randomSamples } from "./profiles.js";

const main = "main@app";
const STACKS = [
  { stack: [main, "a@app"], weight: 100, side: 0 },
  { stack: [main, "b@app"], weight: 50, side: 0 },
  { stack: [main, "gone@app"], weight: 30, side: 0 },
  { stack: [main, "a@app"], weight: 90, side: 1, recording: 1 },
  { stack: [main, "a@app"], weight: 110, side: 1, recording: 2 },
  { stack: [main, "b@app"], weight: 200, side: 1, recording: 1 },
  { stack: [main, "new@app"], weight: 40, side: 1, recording: 2 },
];

/** A row as part "comparison" has it. */
function row(name, number, before, after, { significant = false, adjusted = 0.5, path = undefined, notes = [] } = {}) {
  const weight = [before, after, after - before - 5, after - before + 5, 0.9, 1.1, 0.01];
  const plain = { name, name_before: null, image: "app", kernel: false, function: number, weight, share: weight, samples: [1, 1], notes };
  return { ...plain, p_corrected: adjusted, significant, ...(path ? { path } : {}) };
}

function compared(stacks = STACKS, tables = [], { work = [1, 1, 1], normalized = "run", recordings = [1, 2] } = {}) {
  const profile = profileOf(stacks);
  profile.row.side = Uint8Array.from(stacks, ({ side }) => side);
  if (recordings[0] + recordings[1] > 2) profile.row.recording = Uint16Array.from(stacks, ({ recording }) => recording ?? 0);
  const entities = new Entities(profile);
  const recorded = (count) => Array.from({ length: count }, () => ({ recording: "x", samples: 1, lost: 0 }));
  const total = row("total", null, 180, 220);
  const event = { event: "event0", event_after: "event0", unit: "ns", alike: null, work, total, tables };
  const json = {
    version: 1,
    before: recorded(recordings[0]),
    after: recorded(recordings[1]),
    normalized_by: normalized,
    normalizing_event: null,
    weight: "period",
    tests: 3,
    any_significant: true,
    whole: null,
    files: [],
    events: [event],
    renamed: [],
  };
  const view = { ...DEFAULTS, colour: "change" };
  const comparison = new Comparison({ json, columns: {} }, profile, entities);
  const app = {
    profile,
    entities,
    comparison,
    state: { view },
    unit: "ns",
    selectionOf: (side) => select(profile, view, entities, { weight: comparison.rowWeights(0), side }),
  };
  const shape = mergeStacks(profile, entities, { hidden: null, recursion: false, processes: false, threads: false });
  const trees = new ComparedTrees(app);
  const update = (patch = {}) => {
    Object.assign(view, patch);
    trees.update(shape);
  };
  update();
  return { app, comparison, trees, shape, update, entities, flame: new ComparedFlame(app, trees) };
}

/** The box of a function below main. */
function boxOf({ trees, entities }, name, pane = 0) {
  const { boxes } = trees.panes[pane];
  return boxes.child(boxes.child(0, entities.find(main)), entities.find(`${name}@app`));
}

test("weights of a side are the mean of its recordings", () => {
  const { trees } = compared();
  assert.deepEqual(trees.totals, [180, (90 + 110 + 200 + 40) / 2]);
});

test("weights are divided by the units of work of each recording", () => {
  const { comparison } = compared(STACKS, [], { work: [2, 1, 4] });
  assert.deepEqual([...comparison.rowWeights(0)], [50, 25, 15, 45, 13.75, 100, 5]);
});

test("both sides of each box are known, also where one has none of it", () => {
  const page = compared();
  const change = (name) => {
    const { before, after } = page.trees.change(0, boxOf(page, name));
    return [before, after];
  };
  assert.deepEqual(change("a"), [100, 100]);
  assert.deepEqual(change("gone"), [30, 0]);
  assert.deepEqual(change("new"), [0, 20]);
});

test("widths are the larger of both sides, and what a box calls fits into it", () => {
  const { trees } = compared();
  const { boxes } = trees.panes[0];
  assert.equal(boxes.total[0], 100 + 100 + 30 + 20);
});

test("widths of random profiles: no box is narrower than on a side, and none than its children together", () => {
  const samples = randomSamples(7, 400).map((one, i) => ({ ...one, side: i % 2 }));
  const { shape, app, trees } = compared(samples, [], { work: [1, 1], recordings: [1, 1] });
  const sides = [0, 1].map((side) => weigh(app.profile, shape, app.selectionOf(side)));
  const larger = largerWeights(shape, sides[0], sides[1]);
  const below = new Float64Array(larger.total.length);
  for (let i = 1; i < below.length; i++) below[shape.parent[i]] += larger.total[i];
  for (let i = 0; i < below.length; i++) {
    assert.ok(larger.total[i] >= Math.max(sides[0].total[i], sides[1].total[i]) - 1e-9);
    assert.ok(Math.abs(larger.total[i] - larger.self[i] - below[i]) < 1e-6);
  }
  assert.equal(trees.panes.length, 1);
});

test("both graphs beside each other have their siblings in one order", () => {
  // By its own weights, "a" is first before.
  const page = compared(STACKS.map((one) => (one.weight === 200 ? { ...one, weight: 800 } : one)));
  page.update({ compare: "beside" });
  const order = page.trees.panes.map(({ boxes }) => {
    const at = boxes.child(0, page.entities.find(main));
    boxes.open(at);
    return Array.from({ length: boxes.count[at] }, (_, i) => page.entities.names[boxes.entity[boxes.first[at] + i]]);
  });
  assert.deepEqual(order, [["b", "a", "gone"], ["b", "a", "new"]]);
});

test("a box is found in the other graph by its path", () => {
  const page = compared();
  page.update({ compare: "beside" });
  const box = boxOf(page, "b", 0);
  assert.deepEqual(page.trees.otherBox({ pane: 0, box, count: 1 }), { pane: 1, box: boxOf(page, "b", 1), count: 1 });
  assert.equal(page.trees.otherBox({ pane: 0, box: boxOf(page, "gone", 0), count: 1 }), null);
});

test("a zoom to what one side lacks shows its caller there", () => {
  const page = compared();
  page.update({ compare: "beside" });
  const box = boxOf(page, "new", 1);
  const frames = page.trees.zoomBoxes({ pane: 1, box });
  assert.equal(frames[1], box);
  assert.equal(frames[0], page.trees.panes[0].boxes.child(0, page.entities.find(main)));
});

const numbers = (names) => {
  const { entities } = compared();
  return names.map((name) => entities.function[entities.find(name)]);
};
const [MAIN, A, B, NEW] = numbers([main, "a@app", "b@app", "new@app"]);
const PATHS = {
  by: "path",
  others: null,
  others_count: 0,
  rows: [
    row("b", B, 50, 100, { significant: true, adjusted: 0.001, path: [MAIN, B] }),
    row("a", A, 100, 100, { path: [MAIN, A] }),
    row("new", NEW, 0, 21, { significant: true, path: [MAIN, NEW] }),
  ],
};

test("what chance explains is grey, what it does not is coloured and marked", () => {
  const page = compared(STACKS, [PATHS]);
  const palette = new Palette(page.entities, false);
  const look = (name) => page.flame.look(palette, 0, boxOf(page, name));
  assert.deepEqual(look("a"), { fill: noiseColour(palette), pattern: "", mark: "", coloured: false });
  assert.equal(look("b").mark, "▲");
  assert.equal(look("b").fill, changeColour(palette, 0.5));
  // Not tested.
  assert.equal(look("gone").coloured, false);
});

test("a row with other weights than the box has says nothing of it", () => {
  const page = compared(STACKS, [PATHS]);
  assert.equal(page.trees.change(0, boxOf(page, "new")).row, null);
});

test("of a part nothing is marked", () => {
  const page = compared(STACKS, [PATHS]);
  page.update({ range: [0, 5] });
  const palette = new Palette(page.entities, false);
  const look = page.flame.look(palette, 0, boxOf(page, "b"));
  assert.equal(look.mark, "");
  assert.ok(look.coloured);
  assert.match(page.flame.notes(0, 0).join(), /a part is selected/);
});

test("what appeared and what is gone have patterns", () => {
  const page = compared();
  page.update({ range: [0, 100] });
  const palette = new Palette(page.entities, true);
  assert.equal(page.flame.look(palette, 0, boxOf(page, "new")).pattern, "appeared");
  assert.equal(page.flame.look(palette, 0, boxOf(page, "gone")).pattern, "gone");
});

test("texts have a contrast of 4.5 on all colours of changes", () => {
  const { entities } = compared();
  for (const dark of [false, true]) {
    const palette = new Palette(entities, dark);
    const text = fromHex(palette.theme.text);
    for (let share = -1; share <= 1; share += 0.01) assert.ok(contrast(text, fromHex(changeColour(palette, share))) >= 4.5, `${dark} ${share}`);
    assert.ok(contrast(text, fromHex(noiseColour(palette))) >= 4.5);
  }
});

test("differences in words", () => {
  assert.equal(changeText(100, 105.2), "+5.2\u00a0%");
  assert.equal(changeText(100, 50), "−50.0\u00a0%");
  assert.equal(changeText(0, 5), "new");
  assert.equal(changeText(0.3, 0.1 + 0.2), "0.0\u00a0%");
  assert.equal(changeText(5, 0), "gone");
  assert.equal(changeText(1, 20), "20.0 times");
  assert.equal(differenceText(-1.5e6, "ns"), "−1.50\u00a0ms");
  assert.equal(differenceText(0.013, "share"), "+1.3\u00a0points");
  assert.equal(probabilityText(0.00001), "<0.0001");
  assert.equal(probabilityText(null), "");
  const change = { before: 2, after: 3, low: 0, high: 2, ratioLow: 1, ratioHigh: null, p: 0.1 };
  assert.equal(intervalText(change, "ns"), "+0.0 % …");
  assert.equal(changeShare(0, 0), 0);
  assert.equal(changeShare(4, 2), -0.5);
});

test("quotients keep their digits", () => {
  assert.equal(formatWeight(0.853, "cycles"), "0.853\u00a0cycles");
  assert.equal(formatWeight(0.0213, "share"), "2.1\u00a0%");
  assert.equal(formatWeight(12, "ns"), "12\u00a0ns");
});

test("boxes in an order of their own are not taken to fall", () => {
  const { app, shape } = compared();
  const [before, after] = [0, 1].map((side) => weigh(app.profile, shape, app.selectionOf(side)));
  assert.equal(calleeBoxes(shape, before, [0], after).falling, false);
  assert.equal(calleeBoxes(shape, before).falling, true);
});
