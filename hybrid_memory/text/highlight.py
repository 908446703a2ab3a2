"""Where the words of a query stand in a text, and the passage that shows most of them. Pure."""

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from . import analyzer
from .characters import begins_grapheme
from .query import Query

SNIPPET = 240  # characters
# A word with its combining marks: no space, no ASCII or general punctuation, no arrow or symbol inside.
_WORD = re.compile(r"[^\W_]+(?:[^\w\s!-~\u00a1-\u00bf\u2000-\u200b\u200e-\u206f\u2190-\u2bff\u3000-\u303f]+[^\W_]*)*")

Stemmer = Callable[[Iterable[str]], Mapping[str, str]]  # tokens -> token: stem


class Span(NamedTuple):
    """A word of the query in a text: text[start:end]. `term` says which word, whatever its inflection."""

    start: int
    end: int
    term: str


class Highlighter:
    """Finds the words of a query in texts as the keyword search does: folded, stemmed, by grams in scripts without spaces.

    `texts` are all the texts that will be asked about, `stemmer` is that of the keyword index.
    """

    def __init__(self, query: Query, texts: Iterable[str], stemmer: Stemmer) -> None:
        wanted = [token for term in query.terms for token in term.tokens]
        words = {word for text in texts for match in _WORD.finditer(text) for word in analyzer.searchable(match[0]).split()}
        self._stems = stemmer({*wanted, *words})
        self._wanted = {self._stems[token]: token for token in wanted if token in self._stems}
        self._prefixes = [term.tokens[-1] for term in query.terms if term.prefix]

    def spans(self, text: str) -> list[Span]:
        """The words of the query in one of the `texts`, in order and without overlap."""
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
        """The best passage of at most `width` characters, with `…` where it is cut.

        Words of the query stand between `before` and `after`. `plain` is applied to the text in between and around them.
        """
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


def passage(text: str, spans: list[Span], width: int) -> tuple[int, int]:
    """Start and end of the best passage: the most different words of the query, then the most words.

    The passage has at most `width` characters, unless a single grapheme is wider. It begins and ends at the edge of a word
    where one is near, and always at the edge of a grapheme.
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
    """The first of these places where a word begins or ends; where none is near, the first where a grapheme does."""
    graphemes = [at for at in places if begins_grapheme(text, at)]
    near = (at for at in graphemes if abs(at - places[0]) < 24)
    ends = (at for at in near if at in (0, len(text)) or text[at - 1].isspace() != text[at].isspace())
    return next(ends, graphemes[0] if graphemes else places[-1])


def _outward(text: str, start: int, end: int) -> tuple[int, int]:
    """The range, widened to the edges of graphemes."""
    while not begins_grapheme(text, start):
        start -= 1
    while not begins_grapheme(text, end):
        end += 1
    return start, end
