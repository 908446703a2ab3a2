"""What a search is asked, what it passes from stage to stage, and what it answers.

These are plain classes, because defining a NamedTuple takes twenty times as long, and every search
is a fresh process.

MERGED What every stage of a search may know.

MERGED Hits as the dicts that users get.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..text.lines import citation, page

if TYPE_CHECKING:
    from datetime import date

    from ..storage.filters import Filters
    from ..storage.protocol import KeywordIndex, Storage
    from ..storage.rows import ChunkRow
    from ..storage.source import Neighbour
    from ..text.query import Query
    from .legs import Legs

MODES = ("hybrid", "keyword", "vector")


class Request:
    """What is wanted beside the query. It does not change; `changed` makes another one.

    `filters` say in which documents to look. `exact` compares every embedding, without the index.
    With `fts_syntax` the query is an expression in FTS5's syntax, and keywords alone answer,
    because it is not a text to embed. `min_score` keeps back what scores less, `min_confidence`
    what is less sure. The scores of dated documents are halved by every `half_life_days` of age
    (None: the configured number; 0: never), counted from `today`. At most `per_doc` results are of
    one document. `context` adds as many chunks before and after to the text of each result.
    `budget` is how many characters all of them may have. With either, results that stand side by
    side are joined, so that there may be fewer than `limit`. With `explain` each result says what
    its score is made of. Without `rerank` the configured reranker is not asked. Raises ValueError
    for a value that no search can have.
    """

    __slots__ = (
        "budget", "context", "exact", "explain", "filters", "fts_syntax", "half_life_days", "limit", "min_confidence", "min_score",
        "mode", "per_doc", "rerank", "today",
    )  # fmt: skip
    budget: "Budget | None"
    context: int
    exact: bool
    explain: bool
    filters: "Filters | None"
    fts_syntax: bool
    half_life_days: float | None
    limit: int
    min_confidence: float
    min_score: float
    mode: str
    per_doc: int | None
    rerank: bool
    today: "date | None"

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
        fields: dict[str, Any] = {
            "limit": limit,
            "mode": "keyword" if fts_syntax else mode,
            "filters": filters,
            "exact": exact,
            "fts_syntax": fts_syntax,
            "min_score": min_score,
            "min_confidence": min_confidence,
            "half_life_days": half_life_days,
            "per_doc": per_doc,
            "context": context,
            "explain": explain,
            "today": today,
            "budget": budget,
            "rerank": rerank and not fts_syntax,  # an expression is no text to read
        }
        for name, field in fields.items():
            object.__setattr__(self, name, field)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Request does not change; changed({name}=...) makes another one")

    @property
    def is_packed(self) -> bool:
        """Whether neighbours are added to a result or joined with it."""
        return bool(self.context or self.budget)

    def changed(self, **values: Any) -> "Request":
        """Return a request with other values of these fields. Raises ValueError as the constructor
        does.
        """
        return Request(**({name: getattr(self, name) for name in self.__slots__} | values))


def configured(config: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request that a config has."""
    return {key: config[key] for key in ("limit", "min_score", "min_confidence")} | {
        "per_doc": config["per_doc"] or None
    }


# Results that are tried, or more if so many may fit: as many candidates as each leg has in every
# search
POOL = 60
SMALLEST = 200  # characters of a result

Result = dict[str, Any]


