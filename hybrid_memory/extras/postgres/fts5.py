"""Split texts into terms, and parse expressions, as FTS5 does, for an engine that is not SQLite.

The terms of a text are its words as FTS5 splits and stems them. A SQLite database in memory does
this, so that a word has the same stem in both engines, in any script. Every word is tokenized once
in the life of a process.

https://sqlite.org/fts5.html#full_text_query_syntax is the syntax of expressions. FTS5 itself checks
first whether one is valid (`storage.fts_expressions.checked_expression`); this module only parses it.
"""

import re
import sqlite3
from collections.abc import Collection, Sequence
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple

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


COLUMNS = ("heading", "content", "context")  # that are indexed
DISTANCE = 10  # tokens between the phrases of NEAR, unless it gives another number

_TOKEN = re.compile(r'"(?:[^"]|"")*"|[\w\x1a\x80-\U0010ffff]+|[-+*^:,(){}]')


class Piece(NamedTuple):
    """A string of a phrase. With `prefix`, its last token may be the beginning of a word."""

    text: str
    prefix: bool


class Leaf(NamedTuple):
    """One phrase, or phrases near each other, in one of these columns (None: in any). `first`: at
    the start of the column.
    """

    phrases: Sequence[Sequence[Piece]]
    distance: int = DISTANCE
    first: bool = False
    columns: frozenset[str] | None = None


class Branch(NamedTuple):
    """`AND`, `OR`, `NOT`, or ` `, an AND that ignores an operand without words."""

    operator: str
    left: "Node"
    right: "Node"


Node = Leaf | Branch


def parse(expression: str) -> Node:
    """Parse a valid expression that is not blank.

    'gpu* NOT "the cat"' -> Branch("NOT", Leaf([[Piece("gpu", True)]]), Leaf([[Piece("the cat",
    False)]]))
    """
    return _Parser(_TOKEN.findall(expression)).branch(0)


LEVELS = ("OR", "AND", "NOT")  # later ones bind tighter; operands side by side bind tightest


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = [*tokens, "", ""]
        self._at = 0

    def _next(self, ahead: int = 0) -> str:
        return self._tokens[self._at + ahead]

    def _take(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def _accept(self, token: str) -> bool:
        self._at += (found := self._next() == token)
        return found

    def branch(self, level: int) -> Node:
        """Operands joined by the operator of this level."""
        if level == len(LEVELS):
            return self._neighbours()
        node = self.branch(level + 1)
        while self._accept(LEVELS[level]):
            node = Branch(LEVELS[level], node, self.branch(level + 1))
        return node

    def _neighbours(self) -> Node:
        node = self._operand()
        while self._next() not in ("", ")", *LEVELS):
            node = Branch(" ", node, self._operand())
        return node

    def _operand(self) -> Node:
        columns = self._columns()
        if self._accept("("):
            node = self.branch(0)
            self._take()
        else:
            node = self._leaf()
        if columns is None:
            return node
        return _restrict(node, columns)

    def _columns(self) -> frozenset[str] | None:
        """The columns in front of a colon, or None."""
        others = self._next() == "-"
        if self._next(others) == "{":
            self._at += others + 1
            named = set()
            while not self._accept("}"):
                named.add(_unquoted(self._take()).lower())
        elif others or self._next(1) == ":":
            self._at += others
            named = {_unquoted(self._take()).lower()}
        else:
            return None
        self._take()  # the colon
        if others:
            return frozenset(COLUMNS) - named
        return frozenset(COLUMNS) & named

    def _leaf(self) -> Leaf:
        if self._next() == "NEAR" and self._next(1) == "(":
            self._at += 2
            phrases = []
            while self._next() not in (",", ")"):
                phrases.append(self._phrase())
            if self._accept(","):
                distance = int(self._take())
            else:
                distance = DISTANCE
            self._take()
            return Leaf(phrases, distance)
        first = self._accept("^")
        return Leaf([self._phrase()], first=first)

    def _phrase(self) -> list[Piece]:
        pieces = [Piece(_unquoted(self._take()), self._accept("*"))]
        while self._accept("+"):
            pieces.append(Piece(_unquoted(self._take()), self._accept("*")))
        return pieces


def _restrict(node: Node, columns: frozenset[str]) -> Node:
    if isinstance(node, Branch):
        return Branch(node.operator, _restrict(node.left, columns), _restrict(node.right, columns))
    return node._replace(columns=columns if node.columns is None else node.columns & columns)


def _unquoted(token: str) -> str:
    if token.startswith('"'):
        return token[1:-1].replace('""', '"')
    return token
