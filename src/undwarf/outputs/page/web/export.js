// What is shown, as files.

import { KIND_LABELS, PATTERNS, PATTERN_DOTS, PATTERN_LINES, PATTERN_SIZE } from "./flame-colors.js";

/** @typedef {{x: number, y: number, width: number, height: number, fill: string, kind: string, label: string, title: string}} Drawn */

/**
 * Let the browser save a file.
 * @param {string} name
 * @param {Blob} blob
 */
export function saveBlob(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/**
 * Text of XML: escaped, without characters that XML does not have.
 * @param {string} text
 */
export function escapeXml(text) {
  return text
    .replace(/[^\t\n\u0020-\ud7ff\ue000-\ufffd]/gu, "\ufffd")
    .replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
}

/**
 * Boxes as an SVG picture that needs nothing else.
 * @param {Drawn[]} drawn
 * @param {{width: number, height: number, title: string, text: string, back: string, edge: string, ink: number}} look
 */
export function svgOf(drawn, { width, height, title, text, back, edge, ink }) {
  const size = (/** @type {number} */ value) => String(Math.round(value * 100) / 100);
  const used = [...new Set(drawn.map(({ kind }) => kind))].filter((kind) => PATTERNS[kind]).sort();
  const patterns = used.map((kind) => {
    const name = PATTERNS[kind];
    const lines = (PATTERN_LINES[name] ?? []).map(([x0, y0, x1, y1]) => `<path d="M${x0} ${y0}L${x1} ${y1}"/>`).join("");
    const dots = name === "dots" ? PATTERN_DOTS.map(([x, y]) => `<circle cx="${x}" cy="${y}" r=".9" fill="${text}" stroke="none"/>`).join("") : "";
    return (
      `<pattern id="p-${kind}" width="${PATTERN_SIZE}" height="${PATTERN_SIZE}" patternUnits="userSpaceOnUse">` +
      `<g stroke="${text}" opacity="${ink}">${lines}${dots}</g><title>${escapeXml(KIND_LABELS[kind] ?? kind)}</title></pattern>`
    );
  });
  const boxes = drawn.map((one) => {
    const place = `x="${size(one.x)}" y="${size(one.y)}" width="${size(one.width)}" height="${size(one.height)}"`;
    const over = PATTERNS[one.kind] ? `<rect ${place} fill="url(#p-${one.kind})"/>` : "";
    const label = one.label ? `<text x="${size(Math.max(0, one.x) + 4)}" y="${size(one.y + one.height - 5.5)}">${escapeXml(one.label)}</text>` : "";
    return `<g><title>${escapeXml(one.title)}</title><rect ${place} fill="${one.fill}" stroke="${edge}" stroke-width=".6"/>${over}${label}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${size(width)}" height="${size(height)}" viewBox="0 0 ${size(width)} ${size(height)}">`,
    `<title>${escapeXml(title)}</title>`,
    `<defs>${patterns.join("")}</defs>`,
    `<rect width="100%" height="100%" fill="${back}"/>`,
    `<g font-family="ui-monospace,monospace" font-size="11.5" fill="${text}">`,
    ...boxes,
    "</g></svg>",
    "",
  ].join("\n");
}

/**
 * Stacks as folded text: "root;callee 12". What separates them cannot be in a name.
 * @param {Iterable<[string[], number]>} stacks
 */
export function foldedOf(stacks) {
  const lines = [];
  for (const [names, weight] of stacks) lines.push(`${names.map((name) => name.replace(/[;\r\n]/g, ":")).join(";")} ${weight}`);
  return lines.length ? `${lines.join("\n")}\n` : "";
}
