// The page: reactions to changes of the address and to typing.

import * as api from "./api.js";
import { byId } from "./dom.js";
import { listenToDates, showFilters } from "./filters.js";
import { listen } from "./keys.js";
import { warmUp } from "./markdown.js";
import * as notice from "./notice.js";
import * as reader from "./reader.js";
import { links, markOpen } from "./results.js";
import { age, ask } from "./search.js";
import { go, onChange, state } from "./state.js";

const PAUSE = 10; // ms without a key before a search

const input = byId("q");
let typing = 0;
let isTyping = false; // the address changes because of typing
let scrolled = 0; // scroll position of the results when a document was opened

await enter();
onChange(changed);
listen(back);
listenToDates();
if (!state().doc && matchMedia("(hover: hover)").matches) input.focus();
(window.requestIdleCallback ?? setTimeout)(warmUp);

input.addEventListener("input", (event) => {
  clearTimeout(typing);
  if (input.value.trim() !== state().q) age();
  if (!event.isComposing) typing = setTimeout(typed, PAUSE);
});
input.addEventListener("compositionend", typed);
input.form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(typing);
  typed();
  ask();
});

/** Put the typed query into the address. A typed query is one step in the history, regardless of the number of keys. */
function typed() {
  const q = input.value.trim();
  isTyping = true;
  if (q !== state().q) go({ q, doc: "", lines: "" }, { replace: Boolean(state().q) && !state().doc });
  isTyping = false;
}

/** Exchange a token in the address for a cookie, and remove it from the address and the history. */
async function enter() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  history.replaceState(null, "", location.pathname + location.search);
  try {
    await api.signIn(token);
  } catch (failure) {
    notice.say(failure, () => ask());
  }
}

function changed(now, before) {
  if (input.value.trim() !== now.q) input.value = now.q;
  document.title = [now.doc.split("/").at(-1), now.q].filter(Boolean).join(" – ") || "hybrid-memory";
  showFilters(now);
  const another = !before || now.q !== before.q || String(now.filters) !== String(before.filters);
  if (another) ask(undefined, isTyping);
  if (now.doc) show(now, before);
  else if (before?.doc) hide(another);
}

function show({ doc, lines, part }, before) {
  if (!before?.doc) scrolled = scrollY;
  document.documentElement.dataset.reading = "";
  markOpen(doc, lines);
  reader.open(doc, lines, part);
}

/** Close the reader: restore the scroll position, and focus the result that was open. */
function hide(another) {
  const from = links().find((link) => link.hasAttribute("aria-current"));
  delete document.documentElement.dataset.reading;
  reader.shut();
  markOpen("", "");
  scrollTo(0, another ? 0 : scrolled);
  if (document.activeElement !== input) (from ?? input).focus({ preventScroll: true });
}

/** Escape: go from a document to the results, and from the results to the overview. */
function back() {
  if (state().doc) {
    if (history.state?.inside) history.back();
    else go({ doc: "", lines: "" });
  } else if (state().q || state().filters.length) go({ q: "", filters: [] });
  else return false;
  return true;
}
