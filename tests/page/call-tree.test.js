// Call trees and totals against sums that are computed stack by stack.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as trees from "../../src/undwarf/outputs/page/web/call-tree.js";
import { Entities, KINDS } from "../../src/undwarf/outputs/page/web/entities.js";
import { select } from "../../src/undwarf/outputs/page/web/selection.js";
import { profileOf, randomSamples } from "./profiles.js";

const VIEW = { measure: 0, weight: "period", range: null, processes: [], threads: [], cpus: [], gaps: [], idle: false, focus: "", hide: "" };
const PLAIN = { hidden: null, recursion: false, processes: false, threads: false };
const THREADS = [0, 1, 2].map((i) => ({ tid: 10 + i, process: i % 2, name: `t${i}`, idle: false }));
const PROCESSES = [0, 1].map((i) => ({ pid: 100 + i, name: `p${i}` }));

function made(samples, { view = {}, merging = {}, options = {} } = {}) {
  const profile = profileOf(samples, { threads: THREADS, processes: PROCESSES, ...options });
  const entities = new Entities(profile);
  const selection = select(profile, { ...VIEW, ...view }, entities);
  const shape = trees.mergeStacks(profile, entities, { ...PLAIN, ...merging });
  return { profile, entities, selection, shape, weights: trees.weigh(profile, shape, selection) };
}

/** How the page names a function of a test's stack. */
function label(key) {
  return key.includes("@") ? key : `${key.split("+")[0]}+0x${Number(key.split("+")[1]).toString(16)}@${key.split("+")[0]}`;
}

/** Sum of weights by path, for all paths of stacks: what a tree must show. */
function byPath(samples, pathOf) {
  const sums = new Map();
  for (const sample of samples) {
    const path = pathOf(sample);
    for (let depth = 1; depth <= path.length; depth++) {
      const key = path.slice(0, depth).join(";");
      sums.set(key, (sums.get(key) ?? 0) + sample.weight);
    }
  }
  return Object.fromEntries([...sums].sort());
}

/** All boxes of a tree: weight by path. */
function unfolded(boxes, entities) {
  const sums = new Map();
  for (let box = 0; box < boxes.parent.length; box++) {
    boxes.open(box);
    if (box === 0) continue;
    const path = boxes.path(box).map((entity) => entities.keys[entity]).join(";");
    sums.set(path, (sums.get(path) ?? 0) + boxes.total[box]);
  }
  return Object.fromEntries([...sums].sort());
}

const whole = (sample) => (sample.stack.length ? sample.stack.map(label) : ["empty:"]);

