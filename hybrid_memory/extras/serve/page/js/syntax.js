// Obsidian's extensions of markdown: [[links]] and ![[embeds]], ==marks==, callouts, footnotes, $formulas$, ^names of blocks
// and %%comments%%. Only the worker uses this module.

import { Marked } from "../vendor/marked.js";

const LINK = /^(!?)\[\[([^[\]\n|]{1,400}?)(?:\\?\|([^[\]\n]{0,400}))?\]\]/;
const MARK = /^==(?=[^\s=])([^\n]{0,2000}?[^\s=])==(?!=)/;
const DISPLAYED = /^\$\$([^$]{1,10000})\$\$/;
const FORMULA = /^\$(?![\s$])((?:\\.|[^\\$\n]){0,1000}?(?:\\.|[^\\$\s]))\$(?![\p{L}\d$])/u;
const NOTE_REFERENCE = /^\[\^([^\]\s]{1,100})\](?!:)/;
const ASIDE = /^\^\[([^\]\n]{1,1000})\]/;
const NAME = /^[ \t]\^([A-Za-z0-9-]{1,60})[ \t]*(?=\n|$)/;
const NAME_ALONE = /^\^([A-Za-z0-9-]{1,60})[ \t]*(?:\n+|$)/;
const FORMULA_BLOCK = /^ {0,3}\$\$([^$]{1,10000})\$\$[ \t]*(?:\n+|$)/;
const FOOTNOTE = /^\[\^([^\]\s]{1,100})\]:[ \t]*([^\n]*(?:\n(?![ \t]*\n|\[\^)[^\n]+)*(?:\n+(?: {2,}|\t)[^\n]+)*)(?:\n+|$)/;
const CALLOUT = /^ {0,3}> ?\[!([^[\]\n|]{1,60})(?:\|[^\]\n]*)?\]([+-]?)[ \t]*([^\n]*)(?:\n|$)((?: {0,3}>[^\n]*(?:\n|$))*)/;

/** An inline extension of the parser. `begins` finds possible starts; `token` makes the fields of the token from a match. */
const inline = (name, begins, pattern, token) => ({
  name, level: "inline", start: (text) => { const at = text.search(begins); return at < 0 ? undefined : at; },
  tokenizer(text) {
    const found = pattern.exec(text);
    return found ? { type: name, raw: found[0], ...token.call(this, found) } : undefined;
  },
});

const block = (name, pattern, token) => ({
  name, level: "block",
  tokenizer(text) {
    const found = pattern.exec(text);
    return found ? { type: name, raw: found[0], ...token.call(this, found) } : undefined;
  },
});

const unquoted = (text) => text.replace(/^ {0,3}> ?/gm, "");
const shifted = (text) => text.replace(/\n(?: {2,4}|\t)/g, "\n");

const parser = new Marked({
  extensions: [
    inline("wikilink", /!?\[\[/, LINK, ([, embed, target, label]) => ({ embed: Boolean(embed), target: target.trim(), label: label?.trim() ?? "" })),
    inline("mark", /==/, MARK, function ([, text]) { return { tokens: this.lexer.inlineTokens(text) }; }),
    inline("displayed", /\$\$/, DISPLAYED, ([, text]) => ({ text })),
    inline("formula", /\$/, FORMULA, ([, text]) => ({ text })),
    inline("noteref", /\[\^/, NOTE_REFERENCE, ([, name]) => ({ name })),
    inline("aside", /\^\[/, ASIDE, function ([, text]) { return { tokens: this.lexer.inlineTokens(text) }; }),
    inline("name", /[ \t]\^[A-Za-z0-9-]+[ \t]*(?:\n|$)/, NAME, ([, name]) => ({ name })),
    block("name", NAME_ALONE, ([, name]) => ({ name })),
    block("displayed", FORMULA_BLOCK, ([, text]) => ({ text })),
    block("footnote", FOOTNOTE, function ([, name, text]) { return { name, tokens: this.lexer.blockTokens(shifted(text)) }; }),
    block("callout", CALLOUT, function ([, kind, fold, title, text]) {
      return { kind: kind.trim().toLowerCase(), fold, title: title ? this.lexer.inlineTokens(title) : null, tokens: this.lexer.blockTokens(unquoted(text)) };
    }),
  ],
});

/** Parse a note to tokens. @param {string} text */
export const tokens = (text) => parser.lexer(withoutComments(text));

const SIGN = /^[ \t>]*(`{3,}|~{3,})[^\n]*$|(`+)|%%|<!--/gm;

/** Remove %%comments%% and HTML comments, except in code. Line breaks are kept, so that line numbers stay the same. */
function withoutComments(text) {
  if (!/%%|<!--/.test(text)) return text;
  let shown = "";
  let at = 0;
  SIGN.lastIndex = 0;
  for (let sign = SIGN.exec(text); sign; sign = SIGN.exec(text)) {
    const [raw, fence, ticks] = sign;
    if (fence) SIGN.lastIndex = endOfFence(text, fence, SIGN.lastIndex);
    else if (ticks) SIGN.lastIndex = endOfCode(text, ticks, SIGN.lastIndex);
    else {
      const closing = raw === "%%" ? "%%" : "-->";
      const end = text.indexOf(closing, SIGN.lastIndex);
      if (end < 0) continue;
      shown += text.slice(at, sign.index) + text.slice(sign.index, end).replace(/[^\n]+/g, "");
      at = end + closing.length;
      SIGN.lastIndex = at;
    }
  }
  return shown + text.slice(at);
}

function endOfFence(text, fence, from) {
  const closing = new RegExp(`^[ \\t>]*${fence[0]}{${fence.length},}[ \\t]*$`, "gm");
  closing.lastIndex = from;
  return closing.exec(text) ? closing.lastIndex : text.length;
}

/** The end of inline code. Without closing backquotes in the same paragraph, it is text. */
function endOfCode(text, ticks, from) {
  const end = text.indexOf(ticks, from);
  return end < 0 || /\n[ \t]*\n/.test(text.slice(from, end)) ? from : end + ticks.length;
}
