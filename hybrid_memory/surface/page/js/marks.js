// Which part of a passage to show for a query, and which of its words to mark.

import { h } from "./dom.js";

const WIDTH = 280; // characters of a passage
const WORD = /[\p{L}\p{N}_][\p{L}\p{M}\p{N}_]*/gu;
const UNSPACED = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}]/u;

/**
 * Where the words stand in a text; an inflection of a word is marked, too.
 * @param {string} text @param {string[]} terms @returns {[number, number][]}
 */
export function spans(text, terms) {
  const wanted = terms.flatMap((term) => fold(term).match(WORD) ?? []);
  const found = [];
  for (const match of text.matchAll(WORD)) {
    const word = fold(match[0]);
    if (UNSPACED.test(word)) {
      for (const term of wanted) {
        const at = match[0].toLowerCase().indexOf(term);
        if (at >= 0) found.push([match.index + at, match.index + at + term.length]);
      }
    } else if (wanted.some((term) => same(word, term))) found.push([match.index, match.index + match[0].length]);
  }
  return joined(found);
}

/** The best passage of a text, with its words marked. @param {string} text @param {string[]} terms @returns {(Node | string)[]} */
export function excerpt(text, terms) {
  const plain = unmarked(text.replace(/^(?:\s*#{1,6} [^\n]*\n+)+(?=\s*\S)/, ""));
  const all = spans(plain, terms);
  const [start, end] = window(plain, all);
  const shown = all.filter(([a, b]) => a >= start && b <= end);
  const inside = shown.map(([a, b]) => [a - start, b - start]);
  return [start > 0 ? "… " : "", ...marked(plain.slice(start, end).trimEnd(), inside), end < plain.length ? " …" : ""];
}

/** A short text, such as a heading, with its words marked. @param {string} text @param {string[]} terms */
export const whole = (text, terms) => marked(text, spans(text, terms));

/** Markdown without its signs, so that a few lines of it read as text. */
function unmarked(text) {
  return text
    .replace(/^[ \t]*(?:```|~~~).*$|^[ \t]*\|?[ \t:|-]{3,}$/gm, "") // fences, rules, and the line below a table's head
    .replace(/^([ \t]*)[-*+] (?:\[( |x|X)\] )?/gm, (_, space, box) => `${space}${box === undefined ? "•" : box === " " ? "☐" : "☑"} `)
    .replace(/^[ \t]*(?:#{1,6} |> ?)/gm, "")
    .replace(/!?\[([^[\]\n]*)\]\([^()\s]*\)|\[\[(?:[^[\]|\n]*\|)?([^[\]|\n]+)\]\]/g, (_, a, b) => a || b || "")
    .replace(/(\*\*|__|`)(?=\S)([^\n]{1,200}?\S)\1|`([^`\s])`/g, (_, sign, a, b) => a ?? b)
    .replace(/^[ \t]*\|(.*)\|[ \t]*$/gm, (_, row) => `\n${row.split("|").map((cell) => cell.trim()).join(" · ")}\n`)
    .replace(/(?<!\n)\n(?![\n•☐☑]|[ \t]+[•☐☑])/g, " ") // a line break in a paragraph
    .replace(/\n{2,}/g, "\n")
    .trim();
}

function marked(text, where) {
  const parts = [];
  let at = 0;
  for (const [start, end] of where) {
    parts.push(text.slice(at, start), h("mark", {}, text.slice(start, end)));
    at = end;
  }
  return [...parts, text.slice(at)];
}

/** The stretch of WIDTH characters with the most marks, begun and ended between words. */
function window(text, all) {
  if (text.length <= WIDTH * 1.25) return [0, text.length];
  const count = ([from]) => all.filter(([a, b]) => a >= from && b <= from + WIDTH * 0.8).length;
  const best = all.reduce((most, span) => (count(span) > count(most) ? span : most), all[0] ?? [0, 0]);
  let start = Math.max(0, Math.min(best[0] - 60, text.length - WIDTH));
  let end = Math.min(text.length, start + WIDTH);
  if (start > 0) start += Math.max(0, text.slice(start, start + 24).search(/\s\S/) + 1);
  if (end < text.length) end += Math.max(0, text.slice(end, end + 24).search(/\s/));
  return [start, end];
}

const fold = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

/** Whether two folded words are one, but for an English ending. */
const same = (word, term) => word === term || stem(word) === stem(term);

const stem = (word) => word.replace(/(?<=...)(?:ing|ed|ies|es|s|er|e|y)$/, "").replace(/(.)\1$/, "$1");

function joined(found) {
  const sorted = found.sort((a, b) => a[0] - b[0]);
  return sorted.reduce((all, [start, end]) => {
    const last = all.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else all.push([start, end]);
    return all;
  }, []);
}