for (const seed of [1, 2, 3]) {
  const samples = randomSamples(seed, 300);

  test(`callees have the weight of all stacks with this path (${seed})`, () => {
    const { entities, shape, weights } = made(samples);
    assert.deepEqual(unfolded(trees.calleeBoxes(shape, weights), entities), byPath(samples, whole));
  });

  test(`an inverted tree has the weight of all stacks that end with this path (${seed})`, () => {
    const { entities, shape, weights } = made(samples);
    const boxes = trees.callerBoxes(shape, trees.innermostPaths(shape, weights));
    assert.deepEqual(unfolded(boxes, entities), byPath(samples, (sample) => whole(sample).reverse()));
  });

  test(`a sandwich counts each stack once (${seed})`, () => {
    const { entities, shape, weights } = made(samples);
    const wanted = "f1@img1";
    const { callees, callers } = trees.sandwich(shape, weights, entities.find(wanted));
    const having = samples.filter((sample) => sample.stack.includes(wanted));
    assert.equal(callees.total[0], having.reduce((sum, sample) => sum + sample.weight, 0));
    const from = (sample) => whole(sample).slice(sample.stack.indexOf(wanted) + 1);
    assert.deepEqual(unfolded(callees, entities), byPath(having, from));
    const above = (sample) => whole(sample).slice(0, sample.stack.indexOf(wanted)).reverse();
    assert.deepEqual(unfolded(callers, entities), byPath(having, above));
  });

  test(`hidden functions give their weight to their callers (${seed})`, () => {
    const view = { hide: "^f[12]$" };
    const { entities, profile } = made(samples);
    const hidden = entities.matching(view.hide);
    const shape = trees.mergeStacks(profile, entities, { ...PLAIN, hidden });
    const weights = trees.weigh(profile, shape, select(profile, VIEW, entities));
    const rest = (sample) => (sample.stack.length ? whole(sample).filter((key) => !/^f[12]@/.test(key)) : ["empty:"]);
    assert.deepEqual(unfolded(trees.calleeBoxes(shape, weights), entities), byPath(samples, rest));
    assert.equal(weights.total[0], samples.reduce((sum, sample) => sum + sample.weight, 0));
  });

  test(`a focus leaves stacks with such a frame (${seed})`, () => {
    const { entities, shape, weights, selection } = made(samples, { view: { focus: "f3" } });
    const having = samples.filter((sample) => sample.stack.includes("f3@img0"));
    assert.deepEqual(unfolded(trees.calleeBoxes(shape, weights), entities), byPath(having, whole));
    const left = samples.filter((sample) => !sample.stack.includes("f3@img0"));
    assert.equal(selection.unfocused, left.reduce((sum, sample) => sum + sample.weight, 0));
  });

  test(`merged recursion folds a function into its first occurrence (${seed})`, () => {
    const { entities, shape, weights } = made(samples, { merging: { recursion: true } });
    const merged = (sample) => {
      const path = [];
      for (const key of whole(sample)) {
        const at = path.indexOf(key);
        if (at >= 0) path.length = at + 1;
        else path.push(key);
      }
      return path;
    };
    // Weight of what was folded stays with its boxes: those have the weight of all stacks that once had this path.
    const sums = new Map();
    for (const sample of samples) {
      const seen = new Set();
      const path = [];
      for (const key of whole(sample)) {
        const at = path.indexOf(key);
        if (at >= 0) path.length = at + 1;
        else path.push(key);
      }
      for (let depth = 1; depth <= path.length; depth++) seen.add(path.slice(0, depth).join(";"));
      for (const one of seen) sums.set(one, (sums.get(one) ?? 0) + sample.weight);
    }
    assert.deepEqual(unfolded(trees.calleeBoxes(shape, weights), entities), Object.fromEntries([...sums].sort()));
    assert.deepEqual(byPath(samples, merged), Object.fromEntries([...sums].sort()));
  });

  test(`totals count a stack once for each function in it (${seed})`, () => {
    const { profile, entities, selection } = made(samples);
    const totals = trees.totalsBy(profile, selection, entities.ofFrame, entities.functions);
    const self = new Map();
    const total = new Map();
    const count = new Map();
    for (const { stack, weight, count: n } of samples) {
      for (const key of new Set(stack)) total.set(label(key), (total.get(label(key)) ?? 0) + weight);
      if (!stack.length) continue;
      const last = label(stack.at(-1));
      self.set(last, (self.get(last) ?? 0) + weight);
      count.set(last, (count.get(last) ?? 0) + n);
    }
    for (let i = 0; i < entities.functions; i++) {
      const key = entities.keys[i];
      assert.equal(totals.self[i], self.get(key) ?? 0, key);
      assert.equal(totals.total[i], total.get(key) ?? 0, key);
      assert.equal(totals.samples[i], count.get(key) ?? 0, key);
    }
  });

  test(`boxes in order of time have the weight of their rows (${seed})`, () => {
    const { profile, entities, selection, shape } = made(samples);
    const { lanes, left } = trees.threadLanes(profile, shape, selection, 10);
    assert.equal(left, 0);
    assert.equal(lanes.length, 3);
    for (const lane of lanes) {
      const boxes = trees.laneBoxes(profile, shape, entities, lane, [0, 600]);
      const own = samples.filter((sample) => sample.thread === lane.thread);
      assert.deepEqual(unfolded(boxes, entities), byPath(own, whole));
      for (let box = 1; box < boxes.parent.length; box++) {
        assert.ok(boxes.x0[box] >= boxes.x0[boxes.parent[box]] && boxes.x1[box] <= boxes.x1[boxes.parent[box]]);
        const next = box + 1;
        if (boxes.parent[next] === boxes.parent[box]) assert.ok(boxes.x0[next] >= boxes.x1[box] - 1e-9);
      }
    }
  });
}

test("siblings are drawn heaviest first, side by side", () => {
  const { shape, weights } = made(randomSamples(7, 200));
  const boxes = trees.calleeBoxes(shape, weights);
  for (let box = 0; box < boxes.parent.length; box++) {
    boxes.open(box);
    let x = boxes.x0[box];
    for (let i = boxes.first[box]; i < boxes.first[box] + boxes.count[box]; i++) {
      assert.equal(boxes.x0[i], x);
      assert.equal(boxes.x1[i] - boxes.x0[i], boxes.total[i]);
      if (i > boxes.first[box]) assert.ok(boxes.total[i] <= boxes.total[i - 1]);
      x = boxes.x1[i];
    }
    assert.ok(x <= boxes.x1[box]);
  }
});

