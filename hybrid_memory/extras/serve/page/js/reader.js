// The reader: the text of a document, scrolled to the passage found, which is marked. The whole text is loaded, so that the
// browser's search works; the layout of distant parts is deferred. Only very long documents load more while scrolling.

import { byId, h, show } from "./dom.js";
import * as api from "./api.js";
import * as beside from "./beside.js";
import { noteOf } from "./embeds.js";
import { parse, render } from "./markdown.js";
import { inline } from "./marks.js";
import * as notice from "./notice.js";
import { find } from "./places.js";
import { changedSince, head } from "./reader-head.js";
import { go, state } from "./state.js";

const BEFORE = 40; // lines to load before a passage that is not in the first part of a long document
const AT_ONCE = 2000; // earlier lines to load at once
const END = 999999999; // a line beyond the end of any document, which stands for the end
const BLOCKS = 30; // blocks laid out together

const panel = byId("reader");
const article = h("article", { class: "sheet" });

/** The open document: `text` is the loaded text from line `first` on; `next` is the value of `lines` to read on. */
let shown = null;
let reading = new AbortController();

/** Make elements from the answer of a read. */
const blocksOf = async (answer, note) => render(await parse(answer.text, answer.start_line, answer), note);

/** Show a document. @param {string} doc @param {string} lines of the passage, such as 12-30 @param {string} part a heading or ^block */
export async function open(doc, lines, part) {
  reading.abort();
  reading = new AbortController();
  const { signal } = reading;
  try {
    if (shown?.doc !== doc || !isLoaded(lines)) await load(doc, lines, signal);
    if (signal.aborted) return;
    mark(lines, part);
    beside.showSimilar(doc, range(lines)[0] > shown.total ? "" : lines, signal);
    beside.showLinks(shown.links);
  } catch (failure) {
    if (failure.name === "AbortError" || signal.aborted) return;
    shown = null;
    if (failure.kind === "offline" || failure.kind === "token") notice.say(failure, () => open(doc, lines, part));
    else missing(doc, failure.message);
  }
}

/** Close the document. */
export function shut() {
  settle();
  reading.abort();
  shown = null;
  panel.hidden = true;
  show(panel);
}

async function load(doc, lines, signal) {
  let [start] = range(lines);
  const none = { links: [], linked_from: [] };
  const [first, links] = await Promise.all([api.read(doc, "", signal), api.links(doc, signal).catch(() => none)]);
  let answer = first;
  if (start > answer.total_lines) start = 1; // the file has become shorter
  if (start > answer.end_line) answer = await api.read(doc, `${Math.max(1, start - BEFORE)}-${END}`, signal);
  if (start > answer.end_line) answer = await api.read(doc, `${start}-${END}`, signal); // the lines before the passage are too long
  const blocks = await parse(answer.text, answer.start_line, answer);
  if (signal.aborted) return;
  shown = {
    doc, answer, links, first: answer.start_line, text: answer.text, next: answer.next_lines, last: answer.end_line, total: answer.total_lines,
    note: noteOf(doc, links, signal, blocksOf), elements: [],
  };
  draw(blocks);
  const sheet = h("div", { class: "paper" }, h("div", { class: "earlier" }), article, h("div", { class: "later" }));
  show(panel, head(answer, lines), answer.changed && changedSince(), h("p", { class: "warning absent-part" }),
    h("div", { class: "columns" }, sheet, beside.panel(answer)));
  updateButtons();
  panel.hidden = false;
  notice.clear();
  panel.focus({ preventScroll: true });
}

function missing(doc, message) {
  show(panel, head({ doc_id: doc }, ""), h("div", { class: "nothing" }, h("h2", {}, "This document cannot be read"), h("p", {}, message)));
  panel.hidden = false;
  panel.focus({ preventScroll: true });
}

/** Put the blocks into the article; reuse existing elements. @param {import("./markdown.js").Block[]} blocks */
function draw(blocks) {
  const kept = new Map(shown.elements.map((element) => [element.source, element]));
  const elements = render(blocks, shown.note, kept);
  const first = elements.find((element) => !element.matches(".front, .page"));
  if (first?.matches("h2[data-level='1']") && elements.length > 1) first.classList.toggle("hidden", first.textContent === inline(shown.answer.title ?? "")); // the head shows it
  shown.elements = elements;
  const parts = Array.from({ length: Math.ceil(elements.length / BLOCKS) }, (_, i) =>
    h("div", { class: "stretch" }, elements.slice(i * BLOCKS, (i + 1) * BLOCKS)));
  article.replaceChildren(...parts);
}

const nearing = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) target.click();
}, { rootMargin: "600px" });

