"""The terms of a text: its words as FTS5 cuts and stems them.

SQLite is the tokenizer, in memory, so that a word has the same stem in both engines whatever its script. Every word is
tokenized once in the life of a process.
"""

import sqlite3
from collections.abc import Sequence
from hashlib import sha256
from itertools import chain

from ...stems import WORDS_AND_STEMS

LONGEST = 500  # characters of a term: PostgreSQL indexes values of up to 2,700 bytes
MOST_KNOWN = 200_000  # words that are kept in memory

TOKENS = "select doc, term from stems order by doc, offset"


class Tokenizer:
    """Words -> terms."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}

    def terms(self, texts: Sequence[str]) -> list[list[str]]:
        """The terms of each text, in order. Texts are words separated by spaces, as the analyzer writes them."""
        split = [text.split(" ") if text else [] for text in texts]
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        known = self._known
        if new := set().union(*split).difference(known):
            known.update(_tokenized(list(new)))
        return [list(chain.from_iterable(map(known.__getitem__, words))) for words in split]


def _tokenized(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {word: [] for word in words}
    conn = sqlite3.connect(":memory:")
    try:
        conn.executescript(WORDS_AND_STEMS)
        conn.executemany("insert into words (rowid, word) values (?, ?)", enumerate(words))
        for number, term in conn.execute(TOKENS):
            found[words[number]].append(fitting(term))
    finally:
        conn.close()
    return {word: tuple(terms) for word, terms in found.items()}


def fitting(term: str) -> str:
    """The term, the end of a long one replaced by its digest."""
    return term if len(term) <= LONGEST else term[:LONGEST] + sha256(term.encode()).hexdigest()
