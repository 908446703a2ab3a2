"""The base class of all rerankers: time limit, batches, retries, shortening of long texts, checks.

No public method raises for a problem with the network, the server or a text: it returns no scores
and sets `problem`.

`reranked` is the search stage in which a reranker reorders the first hits.
"""

import math
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ... import messages as log
from ...embedding.transport import BUSY, LONG, REST, RETRY, STOP, TRIES, Failure, backoff, within
from ...text.terms import embedded_text

if TYPE_CHECKING:
    from ...config import Settings
    from ...search.hit import Hit
    from ...search.state import SearchState

SHORTER = 0.75  # the share of a text that is kept if it is too long
SHORTEST = 16  # characters; a shorter text is not cut
LARGEST = 1e9  # bound of a plausible score; logits are within a few tens


class BaseReranker:
    """Scores passages for a query. A subclass asks the model in `_request`.

    `name` describes the model or server for users, and is the cache key of its scores. `timeout` is
    in seconds of wall time.
    """

    batch_size = 1000  # texts per request
    patience = 0.0  # minimum seconds that `is_available` waits, e.g. for the download of a model

    def __init__(self, name: str, timeout: float) -> None:
        self.name, self.timeout = name, timeout
        self.problem: str | None = None  # why the last call gave no scores
        self._resting = (0.0, "")  # make no request before this time, and the reason

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return a score for each text, higher for better texts; [] if not all scores arrive within
        the timeout.
        """
        return self._scores(query, texts, self.timeout)

    def is_available(self) -> bool:
        """Whether texts can be scored now. Sends one word, and nothing from the store."""
        return bool(self._scores("available", ["available"], max(self.timeout, self.patience)))

    def close(self) -> None:
        """Close idle connections; the next call opens a new one."""

    def _request(self, query: str, texts: list[str], seconds: float) -> list[Any]:
        """Return the unchecked score of each text; [] for a reply that lacks some. The reply may
        take `seconds`. Raises Failure.
        """
        raise NotImplementedError

    def _scores(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        self.problem = None
        started = time.monotonic()
        if (rest := self._resting[0] - started) > 0:
            return self._failed(Failure(STOP, self._resting[1], rest))
        try:
            found: list[float] = within(seconds, lambda: self._all(query, texts, started + seconds))
        except TimeoutError:
            limit = "its first answer"
            if seconds == self.timeout:
                limit = "rerank_timeout"
            return self._failed(
                Failure(STOP, f"{self.name} did not answer within {seconds:g} s ({limit})", REST)
            )
        except Failure as failure:
            return self._failed(failure)
        return found

    def _failed(self, failure: Failure) -> list[float]:
        """Record the failure and how long to make no more requests; return no scores."""
        self.close()
        self._resting = (time.monotonic() + failure.wait, failure.reason)
        self.problem = failure.reason
        log.warning("%s", failure.reason)
        return []

    def _all(self, query: str, texts: Sequence[str], until: float) -> list[float]:
        size = self.batch_size
        parts = [
            self._part(query, list(texts[start : start + size]), until)
            for start in range(0, len(texts), size)
        ]
        return [score for part in parts for score in part]

    def _part(self, query: str, texts: list[str], until: float) -> list[float]:
        """Return the scores of texts. If they are too long for one request, send them in halves;
        cut a single text that is too long.
        """
        try:
            return self._tried(query, texts, until)
        except Failure as failure:
            if failure.kind != LONG or (len(texts) == 1 and len(texts[0]) <= SHORTEST):
                raise
        if len(texts) == 1:
            return self._part(query, [texts[0][: int(len(texts[0]) * SHORTER)]], until)
        half = len(texts) // 2
        return self._part(query, texts[:half], until) + self._part(query, texts[half:], until)

    def _tried(self, query: str, texts: list[str], until: float) -> list[float]:
        """Make a request; retry if the server fails or asks to wait, as long as time remains."""
        attempt = 0
        while True:
            attempt += 1
            left = until - time.monotonic()
            if left <= 0:  # the caller has gone on
                raise TimeoutError
            try:
                return self._checked(self._request(query, texts, left), len(texts))
            except Failure as failure:
                wait = failure.wait or backoff(attempt)
                if (
                    failure.kind not in (RETRY, BUSY)
                    or attempt == TRIES
                    or time.monotonic() + wait > until
                ):
                    raise
            time.sleep(wait)

    def _checked(self, raw: list[Any], count: int) -> list[float]:
        """Return the scores. Raises Failure if one is missing or not a number."""
        if len(raw) != count:
            raise Failure(STOP, f"{self.name} did not return a score for each passage")
        # The comparison is false for NaN
        if not all(type(score) in (int, float) and abs(score) < LARGEST for score in raw):
            raise Failure(STOP, f"{self.name} returned a score that is not a number")
        return [float(score) for score in raw]


# In logits: if all scores are closer together, the model does not distinguish the passages
LEAST_SPREAD = 2.0
NEAREST = 1e-7  # least distance of a probability from 0 and 1: the resolution of float32 below 1


def reranked(
    hits: "Iterable[Hit]", state: "SearchState", *, reranker: "BaseReranker", settings: "Settings"
) -> "list[Hit]":
    """Return the hits, best first, after the reranker has scored the first `rerank_limit` of them.

    A new score is a weighted mean of the hit's own score and the reranker's. Later hits keep only
    the weighted share of their own score, so they stay below. If the reranker returns no scores,
    the order does not change and the search has a warning.
    """
    ranked = list(hits)
    first = ranked[: settings["rerank_limit"]]
    # Nothing to reorder, or a look-up instead of a question
    if len(first) < 2 or state.query.is_identifier:
        return ranked
    texts = [embedded_text(hit.row.heading_path, hit.text) for hit in first if hit.row]
    query = state.query.text
    cache = state.storage.query_cache(settings["query_cache_size"])
    raw = cache.scores(reranker.name, query, texts, lambda missing: reranker.scores(query, missing))
    if not raw:
        state.warnings.append(f"not reranked: {reranker.problem}")
        return ranked
    weight = settings["rerank_weight"]
    for hit in ranked:
        hit.multiply("rerank", 1 - weight)
    for number, (hit, score, share) in enumerate(zip(first, raw, comparable(raw), strict=True), 1):
        details = {"rank": number, "score": score, "normalised": share, "weight": weight}
        hit.add("rerank", weight * share, details)
    # Stable: hits with equal scores keep their order
    return sorted(ranked, key=lambda hit: -hit.score)


def comparable(scores: Sequence[float]) -> list[float]:
    """Scale the scores of any model to 0..1: the best becomes 1, and the worst 0 unless all are
    close together.

    Some servers return logits, others their sigmoid, a probability. Probabilities are converted
    back to logits, so that a model gets the same result on every server, and so that several
    probable passages still differ: [0.5, 0.982, 0.018] -> logits [0, 4, -4] -> [0.5, 1, 0].
    """
    if all(0 <= score <= 1 for score in scores):
        bounded = [min(max(score, NEAREST), 1 - NEAREST) for score in scores]
        scores = [math.log(score / (1 - score)) for score in bounded]
    best = max(scores)
    spread = max(best - min(scores), LEAST_SPREAD)
    return [1 - (best - score) / spread for score in scores]
