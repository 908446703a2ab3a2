"""The two legs of a search, keywords and vectors: what each gives to a score.

Both legs are put on one scale, from 0 to 1, that means the same in every search and for every
model.

A cosine becomes its nearness, which takes away what a model gives to any two texts. It is not
divided by the best one: where a model has nothing to say, as to a language that it does not know,
all nearnesses are small, and keywords decide.

BM25 is divided by its best value, and multiplied by the strength of that value: of chunks that share
one common word with a long question, one is still the best. The best hit is strong if its BM25
reaches the smaller of two numbers: what all words of the query together are worth, and twice the
logarithm of the number of chunks. (Inverse document frequencies of independent words that add up to
this logarithm mean one match by chance in the whole store. Words are not independent, hence twice.)
A weaker best hit counts by the cube of its share.

The product is multiplied by the coverage of the chunk, the share of the query that it has (coverage.py),
so that a chunk which repeats one rare word does not pass for an answer. A third of the keyword part is
the coverage alone: it counts near words, too. Names of documents and identifiers are looked up, and
their BM25 counts without coverage.

A part of what the vectors give to a chunk is the nearness of the first chunks of its document:
these say what it is about, in its title and its first sentences, which a chunk from the middle of
it does not repeat.

These figures were found on judged collections (docs/measurements.md).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..merger import divide_by_best, source
from ..storage.rows import NONE, KeywordLeg, Ranking

SHARPNESS = 3  # of the power by which a weak best hit counts less
BM25_SHARE = 2 / 3  # of the keyword part; the rest is the coverage alone
OPENING_CHUNKS = 2  # chunks with which a document begins that speak for all of it
ROUNDING = 1e-9  # of a mean of cosines
OPENING_SHARE = (
    1 / 3
)  # of a chunk's part of the vector leg, given by the opening chunks of its document


class FusedScores:
    """What both legs retrieved, and their parts of the score of each chunk, by chunks.id.

    A chunk that one leg retrieved has a part of the other leg, too. Without an embedding, its vector
    part is estimated from its keyword score, so that the chunk is not ranked last.
    """

    def __init__(
        self,
        *,
        bm25: Mapping[int, float],
        strength: float,
        vector_parts: Mapping[int, float],
        needs_coverage: bool,
        keyword_scores: Mapping[int, float],
        vector_scores: Mapping[int, float],
        cosines: Mapping[int, float],
        nearness: Mapping[int, float],
        weights: tuple[float, float],
        share_of_full: float,
    ) -> None:
        self.bm25 = bm25  # divided by the best one, times `strength`: 0 to 1
        self.strength = strength  # of the best keyword hit, 0 to 1; `strength` in `explain`
        self.vector_parts = vector_parts  # 0 to 1, before the weight
        self.needs_coverage = needs_coverage  # whether the keyword part depends on the coverage
        # Retrieved by each leg, best first. Keyword scores are BM25, raised for a document that the
        # query names; for symbols, a share
        self.keyword_scores = keyword_scores
        self.vector_scores = vector_scores  # cosines
        self.cosines = cosines  # also of chunks that only the keyword leg retrieved
        self.nearness = nearness  # of each chunk that has a cosine
        self.weights = weights  # of keywords and vectors; their sum is 1
        # What makes the scores of several phrasings comparable: the best hit's share of a full match
        # where one leg ran alone and its scores were divided by the best; else 1
        self.share_of_full = share_of_full
        self._keyword_ranks = {id: rank for rank, id in enumerate(keyword_scores, 1)}
        self._vector_ranks = {id: rank for rank, id in enumerate(vector_scores, 1)}

    def source(self, id: int) -> str:
        """The legs that retrieved a chunk: "keyword", "vector" or "hybrid"."""
        return source(id, self.keyword_scores, self.vector_scores)

    def keyword_part(self, id: int, coverage: float) -> float:
        """The part of the keyword leg before its weight, 0 to 1."""
        bm25 = self.bm25.get(id, 0.0)
        if not self.needs_coverage:
            return bm25
        return coverage * (BM25_SHARE * bm25 + 1 - BM25_SHARE)

    def parts(self, id: int, coverage: float) -> Iterator[tuple[str, float, dict[str, Any]]]:
        """The weighted parts of both legs in the score of a chunk: name, value, and its details."""
        keyword_weight, vector_weight = self.weights
        bm25 = {"bm25": self.bm25.get(id, 0.0), "strength": self.strength}
        for name, ranks, part, weight, further in (
            ("keyword", self._keyword_ranks, self.keyword_part(id, coverage), keyword_weight, bm25),
            ("vector", self._vector_ranks, self.vector_parts.get(id, 0.0), vector_weight, {}),
        ):
            rank = ranks.get(id)  # from 1; None if this leg did not retrieve the chunk
            details = {"rank": rank, "normalised": part, "weight": weight, **further}
            yield name, weight * part, details


def normalize_scores(
    keyword_leg: KeywordLeg | None,
    vector_ranking: Ranking | None,
    cosines: Mapping[int, float],
    sample: Mapping[int, float],
    opening: Mapping[int, Sequence[int]],
    weights: tuple[float, float],
    *,
    is_lookup: bool = False,
) -> FusedScores:
    """Put the legs on one scale. A leg that ran alone is divided by its best score.

    `sample` has the cosines of a fixed sample of chunks: the similarity that the model gives to any
    text. `opening` are the first chunks of each chunk's document.
    """
    keyword_ranking = keyword_leg.ranking if keyword_leg else []
    further_scores = keyword_leg.further_scores if keyword_leg else NONE
    nearness = measure_nearness(cosines, sample)
    bm25 = divide_by_best([*keyword_ranking, *further_scores.items()])
    vector_parts = divide_by_best(vector_ranking or [])
    strength = 1.0
    needs_coverage = False
    share_of_full = 1.0
    if vector_ranking is None and keyword_leg is not None:
        share_of_full = _strength(keyword_leg)
    elif keyword_leg is None:
        share_of_full = max(nearness.values(), default=0.0)
    else:
        strength = _strength(keyword_leg)
        needs_coverage = not is_lookup
        greatest = max(nearness.values(), default=0.0)
        estimates = {id: bm25[id] * greatest for id, _ in keyword_ranking}
        vector_parts = _with_opening(estimates | nearness, nearness, opening)
        bm25 = {id: share * strength for id, share in bm25.items()}
    return FusedScores(
        bm25=bm25,
        strength=strength,
        vector_parts=vector_parts,
        needs_coverage=needs_coverage,
        keyword_scores=dict(keyword_ranking),
        vector_scores=dict(vector_ranking or []),
        cosines=cosines,
        nearness=nearness,
        weights=weights,
        share_of_full=share_of_full,
    )


def measure_nearness(cosines: Mapping[int, float], sample: Mapping[int, float]) -> dict[int, float]:
    """Return (cosine - mean) / (1 - mean) for each chunk, at least 0; `mean` is the mean cosine of the
    sample without the chunk itself.
    """
    total = sum(sample.values())
    nearness = {}
    for id, own in cosines.items():
        others = len(sample) - (id in sample)
        mean = 0.0
        if others:
            mean = max((total - sample.get(id, 0.0)) / others, 0.0)
        room = 1 - mean
        if room < ROUNDING:
            nearness[id] = 0.0
        else:
            nearness[id] = max(own - mean, 0.0) / room
    return nearness


def _with_opening(
    vector_parts: Mapping[int, float],
    nearness: Mapping[int, float],
    opening: Mapping[int, Sequence[int]],
) -> dict[int, float]:
    """Replace OPENING_SHARE of each part by the mean nearness of those opening chunks that have an
    embedding.
    """
    parts = {}
    for id, part in vector_parts.items():
        of_opening = [nearness[chunk] for chunk in opening.get(id, ()) if chunk in nearness]
        if of_opening:
            part = (1 - OPENING_SHARE) * part + OPENING_SHARE * sum(of_opening) / len(of_opening)
        parts[id] = part
    return parts


def _strength(keyword_leg: KeywordLeg) -> float:
    """How strong the best keyword hit is, 0 to 1: its share of a full match, to the power SHARPNESS."""
    if keyword_leg.full_score <= 0:
        return 1.0
    best = keyword_leg.ranking[0][1] if keyword_leg.ranking else 0.0
    return min(best / keyword_leg.full_score, 1.0) ** SHARPNESS
