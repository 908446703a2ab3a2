"""The two legs of a search, keywords and vectors: what each gives to a score, and how they merge.

Both legs are put on one scale, from 0 to 1, that means the same in every search and for every
model.

A cosine becomes its nearness, which takes away what a model gives to any two texts. It is not
divided by the best one: where a model has nothing to say, as to a language that it does not know,
all nearnesses are small, and keywords decide.

BM25 is divided by its best value, and multiplied by how telling that value is: of chunks that share
one common word with a long question, one is still the best. The best hit is telling if it has as
much BM25 as all words of the query are worth, or twice the logarithm of the number of chunks. (By
the definition of inverse document frequency, those of independent words add up to that logarithm
where one chunk of all has these words by chance. Words are not independent, hence twice.) One that
has less counts by the cube of its share.

A part of what the vectors give to a chunk is the nearness of the first chunks of its document:
these say what it is about, in its title and its first sentences, which a chunk from the middle of
it does not repeat.

These figures were found on judged collections (docs/measurements.md). `merge_results` is the
simpler merging of two lists by weight, for programs that have lists of their own.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ..storage.rows import Ranked, Scores

SHARPNESS = 3  # of the power by which a weak best hit counts less
LEADS = 2  # chunks with which a document begins that speak for all of it
LEAD_SHARE = 1 / 3  # of a chunk's part of the vector leg, given by the leads of its document

Key = TypeVar("Key", bound=Hashable)


class Legs(NamedTuple):
    """Both legs; None for one that could not run. `keyword` and `vector` are what each gives to a
    score, 0 to 1, by chunk.

    A chunk that only the keyword leg retrieved has a part of the vector leg, too. Without an
    embedding it is an estimate: as near as its words say, so that it is not ranked last.
    """

    by_keyword: Scores | None
    by_vector: Scores | None
    keyword: Mapping[int, float]
    vector: Mapping[int, float]
    telling: float  # how much the best keyword hit says, 0 to 1
    bm25: Mapping[int, float]
    nearest: Mapping[int, float]  # what the vector leg retrieved
    cosine: Mapping[int, float]
    near: Mapping[int, float]  # the nearness of each chunk that has a cosine
    weights: tuple[float, float]  # of keywords and vectors; their sum is 1

    def score(self, id: int) -> float:
        """Return the weighted sum of both parts."""
        keyword_weight, vector_weight = self.weights
        by_keyword = keyword_weight * self.keyword.get(id, 0.0)
        return by_keyword + vector_weight * self.vector.get(id, 0.0)

    def source(self, id: int) -> str:
        """Return which legs retrieved a chunk that one of them did."""
        if id not in self.bm25:
            return "vector"
        return "hybrid" if id in self.nearest else "keyword"

    def parts(self, id: int, scale: float) -> dict[str, dict[str, Any]]:
        """Return what both legs give to a score that was multiplied by `scale` afterwards."""
        keyword_weight, vector_weight = self.weights
        return {
            "keyword": {
                **_part(id, self.by_keyword, self.keyword, scale * keyword_weight),
                "telling": self.telling,
            },
            "vector": _part(id, self.by_vector, self.vector, scale * vector_weight),
        }


def made(
    ranked: Ranked | None,
    by_vector: Scores | None,
    cosine: Mapping[int, float],
    sample: Mapping[int, float],
    leads: Mapping[int, Sequence[int]],
    weights: tuple[float, float],
) -> Legs:
    """Put the legs on one scale. One that ran alone is divided by its best score, so that its best
    hit has 1.

    `leads` are the first chunks of each chunk's document.
    """
    by_keyword = ranked.scores if ranked else None
    near = nearness(cosine, sample)
    keyword = divided(by_keyword or [])
    vector = divided(by_vector or [])
    telling = 1.0
    if ranked and by_vector is not None:
        telling = _telling(ranked)
        nearest = max(near.values(), default=0.0)
        estimates = {id: share * nearest for id, share in keyword.items()}
        vector = _led(estimates | near, near, leads)
        keyword = {id: share * telling for id, share in keyword.items()}
    return Legs(
        by_keyword=by_keyword,
        by_vector=by_vector,
        keyword=keyword,
        vector=vector,
        telling=telling,
        bm25=dict(by_keyword or []),
        nearest=dict(by_vector or []),
        cosine=cosine,
        near=near,
        weights=weights,
    )


def divided(scores: Iterable[tuple[int, float]]) -> dict[int, float]:
    """Divide scores, best first, by the best one; leave them as they are if that is not above 0."""
    listed = list(scores)
    top = listed[0][1] if listed and listed[0][1] > 0 else 1.0
    return {id: score / top for id, score in listed}


def nearness(cosine: Mapping[int, float], sample: Mapping[int, float]) -> dict[int, float]:
    """Return 0 for a chunk that is no nearer than the mean of the others in the sample, 1 for one
    that points where the query does.
    """
    total = sum(sample.values())
    near = {}
    for id, own in cosine.items():
        others = len(sample) - (id in sample)
        mean = 0.0
        if others:
            mean = max((total - sample.get(id, 0.0)) / others, 0.0)
        near[id] = max(own - mean, 0.0) / (1 - mean) if mean < 1 else 0.0
    return near


def _led(
    vector: Mapping[int, float], near: Mapping[int, float], leads: Mapping[int, Sequence[int]]
) -> dict[int, float]:
    """Replace LEAD_SHARE of each part by the mean nearness of those leads that have an embedding."""
    led = {}
    for id, own in vector.items():
        near_leads = [near[lead] for lead in leads.get(id, ()) if lead in near]
        if near_leads:
            own = (1 - LEAD_SHARE) * own + LEAD_SHARE * sum(near_leads) / len(near_leads)
        led[id] = own
    return led


def _telling(ranked: Ranked) -> float:
    """Return how much the best keyword hit says, 0 to 1."""
    if ranked.enough <= 0:
        return 1.0
    best = ranked.scores[0][1] if ranked.scores else 0.0
    return min(best / ranked.enough, 1.0) ** SHARPNESS


def _part(id: int, leg: Scores | None, parts: Mapping[int, float], weight: float) -> dict[str, Any]:
    """Return one leg's part: the chunk's rank there, from 1 (None if it was not retrieved), and
    what it gives, weighted.
    """
    ranks = (rank for rank, (retrieved, _) in enumerate(leg or [], 1) if retrieved == id)
    normalised = parts.get(id, 0.0)
    return {
        "rank": next(ranks, None),
        "normalised": normalised,
        "weight": weight,
        "part": weight * normalised,
    }


def order(score: float, doc_id: str, chunk_id: str) -> tuple[float, str, int, str]:
    """Return a key that sorts best first; equal scores by document, then by its chunks' order."""
    return -score, doc_id, len(chunk_id), chunk_id


def merge_results(
    keyword_results: Sequence[Mapping[str, Any]],
    vector_results: Sequence[Mapping[str, Any]],
    keyword_weight: float = 0.3,
    vector_weight: float = 0.7,
) -> list[dict[str, Any]]:
    """Merge two lists of results (dicts with doc_id, chunk_id and score) as `fused` does; return
    them best first.
    """
    by_key = {_key(result): result for result in (*vector_results, *keyword_results)}
    keyword = [(_key(result), result["score"]) for result in keyword_results]
    vector = [(_key(result), result["score"]) for result in vector_results]
    merged = []
    for key, (score, source) in fused(keyword, vector, keyword_weight, vector_weight).items():
        merged.append({**by_key[key], "score": score, "source": source})
    merged.sort(key=lambda result: order(result["score"], result["doc_id"], result["chunk_id"]))
    return merged


def fused(
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


def _by_maximum(scores: Sequence[tuple[Key, float]]) -> Iterable[tuple[Key, float]]:
    top = max((score for _, score in scores), default=0.0)
    return ((key, score / top if top > 0 else score) for key, score in scores)


def _key(result: Mapping[str, Any]) -> tuple[str, str]:
    return result["doc_id"], result["chunk_id"]
