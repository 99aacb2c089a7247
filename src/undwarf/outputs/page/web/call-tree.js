// Call trees and totals of a selection. Stacks are merged once for each way of merging (a shape); a selection only adds up
// weights by the shape's nodes. Trees are unfolded box by box, as they are looked at.

import { NONE } from "./decode.js";
import { KIND } from "./entities.js";

/** @typedef {import("./profile.js").Profile} Profile */
/** @typedef {import("./entities.js").Entities} Entities */
/** @typedef {import("./selection.js").Selection} Selection */

/** Flags of nodes and boxes: it stands for an inlined function, for one that is not, for several lines, for a guessed frame. */
export const INLINED = 1;
export const CALLED = 2;
export const OTHER_LINES = 4;
export const GUESSED = 8;

/** Numbers by pairs of numbers: a hash table without deletion. */
class PairTable {
  /** @param {number} expected */
  constructor(expected) {
    let size = 1024;
    while (size < expected * 2) size *= 2;
    this.mask = size - 1;
    this.a = new Uint32Array(size);
    this.b = new Uint32Array(size);
    this.value = new Uint32Array(size).fill(NONE);
    this.count = 0;
  }

  /**
   * Where the pair is, or would be.
   * @param {number} a
   * @param {number} b
   */
  slot(a, b) {
    let hash = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    let at = (hash ^ (hash >>> 13)) & this.mask;
    while (this.value[at] !== NONE && (this.a[at] !== a || this.b[at] !== b)) at = (at + 1) & this.mask;
    return at;
  }

  /**
   * @param {number} a
   * @param {number} b
   */
  get(a, b) {
    return this.value[this.slot(a, b)];
  }

  /**
   * @param {number} a
   * @param {number} b
   * @param {number} value
   */
  set(a, b, value) {
    const at = this.slot(a, b);
    if (this.value[at] === NONE) this.count++;
    this.a[at] = a;
    this.b[at] = b;
    this.value[at] = value;
    if (this.count * 3 > this.mask * 2) this.grow();
  }

  grow() {
    const { a, b, value } = this;
    const size = value.length * 2;
    this.mask = size - 1;
    this.a = new Uint32Array(size);
    this.b = new Uint32Array(size);
    this.value = new Uint32Array(size).fill(NONE);
    for (let i = 0; i < value.length; i++) {
      if (value[i] === NONE) continue;
      const at = this.slot(a[i], b[i]);
      this.a[at] = a[i];
      this.b[at] = b[i];
      this.value[at] = value[i];
    }
  }
}

/** A column that grows. @template {Uint32Array | Uint8Array | Float64Array} T */
class Growing {
  /** @param {T} values empty, of the type of the column */
  constructor(values) {
    this.values = values;
    this.length = 0;
  }

  /** @param {number} value */
  push(value) {
    if (this.length === this.values.length) {
      const more = /** @type {T} */ (new /** @type {any} */ (this.values.constructor)(Math.max(1024, this.length * 2)));
      more.set(/** @type {any} */ (this.values));
      this.values = more;
    }
    this.values[this.length++] = value;
  }

  /** @returns {T} */
  done() {
    return /** @type {T} */ (this.values.slice(0, this.length));
  }
}

/**
 * How stacks are merged. ``hidden``: 1 for each entity that is left out; ``recursion``: a function below itself is merged with the
 * first one; ``processes``, ``threads``: these are rows below the stacks.
 * @typedef {{hidden: Uint8Array | null, recursion: boolean, processes: boolean, threads: boolean}} Merging
 */

/**
 * Stacks merged by entity: a tree whose node 0 is the root of all, callers before callees. ``entity``, ``flags`` and ``frame`` (one
 * of the frames) of each node; ``ofRow``: the innermost node of each of the profile's rows.
 * @typedef {{parent: Uint32Array, entity: Uint32Array, flags: Uint8Array, frame: Uint32Array, ofRow: Uint32Array,
 *   firstChild: Uint32Array, children: Uint32Array}} Shape
 */

/** Columns of nodes that are being made. */
class Nodes {
  /** @param {number} expected */
  constructor(expected) {
    /** @type {Growing<Uint32Array>} */
    this.parent = new Growing(new Uint32Array(expected));
    this.entity = new Growing(new Uint32Array(expected));
    this.flags = new Growing(new Uint8Array(expected));
    this.frame = new Growing(new Uint32Array(expected));
    this.add(NONE, NONE, 0, NONE);
  }

  /**
   * @param {number} parent
   * @param {number} entity
   * @param {number} flags
   * @param {number} frame
   */
  add(parent, entity, flags, frame) {
    this.entity.push(entity);
    this.flags.push(flags);
    this.frame.push(frame);
    this.parent.push(parent);
    return this.parent.length - 1;
  }
}

