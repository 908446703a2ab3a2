"""Soft coverage: how much of a query a chunk has, from 0 to 1.

BM25 adds up what words are worth, so a chunk that repeats one rare word can rank above a chunk with
all words of the query. The coverage is the share of the words that a chunk has. A word weighs

    inverse document frequency x length of its vector

because the vectors of the built-in English model are short for words that say little, such as "try"
and "want". Of this weight counts

    1          if the text has the word
    SAME_STEM  if it has another form of the word
    up to 1    if it has a near word: (cosine - UNRELATED) / (1 - UNRELATED)

The headings above the text, the path and the front matter count like the text. Chinese, Japanese,
Korean and Thai words are grams, which a text contains or not (text/analyzer.py).

Near words and the lengths of vectors are used with embeddings of the built-in English model; with
others, every length is 1. The figures were found on judged collections (docs/measurements.md).
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from ..embedding.near_words import NearWords
from ..storage.bm25 import stems
from ..storage.rows import Candidate
from ..text import analyzer
from ..text.characters import fold, pattern
from ..text.scripts import GRAM_RUN, has_gram_run
from ..text.terms import texts_in
from ..text.written_days import date_of_token, tokens_of, written_days

if TYPE_CHECKING:
    from ..embedding.near_words import NearWords
    from ..storage.interface import Storage
    from ..text.query import Query

SAME_STEM = 0.9
UNRELATED = 0.3  # the cosine of words that have nothing in common
START = 3  # letters that the forms of a word share
# For bytes.translate: a text is cut at ASCII characters that are no letters or digits
CUT = bytes(code if code >= 0x80 or chr(code).isalnum() else 0x20 for code in range(0x100))

# Words of the query, how much of each, and whether it is the word itself, in any form
Worth = list[tuple[str, float, bool]]


class Coverage:
    """How much of a query a chunk has."""

    def __init__(self, share: float, parts: Mapping[str, float], terms: Sequence[str]) -> None:
        self.share = share  # 0 to 1, weighted
        self.parts = parts  # word of the query, folded -> how much of it, above 0
        self.terms = terms  # the words that the chunk has in any form, not only near ones


def of_chunks(
    storage: "Storage", query: "Query", rarities: Mapping[str, float], chunks: Sequence[Candidate]
) -> dict[int, Coverage]:
    """The coverage of chunks by chunks.id, for one state of the store.

    `rarities` are the inverse document frequencies of the query's words, from `BM25Index.rarities`.
    If it is empty, no chunk has any word; the coverage then is the share of the query's fragments
    that a chunk contains.
    """
    if not rarities:
        return {chunk.id: _of_fragments(query, chunk) for chunk in chunks}
    is_english = (storage.embeddings.identity() or {}).get("provider") == "builtin"
    near_words = _near_words() if is_english else None
    weights = _weights(query, rarities, near_words)
    texts = {chunk.id: [chunk.text, *_besides(chunk)] for chunk in chunks}
    pieces = _Pieces(chain.from_iterable(texts.values()))
    worth = _worth(query, pieces, near_words)
    sequences = [form for form in query.forms if len(form.tokens) > 1]
    days = [word for word in rarities if date_of_token(word) != word]
    total = sum(weights.values())
    coverages = {}
    for chunk in chunks:
        parts: dict[str, float] = {}
        terms: set[str] = set()
        for text in texts[chunk.id]:
            for piece in pieces.of[text] & worth.keys():
                for word, part, is_word in worth[piece]:
                    parts[word] = max(part, parts.get(word, 0.0))
                    if is_word:
                        terms.add(word)
            found = [day for day in days if day in _days_in(text)]
            for form in sequences:
                if _has_in_sequence(text, form.tokens, pieces):
                    found += form.words
            terms.update(found)
            parts |= dict.fromkeys(found, 1.0)
        of_own: dict[str, float] = {}
        for word in rarities:
            if word in parts:
                own = query.original_word(word)
                of_own[own] = max(parts[word], of_own.get(own, 0.0))
        share = sum(weights[own] * part for own, part in of_own.items()) / total
        coverages[chunk.id] = Coverage(
            min(share, 1.0),
            {word: parts[word] for word in rarities if word in parts},
            [word for word in rarities if word in terms],
        )
    return coverages


@lru_cache(256)
def _days_in(text: str) -> frozenset[str]:
    """The tokens of the days that a text writes, in any form."""
    written = written_days(fold(text).lower())
    return frozenset(token for day in written for token in tokens_of(day.date))


@cache
def _near_words() -> "NearWords":
    return NearWords()


def _weights(
    query: "Query", rarities: Mapping[str, float], near_words: "NearWords | None"
) -> dict[str, float]:
    """The weight of each word of the query: of the most common of its substitutes or alternatives."""
    weights: dict[str, float] = {}
    for word, rarity in rarities.items():
        weight = rarity
        if near_words is not None and word.isascii():
            weight *= near_words.weight(word.lower())
        own = query.original_word(word)
        weights[own] = min(weight, weights.get(own, weight))
    return weights


def _besides(chunk: Candidate) -> list[str]:
    """What is indexed with a chunk besides its text."""
    path = analyzer.stem(chunk.doc_id.removeprefix(f"{chunk.collection}/"))
    texts = [chunk.heading_path, chunk.items, path]
    if chunk.metadata:
        texts += texts_in(json.loads(chunk.metadata))
    return texts


class _Pieces:
    """Texts, cut into pieces, and the tokens of the pieces.

    Cutting at ASCII characters is fast, and most pieces are lower-case ASCII words: tokens as they
    are. Every other piece is folded once, and may have several tokens.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.of = {
            text: set(text.encode().translate(CUT).decode().split())
            for text in dict.fromkeys(texts)
        }
        every: set[str] = set().union(*self.of.values())
        special = [piece for piece in every if not (piece.isascii() and piece.islower())]
        self._plain = every.difference(special)
        self._with_token: dict[str, list[str]] = {}  # special pieces
        # Pieces in scripts without spaces, and all of them folded, one on each line
        self._with_runs: list[str] = []
        self._runs = ""
        for piece in special:
            if piece.isascii():
                parts = analyzer.camel_words(piece) if analyzer.HUMP.search(piece) else ""
                self._add(piece, [piece.lower(), *parts.lower().split()])
        self._add_folded([piece for piece in special if not piece.isascii()])

    def _add_folded(self, pieces: Sequence[str]) -> None:
        if not pieces:
            return
        folded = fold("\n".join(pieces)).lower()
        has_runs = has_gram_run(folded)
        runs = []
        for piece, text in zip(pieces, folded.split("\n"), strict=True):
            if has_runs and pattern(GRAM_RUN).search(text):
                self._with_runs.append(piece)
                runs.append(text)
                text = pattern(GRAM_RUN).sub(" ", text)
            self._add(piece, [text] if text.isalnum() else analyzer.whole_tokens(text))
        self._runs = "\n".join(runs)
        self._starts = list(accumulate((len(run) + 1 for run in runs), initial=0))

    def _add(self, piece: str, tokens: Iterable[str]) -> None:
        for token in tokens:
            self._with_token.setdefault(token, []).append(piece)

    def with_token(self, token: str) -> list[str]:
        """The pieces that have a token."""
        pieces = self._with_token.get(token, [])
        return [token, *pieces] if token in self._plain else pieces

    def with_run(self, letters: str) -> Iterator[str]:
        """The pieces with these letters in a script without spaces."""
        at = self._runs.find(letters)
        while at >= 0:
            place = bisect_right(self._starts, at) - 1
            yield self._with_runs[place]
            at = self._runs.find(letters, self._starts[place + 1])

    def beginning_with(self, starts: tuple[str, ...]) -> list[str]:
        """The tokens that begin with one of these letters."""
        tokens = chain(self._plain, self._with_token)
        return [token for token in tokens if token.startswith(starts)]

    def containing(self, letters: str) -> list[str]:
        """The tokens with these letters, which are not ASCII."""
        return [token for token in self._with_token if letters in token]


