"""The stage that lets a reranker reorder the first hits."""

from collections.abc import Iterable, Sequence
from math import log
from typing import TYPE_CHECKING

from ...documents.document import embedded_text

if TYPE_CHECKING:
    from ...config import Settings
    from ..context import Context
    from ..hit import Hit
    from .base import Reranker

LEAST_SPREAD = 2.0  # logits: where all scores are nearer to each other, the model does not tell the passages apart
NEAREST = 1e-7  # to 0 and 1, of a probability: float32 has no smaller steps below 1


def reranked(hits: "Iterable[Hit]", context: "Context", *, reranker: "Reranker", settings: "Settings") -> "list[Hit]":
    """Hits whose scores are a mix of their own and the reranker's, which sees the first `rerank_limit`; best first.

    The others keep the share of their own score, so they stay below. Without the reranker's scores all stays as it was, and the
    context has a warning.
    """
    ranked = list(hits)
    first = ranked[: settings["rerank_limit"]]
    if len(first) < 2 or context.query.is_identifier:  # there is no order to change; or it is a look-up, not a question
        return ranked
    texts = [embedded_text(hit.row.heading_path, hit.text) for hit in first if hit.row]
    query = context.query.text
    cache = context.storage.query_cache(settings["query_cache_size"])
    raw = cache.scores(reranker.name, query, texts, lambda missing: reranker.scores(query, missing))
    if not raw:
        context.warnings.append(f"not reranked: {reranker.problem}")
        return ranked
    weight = settings["rerank_weight"]
    for hit in ranked:
        hit.scale_by(1 - weight)
    for number, (hit, score, share) in enumerate(zip(first, raw, comparable(raw), strict=True), 1):
        part = weight * share
        hit.add(part)
        hit.rerank = {"rank": number, "score": score, "normalised": share, "weight": weight, "part": part}
    return sorted(ranked, key=lambda hit: -hit.score)  # stable: equal ones stay in the order they came


def comparable(scores: Sequence[float]) -> list[float]:
    """Scores of any model from 0 to 1: the best is 1, and the worst 0 unless all are near to each other.

    Some servers give the model's own number, a logit, and some its sigmoid, a probability. The latter are turned back, so that
    the same model means the same wherever it runs, and so that passages that are all probable still differ:
    [0.5, 0.982, 0.018] -> logits [0, 4, -4] -> [0.5, 1, 0].
    """
    if all(0 <= score <= 1 for score in scores):
        bounded = [min(max(score, NEAREST), 1 - NEAREST) for score in scores]
        scores = [log(score / (1 - score)) for score in bounded]
    best = max(scores)
    spread = max(best - min(scores), LEAST_SPREAD)
    return [1 - (best - score) / spread for score in scores]
