// Asks as one types: one request at a time, the newest. Old results stay until the new ones are there.

import { byId, show } from "./dom.js";
import * as api from "./api.js";
import * as notice from "./notice.js";
import { showOverview } from "./overview.js";
import { commands, markOpen, showDocuments, showResults } from "./results.js";
import { state } from "./state.js";

const PAGE = 20; // results, and as many again for each "More"

let asking = new AbortController();

/** Answer what the state asks, and show it. @param {number} [limit] */
export async function ask(limit = PAGE) {
  const { q, filters } = state();
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  const busy = setTimeout(() => waiting(true), 250);
  try {
    if (q) await found(q, filters, limit, signal);
    else if (filters.length) await listed(filters, limit, signal);
    else await greeted(signal);
    if (!signal.aborted) notice.clear();
  } catch (failure) {
    if (failure.name === "AbortError" || signal.aborted) return;
    notice.say(failure, () => ask(limit));
    count(failure.kind === "query" ? "" : byId("count").textContent);
  } finally {
    clearTimeout(busy);
    if (!signal.aborted) waiting(false);
  }
}

async function found(q, filters, limit, signal) {
  const answer = await api.search(q, filters, limit, signal);
  if (signal.aborted) return;
  const { results, warnings, timings, hint } = answer;
  showResults({ ...answer, complete: results.length < limit }, () => ask(limit + PAGE));
  view("results");
  const all = results.length < limit ? "" : "best ";
  const took = timings?.total === undefined ? "" : ` in ${Math.max(1, Math.round(timings.total * 1000))} ms`;
  count(results.length === 1 ? `1 result${took}` : `${all}${results.length || "No"} results${took}`, results.length && hint ? [...warnings, hint] : warnings);
}

async function listed(filters, limit, signal) {
  const answer = await api.documents(filters, limit, signal);
  if (signal.aborted) return;
  showDocuments(answer, () => ask(limit + PAGE));
  view("results");
  count(answer.total === 1 ? "1 document" : `${answer.total.toLocaleString("en")} documents`);
}

async function greeted(signal) {
  if (byId("overview").hasChildNodes()) view("overview");
  count("");
  await showOverview(signal);
  if (!signal.aborted) view("overview");
}

function view(name) {
  for (const each of ["overview", "results"]) byId(each).hidden = each !== name;
  document.documentElement.dataset.view = name;
  byId("heading").textContent = name === "overview" ? "Overview" : "Results";
  const { doc, lines } = state();
  markOpen(doc, lines);
}

function count(text, warnings = []) {
  const line = byId("count");
  if (line.textContent !== text) line.textContent = text;
  show(byId("warnings"), ...commands(warnings.join(" ")));
}

function waiting(on) {
  document.documentElement.toggleAttribute("data-busy", on);
  byId("results").setAttribute("aria-busy", String(on));
}
