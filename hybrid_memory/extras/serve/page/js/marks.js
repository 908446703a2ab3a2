// Which part of a passage to show for a query, and which of its words to mark.

import { h } from "./dom.js";

const WIDTH = 280; // characters of a passage
const LETTER = "[\\p{L}\\p{M}\\p{N}]";
const UNSPACED = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}]/u;

/**
 * Where these words stand in a text. In a script without spaces they are parts of what looks like a word.
 * @param {string} text @param {string[]} words as they are written @returns {[number, number][]}
 */
function spans(text, words) {
  const longest = [...words].sort((a, b) => b.length - a.length);
  const quoted = longest.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  const pattern = quoted.map((word, i) => (UNSPACED.test(longest[i]) ? word : `(?<!${LETTER})${word}(?!${LETTER})`)).join("|");
  return pattern ? joined([...text.matchAll(new RegExp(pattern, "gu"))].map(({ 0: found, index }) => [index, index + found.length])) : [];
}

/** The best passage of a text, with its words marked. @param {string} text @param {string[]} words @returns {(Node | string)[]} */
export function excerpt(text, words) {
  const plain = unmarked(text.replace(/^(?:\s*#{1,6} [^\n]*\n+)+(?=\s*\S)/, ""));
  const all = spans(plain, words);
  const [start, end] = window(plain, all);
  const shown = all.filter(([a, b]) => a >= start && b <= end);
  const inside = shown.map(([a, b]) => [a - start, b - start]);
  return [start > 0 ? "… " : "", ...marked(plain.slice(start, end).trimEnd(), inside), end < plain.length ? " …" : ""];
}

/** A heading without markdown's signs, with its words marked. @param {string} text @param {string[]} [words] */
export function whole(text, words = []) {
  const plain = inline(text);
  return marked(plain, spans(plain, words));
}

/** Markdown without its signs, so that a few lines of it read as text. */
function unmarked(text) {
  const lines = text
    .replace(/%%[^%]*%%|<!--[^]*?-->/g, "")
    .replace(/^[ \t>]*(?:```|~~~).*$|^[ \t]*\|?[ \t:|-]{3,}$|^[ \t]*<\/?[A-Za-z][^<>\n]*>[ \t]*$/gm, "") // fences, rules, the line below a table's head, tags
    .replace(/^[ \t]*> ?\[![\w-]+(?:\|[^\]\n]*)?\][+-]?[ \t]*/gm, "") // the kind of a callout
    .replace(/[ \t]\^[A-Za-z0-9-]+$/gm, "") // the name of a block
    .replace(/^([ \t]*)[-*+] (?:\[( |x|X)\] )?/gm, (_, space, box) => `${space}${box === undefined ? "•" : box === " " ? "☐" : "☑"} `)
    .replace(/^[ \t]*(?:#{1,6} |(?:> ?)+)/gm, "");
  return inline(lines)
    .replace(/^[ \t]*\|(.*)\|[ \t]*$/gm, (_, row) => `\n${row.split("|").map((cell) => cell.trim()).join(" · ")}\n`)
    .replace(/(?<!\n)\n(?![\n•☐☑]|[ \t]+[•☐☑]|[ \t]*\d{1,3}[.)] )/g, " ") // a line break in a paragraph
    .replace(/\n{2,}/g, "\n")
    .trim();
}

const LINK = /!\[\[[^[\]\n]*\]\]|!?\[([^[\]\n]*)\]\([^()\s]*\)|\[\[(?:[^[\]|\n]*\|)?([^[\]|\n]+)\]\]/g;
// Code as it stands; else signs of emphasis in pairs, not inside of words
const SIGNS = /(`+)((?:[^`\n]|\n(?!\s)){1,300})\1|(\*\*|__|==|~~)(?=\S)((?:[^\n]|\n(?!\s)){0,200}?\S)\3|(?<![\p{L}\p{N}*_])([*_])(?=[^\s*_])((?:[^\n*_]|\n(?!\s)){0,200}?[^\s*_])\5(?![\p{L}\p{N}*_])/gu;

/** A line of markdown without its signs. @param {string} text @returns {string} */
export const inline = (text) =>
  text
    .replace(LINK, (_, a, b) => a || b || "")
    .replace(SIGNS, (_, ticks, code, pair, strong, sign, em) => code ?? (strong === undefined ? em : inline(strong)));

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

function joined(found) {
  const sorted = found.sort((a, b) => a[0] - b[0]);
  return sorted.reduce((all, [start, end]) => {
    const last = all.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else all.push([start, end]);
    return all;
  }, []);
}
