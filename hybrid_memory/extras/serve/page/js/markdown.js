// Markdown as elements. The text of a note is untrusted: HTML is shown as text, and so are links except to http, https, mailto
// and other notes. Remote images are shown as links, so that reading a note sends no requests to other sites.

import { h } from "./dom.js";
import { embedded, image } from "./embeds.js";
import { formula } from "./formulas.js";
import { link } from "./links.js";
import { parted, slug } from "./places.js";
import { isPlain, plainBlocks, plainElement } from "./plain.js";

const PATIENCE = 1500; // ms for the parser, plus one per QUICK characters; after that, the text is shown unparsed
const QUICK = 100;
const DEEPEST = 40; // levels of nested blocks; deeper ones are shown as text

/** A block of a document and its lines, counted from 1. @typedef {{token: any, start: number, end: number}} Block */

let worker = null;
let asked = 0;

/** Start the parser before it is needed. */
export function warmUp() {
  worker ??= new Worker(new URL("./markdown-worker.js", import.meta.url), { type: "module" });
}

/**
 * Split a text, whose first line has the number `line`, into blocks. A text that cannot be parsed in time is one block of plain
 * text.
 * @param {string} text @param {number} line @param {any} outline the answer of a read: format, passages and pages
 * @returns {Promise<Block[]>}
 */
export async function parse(text, line, outline) {
  if (isPlain(outline.format)) return plainBlocks(text, line, outline);
  const clean = text.replace(/\r\n?/g, "\n");
  const front = line === 1 ? frontMatter(clean) : "";
  const tokens = (await lex(clean.slice(front.length))) ?? [{ type: "plain", raw: clean.slice(front.length) }];
  if (front) tokens.unshift({ type: "front", raw: front });
  return numbered(tokens, line).filter(({ token }) => token.type !== "space" && token.type !== "def");
}

/**
 * Make one element per block. Elements in `kept`, by line and text, are reused. Heading levels never skip one, even if those of
 * the note do.
 * @param {Block[]} blocks @param {import("./embeds.js").Note} note @param {Map<string, HTMLElement>} [kept]
 * @returns {HTMLElement[]}
 */
export function render(blocks, note, kept = new Map()) {
  let level = 1;
  const elements = blocks.map((block) => {
    const { token, start } = block;
    const isHeading = token.type === "heading" && !note.depth;
    if (isHeading) level = Math.min(6, token.depth + 1, level + 1);
    const source = `${start}\n${level}\n${token.raw}`;
    const element = kept.get(source) ?? stamped(isHeading ? heading(token, note, `h${level}`, 0) : blockElement(token, note, start, 0), block);
    element.source = source;
    return element;
  });
  elements.forEach((element, i) => {
    if (element.dataset.names && i) elements[i - 1].dataset.block = element.dataset.names;
  });
  return elements;
}

/** The unparsed front matter at the beginning of a text. @param {string} text */
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
    }, PATIENCE + text.length / QUICK);
    mine.addEventListener("message", heard);
    mine.addEventListener("error", () => done(null), { once: true });
    mine.postMessage({ id, text });
  });
}

/** Number the lines of tokens: their `raw` texts are contiguous, so counting line breaks is enough. @returns {Block[]} */
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

function blockElement(token, note, line, depth) {
  if (depth > DEEPEST) return plain(token.raw);
  const inner = () => inline(token.tokens, note, depth);
  const blocks = (tokens, from) => numbered(tokens, from).map((b) => stamped(blockElement(b.token, note, b.start, depth + 1), b));
  switch (token.type) {
    case "heading":
      return heading(token, note, "p", depth);
    case "paragraph":
    case "text":
      return paragraph(token, note, depth);
    case "code":
      return code(token);
    case "blockquote":
      return h("blockquote", { dir: depth ? null : "auto" }, blocks(token.tokens, line));
    case "callout":
      return callout(token, note, blocks(token.tokens, line + 1), depth);
    case "footnote":
      return h("div", { class: "footnote", "data-note": token.name }, h("span", { class: "number" }, `${token.name}. `), blocks(token.tokens, line));
    case "list": {
      const items = numbered(token.items, line).map((item) => stamped(listItem(item, note, depth), item));
      return h(token.ordered ? "ol" : "ul", { dir: depth ? null : "auto", start: token.ordered && token.start !== 1 ? token.start : null }, items);
    }
    case "table":
      return table(token, note, depth);
    case "displayed":
      return formula(token.text, true);
    case "lines":
    case "page":
      return plainElement(token, note);
    case "hr":
      return h("hr");
    case "space":
    case "def":
      return h("span");
    case "name": // the name of the previous block
      return h("span", { "data-names": token.name.toLowerCase() });
    case "front":
      return h("details", { class: "front" }, h("summary", {}, "Front matter"), plain(token.raw.replace(/^---\n|\n?---\n?$/g, "")));
    default: // HTML, and token types unknown to this version
      return plain(token.raw);
  }
}

/** A heading. In a list, a quote or an embedded note it only looks like one and is not in the document's outline. */
function heading(token, note, name, depth) {
  const element = h(name, { class: name === "p" ? "heading" : null, dir: "auto", "data-level": token.depth }, inline(token.tokens, note, depth));
  element.dataset.slug = slug(element.textContent);
  return element;
}

/** A paragraph. If it consists of a single embed, the embedded element replaces it. */
function paragraph(token, note, depth) {
  const { tokens } = token;
  if (tokens?.length === 1 && tokens[0].type === "wikilink" && tokens[0].embed) {
    const shown = embedded(tokens[0], note);
    if (shown) return shown;
  }
  return h("p", { dir: depth ? null : "auto", "data-block": nameIn(tokens) }, tokens ? inline(tokens, note, depth) : token.text);
}

