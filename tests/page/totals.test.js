import assert from "node:assert/strict";
import { test } from "node:test";
import { NONE } from "../../src/undwarf/outputs/page/web/decode.js";
import { Grouping, inclusive, neighbours } from "../../src/undwarf/outputs/page/web/totals.js";
import { random } from "./profiles.js";

/** A random tree in depth-first order with recursion, and what groups its nodes are in. */
function tree(seed, nodes, groups) {
  const next = random(seed);
  const parent = new Uint32Array(nodes);
  const entity = new Uint32Array(nodes);
  const path = [];
  for (let n = 0; n < nodes; n++) {
    while (path.length && next(3) === 0) path.pop();
    parent[n] = path.length ? path[path.length - 1] : NONE;
    path.push(n);
    entity[n] = next(8) ? next(groups) : NONE;
  }
  const self = Float64Array.from({ length: nodes }, () => next(5));
  return { parent, entity, self };
}

/** Entities on the path of a node. */
function pathOf(parent, entity, n) {
  const found = [];
  for (let up = n; up !== NONE; up = parent[up]) found.push(entity[up]);
  return found;
}

test("sums are those of adding up each stack", () => {
  for (let seed = 1; seed < 40; seed++) {
    const groups = 6;
    const { parent, entity, self } = tree(seed, 120, groups);
    const { self: own, total } = new Grouping(parent, entity, groups).sum(self);
    const wantedOwn = new Float64Array(groups);
    const wantedTotal = new Float64Array(groups);
    for (let n = 0; n < parent.length; n++) {
      if (entity[n] !== NONE) wantedOwn[entity[n]] += self[n];
      for (const e of new Set(pathOf(parent, entity, n))) if (e !== NONE) wantedTotal[e] += self[n];
    }
    assert.deepEqual(own, wantedOwn);
    assert.deepEqual(total, wantedTotal);
  }
});

test("callers of a function have its total, whatever recursion there is", () => {
  for (let seed = 1; seed < 40; seed++) {
    const groups = 5;
    const { parent, entity, self } = tree(seed, 150, groups);
    const { total } = new Grouping(parent, entity, groups).sum(self);
    const { callers, callees } = neighbours(parent, inclusive(parent, self), entity, 0, groups);
    assert.equal(
      callers.reduce((sum, [, weight]) => sum + weight, 0),
      total[0],
    );
    const wanted = new Float64Array(groups);
    for (let n = 0; n < parent.length; n++) {
      const path = pathOf(parent, entity, n).reverse();
      for (let e = 1; e < groups; e++) if (path.some((one, i) => one === e && path[i - 1] === 0)) wanted[e] += self[n];
    }
    for (const [e, weight] of callees) assert.equal(weight, wanted[e]);
    assert.equal(callees.length, wanted.filter(Boolean).length);
  }
});
