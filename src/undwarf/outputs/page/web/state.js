// What is shown: one plain object, kept in the page's address, so that a link shows what its sender saw.

/**
 * @typedef {object} View
 * @property {"flame" | "table" | "code" | "types" | "quality"} view the tab
 * @property {number} measure index in the profile's measures
 * @property {"period" | "samples"} weight what is added up
 * @property {[number, number] | null} range selected time, in the profile's unit
 * @property {number[]} processes indices; empty: all
 * @property {number[]} threads indices; empty: all
 * @property {number[]} cpus empty: all
 * @property {number[]} gaps indices: only stacks that end for one of these reasons; empty: all
 * @property {boolean} idle whether the kernel's idle tasks count
 * @property {string} search regular expression
 * @property {string} hide regular expression: frames with this name or image are left out, their weight goes to the caller
 * @property {string} focus regular expression: only stacks with such a frame
 * @property {"flame" | "icicle"} draw roots at the bottom, or at the top
 * @property {"callees" | "callers" | "sandwich"} tree from the root down, from the hot functions up, or both of one function
 * @property {"heavy" | "time"} order of siblings
 * @property {boolean} recursion whether direct and indirect recursion is merged
 * @property {boolean} byThread whether threads are rows of the flame graph
 * @property {"kind" | "module" | "self" | "change"} colour what colours of the flame graph mean
 * @property {"process" | "thread" | "cpu" | "none"} lanes of the time line; none: folded away
 * @property {[number, number] | null} span the part of time that the time line shows
 * @property {string[]} zoom the path of the frame that fills the width: keys of frames, root first
 * @property {string | null} chosen key of the chosen function: "name@image"; for the sandwich, code and the details
 * @property {"functions" | "images" | "threads" | "lines" | "types"} table
 * @property {string} sort column of the table, with "-" in front: falling
 * @property {string | null} type name of the chosen type
 * @property {"one" | "beside"} compare both sides of a comparison in one flame graph, or one graph for each
 * @property {"larger" | "after" | "before"} width what widths of the one flame graph mean
 * @property {"function" | "path" | "image" | "line" | "thread" | "type" | "field"} by rows of a comparison's table
 * @property {"after" | "before"} side the side that code, types and quality show
 */

/** Views that show one side of a comparison. @type {string[]} */
export const ONE_SIDED = ["code", "types", "quality"];

/** @type {View} */
export const DEFAULTS = {
  view: "flame",
  measure: 0,
  weight: "period",
  range: null,
  processes: [],
  threads: [],
  cpus: [],
  gaps: [],
  idle: false,
  search: "",
  hide: "",
  focus: "",
  draw: "icicle",
  tree: "callees",
  order: "heavy",
  recursion: false,
  byThread: false,
  colour: "kind",
  lanes: "process",
  span: null,
  zoom: [],
  chosen: null,
  table: "functions",
  sort: "-self",
  type: null,
  compare: "one",
  width: "larger",
  side: "after",
  by: "function",
};

/**
 * The part of an address behind "#": what differs from the defaults.
 * @param {View} view
 */
export function toAddress(view) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(view)) {
    const standard = /** @type {any} */ (DEFAULTS)[name];
    const text = JSON.stringify(value);
    if (text !== JSON.stringify(standard)) query.set(name, typeof value === "string" ? value : text);
  }
  return query.toString();
}

/**
 * The view of an address. What it does not have, or has in a wrong form, is as in the defaults: addresses come from anywhere.
 * @param {string} address
 * @returns {View}
 */
export function fromAddress(address) {
  const view = /** @type {any} */ (structuredClone(DEFAULTS));
  for (const [name, text] of new URLSearchParams(address.replace(/^#/, ""))) {
    if (!Object.hasOwn(DEFAULTS, name)) continue;
    const value = readValue(name, text);
    if (value !== undefined) view[name] = value;
  }
  return view;
}

/** @type {Record<string, string[]>} */
const CHOICES = {
  view: ["flame", "table", "code", "types", "quality"],
  weight: ["period", "samples"],
  draw: ["flame", "icicle"],
  tree: ["callees", "callers", "sandwich"],
  order: ["heavy", "time"],
  colour: ["kind", "module", "self", "change"],
  lanes: ["process", "thread", "cpu", "none"],
  table: ["functions", "images", "threads", "lines", "types"],
  by: ["function", "path", "image", "line", "thread", "type", "field"],
  compare: ["one", "beside"],
  width: ["larger", "after", "before"],
  side: ["after", "before"],
};

/**
 * @param {string} name
 * @param {string} text
 */
function readValue(name, text) {
  const standard = /** @type {any} */ (DEFAULTS)[name];
  if (CHOICES[name]) return CHOICES[name].includes(text) ? text : undefined;
  if (typeof standard === "string" || name === "chosen" || name === "type") return text;
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const isNumber = (/** @type {unknown} */ one) => Number.isSafeInteger(one) && /** @type {number} */ (one) >= 0;
  if (typeof standard === "boolean") return typeof value === "boolean" ? value : undefined;
  if (name === "measure") return isNumber(value) ? value : undefined;
  if (!Array.isArray(value)) return undefined;
  if (name === "zoom") return value.every((one) => typeof one === "string") ? value : undefined;
  if (!value.every(isNumber)) return undefined;
  return (name !== "range" && name !== "span") || (value.length === 2 && value[0] <= value[1]) ? value : undefined;
}

/** The view that is shown; it tells listeners what changed, and writes the address. */
export class State {
  constructor() {
    this.view = fromAddress(location.hash);
    /** @type {((changed: Set<string>) => void)[]} */
    this.listeners = [];
    /** Number of views in the browser's history before this one. @type {number} */
    this.steps = history.state?.steps ?? 0;
    window.addEventListener("popstate", () => (this.steps = history.state?.steps ?? 0));
    window.addEventListener("hashchange", () => {
      if (location.hash.slice(1) !== toAddress(this.view)) this.take(fromAddress(location.hash));
    });
  }

  /**
   * Change some properties. ``replace``: without a new entry in the browser's history, as while dragging.
   * @param {Partial<View>} patch
   * @param {boolean} [replace]
   */
  set(patch, replace = false) {
    const next = { ...this.view, ...patch };
    const address = toAddress(next);
    if (address === toAddress(this.view)) return;
    const url = address ? `#${address}` : location.pathname + location.search;
    if (!replace) this.steps++;
    history[replace ? "replaceState" : "pushState"]({ steps: this.steps }, "", url);
    this.take(next);
  }

  /** @param {View} next */
  take(next) {
    const before = /** @type {any} */ (this.view);
    const changed = new Set(
      Object.keys(DEFAULTS).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(/** @type {any} */ (next)[name])),
    );
    this.view = next;
    if (changed.size) for (const listener of this.listeners) listener(changed);
  }

  /** @param {(changed: Set<string>) => void} listener */
  onChange(listener) {
    this.listeners.push(listener);
  }
}
