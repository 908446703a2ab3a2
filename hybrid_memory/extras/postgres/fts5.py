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
        self._terms: dict[str, str] = {}  # by word
        self._others: dict[str, list[str]] = {}  # of the few words that have no term, or several

    def terms(self, texts: Sequence[str]) -> list[list[str]]:
        """The terms of each text, in order. Texts are words separated by spaces, as the analyzer
        writes them.
        """
        split = [text.split() for text in texts]
        found = list(map(self._single_terms, split))
        if unknown := [words for words, terms in zip(split, found, strict=True) if terms is None]:
            self._learn(set().union(*unknown))
        return [
            self._all_terms(words) if terms is None else terms
            for words, terms in zip(split, found, strict=True)
        ]

    def _single_terms(self, words: Sequence[str]) -> list[str] | None:
        """The terms of words, or None if a word is new or does not have exactly one term."""
        try:
            return list(map(self._terms.__getitem__, words))
        except KeyError:
            return None

    def _all_terms(self, words: Sequence[str]) -> list[str]:
        terms = self._single_terms(words)
        if terms is None:
            terms = []
            for word in words:
                terms += self._others[word] if word in self._others else [self._terms[word]]
        return terms

    def _learn(self, words: set[str]) -> None:
        if len(self._terms) > MOST_KNOWN:
            self._terms.clear()
        for word, made in self._tokenized(words.difference(self._terms, self._others)).items():
            if len(made) == 1:
                self._terms[word] = made[0]
            else:
                self._others[word] = made

    def _tokenized(self, words: Collection[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {word: [] for word in words}
        numbered = list(found)
        self._database.executemany(
            "insert into words (rowid, word) values (?, ?)", enumerate(numbered)
        )
        for number, term in self._database.execute(TOKENS):
            found[numbered[number]].append(shorten(term))
        self._database.rollback()
        return found

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
