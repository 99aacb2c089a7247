// Where parts come from: elements of this page, or the server that served it.

import { bytesOfBase64, decodePart } from "./decode.js";

/** @typedef {import("./decode.js").Part} Part */

/** Gives parts by name, each fetched and decoded once. */
export class Parts {
  /** @param {string} [query] what the server is asked with each part */
  constructor(query = "") {
    this.query = query;
    /** @type {Map<string, Promise<Part | null>>} */
    this.known = new Map();
  }

  /**
   * A part, or null if there is none.
   * @param {string} name as in "code" or "code?function=3"
   * @returns {Promise<Part | null>}
   */
  get(name) {
    let part = this.known.get(name);
    if (!part) {
      part = this.load(name);
      this.known.set(name, part);
      part.catch(() => this.known.delete(name));
    }
    return part;
  }

  /**
   * @param {string} name
   * @returns {Promise<Part | null>}
   */
  async load(name) {
    const element = document.getElementById(`part-${name}`);
    if (element) {
      const bytes = bytesOfBase64(element.textContent ?? "");
      element.remove();
      return decodePart(bytes);
    }
    if (document.documentElement.dataset.served !== "true") return null;
    let answer;
    try {
      answer = await fetch(`part/${name}${this.query && (name.includes("?") ? "&" : "?")}${this.query}`, { cache: "no-store", credentials: "omit" });
    } catch {
      throw new Error("the server does not answer: was undwarf ended?");
    }
    if (answer.status === 404) return null;
    if (!answer.ok) throw new Error(`the server answered ${answer.status}: ${(await answer.text()).slice(0, 200)}`);
    return decodePart(new Uint8Array(await answer.arrayBuffer()));
  }
}
