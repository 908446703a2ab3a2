// The list of results, and the list of documents for filters without a query.

import { PER_NOTE } from "./api.js";
import { byId, h, show } from "./dom.js";
import { address, state, withFilter } from "./state.js";
import { excerpt, inline, whole } from "./marks.js";
import { confidenceBar, why } from "./score.js";

const list = byId("results");

/** @param {any} answer of a search @param {() => void} more loads more results */
export function showResults(answer, more) {
  const { results, hint } = answer;
  if (results.length) {
    replace(byNote(results).map(result), answer.complete ? null : more);
  } else {
    show(list, state().filters.length ? unfiltered() : nothing("Nothing found", commands(hint || "Try other words.")));
  }
}

/** @param {any} answer of a list of documents @param {() => void} more */
export function showDocuments(answer, more) {
  if (answer.documents.length) replace(answer.documents.map(documentItem), answer.documents.length < answer.total ? more : null);
  else show(list, unfiltered());
}

const unfiltered = () => nothing("Nothing found with these filters", h("a", { href: address({ filters: [] }), "data-route": true }, "Search everywhere"));

/** A message of the program: text between backquotes is code. @param {string} text */
export const commands = (text) =>
  (text.charAt(0).toUpperCase() + text.slice(1)).split(/`([^`]+)`/).map((part, i) => (i % 2 ? h("code", {}, part) : part));

/** A message in place of results. @param {string} title @param {...any} children */
export const nothing = (title, ...children) => h("div", { class: "nothing" }, h("h2", {}, title), h("p", {}, children));

/** Group passages by note, the best first. @param {any[]} results @returns {any[][]} */
export function byNote(results) {
  const notes = new Map();
  for (const found of results) notes.set(found.doc_id, [...(notes.get(found.doc_id) ?? []), found]);
  return [...notes.values()];
}

/** The links of the visible results, in order. @returns {HTMLAnchorElement[]} */
export const links = () => [...list.querySelectorAll("a.open")].filter((link) => !link.closest(".others:not([open])"));

/** Mark the result that the reader shows. @param {string} doc @param {string} lines */
export function markOpen(doc, lines) {
  for (const link of list.querySelectorAll("a.open")) {
    const there = new URLSearchParams(new URL(link.href).search);
    const open = doc && there.get("doc") === doc && (there.get("lines") ?? "") === lines;
    if (open) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

/** Replace the results in one step; unfolded details and the focus are kept. */
function replace(items, more) {
  const focused = list.contains(document.activeElement) && document.activeElement.closest("li")?.dataset.key;
  const unfolded = (item) => [...item.querySelectorAll("details[open]")].map((part) => part.className);
  const opened = new Map([...list.querySelectorAll("li[data-key]")].map((item) => [item.dataset.key, unfolded(item)]));
  for (const item of items) for (const part of item.querySelectorAll("details")) part.open = Boolean(opened.get(item.dataset.key)?.includes(part.className));
  show(list, h("ol", { role: "list" }, items), more && h("button", { type: "button", class: "more", onclick: more }, "More results"));
  const again = focused && items.find((item) => item.dataset.key === focused);
  if (again) again.querySelector("a.open").focus({ preventScroll: true });
}

/** A note: its best passage; the others are folded away. */
function result([found, ...others]) {
  const { doc_id: doc } = found;
  return h("li", { "data-key": doc },
    h("article", {},
      h("h2", { dir: "auto" }, h("a", { class: "open", href: passageAddress(found), "data-route": true }, whole(noteTitle(found), found.marks)), crumbs(found)),
      h("p", { class: "text", dir: "auto" }, excerpt(found.excerpt)),
      h("div", { class: "meta" }, confidenceBar(found.confidence, found.match), place(doc), onPage(found.page), gone(found.gone), facts(found), also(found.also), newer(found.newer)),
      why(found),
      others.length > 0 && h("details", { class: "others" }, h("summary", {}, others.length < PER_NOTE - 1 ? `${others.length} more in this note` : "More in this note"), h("ul", {}, others.map(otherPassage)))));
}

function otherPassage(found) {
  const title = parts(found).at(-1) || `Lines ${found.start_line} to ${found.end_line}`;
  return h("li", {}, h("p", { dir: "auto" }, h("a", { class: "open", href: passageAddress(found), "data-route": true }, whole(title, found.marks))),
    h("p", { class: "text", dir: "auto" }, excerpt(found.excerpt)),
    h("div", { class: "meta" }, confidenceBar(found.confidence, found.match), onPage(found.page), newer(found.newer)));
}

const gone = (isGone) => isGone && h("span", {}, "file is gone");
const onPage = (page) => page && h("span", {}, `page ${page}`);

const passageAddress = ({ doc_id: doc, start_line: start, end_line: end }) => address({ doc, lines: start ? `${start}-${end}` : "" });

function documentItem(found) {
  const { doc_id: doc } = found;
  return h("li", { "data-key": doc },
    h("article", {},
      h("h2", { dir: "auto" }, h("a", { class: "open", href: address({ doc, lines: "" }), "data-route": true }, leaf(doc))),
      h("div", { class: "meta" }, place(doc), facts(found), h("span", {}, `${found.chunks} ${found.chunks === 1 ? "passage" : "passages"}`),
        found.pending ? h("span", {}, `${found.pending} not embedded yet`) : null)));
}

const parts = ({ heading_path: path, heading }) => (path || heading || "").split(" > ");

const noteTitle = (found) => found.title ?? leaf(found.doc_id);

/** The headings of the passage below the note's title; each is a filter. */
function crumbs(found) {
  const all = parts(found).filter(Boolean);
  const steps = all.map((part, i) => [part, all.slice(0, i + 1).join(" > ")]).filter(([part], i) => i > 0 || inline(part) !== inline(noteTitle(found)));
  return steps.flatMap(([part, path]) => [h("span", { class: "crumb" }, " › "), filterLink("heading", path, whole(part, found.marks), `only below ${part}`, "crumb")]);
}

/** The document's id, as links: each folder and the name are filters. @param {string} doc */
export function place(doc) {
  const parts = doc.split("/");
  const steps = parts.map((part, i) => [part, parts.slice(0, i + 1).join("/")]);
  return h("span", { class: "place", dir: "ltr" }, steps.flatMap(([part, path], i) => [i ? "/" : "", filterLink("in", path, part, `only in ${path}`)]));
}

/** Date, collection and tags as filters; without a date, the day of the file. */
export function facts({ doc_id: doc, date, modified, role, collection, metadata }) {
  const tags = Array.isArray(metadata?.tags) ? metadata.tags.map(String) : [];
  const known = collection && !`${doc}/`.startsWith(`${collection}/`); // the id does not show it
  return [
    date && h("a", { href: onDay(date), "data-route": true, title: `only from ${date}` }, h("time", { datetime: date }, date)),
    !date && modified && h("span", {}, "file of ", h("time", { datetime: modified }, modified.slice(0, 10))),
    (role === "user" || role === "assistant") && filterLink("role", role, `by the ${role}`, `only what the ${role} said`),
    known && filterLink("collection", collection, collection, `only in the collection ${collection}`),
    ...tags.slice(0, 8).map((tag) => filterLink("tag", tag, `#${tag}`, `only tagged ${tag}`)),
  ];
}

const filterLink = (key, value, text, title, style = null) =>
  h("a", { class: style, href: address({ doc: "", lines: "", filters: withFilter(key, value) }), "data-route": true, title, dir: "auto" }, text);

function onDay(date) {
  const filters = withFilter("since", date).filter(([key]) => key !== "until");
  return address({ doc: "", lines: "", filters: [...filters, ["until", date]] });
}

const also = (others) => others?.length ? h("span", { title: others.join("\n") }, `and ${others.length} ${others.length === 1 ? "copy" : "copies"}`) : null;

/** A link to a later passage that revises this one. @param {string | null} citation */
export function newer(citation) {
  if (!citation) return null;
  return h("a", { href: addressOf(citation), "data-route": true, class: "newer", title: citation }, "a later passage revises this");
}

/** The address for reading a citation. @param {string} citation */
export function addressOf(citation) {
  const [, doc, start, end] = /^(.*)#L(\d+)(?:-L?(\d+))?$/.exec(citation) ?? [];
  return address({ doc: doc ?? citation, lines: start ? `${start}-${end ?? start}` : "" });
}

/** The name of a document without folders and .md. @param {string} doc */
export const leaf = (doc) => doc.split("/").at(-1).replace(/(?<=.)\.md$/, "");
