"""Finds the words of a query in a text, and the passage with most of them. Pure."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from . import analyzer
from .characters import begins_grapheme, fold
from .query import Query
from .written_days import tokens_of, written_days

SNIPPET = 240  # characters
# A word with its combining marks, without spaces, punctuation, arrows and similar symbols.
_WORD = re.compile(
    r"[^\W_]+(?:[^\w\s!-~\u00a1-\u00bf\u2000-\u200b\u200e-\u206f\u2190-\u2bff\u3000-\u303f]+[^\W_]*)*"
)

Stemmer = Callable[[Iterable[str]], Mapping[str, str]]  # tokens -> token: stem


class Span(NamedTuple):
    """A word of the query, text[start:end]. `term` identifies it, and is the same for all
    inflections.
    """

    start: int
    end: int
    term: str


class Highlighter:
    """Finds the words of a query in texts by the rules of keyword search: folded, stemmed, and in
    grams in scripts without spaces.

    `texts` are all texts that will be highlighted. `stemmer` is the one of the keyword index.
    """

    def __init__(self, query: Query, texts: Iterable[str], stemmer: Stemmer) -> None:
        wanted = [token for term in query.terms for token in term.tokens]
        words = {
            word
            for text in texts
            for match in _WORD.finditer(text)
            for word in analyzer.searchable(match[0]).split()
        }
        self._stems = stemmer({*wanted, *words})
        self._wanted = {self._stems[token]: token for token in wanted if token in self._stems}
        self._prefixes = [term.tokens[-1] for term in query.terms if term.prefix]
        self._days = tuple(token for period in query.periods for token in period.tokens())
        self._in_words: dict[str, list[Span]] = {}  # word -> its parts that match the query

    def spans(self, text: str) -> list[Span]:
        """The words of the query in one of the `texts`, in order and without overlap."""
        days = self._written_days(text)
        spans: list[Span] = []
        for match in _WORD.finditer(text):
            while days and days[0].start <= match.start():
                spans.append(days.pop(0))
            if spans and match.start() < spans[-1].end:
                continue
            at, end = _to_graphemes(text, *match.span())
            word = text[at:end]
            if word not in self._in_words:
                self._in_words[word] = [*self._in_word(word)]
            for in_word in self._in_words[word]:
                span = Span(at + in_word.start, at + in_word.end, in_word.term)
                if spans and span.start < spans[-1].end:
                    last = spans[-1]
                    spans[-1] = last._replace(end=max(span.end, last.end))
                else:
                    spans.append(span)
        return spans + days

    def _written_days(self, text: str) -> list[Span]:
        """The days of the query that a text writes, in any form."""
        folded = fold(text).lower() if self._days else ""
        if len(folded) != len(text):
            return []  # positions in the folded text are others
        return [
            Span(day.start, day.end, day.date)
            for day in written_days(folded)
            if any(token.startswith(self._days) for token in tokens_of(day.date))
        ]

    def snippet(self, text: str, before: str, after: str, width: int = SNIPPET) -> str:
        """The best passage of at most `width` characters, with `…` where the text is cut.

        Words of the query are put between `before` and `after`.
        """
        spans = self.spans(text)
        start, end = passage(text, spans, width)
        parts = ["…" if text[:start].strip() else ""]
        at = start
        for span in spans:
            if start <= span.start and span.end <= end:
                parts += [text[at : span.start], before, text[span.start : span.end], after]
                at = span.end
        return "".join([*parts, text[at:end], "…" if text[end:].strip() else ""])

    def _in_word(self, word: str) -> Iterable[Span]:
        # Folding can change the number of characters: `origin` maps a folded character to its
        # grapheme.
        edges = [at for at in range(len(word)) if begins_grapheme(word, at)] + [len(word)]
        pieces = [fold(word[a:b]) for a, b in pairwise(edges)]
        origin = [i for i, piece in enumerate(pieces) for _ in piece]
        for token in analyzer.tokens("".join(pieces)):
            stem = self._stems.get(token.text, token.text)
            if stem in self._wanted:
                length = len(token.text)
            else:
                length = self._prefix_length(token.text)
            if length:
                yield Span(
                    edges[origin[token.start]], edges[origin[token.start + length - 1] + 1], stem
                )

    def _prefix_length(self, token: str) -> int:
        return max(
            (len(prefix) for prefix in self._prefixes if token.startswith(prefix)), default=0
        )


def passage(text: str, spans: list[Span], width: int) -> tuple[int, int]:
    """Return start and end of the best passage: the one with the most different words of the query,
    then with the most words.

    It has at most `width` characters, unless a single grapheme is longer. It begins and ends at a
    word boundary if one is near, and always at a grapheme boundary.
    """
    first, last = _densest(spans, width)
    start = max(0, min(first - (width - (last - first)) // 2, len(text) - width))
    end = min(len(text), start + width)
    start = _edge(text, range(start, first + 1))
    end = _edge(text, range(end, last - 1, -1))
    while start < end and text[start].isspace() and begins_grapheme(text, start + 1):
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return _to_graphemes(text, start, max(end, min(start + 1, len(text))))


def _densest(spans: list[Span], width: int) -> tuple[int, int]:
    """Return start and end of the spans within `width` characters with the most terms, then the
    most spans; (0, 0) without spans.
    """
    best = (0, 0)
    densest = (0, 0)
    inside: Counter[str] = Counter()  # the terms of spans[i:after]
    after = 0
    for i, span in enumerate(spans):
        while after < len(spans) and spans[after].end <= span.start + width:
            inside[spans[after].term] += 1
            after += 1
        rank = (len(inside), after - i)
        if rank > best:
            best = rank
            densest = (span.start, spans[after - 1].end)
        if after == i:  # the span itself is too long
            after += 1
        elif inside[span.term] == 1:
            del inside[span.term]
        else:
            inside[span.term] -= 1
    return densest


def _edge(text: str, places: range) -> int:
    """The first of these positions at a word boundary; if none is near, the first at a grapheme
    boundary.
    """
    graphemes = [at for at in places if begins_grapheme(text, at)]
    near = (at for at in graphemes if abs(at - places[0]) < 24)
    ends = (
        at for at in near if at in (0, len(text)) or text[at - 1].isspace() != text[at].isspace()
    )
    return next(ends, graphemes[0] if graphemes else places[-1])


def _to_graphemes(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen the range to grapheme boundaries."""
    while not begins_grapheme(text, start):
        start -= 1
    while not begins_grapheme(text, end):
        end += 1
    return start, end
