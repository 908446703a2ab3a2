"""The weighted sum of keyword and vector scores.

A search puts both lists on one scale first (search/fusion.py). `merge_results` is for programs with
lists of their own: it divides each list by its maximum.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

Key = TypeVar("Key", bound=Hashable)

HYBRID = "hybrid"
KEYWORD = "keyword"
VECTOR = "vector"


def merge_results(
    keyword_results: Sequence[Mapping[str, Any]],
    vector_results: Sequence[Mapping[str, Any]],
    keyword_weight: float = 0.3,
    vector_weight: float = 0.7,
) -> list[dict[str, Any]]:
    """Merge two lists of results (dicts with doc_id, chunk_id and score) by weight, best first.

    A result of one list has the weighted score of that list alone. `source` says which list it is
    from; of one in both, the other fields are those of the keyword list.

    keyword [a 4, b 2], vector [b 0.5]
    -> b 0.3 * 2/4 + 0.7 * 0.5/0.5 = 0.85 "hybrid", a 0.3 * 4/4 = 0.3 "keyword"
    """
    by_key = {_key(result): result for result in (*vector_results, *keyword_results)}
    keyword = divide_by_best((_key(result), result["score"]) for result in keyword_results)
    vector = divide_by_best((_key(result), result["score"]) for result in vector_results)
    scores = weighted_sum(keyword, vector, keyword_weight, vector_weight)
    merged = [
        {**by_key[key], "score": score, "source": source(key, keyword, vector)}
        for key, score in scores.items()
    ]
    merged.sort(key=lambda result: order(result["score"], result["doc_id"], result["chunk_id"]))
    return merged


def divide_by_best(scores: Iterable[tuple[Key, float]]) -> dict[Key, float]:
    """Divide scores by the best one, so that it becomes 1; leave them if that is not above 0."""
    by_key = dict(scores)
    best = max(by_key.values(), default=0.0)
    if best <= 0:
        return by_key
    return {key: score / best for key, score in by_key.items()}


def weighted_sum(
    keyword: Mapping[Key, float],
    vector: Mapping[Key, float],
    keyword_weight: float,
    vector_weight: float,
) -> dict[Key, float]:
    """Add the weighted scores of each key; a missing score counts as 0."""
    return {
        key: keyword_weight * keyword.get(key, 0.0) + vector_weight * vector.get(key, 0.0)
        for key in {**keyword, **vector}
    }


def source(key: Key, keyword: Mapping[Key, Any], vector: Mapping[Key, Any]) -> str:
    """Return "hybrid" for a key in both lists, else "keyword" or "vector"."""
    if key not in keyword:
        return VECTOR
    return HYBRID if key in vector else KEYWORD


def order(score: float, doc_id: str, chunk_id: str) -> tuple[float, str, int, str]:
    """Return a key that sorts best first; equal scores by document, then by its chunks' order."""
    return -score, doc_id, len(chunk_id), chunk_id


def _key(result: Mapping[str, Any]) -> tuple[str, str]:
    return result["doc_id"], result["chunk_id"]
