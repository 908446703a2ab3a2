"""Two hit lists and two weights -> one ranking. Pure: hits are dicts with doc_id, chunk_id and score."""

from collections.abc import Iterable, Sequence
from typing import Any

Hit = dict[str, Any]


def merge_results(
    keyword_results: Sequence[Hit],
    vector_results: Sequence[Hit],
    keyword_weight: float = 0.3,
    vector_weight: float = 0.7,
    *,
    filled: Iterable[Hit] = (),
) -> list[Hit]:
    """The weighted sum of both lists' scores, each list divided by its maximum; best first, ties by doc_id, then chunk order.

    A list whose maximum is not above 0 is left as it is. `source` says which lists retrieved a hit. `filled` are vector
    hits that retrieval missed but whose cosine is known: they add to the score of a keyword hit and change nothing else.

    keyword [a 4, b 2], vector [b 0.5] -> b 0.3 * 2/4 + 0.7 * 0.5/0.5 = 0.85 "hybrid", a 0.3 * 4/4 = 0.3 "keyword"
    """
    merged: dict[tuple[str, str], Hit] = {}
    for hit, score in _normalised(keyword_results, keyword_results):
        merged[_key(hit)] = {**hit, "score": keyword_weight * score, "source": "keyword"}
    for hit, score in _normalised(vector_results, vector_results):
        known = merged.get(_key(hit))
        if known is None:
            merged[_key(hit)] = {**hit, "score": vector_weight * score, "source": "vector"}
        else:
            known["score"] += vector_weight * score
            known["source"] = "hybrid"
    for hit, score in _normalised(filled, vector_results):
        known = merged.get(_key(hit))
        if known is not None and known["source"] == "keyword":
            known["score"] += vector_weight * max(score, 0.0)
    return sorted(merged.values(), key=lambda hit: (-hit["score"], hit["doc_id"], len(hit["chunk_id"]), hit["chunk_id"]))


def _key(hit: Hit) -> tuple[str, str]:
    return hit["doc_id"], hit["chunk_id"]


def _normalised(hits: Iterable[Hit], scale: Sequence[Hit]) -> Iterable[tuple[Hit, float]]:
    top = max((hit["score"] for hit in scale), default=0.0)
    divisor = top if top > 0 else 1.0
    return ((hit, hit["score"] / divisor) for hit in hits)
