"""Passages that are like a passage: the nearest by the embeddings that are stored, so that no model
is asked.
"""

from typing import Any

from ...errors import NotFoundError, QueryError
from ...search.hit import Request
from ...store import HybridStore, tried_again
from ...text.lines import citation

DEPTH = (
    50  # neighbours that are looked at beyond those asked for: many may be of the document itself
)
FIELDS = (
    "doc_id", "chunk_id", "heading", "heading_path", "text", "score", "path", "start_line", "end_line", "citation",
    "collection", "date", "metadata",
)  # fmt: skip


@tried_again
def passages(
    store: HybridStore, doc_id: str, lines: str | None, *, limit: int = 5
) -> dict[str, Any]:
    """At most `limit` passages of other documents that are nearest to the first chunk with one of
    these lines ("12-30", "12").

    Without `lines`, it is the document's first chunk. `by` is "vector", and `score` is the cosine;
    or, if that chunk has no embedding, "keyword", and the score is that of a search for its words.
    Raises NotFoundError if there is no such document, QueryError if it has no passage there.
    """
    storage = store.storage
    start, _, end = (lines or f"1-{10**9}").partition("-")
    first = int(start.partition("C")[0])
    with storage.snapshot():
        if storage.catalog.by_id(doc_id) is None:
            raise NotFoundError(f"no document {doc_id!r} in this memory")
        ids = storage.chunks.at(doc_id, first, int(end or first))
        if not ids:
            raise QueryError(
                f"{doc_id} has no passage" + (f" in the lines {lines}" if lines else "")
            )
        vectors = storage.vectors()
        vector = vectors.of(ids[0])
        near = vectors.nearest(vector, limit + DEPTH) if vector else []
        rows = storage.chunks.rows([id for id, _ in near] if vector else ids[:1])
    if not vector:
        answer = store.answer(
            rows[ids[0]].text, Request(limit + DEPTH, "keyword", per_doc=limit, rerank=False)
        )
        found = [{key: result[key] for key in FIELDS} for result in answer.results]
        return {
            "by": "keyword",
            "results": [result for result in found if result["doc_id"] != doc_id][:limit],
        }
    others = [(rows[id], round(cosine, 6)) for id, cosine in near if rows[id].doc_id != doc_id]
    return {"by": "vector", "results": [_result(row, cosine) for row, cosine in others[:limit]]}


def _result(row: Any, score: float) -> dict[str, Any]:
    found = row._asdict() | {
        "score": score,
        "citation": citation(row.doc_id, row.start_line, row.end_line, row.pages),
    }
    return {key: found[key] for key in FIELDS}
