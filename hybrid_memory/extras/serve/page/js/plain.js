// Documents that are not markdown, shown as plain text: org-mode, reStructuredText, text files, the text of a PDF. The index
// provides their headings and pages.

import { h } from "./dom.js";
import { link } from "./links.js";

const FORMATS = new Set(["org", "rst", "txt", "text", "pdf"]);
const AT_MOST = 100; // lines of a block
const BESIDE = 3; // lines before a passage in which to look for its heading
const LONGER = 60; // characters in the line of a heading in addition to its text
const ROW = /^([=\-`:'"~^_*+#<>.])\1{2,}\s*$/; // an underline or overline of a heading
const URL_PART = "https?:\\/\\/[^\\s<>\"\\]]+";
const LINKS = {
  org: new RegExp(`\\[\\[(?<target>[^[\\]\\n]+)\\](?:\\[(?<said>[^[\\]\\n]+)\\])?\\]|${URL_PART}`, "g"),
  rst: new RegExp(`\`(?<said>[^\`<\\n]*?)\\s*<(?<target>[^<>\`\\n]+)>\`__?|${URL_PART}`, "g"),
};
const BARE = new RegExp(URL_PART, "g");

/** @param {string} format from the server's answer */
export const isPlain = (format) => FORMATS.has(format);

/**
 * Split a text, whose first line has the number `line`, into blocks.
 * @param {string} text @param {number} line
 * @param {{format: string, passages?: any[], pages?: number[]}} outline
 * @returns {import("./markdown.js").Block[]}
 */
export function plainBlocks(text, line, { format, passages = [], pages = [] }) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const headings = headingsIn(lines, line, passages);
  const begins = new Set([...pages, ...headings.keys(), ...passages.flatMap((each) => [each.start_line, each.end_line + 1])]);
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    const number = line + at;
    const page = pages.indexOf(number);
    if (page >= 0) blocks.push({ token: { type: "page", raw: `page ${page}`, number: page + 1 }, start: number, end: number });
    const heading = headings.get(number);
    let end = at + (heading?.lines ?? 1);
    if (!heading) while (end < lines.length && end - at < AT_MOST && !begins.has(line + end)) end += 1;
    const raw = lines.slice(at, end).join("\n");
    const token = heading ? { type: "heading", raw, depth: heading.depth, tokens: [{ type: "text", raw, text: heading.title }] } : { type: "lines", raw, format };
    if (raw.trim()) blocks.push({ token, start: number, end: line + end - 1 });
    at = end;
  }
  return blocks;
}

/** The headings of passages, by their first line. */
function headingsIn(lines, line, passages) {
  const headings = new Map();
  let before = [];
  let free = line; // the first line after the last heading found
  for (const { heading_path: path, start_line: start, end_line: end } of passages) {
    const parts = path ? path.split(" > ") : [];
    const same = parts.findIndex((part, i) => part !== before[i]);
    for (let depth = same < 0 ? parts.length : same; depth < parts.length; depth += 1) {
      const found = lineOf(parts[depth], lines, line, Math.max(free, start - BESIDE), end);
      if (found === null) continue;
      const above = found > free && ROW.test(lines[found - line - 1]) ? 1 : 0;
      const below = ROW.test(lines[found - line + 1] ?? "") ? 1 : 0;
      headings.set(found - above, { title: parts[depth], depth: depth + 1, lines: 1 + above + below });
      free = found + 1 + below;
    }
    before = parts;
  }
  return headings;
}

function lineOf(title, lines, line, from, to) {
  for (let number = from; number <= to; number += 1) {
    const text = lines[number - line];
    if (text?.includes(title) && text.length <= title.length + LONGER) return number;
  }
  return null;
}

/** The element of a block. @returns {HTMLElement} */
export function plainElement(token, note) {
  if (token.type === "page") return h("p", { class: "page", "data-slug": `page${token.number}`, "data-level": 7 }, `Page ${token.number}`);
  return h("pre", { class: `lines ${token.format}`, dir: "auto" }, linked(token.raw, token.format, note));
}

function linked(text, format, note) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(LINKS[format] ?? BARE)) {
    const { target = bare(found[0]), said } = found.groups ?? {};
    const end = found.groups?.target ? found.index + found[0].length : found.index + target.length;
    const href = hrefOf(target);
    const shown = href && link(href, [said || target], text.slice(found.index, end), note);
    parts.push(text.slice(at, found.index), shown || text.slice(found.index, end));
    at = end;
  }
  return [...parts, text.slice(at)];
}

/** The href for a target: a URL or the path of a file; null for anything else. */
function hrefOf(target) {
  if (/^(?:https?|mailto):/i.test(target)) return target;
  return /^(?:file:)?([^:]+\.\w{1,8})(?:::.*)?$/.exec(target)?.[1] ?? null;
}

/** Strip trailing punctuation of the sentence from a URL. */
function bare(url) {
  let end = url.replace(/[.,;:!?'"*]+$/, "");
  while (end.endsWith(")") && end.split("(").length < end.split(")").length) end = end.slice(0, -1);
  return end;
}
