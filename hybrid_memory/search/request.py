"""A request: what a search is asked besides the query.

Request is a plain class, because most searches are a fresh process: importing dataclasses takes a
tenth of the time of a search.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import date

    from ..storage.filters import Filters
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