/**
 * The profile's stack nodes merged by entity, and the merged node of each.
 * @param {Profile} profile
 * @param {Entities} entities
 * @param {Merging} merging
 */
function mergeNodes({ node, frame }, { ofFrame }, { hidden, recursion }) {
  const count = node.parent.length;
  const nodes = new Nodes(count + 1);
  const { parent, entity, flags, frame: frames } = nodes;
  const known = new PairTable(count);
  const ofNode = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    // Callers come before callees: anything else is no tree.
    const under = node.parent[i] < i ? ofNode[node.parent[i]] : 0;
    const number = node.frame[i];
    const what = ofFrame[number];
    if (hidden && hidden[what]) {
      ofNode[i] = under;
      continue;
    }
    let at = NONE;
    if (recursion) for (let up = under; up !== 0; up = parent.values[up]) if (entity.values[up] === what) at = up;
    let flag = (frame.inline[number] ? INLINED : CALLED) | (frame.flags[number] & 1 ? GUESSED : 0);
    if (at === NONE) {
      const slot = known.slot(under, what);
      at = known.value[slot];
      if (at === NONE) {
        ofNode[i] = nodes.add(under, what, flag, number);
        known.set(under, what, ofNode[i]);
        continue;
      }
    }
    const one = frames.values[at];
    if (frame.line[one] !== frame.line[number] || frame.file[one] !== frame.file[number]) flag |= OTHER_LINES;
    flags.values[at] |= flag;
    ofNode[i] = at;
  }
  return { nodes, ofNode };
}

/**
 * Indices by group: those of group g are ``order[starts[g]]`` to ``order[starts[g + 1] - 1]``, rising.
 * @param {Uint32Array} group of each index
 * @param {number} groups
 */
function grouped(group, groups) {
  const starts = new Uint32Array(groups + 1);
  for (let i = 0; i < group.length; i++) starts[group[i] + 1]++;
  for (let i = 0; i < groups; i++) starts[i + 1] += starts[i];
  const at = starts.slice();
  const order = new Uint32Array(group.length);
  for (let i = 0; i < group.length; i++) order[at[group[i]]++] = i;
  return { order, starts };
}

/**
 * @param {Profile} profile
 * @param {Entities} entities
 * @param {Merging} merging
 * @returns {Shape}
 */
export function mergeStacks(profile, entities, merging) {
  const { row } = profile;
  const rows = row.time.length;
  const count = profile.node.parent.length;
  const { nodes: plain, ofNode } = mergeNodes(profile, entities, merging);

  // What stands below the stacks, a base for each thread and reason why the stack ends early.
  const gaps = Math.max(1, profile.gaps.length);
  const based = new Nodes(merging.processes || merging.threads ? plain.parent.length : 1024);
  const basePairs = new PairTable(64);
  const addBase = (/** @type {number} */ under, /** @type {number} */ what) => {
    let known = basePairs.get(under, what);
    if (known === NONE) basePairs.set(under, what, (known = based.add(under, what, 0, NONE)));
    return known;
  };
  const baseOf = (/** @type {number} */ thread, /** @type {number} */ gap) => {
    let base = 0;
    const process = profile.threads[thread]?.process;
    if (merging.processes && process !== undefined && process < profile.processes.length) base = addBase(base, entities.ofProcess[process]);
    if (merging.threads && thread < profile.threads.length) base = addBase(base, entities.firstThread + thread);
    if (gap && profile.gaps[gap].kind === "early") base = addBase(base, entities.firstGap + gap);
    return base;
  };
  /** Number of the base of each row, and the node of each base. */
  const ofRow = new Uint32Array(rows);
  /** @type {number[]} */
  const bases = [];
  /** @type {Map<number, number>} */
  const numberOf = new Map();
  const numbers = new Uint32Array(Math.min(1 << 20, profile.threads.length * gaps)).fill(NONE);
  for (let i = 0; i < rows; i++) {
    const thread = row.thread[i];
    const gap = row.gap[i] < gaps ? row.gap[i] : 0;
    const key = thread * gaps + gap;
    let number = key < numbers.length ? numbers[key] : numberOf.get(key);
    if (number === undefined || number === NONE) {
      const base = baseOf(thread, gap);
      number = bases.indexOf(base);
      if (number < 0) number = bases.push(base) - 1;
      if (key < numbers.length) numbers[key] = number;
      else numberOf.set(key, number);
    }
    ofRow[i] = number;
  }

  /** @type {Nodes} */
  let nodes;
  if (bases.length <= 1 && !(bases[0] > 0)) {
    nodes = plain;
    const empty = () => nodes.add(0, entities.noFrame, 0, NONE);
    let noFrame = NONE;
    for (let i = 0; i < rows; i++) ofRow[i] = row.node[i] < count ? ofNode[row.node[i]] : noFrame === NONE ? (noFrame = empty()) : noFrame;
  } else {
    nodes = based;
    const merged = plain.parent.length;
    const parents = plain.parent.values;
    // One base after the other: the new node of each merged node, the base itself for the root.
    const column = new Uint32Array(merged).fill(NONE);
    /** @type {number[]} */
    const path = [];
    const { order, starts } = grouped(ofRow, bases.length);
    const made = new Growing(new Uint32Array(merged));
    for (let number = 0; number < bases.length; number++) {
      column[0] = bases[number];
      made.length = 0;
      let empty = NONE;
      for (let place = starts[number]; place < starts[number + 1]; place++) {
        const i = order[place];
        if (row.node[i] >= count) {
          if (empty === NONE) empty = nodes.add(bases[number], entities.noFrame, 0, NONE);
          ofRow[i] = empty;
          continue;
        }
        let at = ofNode[row.node[i]];
        let known;
        while ((known = column[at]) === NONE) {
          path.push(at);
          at = parents[at];
        }
        while (path.length) {
          at = /** @type {number} */ (path.pop());
          column[at] = known = nodes.add(known, plain.entity.values[at], plain.flags.values[at], plain.frame.values[at]);
          made.push(at);
        }
        ofRow[i] = known;
      }
      for (let i = 0; i < made.length; i++) column[made.values[i]] = NONE;
    }
  }
  const parent = nodes.parent.done();
  return { parent, entity: nodes.entity.done(), flags: nodes.flags.done(), frame: nodes.frame.done(), ofRow, ...childrenOf(parent) };
}

