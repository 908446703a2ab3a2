"""A hit: a candidate chunk, its score, and the trace of how the score came about."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..storage.rows import Candidate, ChunkRow, Neighbour
    from .coverage import Coverage
    from .fusion import FusedScores
    from .phrasing import Phrasing


class Step(NamedTuple):
    """A change of a score: a stage added `value`, or multiplied by it. `details` are for people."""

    name: str
    value: float
    is_factor: bool
    details: Mapping[str, Any] = {}

    def to_json(self) -> dict[str, Any]:
        """{"name": "document", "add": 0.07} or {"name": "decay", "multiply": 0.5}, with the details."""
        return {
            "name": self.name,
            "multiply" if self.is_factor else "add": self.value,
            **self.details,
        }


class Hit:
    """A candidate chunk. Stages change its score by `add` and `multiply`, with their name."""

    __slots__ = (
        "_trace", "also", "candidate", "chunk_id", "chunks", "confidence", "coverage", "covered",
        "decay", "doc_id", "fused", "id", "is_of_date", "lacks_name", "nearness", "newer",
        "newer_citation", "others", "phrasing", "row", "says_more", "score_before_decay", "source",
        "terms", "text",
    )  # fmt: skip

    def __init__(self, candidate: "Candidate", fused: "FusedScores", phrasing: "Phrasing") -> None:
        self.fused = fused  # of both legs
        self.phrasing = phrasing  # which found it
        self.candidate = candidate
        self.id = candidate.id
        self.doc_id = candidate.doc_id
        self.chunk_id = candidate.chunk_id
        self.text = candidate.text
        # Score
        self.score_before_decay = 0.0  # 0 to 1
        self.decay = 1.0  # the factor of the passage's age, 0 to 1
        self._trace: list[Step] = []
        self.source = ""  # "keyword", "vector" or "hybrid": which legs retrieved it
        self.is_of_date = False  # dated by a day that the query means, or mentioning it
        # The same text once
        self.others: list[Hit] = []  # with the same text, newest first
        # Revisions
        self.newer: int | None = None  # chunks.id of the passage that is declared to replace it
        self.newer_citation: str | None = None
        self.says_more = False  # also other lines than the one replaced have a word of the query
        # Confidence
        self.confidence = 0.0
        self.covered: Coverage | None = None  # how much of the query the chunk has
        self.coverage = 0.0  # the same as a number, with the days of a passage
        self.lacks_name = False  # a name in the query is not in the chunk
        self.nearness: float | None = None
        self.terms: Sequence[str] = ()  # words of the query that the chunk has
        # Results
        self.row: ChunkRow | None = None
        self.chunks: Sequence[Neighbour] = ()  # itself and those around it, if the text needs them
        self.also: dict[str, str | None] = {}  # citations of the same text elsewhere, with the date

    @property
    def number(self) -> int:
        """The chunk's number in its document. Neighbours have consecutive numbers, while their ids may
        be far apart in a document that has grown.
        """
        return int(self.chunk_id.rpartition("-")[2])

    @property
    def day(self) -> str:
        """The last day on which it may have been written: that of its date, else the day on which
        its file changed or its text was stored.

        '2026-01' -> '2026-01-31', '2026' -> '2026-12-31'
        """
        day = self.candidate.date or (self.candidate.modified or "")[:10]
        return day + "-12-31"[len(day) - len("2026") :] if day else day

    @property
    def score(self) -> float:
        """The score that ranks, 0 to 1."""
        return self.score_before_decay * self.decay

    @property
    def trace(self) -> list[Step]:
        """The steps that made the score, from 0: each adds to the result of those before, or
        multiplies it. Age comes last, whenever it was applied.
        """
        if self.decay == 1:
            return self._trace
        return [*self._trace, Step("decay", self.decay, True)]

    def add(self, name: str, value: float, details: Mapping[str, Any] | None = None) -> None:
        """Add a part to the score before it ages. A part of 0 without details leaves no trace."""
        if value or details:
            self.score_before_decay += value
            self._trace.append(Step(name, value, False, details or {}))

    def multiply(self, name: str, factor: float) -> None:
        """Multiply the score."""
        if factor != 1:
            self.score_before_decay *= factor
            self._trace.append(Step(name, factor, True))

    def keep_below(self, score: float) -> None:
        """Lower the score to that of a hit that stays before this one, if it is higher."""
        if self.score > score:
            self.multiply("order", score / self.score)

    def rank_with(self, score: float) -> None:
        """Take a score that belongs to this place in the order."""
        if self.decay:
            self.add("order", (score - self.score) / self.decay)

    def succeed(self, former: "Hit") -> None:
        """Take the score of a hit that this one revises, and age no more than that one."""
        self.decay = max(self.decay, former.decay)
        if self.score > former.score:
            self.keep_below(former.score)  # `diversify` had put it behind
        elif self.decay:
            self.add("succession", (former.score - self.score) / self.decay)
