"""A query, parsed once: what to look for, and what kind of query it is. Pure.

Keyword search, weights, confidence and highlighting all take a `Query`, so that they agree on what was asked.
"""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from . import analyzer
from .analyzer import HUMP, SHORT, TAIL, TOKEN, fold, gram_run, symbolic, tokens
from .characters import storable
from .stop_words import STOP_WORDS

MAX_QUERY = 2000  # characters of a query that are looked at, so that a pasted page costs no more than a paragraph
MAX_TOKENS = 96  # of the terms of a query together, so that a pasted page answers as fast as a long question
MAX_FRAGMENTS = 16  # of a query, in the substring search

_QUOTE = re.compile('["“”„«»]')


class Term(NamedTuple):
    """Something to look for: `tokens` side by side in this order. With `prefix`, the only token may be the start of a word."""

    tokens: tuple[str, ...]
    prefix: bool = False


class Query:
    """What a user asked. With `fts_syntax` the text is an expression in FTS5's own language; the other fields ignore that.

    'what is "exact phrase" in src/a.ts?' has the terms exact+phrase, src+a+ts, src/a.ts, exact, phrase, src and ts,
    of which the last four are its words.
    """

    def __init__(self, text: str, *, fts_syntax: bool = False) -> None:
        self.text = storable(text).replace("\0", " ")
        self.fts_syntax = fts_syntax

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to look for."""
        return not self.text.strip()

    @property
    def terms(self) -> list[Term]:
        """Everything to look for, most specific first, each once: quoted phrases, compounds as phrases and as they stand, words.

        Stop words are left out unless the query has no other words; then the whole query is a phrase, too.
        """
        return self.compounds + self.words

    @property
    def affordable_terms(self) -> list[Term]:
        """The `terms`, shortest first, as many as have MAX_TOKENS tokens together."""
        return _affordable(self.terms)

    @property
    def affordable_words(self) -> list[Term]:
        """The `words`, as many as have MAX_TOKENS tokens together."""
        return _affordable(self.words)

    @property
    def compounds(self) -> list[Term]:
        """The terms of several tokens, and those that hold symbols."""
        return self._terms[0]

    @property
    def words(self) -> list[Term]:
        """The terms that are a single word or gram."""
        return self._terms[1]

    @cached_property
    def _terms(self) -> tuple[list[Term], list[Term]]:
        return _parsed(fold(self.text[:MAX_QUERY]))

    @cached_property
    def name(self) -> str:
        """The whole query as the token of a document's name, "" if it cannot be one; a leading / or ./ is not part of it."""
        return analyzer.name(self.text.strip().removeprefix("./").lstrip("/"))

    @cached_property
    def is_identifier(self) -> bool:
        """Whether the whole query is one word with a digit, a symbol or an inner capital, as names of things have.

        'payment_processor', 'v2.0', 'getUserName' and '2222' are; 'gpu', 'follow-up', 'what's' and 'RFC 9110' are not.
        """
        word = self.text.strip(" \t\n\"'`?!.,")
        if len(word.split()) != 1 or gram_run().search(word):
            return False
        return any(map(str.isdigit, word)) or HUMP.search(word) is not None or bool(symbolic(fold(word).replace("'", "")))

    @cached_property
    def fragments(self) -> tuple[list[str], list[str]]:
        """What a substring search looks for, at most MAX_FRAGMENTS: words in the folded text, all else in the original text.

        Words of fewer than three letters are left out. 'naïve 100% 東京 →' -> ['naive', '100'], ['東京', '→']
        """
        folded: dict[str, None] = {}
        original: dict[str, None] = {}
        pieces = _pieces(self.text[:MAX_QUERY])
        telling = [piece for piece in pieces if _is_telling(piece[0])]
        for piece, has_words in telling or pieces:
            word = analyzer.searchable(piece) if has_words else ""
            if len(word) >= 3:
                folded[word] = None
            elif not piece.isalnum() or not has_words:
                original[piece] = None
        kept = [*folded, *original][:MAX_FRAGMENTS]
        return [piece for piece in kept if piece in folded], [piece for piece in kept if piece not in folded]


def phrase(folded: str) -> Term:
    """Folded text as the index holds it, without the short grams at the end of a run, where the indexed run may go on."""
    found = tokens(folded)
    while found[-1].kind == TAIL:
        found.pop()
    return Term(tuple(token.text for token in found), found[-1].kind == SHORT)


def _affordable(wanted: Iterable[Term]) -> list[Term]:
    chosen, left = [], MAX_TOKENS
    for term in sorted(wanted, key=lambda term: len(term.tokens)):
        left -= len(term.tokens)
        if left < 0:
            break
        chosen.append(term)
    return chosen


def _parsed(folded: str) -> tuple[list[Term], list[Term]]:
    """The compounds and the words of a folded query."""
    compounds: dict[Term, None] = {}
    singles: dict[Term, None] = {}
    for piece, quoted in _quoted_pieces(folded):
        found = tokens(piece)
        singles.update((Term((token.text,), token.kind == SHORT), None) for token in found if token.kind != TAIL)
        if quoted or any(_is_telling(token.text) for token in found):
            if len(found if quoted else TOKEN.findall(piece)) > 1:
                compounds[phrase(piece)] = None
            compounds.update((Term((token,)), None) for token in symbolic(piece))
    telling = [term for term in singles if _is_telling(term.tokens[0])]
    if not telling and len(singles) > 1:
        compounds[phrase(folded)] = None
    return list(compounds), [term for term in telling or singles if term not in compounds]


def _is_telling(token: str) -> bool:
    return token.lower() not in STOP_WORDS


def _quoted_pieces(query: str) -> list[tuple[str, bool]]:
    """(text in double quotes, True), and (word outside of quotes, False). A quote that is never closed does not quote."""
    parts = _QUOTE.split(query)
    quoted = range(1, len(parts) - 1, 2)
    return [(p, i in quoted) for i, part in enumerate(parts) for p in ([part] if i in quoted else part.split())]


def _pieces(text: str) -> list[tuple[str, bool]]:
    """The text cut at white space and where the script changes; False for runs of scripts without spaces and bare symbols.

    '用Docker部署 →' -> ('用', False), ('Docker', True), ('部署', False), ('→', False)
    """
    found = []
    for word in text.split():
        parts = [word] if word.isascii() else filter(None, gram_run().split(word))
        found += [(part, bool(TOKEN.search(part)) and not gram_run().match(part)) for part in parts]
    return found