/** The buttons to load earlier and later text. Scrolling near the lower one presses it. */
function updateButtons() {
  const { first, next, last, total } = shown;
  const way = (name, label, onclick) => show(panel.querySelector(name), label && h("button", { type: "button", class: "more", onclick }, label));
  way(".earlier", first > 1 && `Earlier lines, ${Math.max(1, first - AT_ONCE)} to ${first - 1}`, before);
  way(".later", next && `Read on from line ${last + (next.includes("C") ? 0 : 1)} of ${total.toLocaleString("en")}`, after);
  nearing.disconnect();
  const button = panel.querySelector(".later button");
  if (button) nearing.observe(button);
}

async function after() {
  await extend(shown.next, (answer, { next, text }) => {
    shown.text = text + (/^\d+C/.test(next) ? "" : "\n") + answer.text; // C: the same line goes on
    shown.next = answer.next_lines;
    shown.last = answer.end_line;
  });
}

async function before() {
  const from = Math.max(1, shown.first - AT_ONCE);
  const height = document.documentElement.scrollHeight;
  await extend(`${from}-${shown.first - 1}`, (answer, { text }) => {
    if (answer.next_lines) return; // truncated because of very long lines: there would be a gap
    shown.text = `${answer.text}\n${text}`;
    shown.first = answer.start_line;
  });
  scrollBy(0, document.documentElement.scrollHeight - height); // keep the visible text in place
}

async function extend(lines, join) {
  const { doc } = shown;
  try {
    const answer = await api.read(doc, lines, reading.signal);
    if (shown?.doc !== doc) return;
    join(answer, { ...shown });
    draw(await parse(shown.text, shown.first, shown.answer));
    mark(state().lines, state().part, false);
    updateButtons();
  } catch (failure) {
    if (failure.name !== "AbortError") notice.say(failure, () => extend(lines, join));
  }
}

/** A message if the document lacks the requested part or line, else "". @param {string} part @param {number} line */
function missingMessage(part, line) {
  if (part) return `“${part.replace(/^\^/, "")}” was not found in this document.`;
  return line > shown.total ? `This document has no line ${line}, only ${shown.total} lines.` : "";
}

/** Mark the blocks of the passage or the part, and scroll to them. */
function mark(lines, part, scroll = true) {
  for (const each of panel.querySelectorAll(".passage")) each.classList.remove("passage");
  const place = part && find(article, part);
  panel.querySelector(".absent-part").textContent = missingMessage(part && !place ? part : "", range(lines)[0]);
  if (place) place.classList.add("passage");
  else if (lines) for (const element of shown.elements) markIn(element, range(lines));
  if (lines) beside.markPassage(range(lines));
  if (scroll) bring(article.querySelector(".passage"));
}

const SETTLING = 2000; // ms in which images, formulas and embeds above a passage may still load
const MOVES = ["wheel", "touchstart", "pointerdown", "keydown"];

let settle = () => {};

/**
 * Scroll to an element, and keep it in view while content above it is loading, until the user scrolls. Its stretch must be laid
 * out, or its position is unknown.
 */
function bring(element) {
  settle();
  scrollTo(0, 0);
  if (!element) return;
  element.closest(".stretch").classList.add("near");
  const above = document.querySelector("header.top").offsetHeight + 24;
  const look = () => {
    const { top, bottom } = element.getBoundingClientRect();
    const isBelow = Math.min(bottom, top + 200) > innerHeight * 0.9;
    if (isBelow || top < above) scrollTo(0, scrollY + top - Math.max(above, innerHeight * 0.25));
  };
  const heights = new ResizeObserver(look);
  settle = () => {
    heights.disconnect();
    for (const move of MOVES) removeEventListener(move, settle);
  };
  for (const move of MOVES) addEventListener(move, settle);
  setTimeout(settle, SETTLING);
  heights.observe(article);
  look();
}

function markIn(element, [start, end]) {
  if (element.classList.contains("hidden")) return;
  const from = Number(element.dataset.start);
  const to = Number(element.dataset.end);
  if (to < start || from > end) return;
  const parts = [...element.children].filter((child) => child.dataset.start);
  if ((from >= start && to <= end) || !parts.length) element.classList.add("passage");
  else for (const part of parts) markIn(part, [start, end]);
}

const isLoaded = (lines) => range(lines)[0] >= shown.first && range(lines)[1] <= shown.last;

/** "12-30" -> [12, 30], "12" -> [12, 12], "" -> [1, 1] @returns {[number, number]} */
function range(lines) {
  const [start, end] = lines.split("-").map((part) => parseInt(part, 10));
  return [start || 1, end || start || 1];
}

// Links within this document: to a heading, a block or a footnote.
article.addEventListener("click", (event) => {
  const link = event.target instanceof Element && event.target.closest("a[data-jump], a[data-note-to]");
  if (!link) return;
  event.preventDefault();
  const { jump, noteTo } = link.dataset;
  if (jump) go({ doc: shown.doc, lines: "", part: jump });
  else article.querySelector(`[data-note="${CSS.escape(noteTo)}"]`)?.scrollIntoView({ block: "center" });
});
