// TeX formulas as MathML, by a library that is loaded for the first formula. Formulas that it cannot parse are shown as written.

import { h } from "./dom.js";

const LONGEST = 10000; // characters; a longer formula is shown as written
const AT_ONCE = 40; // formulas drawn before other tasks of the page run
const OPTIONS = { throwOnError: true, trust: false, maxExpand: 500, maxSize: [20, 200] };

let waiting = [];
let library = null;

/** @param {string} source @param {boolean} displayed on a separate line */
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
