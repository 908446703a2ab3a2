"""Where a query's words stand in the original text, and the passage that shows the most of them. Pure."""

import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple

from . import analyzer

SNIPPET = 240  # characters
# A word with its combining marks: no space, no ASCII or general punctuation, no arrow or symbol inside.
_WORD = re.compile(r"[^\W_]+(?:[^\w\s!-~\u00a1-\u00bf\u2000-\u200b\u200e-\u206f\u2190-\u2bff\u3000-\u303f]+[^\W_]*)*")
_ZERO_WIDTH_JOINER = "\u200d"
_EXTENDS = re.compile(  # what unicodedata does not call a mark: joiners, Thai and Lao am, kana marks, skin tones, tags, jamo
    "[\u200c\u200d\u0e33\u0eb3\uff9e\uff9f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\u1160-\u11ff\ud7b0-\ud7fb]"
)
_LEADS = re.compile("[\u1100-\u115f\ua960-\ua97c\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2]")  # jamo, Arabic number signs
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))  # two make a flag
_VIRAMA = 9  # the combining class of what joins two consonants
_STEMS = """
create virtual table words using fts5(word, tokenize = 'porter unicode61 remove_diacritics 2');
create virtual table stems using fts5vocab(words, instance);
"""


class Span(NamedTuple):
    """text[start:end] is a word of the query; `term` names which, whatever its inflection."""

    start: int
    end: int
    term: str


class Highlighter:
    """Finds a query's words in texts as the keyword search does: folded, stemmed by FTS5 itself, grams where words are none."""

    def __init__(self, query: str, texts: Iterable[str]) -> None:
        wanted = [token for term in analyzer.terms(query) for token in term.tokens]
        words = {word for text in texts for match in _WORD.finditer(text) for word in analyzer.searchable(match[0]).split()}
        self._stems = _stems({*wanted, *words})
        self._wanted = {self._stems[token]: token for token in wanted if token in self._stems}
        self._prefixes = [term.tokens[-1] for term in analyzer.terms(query) if term.prefix]

    def spans(self, text: str) -> list[Span]:
        """In order, not overlapping. `text` is one of those given before."""
        found: list[Span] = []
        for match in _WORD.finditer(text):
            for span in self._in_word(text, *_outward(text, *match.span())):
                if found and span.start < found[-1].end:
                    found[-1] = Span(found[-1].start, max(span.end, found[-1].end), found[-1].term)
                else:
                    found.append(span)
        return found

    def snippet(
        self, text: str, before: str, after: str, width: int = SNIPPET, plain: Callable[[str], str] = lambda text: text
    ) -> str:
        """The best passage, words of the query between `before` and `after`, `…` where it is cut; `plain` cleans the text."""
        spans = self.spans(text)
        start, end = passage(text, spans, width)
        parts, at = ["…" if text[:start].strip() else ""], start
        for span in spans:
            if start <= span.start and span.end <= end:
                parts += [plain(text[at : span.start]), before, plain(text[span.start : span.end]), after]
                at = span.end
        return "".join([*parts, plain(text[at:end]), "…" if text[end:].strip() else ""])

    def _in_word(self, text: str, start: int, end: int) -> Iterable[Span]:
        # Folding may lengthen or shorten: `origin` leads from a folded character back to its grapheme.
        edges = [at for at in range(start, end) if begins_grapheme(text, at)] + [end]
        pieces = [analyzer.fold(text[a:b]) for a, b in pairwise(edges)]
        origin = [i for i, piece in enumerate(pieces) for _ in piece]
        for token in analyzer.tokens("".join(pieces)):
            stem = self._stems.get(token.text, token.text)
            length = len(token.text) if stem in self._wanted else self._prefix_length(token.text)
            if length:
                yield Span(edges[origin[token.start]], edges[origin[token.start + length - 1] + 1], stem)

    def _prefix_length(self, token: str) -> int:
        return max((len(prefix) for prefix in self._prefixes if token.startswith(prefix)), default=0)


def _stems(words: Iterable[str]) -> dict[str, str]:
    numbered = list(words)
    conn = sqlite3.connect(":memory:")
    try:
        conn.executescript(_STEMS)
        conn.executemany("insert into words (rowid, word) values (?, ?)", enumerate(numbered))
        return {numbered[number]: stem for number, stem in conn.execute("select doc, term from stems")}
    finally:
        conn.close()


def passage(text: str, spans: list[Span], width: int) -> tuple[int, int]:
    """Start and end of at most `width` characters of the text with the most different words of the query, then the most.

    It begins and ends with a word where one ends nearby, always with a grapheme; one that is wider than `width` stays whole.
    """
    best, first, last = (0, 0), 0, 0
    for i, span in enumerate(spans):
        inside = [other for other in spans[i:] if other.end <= span.start + width]
        rank = (len({other.term for other in inside}), len(inside))
        if rank > best:
            best, first, last = rank, span.start, inside[-1].end
    start = max(0, min(first - (width - (last - first)) // 2, len(text) - width))
    end = min(len(text), start + width)
    start, end = _edge(text, range(start, first + 1)), _edge(text, range(end, last - 1, -1))
    while start < end and text[start].isspace() and begins_grapheme(text, start + 1):
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return _outward(text, start, max(end, min(start + 1, len(text))))


def _edge(text: str, places: range) -> int:
    """The first of the places, of which the last is one, where a word begins or ends; where none is near, a grapheme."""
    graphemes = [at for at in places if begins_grapheme(text, at)]
    near = (at for at in graphemes if abs(at - places[0]) < 24)
    ends = (at for at in near if at in (0, len(text)) or text[at - 1].isspace() != text[at].isspace())
    return next(ends, graphemes[0] if graphemes else places[-1])


def _outward(text: str, start: int, end: int) -> tuple[int, int]:
    """To the edges of the graphemes there."""
    while not begins_grapheme(text, start):
        start -= 1
    while not begins_grapheme(text, end):
        end += 1
    return start, end


def begins_grapheme(text: str, at: int) -> bool:
    """Whether text may be cut there by the rules of Unicode's UAX 29, as far as unicodedata knows them; else rather not."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if before.isascii() and after.isascii():
        return before != "\r" or after != "\n"
    if unicodedata.category(after)[0] == "M" or _EXTENDS.match(after) or before == _ZERO_WIDTH_JOINER:
        return False
    if after.isalnum() and (_LEADS.match(before) or unicodedata.combining(before) == _VIRAMA):
        return False
    if before in _FLAG_LETTERS and after in _FLAG_LETTERS:
        return (at - len(text[:at].rstrip(_FLAG_LETTERS))) % 2 == 0
    return True
