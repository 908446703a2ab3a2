"""Split texts into terms as FTS5 does, for an engine that is not SQLite.

The terms of a text are its words as FTS5 splits and stems them. A SQLite database in memory does
this, so that a word has the same stem in both engines, in any script. Every word is tokenized once
in the life of a process.
"""

import sqlite3
from collections.abc import Collection, Sequence
from functools import cached_property
from hashlib import sha256

from ...storage.bm25 import WORDS_AND_STEMS

LONGEST = 500  # characters of a term: PostgreSQL indexes values of up to 2,700 bytes
MOST_KNOWN = 200_000  # words that are kept in memory

TOKENS = "select doc, term from stems order by doc, offset"


class Tokenizer:
    """Turns words into terms."""

    def __init__(self) -> None:
        # Of each word: one, or for a few words none or several
        self._terms: dict[str, list[str]] = {}

    def terms(self, texts: Sequence[str]) -> list[list[str]]:
        """The terms of each text, in order. Texts are words separated by spaces, as the analyzer
        writes them.
        """
        split = [text.split() for text in texts]
        if len(self._terms) > MOST_KNOWN:
            self._terms.clear()
        self._learn({word for words in split for word in words}.difference(self._terms))
        return [[term for word in words for term in self._terms[word]] for words in split]

    def _learn(self, words: Collection[str]) -> None:
        numbered = list(words)
        self._terms |= {word: [] for word in numbered}
        self._database.executemany(
            "insert into words (rowid, word) values (?, ?)", enumerate(numbered)
        )
        for number, term in self._database.execute(TOKENS):
            self._terms[numbered[number]].append(shorten(term))
        self._database.rollback()

    @cached_property
    def _database(self) -> sqlite3.Connection:
        # Threads take turns in using a store.
        conn = sqlite3.connect(":memory:", check_same_thread=False)
        conn.executescript(WORDS_AND_STEMS)
        return conn

    def close(self) -> None:
        """Close the database that tokenizes. A later use opens another."""
        database = self.__dict__.pop("_database", None)
        if database:
            database.close()


def shorten(term: str) -> str:
    """The term; the end of a long one is replaced by its digest."""
    if len(term) <= LONGEST:
        return term
    return term[:LONGEST] + sha256(term.encode()).hexdigest()
