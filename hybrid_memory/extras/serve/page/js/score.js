// How sure a result is, and what its score is made of. The numbers are those of `search --explain`.

import { h, svg } from "./dom.js";

/** A small bar and a word. @param {number} confidence 0 to 1 @param {string} word how good a match that is */
export function confidenceBar(confidence, word) {
  const bar = svg("svg", { viewBox: "0 0 40 4", "aria-hidden": "true" },
    svg("rect", { class: "all", width: 40, height: 4, rx: 2 }),
    svg("rect", { class: "part", width: Math.max(2, confidence * 40), height: 4, rx: 2 }));
  return h("span", { class: `confidence ${word}`, title: `confidence ${confidence.toFixed(2)}` }, bar, word, h("span", { class: "hidden" }, ` (confidence ${confidence.toFixed(2)})`));
}

/** Why this score: a stacked bar of its parts, opened by a click. @param {any} result */
export function why({ score, explain }) {
  if (!explain) return null;
  const parts = [["words", explain.keyword.part], ["meaning", explain.vector.part], ["neighbours", explain.neighbours], ["document", explain.document]];
  if (explain.of_date) parts.push(["date", explain.of_date]);
  if (explain.succession) parts.push(["succession", explain.succession]);
  const bar = svg("svg", { class: "stack", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" }, stack(parts));
  const legend = parts.map(([name, part]) => h("div", { class: `part ${name}` }, h("dt", {}, name), h("dd", {}, part.toFixed(3))));
  const age = explain.decay < 1 && h("div", {}, h("dt", {}, "× age"), h("dd", {}, explain.decay.toFixed(3)));
  return h("details", { class: "why" },
    h("summary", {}, "why", h("span", { class: "hidden" }, ` this score, ${score.toFixed(2)}`)),
    bar, h("dl", {}, h("div", {}, h("dt", { class: "sum" }, "score"), h("dd", {}, score.toFixed(3))), legend, age), h("p", {}, ranks(explain)), h("p", {}, nearness(explain)));
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

function ranks({ keyword, vector }) {
  const said = [];
  if (keyword.rank) said.push(`number ${keyword.rank} by its words`);
  if (vector.rank) said.push(`number ${vector.rank} by its meaning`);
  return said.length ? `It is ${said.join(" and ")}.` : "";
}

function nearness({ terms, coverage, nearness: near }) {
  const words = terms?.length ? `It has ${Math.round(coverage * 100)} % of the question's words, where rare ones count more: ${terms.join(", ")}.` : "It has none of the question's words.";
  return near === null || near === undefined ? words : `${words} The nearness of its meaning is ${near.toFixed(2)}.`;
}
