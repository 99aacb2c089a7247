// Profiles for tests, made of stacks of names.

import { NONE } from "../../src/undwarf/outputs/page/web/decode.js";
import { Profile } from "../../src/undwarf/outputs/page/web/profile.js";

/** A source of numbers that is the same in every run. */
export function random(seed) {
  let state = seed >>> 0 || 1;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 4294967296) * below);
  };
}

/**
 * A profile with one row for each sample. ``stack``: "name@image" or "image+start" without a name, root first; ``line``s are numbers
 * of frames with the same name.
 * @param {{stack: string[], weight?: number, count?: number, time?: number, thread?: number, cpu?: number, event?: number, gap?: number}[]} samples
 * @param {{threads?: any[], processes?: any[], gaps?: any[], events?: number, kinds?: Record<string, string>, inline?: string[]}} [options]
 */
export function profileOf(samples, options = {}) {
  const images = [];
  const functions = [];
  const imageOf = [];
  const address = [];
  const nodes = [];
  const children = new Map();
  const leaves = samples.map(({ stack }) => {
    let node = NONE;
    for (const key of stack) {
      const [name, image] = key.includes("@") ? key.split("@") : [null, key.split("+")[0]];
      if (!images.includes(image)) images.push(image);
      let number = functions.findIndex((one, i) => one.key === key);
      if (number < 0) {
        number = functions.length;
        functions.push({ key, name });
        imageOf.push(images.indexOf(image));
        address.push(key.includes("+") ? Number(key.split("+")[1]) : 0x1000 + number * 16);
      }
      const place = `${node} ${number}`;
      if (!children.has(place)) {
        children.set(place, nodes.length);
        nodes.push([node, number]);
      }
      node = children.get(place);
    }
    return node;
  });
  const column = (Type, name, standard = 0) => Type.from(samples, (sample) => sample[name] ?? standard);
  const threads = options.threads ?? [{ tid: 1, process: 0, name: "main", idle: false }];
  const times = Uint32Array.from(samples, (sample, i) => sample.time ?? i);
  return new Profile({
    json: {
      version: 1,
      title: "test",
      recording: {},
      served: false,
      time_unit_ns: 1000,
      time_start_ns: 0,
      time_end_ns: 1000 * (times.at(-1) ?? 0),
      merged_time_ns: 0,
      events: Array.from({ length: options.events ?? 1 }, (_, i) => ({ name: `event${i}`, unit: "ns" })),
      measures: Array.from({ length: options.events ?? 1 }, (_, i) => ({ name: `event${i}`, unit: "ns", events: [i] })),
      images: images.map((name) => ({ name, path: `/bin/${name}`, build_id: null, kind: options.kinds?.[name] ?? "program" })),
      functions: functions.map(({ name }) => name),
      files: [],
      processes: options.processes ?? [{ pid: 1, name: "main" }],
      threads,
      gaps: options.gaps ?? [{ reason: "root", description: "", image: null, advice: null }],
      quality: null,
      marks: [],
      switches: null,
      origin: null,
      notes: [],
    },
    columns: {
      node_parent: Uint32Array.from(nodes, ([parent]) => parent),
      node_frame: Uint32Array.from(nodes, ([, frame]) => frame),
      frame_function: Uint32Array.from(functions, (_, i) => i),
      frame_image: Uint32Array.from(imageOf),
      frame_file: new Uint32Array(functions.length).fill(NONE),
      frame_line: new Uint32Array(functions.length),
      frame_address: Float64Array.from(address),
      frame_inline: Uint8Array.from(functions, ({ key }) => (options.inline?.includes(key) ? 1 : 0)),
      frame_flags: new Uint8Array(functions.length),
      function_image: Uint32Array.from(imageOf),
      function_address: Float64Array.from(address),
      function_flags: Uint8Array.from(functions, ({ name }) => (name === null ? 1 : 0)),
      row_time: times,
      row_thread: column(Uint32Array, "thread"),
      row_cpu: column(Uint16Array, "cpu"),
      row_event: column(Uint8Array, "event"),
      row_node: Uint32Array.from(leaves),
      row_gap: column(Uint16Array, "gap"),
      row_count: column(Uint32Array, "count", 1),
      row_weight: column(Float64Array, "weight", 1),
    },
  });
}

/** Samples with random stacks over a few functions, so that they meet and recur. */
export function randomSamples(seed, count, { functions = 6, depth = 8, threads = 3, gaps = 1 } = {}) {
  const next = random(seed);
  return Array.from({ length: count }, (_, i) => ({
    stack: Array.from({ length: next(depth + 1) }, () => {
      const number = next(functions);
      return number === 0 ? `img0+${0x40 * (1 + next(2))}` : `f${number}@img${number % 3}`;
    }),
    weight: 1 + next(100),
    count: 1 + next(3),
    time: i * 2 + next(2),
    thread: next(threads),
    cpu: next(4),
    gap: next(gaps),
  }));
}
