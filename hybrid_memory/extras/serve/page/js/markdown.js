// Markdown as elements. The text of a note is hostile: HTML in it is shown as text, and a link goes to http, https, mailto or
// another note, else it is text, too. Images are links, so that reading a note asks nobody for anything.

import { h } from "./dom.js";

const PATIENCE = 1500; // ms for the parser; then the text is shown as it is
const DEEPEST = 40; // blocks in blocks; what is deeper is shown as text
const SAFE = new Set(["http:", "https:", "mailto:"]);

/** A part of a document with the lines it comes from, counted from 1. @typedef {{token: any, start: number, end: number}} Block */

let worker = null;
let asked = 0;

/** Start the parser before it is needed. */
export function warmUp() {
  worker ??= new Worker(new URL("./markdown-worker.js", import.meta.url), { type: "module" });
}

/**
 * The blocks of a text whose first line has the number `line`. A text that cannot be parsed in time is one block of plain text.
 * @param {string} text @param {number} line @returns {Promise<Block[]>}
 */
export async function parse(text, line) {
  const clean = text.replace(/\r\n?/g, "\n");
  const front = line === 1 ? frontMatter(clean) : "";
  const tokens = (await lex(clean.slice(front.length))) ?? [{ type: "plain", raw: clean.slice(front.length) }];
  if (front) tokens.unshift({ type: "front", raw: front });
  return numbered(tokens, line).filter(({ token }) => token.type !== "space" && token.type !== "def");
}

/**
 * @param {Block} block
 * @param {(href: string) => string | null} route the address on this page of what a relative link means
 * @returns {HTMLElement}
 */
export const render = (block, route) => stamped(blockElement(block.token, route, block.start, 0), block);

/** The front matter at the beginning of a text, as it stands there. @param {string} text */
const frontMatter = (text) => /^---\n(?:[^\n]*\n){0,200}?---(?:\n|$)/.exec(text)?.[0] ?? "";

/** @returns {Promise<any[] | null>} */
function lex(text) {
  warmUp();
  const id = ++asked;
  const mine = worker;
  return new Promise((resolve) => {
    const done = (tokens) => {
      clearTimeout(timer);
      mine.removeEventListener("message", heard);
      resolve(tokens);
    };
    const heard = ({ data }) => data.id === id && done(data.tokens);
    const timer = setTimeout(() => {
      mine.terminate();
      if (worker === mine) worker = null;
      done(null);
    }, PATIENCE);
    mine.addEventListener("message", heard);
    mine.addEventListener("error", () => done(null), { once: true });
    mine.postMessage({ id, text });
  });
}

/** Tokens repeat the text in `raw` without a gap, so counting line breaks numbers their lines. @returns {Block[]} */
function numbered(tokens, line) {
  return tokens.map((token) => {
    const start = line;
    line += token.raw.split("\n").length - 1;
    return { token, start, end: Math.max(start, start + token.raw.trimEnd().split("\n").length - 1) };
  });
}

function stamped(element, { start, end }) {
  element.dataset.start = String(start);
  element.dataset.end = String(end);
  return element;
}

function blockElement(token, route, line, depth) {
  if (depth > DEEPEST) return plain(token.raw);
  const inner = () => inline(token.tokens, route, depth);
  const blocks = (tokens, from) => numbered(tokens, from).map((b) => stamped(blockElement(b.token, route, b.start, depth + 1), b));
  switch (token.type) {
    case "heading":
      return h(`h${Math.min(6, token.depth + 1)}`, { id: slug(token.text), dir: "auto" }, inner());
    case "paragraph":
    case "text":
      return h("p", { dir: depth ? null : "auto" }, token.tokens ? inner() : token.text);
    case "code":
      return h("pre", { tabindex: 0, dir: "ltr" }, h("code", {}, token.text));
    case "blockquote":
      return h("blockquote", { dir: depth ? null : "auto" }, blocks(token.tokens, line));
    case "list": {
      const items = numbered(token.items, line).map((item) => stamped(listItem(item, route, depth), item));
      return h(token.ordered ? "ol" : "ul", { dir: depth ? null : "auto", start: token.ordered && token.start !== 1 ? token.start : null }, items);
    }
    case "table":
      return table(token, route, depth);
    case "hr":
      return h("hr");
    case "space":
    case "def":
      return h("span");
    case "front":
      return h("details", { class: "front" }, h("summary", {}, "Front matter"), plain(token.raw.replace(/^---\n|\n?---\n?$/g, "")));
    default: // HTML, and what a later version of the parser may call otherwise
      return plain(token.raw);
  }
}

