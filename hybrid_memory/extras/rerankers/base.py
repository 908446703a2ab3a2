"""What all rerankers have in common: a budget in seconds, batches, retries, texts that are too
long, and checks.

No public method raises because of the network, the server or a text: there are no scores then, and
`problem` says why.

`reranked` is the stage of a search that lets a reranker reorder the first hits.
"""

import math
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ... import messages as log
from ...documents.document import embedded_text
from ...embedding.transport import BUSY, LONG, REST, RETRY, STOP, TRIES, Failure, backoff, within

if TYPE_CHECKING:
    from ...config import Settings
    from ...search.hit import Hit
    from ...search.state import SearchState

SHORTER = 0.75  # the share of a text that is kept when it is too long
SHORTEST = 16  # characters
LARGEST = 1e9  # of a score; logits are some tens


class Reranker:
    """Scores passages for a query. A subclass asks the model in `_request`.

    `name` is what users call the model or server; the same name stands for the same scores.
    `timeout` is in seconds of wall time.
    """

    batch_size = 1000  # texts in a request
    patience = 0.0  # seconds that `is_available` waits at least, as for the download of a model

    def __init__(self, name: str, timeout: float) -> None:
        self.name, self.timeout = name, timeout
        self.problem: str | None = None  # why the last call gave no scores
        self._resting = (0.0, "")  # not to be asked before this time, and why

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return a score of each text, higher ones for better texts; or [] if not all have one
        within the timeout.
        """
        return self._scores(query, texts, self.timeout)

    def is_available(self) -> bool:
        """Return whether a text can be scored now. Sends a word, and nothing of the store."""
        return bool(self._scores("available", ["available"], max(self.timeout, self.patience)))

    def close(self) -> None:
        """Close idle connections; the next call opens a new one."""

    def _request(self, query: str, texts: list[str], seconds: float) -> list[Any]:
        """Return the raw score of each text, unchecked; [] for a reply that has not one for each.
        The reply may take so many seconds.

        Raises Failure.
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
        """Remember for how long the server should not be asked, and return no scores."""
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
        """Return the scores of texts; in halves if all are too much for one request, and of its
        beginning if a text alone is.
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
        """Tries again if the server fails or asks to wait, as long as there is time."""
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
            raise Failure(STOP, f"{self.name} did not give a score for each passage")
        # NaN is not
        if not all(type(score) in (int, float) and abs(score) < LARGEST for score in raw):
            raise Failure(STOP, f"{self.name} gave a score that is not a number")
        return [float(score) for score in raw]


# Logits: where all scores are nearer to each other, the model does not tell the passages apart
LEAST_SPREAD = 2.0
NEAREST = 1e-7  # to 0 and 1, of a probability: float32 has no smaller steps below 1


def reranked(
    hits: "Iterable[Hit]", state: "SearchState", *, reranker: "Reranker", settings: "Settings"
) -> "list[Hit]":
    """Hits whose scores are a mix of their own and the reranker's, which sees the first
    `rerank_limit`; best first.

    The others keep the share of their own score, so they stay below. Without the reranker's scores
    all stays as it was, and the search has a warning.
    """
    ranked = list(hits)
    first = ranked[: settings["rerank_limit"]]
    # There is no order to change; or it is a look-up, not a question
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
        hit.scale_by(1 - weight)
    for number, (hit, score, share) in enumerate(zip(first, raw, comparable(raw), strict=True), 1):
        part = weight * share
        hit.add(part)
        hit.rerank = {
            "rank": number,
            "score": score,
            "normalised": share,
            "weight": weight,
            "part": part,
        }
    # Stable: equal ones stay in the order they came
    return sorted(ranked, key=lambda hit: -hit.score)


def comparable(scores: Sequence[float]) -> list[float]:
    """Scores of any model from 0 to 1: the best is 1, and the worst 0 unless all are near to each
    other.

    Some servers give the model's own number, a logit, and some its sigmoid, a probability. The
    latter are turned back, so that the same model means the same wherever it runs, and so that
    passages that are all probable still differ: [0.5, 0.982, 0.018] -> logits [0, 4, -4] -> [0.5,
    1, 0].
    """
    if all(0 <= score <= 1 for score in scores):
        bounded = [min(max(score, NEAREST), 1 - NEAREST) for score in scores]
        scores = [math.log(score / (1 - score)) for score in bounded]
    best = max(scores)
    spread = max(best - min(scores), LEAST_SPREAD)
    return [1 - (best - score) / spread for score in scores]
