"""What the two legs of a search found, and the weight of each."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..storage.rows import Scores
from .hit import Hit


class Legs(NamedTuple):
    """Both legs; None for one that could not run.

    `filled` are vector scores of chunks that only the keyword leg retrieved: their cosines, and for chunks without an
    embedding an estimate, which is not in `cosine`.
    """

    by_keyword: Scores | None
    by_vector: Scores | None
    filled: Scores
    bm25: Mapping[int, float]
    cosine: Mapping[int, float]
    sample: Mapping[int, float]  # cosines of chunks from all over the store
    weights: tuple[float, float]  # of keywords and vectors; their sum is 1

    def explanation(self, hit: Hit) -> dict[str, Any]:
        """The parts of a hit's score: those of the legs, `neighbours`, `document` and, if there is
        one, that of `rerank` add up to `score_before_decay`."""
        return {
            "keyword": _part(hit, self.by_keyword, self.bm25, self.weights[0]),
            "vector": _part(hit, self.by_vector, {**self.cosine, **dict(self.filled)}, self.weights[1]),
            "neighbours": hit.neighbours,
            "document": hit.document,
            "score_before_decay": hit.score if hit.before_decay is None else hit.before_decay,
            "decay": hit.decay,
            "terms": list(hit.terms),
            "coverage": hit.coverage,
            "nearness": hit.nearness,
        } | ({"rerank": hit.rerank} if hit.rerank else {})


def _part(hit: Hit, leg: Scores | None, scores: Mapping[int, float], weight: float) -> dict[str, Any]:
    """One leg's part: its rank there, from 1 (None if it was not retrieved), and its share of the leg's best score, weighted."""
    rank = next((rank for rank, (id, _) in enumerate(leg or [], 1) if id == hit.id), None)
    top = leg[0][1] if leg else 0.0
    normalised = max(scores.get(hit.id, 0.0), 0.0) / (top if top > 0 else 1.0)
    return {
        "rank": rank,
        "normalised": normalised,
        "weight": weight * hit.scale,
        "part": weight * hit.scale * normalised,
    }


def estimated(by_keyword: Scores | None, by_vector: Scores | None, cosine: Mapping[int, float]) -> Scores:
    """Vector scores for keyword hits without an embedding, as near as their words say, so that they are not ranked last."""
    if not by_keyword or by_vector is None:
        return []
    most, nearest = by_keyword[0][1], by_vector[0][1] if by_vector else 0.0
    scale = (nearest if nearest > 0 else 1.0) / (most if most > 0 else 1.0)
    return [(id, score * scale) for id, score in by_keyword if id not in cosine]
