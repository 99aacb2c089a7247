// Weights of data types and their members in a selection.

import { NONE } from "./decode.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {{weight: number, loads: number, stores: number, samples: number, latency: number}} AccessWeight */
/** @typedef {{type: number | null, offset: number | null, member: string | null, kind: "load" | "store" | "both" | null, reason: string | null}} AccessPlace */
/**
 * @typedef {{name: string | null, path: string | null, type: string | null, offset: number, size: number, bits: number | null,
 *   depth: number, repeat: number, elements: number[], within_array: boolean}} Member
 * @typedef {{name: string, size: number | null, kind: string, members: Member[], holes: [number, number][], drawn: boolean, one_object: boolean}} DataType
 */

/** @returns {AccessWeight} */
export function noWeight() {
  return { weight: 0, loads: 0, stores: 0, samples: 0, latency: 0 };
}

/** @param {AccessWeight} to @param {AccessWeight} from */
function addWeight(to, from) {
  to.weight += from.weight;
  to.loads += from.loads;
  to.stores += from.stores;
  to.samples += from.samples;
  to.latency += from.latency;
}

/** Weights by access, type and member. */
export class TypeWeights {
  /** @param {App} app @param {import("./decode.js").Part} part "types" */
  constructor(app, part) {
    const { profile, selection } = app;
    this.app = app;
    this.types = /** @type {DataType[]} */ (part.json.types);
    this.accesses = /** @type {AccessPlace[]} */ (part.json.accesses);
    this.rowAccess = /** @type {Uint32Array} */ (part.columns.row_access ?? new Uint32Array(0));
    const latency = /** @type {Uint32Array | undefined} */ (part.columns.row_latency);
    this.hasLatency = Boolean(latency);
    this.byAccess = this.accesses.map(noWeight);
    this.ofType = this.types.map(noWeight);
    /** Of samples that are at no access of the program's data. */
    this.none = noWeight();
    /** Of accesses whose type is not known, by reason. @type {Map<string, AccessWeight>} */
    this.unknown = new Map();
    for (let i = 0; i < this.rowAccess.length; i++) {
      if (!selection.chosen[i]) continue;
      const a = this.rowAccess[i];
      const to = a === NONE ? this.none : this.byAccess[a];
      if (!to) continue;
      to.weight += selection.weight[i];
      to.samples += profile.row.count[i];
      if (latency) to.latency += latency[i];
    }
    /** The weight of each member of each type, by path; "" for the whole type. @type {Map<string, AccessWeight>[]} */
    this.members = this.types.map(() => new Map());
    this.typed = 0;
    this.untyped = 0;
    this.accesses.forEach((access, a) => {
      const weight = this.byAccess[a];
      if (access.kind === "load" || access.kind === "both") weight.loads = weight.weight;
      if (access.kind === "store" || access.kind === "both") weight.stores = weight.weight;
      if (access.type === null) {
        this.untyped += weight.weight;
        const reason = access.reason ?? "no type";
        let sum = this.unknown.get(reason);
        if (!sum) this.unknown.set(reason, (sum = noWeight()));
        addWeight(sum, weight);
        return;
      }
      this.typed += weight.weight;
      addWeight(this.ofType[access.type], weight);
      const key = access.member ?? "";
      let sum = this.members[access.type].get(key);
      if (!sum) this.members[access.type].set(key, (sum = noWeight()));
      addWeight(sum, weight);
    });
  }

  /**
   * The weight of a member with all that is in it.
   * @param {number} type
   * @param {Member} member
   */
  ofMember(type, member) {
    const sum = noWeight();
    const path = member.path ?? member.name ?? "";
    for (const [key, weight] of this.members[type])
      if (path && (key === path || key.startsWith(`${path}.`) || key.startsWith(`${path}[`))) addWeight(sum, weight);
    return sum;
  }

  /**
   * Functions that access a type, or a member of it: by weight.
   * @param {number} type
   * @param {string | null} path of the member; null: any
   * @returns {[number, AccessWeight][]} entity and weight
   */
  functionsOf(type, path) {
    const { profile, selection, entities } = this.app;
    const wanted = this.accesses.map(
      (one) => one.type === type && (path === null || one.member === path || Boolean(one.member?.startsWith(`${path}.`) || one.member?.startsWith(`${path}[`))),
    );
    /** @type {Map<number, AccessWeight>} */
    const found = new Map();
    for (let i = 0; i < this.rowAccess.length; i++) {
      const a = this.rowAccess[i];
      if (!selection.chosen[i] || a === NONE || !wanted[a] || profile.row.node[i] === NONE) continue;
      const e = entities.ofFrame[profile.node.frame[profile.row.node[i]]];
      let sum = found.get(e);
      if (!sum) found.set(e, (sum = noWeight()));
      const weight = selection.weight[i];
      sum.weight += weight;
      sum.samples += profile.row.count[i];
      const { kind } = this.accesses[a];
      if (kind === "load" || kind === "both") sum.loads += weight;
      if (kind === "store" || kind === "both") sum.stores += weight;
    }
    return [...found].sort((a, b) => b[1].weight - a[1].weight);
  }
}