/** The name at the end of a block: ^name. */
const nameIn = (tokens) => tokens?.findLast((token) => token.type === "name")?.name.toLowerCase() ?? null;

function code(token) {
  const pre = h("pre", { tabindex: 0, dir: "ltr" }, h("code", {}, token.text));
  return token.lang?.trim() === "mermaid" ? h("figure", {}, h("figcaption", {}, "Source of a Mermaid diagram"), pre) : pre;
}

function callout(token, note, blocks, depth) {
  const said = token.title ? inline(token.title, note, depth) : [token.kind.charAt(0).toUpperCase() + token.kind.slice(1).replaceAll("-", " ")];
  const about = { class: "callout", "data-kind": token.kind, dir: depth ? null : "auto" };
  if (!token.fold) return h("div", about, h("p", { class: "about" }, said), blocks);
  return h("details", { ...about, open: token.fold === "+" }, h("summary", { class: "about" }, said), blocks);
}

const STATE = /^\[([/-])\][ \t]+(?=\S)/;

/** The box of a task that is in progress, [/], or cancelled, [-]. Its mark is removed from the text. */
function otherState(token) {
  const first = token.tokens[0]?.tokens?.[0];
  const found = first?.type === "text" && STATE.exec(first.text);
  if (!found) return null;
  first.text = first.text.slice(found[0].length);
  const begun = found[1] === "/";
  const box = h("input", { type: "checkbox", disabled: true, "data-state": begun ? "begun" : "cancelled", "aria-label": begun ? "in progress" : "cancelled" });
  box.indeterminate = begun;
  return box;
}

function listItem({ token, start }, note, depth) {
  const box = token.task
    ? h("input", { type: "checkbox", disabled: true, checked: token.checked, "aria-label": token.checked ? "done" : "to do" })
    : otherState(token);
  const inside = numbered(token.tokens.filter(({ type }) => type !== "checkbox"), start);
  const tight = ({ token: t, start: line }) =>
    t.type === "text" ? inline(t.tokens ?? [t], note, depth) : blockElement(t, note, line, depth + 1);
  const name = nameIn(token.tokens.find(({ type }) => type === "text")?.tokens);
  return h("li", { class: box ? "task" : null, "data-block": name }, box, inside.flatMap(tight));
}

function table(token, note, depth) {
  const cell = (name) => (c, i) => h(name, { dir: "auto", class: token.align[i] ? `to-${token.align[i]}` : null }, inline(c.tokens, note, depth));
  const head = h("thead", {}, h("tr", {}, token.header.map(cell("th"))));
  const body = token.rows.map((row) => h("tr", {}, row.map(cell("td"))));
  return h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Table" }, h("table", {}, head, h("tbody", {}, body)));
}

function inline(tokens, note, depth) {
  if (!tokens) return [];
  if (depth > DEEPEST) return tokens.map((token) => token.raw);
  const inner = (token) => inline(token.tokens, note, depth + 1);
  return tokens.map((token) => {
    switch (token.type) {
      case "strong":
      case "em":
      case "del":
      case "mark":
        return h(token.type, {}, inner(token));
      case "codespan":
        return h("code", { dir: "auto" }, token.text);
      case "checkbox": // part of the list item
      case "name":
        return "";
      case "br":
        return h("br");
      case "link":
        return link(token.href, inner(token), token.raw, note);
      case "image":
        return image(token, note) ?? link(token.href, [`image: ${token.text || token.href}`], token.raw, note);
      case "wikilink":
        return wikilink(token, note);
      case "formula":
      case "displayed":
        return formula(token.text, token.type === "displayed");
      case "noteref":
        return h("sup", {}, h("a", { href: "#", "data-note-to": token.name, "aria-label": `Footnote ${token.name}` }, token.name));
      case "aside":
        return h("span", { class: "aside" }, " (", inner(token), ")");
      case "escape":
        return token.text;
      case "html":
        return /^<br\s*\/?>$/i.test(token.raw) ? h("br") : token.raw;
      case "text":
        return token.tokens ? inner(token) : entities(token.text);
      default:
        return token.raw;
    }
  }).flat();
}

/** [[note]], [[note#heading|words]] and [[#heading]]. An embed within a paragraph is a link, unless it is an image. */
function wikilink(token, note) {
  const { target, label, embed } = token;
  const [path, part] = parted(target);
  if (embed) {
    const picture = image({ href: target, text: label }, note);
    if (picture) return picture;
  }
  const said = label || [path, ...part.split("#").map((title) => title.replace(/^\^/, ""))].filter(Boolean).join(" › ");
  if (!path && part) return h("a", { href: "#", "data-jump": part }, said);
  const there = note.route(target);
  if (there) return h("a", { href: there, "data-route": true, class: "note" }, said);
  return h("span", { class: "absent", title: embed ? "This cannot be shown here." : "No note has this name." }, said);
}

const plain = (text) => h("p", { class: "plain", dir: "auto" }, text);

/** Decode entities such as &amp;amp;, which the parser leaves in the text. */
const entities = (text) => text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(amp|lt|gt|quot|nbsp|copy|mdash|ndash|hellip|apos));/g, entity);

const NAMED = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", mdash: "—", ndash: "–", hellip: "…" };

function entity(raw, decimal, hex, name) {
  if (name) return NAMED[name];
  const code = decimal ? Number(decimal) : parseInt(hex, 16);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : raw;
}