/**
 * The children of each node, one node's after the other's.
 * @param {Uint32Array} parent
 */
function childrenOf(parent) {
  const count = parent.length;
  const firstChild = new Uint32Array(count + 1);
  for (let i = 1; i < count; i++) firstChild[parent[i] + 1]++;
  for (let i = 0; i < count; i++) firstChild[i + 1] += firstChild[i];
  const at = firstChild.slice();
  const children = new Uint32Array(Math.max(0, count - 1));
  for (let i = 1; i < count; i++) children[at[parent[i]]++] = i;
  return { firstChild, children };
}

/**
 * Weights of a shape's nodes: of their own rows and of all below, and how many samples these are.
 * @typedef {{self: Float64Array, total: Float64Array, samples: Float64Array}} Weights
 */

/**
 * @param {Profile} profile
 * @param {Shape} shape
 * @param {Selection} selection
 * @returns {Weights}
 */
export function weigh(profile, shape, selection) {
  const { parent, ofRow } = shape;
  const { chosen, weight } = selection;
  const { count } = profile.row;
  const self = new Float64Array(parent.length);
  const samples = new Float64Array(parent.length);
  for (let i = selection.first; i < selection.last; i++) {
    if (!chosen[i]) continue;
    const node = ofRow[i];
    self[node] += weight[i];
    samples[node] += count[i];
  }
  const total = self.slice();
  for (let i = parent.length - 1; i > 0; i--) {
    if (!total[i] && !samples[i]) continue;
    const caller = parent[i];
    total[caller] += total[i];
    samples[caller] += samples[i];
  }
  return { self, total, samples };
}

/**
 * Sums by group of frames: ``self`` of innermost frames, ``total`` of all stacks with such a frame, each counted once, and the number
 * of ``samples`` whose innermost frame it is.
 * @typedef {{self: Float64Array, total: Float64Array, samples: Float64Array}} Totals
 */

/** @type {WeakMap<Uint32Array, Uint8Array>} */
const OUTERMOST = new WeakMap();

/**
 * Which nodes have no caller of their own group: 1 for each of them.
 * @param {Uint32Array} parent of each node, callers before callees
 * @param {Uint32Array} group of each node
 * @param {number} groups
 */
export function outermost(parent, group, groups) {
  const count = parent.length;
  const flags = new Uint8Array(count);
  const { firstChild, children } = forest(parent);
  const open = new Uint32Array(groups);
  const stack = [];
  for (let i = count; i-- > 0; ) if (parent[i] >= i) stack.push(i);
  while (stack.length) {
    const node = /** @type {number} */ (stack.pop());
    if (node < 0) {
      open[group[~node]]--;
      continue;
    }
    if (!open[group[node]]++) flags[node] = 1;
    stack.push(~node);
    for (let i = firstChild[node]; i < firstChild[node + 1]; i++) stack.push(children[i]);
  }
  return flags;
}

