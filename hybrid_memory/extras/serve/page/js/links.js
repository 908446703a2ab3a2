// Links in the text of a note, which is untrusted: only http, https, mailto and other notes are allowed.

import { h } from "./dom.js";
import { decoded } from "./places.js";

const SAFE = new Set(["http:", "https:", "mailto:"]);

/** A link to a safe target, or else the text as written in the note. */
export function link(href, children, raw, note) {
  if (/^[a-z][a-z0-9+.-]*:/i.test(href) || href.startsWith("//")) {
    const url = parsed(href);
    if (!url || !SAFE.has(url.protocol)) return raw;
    return h("a", { href: url.href, rel: "noreferrer noopener", target: "_blank", class: "outside", title: url.href }, children);
  }
  if (href.startsWith("#")) return h("a", { href: "#", "data-jump": decoded(href.slice(1)) }, children);
  const there = note.route(href);
  return there ? h("a", { href: there, "data-route": true, class: "note" }, children) : raw;
}

function parsed(href) {
  try {
    return new URL(href);
  } catch {
    return null;
  }
}
