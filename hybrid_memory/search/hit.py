"""What a search is asked, what it passes from stage to stage, and what it answers.

These are plain classes, because most searches are a fresh process, and defining a NamedTuple takes
twenty times as long.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..text.characters import spellings

if TYPE_CHECKING:
    from datetime import date

    from ..storage.filters import Filters
    from ..storage.protocol import KeywordIndex, Storage
    from ..storage.rows import ChunkRow, Neighbour
    from ..text.query import Query
    from .legs import Legs
    from .result import Result

MODES = ("hybrid", "keyword", "vector")


class Request:
    """What is wanted beside the query. It does not change; `changed` makes another one.

    `filters` say among which documents and passages to look. `exact` compares every embedding,
    without the index. With `fts_syntax` the query is an expression in FTS5's syntax, and keywords
    alone answer, because it is not a text to embed. `min_score` keeps back what scores less,
    `min_confidence` what is less sure. The scores of dated documents are halved by every
    `half_life_days` of age (None: the configured number; 0: never), counted from `today`. At most
    `per_doc` results are of one document (None or 0: any number). `context` adds as many chunks
    before and after to the text of each result. `budget` is how many characters all of them may
    have. With either, results that stand side by side are joined, so that there may be fewer than
    `limit`. With `explain` each result says what its score is made of. Without `rerank` the
    configured reranker is not asked. The last word of a query that is being `typed` may be the
    beginning of one. In a `literal` one, as a text that nobody wrote as a query, operators such
    as tag: and - are words. Raises ValueError for a value that no search can have.
    """

    __slots__ = (
        "budget", "context", "exact", "explain", "filters", "fts_syntax", "half_life_days", "limit",
        "literal", "min_confidence", "min_score", "mode", "per_doc", "rerank", "today", "typed",
    )  # fmt: skip

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
        typed: bool = False,
        literal: bool = False,
    ) -> None:
        if mode not in MODES:
            raise ValueError(f"mode is {mode!r}, not one of {', '.join(MODES)}")
        if limit < 1:
            raise ValueError(f"limit is {limit}; it must be at least 1")
        not_negative = {"per_doc": per_doc, "half_life_days": half_life_days, "context": context}
        for name, value in not_negative.items():
            if value is not None and value < 0:
                raise ValueError(f"{name} is {value}; it must be at least 0")
        for name, share in (("min_score", min_score), ("min_confidence", min_confidence)):
            if not 0 <= share <= 1:
                raise ValueError(f"{name} is {share}; it must be from 0 to 1")
        self.limit = limit
        self.mode = "keyword" if fts_syntax else mode
        self.filters = filters
        self.exact = exact
        self.fts_syntax = fts_syntax
        self.min_score = min_score
        self.min_confidence = min_confidence
        self.half_life_days = half_life_days
        self.per_doc = per_doc or None
        self.context = context
        self.explain = explain
        self.today = today
        self.budget = budget
        self.rerank = rerank and not fts_syntax  # an expression is no text to read
        self.typed = typed
        self.literal = literal

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(self, name):
            raise AttributeError(
                f"a Request does not change; changed({name}=...) makes another one"
            )
        object.__setattr__(self, name, value)

    @property
    def is_packed(self) -> bool:
        """Whether neighbours are added to a result or joined with it."""
        return bool(self.context or self.budget)

    def changed(self, **values: Any) -> "Request":
        """Return a request with other values of these fields. Raises ValueError as the constructor
        does.
        """
        return Request(**({name: getattr(self, name) for name in self.__slots__} | values))


def request_defaults(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request that a config has."""
    return {
        "limit": config["limit"],
        "min_score": config["min_score"],
        "min_confidence": config["min_confidence"],
        "per_doc": config["per_doc"],
    }


# Results that are tried, or more if so many may fit: as many as each leg has candidates.
POOL = 60
SMALLEST = 200  # characters of a result


