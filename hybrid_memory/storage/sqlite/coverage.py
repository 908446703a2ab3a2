"""Which words of a query a chunk has: what confidence is made of, beside the cosine."""

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from math import log

from ...text.query import Query
from ...typed.names import TYPE_CHECKING
from ..rows import Coverage
from ..shared.expression import match_expression
from . import schema
from .written import of_chunks

if TYPE_CHECKING:
    from ...documents.terms import Terms

PUT = "insert into chunks_fts (rowid, heading, content, context) values (?, ?, ?, ?)"
ORIGINAL = "select id, content from chunks where id in (select value from json_each(?))"
MATCHED = "select rowid from chunks_fts where chunks_fts match ?"


def coverage(
    conn: sqlite3.Connection, query: Query, ids: Collection[int], counts: Mapping[str, int], size: int
) -> dict[int, Coverage]:
    """The coverage of each chunk, by FTS5's own matching of each word.

    `counts` says how many of all `size` chunks have each word, by its expression for MATCH. If no chunk has any, the coverage
    is the share of the query's fragments that the chunk contains, as the substring search finds them.
    """
    chunks = list(of_chunks(conn, ids))
    if not any(counts.values()):
        return _by_fragments(conn, query, chunks)
    words = {match_expression([term]): term.tokens[0] for term in query.affordable_words}
    size = max(size, *counts.values(), 1)
    rarity = {e: log(1 + (size - n + 0.5) / (n + 0.5)) for e, n in counts.items()}
    found: dict[int, list[str]] = {id: [] for id in ids}
    copy = sqlite3.connect(":memory:")  # FTS5 answers for a few rows of a large index only by walking the whole index
    try:
        schema.create_keyword_index(copy, with_texts=True)
        copy.executemany(PUT, ((id, *texts) for id, texts in chunks))
        for expression in words:
            for (id,) in copy.execute(MATCHED, (expression,)):
                found[id].append(expression)
    finally:
        copy.close()
    total = sum(rarity.values())
    return {id: Coverage(sum(rarity[e] for e in has) / total, [words[e] for e in has]) for id, has in found.items()}


def _by_fragments(conn: sqlite3.Connection, query: Query, chunks: "Sequence[tuple[int, Terms]]") -> dict[int, Coverage]:
    originals = dict(conn.execute(ORIGINAL, (json.dumps([id for id, _ in chunks]),)))
    wanted = [piece.lower() for side in query.fragments for piece in side]
    answer = {}
    for id, written in chunks:
        text = "\n".join([originals[id], *written]).lower()
        has = [piece for piece in wanted if piece in text]
        answer[id] = Coverage(len(has) / max(len(wanted), 1), has)
    return answer