test("processes, threads and cut stacks are rows below the stacks", () => {
  const gaps = [
    { reason: "root", description: "", image: null, advice: null },
    { reason: "no_rule", kind: "early", description: "no unwind rule", image: 0, advice: null },
  ];
  const { entities, shape, weights } = made(
    [
      { stack: ["main@a"], weight: 3, thread: 0 },
      { stack: ["main@a"], weight: 2, thread: 1, gap: 1 },
    ],
    { merging: { processes: true, threads: true }, options: { gaps } },
  );
  const paths = unfolded(trees.calleeBoxes(shape, weights), entities);
  assert.equal(paths["process:p0;thread:10/100/t0;main@a"], 3);
  assert.equal(paths["process:p1;thread:11/101/t1;cut:no_rule/a;main@a"], 2);
});

test("samples count as many as they stand for", () => {
  const { shape, weights } = made(
    [
      { stack: ["a@x", "b@x"], weight: 5, count: 4 },
      { stack: ["a@x"], weight: 1, count: 2 },
    ],
    { view: { weight: "samples" } },
  );
  const boxes = trees.calleeBoxes(shape, weights);
  boxes.open(0);
  assert.deepEqual([boxes.total[1], boxes.self[1], boxes.samples[1]], [6, 2, 6]);
});

test("equal names in one file are one function, and in two files two", () => {
  const { entities } = made([{ stack: ["f@x", "f@y", "x+16", "x+32"] }]);
  assert.deepEqual(entities.keys.slice(0, entities.functions), ["f@x", "f@y", "x+0x10@x", "x+0x20@x"]);
});

test("a name is a symbol, also in profiles without files", () => {
  const profile = profileOf([{ stack: ["f@x", "x+16"] }]);
  profile.function.image.fill(0xffffffff);
  const { kind, ofFunction } = new Entities(profile);
  assert.deepEqual([...ofFunction].map((entity) => KINDS[kind[entity]]), ["program", "unnamed"]);
});

test("an inverted path leads to the same function", () => {
  const { entities, shape, weights } = made(randomSamples(5, 200));
  const boxes = trees.callerBoxes(shape, trees.innermostPaths(shape, weights));
  for (let node = 1; node < shape.parent.length; node++) {
    let box = 0;
    for (const entity of trees.invertedPath(shape, weights, node)) box = boxes.child(box, entity);
    assert.notEqual(box, -1);
    assert.equal(boxes.entity[box], shape.entity[node]);
  }
});

test("a search counts each stack once", () => {
  const samples = randomSamples(9, 200);
  const { entities, shape, weights } = made(samples);
  const result = trees.found(shape, weights, entities.matching("f[25]"));
  const having = samples.filter(({ stack }) => stack.some((key) => /^f[25]@/.test(key)));
  assert.equal(result.weight, having.reduce((sum, { weight }) => sum + weight, 0));
  assert.equal(result.functions, 2);
});

test("a wrong regular expression counts as none", () => {
  const { entities, selection } = made([{ stack: ["f@x", "g@x"], weight: 7 }], { view: { focus: "f(", hide: "[" } });
  assert.equal(entities.matching("f("), null);
  assert.equal(selection.total, 7);
});

test("idle threads do not count until they are asked for", () => {
  const threads = [
    { tid: 0, process: 0, name: "swapper", idle: true },
    { tid: 1, process: 0, name: "main", idle: false },
  ];
  const samples = [
    { stack: ["idle@k"], weight: 9, thread: 0 },
    { stack: ["main@a"], weight: 1, thread: 1 },
  ];
  const hidden = made(samples, { options: { threads } }).selection;
  assert.deepEqual([hidden.total, hidden.idle], [1, 9]);
  const shown = made(samples, { options: { threads }, view: { idle: true } }).selection;
  assert.deepEqual([shown.total, shown.idle], [10, 0]);
});

test("a range of time has both its ends", () => {
  const samples = [1, 2, 3, 4].map((time) => ({ stack: ["a@x"], time, weight: 10 ** time }));
  assert.equal(made(samples, { view: { range: [2, 3] } }).selection.total, 1100);
});

test("parents behind their children end the walk", () => {
  const { profile, entities } = made([{ stack: ["a@x", "b@x"] }]);
  profile.node.parent[0] = 1;
  const shape = trees.mergeStacks(profile, entities, PLAIN);
  assert.equal(shape.parent.length, 3);
});
