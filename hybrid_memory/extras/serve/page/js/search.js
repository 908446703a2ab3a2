// Search as you type. Only the newest request counts. Each key triggers a keyword search, a pause the full search.
// Old results stay, dimmed, until new ones arrive.

import { byId, show } from "./dom.js";
import * as api from "./api.js";
import * as notice from "./notice.js";
import { showOverview } from "./overview.js";
import { showOperators } from "./filters.js";
import { byNote, commands, markOpen, showDocuments, showResults } from "./results.js";
import { state } from "./state.js";

const PAGE = 20; // results, and the same number for each "More results"

const PAUSE = 250; // ms without a key before the full search

let asking = new AbortController();

/** Dim the results: they are not yet the answer to the query in the search field. */
export function age() {
  byId("results").toggleAttribute("data-old", true);
}

/** Request the answer for the current state, and show it. @param {number} [limit] @param {boolean} [typing] */
export async function ask(limit = PAGE, typing = false) {
  const { q, filters } = state();
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  const busy = setTimeout(() => waiting(true), 250);
  age();
  try {
    if (q && typing) await foundTyped(q, filters, limit, signal);
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

/** Show the results of the keyword search, if any (a very short word has none), then wait for the pause. */
async function foundTyped(q, filters, limit, signal) {
  const answer = await api.searchTyped(q, filters, limit, signal);
  if (signal.aborted) return;
  if (answer.results.length) showFound(answer, limit);
  await new Promise((later) => setTimeout(later, PAUSE));
}

async function found(q, filters, limit, signal) {
  if (signal.aborted) return;
  const answer = await api.search(q, filters, limit, signal);
  if (!signal.aborted) showFound(answer, limit);
}

function showFound(answer, limit) {
  const { results, warnings, timings, instead, operators, listing } = answer;
  if (listing) {
    showListing(listing, limit, [...operators.filters, ...operators.without]);
    return;
  }
  showResults({ ...answer, complete: results.length < limit }, () => ask(limit + PAGE));
  view("results");
  showOperators([...operators.filters, ...operators.without]);
  const notes = byNote(results).length;
  const all = results.length < limit ? "" : "best ";
  const took = timings?.total === undefined ? "" : ` in ${Math.max(1, Math.round(timings.total * 1000))} ms`;
  const said = Object.entries(instead).map(([word, others]) => `No passage has “${word}”: searched for ${others.join(", ")}.`);
  const words = Object.values(operators.words).map((reason) => `${reason}: searched for the words.`);
  const told = [...words, ...said, ...warnings];
  count(notes === 1 ? `1 note${took}` : `${notes ? all : ""}${notes || "No"} notes${took}`, told);
}

async function listed(filters, limit, signal) {
  const answer = await api.documents(filters, limit, signal);
  if (!signal.aborted) showListing(answer, limit, []);
}

/** Show the notes that match filters without a query. */
function showListing(answer, limit, operators) {
  showOperators(operators);
  showDocuments(answer, () => ask(limit + PAGE));
  view("results");
  count(answer.total === 1 ? "1 note" : `${answer.total.toLocaleString("en")} notes`);
}

async function greeted(signal) {
  if (byId("overview").hasChildNodes()) view("overview");
  count("");
  showOperators([]);
  await showOverview(signal);
  if (!signal.aborted) view("overview");
}

function view(name) {
  for (const each of ["overview", "results"]) byId(each).hidden = each !== name;
  document.documentElement.dataset.view = name;
  byId("results").removeAttribute("data-old");
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
