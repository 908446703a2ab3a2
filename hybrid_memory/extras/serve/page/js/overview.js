// The overview of the memory, shown while there is no query.

import { byId, h, show } from "./dom.js";
import * as api from "./api.js";
import { monthChart, share } from "./chart.js";
import { addressOf, commands, facts, leaf, nothing, place } from "./results.js";
import { address } from "./state.js";

const TAGS = 40;
const FOLDERS = 24; // the tree starts unfolded if it then has at most this many rows
const NAMED = 12; // broken links, copies and superseded notes shown; the others unfold
const panel = byId("overview");

/** @param {AbortSignal} signal */
export async function showOverview(signal) {
  const found = await api.overview(signal);
  if (!found.status.doc_count) {
    show(panel, empty());
    return;
  }
  const health = h("ul", { class: "health" }, h("li", {}, "Checking …"));
  const tidy = h("div", { class: "tidy" });
  show(panel, figures(found.status), h("div", { class: "cards" },
    h("div", {}, newest(found.newest), months(found)),
    h("div", {}, folders(found), tags(found.tags), card("Health", "health-card", health, model(found.status)), tidy)));
  findings(health, signal);
  review(tidy, signal);
}

const empty = () => nothing("This memory is empty", "To add a folder of markdown notes, run ", h("code", {}, "hybrid-memory ingest --path ~/notes"), " in a terminal. Then open this page again.");

const card = (title, name, ...children) => h("section", { class: `card ${name}` }, h("h2", {}, title), ...children);

const only = (...filters) => address({ q: "", doc: "", lines: "", filters });

const number = (count) => count.toLocaleString("en");

function figures(status) {
  const pending = status.pending_count;
  const figure = (count, name) => h("div", {}, h("dd", {}, number(count)), h("dt", {}, name));
  return h("dl", { class: "figures" },
    figure(status.doc_count, status.doc_count === 1 ? "document" : "documents"),
    figure(status.chunk_count, status.chunk_count === 1 ? "chunk" : "chunks"),
    pending ? figure(pending, "not embedded yet") : null);
}

/** The folders as a tree. Texts stored without a file have no folder. */
function folders({ folders: all, collections }) {
  if (!all.length) return null;
  const rows = all.map(({ path, documents }) => ({ path, documents, name: path.split("/").at(-1), below: [] }));
  const byPath = new Map(rows.map((row) => [row.path, row]));
  const top = rows.filter((row) => {
    const above = byPath.get(row.path.split("/").slice(0, -1).join("/"));
    above?.below.push(row);
    return !above;
  });
  const most = Math.max(...top.map((row) => row.documents));
  const areOpen = top.reduce((sum, row) => sum + 1 + row.below.length, 0) <= FOLDERS;
  const stored = collections.find(({ name }) => name === null);
  return card("Folders", "folders", h("ul", {}, top.map((row) => folder(row, areOpen, most))),
    stored && h("p", { class: "aside" }, `${number(stored.documents)} stored without a file`));
}

function folder({ path, documents, name, below }, isOpen, most) {
  const said = [h("a", { href: only(["in", path]), "data-route": true, title: path, dir: "auto" }, name), " ", h("span", { class: "number" }, number(documents))];
  const bar = most && share(documents / most);
  const inside = below.length > 0 && h("ul", { hidden: !isOpen }, below.map((row) => folder(row, false)));
  return h("li", {}, h("div", { class: "row" }, inside ? opener(name, inside) : h("span", { class: "opener" }), said), bar, inside);
}

/** The button that shows and hides the folders in a folder. */
function opener(name, inside) {
  const button = h("button", { type: "button", class: "quiet opener", "aria-label": `Folders in ${name}`, "aria-expanded": String(!inside.hidden) });
  button.addEventListener("click", () => {
    inside.hidden = !inside.hidden;
    button.setAttribute("aria-expanded", String(!inside.hidden));
  });
  return button;
}

function months({ months: all, undated }) {
  if (!all.length) return null;
  return card("By month", "by-month", monthChart(all, (month) => only(["since", month], ["until", month])),
    undated ? h("p", { class: "aside" }, `${number(undated)} without a date`) : null);
}

