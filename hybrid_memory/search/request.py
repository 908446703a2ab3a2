"""A request: what a search is asked besides the query."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from ..config import MODES
from ..options import (
    CHARACTERS,
    COUNT,
    DAY,
    HTTP,
    NUMBER,
    PYTHON,
    SWITCH,
    TEXT,
    WITHOUT_MCP,
    Option,
    fields_given,
    options_of,
)
from ..storage.filters import FILTERS, Filters

if TYPE_CHECKING:
    from ..config import Settings
    from .result import OfQuery, Result

SMALLEST_BUDGET = 100  # characters
MOST_PHRASINGS = 5  # besides the question


# The least number of results that are tried: as many as each leg has candidates
POOL = 60
SMALLEST = 200  # characters of a result
SORTS = ("score", "date")


class Budget:
    """The most characters of an answer.

    `cost` returns the characters of a result, separators included; `fixed` is the length of an answer
    without results. By default only the passages are counted.
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
        """The number of results to try if no limit was chosen."""
        return max(POOL, self.characters // SMALLEST)

    def besides(self, of_query: "OfQuery") -> "Budget":
        """Return a budget that also counts what every result says of the query."""
        return Budget(self.characters, lambda result: self.cost({**result, **of_query}), self.fixed)


class Request(NamedTuple):
    """What a search is asked besides the query.

    With `fts_syntax` the query is an expression in FTS5's syntax, and keywords alone answer, because
    it is not a text to embed. With `context` or a `budget`, results that stand side by side are
    joined, so that there may be fewer than `limit`. In a `literal` query, a text that nobody wrote
    as a query, operators such as tag: and - are words. They are words in `also`, too: filters and
    days are those of the query.
    """

    limit: Annotated[
        int, Option(COUNT, "how many results", least=1, served=1000, setting="limit")
    ] = 10
    mode: Annotated[
        str,
        Option(
            TEXT,
            "by words and meaning (hybrid), by words alone, or by meaning alone",
            choices=MODES,
            setting="mode",
            metavar="MODE",
        ),
    ] = "hybrid"
    also: Annotated[
        Sequence[str],
        Option(
            TEXT,
            "the same question in other words, which the notes might use",
            repeated=True,
            most=MOST_PHRASINGS,
            metavar="WORDS",
        ),
    ] = ()
    context: Annotated[
        int,
        Option(
            COUNT,
            "add N chunks before and N after each result",
            served=100,
            surfaces=WITHOUT_MCP,
        ),
    ] = 0
    per_doc: Annotated[
        int | None,
        Option(
            COUNT,
            "at most N results from one document; 0: any number",
            aliases=("per_document",),
            setting="per_doc",
        ),
    ] = None
    min_score: Annotated[
        float,
        Option(
            NUMBER,
            "leave out results with a lower score (0 to 1)",
            most=1,
            setting="min_score",
            metavar="S",
            surfaces=WITHOUT_MCP,
        ),
    ] = 0.0
    min_confidence: Annotated[
        float,
        Option(
            NUMBER,
            "leave out results with a lower confidence (0 to 1)",
            most=1,
            setting="min_confidence",
            metavar="C",
        ),
    ] = 0.0
    floor: Annotated[
        float,
        Option(
            NUMBER,
            "no results unless one has this confidence (0 to 1)",
            most=1,
            metavar="C",
        ),
    ] = 0.0
    stop: Annotated[
        float,
        Option(
            NUMBER,
            "drop results below this share of the best score (0 to 1)",
            most=1,
            setting="stop",
            metavar="S",
        ),
    ] = 0.0
    half_life: Annotated[
        float | None,
        Option(
            NUMBER,
            "halve the score for every DAYS of a document's age; 0: never",
            aliases=("half_life_days",),
            setting="half_life_days",
            when_bare=30.0,
            metavar="DAYS",
        ),
    ] = None
    sort: Annotated[
        str,
        Option(
            TEXT,
            "order the results by score, or by date, newest first",
            choices=SORTS,
            metavar="BY",
        ),
    ] = "score"
    in_force: Annotated[
        bool,
        Option(SWITCH, "leave out passages that another one is declared to replace"),
    ] = False
    today: Annotated[
        date | None,
        Option(
            DAY,
            'count ages, and words such as "yesterday", from this day: 2026-01-05',
            surfaces=WITHOUT_MCP,
        ),
    ] = None
    budget: Annotated[
        Budget | None,
        Option(
            CHARACTERS,
            "at most N characters; 1000t: tokens of 4 characters",
            least=SMALLEST_BUDGET,
            served=100_000,
        ),
    ] = None
    explain: Annotated[
        bool,
        Option(
            SWITCH,
            "show what each score is made of, and how long each stage took",
            surfaces=WITHOUT_MCP,
        ),
    ] = False
    exact: Annotated[
        bool,
        Option(
            SWITCH, "compare with every embedding, without the vector index", surfaces=WITHOUT_MCP
        ),
    ] = False
    fts_syntax: Annotated[
        bool,
        Option(
            SWITCH,
            "the query has the syntax of FTS5: prefix*, NEAR(a b, 5), a NOT b, heading: word",
            surfaces=WITHOUT_MCP,
        ),
    ] = False
    # On the command line --rerank names the reranker: it is a setting there
    rerank: Annotated[
        bool,
        Option(
            SWITCH,
            "let the configured reranker, if there is one, reorder the first passages",
            surfaces=(HTTP, PYTHON),
        ),
    ] = True
    typed: Annotated[
        bool,
        Option(
            SWITCH,
            "the query is being typed: its last word is a beginning, and misspelt words are mended",
            surfaces=(HTTP, PYTHON),
        ),
    ] = False
    filters: Filters | None = None
    literal: bool = False

    @property
    def is_packed(self) -> bool:
        """Whether neighbours are added to a result or joined with it."""
        return bool(self.context or self.budget)


OPTIONS = options_of(Request)


def request_of(
    given: Mapping[str, Any],
    settings: "Settings",
    *,
    cost: "Callable[[int], Budget] | None" = None,
    filters: Filters | None = None,
    what: str = "a search",
) -> Request:
    """Build a request from options by name. Where one is missing or None, its setting holds.

    `cost` makes a budget of a number of characters; by default the passages alone are counted.
    Options that are filters replace those in `filters`. Under a budget, as many results are tried
    as may fit, unless somebody chose a limit. Raises TypeError for an unknown option or a wrong
    type, ValueError for a value that no search can have.
    """
    budget = given.get("budget")
    if isinstance(budget, Budget):
        given = {**given, "budget": None}
    fields, of_filters = fields_given((OPTIONS, FILTERS), given, what)
    if "budget" in fields:
        budget = (cost or Budget)(fields["budget"])
    fields["budget"] = budget
    for field, option in OPTIONS.items():
        if option.setting and field not in fields:
            fields[field] = settings[option.setting]
    if budget and given.get("limit") is None and "limit" not in settings.chosen:
        fields["limit"] = budget.pool
    return Request(**fields, filters=filters_of(of_filters, filters))


def filters_of(given: Mapping[str, Any], filters: Filters | None = None) -> Filters | None:
    """Return `filters` with these fields in place of its own; None if nothing is filtered. A value
    that is None or empty is no filter.
    """
    chosen = {field: value for field, value in given.items() if value not in (None, [], {}, ())}
    return (filters or Filters())._replace(**chosen) if chosen else filters
