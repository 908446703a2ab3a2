// One document: its text as markdown, with the passage that was found marked and in view.

import { byId, h, show } from "./dom.js";
import * as api from "./api.js";
import * as beside from "./beside.js";
import { parse, render, safeDecode } from "./markdown.js";
import * as notice from "./notice.js";
import { changedSince, head } from "./reader-head.js";
import { address, state } from "./state.js";

const NEAR = 150; // a passage within so many lines of the beginning is shown from there
const BEFORE = 40; // lines before any other passage
const END = 999999999; // a line beyond the end of every document means its end

const panel = byId("reader");
const article = h("article", { class: "sheet" });

/** What is shown: `text` is the document's from line `first` on; `next` says where to read on. `links` are those of the document. */
let shown = null;
let reading = new AbortController();

/** Show a document. @param {string} doc @param {string} lines those of the passage, such as 12-30 */
export async function open(doc, lines) {
  reading.abort();
  reading = new AbortController();
  const { signal } = reading;
  try {
    if (shown?.doc !== doc || !holds(lines)) await load(doc, lines, signal);
    if (signal.aborted) return;
    mark(lines);
    beside.showSimilar(doc, lines, signal);
    beside.showLinks(shown.links);
  } catch (failure) {
    if (failure.name === "AbortError" || signal.aborted) return;
    shown = null;
    if (failure.kind === "offline" || failure.kind === "token") notice.say(failure, () => open(doc, lines));
    else missing(doc, failure.message);
  }
}

/** Show no document. */
export function shut() {
  reading.abort();
  shown = null;
  panel.hidden = true;
  show(panel);
}

async function load(doc, lines, signal) {
  const [start] = range(lines);
  const none = { links: [], linked_from: [] };
  const [first, links] = await Promise.all([
    api.read(doc, start > NEAR ? `${start - BEFORE}-${END}` : "", signal), api.links(doc, signal).catch(() => none)]);
  let answer = first;
  if (start > answer.end_line) answer = await api.read(doc, `${start}-${END}`, signal); // the lines before it are long
  const blocks = await parse(answer.text, answer.start_line);
  if (signal.aborted) return;
  shown = { doc, first: answer.start_line, text: answer.text, next: answer.next_lines, last: answer.end_line, total: answer.total_lines, links };
  article.replaceChildren();
  draw(blocks);
  const sheet = h("div", { class: "paper" }, h("div", { class: "earlier" }), article, h("div", { class: "later" }));
  show(panel, head(answer, lines), answer.changed && changedSince(), h("div", { class: "columns" }, sheet, beside.panel(answer, range(lines))));
  ways();
  panel.hidden = false;
  notice.clear();
  panel.focus({ preventScroll: true });
}

function missing(doc, message) {
  show(panel, head({ doc_id: doc }, ""), h("div", { class: "nothing" }, h("h2", {}, "This document cannot be read"), h("p", {}, message)));
  panel.hidden = false;
  panel.focus({ preventScroll: true });
}

/** Put the blocks into the article; those that it has already stay as they are. @param {import("./markdown.js").Block[]} blocks */
function draw(blocks) {
  const kept = new Map([...article.children].map((element) => [element.source, element]));
  article.replaceChildren(...blocks.map((block) => {
    const source = `${block.start}\n${block.token.raw}`;
    const element = kept.get(source) ?? render(block, route);
    element.source = source;
    return element;
  }));
}

/** The buttons for what is before and after the text that is shown. */
function ways() {
  const { first, next, last, total } = shown;
  const way = (name, label, onclick) => show(panel.querySelector(name), label && h("button", { type: "button", class: "more", onclick }, label));
  way(".earlier", first > 1 && `Earlier lines, ${Math.max(1, first - 200)} to ${first - 1}`, before);
  way(".later", next && `Read on from line ${last + (next.includes("C") ? 0 : 1)} of ${total.toLocaleString("en")}`, after);
}

async function after() {
  await extend(shown.next, (answer, { next, text }) => {
    shown.text = text + (/^\d+C/.test(next) ? "" : "\n") + answer.text; // C: the same line goes on
    shown.next = answer.next_lines;
    shown.last = answer.end_line;
  });
}

async function before() {
  const from = Math.max(1, shown.first - 200);
  const height = document.documentElement.scrollHeight;
  await extend(`${from}-${shown.first - 1}`, (answer, { text }) => {
    if (answer.next_lines) return; // its lines are very long: those just before would be missing
    shown.text = `${answer.text}\n${text}`;
    shown.first = answer.start_line;
  });
  scrollBy(0, document.documentElement.scrollHeight - height); // what was in view stays there
}

async function extend(lines, join) {
  const { doc } = shown;
  try {
    const answer = await api.read(doc, lines, reading.signal);
    if (shown?.doc !== doc) return;
    join(answer, { ...shown });
    draw(await parse(shown.text, shown.first));
    mark(state().lines, false);
    ways();
  } catch (failure) {
    if (failure.name !== "AbortError") notice.say(failure, () => extend(lines, join));
  }
}

/** Mark the blocks of the passage, and bring it into view. */
function mark(lines, scroll = true) {
  for (const each of panel.querySelectorAll(".passage")) each.classList.remove("passage");
  if (!lines) {
    if (scroll) scrollTo(0, 0);
    return;
  }
  const passage = range(lines);
  for (const element of article.children) markIn(element, passage);
  beside.markPassage(passage);
  const first = article.querySelector(".passage");
  if (!scroll || !first) return;
  scrollTo(0, 0);
  const { top, bottom } = first.getBoundingClientRect();
  if (Math.min(bottom, top + 200) > innerHeight * 0.9) scrollTo(0, top - innerHeight * 0.25);
}

function markIn(element, [start, end]) {
  const from = Number(element.dataset.start);
  const to = Number(element.dataset.end);
  if (to < start || from > end) return;
  const parts = [...element.children].filter((child) => child.dataset.start);
  if ((from >= start && to <= end) || !parts.length) element.classList.add("passage");
  else for (const part of parts) markIn(part, [start, end]);
}

const holds = (lines) => range(lines)[0] >= shown.first && range(lines)[1] <= shown.last;

/** "12-30" -> [12, 30], "12" -> [12, 12], "" -> [1, 1] @returns {[number, number]} */
function range(lines) {
  const [start, end] = lines.split("-").map((part) => parseInt(part, 10));
  return [start || 1, end || start || 1];
}

/**
 * The address of the note that a link means, if there is one. The memory knows it; else it is a path: "../a.md" in "x/y/b.md" is
 * "x/a.md". @param {string} target as it is written
 */
function route(target) {
  const known = shown?.links.links.find((link) => link.target === target && (link.doc_id || link.broken));
  if (known) return known.doc_id && address({ doc: known.doc_id, lines: "" });
  const path = safeDecode(target.split(/[?#]/)[0]);
  if (!path) return null;
  const parts = path.startsWith("/") ? [] : shown?.doc.split("/").slice(0, -1) ?? state().doc.split("/").slice(0, -1);
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part && part !== ".") parts.push(part);
  }
  const leaf = parts.at(-1) ?? "";
  if (!leaf) return null;
  return address({ doc: /\.\w{1,8}$/.test(leaf) ? parts.join("/") : `${parts.join("/")}.md`, lines: "" });
}

// A link to a heading of this document.
article.addEventListener("click", (event) => {
  const link = event.target instanceof Element && event.target.closest("a[data-jump]");
  if (!link) return;
  event.preventDefault();
  const there = article.querySelector(`#${CSS.escape(link.dataset.jump)}`);
  there?.scrollIntoView({ block: "start" });
});