class Budget:
    """How many characters an answer may have.

    `cost` gives the characters of a result, with what stands between it and the next; `fixed` are
    those of an answer without results. By default the passages alone are counted.
    """

    def __init__(
        self,
        characters: int,
        cost: "Callable[[Result], int]" = lambda result: len(result["text"]),
        fixed: int = 0,
    ) -> None:
        self.characters = characters
        self.cost = cost
        self.fixed = fixed

    @property
    def pool(self) -> int:
        """How many results to look for if nobody says it."""
        return max(POOL, self.characters // SMALLEST)


class Hit:
    """A chunk on its way from the legs to the answer. Each stage changes the fields that are its
    subject.
    """

    __slots__ = (
        "_score_before_decay", "also", "chunk_id", "chunks", "confidence", "coverage", "decay", "doc_id",
        "document", "has_phrases", "id", "legs", "nearness", "neighbours", "newer",
        "newer_citation", "of_date", "others", "rerank", "row", "scale", "score", "source",
        "succession", "terms", "text",
    )  # fmt: skip

    def __init__(self, id: int, doc_id: str, chunk_id: str, text: str, legs: "Legs") -> None:
        self.legs = legs  # which found it
        self.id = id
        self.doc_id = doc_id
        self.chunk_id = chunk_id
        self.text = text
        # Merging
        self.score = 0.0  # 0 to 1, changed by later stages, too
        self.source = ""  # "keyword", "vector" or "hybrid": which legs retrieved it
        # Phrases in quotes
        self.has_phrases = False
        # Evidence: the parts of the score from the chunks beside it, and from its document
        self.neighbours = 0.0
        self.document = 0.0
        self.scale = 1.0  # by which the score before was multiplied
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
        self.coverage = 0.0
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
        """The number of the chunk in its document: that of a neighbour is one more or less. The ids of
        neighbours may be far apart where a document has grown.
        """
        return int(self.chunk_id.rpartition("-")[2])

    @property
    def score_before_decay(self) -> float:
        """The score without the effect of age."""
        return self.score if self._score_before_decay is None else self._score_before_decay

    def age_by(self, decay: float) -> None:
        """Multiply the score by what its age leaves of it, 0 to 1."""
        self._score_before_decay = self.score
        self.decay = decay
        self.score *= decay

    def scale_by(self, share: float) -> None:
        """Let only a share of the score count, and of each of its parts."""
        self.score *= share
        self.neighbours *= share
        self.document *= share
        self.scale *= share
        self.of_date *= share
        self.succession *= share
        if self._score_before_decay is not None:
            self._score_before_decay *= share
        if self.rerank:
            self.rerank["weight"] *= share
            self.rerank["part"] *= share

    def succeed(self, former: "Hit") -> None:
        """Take the score of a hit that this one replaces, and age no more than that."""
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
        """Add to the score, which ages as a whole."""
        self.score += part * self.decay
        if self._score_before_decay is not None:
            self._score_before_decay += part


class SearchState:
    """The state of a search that is going on: what every stage may know, and what it notes for
    later ones and for the answer.
    """

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
        # A reranker and what follows it: when the snapshot is closed, which a slow server must not hold
        self.after_snapshot: list[Any] = []
        self.refused: list[Hit] = []  # what `min_confidence` keeps back
        self.nearest_miss: Hit | None = None  # the surest of them, if it kept back all
        self.warnings: list[str] = []  # what a stage could not do
        self.is_lookup = False  # whether the query is a name or an identifier
        # Words of the query that no chunk has, and those that were looked for in their place
        self.substitutes: Mapping[str, Sequence[str]] = {}


class Answer:
    """What a search found. HTTP answers with these attributes as they are named here."""

    def __init__(self, results: "list[Result]", warnings: list[str]) -> None:
        self.results = results  # best first
        self.warnings = warnings  # what was left out, such as search by meaning
        self.timings: dict[str, float] = {}  # seconds, by part of the search
        # The substitutes: words of the query that no passage has, and others for them, as written
        self.instead: Mapping[str, Sequence[str]] = {}
        # The surest result if `min_confidence` kept back all; the best if none fits a `budget`.
        self.nearest_miss: Result | None = None
        # Why the mode "vector" had no vector to search with; a warning, too.
        self.unanswered: str | None = None
        self.filters: Filters | None = None  # those in force: the request's, and the query's own
        self.operators: list[str] = []  # the query's own, as they are written

    def other_words(self) -> str | None:
        """Return what to tell of words that no passage has, as "kubernetes for kuberntes"."""
        if not self.instead:
            return None
        return f"searched for {in_place(self.instead)}, which no passage has"

    def keep_back(self, surest: "Result", least: float) -> None:
        """Give no results, and tell of the surest, which has not this confidence."""
        self.results = []
        self.nearest_miss = surest
        nearest = f"the nearest is {surest['citation']} with {surest['confidence']:g}"
        self.warnings.append(f"nothing reaches confidence {least:g}; {nearest}")

    def require(self, confidence: float) -> None:
        """Keep all results back unless one has this confidence.

        Single results are not kept back, because a passage that continues a sure one often shares
        few words with the query.
        """
        if self.results and all(result["confidence"] < confidence for result in self.results):
            self.keep_back(max(self.results, key=lambda result: result["confidence"]), confidence)


def in_place(instead: Mapping[str, Sequence[str]]) -> str:
    """Return words that are looked for in place of others, as "kubernetes for kuberntes"."""
    return "; ".join(f"{', '.join(others)} for {word}" for word, others in instead.items())


def as_written(
    instead: Mapping[str, Sequence[str]], query: str, results: Sequence[Mapping[str, Any]]
) -> dict[str, list[str]]:
    """Return words that stand in place of others as the results have them, and these as the query does.

    {badern: [bader]} -> {Bädern: [Bäder]}
    """
    asked = spellings(query)
    found = spellings(" ".join(result["text"] for result in results))
    return {
        asked.get(word.lower(), word): [found.get(other, other) for other in others]
        for word, others in instead.items()
    }


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


# The least confidence of a match that is called so; docs/scores.md has how many of each are right.
STRONG = 0.5
SOME = 0.3


def match(confidence: float) -> str:
    """Return how good a match is, in a word."""
    if confidence >= STRONG:
        return "strong"
    return "some" if confidence >= SOME else "faint"


UNCLEAR = "nothing here is clearly about this"


FLOOR = 0.25  # the least confidence of the best match in an answer that an agent should read


def is_unclear(results: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether there are results and all of them are faint matches."""
    return bool(results) and all(match(result["confidence"]) == "faint" for result in results)


LEAN = ("doc_id", "chunk_id", "heading", "text", "score", "confidence", "source", "citation")


def lean(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an agent needs of a result, since it pays for each character: LEAN, and `date`,
    `newer` and `explain` where there are any.
    """
    fields = {key: result[key] for key in LEAN}
    fields["score"] = round(fields["score"], 3)
    for key in ("date", "newer", "explain", "instead"):
        if result.get(key):
            fields[key] = result[key]
    return fields
