// A profile's tables with names for their columns.

import { NONE } from "./decode.js";

/**
 * @typedef {{name: string, unit: string | null, events: number[]}} Measure
 * @typedef {{name: string, path: string, build_id: string | null, kind: string}} Image
 * @typedef {{pid: number, name: string | null}} Process
 * @typedef {{tid: number, process: number, name: string | null, idle: boolean}} Thread
 * @typedef {{reason: string, description: string, kind: string, image: number | null, advice: string | null}} Gap
 * @typedef {{time: number, kind: string, count: number, text: string}} Mark
 */

/** Everything of part "profile"; docs/reference/page-data.md says what the columns mean. */
export class Profile {
  /** @param {import("./decode.js").Part} part */
  constructor({ json, columns }) {
    if (json.version !== 1) throw new Error(`data of version ${json.version}, and this page reads version 1`);
    const c = /** @type {Record<string, any>} */ (columns);
    this.title = /** @type {string} */ (json.title);
    this.recording = /** @type {Record<string, string | null>} */ (json.recording);
    this.served = /** @type {boolean} */ (json.served);
    this.timeUnit = /** @type {number | null} */ (json.time_unit_ns);
    this.timeStart = /** @type {number | null} */ (json.time_start_ns);
    this.timeEnd = /** @type {number | null} */ (json.time_end_ns);
    this.mergedTime = /** @type {number} */ (json.merged_time_ns);
    this.events = /** @type {{name: string, unit: string | null}[]} */ (json.events);
    this.measures = /** @type {Measure[]} */ (json.measures);
    this.images = /** @type {Image[]} */ (json.images);
    this.functionNames = /** @type {(string | null)[]} */ (json.functions);
    this.files = /** @type {string[]} */ (json.files);
    this.processes = /** @type {Process[]} */ (json.processes);
    this.threads = /** @type {Thread[]} */ (json.threads);
    this.gaps = /** @type {Gap[]} */ (json.gaps);
    this.quality = /** @type {any} */ (json.quality);
    this.marks = /** @type {Mark[]} */ (json.marks);
    this.switches = /** @type {any} */ (json.switches);
    this.origin = /** @type {{format: string, sums: boolean} | null} */ (json.origin);
    this.notes = /** @type {string[]} */ (json.notes);
    this.node = { parent: /** @type {Uint32Array} */ (c.node_parent), frame: /** @type {Uint32Array} */ (c.node_frame) };
    this.frame = {
      function: /** @type {Uint32Array} */ (c.frame_function),
      image: /** @type {Uint32Array} */ (c.frame_image),
      file: /** @type {Uint32Array} */ (c.frame_file),
      line: /** @type {Uint32Array} */ (c.frame_line),
      address: /** @type {Float64Array} */ (c.frame_address),
      inline: /** @type {Uint8Array} */ (c.frame_inline),
      flags: /** @type {Uint8Array} */ (c.frame_flags),
    };
    this.function = {
      image: /** @type {Uint32Array} */ (c.function_image),
      address: /** @type {Float64Array} */ (c.function_address),
      flags: /** @type {Uint8Array} */ (c.function_flags),
    };
    this.row = {
      time: /** @type {Uint32Array} */ (c.row_time),
      thread: /** @type {Uint32Array} */ (c.row_thread),
      cpu: /** @type {Uint16Array} */ (c.row_cpu),
      event: /** @type {Uint8Array} */ (c.row_event),
      node: /** @type {Uint32Array} */ (c.row_node),
      gap: /** @type {Uint16Array} */ (c.row_gap),
      count: /** @type {Uint32Array} */ (c.row_count),
      weight: /** @type {Float64Array} */ (c.row_weight),
      /** Of a comparison: 0 before, 1 after. */
      side: /** @type {Uint8Array | null} */ (c.row_side ?? null),
      recording: /** @type {Uint16Array | null} */ (c.row_recording ?? null),
    };
    this.run = c.run_thread
      ? {
          thread: /** @type {Uint32Array} */ (c.run_thread),
          cpu: /** @type {Uint16Array} */ (c.run_cpu),
          start: /** @type {Uint32Array} */ (c.run_start),
          end: /** @type {Uint32Array} */ (c.run_end),
        }
      : null;
  }

  /** @param {number} number of a function */
  functionName(number) {
    return number === NONE ? "[unknown]" : (this.functionNames[number] ?? "[unknown]");
  }

  /** @param {number} number of an image */
  imageName(number) {
    return number === NONE ? "" : this.images[number].name;
  }
}
