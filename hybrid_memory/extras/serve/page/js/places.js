// Targets of links within a document: headings and named blocks. Headings have a slug in `data-slug`, blocks a name in
// `data-block`.

/** Normalise the text of a heading, or of a `#heading` in a link, for comparison. @param {string} text */
export const slug = (text) => text.toLowerCase().replace(/[^\p{L}\p{M}\p{N}_\- ]/gu, "").trim().replace(/[\s-]+/g, "-");

/** "a.md#Plan#Next" -> ["a.md", "Plan#Next"] @param {string} target @returns {[string, string]} */
export function parted(target) {
  const at = target.indexOf("#");
  return at < 0 ? [target, ""] : [target.slice(0, at), target.slice(at + 1)];
}

/** Find the element for a part: "Plan", "Plan#Next" (the heading Next below Plan), "^block". @param {Element} root @param {string} part @returns {HTMLElement | null} */
export function find(root, part) {
  if (part.startsWith("^")) return root.querySelector(`[data-block="${CSS.escape(part.slice(1).toLowerCase())}"]`);
  let headings = [...root.querySelectorAll("[data-slug]")];
  let found = null;
  for (const title of part.split("#")) {
    const at = headings.findIndex((heading) => heading.dataset.slug === slug(title));
    if (at < 0) return null;
    found = headings[at];
    headings = headings.slice(at + 1);
  }
  return found;
}

/** The blocks of a part. A heading includes all blocks below it. @param {HTMLElement[]} blocks @param {string} part @returns {HTMLElement[]} */
export function section(blocks, part) {
  const root = document.createElement("div");
  root.append(...blocks);
  const found = part && find(root, part);
  if (!found) return part ? [] : blocks;
  if (!found.dataset.slug) return [found];
  const first = blocks.findIndex((block) => block.contains(found));
  const end = blocks.findIndex((block, i) => i > first && block.dataset.level && block.dataset.level <= found.dataset.level);
  return blocks.slice(first, end < 0 ? blocks.length : end);
}

/** Decode percent-encoding; a text with invalid encoding stays as it is. @param {string} text */
export function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
