// The trees of both sides of a comparison, and where a box of one is in the others.

import { NONE } from "./decode.js";
import { calleeBoxes, callerBoxes, innermostPaths, sandwich, weigh } from "./call-tree.js";
import { sameWeight } from "./comparison.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./call-tree.js").Boxes} Boxes */
/** @typedef {import("./call-tree.js").Shape} Shape */
/** @typedef {import("./call-tree.js").Weights} Weights */
/** @typedef {import("./comparison.js").ComparedRow} ComparedRow */
/** @typedef {import("./flame-trees.js").Pane} Pane */
/**
 * Weights of a box on both sides, without and with what it calls. ``row``: the row of the comparison that says whether chance explains
 * the difference; null if it was not tested. ``within``: that of what the box is a part of, if it was not tested itself.
 * @typedef {{before: number, after: number, selfBefore: number, selfAfter: number, row: ComparedRow | null, within: ComparedRow | null}} BoxChange
 */

/** A chain of single callees is followed so far for a path that was tested. */
const LONGEST_CHAIN = 200;

/**
 * For each node the larger of both weights of its own: with these widths, what is gone is seen as what is new is.
 * @param {Shape} shape
 * @param {Weights} before
 * @param {Weights} after
 * @returns {Weights}
 */
export function largerWeights({ parent }, before, after) {
  const self = new Float64Array(parent.length);
  const samples = new Float64Array(parent.length);
  for (let i = 0; i < self.length; i++) {
    self[i] = Math.max(before.self[i], after.self[i]);
    samples[i] = before.samples[i] + after.samples[i];
  }
  const total = self.slice();
  for (let i = self.length - 1; i > 0; i--) total[parent[i]] += total[i];
  return { self, total, samples };
}

/** The child of a box with an entity, quick where there are many. */
class Finder {
  constructor() {
    /** @type {WeakMap<Boxes, Map<number, Map<number, number>>>} */
    this.known = new WeakMap();
  }

  /** @param {Boxes} boxes @param {number} box @param {number} entity */
  child(boxes, box, entity) {
    let ofBoxes = this.known.get(boxes);
    if (!ofBoxes) this.known.set(boxes, (ofBoxes = new Map()));
    let children = ofBoxes.get(box);
    if (!children) {
      children = new Map();
      boxes.open(box);
      for (let i = boxes.first[box], end = i + boxes.count[box]; i < end; i++) children.set(boxes.entity[i], i);
      ofBoxes.set(box, children);
    }
    return children.get(entity) ?? -1;
  }
}

