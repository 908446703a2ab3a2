// The confidence of a result and the parts of its score. The numbers are the same as in `search --explain`.

import { h, svg } from "./dom.js";

/** A small bar and a word. @param {number} confidence 0 to 1 @param {string} word quality of the match */
export function confidenceBar(confidence, word) {
  const bar = svg("svg", { viewBox: "0 0 40 4", "aria-hidden": "true" },
    svg("rect", { class: "all", width: 40, height: 4, rx: 2 }),
    svg("rect", { class: "part", width: Math.max(2, confidence * 40), height: 4, rx: 2 }));
  return h("span", { class: `confidence ${word}`, title: `confidence ${confidence.toFixed(2)}` }, bar, word, h("span", { class: "hidden" }, ` (confidence ${confidence.toFixed(2)})`));
}

/** The explanation of a score, folded away: a stacked bar of its parts. @param {any} result */
export function why({ score, explain }) {
  if (!explain) return null;
  const parts = contributions(explain.trace);
  const bar = svg("svg", { class: "stack", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" }, stack(parts));
  const steps = explain.trace.map((step) => {
    const isFactor = "multiply" in step;
    const number = isFactor ? step.multiply : step.add;
    return h("div", { class: isFactor ? "factor" : `part ${step.name}` },
      h("dt", {}, (isFactor ? "× " : "") + label(step.name)), h("dd", {}, number.toFixed(3)));
  });
  return h("details", { class: "why" },
    h("summary", {}, "why", h("span", { class: "hidden" }, ` this score, ${score.toFixed(2)}`)),
    bar, h("dl", {}, h("div", {}, h("dt", { class: "sum" }, "score"), h("dd", {}, score.toFixed(3))), steps), h("p", {}, ranks(explain)), h("p", {}, nearness(explain)));
}

const LABELS = { keyword: "words", vector: "meaning", decay: "age" };

function label(name) {
  return LABELS[name] ?? name;
}

/** What each added part is in the score, after all later factors. @param {any[]} trace evaluated from left to right */
function contributions(trace) {
  let factor = 1;
  const parts = [];
  for (const step of [...trace].reverse()) {
    if ("multiply" in step) factor *= step.multiply;
    else parts.unshift([step.name, step.add * factor]);
  }
  return parts;
}

function stack(parts) {
  let x = 0;
  return parts.map(([name, part]) => {
    const width = Math.max(0, part * 100);
    const rect = svg("rect", { class: name, x, width, height: 4 });
    x += width;
    return rect;
  });
}

function ranks({ trace }) {
  const said = trace.filter((step) => step.rank).map((step) => `${step.rank} by ${label(step.name)}`);
  return said.length ? `Rank ${said.join(" and ")}.` : "";
}

function nearness({ terms, coverage, nearness: near }) {
  const words = terms?.length ? `It contains ${Math.round(coverage * 100)} % of the query's words, weighted by rarity: ${terms.join(", ")}.` : "It contains none of the query's words.";
  return near === null || near === undefined ? words : `${words} Similarity of meaning: ${near.toFixed(2)}.`;
}
