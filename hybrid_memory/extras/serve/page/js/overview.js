// What the memory holds: shown while nothing is asked.

import { byId, h, show } from "./dom.js";
import * as api from "./api.js";
import { monthChart, share } from "./chart.js";
import { commands, facts, leaf, nothing, place } from "./results.js";
import { address } from "./state.js";

const TAGS = 40;
const panel = byId("overview");

/** @param {AbortSignal} signal */
export async function showOverview(signal) {
  const found = await api.overview(signal);
  if (!found.status.doc_count) {
    show(panel, empty());
    return;
  }
  const health = h("ul", { class: "health" }, h("li", {}, "Looking …"));
  show(panel, figures(found.status), h("div", { class: "cards" },
    newest(found.newest), months(found), collections(found.collections), tags(found.tags),
    card("Health", "health-card", health, model(found.status))));
  findings(health, signal);
}

const empty = () => nothing("This memory is empty", "In a terminal, ", h("code", {}, "hybrid-memory ingest --path ~/notes"), " takes in a folder of markdown notes. Then open this page again.");

const card = (title, name, ...children) => h("section", { class: `card ${name}` }, h("h2", {}, title), ...children);

const only = (...filters) => address({ q: "", doc: "", lines: "", filters });

const number = (count) => count.toLocaleString("en");

function figures(status) {
  const pending = status.pending_count;
  const figure = (count, name) => h("div", {}, h("dd", {}, number(count)), h("dt", {}, name));
  return h("dl", { class: "figures" },
    figure(status.doc_count, status.doc_count === 1 ? "document" : "documents"),
    figure(status.chunk_count, status.chunk_count === 1 ? "passage" : "passages"),
    pending ? figure(pending, "not embedded yet") : null);
}

function collections(all) {
  if (!all.length) return null;
  const most = Math.max(...all.map((each) => each.documents));
  return card("Collections", "collections", h("ul", {}, all.map(({ name, documents }) => {
    const said = [h("b", { dir: "auto" }, name ?? "stored texts"), " ", h("span", { class: "number" }, number(documents))];
    return h("li", {}, name === null ? h("span", {}, said) : h("a", { href: only(["collection", name]), "data-route": true }, said), share(documents / most));
  })));
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
  if (!embeddings) return h("p", { class: "aside" }, "No embeddings yet: searches go by keyword.");
  return h("p", { class: "aside" }, "Embedded by ", h("b", {}, embeddings.model), ` (${embeddings.provider}), ${embeddings.dims} dimensions`, building ? "; a change of model is going on" : "");
}

/** The doctor may take a moment, since it asks the embedding server. */
async function findings(list, signal) {
  let all;
  try {
    all = await api.doctor(signal);
  } catch (failure) {
    if (failure.name !== "AbortError") show(list, h("li", { class: "bad" }, `Cannot tell: ${failure.message}`));
    return;
  }
  const bad = (all.findings ?? all).filter((finding) => !finding.ok);
  if (!bad.length) show(list, h("li", { class: "good" }, "All is well."));
  else show(list, ...bad.map(({ check, text }) => h("li", { class: "bad" }, h("b", {}, check), " ", commands(text))));
}
