"""Where a search has a document, in each leg and in all, what stands before it, and which words of the query it lacks."""

from typing import TYPE_CHECKING, Any

from ..search.hit import Request
from ..text.query import Query

if TYPE_CHECKING:
    from ..store import HybridStore

DEPTH = 1000  # results that are looked through
BEFORE = 3  # results before it that are named


def rank(store: "HybridStore", doc_id: str, query: str) -> dict[str, Any]:
    """The place of the document's best passage among the results of a hybrid search without filters.

    `rank` counts from 1 and is None beyond DEPTH, as `keyword_rank` and `vector_rank` are, its best in each leg. `is_shown`
    says whether a search gives it under the settings; `left_out_by` is the setting that leaves it out. `before` has the best of
    what outranks it. `has` and `lacks` are words of the query, folded, and mean the whole document.
    """
    limit = store.config["limit"]
    answer = store.answer(query, Request(DEPTH, explain=True))
    places = [(place, result) for place, result in enumerate(answer.results, 1) if _is_of(result, doc_id)]
    place, best = places[0] if places else (None, {})
    legs = [_best_rank([result for _, result in places], leg) for leg in ("keyword", "vector")]
    before = answer.results[: (place or len(answer.results) + 1) - 1]
    has = _words_of(store, doc_id, query)
    settings = {key: store.config[key] for key in ("min_score", "min_confidence")}
    left_out_by = next((key for key, least in settings.items() if best and best[key.removeprefix("min_")] < least), None)
    if place and place > limit:
        left_out_by = left_out_by or "limit"
    return {
        "query": query,
        "rank": place,
        "of": len(answer.results),
        "keyword_rank": legs[0],
        "vector_rank": legs[1],
        **{key: best.get(key) for key in ("citation", "score", "confidence")},
        "is_shown": bool(place) and left_out_by is None,
        "left_out_by": left_out_by,
        "before": [_described(number, result) for number, result in enumerate(before[:BEFORE], 1)],
        "has": [word for word in _words(query) if word in has],
        "lacks": [word for word in _words(query) if word not in has],
        "warnings": answer.warnings,
    }


def _is_of(result: dict[str, Any], doc_id: str) -> bool:
    """Whether it is a passage of the document, or one of another document with the same text."""
    return result["doc_id"] == doc_id or any(other.startswith(f"{doc_id}#L") for other in result["also"])


def _best_rank(results: list[dict[str, Any]], leg: str) -> int | None:
    return min((result["explain"][leg]["rank"] for result in results if result["explain"][leg]["rank"]), default=None)


def _described(number: int, result: dict[str, Any]) -> dict[str, Any]:
    legs = {f"{leg}_rank": result["explain"][leg]["rank"] for leg in ("keyword", "vector")}
    return {"rank": number, **{key: result[key] for key in ("citation", "score")}, **legs, "has": result["explain"]["terms"]}


def _words(query: str) -> list[str]:
    return [" ".join(term.tokens) for term in Query(query).affordable_words]


def _words_of(store: "HybridStore", doc_id: str, query: str) -> set[str]:
    """The words of the query that a passage of the document has."""
    with store.storage.snapshot():
        ids = store.storage.chunks.at(doc_id, 0, DEPTH * DEPTH * DEPTH)
        covered = store.storage.keyword().coverage(Query(query), ids).values()
    return {word for coverage in covered for word in coverage.terms}
