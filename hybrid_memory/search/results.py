"""Hits as the dicts that users get."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..text.citation import citation

if TYPE_CHECKING:
    from ..storage.protocol import Storage
    from .hit import Hit
    from .legs import Legs


def load(storage: "Storage", hits: "Sequence[Hit]", context: int) -> None:
    """Read what the results will say of each hit, its text with `context` chunks on either side."""
    rows = storage.chunks.rows([hit.id for hit in hits])
    places = storage.chunks.places([id for hit in hits for id in hit.others])
    for hit in hits:
        hit.row = rows[hit.id]
        hit.also = [citation(*places[id]) for id in hit.others]
        if context:
            from .surroundings import around

            text, start, end = around(storage, hit.doc_id, hit.id, context)
            hit.row = hit.row._replace(text=text, start_line=start, end_line=end)


def result(hit: "Hit", legs: "Legs", *, explain: bool) -> dict[str, Any]:
    """The result for a hit that was loaded."""
    row = hit.row
    assert row is not None
    found = {
        "doc_id": row.doc_id,
        "chunk_id": row.chunk_id,
        "heading": row.heading,
        "heading_path": row.heading_path,
        "text": row.text,
        "score": round(hit.score, 6),
        "confidence": hit.confidence,
        "source": hit.source,
        "path": row.path,
        "start_line": row.start_line,
        "end_line": row.end_line,
        "citation": citation(row.doc_id, row.start_line, row.end_line),
        "also": hit.also,
        "collection": row.collection,
        "date": row.date,
        "metadata": row.metadata,
        "scores": {"keyword": _significant(legs.bm25, hit.id), "vector": _significant(legs.cosine, hit.id)},
    }
    return found | ({"explain": _rounded(legs.explanation(hit))} if explain else {})


def _significant(scores: Mapping[int, float], id: int) -> float | None:
    """Six significant digits: BM25 in a store of a few chunks has no digits among the first six decimals."""
    return float(f"{scores[id]:.6g}") if id in scores else None


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return round(value, 6) if isinstance(value, float) else value
