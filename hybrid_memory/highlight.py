"""Where a query's words stand in the original text, and the passage that shows the most of them. Pure."""

import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable
from typing import NamedTuple

from . import analyzer

SNIPPET = 240  # characters
# A word with its combining marks: no space, no ASCII or general punctuation, no arrow or symbol inside.
_WORD = re.compile(r"[^\W_]+(?:[^\w\s!-~\u00a1-\u00bf\u2000-\u200b\u200e-\u206f\u2190-\u2bff\u3000-\u303f]+[^\W_]*)*")
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
        prefixes = [term.tokens[-1] for term in analyzer.terms(query) if term.prefix]
        words = {word for text in texts for match in _WORD.finditer(text) for word in analyzer.searchable(match[0]).split()}
        self._stems = _stems({*wanted, *words})
        self._wanted = {self._stems[token]: token for token in wanted if token in self._stems}
        self._prefixes = tuple(prefixes)

    def spans(self, text: str) -> list[Span]:
        """In order, not overlapping. `text` is one of those given before."""
        found: list[Span] = []
        for match in _WORD.finditer(text):
            for span in self._in_word(match[0], match.start()):
                if found and span.start < found[-1].end:
                    found[-1] = Span(found[-1].start, span.end, found[-1].term)
                else:
                    found.append(span)
        return found

    def snippet(
        self, text: str, before: str, after: str, width: int = SNIPPET, plain: Callable[[str], str] = lambda text: text
    ) -> str:
        """The best passage, words of the query between `before` and `after`, `…` where it is cut; `plain` cleans the text."""
        spans = self.spans(text)
        start, end = passage(text, spans, width)
        pieces, at = ["…" if start else ""], start
        for span in spans:
            if start <= span.start and span.end <= end:
                pieces += [plain(text[at : span.start]), before, plain(text[span.start : span.end]), after]
                at = span.end
        return "".join([*pieces, plain(text[at:end]), "…" if end < len(text) else ""]).strip()

    def _in_word(self, word: str, at: int) -> Iterable[Span]:
        # Folding may lengthen or shorten: `origin` leads from a folded character back to the original one.
        pieces = [analyzer.fold(c) for c in word]
        folded = "".join(pieces)
        origin = [i for i, piece in enumerate(pieces) for _ in piece] + [len(word)]
        for token in analyzer.tokens(folded):
            stem = self._stems.get(token.text, token.text)
            if stem in self._wanted or token.text.startswith(self._prefixes):
                yield Span(at + origin[token.start], at + max(origin[token.end], origin[token.end - 1] + 1), stem)


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
    """Start and end of at most `width` characters of the text with the most different words of the query, then the most."""
    if len(text) <= width:
        return 0, len(text)
    best, start, end = (0, 0), 0, 0
    for i, span in enumerate(spans):
        inside = [other for other in spans[i:] if other.end <= span.start + width]
        rank = (len({other.term for other in inside}), len(inside))
        if rank > best:
            best, start, end = rank, span.start, inside[-1].end
    margin = (width - (end - start)) // 2
    start, end = max(0, start - margin), min(len(text), end + margin)
    return _inward(text, start, range(start, min(start + margin, len(text)))), _inward(text, end, range(end, end - margin, -1))


def _inward(text: str, edge: int, places: range) -> int:
    """The first of the places where a word begins or ends; `edge` itself where words are none, unless a mark stands there."""
    if edge in (0, len(text)):
        return edge
    for place in places[:24]:
        if text[place - 1].isspace() != text[place].isspace():
            return place
    return next((place for place in places if unicodedata.category(text[place])[0] not in "MC"), edge)