/** The children of each node of trees with any number of roots. @param {Uint32Array} parent */
function forest(parent) {
  const count = parent.length;
  const firstChild = new Uint32Array(count + 1);
  for (let i = 0; i < count; i++) if (parent[i] < i) firstChild[parent[i] + 1]++;
  for (let i = 0; i < count; i++) firstChild[i + 1] += firstChild[i];
  const at = firstChild.slice();
  const children = new Uint32Array(firstChild[count]);
  for (let i = 0; i < count; i++) if (parent[i] < i) children[at[parent[i]]++] = i;
  return { firstChild, children };
}

/**
 * @param {Profile} profile
 * @param {Selection} selection
 * @param {Uint32Array} ofFrame the group of each frame; the same array gives the same grouping
 * @param {number} groups
 * @returns {Totals}
 */
export function totalsBy(profile, selection, ofFrame, groups) {
  const { parent, frame } = profile.node;
  const { chosen } = selection;
  const { node, count } = profile.row;
  const nodes = parent.length;
  let first = OUTERMOST.get(ofFrame);
  if (!first) {
    first = outermost(parent, Uint32Array.from(frame, (one) => ofFrame[one]), groups);
    OUTERMOST.set(ofFrame, first);
  }
  const own = selection.self;
  const all = own.slice();
  const totals = { self: new Float64Array(groups), total: new Float64Array(groups), samples: new Float64Array(groups) };
  for (let i = nodes - 1; i >= 0; i--) {
    if (!all[i]) continue;
    const group = ofFrame[frame[i]];
    if (own[i]) totals.self[group] += own[i];
    if (first[i]) totals.total[group] += all[i];
    if (parent[i] < i) all[parent[i]] += all[i];
  }
  for (let i = selection.first; i < selection.last; i++)
    if (chosen[i] && node[i] < nodes) totals.samples[ofFrame[frame[node[i]]]] += count[i];
  return totals;
}

/**
 * Weight and samples of each thread.
 * @param {Profile} profile
 * @param {Selection} selection
 */
export function threadTotals(profile, selection) {
  const { thread, count } = profile.row;
  const total = new Float64Array(profile.threads.length);
  const samples = new Float64Array(profile.threads.length);
  for (let i = selection.first; i < selection.last; i++) {
    if (!selection.chosen[i]) continue;
    total[thread[i]] += selection.weight[i];
    samples[thread[i]] += count[i];
  }
  return { total, samples };
}

/**
 * Boxes of a tree in one pane. Box 0 is the root. ``x0`` and ``x1`` are in the pane's unit: weight, or time. The boxes above a box
 * (its callees, or its callers in an inverted tree) are made when they are first asked for, and follow each other.
 */
export class Boxes {
  /** @param {(boxes: Boxes, box: number) => void} unfold adds the children of a box, in the order in which they are drawn */
  constructor(unfold) {
    this.unfold = unfold;
    /** @type {number[]} */
    this.parent = [];
    /** @type {number[]} */
    this.entity = [];
    /** @type {number[]} */
    this.depth = [];
    /** @type {number[]} */
    this.x0 = [];
    /** @type {number[]} */
    this.x1 = [];
    /** @type {number[]} */
    this.total = [];
    /** @type {number[]} */
    this.self = [];
    /** @type {number[]} */
    this.samples = [];
    /** @type {number[]} */
    this.flags = [];
    /** One of the frames of each box, or none. @type {number[]} */
    this.frame = [];
    /** What unfolding a box needs. @type {any[]} */
    this.source = [];
    /** First child of each box; -1: not unfolded yet. @type {number[]} */
    this.first = [];
    /** @type {number[]} */
    this.count = [];
    /** Whether the boxes of a level fill their parent from the left, heaviest first. */
    this.falling = true;
  }

  /**
   * @param {number} parent
   * @param {number} entity
   * @param {number} x0
   * @param {number} x1
   * @param {{total: number, self: number, samples: number, flags: number, frame: number}} sums
   * @param {any} source
   */
  add(parent, entity, x0, x1, sums, source) {
    const box = this.parent.length;
    this.parent.push(parent);
    this.entity.push(entity);
    this.depth.push(parent < 0 ? 0 : this.depth[parent] + 1);
    this.x0.push(x0);
    this.x1.push(x1);
    this.total.push(sums.total);
    this.self.push(sums.self);
    this.samples.push(sums.samples);
    this.flags.push(sums.flags);
    this.frame.push(sums.frame);
    this.source.push(source);
    this.first.push(-1);
    this.count.push(0);
    return box;
  }

