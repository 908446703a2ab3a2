// Create elements from plain values. Text stays text: nothing on the page parses HTML.

/** @typedef {Node | string | number | null | undefined | false} Child */

const SVG = "http://www.w3.org/2000/svg";

/**
 * h("a", { class: "x", href: "#", onclick: f }, "text", other): `on…` adds a listener, `true` an attribute without a value;
 * null and false omit an attribute.
 * @param {string} name @param {Record<string, any>} [attributes] @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export const h = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);

/** Like `h`, for SVG. @returns {SVGElement} */
export const svg = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

/** Replace the content of an element, in one step. @param {Element} element @param {...Child} children */
export function show(element, ...children) {
  element.replaceChildren(...children.filter(present));
}

/** @param {string} id */
export const byId = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter(present));
  return element;
}

const present = (child) => child !== null && child !== undefined && child !== false && child !== "";