function tags(all) {
  if (!all.length) return null;
  return card("Tags", "tags", h("ul", {}, all.slice(0, TAGS).map(({ tag, documents }) =>
    h("li", {}, h("a", { href: only(["tag", tag]), "data-route": true }, h("b", { dir: "auto" }, tag), " ", h("span", { class: "number" }, number(documents)))))));
}

function newest(all) {
  return card("Newest", "newest", h("ol", {}, all.slice(0, 8).map((found) =>
    h("li", {}, h("a", { class: "open", href: address({ q: "", filters: [], doc: found.doc_id, lines: "" }), "data-route": true, dir: "auto" }, leaf(found.doc_id)),
      h("div", { class: "meta" }, place(found.doc_id), facts(found))))));
}

function model({ embeddings, building }) {
  if (!embeddings) return h("p", { class: "aside" }, "No embeddings yet: searches use keywords only.");
  return h("p", { class: "aside" }, "Embedded by ", h("b", {}, embeddings.model), ` (${embeddings.provider}), ${embeddings.dims} dimensions`, building ? "; a change of model is in progress" : "");
}

/** Fill in the findings of the doctor, which may take a moment, as it contacts the embedding server. */
async function findings(list, signal) {
  let all;
  try {
    all = await api.doctor(signal);
  } catch (failure) {
    if (failure.name !== "AbortError") show(list, h("li", { class: "bad" }, `The check failed: ${failure.message}`));
    return;
  }
  const bad = (all.findings ?? all).filter((finding) => finding.ok === false);
  if (!bad.length) show(list, h("li", { class: "good" }, "No problem was found."));
  else show(list, ...bad.map(({ check, text }) => h("li", { class: "bad" }, h("b", {}, check), " ", commands(text))));
}

/** Fill in the notes to tidy up: broken links, copies and superseded notes. */
async function review(place, signal) {
  const found = await api.review(signal).catch(() => null);
  if (!found || signal.aborted) return;
  show(place, brokenLinks(found.broken), copies(found.copies), superseded(found.superseded));
}

function brokenLinks({ total, links }) {
  if (!total) return null;
  const item = ({ doc_id: doc, line, target }) => h("li", {},
    h("a", { href: address({ q: "", filters: [], doc, lines: String(line) }), "data-route": true, title: `${doc}, line ${line}`, dir: "auto" }, leaf(doc)),
    " → ", h("span", { class: "number", dir: "auto" }, target));
  return card(total === 1 ? "1 broken link" : `${number(total)} broken links`, "broken", folded(links.map(item), total, links.length, "links"));
}

function copies({ total, documents }) {
  if (!total) return null;
  const item = (same) => h("li", {}, same.flatMap((doc, i) => [i ? " = " : "",
    h("a", { href: address({ q: "", filters: [], doc, lines: "" }), "data-route": true, title: doc, dir: "auto" }, doc)]));
  return card(total === 1 ? "1 text is in several files" : `${number(total)} texts are in several files`, "copies", folded(documents.map(item), total, documents.length, "texts"));
}

function superseded({ total, documents }) {
  if (!total) return null;
  const item = ({ citation, note }) => h("li", {}, h("a", { href: addressOf(citation), "data-route": true, title: citation, dir: "auto" }, leaf(citation.replace(/#L[^#]*$/, ""))),
    " ", h("span", { class: "number", dir: "auto" }, note));
  return card(total === 1 ? "1 superseded note" : `${number(total)} superseded notes`, "superseded", folded(documents.map(item), total, documents.length, "notes"));
}

/** A list of items; all but the first are folded away. */
function folded(items, total, named, what) {
  const rest = items.slice(NAMED);
  const more = total > named && h("p", { class: "aside" }, `and ${number(total - named)} more ${what}`);
  return [h("ul", {}, items.slice(0, NAMED)), rest.length > 0 && h("details", {}, h("summary", {}, `${number(rest.length)} more`), h("ul", {}, rest), more)];
}