  /** Make the children of a box; they are ``first[box]`` to ``first[box] + count[box]``. @param {number} box */
  open(box) {
    if (this.first[box] >= 0) return;
    this.first[box] = this.parent.length;
    this.unfold(this, box);
    this.count[box] = this.parent.length - this.first[box];
  }

  /**
   * The child with this entity, or -1.
   * @param {number} box
   * @param {number} entity
   */
  child(box, entity) {
    this.open(box);
    for (let i = this.first[box], end = i + this.count[box]; i < end; i++) if (this.entity[i] === entity) return i;
    return -1;
  }

  /** Entities from the root's child to a box. @param {number} box */
  path(box) {
    const path = [];
    for (let at = box; at > 0; at = this.parent[at]) path.push(this.entity[at]);
    return path.reverse();
  }
}

/**
 * The callees of the root, of these nodes of a shape: a tree from the roots down.
 * @param {Shape} shape
 * @param {Weights} weights
 * @param {Uint32Array | number[]} [tops] nodes none of which is above another; the root if left out
 * @param {Weights} [order] weights by which siblings are put in order
 */
export function calleeBoxes(shape, weights, tops = [0], order = weights) {
  const sums = (/** @type {number[]} */ nodes) => {
    const sum = { total: 0, self: 0, samples: 0, flags: 0, frame: NONE };
    for (const node of nodes) addNode(sum, shape, weights, node);
    return sum;
  };
  const boxes = new Boxes((made, box) => {
    const source = /** @type {number[]} */ (made.source[box]);
    /** @type {{entity: number, nodes: number[], total: number}[]} */
    const found = [];
    if (source.length === 1) {
      const node = source[0];
      for (let i = shape.firstChild[node]; i < shape.firstChild[node + 1]; i++) {
        const child = shape.children[i];
        if (weights.total[child] > 0) found.push({ entity: shape.entity[child], nodes: [child], total: weights.total[child] });
      }
    } else {
      /** @type {Map<number, {entity: number, nodes: number[], total: number}>} */
      const groups = new Map();
      for (const node of source)
        for (let i = shape.firstChild[node]; i < shape.firstChild[node + 1]; i++) {
          const child = shape.children[i];
          if (!(weights.total[child] > 0)) continue;
          const entity = shape.entity[child];
          const group = groups.get(entity);
          if (group) {
            group.nodes.push(child);
            group.total += weights.total[child];
          } else groups.set(entity, { entity, nodes: [child], total: weights.total[child] });
        }
      found.push(...groups.values());
    }
    if (order === weights) found.sort((a, b) => b.total - a.total || a.entity - b.entity);
    else {
      const rank = new Map(found.map(({ entity, nodes }) => [entity, nodes.reduce((sum, node) => sum + order.total[node], 0)]));
      found.sort((a, b) => /** @type {number} */ (rank.get(b.entity)) - /** @type {number} */ (rank.get(a.entity)) || a.entity - b.entity);
    }
    let x = made.x0[box];
    for (const { entity, nodes, total } of found) made.add(box, entity, x, (x += total), sums(nodes), nodes);
  });
  boxes.falling = order === weights;
  const nodes = [...tops];
  const top = sums(nodes);
  boxes.add(-1, nodes.length ? shape.entity[nodes[0]] : NONE, 0, top.total, top, nodes);
  return boxes;
}

/**
 * @param {{total: number, self: number, samples: number, flags: number, frame: number}} sum
 * @param {Shape} shape
 * @param {Weights} weights
 * @param {number} node
 */
function addNode(sum, shape, weights, node) {
  sum.total += weights.total[node];
  sum.self += weights.self[node];
  sum.samples += weights.samples[node];
  addFrame(sum, shape, node);
}

/**
 * @param {{flags: number, frame: number}} sum
 * @param {Shape} shape
 * @param {number} node
 */
function addFrame(sum, shape, node) {
  sum.flags |= shape.flags[node];
  if (sum.frame === NONE) sum.frame = shape.frame[node];
  else if (shape.frame[node] !== NONE && shape.frame[node] !== sum.frame) sum.flags |= OTHER_LINES;
}

/** Stacks on their way to their roots: the node at which each is, its weight and samples. @typedef {{node: Uint32Array, weight: Float64Array, samples: Float64Array}} Paths */

/**
 * The callers of these stacks: an inverted tree, without them for one whose first boxes are the innermost functions. With ``root``
 * the root is that function, and its boxes are its callers.
 * @param {Shape} shape
 * @param {Paths} paths
 * @param {number} [root] entity
 */
