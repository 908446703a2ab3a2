// Keyboard shortcuts, and the dialog that lists them.

import { byId, h, show } from "./dom.js";
import { links } from "./results.js";
import { state, visit } from "./state.js";

const KEYS = [["/", "search"], ["↓ ↑", "next and previous result"], ["Enter", "open"], ["j k", "read the next or the previous result"],
  ["Esc", "back"], ["c", "copy the citation"], ["e", "open in the editor"], ["?", "show these keys"]];

const input = byId("q");
const dialog = byId("keys");

/** @param {() => void} back called for Escape */
export function listen(back) {
  show(dialog, h("h2", { id: "keys-title" }, "Keys"),
    h("dl", {}, KEYS.map(([key, does]) => h("div", {}, h("dt", {}, key.split(" ").map((each) => h("kbd", {}, each))), h("dd", {}, does)))),
    h("form", { method: "dialog" }, h("button", {}, "Close")));
  byId("help").addEventListener("click", () => dialog.showModal());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || dialog.open || event.defaultPrevented) return;
    if (handle(event, back)) event.preventDefault();
  });
}

/** Handle a key; returns whether it was a shortcut. */
function handle({ key, target }, back) {
  if (key === "Escape") return escape(target, back);
  if (key === "ArrowDown" || key === "ArrowUp") return step(target, key === "ArrowDown" ? 1 : -1);
  if (target.closest("input, textarea, select")) return key === "Enter" && target === input && first();
  if (key === "/") return focusSearch();
  if (key === "?") return dialog.showModal() ?? true;
  if (key === "j" || key === "k") return readNext(key === "j" ? 1 : -1);
  if (key === "c") return press(".copy");
  return key === "e" && press(".edit");
}

function focusSearch() {
  input.focus();
  input.select();
  return true;
}

function escape(target, back) {
  if (target === input && input.value && !state().doc) return false; // the browser clears the field
  if (target === input) input.blur();
  return back();
}

/** Arrow keys move between the search field and the results; elsewhere they scroll. */
function step(target, by) {
  const all = links();
  const at = all.indexOf(target);
  if (target === input ? by < 0 : at < 0) return false;
  const next = target === input ? 0 : at + by;
  if (next < 0) return focusSearch();
  all[next]?.focus();
  all[next]?.closest("li").scrollIntoView({ block: "nearest" });
  return all.length > 0;
}

function first() {
  const [link] = links();
  if (link && !byId("results").hidden) link.click();
  return true;
}

/** Open the result after or before the current one. */
function readNext(by) {
  const all = links();
  const at = all.findIndex((link) => link.hasAttribute("aria-current"));
  const next = all[at < 0 ? 0 : at + by];
  if (next) visit(next.href, Boolean(state().doc));
  return Boolean(next);
}

function press(selector) {
  const element = byId("reader").querySelector(selector);
  element?.click();
  return Boolean(element);
}
