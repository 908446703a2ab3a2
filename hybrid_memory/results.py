"""Chunk ids -> what a search answers with. Reads the database; ranks nothing."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import catalog

RESULTS = """
select c.id, c.doc_id, c.chunk_id, c.heading, c.content, c.start_line, c.end_line,
       d.source_path, d.collection, d.date, d.metadata
from   chunks c join documents d using (doc_id)
where  c.id in (select value from json_each(:ids))
"""

KEYS = "select id, doc_id, chunk_id from chunks where id in (select value from json_each(:ids))"


def hits(conn: sqlite3.Connection, scores: Sequence[tuple[int, float]]) -> list[dict[str, Any]]:
    """(chunks.id, score) -> what a merger needs: id, doc_id, chunk_id, score. A chunk deleted meanwhile is left out."""
    keys = {row[0]: row for row in conn.execute(KEYS, {"ids": json.dumps([id for id, _ in scores])})}
    return [{"id": id, "doc_id": keys[id][1], "chunk_id": keys[id][2], "score": score} for id, score in scores if id in keys]


def results(
    conn: sqlite3.Connection, merged: Iterable[Mapping[str, Any]], bm25: Mapping[int, float], cosine: Mapping[int, float]
) -> list[dict[str, Any]]:
    """Merged hits as the dicts that users get; `bm25` and `cosine` are the raw scores by chunks.id."""
    found = list(merged)
    rows = {row[0]: row[1:] for row in conn.execute(RESULTS, {"ids": json.dumps([hit["id"] for hit in found])})}
    answer = []
    for hit in found:
        if hit["id"] not in rows:
            continue
        doc_id, chunk_id, heading, content, start, end, path, collection, date, metadata = rows[hit["id"]]
        answer.append(
            {
                "doc_id": doc_id,
                "chunk_id": chunk_id,
                "heading": heading,
                "text": content,
                "score": round(hit["score"], 6),
                "source": hit["source"],
                "path": catalog.path_from_column(path),
                "start_line": start,
                "end_line": end,
                "citation": f"{doc_id}#L{start}-L{end}",
                "collection": collection,
                "date": date,
                "metadata": json.loads(metadata),
                "scores": {"keyword": _rounded(bm25.get(hit["id"])), "vector": _rounded(cosine.get(hit["id"]))},
            }
        )
    return answer


def _rounded(value: float | None) -> float | None:
    """Six significant digits: of BM25 in a store of a few chunks, no fewer decimals would be left."""
    return None if value is None else float(f"{value:.6g}")
