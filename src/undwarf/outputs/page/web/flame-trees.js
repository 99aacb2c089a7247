// The trees that the flame graph shows, made anew only when what they depend on changes.

import { ComparedTrees } from "./compare-trees.js";
import {
  calleeBoxes,
  callerBoxes,
  found,
  heaviestPath,
  innermostPaths,
  invertedPath,
  laneBoxes,
  mergeStacks,
  nodeAt,
  pathTo,
  sandwich,
  threadLanes,
  totalsBy,
  weigh,
} from "./call-tree.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./call-tree.js").Boxes} Boxes */
/** @typedef {import("./call-tree.js").Shape} Shape */
/** @typedef {import("./call-tree.js").Weights} Weights */
/** @typedef {import("./call-tree.js").Totals} Totals */
/** @typedef {import("./selection.js").Selection} Selection */

/**
 * Boxes that are drawn together. ``up``: the root is below them (callers of a sandwich). ``skip``: the root's row is not drawn.
 * @typedef {{boxes: Boxes, up: boolean, skip: boolean}} Pane
 */

/** Threads that are drawn in order of time; more would not be looked at. */
export const MOST_LANES = 40;

/** What trees depend on, besides the selection. */
export const TREE_PROPERTIES = ["tree", "order", "recursion", "byThread", "chosen", "compare", "width"];