def _worth(query: "Query", pieces: _Pieces, near_words: "NearWords | None") -> dict[str, Worth]:
    """Piece -> the words of the query that it stands for, and how much of each."""
    terms = [(term.tokens[0].lower(), term) for term in query.limited_words]
    alike = _alike([word for word, _ in terms], pieces)
    stem_of = stems({*alike, *(word for word, _ in terms)})
    worth: dict[str, Worth] = {}
    for word, term in terms:
        stem = stem_of.get(word, word)
        forms = {token: SAME_STEM for token in alike if stem_of.get(token, token) == stem}
        if term.prefix:
            forms |= dict.fromkeys(pieces.beginning_with((word,)), 1.0)
        forms[word] = 1.0
        near = dict(near_words.of(word)) if near_words is not None else {}
        own = term.tokens[0]
        for token, part in forms.items():
            for piece in pieces.with_token(token):
                worth.setdefault(piece, []).append((own, part, True))
        for token in near.keys() - forms.keys():
            part = (near[token] - UNRELATED) / (1 - UNRELATED)
            for piece in pieces.with_token(token):
                worth.setdefault(piece, []).append((own, part, False))
        for piece in pieces.with_run(word):
            worth.setdefault(piece, []).append((own, 1.0, True))
    for form in query.forms:
        if len(form.tokens) == 1:
            for piece in pieces.with_token(form.tokens[0].lower()):
                worth.setdefault(piece, []).extend((word, 1.0, True) for word in form.words)
    return worth


def _has_in_sequence(text: str, tokens: Sequence[str], pieces: _Pieces) -> bool:
    """Whether a text has these tokens side by side."""
    found = pieces.of[text]
    if any(found.isdisjoint(pieces.with_token(token.lower())) for token in tokens):
        return False
    pattern = r"[\W_]+".join(re.escape(token.lower()) for token in tokens)
    return re.search(rf"(?<!\w){pattern}(?!\w)", fold(text).lower()) is not None


def _alike(words: Sequence[str], pieces: _Pieces) -> set[str]:
    """The tokens that may be forms of a word: those with the same START; in other alphabets than
    Latin, those that contain the stem, which is a part of every form (text/stemming.py).
    """
    latin = tuple(word[:START] for word in words if word.isascii())
    alike = set(pieces.beginning_with(latin)) if latin else set()
    for word in words:
        if not (word.isascii() or has_gram_run(word)):
            alike.update(pieces.containing(analyzer.stemmed(word)))
    return alike


def _of_fragments(query: "Query", chunk: Candidate) -> Coverage:
    """The coverage by symbols and parts of words, for a query none of whose words any chunk has."""
    text = "\n".join([chunk.text, *_besides(chunk)]).lower()
    fragments = [fragment.lower() for fragment in query.fragments]
    has = [fragment for fragment in fragments if fragment in text]
    return Coverage(len(has) / max(len(fragments), 1), dict.fromkeys(has, 1.0), has)
