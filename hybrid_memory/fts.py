"""Keyword search: query text -> chunks ranked by BM25, through FTS5. Writes and reads chunks_fts, and nothing else does."""

import json
import re
import sqlite3
from collections.abc import Iterable
from typing import Any

from .analyzer import Term, identifiers, searchable, terms

MAX_TERMS = 64  # of a query: a pasted page answers as fast as a long question
MAX_FRAGMENT = 256  # characters of a substring; SQLite has a limit, too
HEADING_WEIGHT, CONTENT_WEIGHT, CONTEXT_WEIGHT = 2.0, 1.0, 0.25

SEARCH = f"""
select rowid, -bm25(chunks_fts, 0, 0, {HEADING_WEIGHT}, {CONTENT_WEIGHT}, {CONTEXT_WEIGHT}) as score
from   chunks_fts
where  chunks_fts match :expression
order  by score desc, rowid
limit  :limit
"""

ADD = """
insert into chunks_fts (rowid, doc_id, chunk_id, heading, content, context)
values (:id, :doc_id, :chunk_id, :heading, :content, :context)
"""

DOCUMENT = """
select c.id, c.doc_id, c.chunk_id, c.heading_path, c.content, d.metadata
from   chunks c join documents d using (doc_id)
where  c.doc_id = :doc_id
order  by c.id
"""

SUBSTRING = """
select id, {count} as matches
from   chunks
where  matches > 0
order  by matches desc, length(content), id
limit  ?
"""

RESULT = "select id, doc_id, chunk_id, heading, content from chunks where id in (select value from json_each(?))"


_LIKE_SYNTAX = re.compile(r"[\\%_]")


class FTSIndex:
    """The FTS5 side of a database connection. Never commits."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    def search(self, query: str, limit: int = 10) -> list[dict[str, Any]]:
        """Chunks that match, best first: doc_id, chunk_id, heading, text, score (BM25, above 0), source."""
        scores = dict(self.ranked(query, limit))
        rows = {row[0]: row for row in self._conn.execute(RESULT, (json.dumps(list(scores)),))}
        return [
            {"doc_id": row[1], "chunk_id": row[2], "heading": row[3], "text": row[4], "score": score, "source": "keyword"}
            for score, row in ((score, rows[id]) for id, score in scores.items())
        ]

    def snippet(self, query: str, limit: int = 10) -> list[dict[str, Any]]:
        """`search` with a key more: `snippet`, the best passage of the original text, the matched words in **asterisks**."""
        from .highlight import Highlighter

        hits = self.search(query, limit)
        highlighter = Highlighter(query, [hit["text"] for hit in hits])
        return [hit | {"snippet": highlighter.snippet(hit["text"], "**", "**")} for hit in hits]

    def ranked(self, query: str, limit: int) -> list[tuple[int, float]]:
        """(chunks.id, BM25) of the best `limit` chunks; from a substring search, by matches, where FTS5 finds nothing."""
        wanted = terms(query)[:MAX_TERMS]
        parameters = {"expression": match_expression(wanted), "limit": limit}
        return (self._conn.execute(SEARCH, parameters).fetchall() if wanted else []) or self._substring_search(query, limit)

    def _substring_search(self, query: str, limit: int) -> list[tuple[int, float]]:
        """The last tier: LIKE over every chunk, for what is no word: 'ollam', '→', '🎉'. A score is the share that matches."""
        wanted = fragments(query)[:MAX_TERMS]
        if not wanted:
            return []
        count = " + ".join(["(content like ? escape '\\')"] * len(wanted))
        patterns = ["%" + _LIKE_SYNTAX.sub(r"\\\g<0>", fragment) + "%" for fragment in wanted]
        rows = self._conn.execute(SUBSTRING.format(count=count), (*patterns, limit)).fetchall()
        return [(id, matches / len(wanted)) for id, matches in rows]

    def add_document(self, doc_id: str) -> None:
        """Index the document's rows of `chunks`."""
        rows = self._conn.execute(DOCUMENT, {"doc_id": doc_id}).fetchall()
        self._conn.executemany(
            ADD,
            (
                {
                    "id": id,
                    "doc_id": doc_id,
                    "chunk_id": chunk_id,
                    "heading": searchable(heading_path),
                    "content": searchable(content),
                    "context": identifiers(content),
                }
                for id, doc_id, chunk_id, heading_path, content, metadata in rows
            ),
        )

    def remove(self, ids: Iterable[int]) -> None:
        self._conn.executemany("delete from chunks_fts where rowid = ?", ((id,) for id in ids))

    def reindex(self) -> None:
        """Make the index anew from `chunks`."""
        self._conn.execute("delete from chunks_fts")
        for (doc_id,) in self._conn.execute("select doc_id from documents").fetchall():
            self.add_document(doc_id)
        self._conn.execute("insert into chunks_fts (chunks_fts) values ('optimize')")


def fragments(query: str) -> list[str]:
    """What to look for inside words: pieces of three letters and up, and of whatever is no ASCII letter or digit of one."""
    pieces = dict.fromkeys(piece for piece in query.replace("\0", " ").split() if len(piece) <= MAX_FRAGMENT)
    return [piece for piece in pieces if len(piece) >= 3 or not (piece.isascii() and piece.isalnum())]


def match_expression(wanted: Iterable[Term]) -> str:
    """Terms as an FTS5 expression: each a string, joined by OR, so that no character of a query is syntax."""
    return " OR ".join(f'"{" ".join(term.tokens)}"{" *" if term.prefix else ""}' for term in wanted)
