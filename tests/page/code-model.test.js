import assert from "node:assert/strict";
import { test } from "node:test";
import { NONE } from "../../src/undwarf/outputs/page/web/decode.js";
import { CodeModel, lineKey } from "../../src/undwarf/outputs/page/web/code-model.js";

/** An application with stacks of addresses: [[addresses, root first], weight]; inlined frames are negative. */
function applicationOf(stacks) {
  const addresses = [];
  const inline = [];
  const parent = [];
  const frame = [];
  const self = [];
  const children = new Map();
  for (const [stack, weight] of stacks) {
    let node = NONE;
    for (const one of stack) {
      const key = `${node}/${one}`;
      if (!children.has(key)) {
        children.set(key, parent.length);
        parent.push(node);
        frame.push(addresses.length);
        addresses.push(Math.abs(one));
        inline.push(one < 0 ? 1 : 0);
        self.push(0);
      }
      node = children.get(key);
    }
    self[node] += weight;
  }
  const count = addresses.length;
  return {
    profile: {
      files: ["a.c"],
      node: { parent: Uint32Array.from(parent), frame: Uint32Array.from(frame) },
      frame: { image: new Uint32Array(count), address: Float64Array.from(addresses), inline: Uint8Array.from(inline) },
    },
    selection: { self: Float64Array.from(self) },
    entities: { ofFrame: Uint32Array.from(addresses, (_, i) => i) },
  };
}

const JSON_OF_PART = { lines: [[0, 10, []], [0, 11, ["small", null]], [0, 12, []]], sources: { 0: { first: 8, text: ["8", "9", "10", "11", "12", "13"], problem: null } } };
const code = (instructions) => ({ start: "0x1000", end: "0x1020", image: 0, file: 0, first_line: 10, instructions, problem: null });
const INSTRUCTIONS = [
  [0, "mov", 0, null, null],
  [4, "add", 1, null, null],
  [8, "call", 2, null, null],
  [13, "jne", 2, 4, null],
];

test("weights are by instruction, and calls have their callees' weight once in recursion", () => {
  // 0x100c is inside of the call at 0x1008.
  const app = applicationOf([
    [[0x1000], 1],
    [[0x1004, -0x1004], 2],
    [[0x100c, 0x5000], 4],
    [[0x100c, 0x100c, 0x5000], 8],
    [[0x100d], 16],
  ]);
  const model = new CodeModel(app, JSON_OF_PART, code(INSTRUCTIONS));
  assert.deepEqual([...model.self], [1, 2, 0, 16]);
  assert.deepEqual([...model.total], [1, 2, 12, 16]);
  assert.equal(model.allSelf, 19);
  assert.equal(model.allTotal, 31);
  assert.deepEqual(model.ofLine.get(lineKey(0, 12)), { self: 16, total: 28 });
  assert.deepEqual(model.ofLine.get(lineKey(0, 11)), { self: 2, total: 2 });
});

test("addresses between pieces of code belong to none", () => {
  const far = [...INSTRUCTIONS, [0x4000, "ret", null, null, null], [-0x800, "nop", null, null, null]];
  const app = applicationOf([[[0x1018], 1], [[0x2000], 2], [[0x5000], 4], [[0x801], 8], [[0x7ff], 16]]);
  const model = new CodeModel(app, JSON_OF_PART, code(far));
  assert.deepEqual([...model.self], [0, 0, 0, 1, 4, 8]);
});

test("inlined code is announced with the chain of its names", () => {
  const model = new CodeModel(applicationOf([[[0x1000], 1]]), JSON_OF_PART, code(INSTRUCTIONS));
  assert.deepEqual(model.assembly.map((row) => row.kind), ["instruction", "inline", "instruction", "instruction", "instruction"]);
  assert.deepEqual(model.assembly[1].chain, ["small", "[unknown]"]);
});

test("source has the function's lines and some around them", () => {
  const model = new CodeModel(applicationOf([[[0x1000], 1]]), JSON_OF_PART, code(INSTRUCTIONS));
  assert.deepEqual(model.source.map((row) => row.line), [8, 9, 10, 11, 12, 13]);
});

test("loops get lanes of their own where they overlap", () => {
  const jumps = [[0, "a", null, null, null], [2, "b", null, null, null], [4, "jne", null, 2, null], [6, "jne", null, 0, null], [8, "jne", null, 6, null]];
  const model = new CodeModel(applicationOf([[[0x1000], 1]]), JSON_OF_PART, code(jumps));
  const lanes = Object.fromEntries(model.loops.map((loop) => [`${loop.from}-${loop.to}`, loop.lane]));
  assert.deepEqual(lanes, { "2-1": 0, "4-3": 0, "3-0": 1 });
  assert.deepEqual(model.jumpsOf(1), [{ from: 2, to: 1, lane: 6 }]);
});
