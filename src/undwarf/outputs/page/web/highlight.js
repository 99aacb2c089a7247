// Colours of source text and assembly: words, texts, comments and numbers.

import { sourceText } from "./format.js";

const KEYWORDS = new Set(
  (
    "alignas and as asm async auto await bool break case catch char class const constexpr continue crate decltype def default defer del delete do double dyn else enum except " +
    "export extern false final finally float fn for from func function global go goto if impl import in inline int interface is lambda let long loop match mod move mut " +
    "namespace new nil noexcept None not nullptr operator or package pass private protected pub public raise range ref register restrict return self short signed sizeof " +
    "static struct super switch template this throw trait true True False try type typedef typename union unsafe unsigned use using var virtual void volatile where while with yield"
  ).split(" "),
);

const TOKENS =
  /(\/\/.*$|\/\*.*?(?:\*\/|$)|^\s*\*(?:\s.*)?$|^\s*#\s(?!include|if|define|endif|else|pragma).*$)|("(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)+')|\b(0x[0-9a-fA-F_]+|\d[\d_.]*(?:e[+-]?\d+)?[uUlLfF]*)\b|([A-Za-z_]\w*)/g;

/** Longest line that is coloured and shown whole. */
const LONGEST_LINE = 2000;

/**
 * A line of source, as coloured text.
 * @param {string} text
 * @returns {DocumentFragment}
 */
export function colouredSource(text) {
  const line = sourceText(text.slice(0, LONGEST_LINE));
  const out = document.createDocumentFragment();
  let at = 0;
  for (const match of line.matchAll(TOKENS)) {
    const kind = match[1] ? "comment" : match[2] ? "string" : match[3] ? "number" : KEYWORDS.has(match[4]) ? "keyword" : "";
    if (!kind) continue;
    out.append(line.slice(at, match.index), token(kind, match[0]));
    at = match.index + match[0].length;
  }
  out.append(line.slice(at), text.length > LONGEST_LINE ? " …" : "");
  return out;
}

/**
 * @param {string} kind
 * @param {string} text
 */
function token(kind, text) {
  const span = document.createElement("span");
  span.className = `token-${kind}`;
  span.textContent = text;
  return span;
}

/**
 * An instruction, as coloured text: its operands with a known type are marked.
 * @param {string} text
 * @param {import("./code-model.js").OperandType[] | null} types
 * @param {(type: import("./code-model.js").OperandType) => string} describe
 * @returns {DocumentFragment}
 */
export function colouredInstruction(text, types, describe) {
  const out = document.createDocumentFragment();
  const mnemonic = /^\S*/.exec(text)?.[0].length ?? 0;
  out.append(token("mnemonic", sourceText(text.slice(0, mnemonic))));
  let at = mnemonic;
  for (const type of [...(types ?? [])].sort((a, b) => a[0] - b[0])) {
    const [first, last] = type;
    if (first < at || last > text.length || last <= first) continue;
    out.append(sourceText(text.slice(at, first)));
    const span = token("typed", sourceText(text.slice(first, last)));
    span.title = describe(type);
    out.append(span);
    at = last;
  }
  out.append(sourceText(text.slice(at)));
  return out;
}
