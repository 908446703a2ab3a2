// Embeds in a note: images from its ingested folder, and other notes or parts of them.

import { h, show } from "./dom.js";
import * as api from "./api.js";
import { decoded, parted, section } from "./places.js";
import { address } from "./state.js";

const IMAGE = /\.(?:png|jpe?g|gif|webp|avif|bmp|svg)$/i;
const DEEPEST = 2; // levels of embedded notes

/**
 * A document on display, with functions to resolve its links. `depth` is 0 unless it is embedded in another one; `blocks`
 * makes elements from the answer of a read.
 * @typedef {{doc: string, depth: number, blocks: (answer: any, note: Note) => Promise<HTMLElement[]>, route: (target: string) => string | null, docOf: (target: string) => string | null, signal: AbortSignal}} Note
 */

/** @param {string} doc @param {any} links the answer of `links` @param {AbortSignal} signal @param {Note["blocks"]} blocks @returns {Note} */
export function noteOf(doc, { links }, signal, blocks, depth = 0) {
  const known = new Map(links.map((link) => [link.target, link.doc_id]));
  const docOf = (target) => (known.has(target) ? known.get(target) : known.get(parted(target)[0]) ?? null);
  const route = (target) => {
    const part = decoded(parted(target)[1]);
    if (known.has(target)) return known.get(target) && address({ doc: known.get(target), lines: "", part });
    const path = beside(doc, target);
    return path && address({ doc: path, lines: "", part });
  };
  return { doc, depth, blocks, route, docOf, signal };
}

/** The id for a path that the memory did not resolve: "../a.md" in "x/y/b.md" is "x/a.md". */
function beside(doc, target) {
  const path = decoded(target.split(/[?#]/)[0]);
  if (!path) return null;
  const parts = path.startsWith("/") ? [] : doc.split("/").slice(0, -1);
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part && part !== ".") parts.push(part);
  }
  const leaf = parts.at(-1) ?? "";
  if (!leaf) return null;
  return /\.\w{1,8}$/.test(leaf) ? parts.join("/") : `${parts.join("/")}.md`;
}

/** A local image of the note; null for anything else. `text` may end with a width: "A rack|300x200". */
export function image({ href, text }, note) {
  const [path] = parted(href);
  const file = decoded(path);
  if (!IMAGE.test(file) || /^[a-z][a-z0-9+.-]*:|^\/\//i.test(file)) return null;
  const [, said, width, height] = /^(.*?)(?:(?:^|\|)(\d{1,4})(?:x(\d{1,4}))?)?$/s.exec(text ?? "");
  const name = said || file.split("/").at(-1);
  const missing = () => element.replaceWith(h("span", { class: "absent", title: "Not found in the folder of this note." }, `image: ${name}`));
  const element = h("img", { src: api.imageOf(note.doc, file), alt: name, width, height, loading: "lazy", decoding: "async", onerror: missing });
  return element;
}

/** The element for ![[target]]; null if it cannot be shown. */
export function embedded({ target, label }, note) {
  const [, part] = parted(target);
  const doc = note.docOf(target);
  if (!doc || note.depth >= DEEPEST) return null;
  const title = label || target.split("/").at(-1).replaceAll(/#\^?/g, " › ");
  const body = h("div", { class: "body" }, "…");
  const fill = async () => {
    try {
      const [answer, links] = await Promise.all([api.read(doc, "", note.signal), api.links(doc, note.signal)]);
      const blocks = await note.blocks(answer, noteOf(doc, links, note.signal, note.blocks, note.depth + 1));
      const chosen = section(blocks.filter((block) => !block.classList.contains("front")), part);
      for (const block of [...body.querySelectorAll("[data-start]"), ...chosen]) delete block.dataset.start;
      show(body, ...(chosen.length ? chosen : [`${part} was not found in this note.`]));
    } catch (failure) {
      if (failure.name !== "AbortError") show(body, failure.message);
    }
  };
  fill();
  return h("div", { class: "embedded" }, h("p", { class: "from" }, h("a", { href: note.route(target), "data-route": true, class: "note" }, title)), body);
}