class Budget:
    """How many characters an answer may have.

    `cost` gives the characters of a result, with what stands between it and the next; `fixed` are
    those of an answer without results. By default the passages alone are counted.
    """

    def __init__(
        self,
        characters: int,
        cost: Callable[[Result], int] = lambda result: len(result["text"]),
        fixed: int = 0,
    ) -> None:
        self.characters, self.cost, self.fixed = characters, cost, fixed

    @property
    def pool(self) -> int:
        """How many results to look for if nobody says it."""
        return max(POOL, self.characters // SMALLEST)


class Hit:
    """A chunk on its way from the legs to the answer. Each stage fills in or changes the fields
    that are its subject.
    """

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
        self.neighbours = self.document = (
            0.0  # the parts of the score that come from the chunks beside it, and its document
        )
        self.scale = 1.0  # by which the score before was multiplied
        # Dates
        self.of_date = 0.0  # the part of the score for a document of the days that the query means
        self.before_decay: float | None = (
            None  # the score without the effect of age, if that was asked for
        )
        self.decay = 1.0
        # The same text once
        self.others: list[int] = []  # chunks with the same text
        # Confidence
        self.confidence = self.coverage = 0.0
        self.nearness: float | None = None
        self.terms: Sequence[str] = ()  # words of the query that the chunk has
        # Reranking
        self.rerank: dict[str, Any] | None = (
            None  # what the reranker's part of the score is made of
        )
        # Results
        self.row: ChunkRow | None = None
        self.chunks: Sequence[
            Neighbour
        ] = ()  # itself and those around it, read if there is a context or a budget
        self.also: list[str] = []  # citations of the same text elsewhere

    def scale_by(self, share: float) -> None:
        """Let only a share of the score count, and of each of its parts."""
        self.score *= share
        self.neighbours, self.document, self.scale = (
            share * self.neighbours,
            share * self.document,
            share * self.scale,
        )
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

    def __init__(self, results: list[Result], warnings: list[str]) -> None:
        self.results = results  # best first
        self.warnings = warnings  # what was left out, such as search by meaning
        self.timings: dict[str, float] = {}  # seconds, by part of the search
        self.nearest_miss: Result | None = (
            None  # the surest if `min_confidence` kept back all; the best if none fits a `budget`
        )
        self.unanswered: str | None = (
            None  # why the mode "vector" had no vector to search with; a warning, too
        )


class Context:
    """A search that is going on: what every stage may know, and what it notes."""

    legs: "Legs"  # set when both legs have run

    def __init__(
        self,
        query: "Query",
        request: Request,
        half_life_days: float,
        storage: "Storage",
        keyword_index: "KeywordIndex",
    ) -> None:
        self.query = query
        self.request = request
        self.half_life_days = half_life_days
        self.storage = storage
        self.keyword_index = keyword_index
        self.reranking: list[
            Any
            # Stages that run when the snapshot is closed, because a slow server must not hold it
        ] = []
        self.refused: list[Hit] = []  # what `min_confidence` keeps back
        self.nearest_miss: Hit | None = None  # the surest of them, if it kept back all
        self.warnings: list[str] = []  # what a stage could not do


class Reranker(Protocol):
    """What reorders the first results of a search. Implemented in extras/rerankers."""

    name: str  # what users call the model or server; the same name stands for the same scores
    problem: str | None  # why the last call gave no scores

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return a score of each text, higher ones for better texts; or [] if not all have one in
        time.
        """

    def is_available(self) -> bool:
        """Return whether a text can be scored now. Sends a word, and nothing of the store."""

    def close(self) -> None:
        """Close idle connections; the next call opens a new one."""


LEAN = ("doc_id", "chunk_id", "heading", "text", "score", "confidence", "source", "citation")


def load_rows(storage: "Storage", hits: "Sequence[Hit]", context: int | None = None) -> None:
    """Read what the results will say of each hit, and unless it is None the chunks of its text,
    `context` on either side.
    """
    rows = storage.chunks.rows([hit.id for hit in hits])
    places = storage.chunks.places([id for hit in hits for id in hit.others])
    for hit in hits:
        hit.row = rows[hit.id]
        hit.also = [citation(*places[id]) for id in hit.others]
        if context is not None:
            hit.chunks = storage.chunks.around(hit.doc_id, hit.id, context)


def result(hit: "Hit", legs: "Legs", *, explain: bool) -> dict[str, Any]:
    """The result for a hit that was loaded."""
    row = hit.row
    assert row is not None
    found = {
        "doc_id": row.doc_id,
        "chunk_id": row.chunk_id,
        "heading": row.heading,
        "heading_path": row.heading_path,
        "text": row.text,
        "score": round(hit.score, 6),
        "confidence": hit.confidence,
        "source": hit.source,
        "path": row.path,
        "start_line": row.start_line,
        "end_line": row.end_line,
        "citation": citation(row.doc_id, row.start_line, row.end_line, row.pages),
        "also": hit.also,
        "collection": row.collection,
        "date": row.date,
        "metadata": row.metadata,
        "scores": {
            "keyword": _significant(legs.bm25, hit.id),
            "vector": _significant(legs.cosine, hit.id),
        },
    }
    if row.pages:
        found["page"] = page(row.pages, row.start_line)
    return found | ({"explain": _rounded(legs.explanation(hit))} if explain else {})


def lean(result: Mapping[str, Any]) -> dict[str, Any]:
    """What an agent needs of a result, since it pays for each character: LEAN, and `date` and
    `explain` where there are any.
    """
    found = {key: result[key] for key in LEAN}
    found["score"] = round(found["score"], 3)
    return found | {key: result[key] for key in ("date", "explain") if result.get(key)}


def _significant(scores: Mapping[int, float], id: int) -> float | None:
    """Six significant digits: BM25 in a store of a few chunks has no digits among the first six
    decimals.
    """
    return float(f"{scores[id]:.6g}") if id in scores else None


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return round(value, 6) if isinstance(value, float) else value
