"""A hit: a candidate chunk and its partial scores."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..storage.rows import Candidate, ChunkRow, Neighbour
    from .coverage import Coverage
    from .legs import Legs
    from .phrasing import Phrasing


class Hit:
    """A candidate chunk and its partial scores. Each stage sets the fields of its subject."""

    __slots__ = (
        "_score_before_decay", "agreement", "also", "candidate", "chunk_id", "chunks", "confidence",
        "coverage", "covered", "decay", "doc_id", "document", "id", "lacks_name", "legs", "nearness",
        "neighbours", "newer", "newer_citation", "of_date", "others", "phrasing", "rerank", "row",
        "scale", "score", "source", "succession", "terms", "text",
    )  # fmt: skip

    def __init__(self, candidate: "Candidate", legs: "Legs", phrasing: "Phrasing") -> None:
        self.legs = legs  # which found it
        self.phrasing = phrasing  # whose legs these are
        self.candidate = candidate
        self.id = candidate.id
        self.doc_id = candidate.doc_id
        self.chunk_id = candidate.chunk_id
        self.text = candidate.text
        # Merging
        self.score = 0.0  # 0 to 1, changed by later stages, too
        self.source = ""  # "keyword", "vector" or "hybrid": which legs retrieved it
        # Evidence: the parts of the score from the chunks beside it, and from its document
        self.neighbours = 0.0
        self.document = 0.0
        self.scale = 1.0  # by which the score before was multiplied
        # Several phrasings: the part of the score from those that found it besides the best one
        self.agreement = 0.0
        # Dates
        self.of_date = 0.0  # the part of the score for a document of the days that the query means
        self.decay = 1.0  # by which age has multiplied the score
        self._score_before_decay: float | None = None  # None until it has aged
        # The same text once
        self.others: list[int] = []  # chunks with the same text
        # Revisions
        self.newer: int | None = None  # chunks.id of the passage that is declared to replace it
        self.newer_citation: str | None = None
        self.succession = 0.0  # the part of the score that puts it before what it replaces
        # Confidence
        self.confidence = 0.0
        self.covered: Coverage | None = None  # how much of the query the chunk has
        self.coverage = 0.0  # the same as a number, with the days of a passage
        self.lacks_name = False  # a name in the query is not in the chunk
        self.nearness: float | None = None
        self.terms: Sequence[str] = ()  # words of the query that the chunk has
        # Reranking: what its part of the score is made of
        self.rerank: dict[str, Any] | None = None
        # Results
        self.row: ChunkRow | None = None
        self.chunks: Sequence[Neighbour] = ()  # itself and those around it, if the text needs them
        self.also: list[str] = []  # citations of the same text elsewhere

    @property
    def number(self) -> int:
        """The chunk's number in its document. Neighbours have consecutive numbers, while their ids may
        be far apart in a document that has grown.
        """
        return int(self.chunk_id.rpartition("-")[2])

    @property
    def score_before_decay(self) -> float:
        """The score before age reduced it."""
        return self.score if self._score_before_decay is None else self._score_before_decay

    def age_by(self, decay: float) -> None:
        """Multiply the score by a factor from 0 to 1."""
        self._score_before_decay = self.score
        self.decay = decay
        self.score *= decay

    def scale_by(self, share: float) -> None:
        """Multiply the score and each of its parts by a share."""
        self.score *= share
        self.neighbours *= share
        self.document *= share
        self.scale *= share
        self.agreement *= share
        self.of_date *= share
        self.succession *= share
        if self._score_before_decay is not None:
            self._score_before_decay *= share
        if self.rerank:
            self.rerank["weight"] *= share
            self.rerank["part"] *= share

    def succeed(self, former: "Hit") -> None:
        """Take the score of a hit that this one revises, and age no more than that one."""
        self.decay = max(self.decay, former.decay)
        self.score = self.score_before_decay * self.decay
        if self.score > former.score:
            self.scale_by(former.score / self.score)  # `spread` had put it behind
            return
        if self.decay and self.score < former.score:
            part = (former.score - self.score) / self.decay
            self.succession += part
            self.add(part)

    def add(self, part: float) -> None:
        """Add a part to the score before it ages."""
        self.score += part * self.decay
        if self._score_before_decay is not None:
            self._score_before_decay += part
