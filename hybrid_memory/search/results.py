"""Hits as the dicts that users get."""

from collections.abc import Mapping, Sequence

from ..text.citation import citation, page
from ..typed.names import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..storage.protocol import Storage
    from .hit import Hit
    from .legs import Legs

LEAN = ("doc_id", "chunk_id", "heading", "text", "score", "confidence", "source", "citation")


def load(storage: "Storage", hits: "Sequence[Hit]", context: int | None = None) -> None:
    """Read what the results will say of each hit, and unless it is None the chunks of its text, `context` on either side."""
    rows = storage.chunks.rows([hit.id for hit in hits])
    places = storage.chunks.places([id for hit in hits for id in hit.others])
    for hit in hits:
        hit.row = rows[hit.id]
        hit.also = [citation(*places[id]) for id in hit.others]
        if context is not None:
            hit.chunks = storage.chunks.around(hit.doc_id, hit.id, context)


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
        "citation": citation(row.doc_id, row.start_line, row.end_line, row.pages),
        "also": hit.also,
        "collection": row.collection,
        "date": row.date,
        "metadata": row.metadata,
        "scores": {"keyword": _significant(legs.bm25, hit.id), "vector": _significant(legs.cosine, hit.id)},
    }
    if row.pages:
        found["page"] = page(row.pages, row.start_line)
    return found | ({"explain": _rounded(legs.explanation(hit))} if explain else {})


def lean(result: Mapping[str, Any]) -> dict[str, Any]:
    """What an agent needs of a result, since it pays for each character: LEAN, and `date` and `explain` where there are any."""
    found = {key: result[key] for key in LEAN}
    found["score"] = round(found["score"], 3)
    return found | {key: result[key] for key in ("date", "explain") if result.get(key)}


def _significant(scores: Mapping[int, float], id: int) -> float | None:
    """Six significant digits: BM25 in a store of a few chunks has no digits among the first six decimals."""
    return float(f"{scores[id]:.6g}") if id in scores else None


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return round(value, 6) if isinstance(value, float) else value
