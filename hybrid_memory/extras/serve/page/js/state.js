// The state of the page is the query string of its address: { q, doc, lines, part } and the filters.

/** Filters by their names in the address, with a label. Those in SEVERAL may be given more than once. */
export const FILTERS = {
  collection: "in collection", in: "in", tag: "tagged", where: "with", since: "since", until: "until", modified_since: "changed since",
  heading: "below", role: "said by", linked_to: "linked to",
};
const SEVERAL = ["tag", "where"];
const KEYS = ["q", ...Object.keys(FILTERS), "doc", "lines", "part"];

/** `part` is a heading or a ^block of the document to scroll to. @typedef {{q: string, doc: string, lines: string, part: string, filters: [string, string][]}} State */

/** @type {State} */
let current = parse(location.search);
const listeners = [];

/** @returns {State} */
export const state = () => current;

/** @param {(state: State, before: State | null) => void} listener called at once, then at every change */
export function onChange(listener) {
  listeners.push(listener);
  listener(current, null);
}

/** @param {string} search @returns {State} */
function parse(search) {
  const given = new URLSearchParams(search);
  const filters = [...given].filter(([key, value]) => key in FILTERS && value);
  const text = (key) => given.get(key) ?? "";
  return { q: text("q"), doc: text("doc"), lines: text("lines"), part: text("part"), filters };
}

/** The address for the current state with some changes. A new document resets `part`. @param {Partial<State>} changes */
export function address(changes) {
  const next = { ...current, ...("doc" in changes ? { part: "" } : {}), ...changes };
  const pairs = [["q", next.q], ...next.filters, ["doc", next.doc], ["lines", next.doc && next.lines], ["part", next.doc && next.part]];
  pairs.sort((a, b) => KEYS.indexOf(a[0]) - KEYS.indexOf(b[0]));
  const query = new URLSearchParams(pairs.filter(([, value]) => value)).toString();
  return query ? `?${query}` : "./";
}

/** Go to another state. With `replace`, the current one is removed from the history. @param {Partial<State>} changes */
export function go(changes, { replace = false } = {}) {
  visit(address(changes), replace);
}

/** Go to an address of this page. @param {string} url */
export function visit(url, replace = false) {
  const there = new URL(url, location.href);
  if (there.search === location.search) return;
  history[replace ? "replaceState" : "pushState"](replace ? history.state : { inside: true }, "", there.pathname + there.search);
  changed();
}

/** @param {string} key @param {string} value */
export function withFilter(key, value) {
  const others = current.filters.filter(([k, v]) => (SEVERAL.includes(key) ? k !== key || v !== value : k !== key));
  return [...others, [key, value]];
}

/** @param {string} key @param {string} value */
export const withoutFilter = (key, value) => current.filters.filter(([k, v]) => k !== key || v !== value);

function changed() {
  const before = current;
  current = parse(location.search);
  for (const listener of listeners) listener(current, before);
}

addEventListener("popstate", changed);

// Links with data-route change the state of this page; a click with a modifier key opens them like any other link.
addEventListener("click", (event) => {
  const link = event.target instanceof Element && event.target.closest("a[data-route]");
  if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  visit(link.getAttribute("href")); // in SVG, the property `href` is not a string
});