export function callerBoxes(shape, paths, root = NONE) {
  const slot = new Uint32Array(shape.parent.length);
  const boxes = new Boxes((made, box) => {
    const from = /** @type {Paths} */ (made.source[box]);
    const innermost = made.depth[box] === 0 && root === NONE;
    /** @type {Map<number, number>} */
    const groupOf = new Map();
    /** @type {{entity: number, nodes: number[], weight: number[], samples: number[], total: number, count: number, flags: number, frame: number}[]} */
    const groups = [];
    for (let i = 0; i < from.node.length; i++) {
      const up = innermost ? from.node[i] : shape.parent[from.node[i]];
      if (up === 0 || up === NONE) continue;
      const entity = shape.entity[up];
      let number = groupOf.get(entity);
      if (number === undefined) {
        number = groups.length;
        groupOf.set(entity, number);
        groups.push({ entity, nodes: [], weight: [], samples: [], total: 0, count: 0, flags: 0, frame: NONE });
      }
      const group = groups[number];
      // Stacks that meet are one from here on.
      const at = slot[up];
      if (at < group.nodes.length && group.nodes[at] === up) {
        group.weight[at] += from.weight[i];
        group.samples[at] += from.samples[i];
      } else {
        slot[up] = group.nodes.length;
        group.nodes.push(up);
        group.weight.push(from.weight[i]);
        group.samples.push(from.samples[i]);
        addFrame(group, shape, up);
      }
      group.total += from.weight[i];
      group.count += from.samples[i];
    }
    groups.sort((a, b) => b.total - a.total || a.entity - b.entity);
    let x = made.x0[box];
    for (const { entity, nodes, weight, samples, total, count, flags, frame } of groups) {
      const sums = { total, self: innermost ? total : 0, samples: count, flags, frame };
      const source = { node: Uint32Array.from(nodes), weight: Float64Array.from(weight), samples: Float64Array.from(samples) };
      made.add(box, entity, x, (x += total), sums, source);
    }
  });
  let total = 0;
  let samples = 0;
  for (let i = 0; i < paths.node.length; i++) {
    total += paths.weight[i];
    samples += paths.samples[i];
  }
  boxes.add(-1, root, 0, total, { total, self: 0, samples, flags: 0, frame: NONE }, paths);
  return boxes;
}

/**
 * All stacks of a selection, each at its innermost node.
 * @param {Shape} shape
 * @param {Weights} weights
 * @returns {Paths}
 */
export function innermostPaths(shape, weights) {
  const node = new Growing(new Uint32Array(1024));
  const weight = new Growing(new Float64Array(1024));
  const samples = new Growing(new Float64Array(1024));
  const own = weights.samples.slice();
  for (let i = shape.parent.length - 1; i > 0; i--) own[shape.parent[i]] -= weights.samples[i];
  for (let i = 1; i < shape.parent.length; i++)
    if (weights.self[i] > 0) {
      node.push(i);
      weight.push(weights.self[i]);
      samples.push(own[i]);
    }
  return { node: node.done(), weight: weight.done(), samples: samples.done() };
}

/**
 * Every outermost occurrence of a function: each stack with the function is below exactly one of them.
 * @param {Shape} shape
 * @param {Weights} weights
 * @param {number} entity
 */
export function occurrences(shape, weights, entity) {
  const under = new Uint8Array(shape.parent.length);
  const nodes = [];
  for (let i = 1; i < shape.parent.length; i++) {
    if (under[shape.parent[i]]) under[i] = 1;
    else if (shape.entity[i] === entity) {
      under[i] = 1;
      if (weights.total[i] > 0) nodes.push(i);
    }
  }
  return nodes;
}

/**
 * A function with all that calls it and all that it calls, as two trees with this function as their root.
 * @param {Shape} shape
 * @param {Weights} weights
 * @param {number} entity
 */
export function sandwich(shape, weights, entity) {
  const nodes = occurrences(shape, weights, entity);
  const paths = {
    node: Uint32Array.from(nodes),
    weight: Float64Array.from(nodes, (node) => weights.total[node]),
    samples: Float64Array.from(nodes, (node) => weights.samples[node]),
  };
  const callees = calleeBoxes(shape, weights, nodes);
  callees.entity[0] = entity;
  return { callees, callers: callerBoxes(shape, paths, entity) };
}

/**
 * The path, root first, to the heaviest occurrence of an entity; null if it has none.
 * @param {Shape} shape
 * @param {Weights} weights
 * @param {number} entity
 */
export function heaviestPath(shape, weights, entity) {
  let best = 0;
  for (const node of occurrences(shape, weights, entity))
    if (best === 0 || weights.total[node] > weights.total[best]) best = node;
  return best === 0 ? null : pathTo(shape, best);
}