/** Trees of what the state selects. */
export class FlameTrees {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {Map<string, Shape>} */
    this.shapes = new Map();
    /** @type {Selection | null} */
    this.selection = null;
    /** @type {Totals | null} */
    this.sums = null;
    /** @type {Shape | null} */
    this.weighed = null;
    /** @type {Pane[]} */
    this.panes = [];
    /** How many threads have no lane. */
    this.left = 0;
    /** Trees of both sides; null for the page of one recording. */
    this.compared = app.comparison && new ComparedTrees(app);
  }

  /** Whether processes are a row: there are several. */
  get severalProcesses() {
    const { profile, entities, state, comparison } = this.app;
    // Processes of both sides of a comparison are never the same.
    if (comparison) return false;
    const busy = profile.threads.filter((thread) => !thread.idle || state.view.idle);
    return new Set(busy.map((thread) => entities.ofProcess[thread.process])).size > 1;
  }

  /** @returns {Shape} */
  get shape() {
    const { profile, entities, state } = this.app;
    const { hide, recursion } = state.view;
    const lanes = this.inTime;
    const byThread = state.view.byThread && !this.compared;
    const processes = this.severalProcesses && !lanes;
    const key = JSON.stringify([hide, recursion, byThread && !lanes, processes]);
    let shape = this.shapes.get(key);
    if (!shape) {
      // Two are kept: one looks at things with and without something.
      if (this.shapes.size > 1) this.shapes.delete(/** @type {string} */ (this.shapes.keys().next().value));
      shape = mergeStacks(profile, entities, {
        hidden: entities.matching(hide),
        recursion,
        processes,
        threads: byThread && !lanes,
      });
      this.shapes.set(key, shape);
    }
    return shape;
  }

  /** Bring all up to date. */
  update() {
    const { profile, entities, state, selection } = this.app;
    const { view } = state;
    const { shape } = this;
    if (this.selection !== selection || this.weighed !== shape) {
      this.selection = selection;
      this.weighed = shape;
      /** @type {Weights} */
      this.weights = weigh(profile, shape, selection);
      this.sums = null;
    }
    this.left = 0;
    if (this.compared) {
      this.compared.update(shape);
      this.panes = this.compared.panes;
      this.weights = /** @type {Weights} */ (this.compared.weights);
      return;
    }
    const weights = /** @type {Weights} */ (this.weights);
    const chosen = entities.find(view.chosen);
    if (view.tree === "sandwich" && chosen >= 0) {
      const { callees, callers } = sandwich(shape, weights, chosen);
      this.panes = [
        { boxes: callers, up: true, skip: true },
        { boxes: callees, up: false, skip: false },
      ];
    } else if (view.tree === "callers") this.panes = [{ boxes: callerBoxes(shape, innermostPaths(shape, weights)), up: false, skip: false }];
    else if (this.inTime) {
      const { lanes, left } = threadLanes(profile, shape, selection, MOST_LANES);
      const span = view.range ?? [0, this.lastTime];
      this.panes = lanes.map((lane) => ({
        boxes: laneBoxes(profile, shape, entities, lane, [span[0], span[1] + 1]),
        up: false,
        skip: false,
      }));
      this.left = left;
    } else this.panes = [{ boxes: calleeBoxes(shape, weights), up: false, skip: false }];
  }

  /** Whether boxes are in order of time, their width time. */
  get inTime() {
    const { view } = this.app.state;
    return !this.compared && view.order === "time" && view.tree === "callees" && this.app.profile.timeUnit !== null;
  }

  /** The weight of all that is selected, as widths show it. */
  get whole() {
    return this.compared ? (this.weights?.total[0] ?? 0) : this.app.selection.total;
  }

  get lastTime() {
    const { time } = this.app.profile.row;
    return time.length ? time[time.length - 1] : 0;
  }

  /** Weight of each function in the selection. @returns {Totals} */
  get totals() {
    const { profile, entities, selection } = this.app;
    this.sums ??= totalsBy(profile, selection, entities.ofFrame, entities.functions);
    return this.sums;
  }

  /**
   * The box at a path of keys, or the last one of the path that there is. In a sandwich, paths to callers start with "<"; with
   * lanes, each starts with the thread.
   * @param {string[]} zoom
   * @returns {{pane: number, box: number}}
   */
  resolve(zoom) {
    const { entities } = this.app;
    let pane = 0;
    let keys = zoom;
    if (this.panes.length > 1 && this.panes[0].up) {
      pane = zoom[0] === "<" ? 0 : 1;
      keys = zoom[0] === "<" ? zoom.slice(1) : zoom;
    }
    if (this.compared?.beside) return this.deeper(pane, keys);
    if (this.inTime && zoom.length) {
      const lane = entities.find(zoom[0]);
      pane = this.panes.findIndex(({ boxes }) => boxes.entity[0] === lane);
      if (pane < 0) return { pane: 0, box: 0 };
      keys = zoom.slice(1);
    }
    const boxes = this.panes[pane]?.boxes;
    let box = 0;
    for (const key of keys) {
      const next = boxes ? boxes.child(box, entities.find(key)) : -1;
      if (next < 0) break;
      box = next;
    }
    return { pane, box };
  }

  /**
   * The box at a path in the pane of the side after, or in that of before if the path is longer there.
   * @param {number} pane
   * @param {string[]} keys
   */
  deeper(pane, keys) {
    const { entities } = this.app;
    const compared = /** @type {ComparedTrees} */ (this.compared);
    const found = [pane + compared.perSide, pane].map((one) => {
      const boxes = this.panes[one].boxes;
      let box = 0;
      for (const key of keys) {
        const next = boxes.child(box, entities.find(key));
        if (next < 0) break;
        box = next;
      }
      return { pane: one, box, depth: boxes.depth[box] };
    });
    const best = found[1].depth > found[0].depth ? found[1] : found[0];
    return { pane: best.pane, box: best.box };
  }

  /**
   * How the state names a box.
   * @param {number} pane
   * @param {number} box
   * @returns {string[]}
   */
  pathOf(pane, box) {
    const { boxes, up } = this.panes[pane];
    const keys = boxes.path(box).map((entity) => this.app.entities.keys[entity]);
    if (up && box > 0) return ["<", ...keys];
    return this.inTime ? [this.app.entities.keys[boxes.entity[0]], ...keys] : keys;
  }

  /**
   * Where the function in view is when the tree is turned over.
   * @param {"callees" | "callers"} to
   * @param {number} entity the function in view
   * @param {number[]} path to it, if from is a tree of callees
   * @returns {string[]}
   */
  turned(to, entity, path) {
    const { shape, app } = this;
    const weights = weigh(app.profile, shape, app.selection);
    if (to === "callees") return this.keysOf(heaviestPath(shape, weights, entity) ?? []);
    const node = nodeAt(shape, path) || nodeAt(shape, heaviestPath(shape, weights, entity) ?? []);
    return this.keysOf(node ? invertedPath(shape, weights, node) : []);
  }

  /** @param {number[]} path */
  keysOf(path) {
    return path.map((entity) => this.app.entities.keys[entity]);
  }

  /** @param {Uint8Array} matching */
  search(matching) {
    return found(this.shape, /** @type {Weights} */ (this.weights), matching);
  }

  /**
   * Where a node is in the tree that is shown; null if it is not there.
   * @param {number} node
   * @returns {string[] | null}
   */
  locate(node) {
    const { view } = this.app.state;
    const shape = this.shape;
    const weights = /** @type {Weights} */ (this.weights);
    if (view.tree === "callers") return this.keysOf(invertedPath(shape, weights, node));
    const path = pathTo(shape, node);
    if (view.tree === "sandwich" && this.panes.length > 1) {
      const at = path.indexOf(this.panes[1].boxes.entity[0]);
      return at < 0 ? null : this.keysOf(path.slice(at + 1));
    }
    if (!this.inTime) return this.keysOf(path);
    for (const { boxes } of this.panes) {
      let box = 0;
      for (const entity of path) if (box >= 0) box = boxes.child(box, entity);
      if (box > 0) return [this.app.entities.keys[boxes.entity[0]], ...this.keysOf(path)];
    }
    return null;
  }

  /**
   * The stacks of what is shown below a path, in the order of the tree that is shown.
   * @returns {Generator<[string[], number]>}
   */
  *stacks() {
    const { entities, state } = this.app;
    const { view } = state;
    const shape = this.shape;
    const weights = /** @type {Weights} */ (this.weights);
    const { pane, box } = this.resolve(view.zoom);
    const wanted = this.panes[pane]?.boxes.path(box) ?? [];
    const { tree } = view;
    const function_ = tree === "sandwich" ? entities.find(view.chosen) : -1;
    for (let node = 1; node < shape.parent.length; node++) {
      if (!(weights.self[node] > 0)) continue;
      const path = pathTo(shape, node);
      let shown = path;
      if (tree === "callers") shown = path.slice().reverse();
      const at = function_ >= 0 ? path.indexOf(function_) : -1;
      if (function_ >= 0 && at < 0) continue;
      let compared = shown;
      if (function_ >= 0) compared = this.panes[pane].up ? path.slice(0, at).reverse() : path.slice(at + 1);
      if (wanted.some((entity, i) => compared[i] !== entity)) continue;
      yield [shown.map((entity) => entities.names[entity]), weights.self[node]];
    }
  }
}
