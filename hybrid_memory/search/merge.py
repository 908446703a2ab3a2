"""Merge two rankings into one by weight. Pure."""

from collections.abc import Hashable, Iterable, Mapping, Sequence

from ..typed.names import Any, TypeVar

Key = TypeVar("Key", bound=Hashable)


def fused(
    keyword: Sequence[tuple[Key, float]],
    vector: Sequence[tuple[Key, float]],
    keyword_weight: float,
    vector_weight: float,
) -> dict[Key, tuple[float, str]]:
    """The weighted sum of the scores of both lists, each list divided by its maximum; and which lists retrieved the item.

    A list whose maximum is not above 0 is left as it is.

    keyword [a 4, b 2], vector [b 0.5] -> b 0.3 * 2/4 + 0.7 * 0.5/0.5 = 0.85 "hybrid", a 0.3 * 4/4 = 0.3 "keyword"
    """
    merged = {key: (keyword_weight * score, "keyword") for key, score in _divided(keyword)}
    for key, score in _divided(vector):
        if key in merged:
            merged[key] = (merged[key][0] + vector_weight * score, "hybrid")
        else:
            merged[key] = (vector_weight * score, "vector")
    return merged


def _divided(scores: Sequence[tuple[Key, float]]) -> Iterable[tuple[Key, float]]:
    top = max((score for _, score in scores), default=0.0)
    return ((key, score / top if top > 0 else score) for key, score in scores)


def order(score: float, doc_id: str, chunk_id: str) -> tuple[float, str, int, str]:
    """Sorts best first; equal scores by document, then by the order of its chunks."""
    return -score, doc_id, len(chunk_id), chunk_id


def merge_results(
    keyword_results: Sequence[Mapping[str, Any]],
    vector_results: Sequence[Mapping[str, Any]],
    keyword_weight: float = 0.3,
    vector_weight: float = 0.7,
) -> list[dict[str, Any]]:
    """Two lists of results (dicts with doc_id, chunk_id and score) merged into one as `fused` does; best first."""
    by_key = {_key(result): result for result in (*vector_results, *keyword_results)}
    keyword, vector = ([(_key(found), found["score"]) for found in results] for results in (keyword_results, vector_results))
    merged = [
        {**by_key[key], "score": score, "source": source}
        for key, (score, source) in fused(keyword, vector, keyword_weight, vector_weight).items()
    ]
    return sorted(merged, key=lambda result: order(result["score"], result["doc_id"], result["chunk_id"]))


def _key(result: Mapping[str, Any]) -> tuple[str, str]:
    return result["doc_id"], result["chunk_id"]
