"""Expressions in FTS5's syntax over our postings: the chunks that match, with the BM25 that FTS5 gives them.

In one case the scores differ: in `a OR NEAR(b "c d")`, and with NOT, FTS5 adds the score of b for a chunk with a, b, c and d in
which c and d do not stand side by side (fts5ExprNearTest in fts5_expr.c fills the places of one phrase before it tests the next).
Here it does not count.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from math import inf

from ....text.query import Query
from ...shared.bm25 import K1, B, idf
from ...shared.expression import checked_expression
from ...shared.syntax import COLUMNS, Leaf, Node, Piece, parsed
from ..connection import Connection
from .blocks import decoded
from .phrases import OF_TERMS, WEIGHTS, Found, Phrases
from .postings import COLUMN_END

VALIDATOR = (
    "create virtual table chunks_fts using fts5(doc_id, chunk_id, heading, content, context)"  # understands what ours does
)
WITH = f"select chunk from ({decoded('postings where term = any(%({})s::int[])')}) p"
SEQUENCES = "select chunk, sequence from words where chunk in ({chunks})"
LENGTHS = "select chunk, cardinality(array_remove(sequence, 0)) from words where chunk = any(%(ids)s)"
APART = 1 << 32  # between the positions of two columns

Positions = list[int]  # of the first tokens of the occurrences in a chunk: number of the column * APART + place in the column


def read(query: Query) -> Node | None:
    """The structure of the query's expression; None if it is blank. Raises QueryError with the place of what is not valid."""
    with closing(sqlite3.connect(":memory:")) as conn:
        conn.execute(VALIDATOR)
        expression = checked_expression(conn, query.text)
    return parsed(expression) if expression else None


class Matches:
    """Finds the chunks of a space that match an expression."""

    def __init__(self, conn: Connection, phrases: Phrases, chunks: int, average: float) -> None:
        """`chunks` are in the index, of so many tokens on `average`."""
        self._conn, self._phrases, self._chunks, self._average = conn, phrases, chunks, average

    def of(self, node: Node) -> dict[int, float] | None:
        """Chunks with their BM25; None for strings without a word, which match nothing and are left out between neighbours."""
        if isinstance(node, Leaf):
            return self._leaf(node)
        left, right = self.of(node.left), self.of(node.right)
        if node.operator == " " and (left is None or right is None):
            return right if left is None else left
        left, right = left or {}, right or {}
        if node.operator == "OR":
            return left | {chunk: left.get(chunk, 0.0) + score for chunk, score in right.items()}
        if node.operator == "NOT":
            return {chunk: score for chunk, score in left.items() if chunk not in right}
        return {chunk: score + right[chunk] for chunk, score in left.items() if chunk in right}

    def _leaf(self, leaf: Leaf) -> dict[int, float] | None:
        phrases = [terms for phrase in leaf.phrases if (terms := self._terms(phrase))]
        if not phrases:
            return None
        if len(phrases) == len(phrases[0]) == 1 and leaf.columns is None and not leaf.first:
            found: Found = self._conn.all(OF_TERMS, {"ids": phrases[0][0]})
            return self._scores(found, len(found))
        of_phrases = [self._occurrences(terms, leaf) for terms in phrases]
        answer: dict[int, float] = {}
        lengths = [len(terms) for terms in phrases]
        placed = {}
        for chunk in set.intersection(*map(set, of_phrases)):
            places = [occurrences[chunk] for occurrences in of_phrases]
            if all(kept := near(places, lengths, leaf.distance) if len(places) > 1 else places):
                placed[chunk] = kept
        sizes = dict(self._conn.all(LENGTHS, {"ids": list(placed)}))
        for number, occurrences in enumerate(of_phrases):
            counted = [
                (chunk, sum(WEIGHTS[place // APART] for place in places[number]), sizes[chunk])
                for chunk, places in placed.items()
            ]
            for chunk, score in self._scores(counted, len(occurrences)).items():
                answer[chunk] = answer.get(chunk, 0.0) + score
        return answer

    def _terms(self, phrase: Sequence[Piece]) -> list[list[int]]:
        """For each token of a phrase, the ids of the terms that it may be."""
        return [ids for piece in phrase for ids in self._phrases.alternatives(piece.text, is_prefix=piece.prefix)]

    def _occurrences(self, terms: Sequence[list[int]], leaf: Leaf) -> dict[int, Positions]:
        """Where a phrase stands, in every chunk that has it in the columns that the leaf allows."""
        given = {f"t{n}": ids for n, ids in enumerate(terms)}
        sets = list(map(set, terms))
        answer = {}
        for chunk, sequence in self._conn.all(SEQUENCES.format(chunks=" intersect ".join(map(WITH.format, given))), given):
            places = [
                place
                for place in positions(sequence, sets)
                if (leaf.columns is None or COLUMNS[place // APART] in leaf.columns) and not (leaf.first and place % APART)
            ]
            if places:
                answer[chunk] = places
        return answer

    def _scores(self, found: Found, frequency: int) -> dict[int, float]:
        """The BM25 of a phrase that so many chunks have."""
        rarity = idf(frequency, self._chunks)
        return {
            chunk: rarity * (K1 + 1) * weight / (weight + K1 * (1 - B + B * length / self._average))
            for chunk, weight, length in found
        }


def positions(sequence: Sequence[int], terms: Sequence[set[int]]) -> Positions:
    """Where terms stand side by side, each one of a set.

    [5, 0, 7, 5, 6, 0], [{5}, {6, 8}] -> [APART + 1]: in the content, its second token
    """
    found: Positions = []
    column = start = 0
    for at, id in enumerate(sequence):
        if id == COLUMN_END:
            column, start = column + 1, at + 1
        elif id in terms[0]:
            after = sequence[at : at + len(terms)]
            if len(after) == len(terms) and all(id in ids for id, ids in zip(after, terms, strict=True)):
                found.append(column * APART + at - start)
    return found


def near(places: Sequence[Positions], lengths: Sequence[int], distance: int) -> list[Positions]:
    """Of the places of each phrase, those that FTS5 counts: all in one column, at most `distance` tokens before the last.

    `lengths` are those of the phrases in tokens. FTS5 goes through all lists at once, and so does this: after a group is found,
    the phrase whose next place comes first moves on.
    """
    kept: list[Positions] = [[] for _ in places]
    at = [0] * len(places)
    while True:
        last = max(of_phrase[n] for of_phrase, n in zip(places, at, strict=True))
        moved = True
        while moved:
            moved = False
            for number, of_phrase in enumerate(places):
                while of_phrase[at[number]] < last - lengths[number] - distance:
                    at[number] += 1
                    moved = True
                    if at[number] == len(of_phrase):
                        return kept
                last = max(last, of_phrase[at[number]])
        for number, of_phrase in enumerate(places):
            if kept[number][-1:] != [of_phrase[at[number]]]:
                kept[number].append(of_phrase[at[number]])
        following = [of_phrase[n + 1] if n + 1 < len(of_phrase) else inf for of_phrase, n in zip(places, at, strict=True)]
        first = min(range(len(places)), key=following.__getitem__)
        if following[first] == inf:
            return kept
        at[first] += 1
