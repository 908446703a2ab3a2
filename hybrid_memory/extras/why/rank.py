"""The rank of a document in a search: by keyword, by meaning and combined, the results before it, and
the words of the query that it lacks.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...search.coverage import of_chunks
from ...search.request import Request, request_of
from ...store import HybridStore, retry_once
from ...text.query import Query

DEPTH = 1000  # results to search for the document
BEFORE = 3  # results before it that are listed


@retry_once
def rank(store: HybridStore, doc_id: str, query: str, also: Sequence[str] = ()) -> dict[str, Any]:
    """The rank of the document's best passage in a hybrid search without filters, for a query that
    may be given in other words, too.

    `rank` counts from 1 in a search with the configured settings, but with the limit DEPTH. If a
    setting leaves the document out, it counts in a search without that setting. It is None beyond
    DEPTH, as are `keyword_rank` and `vector_rank`, the document's best ranks by keyword and by
    meaning. `is_shown`: the search itself returns the document; `left_out_by` is the setting that
    leaves it out. `before` has the best results above it. `has` and `lacks` are folded words of the
    query that the whole document has or lacks.
    """
    usual = request_of({"also": also}, store.config)
    plan = store.plan(query, usual)
    answer = store.answer(query, usual._replace(limit=DEPTH, explain=True))
    place = _place(answer.results, doc_id)
    left_out_by = None
    if place is None:  # perhaps because of a setting
        everything = usual._replace(
            limit=DEPTH, explain=True, min_score=0.0, min_confidence=0.0, stop=0.0, per_doc=None
        )
        answer = store.answer(query, everything)
        place = _place(answer.results, doc_id)
        if place:
            left_out_by = _setting_that_excludes(usual, answer.results, place)
    elif place > usual.limit:
        left_out_by = "limit"
    results = answer.results
    passages = [result for result in results if _is_passage_of(result, doc_id)]
    best: Mapping[str, Any] = results[place - 1] if place else {}
    before = results[: place - 1] if place else results
    parsed = plan.query
    words = [" ".join(term.tokens) for term in parsed.limited_words]
    words_of_document = _words_of(store, doc_id, parsed)
    return {
        "query": query,
        "rank": place,
        "of": len(results),
        "keyword_rank": _best_rank(passages, "keyword"),
        "vector_rank": _best_rank(passages, "vector"),
        "citation": best.get("citation"),
        "score": best.get("score"),
        "confidence": best.get("confidence"),
        "newer": best.get("newer"),
        "is_shown": place is not None and left_out_by is None,
        "left_out_by": left_out_by,
        "before": [_as_entry(number, result) for number, result in enumerate(before[:BEFORE], 1)],
        "has": [word for word in words if word in words_of_document],
        "lacks": [word for word in words if word not in words_of_document],
        "plan": plan.to_json(),
        "operators": answer.operators,
        "warnings": answer.warnings,
    }


def _place(results: Sequence[Mapping[str, Any]], doc_id: str) -> int | None:
    for number, result in enumerate(results, 1):
        if _is_passage_of(result, doc_id):
            return number
    return None


def _is_passage_of(result: Mapping[str, Any], doc_id: str) -> bool:
    """Whether the result is a passage of the document, or of another document with the same text."""
    if result["doc_id"] == doc_id:
        return True
    return any(citation.startswith(f"{doc_id}#L") for citation in result["also"])


def _setting_that_excludes(usual: Request, results: Sequence[Mapping[str, Any]], place: int) -> str:
    """The setting that leaves out the document's best passage."""
    best = results[place - 1]
    scores = [result["explain"]["score_before_decay"] for result in results]
    if best["score"] < usual.min_score:
        return "min_score"
    if best["confidence"] < usual.min_confidence:
        return "min_confidence"
    if scores[place - 1] < usual.stop * max(scores):
        return "stop"
    return "per_doc"  # its text is also in a document that has better passages


def _best_rank(results: Sequence[Mapping[str, Any]], leg: str) -> int | None:
    return min(filter(None, (_rank(result, leg) for result in results)), default=None)


def _rank(result: Mapping[str, Any], leg: str) -> int | None:
    """The rank of a passage in one leg, "keyword" or "vector", from 1."""
    ranks: dict[str, int | None] = {
        step["name"]: step.get("rank") for step in result["explain"]["trace"]
    }
    return ranks[leg]


def _as_entry(number: int, result: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "rank": number,
        "citation": result["citation"],
        "score": result["score"],
        "keyword_rank": _rank(result, "keyword"),
        "vector_rank": _rank(result, "vector"),
        "has": result["explain"]["terms"],
    }


def _words_of(store: HybridStore, doc_id: str, query: Query) -> set[str]:
    """The words of the query that the document's passages have."""
    with store.storage.snapshot():
        keyword = store.storage.keyword()
        leg = keyword.ranked(query, 1)
        words = leg.searched
        chunks = store.storage.chunks.candidates(store.storage.chunks.at(doc_id))
        coverages = of_chunks(store.storage, words, keyword.rarities(words), chunks).values()
    return {word for coverage in coverages for word in coverage.terms}
