// Formulas in TeX as MathML, by a library that is loaded with the first of them. What it cannot read is shown as it stands.

import { h } from "./dom.js";

const LONGEST = 10000; // characters
const AT_ONCE = 40;
const OPTIONS = { throwOnError: true, trust: false, maxExpand: 500, maxSize: [20, 200] };

let waiting = [];
let library = null;

/** @param {string} source @param {boolean} displayed in a line of its own */
export function formula(source, displayed) {
  const element = h(displayed ? "div" : "span", { class: "formula", dir: "ltr", title: source.trim() }, h("code", {}, source.trim()));
  if (source.length <= LONGEST) {
    if (!waiting.length) setTimeout(draw);
    waiting.push([element, source, displayed]);
  }
  return element;
}

async function draw() {
  try {
    library ??= (await import("../vendor/temml.js")).default;
  } catch {
    waiting = [];
    return;
  }
  for (const [element, source, displayMode] of waiting.splice(0, AT_ONCE)) {
    const drawn = document.createElement("span");
    try {
      library.render(source, drawn, { ...OPTIONS, displayMode });
      element.replaceChildren(...drawn.childNodes);
    } catch {
      element.classList.add("unread");
    }
  }
  if (waiting.length) setTimeout(draw);
}
