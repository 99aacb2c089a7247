// Weights by function, image, line or any other entity of stack nodes: self, and total with each sample counted once.

import { NONE } from "./decode.js";

/** @typedef {import("./profile.js").Profile} Profile */
/** @typedef {{self: Float64Array, total: Float64Array}} Totals */

/**
 * Self weights of nodes with their callees' weights.
 * @param {Uint32Array} parent of nodes, callers before callees
 * @param {Float64Array} self
 * @returns {Float64Array}
 */
export function inclusive(parent, self) {
  const total = Float64Array.from(self);
  for (let n = total.length - 1; n >= 0; n--) if (parent[n] !== NONE) total[parent[n]] += total[n];
  return total;
}

/** Stack nodes in groups: of one function, image, line, or whatever else they are counted as. */
export class Grouping {
  /**
   * @param {Uint32Array} parent of nodes, depth first
   * @param {Uint32Array} entity of nodes, or none
   * @param {number} count of entities
   */
  constructor(parent, entity, count) {
    this.parent = parent;
    this.entity = entity;
    this.count = count;
    /** 1 for nodes without a caller of their own entity: there a sample counts, however often the entity is on its stack. */
    this.outer = new Uint8Array(parent.length);
    const onPath = new Uint32Array(count);
    /** @type {number[]} */
    const path = [];
    for (let n = 0; n < parent.length; n++) {
      while (path.length && path[path.length - 1] !== parent[n]) {
        const left = entity[/** @type {number} */ (path.pop())];
        if (left !== NONE) onPath[left]--;
      }
      path.push(n);
      if (entity[n] !== NONE && !onPath[entity[n]]++) this.outer[n] = 1;
    }
  }

  /**
   * Weights of entities.
   * @param {Float64Array} self of nodes
   * @returns {Totals}
   */
  sum(self) {
    const { parent, entity, outer } = this;
    const sums = inclusive(parent, self);
    const own = new Float64Array(this.count);
    const total = new Float64Array(this.count);
    for (let n = 0; n < sums.length; n++) {
      if (!sums[n] || entity[n] === NONE) continue;
      own[entity[n]] += self[n];
      if (outer[n]) total[entity[n]] += sums[n];
    }
    return { self: own, total };
  }
}

/**
 * The entity of each node; a hidden frame counts as its nearest caller that is not.
 * @param {Profile} profile
 * @param {Uint32Array} ofFrame
 * @param {Uint8Array | null | undefined} hidden by frame
 */
export function entitiesOfNodes(profile, ofFrame, hidden) {
  const { parent, frame } = profile.node;
  const entity = new Uint32Array(parent.length);
  for (let n = 0; n < entity.length; n++) {
    if (hidden && hidden[frame[n]]) entity[n] = parent[n] === NONE ? NONE : entity[parent[n]];
    else entity[n] = ofFrame[frame[n]];
  }
  return entity;
}

/**
 * Sums of chosen rows by stack node.
 * @param {Profile} profile
 * @param {Uint8Array} chosen of rows
 * @param {ArrayLike<number>} weight of rows
 */
export function byNode(profile, chosen, weight) {
  const { row } = profile;
  const self = new Float64Array(profile.node.parent.length);
  for (let i = 0; i < chosen.length; i++) if (chosen[i] && row.node[i] !== NONE) self[row.node[i]] += weight[i];
  return self;
}

/**
 * Callers and callees of an entity: its weight by caller, and the weight of what it calls.
 * @param {Uint32Array} parent of nodes
 * @param {Float64Array} sums inclusive weights of nodes
 * @param {Uint32Array} entity of nodes, or none
 * @param {number} wanted
 * @param {number} count of entities
 * @returns {{callers: [number, number][], callees: [number, number][]}} entity (none: no caller) and weight, the heaviest first
 */
export function neighbours(parent, sums, entity, wanted, count) {
  const callers = new Float64Array(count + 1);
  const callees = new Float64Array(count);
  const inside = new Uint8Array(parent.length);
  for (let n = 0; n < parent.length; n++) {
    const p = parent[n];
    const above = p !== NONE && inside[p];
    inside[n] = above || entity[n] === wanted ? 1 : 0;
    // Recursion counts once: the outermost of the path has the caller.
    if (entity[n] === wanted && !above) callers[p === NONE || entity[p] === NONE ? count : entity[p]] += sums[n];
    if (p !== NONE && entity[p] === wanted && entity[n] !== wanted && entity[n] !== NONE && !again(n)) callees[entity[n]] += sums[n];
  }
  /** Whether a caller of this node has been counted as the same callee. @param {number} n */
  function again(n) {
    for (let up = parent[n]; up !== NONE && inside[up]; up = parent[up])
      if (entity[up] === entity[n] && parent[up] !== NONE && entity[parent[up]] === wanted) return true;
    return false;
  }
  const sorted = (/** @type {Float64Array} */ values) =>
    /** @type {[number, number][]} */ (
      Array.from(values, (weight, e) => [e === count ? NONE : e, weight])
        .filter(([, weight]) => weight > 0)
        .sort((a, b) => b[1] - a[1])
    );
  return { callers: sorted(callers), callees: sorted(callees) };
}