/**
 * @param {Shape} shape
 * @param {number} node
 */
export function pathTo(shape, node) {
  const path = [];
  for (let at = node; at !== 0; at = shape.parent[at]) path.push(shape.entity[at]);
  return path.reverse();
}

/**
 * The node at the end of a path of entities, or 0.
 * @param {Shape} shape
 * @param {number[]} path
 */
export function nodeAt(shape, path) {
  let node = 0;
  for (const entity of path) {
    let next = 0;
    for (let i = shape.firstChild[node]; i < shape.firstChild[node + 1]; i++)
      if (shape.entity[shape.children[i]] === entity) next = shape.children[i];
    if (!next) return 0;
    node = next;
  }
  return node;
}

/**
 * The way from where the heaviest stack through a node ends up to this node: where it is in an inverted tree.
 * @param {Shape} shape
 * @param {Weights} weights
 * @param {number} node
 */
export function invertedPath(shape, weights, node) {
  const path = [];
  let at = node;
  while (at !== 0) {
    path.push(shape.entity[at]);
    let heaviest = 0;
    for (let i = shape.firstChild[at]; i < shape.firstChild[at + 1]; i++) {
      const child = shape.children[i];
      if (!heaviest || weights.total[child] > weights.total[heaviest]) heaviest = child;
    }
    if (!heaviest || weights.self[at] >= weights.total[heaviest]) break;
    at = heaviest;
  }
  return path.reverse();
}

/**
 * What a search finds: matching nodes by falling weight, the number of different functions, and the weight of all stacks
 * with such a frame, each counted once.
 * @param {Shape} shape
 * @param {Weights} weights
 * @param {Uint8Array} matching 1 for each entity that is searched for
 */
export function found(shape, weights, matching) {
  const under = new Uint8Array(shape.parent.length);
  const functions = new Set();
  const nodes = [];
  let weight = 0;
  for (let i = 1; i < shape.parent.length; i++) {
    const above = under[shape.parent[i]];
    const matches = matching[shape.entity[i]];
    under[i] = above | matches;
    if (!matches || !(weights.total[i] > 0)) continue;
    nodes.push(i);
    functions.add(shape.entity[i]);
    if (!above) weight += weights.total[i];
  }
  nodes.sort((a, b) => weights.total[b] - weights.total[a] || a - b);
  return { nodes, functions: functions.size, weight };
}

/**
 * Rows of one thread in order of time: their number in the profile, when what they show began and ended (in the profile's unit),
 * how many of the outermost boxes they have in common with the row before, and the sums of weights and samples before each.
 * @typedef {{thread: number, rows: Uint32Array, start: Float64Array, end: Float64Array, common: Uint32Array, weight: Float64Array, samples: Float64Array,
 *   depth: number}} Lane
 */

/**
 * The selected rows of each thread that has any, heaviest thread first.
 *
 * A sample stands for the time since the one before it in its thread, but for no more than four times the usual distance, or
 * than its weight if that is time: before, the thread did not run or was not measured. Rows that were merged into one span
 * share it by weight.
 * @param {Profile} profile
 * @param {Shape} shape
 * @param {Selection} selection
 * @param {number} most number of lanes
 * @returns {{lanes: Lane[], left: number}} ``left``: how many threads have no lane
 */
export function threadLanes(profile, shape, selection, most) {
  const { row } = profile;
  const { total, samples } = threadTotals(profile, selection);
  const threads = [...total.keys()].filter((thread) => samples[thread] > 0 || total[thread] > 0);
  threads.sort((a, b) => total[b] - total[a] || a - b);
  const shown = threads.slice(0, most);
  const counts = new Uint32Array(total.length);
  for (let i = selection.first; i < selection.last; i++) if (selection.chosen[i]) counts[row.thread[i]]++;
  /** @type {(Uint32Array | null)[]} */
  const rowsOf = new Array(total.length).fill(null);
  for (const thread of shown) rowsOf[thread] = new Uint32Array(counts[thread]);
  const at = new Uint32Array(total.length);
  for (let i = selection.first; i < selection.last; i++) {
    if (!selection.chosen[i]) continue;
    const list = rowsOf[row.thread[i]];
    if (list) list[at[row.thread[i]]++] = i;
  }
  const depths = new Uint32Array(shape.parent.length);
  for (let i = 1; i < depths.length; i++) depths[i] = depths[shape.parent[i]] + 1;
  return {
    lanes: shown.map((thread) => laneOf(profile, shape, selection, depths, thread, /** @type {Uint32Array} */ (rowsOf[thread]))),
    left: threads.length - shown.length,
  };
}