/** Trees of both sides, of what the state selects. */
export class ComparedTrees {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.finder = new Finder();
    /** What is drawn: one pane with both sides, or one for each; two each for a sandwich. @type {Pane[]} */
    this.panes = [];
    /** The panes of each side. @type {[Pane[], Pane[]]} */
    this.sides = [[], []];
    /** Widths of boxes. @type {Weights | null} */
    this.weights = null;
    /** @type {WeakMap<Boxes, Map<number, BoxChange>>} */
    this.changes = new WeakMap();
  }

  /** Whether there is a graph for each side. */
  get beside() {
    return this.app.state.view.compare === "beside";
  }

  /** @param {Shape} shape */
  update(shape) {
    const { app } = this;
    const { view } = app.state;
    const { profile, entities } = app;
    const of = [0, 1].map((side) => weigh(profile, shape, app.selectionOf(side)));
    this.totals = of.map((one) => one.total[0]);
    const larger = largerWeights(shape, of[0], of[1]);
    const chosen = entities.find(view.chosen);
    const panes = (/** @type {Weights} */ weights, /** @type {Weights} */ order) => {
      if (view.tree === "sandwich" && chosen >= 0) {
        const { callees, callers } = sandwich(shape, weights, chosen);
        return [
          { boxes: callers, up: true, skip: true },
          { boxes: callees, up: false, skip: false },
        ];
      }
      if (view.tree === "callers") return [{ boxes: callerBoxes(shape, innermostPaths(shape, weights)), up: false, skip: false }];
      return [{ boxes: calleeBoxes(shape, weights, [0], order), up: false, skip: false }];
    };
    this.sides = [panes(of[0], larger), panes(of[1], larger)];
    if (this.beside) {
      this.weights = larger;
      this.panes = [...this.sides[0], ...this.sides[1]];
    } else {
      this.weights = view.width === "after" ? of[1] : view.width === "before" ? of[0] : larger;
      this.panes = view.width === "after" ? this.sides[1] : view.width === "before" ? this.sides[0] : panes(larger, larger);
    }
    this.changes = new WeakMap();
  }

  /** Number of panes of a side. */
  get perSide() {
    return this.sides[0].length;
  }

  /** The column of a pane: 1 for those of the side after, beside those of before. @param {number} pane */
  column(pane) {
    return this.beside && pane >= this.perSide ? 1 : 0;
  }

  /**
   * Where a box is in another tree; -1 if it is not there.
   * @param {Boxes} from
   * @param {number} box
   * @param {Boxes} to
   */
  twin(from, box, to) {
    if (from === to) return box;
    let at = 0;
    for (const entity of from.path(box)) {
      at = this.finder.child(to, at, entity);
      if (at < 0) break;
    }
    return at;
  }

  /** The same box on the other side of two graphs; null without one. @param {{pane: number, box: number, count: number} | null} one */
  otherBox(one) {
    if (!one || one.count > 1 || !this.beside) return null;
    const pane = (one.pane + this.perSide) % this.panes.length;
    const from = this.panes[one.pane]?.boxes;
    if (!from || !this.panes[pane]) return null;
    const box = this.twin(from, one.box, this.panes[pane].boxes);
    return box < 0 ? null : { pane, box, count: 1 };
  }

  /** The weights of a box on both sides. @param {number} pane @param {number} box @returns {BoxChange} */
  change(pane, box) {
    const { boxes } = this.panes[pane];
    let known = this.changes.get(boxes);
    if (!known) this.changes.set(boxes, (known = new Map()));
    let change = known.get(box);
    if (!change) {
      const number = pane % this.perSide;
      const [was, is] = this.sides.map((side) => {
        const of = side[number].boxes;
        const at = this.twin(boxes, box, of);
        return at < 0 ? { total: 0, self: 0 } : { total: of.total[at], self: of.self[at] };
      });
      change = { before: was.total, after: is.total, selfBefore: was.self, selfAfter: is.self, row: null, within: null };
      known.set(box, change);
      const row = this.rowOf(pane, box, change);
      // A row is of this box if it counts the same.
      if (row && sameWeight(row.weight.before, change.before) && sameWeight(row.weight.after, change.after)) change.row = row;
      else change.within = row;
    }
    return change;
  }

  /** Whether nothing that is shown was tested: a part is selected, or sums of all stacks with a function are shown. */
  get untested() {
    const { view } = this.app.state;
    return view.tree === "sandwich" || Boolean(this.app.comparison?.isPart(view));
  }

  /**
   * The row of a box, or of what it is a part of.
   * @param {number} pane
   * @param {number} box
   * @param {BoxChange} change
   * @returns {ComparedRow | null}
   */
  rowOf(pane, box, change) {
    const { app } = this;
    const { view } = app.state;
    const { comparison, entities } = app;
    const { boxes } = this.panes[pane];
    if (!comparison || this.untested) return null;
    const { measure } = view;
    if (box === 0) return comparison.events[measure].total;
    if (view.tree === "callers") {
      let at = box;
      while (boxes.depth[at] > 1) at = boxes.parent[at];
      return comparison.functionRow(measure, boxes.entity[at]);
    }
    const entity = boxes.entity[box];
    if (!comparison.table(measure, "path")) {
      return entity !== NONE && entity < entities.functions ? comparison.functionRow(measure, entity) : null;
    }
    // Of paths that are the same samples, the last one was tested.
    let at = box;
    for (let step = 0; step < LONGEST_CHAIN; step++) {
      const row = comparison.pathRow(measure, boxes.path(at));
      if (row) return row;
      boxes.open(at);
      const next = boxes.count[at] ? boxes.first[at] : -1;
      if (next < 0) return null;
      const below = this.weightsOf(pane, next);
      if (!sameWeight(below[0], change.before) || !sameWeight(below[1], change.after)) return null;
      at = next;
    }
    return null;
  }

  /** @param {number} pane @param {number} box @returns {number[]} */
  weightsOf(pane, box) {
    const { boxes } = this.panes[pane];
    return this.sides.map((side) => {
      const of = side[pane % this.perSide].boxes;
      const at = this.twin(boxes, box, of);
      return at < 0 ? 0 : of.total[at];
    });
  }

  /**
   * The box of each pane at a path, or the last one of the path that there is.
   * @param {{pane: number, box: number}} zoomed
   */
  zoomBoxes(zoomed) {
    const from = this.panes[zoomed.pane]?.boxes;
    if (!from) return [];
    const path = from.path(zoomed.box);
    return this.panes.map(({ boxes }, pane) => {
      if (pane % this.perSide !== zoomed.pane % this.perSide) return 0;
      let at = 0;
      for (const entity of path) {
        const next = this.finder.child(boxes, at, entity);
        if (next < 0) break;
        at = next;
      }
      return at;
    });
  }
}
