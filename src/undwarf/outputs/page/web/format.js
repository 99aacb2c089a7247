// Numbers and names as text.

/** @type {Record<string, [number, string][]>} factors of units, the largest first */
const SCALES = {
  ns: [
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "µs"],
    [1, "ns"],
  ],
  bytes: [
    [2 ** 40, "TiB"],
    [2 ** 30, "GiB"],
    [2 ** 20, "MiB"],
    [2 ** 10, "KiB"],
    [1, "bytes"],
  ],
};

/** @type {[number, string][]} */
const COUNTS = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
];

/**
 * Three digits of a number: "1.23", "12.3", "123".
 * @param {number} value
 */
function threeDigits(value) {
  if (value >= 999.5) return formatCount(value);
  return value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}

/** A number below 1,000: quotients have digits behind the point. @param {number} value */
function oneOf(value) {
  return Number.isInteger(value) || value >= 99.95 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}

/**
 * A weight with its unit, short: "1.13 s", "12.3 M".
 * @param {number} value
 * @param {string | null | undefined} unit
 */
export function formatWeight(value, unit) {
  if (unit === "share") return formatShare(value);
  if (!value) return "0";
  if (unit === "samples" || unit === "count") return formatCount(value);
  const scale = SCALES[unit ?? ""] ?? COUNTS;
  const [factor, name] = scale.find(([one]) => value >= one * 0.9995) ?? scale[scale.length - 1];
  const text = factor === 1 ? oneOf(value) : threeDigits(value / factor);
  const suffix = SCALES[unit ?? ""] ? name : [name, unit].filter(Boolean).join(" ");
  return suffix ? `${text}\u00a0${suffix}` : text;
}

/**
 * A whole number with separators: "1,234,567".
 * @param {number} value
 */
export function formatCount(value) {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/**
 * A share: "12.3 %". Never 100 % or 0 % unless it is exactly that.
 * @param {number} share 0 to 1
 */
export function formatShare(share) {
  if (!Number.isFinite(share)) return "";
  if (share > 0 && share < 0.0005) return "<0.1\u00a0%";
  // A sum of quotients may be 1 but for its last digits.
  if (share < 1 - 1e-9 && share >= 0.9995) return ">99.9\u00a0%";
  return `${(share * 100).toFixed(1)}\u00a0%`;
}

/**
 * A length of time: "1.23 s".
 * @param {number} ns
 */
export function formatTime(ns) {
  return formatWeight(ns, "ns");
}

/**
 * A time from the start of a recording, in seconds: "1.234 s".
 * @param {number} ns
 */
export function formatMoment(ns) {
  return `${(ns / 1e9).toFixed(3)}\u00a0s`;
}

// Columns have the lower 52 bits of addresses, which doubles hold exactly; those of the kernel are in the upper half.
const KERNEL_FROM = 2 ** 51;
const KERNEL_BITS = 0xfff0000000000000n;

/**
 * An address in hexadecimal, from its lower 52 bits.
 * @param {number} address
 */
export function formatAddress(address) {
  if (!Number.isInteger(address) || address < 0) return "";
  return `0x${(address >= KERNEL_FROM ? BigInt(address) + KERNEL_BITS : BigInt(address)).toString(16)}`;
}

/**
 * The lower 52 bits of a hexadecimal address, as columns have them; NaN of other text.
 * @param {string | null} text
 */
export function parseAddress(text) {
  const digits = (text ?? "").replace(/^0x/, "");
  return /^[0-9a-f]{1,16}$/i.test(digits) ? Number(BigInt.asUintN(52, BigInt(`0x${digits}`))) : NaN;
}

// Control characters, marks of direction, and what else is invisible or moves other text.
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\ud800-\udfff]/gu;

/**
 * Text of a name from a recording, with characters made visible that would hide or move other text.
 * @param {string | null | undefined} name
 */
export function safeText(name) {
  return (name ?? "").replace(UNSAFE, (one) => {
    const code = one.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    return `\\u{${code.toString(16)}}`;
  });
}

/**
 * A line of source text: tabs become spaces, the rest is as in names.
 * @param {string} text
 * @param {number} [width] of a tab
 */
export function sourceText(text, width = 8) {
  let out = "";
  for (const piece of text.split(/(\t)/)) out += piece === "\t" ? " ".repeat(width - (out.length % width)) : piece;
  return safeText(out);
}

/**
 * A name that is cut in the middle of long texts, so that both ends are seen.
 * @param {string} text
 * @param {number} length
 */
export function shorten(text, length) {
  if (text.length <= length) return text;
  const tail = Math.floor((length - 1) / 3);
  return `${text.slice(0, length - 1 - tail)}…${text.slice(text.length - tail)}`;
}

/**
 * The last component of a path.
 * @param {string} path
 */
export function baseName(path) {
  return path.slice(path.lastIndexOf("/") + 1) || path;
}