/**
 * @param {Profile} profile
 * @param {Shape} shape
 * @param {Selection} selection
 * @param {Uint32Array} depths
 * @param {number} thread
 * @param {Uint32Array} rows
 * @returns {Lane}
 */
function laneOf(profile, shape, selection, depths, thread, rows) {
  const count = rows.length;
  const { time } = profile.row;
  const distances = [];
  const step = Math.max(1, Math.floor(count / 10000));
  for (let i = step; i < count; i += step) {
    const distance = time[rows[i]] - time[rows[i - 1]];
    if (distance > 0) distances.push(distance);
  }
  distances.sort((a, b) => a - b);
  const usual = Math.max(1, profile.mergedTime && profile.timeUnit ? profile.mergedTime / profile.timeUnit : 1, distances[distances.length >> 1] ?? 1);
  const start = new Float64Array(count);
  const end = new Float64Array(count);
  const weight = new Float64Array(count + 1);
  const samples = new Float64Array(count + 1);
  for (let i = 0; i < count; i++) {
    weight[i + 1] = weight[i] + selection.weight[rows[i]];
    samples[i + 1] = samples[i] + profile.row.count[rows[i]];
  }
  let before = -Infinity;
  for (let i = 0; i < count; ) {
    const now = time[rows[i]];
    let last = i + 1;
    while (last < count && time[rows[last]] === now) last++;
    const all = weight[last] - weight[i];
    let longest = before === -Infinity ? usual : usual * 4;
    for (let k = i; k < last; k++)
      if (profile.events[profile.row.event[rows[k]]]?.unit === "ns")
        longest = Math.max(longest, profile.row.weight[rows[k]] / profile.row.count[rows[k]] / (profile.timeUnit ?? 1));
    const from = Math.max(before, now - longest);
    for (let k = i; k < last; k++) {
      start[k] = from + (now - from) * (all > 0 ? (weight[k] - weight[i]) / all : (k - i) / (last - i));
      end[k] = from + (now - from) * (all > 0 ? (weight[k + 1] - weight[i]) / all : (k + 1 - i) / (last - i));
    }
    before = now;
    i = last;
  }
  const common = new Uint32Array(count);
  let deepest = 0;
  for (let i = 0; i < count; i++) {
    let a = shape.ofRow[rows[i]];
    if (depths[a] > deepest) deepest = depths[a];
    if (i === 0 || start[i] > end[i - 1]) continue;
    let b = shape.ofRow[rows[i - 1]];
    while (a !== b) {
      if (depths[a] >= depths[b]) a = shape.parent[a];
      else b = shape.parent[b];
    }
    common[i] = depths[a];
  }
  return { thread, rows, start, end, common, weight, samples, depth: deepest };
}

/**
 * The boxes of one thread in order of time. Rows that follow each other and have the same frames are one box.
 * @param {Profile} profile
 * @param {Shape} shape
 * @param {Entities} entities
 * @param {Lane} lane
 * @param {[number, number]} span what the root's box spans
 */
export function laneBoxes(profile, shape, entities, lane, span) {
  const { rows, common, start, end, weight, samples } = lane;
  const depthOf = (/** @type {number} */ node) => {
    let depth = 0;
    for (; node !== 0; node = shape.parent[node]) depth++;
    return depth;
  };
  const boxes = new Boxes((made, box) => {
    const [from, to] = /** @type {[number, number]} */ (made.source[box]);
    const depth = made.depth[box] + 1;
    for (let i = from; i < to; ) {
      let next = i + 1;
      while (next < to && common[next] >= depth) next++;
      const leaf = shape.ofRow[rows[i]];
      const deep = depthOf(leaf);
      if (deep >= depth) {
        let node = leaf;
        for (let up = deep; up > depth; up--) node = shape.parent[node];
        let self = 0;
        for (let k = i; k < next; k++) if (shape.ofRow[rows[k]] === node) self += weight[k + 1] - weight[k];
        const sums = {
          total: weight[next] - weight[i],
          self,
          samples: samples[next] - samples[i],
          flags: shape.flags[node],
          frame: shape.frame[node],
        };
        made.add(box, shape.entity[node], Math.max(span[0], start[i]), Math.max(span[0], end[next - 1]), sums, [i, next]);
      }
      i = next;
    }
  });
  boxes.falling = false;
  const all = { total: weight[rows.length], self: 0, samples: samples[rows.length], flags: 0, frame: NONE };
  boxes.add(-1, entities.firstThread + lane.thread, span[0], span[1], all, [0, rows.length]);
  return boxes;
}

/** Whether an entity is a function. @param {Entities} entities @param {number} entity */
export function isFunction(entities, entity) {
  return entity !== NONE && entities.kind[entity] < KIND.broken;
}