function listItem({ token, start }, route, depth) {
  const box = token.task && h("input", { type: "checkbox", disabled: true, checked: token.checked, "aria-label": token.checked ? "done" : "to do" });
  const inside = numbered(token.tokens.filter(({ type }) => type !== "checkbox"), start);
  const tight = ({ token: t, start: line }) =>
    t.type === "text" ? inline(t.tokens ?? [t], route, depth) : blockElement(t, route, line, depth + 1);
  return h("li", { class: token.task ? "task" : null }, box, inside.flatMap(tight));
}

function table(token, route, depth) {
  const cell = (name) => (c, i) => h(name, { dir: "auto", class: token.align[i] ? `to-${token.align[i]}` : null }, inline(c.tokens, route, depth));
  const head = h("thead", {}, h("tr", {}, token.header.map(cell("th"))));
  const body = token.rows.map((row) => h("tr", {}, row.map(cell("td"))));
  return h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Table" }, h("table", {}, head, h("tbody", {}, body)));
}

function inline(tokens, route, depth) {
  if (!tokens) return [];
  if (depth > DEEPEST) return tokens.map((token) => token.raw);
  const inner = (token) => inline(token.tokens, route, depth + 1);
  return tokens.map((token) => {
    switch (token.type) {
      case "strong":
      case "em":
      case "del":
        return h(token.type, {}, inner(token));
      case "codespan":
        return h("code", { dir: "auto" }, token.text);
      case "checkbox":
        return ""; // the list item has it
      case "br":
        return h("br");
      case "link":
        return link(token.href, inner(token), token.raw, route);
      case "image":
        return link(token.href, [`image: ${token.text || token.href}`], token.raw, route);
      case "escape":
        return token.text;
      case "text":
        return token.tokens ? inner(token) : wikiLinks(decoded(token), route);
      default:
        return token.raw;
    }
  }).flat();
}

/** A link to somewhere safe; else what stands in the note. */
function link(href, children, raw, route) {
  if (/^[a-z][a-z0-9+.-]*:/i.test(href) || href.startsWith("//")) {
    const url = parsed(href);
    if (!url || !SAFE.has(url.protocol)) return raw;
    return h("a", { href: url.href, rel: "noreferrer noopener", target: "_blank", class: "outside", title: url.href }, children);
  }
  if (href.startsWith("#")) return h("a", { href: "#", "data-jump": slug(safeDecode(href.slice(1))) }, children);
  const there = route(href);
  return there ? h("a", { href: there, "data-route": true, class: "note" }, children) : raw;
}

/** [[note]] and [[note|title]] are links to notes, as many editors write them. */
function wikiLinks(text, route) {
  return text.split(/(\[\[[^[\]\n]{1,200}\]\])/).map((part) => {
    const found = /^\[\[([^|]+?)(?:\\?\|(.*))?\]\]$/.exec(part);
    const there = found && route(found[1].trim());
    return there ? h("a", { href: there, "data-route": true, class: "note" }, found[2] || found[1]) : part;
  });
}

const plain = (text) => h("p", { class: "plain", dir: "auto" }, text);

/** The id of a heading, and of what `#heading` means. @param {string} text */
const slug = (text) => `h-${text.toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, "").trim().replaceAll(" ", "-")}`;

/** An entity of markdown, such as &amp;amp;, is one character; the parser leaves it to HTML to say so. */
const decoded = (token) => token.text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(amp|lt|gt|quot|nbsp|copy|mdash|ndash|hellip|apos));/g, entity);

const NAMED = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", mdash: "—", ndash: "–", hellip: "…" };

function entity(raw, decimal, hex, name) {
  if (name) return NAMED[name];
  const code = decimal ? Number(decimal) : parseInt(hex, 16);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : raw;
}

function parsed(href) {
  try {
    return new URL(href);
  } catch {
    return null;
  }
}

/** @param {string} text of a link, in which some characters may be codes: %20 */
export function safeDecode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
