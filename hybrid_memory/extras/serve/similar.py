"""Passages that are similar to one of a document, by stored embeddings, without a model."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import QueryError
from ...search.request import Request
from ...store import HybridStore, retry_once
from ...text.characters import citation
from .bounds import Bounds

# Neighbours requested in addition to the limit, as many may be in the document itself.
DEPTH = 50
FIELDS = (
    "doc_id",
    "chunk_id",
    "heading",
    "heading_path",
    "text",
    "score",
    "path",
    "start_line",
    "end_line",
    "citation",
    "collection",
    "date",
    "metadata",
)


@retry_once
def passages(
    store: HybridStore, bounds: Bounds, doc_id: str, lines: str | None, *, limit: int = 5
) -> dict[str, Any]:
    """Return up to `limit` passages of other documents that are most similar to the first chunk in
    these lines ("12-30" or "12"), by default the document's first chunk.

    `by` is "vector", and `score` is the cosine similarity; or, if the chunk has no embedding, `by`
    is "keyword", and `score` comes from a search for its words. Raises NotFoundError if there is no
    such document, QueryError if it has no passage in these lines.
    """
    storage = store.storage
    start, _, end = (lines or f"1-{10**9}").partition("-")
    first = int(start.partition("C")[0])
    with storage.snapshot():
        bounds.check_known(store, doc_id)
        ids = storage.chunks.at(doc_id, first, int(end or first))
        if not ids:
            where = f" in the lines {lines}" if lines else ""
            raise QueryError(f"{doc_id} has no passage{where}")
        vectors = storage.vectors()
        vector = vectors.of(ids[0])
        if vector:
            neighbours = vectors.nearest(vector, limit + DEPTH)
            rows = storage.chunks.rows([id for id, _ in neighbours])
        else:
            text = storage.chunks.rows(ids[:1])[ids[0]].text
    if vector:
        results: Sequence[Mapping[str, Any]] = [
            _result(rows[id], round(cosine, 6)) for id, cosine in neighbours
        ]
    else:
        request = Request(limit + DEPTH, "keyword", per_doc=limit, rerank=False, literal=True)
        results = store.answer(text, request).results
    others = [result for result in results if result["doc_id"] != doc_id][:limit]
    return {
        "by": "vector" if vector else "keyword",
        "results": [{field: result[field] for field in FIELDS} for result in others],
    }


def _result(row: Any, score: float) -> dict[str, Any]:
    place = citation(row.doc_id, row.start_line, row.end_line, row.pages)
    return {**row._asdict(), "score": score, "citation": place}
