// The panel beside a document: its passages, its links, and similar passages of other documents.

import { h, show } from "./dom.js";
import * as api from "./api.js";
import { leaf, place } from "./results.js";
import { excerpt, whole } from "./marks.js";
import { address } from "./state.js";

const ABOVE = 0.3; // share of the visible list of parts to keep above the current one

let outline = h("ol");
let linked = h("div");
let alike = h("section");

/** @param {any} answer of a read */
export function panel({ doc_id: doc, passages = [] }) {
  const parts = byHeading(passages);
  outline = h("ol", { class: "parts" }, parts.map((each) => part(doc, each)));
  linked = h("div");
  alike = h("section", { class: "alike", "aria-label": "Similar passages" });
  return h("aside", { class: "beside", "aria-label": "About this document" },
    parts.length > 1 && h("section", {}, h("h2", {}, "In this document"), outline),
    linked, alike);
}

/** Mark the parts of the current passage in the list, and scroll to the first of them. @param {[number, number]} range */
export function markPassage([start, end]) {
  for (const link of outline.querySelectorAll("a")) {
    const current = Number(link.dataset.start) <= end && Number(link.dataset.end) >= start;
    if (current) link.setAttribute("aria-current", "location");
    else link.removeAttribute("aria-current");
  }
  const first = /** @type {HTMLElement | null} */ (outline.querySelector("[aria-current]"));
  if (first) outline.scrollTop = first.offsetTop - ABOVE * outline.clientHeight;
}

/** Fill in the similar passages; show nothing if there are none. @param {string} doc @param {string} lines @param {AbortSignal} signal */
export async function showSimilar(doc, lines, signal) {
  const { results } = await api.similar(doc, lines, signal).catch(() => ({ results: [] }));
  if (signal.aborted) return;
  show(alike, results.length > 0 && h("h2", {}, "Similar passages"), results.length > 0 && h("ul", {}, results.slice(0, 5).map(similar)));
}

/** Fill in the links in both directions. @param {any} answer of `links` */
export function showLinks({ links, linked_from: from }) {
  const led = links.filter((link) => link.doc_id || link.broken).map(({ doc_id: to, target }) => ({ doc: to, lines: "", name: to ?? target }));
  show(linked, notes("Links to", led), notes("Linked from", from.map(({ doc_id: by, line }) => ({ doc: by, lines: String(line), name: by }))));
}

/** Group consecutive passages below the same heading into parts; each links to its first passage. */
function byHeading(passages) {
  const parts = [];
  for (const each of passages) {
    const before = parts.at(-1);
    if (before && before.heading_path === each.heading_path) before.last_line = each.end_line;
    else parts.push({ ...each, last_line: each.end_line });
  }
  return parts;
}

function part(doc, { heading_path: path, heading, start_line: start, end_line: end, last_line: last }) {
  const parts = (path || heading || "").split(" > ");
  return h("li", { class: `deep-${Math.min(3, parts.length)}` },
    h("a", { href: address({ doc, lines: `${start}-${end}` }), "data-route": true, "data-start": start, "data-end": last, dir: "auto" }, whole(parts.at(-1) || (start > 1 ? `Lines ${start} to ${end}` : "Beginning"))));
}

function similar({ doc_id: doc, start_line: start, end_line: end, heading, excerpt: pieces }) {
  return h("li", {},
    h("a", { href: address({ doc, lines: `${start}-${end}` }), "data-route": true, dir: "auto" }, whole(heading || leaf(doc))),
    h("p", { dir: "auto" }, excerpt(pieces)), h("div", { class: "meta" }, place(doc)));
}

/** A list of documents without duplicates; missing documents are not links. */
function notes(title, all) {
  const once = [...new Map(all.map((each) => [each.name, each])).values()];
  return once.length > 0 && h("section", { class: "linked" }, h("h2", {}, title), h("ul", {}, once.map(({ doc, lines, name }) => h("li", {}, doc
    ? h("a", { href: address({ doc, lines }), "data-route": true, title: doc, dir: "auto" }, leaf(doc))
    : h("span", { class: "meta", dir: "auto" }, `${name} (missing)`)))));
}
