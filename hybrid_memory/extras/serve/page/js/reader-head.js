// The head of a document: title, facts and actions.

import { h } from "./dom.js";
import { EXAMPLES, editorLink, keep, template } from "./editor.js";
import { whole } from "./marks.js";
import { facts, leaf, place } from "./results.js";
import { address } from "./state.js";

/** @param {any} answer of a read @param {string} lines of the passage */
export function head(answer, lines) {
  const { doc_id: doc, path } = answer;
  const citation = lines ? `${doc}#${lines.split("-").map((n) => `L${n}`).join("-")}` : doc;
  const title = answer.title ?? leaf(doc);
  return h("header", { class: "head" },
    h("a", { class: "close", href: address({ doc: "", lines: "" }), "data-route": true, "aria-label": "Close the document" }, "×"),
    h("h1", { dir: "auto" }, whole(title)),
    h("div", { class: "meta" }, place(doc), facts(answer)),
    path !== undefined && h("div", { class: "actions" }, copyButton(citation), path && editor(path, parseInt(lines, 10) || 1)));
}

export const changedSince = () => h("p", { class: "warning" }, "The file has changed since it was indexed; the marked lines may have moved.");

function copyButton(citation) {
  const said = h("span", { class: "hidden", role: "status" });
  const label = h("span", {}, "Copy citation");
  const done = async () => {
    label.textContent = (await copy(citation)) ? "Copied" : "Cannot copy";
    said.textContent = `${label.textContent}: ${citation}`;
    setTimeout(() => { label.textContent = "Copy citation"; }, 1500);
  };
  return h("span", {}, h("button", { type: "button", class: "copy", title: citation, onclick: done }, label), said);
}

/** @param {string} text @returns {Promise<boolean>} whether it is in the clipboard */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { // not a secure context, or permission denied
    const area = h("textarea", { class: "hidden" });
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
}

/** A link that opens the editor, and a form to configure it. */
function editor(path, line) {
  const link = h("a", { class: "edit button" }, "Open in editor");
  const said = h("p", { role: "status" });
  const input = h("input", { id: "template", type: "text", spellcheck: "false", autocomplete: "off", list: "templates", placeholder: EXAMPLES[0] });
  const form = h("form", { class: "template", hidden: true }, h("label", { for: "template" }, "Link to your editor, with {path} and {line}"),
    h("div", {}, input, h("button", { type: "submit" }, "Save")), h("datalist", { id: "templates" }, EXAMPLES.map((value) => h("option", { value }))), said);
  const settings = h("button", { type: "button", class: "quiet", "aria-label": "Choose the editor", title: "Choose the editor", "aria-expanded": "false" }, "…");
  const unfold = (open) => {
    form.hidden = !open;
    settings.setAttribute("aria-expanded", String(open));
    if (open) input.focus();
  };
  const refresh = () => {
    link.setAttribute("href", editorLink(path, line) ?? "#");
    input.value = template();
  };
  settings.addEventListener("click", () => unfold(form.hidden));
  link.addEventListener("click", (event) => {
    if (template()) return;
    event.preventDefault();
    unfold(true);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    said.textContent = keep(input.value.trim());
    if (said.textContent) return;
    refresh();
    unfold(false);
    link.focus();
  });
  refresh();
  return [link, settings, form];
}
