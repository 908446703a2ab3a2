// Marking of query words.

import { h } from "./dom.js";

const LETTER = "[\\p{L}\\p{M}\\p{N}]";
const UNSPACED = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}]/u;

/**
 * Find these words in a text. In scripts without spaces, they may be parts of longer words.
 * @param {string} text @param {string[]} words as written in the text @returns {[number, number][]}
 */
function spans(text, words) {
  const longest = [...words].sort((a, b) => b.length - a.length);
  const quoted = longest.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  const pattern = quoted.map((word, i) => (UNSPACED.test(longest[i]) ? word : `(?<!${LETTER})${word}(?!${LETTER})`)).join("|");
  return pattern ? joined([...text.matchAll(new RegExp(pattern, "gu"))].map(({ 0: found, index }) => [index, index + found.length])) : [];
}

/** The excerpt of a result: pieces of text, every second one a match. @param {string[]} pieces @returns {(Node | string)[]} */
export const excerpt = (pieces) => pieces.map((piece, i) => (i % 2 ? h("mark", {}, piece) : piece));

/** A heading without markdown syntax, with the words marked. @param {string} text @param {string[]} [words] */
export function whole(text, words = []) {
  const plain = inline(text);
  return marked(plain, spans(plain, words));
}

const LINK = /!\[\[[^[\]\n]*\]\]|!?\[([^[\]\n]*)\]\([^()\s]*\)|\[\[(?:[^[\]|\n]*\|)?([^[\]|\n]+)\]\]/g;
// Code, or emphasis: pairs of signs that are not inside words
const SIGNS = /(`+)((?:[^`\n]|\n(?!\s)){1,300})\1|(\*\*|__|==|~~)(?=\S)((?:[^\n]|\n(?!\s)){0,200}?\S)\3|(?<![\p{L}\p{N}*_])([*_])(?=[^\s*_])((?:[^\n*_]|\n(?!\s)){0,200}?[^\s*_])\5(?![\p{L}\p{N}*_])/gu;

/** Remove inline markdown syntax from a text. @param {string} text @returns {string} */
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

function joined(found) {
  const sorted = found.sort((a, b) => a[0] - b[0]);
  return sorted.reduce((all, [start, end]) => {
    const last = all.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else all.push([start, end]);
    return all;
  }, []);
}
