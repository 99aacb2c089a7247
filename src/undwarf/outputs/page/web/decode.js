// Parts of a profile: compressed JSON and columns, as docs/reference/page-data.md describes them.

/** @typedef {Uint8Array | Uint16Array | Uint32Array | Float64Array} Column */
/** @typedef {{at: number, count: number, type: "u8" | "u16" | "u32" | "u64", delta: boolean}} ColumnPlace */
/** @typedef {{json: any, columns: Record<string, Column>}} Part */

export const NONE = 0xffffffff;
export const NONE16 = 0xffff;

const WIDTHS = { u8: 1, u16: 2, u32: 4, u64: 8 };

/**
 * The bytes of base64 text.
 * @param {string} text
 * @returns {Uint8Array}
 */
export function bytesOfBase64(text) {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/**
 * Undo zlib's compression.
 * @param {Uint8Array} bytes
 * @returns {Promise<Uint8Array>}
 */
export async function inflate(bytes) {
  const stream = new Blob([/** @type {BlobPart} */ (bytes)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * A part from its compressed bytes. Throws an Error for bytes that are none.
 * @param {Uint8Array} compressed
 * @returns {Promise<Part>}
 */
export async function decodePart(compressed) {
  const bytes = await inflate(compressed);
  if (bytes.length < 4) throw new Error("the part is too short");
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  if (length > bytes.length - 4) throw new Error("the part is cut short");
  const json = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  /** @type {Record<string, Column>} */
  const columns = {};
  for (const [name, place] of Object.entries(/** @type {Record<string, ColumnPlace>} */ (json.columns ?? {})))
    columns[name] = column(bytes, 4 + length, place);
  return { json, columns };
}

/**
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {ColumnPlace} place
 * @returns {Column}
 */
function column(bytes, start, place) {
  const { count, type, delta } = place;
  const at = start + place.at;
  if (at + count * WIDTHS[type] > bytes.length) throw new Error("a column is cut short");
  if (type === "u64") return wide(bytes, at, count, delta);
  const values = type === "u8" ? new Uint8Array(count) : type === "u16" ? new Uint16Array(count) : new Uint32Array(count);
  for (let plane = 0; plane < WIDTHS[type]; plane++) {
    const from = at + plane * count;
    const shift = 8 * plane;
    for (let i = 0; i < count; i++) values[i] |= bytes[from + i] << shift;
  }
  if (delta) {
    let value = 0;
    for (let i = 0; i < count; i++) {
      const coded = values[i];
      value = (value + ((coded >>> 1) ^ -(coded & 1))) | 0;
      values[i] = value;
    }
  }
  return values;
}

/**
 * A u64 column as doubles.
 * @param {Uint8Array} bytes
 * @param {number} at
 * @param {number} count
 * @param {boolean} delta
 * @returns {Float64Array}
 */
function wide(bytes, at, count, delta) {
  const values = new Float64Array(count);
  if (!delta) {
    let unit = 1;
    for (let plane = 0; plane < 8; plane++, unit *= 256) {
      const from = at + plane * count;
      for (let i = 0; i < count; i++) if (bytes[from + i]) values[i] += bytes[from + i] * unit;
    }
    return values;
  }
  let value = 0n;
  for (let i = 0; i < count; i++) {
    let coded = 0n;
    for (let plane = 7; plane >= 0; plane--) coded = (coded << 8n) | BigInt(bytes[at + plane * count + i]);
    value = BigInt.asUintN(64, value + ((coded >> 1n) ^ -(coded & 1n)));
    values[i] = Number(value);
  }
  return values;
}
