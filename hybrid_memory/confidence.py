"""How sure a result is, comparable across queries and stores, as a score that is relative to the best one is not.

Two signs, each 0 to 1. Coverage: the share of the query's words that a chunk has, a word counting by its rarity (inverse
document frequency), so that a name which is nowhere in the store weighs the most. Nearness: how far the chunk's cosine
stands above the query's mean cosine with the store, as a share of how far it could; the mean takes away what a model gives to
any two texts. Deviations from the mean told less on judged collections: they grow where a store has many subjects.
"""

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from math import log
from typing import Any, NamedTuple

from . import analyzer, schema
from .fts import FTSIndex, affordable, fragments, match_expression

COLUMNS = "rowid, heading, content, context"
READ = f"select {COLUMNS} from chunks_fts where rowid in (select value from json_each(?))"
ORIGINAL = "select id, content from chunks where id in (select value from json_each(?))"
MATCHED = "select rowid from chunks_fts where chunks_fts match ?"


class Coverage(NamedTuple):
    share: float  # 0 to 1
    terms: list[str]  # of the query, folded, that the chunk has


def coverage(conn: sqlite3.Connection, index: FTSIndex, query: str, ids: Collection[int]) -> dict[int, Coverage]:
    """Of each chunk. Where the store has no word of the query, the share of its fragments in the text, as LIKE finds them."""
    words = {match_expression([term]): term.tokens[0] for term in affordable(analyzer.words(query))}
    counts = index.frequencies(list(words))
    size = max(index.size(), *counts, 1)
    rarity = {e: log(1 + (size - n + 0.5) / (n + 0.5)) for e, n in zip(words, counts, strict=True)}
    found: dict[int, list[str]] = {id: [] for id in ids}
    rows = conn.execute(READ, (json.dumps(list(ids)),)).fetchall()
    if not any(counts):
        return _by_fragments(conn, query, rows)
    copy = sqlite3.connect(":memory:")  # FTS5 answers for a few rows of a large index only by walking it
    try:
        schema.create_keyword_index(copy)
        copy.executemany(f"insert into chunks_fts ({COLUMNS}) values (?, ?, ?, ?)", rows)
        for expression in words:
            for (id,) in copy.execute(MATCHED, (expression,)):
                found[id].append(expression)
    finally:
        copy.close()
    total = sum(rarity.values())
    return {id: Coverage(sum(rarity[e] for e in has) / total, [words[e] for e in has]) for id, has in found.items()}


def _by_fragments(conn: sqlite3.Connection, query: str, rows: Sequence[tuple[Any, ...]]) -> dict[int, Coverage]:
    originals = dict(conn.execute(ORIGINAL, (json.dumps([row[0] for row in rows]),)))
    wanted = [piece.lower() for side in fragments(query) for piece in side]
    answer = {}
    for id, *written in rows:
        text = "\n".join([originals[id], *written]).lower()
        has = [piece for piece in wanted if piece in text]
        answer[id] = Coverage(len(has) / max(len(wanted), 1), has)
    return answer


def nearness(id: int, cosine: float, sample: Mapping[int, float]) -> float:
    """0 for a chunk no nearer than the mean of the others in the sample, 1 for one that points where the query does."""
    others = [other for other_id, other in sample.items() if other_id != id]
    mean = max(sum(others) / len(others), 0.0) if others else 0.0
    return max(cosine - mean, 0.0) / (1 - mean) if mean < 1 else 0.0


def confidence(share: float, near: float | None) -> float:
    """The mean of both signs, to three decimals; coverage alone for a chunk that has no cosine."""
    return round(min(max(share if near is None else (share + near) / 2, 0.0), 1.0), 3)
