"""Merge two lists of results by weight, for programs that have lists of their own. A search merges
its legs in another way: search/legs.py.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeVar

from .search.legs import order

Key = TypeVar("Key", bound=Hashable)


def merge_results(
    keyword_results: Sequence[Mapping[str, Any]],
    vector_results: Sequence[Mapping[str, Any]],
    keyword_weight: float = 0.3,
    vector_weight: float = 0.7,
) -> list[dict[str, Any]]:
    """Merge two lists of results (dicts with doc_id, chunk_id and score) as `fuse` does; return
    them best first.
    """
    by_key = {_key(result): result for result in (*vector_results, *keyword_results)}
    keyword = [(_key(result), result["score"]) for result in keyword_results]
    vector = [(_key(result), result["score"]) for result in vector_results]
    merged = []
    for key, (score, source) in fuse(keyword, vector, keyword_weight, vector_weight).items():
        merged.append({**by_key[key], "score": score, "source": source})
    merged.sort(key=lambda result: order(result["score"], result["doc_id"], result["chunk_id"]))
    return merged


def fuse(
    keyword: Sequence[tuple[Key, float]],
    vector: Sequence[tuple[Key, float]],
    keyword_weight: float,
    vector_weight: float,
) -> dict[Key, tuple[float, str]]:
    """Return the weighted sum of the scores of both lists, each list divided by its maximum, and
    which lists retrieved the item. A list whose maximum is not above 0 is left as it is.

    keyword [a 4, b 2], vector [b 0.5]
    -> b 0.3 * 2/4 + 0.7 * 0.5/0.5 = 0.85 "hybrid", a 0.3 * 4/4 = 0.3 "keyword"
    """
    merged = {}
    for key, score in _by_maximum(keyword):
        merged[key] = (keyword_weight * score, "keyword")
    for key, score in _by_maximum(vector):
        if key in merged:
            merged[key] = (merged[key][0] + vector_weight * score, "hybrid")
        else:
            merged[key] = (vector_weight * score, "vector")
    return merged


def _by_maximum(scores: Sequence[tuple[Key, float]]) -> list[tuple[Key, float]]:
    top = max((score for _, score in scores), default=0.0)
    if top <= 0:
        return list(scores)
    return [(key, score / top) for key, score in scores]


def _key(result: Mapping[str, Any]) -> tuple[str, str]:
    return result["doc_id"], result["chunk_id"]
