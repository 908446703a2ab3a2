"""Chunk ids -> what a search answers with. Reads the database; ranks nothing."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from . import catalog

RESULTS = """
select c.id, c.doc_id, c.chunk_id, c.heading, c.heading_path, c.content, c.start_line, c.end_line,
       d.source_path, d.collection, d.date, d.metadata
from   chunks c join documents d using (doc_id)
where  c.id in (select value from json_each(?))
"""

HITS = "select id, doc_id, chunk_id, content from chunks where id in (select value from json_each(?))"
PLACES = "select id, doc_id, start_line, end_line from chunks where id in (select value from json_each(?))"


def hits(conn: sqlite3.Connection, *legs: Sequence[tuple[int, float]]) -> list[list[dict[str, Any]]]:
    """(chunks.id, score) -> what a merger needs, leg by leg: id, doc_id, chunk_id, text, score.

    Each chunk is read once, however many legs have it; one deleted meanwhile is left out.
    """
    ids = json.dumps(list({id for scores in legs for id, _ in scores}))
    keys = ("id", "doc_id", "chunk_id", "text")
    rows = {row[0]: dict(zip(keys, row, strict=True)) for row in conn.execute(HITS, (ids,))}
    return [[rows[id] | {"score": score} for id, score in scores if id in rows] for scores in legs]


def results(
    conn: sqlite3.Connection,
    found: Sequence[Mapping[str, Any]],
    bm25: Mapping[int, float],
    cosine: Mapping[int, float],
    context: int = 0,
) -> list[dict[str, Any]]:
    """Hits as the dicts that users get; `bm25` and `cosine` are the raw scores by chunks.id, `context` chunks on either side."""
    rows = {row[0]: row[1:] for row in conn.execute(RESULTS, (json.dumps([hit["id"] for hit in found]),))}
    others = json.dumps([id for hit in found for id in hit["others"]])
    places = {id: _citation(*place) for id, *place in conn.execute(PLACES, (others,))}
    answer = []
    for hit in found:
        doc_id, chunk_id, heading, heading_path, text, start, end, path, collection, date, metadata = rows[hit["id"]]
        if context:
            from .surroundings import around

            text, start, end = around(conn, doc_id, hit["id"], context)
        result = {
            "doc_id": doc_id,
            "chunk_id": chunk_id,
            "heading": heading,
            "heading_path": heading_path,
            "text": text,
            "score": round(hit["score"], 6),
            "confidence": hit["confidence"],
            "source": hit["source"],
            "path": catalog.path_from_column(path),
            "start_line": start,
            "end_line": end,
            "citation": _citation(doc_id, start, end),
            "also": [places[id] for id in hit["others"]],
            "collection": collection,
            "date": date,
            "metadata": json.loads(metadata),
            "scores": {"keyword": _rounded(bm25.get(hit["id"])), "vector": _rounded(cosine.get(hit["id"]))},
        }
        answer.append(result | ({"explain": _all_rounded(hit["explain"])} if "explain" in hit else {}))
    return answer


def _citation(doc_id: str, start: int, end: int) -> str:
    return f"{doc_id}#L{start}-L{end}"


def _rounded(value: float | None) -> float | None:
    """Six significant digits: of BM25 in a store of a few chunks, no fewer decimals would be left."""
    return None if value is None else float(f"{value:.6g}")


def _all_rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _all_rounded(each) for key, each in value.items()}
    return round(value, 6) if isinstance(value, float) else value
