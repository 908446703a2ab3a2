"""What a search is asked, what it passes from stage to stage, and what it answers.

These are plain classes, because defining a NamedTuple takes twenty times as long, and every search is a fresh process.
"""

from collections.abc import Mapping, Sequence

from ..typed.names import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import date

    from ..storage.document_rows import Neighbour
    from ..storage.filters import Filters
    from ..storage.rows import ChunkRow
    from .packing import Budget

MODES = ("hybrid", "keyword", "vector")


class Request:
    """What is wanted beside the query.

    `filters` say in which documents to look. `exact` compares every embedding, without the index. With `fts_syntax` the query
    is an expression in FTS5's syntax, and keywords alone answer, because it is not a text to embed. `min_score` keeps back
    what scores less, `min_confidence` what is less sure. The scores of dated documents are halved by every `half_life_days` of
    age (None: the configured number; 0: never), counted from `today`. At most `per_doc` results are of one document.
    `context` adds as many chunks before and after to the text of each result. `budget` is how many characters all of them may
    have. With either, results that stand side by side are joined, so that there may be fewer than `limit`. With `explain` each
    result says what its score is made of. Without `rerank` the configured reranker is not asked. Raises ValueError for a value
    that no search can have.
    """

    def __init__(
        self,
        limit: int = 10,
        mode: str = "hybrid",
        *,
        filters: "Filters | None" = None,
        exact: bool = False,
        fts_syntax: bool = False,
        min_score: float = 0.0,
        min_confidence: float = 0.0,
        half_life_days: float | None = None,
        per_doc: int | None = None,
        context: int = 0,
        explain: bool = False,
        today: "date | None" = None,
        budget: "Budget | None" = None,
        rerank: bool = True,
    ) -> None:
        if mode not in MODES:
            raise ValueError(f"mode is {mode!r}, not one of {', '.join(MODES)}")
        for name, number in (("limit", limit), ("per_doc", per_doc)):
            if number is not None and number < 1:
                raise ValueError(f"{name} is {number}; it must be at least 1")
        for name, value in (("half_life_days", half_life_days or 0), ("context", context)):
            if value < 0:
                raise ValueError(f"{name} is {value}; it must be at least 0")
        self.limit, self.mode, self.filters = limit, "keyword" if fts_syntax else mode, filters
        self.exact, self.fts_syntax, self.explain = exact, fts_syntax, explain
        self.min_score, self.min_confidence = min_score, min_confidence
        self.half_life_days, self.today = half_life_days, today
        self.per_doc, self.context, self.budget = per_doc, context, budget
        self.rerank = rerank and not fts_syntax  # an expression is no text to read


def configured(config: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request that a config has."""
    return {key: config[key] for key in ("limit", "min_score", "min_confidence")} | {"per_doc": config["per_doc"] or None}


class Hit:
    """A chunk on its way from the legs to the answer. Each stage fills in or changes the fields that are its subject."""

    __slots__ = (
        "also", "before_decay", "chunk_id", "chunks", "confidence", "coverage", "decay", "doc_id", "document", "id",
        "nearness", "neighbours", "of_date", "others", "rerank", "row", "scale", "score", "source", "terms", "text",
    )  # fmt: skip

    def __init__(self, id: int, doc_id: str, chunk_id: str, text: str) -> None:
        self.id, self.doc_id, self.chunk_id, self.text = id, doc_id, chunk_id, text
        # Merging
        self.score = 0.0  # 0 to 1, changed by later stages, too
        self.source = ""  # "keyword", "vector" or "hybrid": which legs retrieved it
        # Evidence from around the chunk
        self.neighbours = self.document = 0.0  # the parts of the score that come from the chunks beside it, and its document
        self.scale = 1.0  # by which the score before was multiplied
        # Dates
        self.of_date = 0.0  # the part of the score for a document of the days that the query means
        self.before_decay: float | None = None  # the score without the effect of age, if that was asked for
        self.decay = 1.0
        # The same text once
        self.others: list[int] = []  # chunks with the same text
        # Confidence
        self.confidence = self.coverage = 0.0
        self.nearness: float | None = None
        self.terms: Sequence[str] = ()  # words of the query that the chunk has
        # Reranking
        self.rerank: dict[str, Any] | None = None  # what the reranker's part of the score is made of
        # Results
        self.row: ChunkRow | None = None
        self.chunks: Sequence[Neighbour] = ()  # itself and those around it, read if there is a context or a budget
        self.also: list[str] = []  # citations of the same text elsewhere

    def scale_by(self, share: float) -> None:
        """Let only a share of the score count, and of each of its parts."""
        self.score *= share
        self.neighbours, self.document, self.scale = share * self.neighbours, share * self.document, share * self.scale
        self.of_date *= share
        if self.before_decay is not None:
            self.before_decay *= share

    def add(self, part: float) -> None:
        """Add to the score, which ages as a whole."""
        self.score += part * self.decay
        if self.before_decay is not None:
            self.before_decay += part


class Answer:
    """What a search found."""

    def __init__(
        self,
        results: list[dict[str, Any]],
        warnings: list[str],
        timings: dict[str, float],
        nearest_miss: dict[str, Any] | None = None,
        unanswered: str | None = None,
    ) -> None:
        self.results = results  # best first
        self.warnings = warnings  # what was left out, such as search by meaning
        self.timings = timings  # seconds, by part of the search
        self.nearest_miss = nearest_miss  # the surest result if `min_confidence` kept back all; the best if none fits a `budget`
        self.unanswered = unanswered  # why the mode "vector" had no vector to search with; a warning, too
