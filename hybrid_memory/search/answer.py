"""An answer: the results of a search, with warnings and advice."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..text.characters import spellings
from ..text.query import NO_OPERATORS

if TYPE_CHECKING:
    from ..storage.filters import Filters
    from ..text.operators import Operators
    from .result import Result


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
        self.cut = 0  # results that `stop` left out
        # For each result that `in_force` left out, the citation of what replaces it
        self.superseded_by: list[str] = []
        self.more: str | None = None  # a line about what both left out
        # Why the mode "vector" had no vector to search with; a warning, too.
        self.unanswered: str | None = None
        self.filters: Filters | None = None  # those in force: the request's, and the query's own
        self.operators: Operators = NO_OPERATORS
        # What to know of the results, or why there are none; search/advice.py decides
        self.hint: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the search worked and found nothing at all."""
        return not (self.results or self.nearest_miss or self.unanswered)

    def other_words(self) -> str | None:
        """Report which words were searched for in place of others: "kubernetes for kuberntes"."""
        if not self.instead:
            return None
        return f"searched for {in_place(self.instead)}, which no passage has"

    def reject_all(self, surest: "Result", least: float) -> None:
        """Remove all results, and name the surest, which is below this confidence."""
        self.results = []
        self.nearest_miss = surest
        best = f"the best is {surest['citation']} ({surest['confidence']:g})"
        self.warnings.append(f"no result with confidence {least:g} or more; {best}")

    def require(self, confidence: float) -> None:
        """Remove all results unless one has this confidence.

        Single results stay, because a passage that continues a sure one often shares few words with
        the query.
        """
        if self.results and all(result["confidence"] < confidence for result in self.results):
            self.reject_all(max(self.results, key=lambda result: result["confidence"]), confidence)


def too_small(best: Mapping[str, Any]) -> str:
    """Return the warning for a budget in which not even an excerpt of the best result fits."""
    return f"the budget is too small for the best result, {best['citation']}"


MOST_OPERATORS = 8  # in a line
MOST_LINES = 3  # about parts of a query that are words


def operator_lines(operators: "Operators") -> list[str]:
    """Describe how a query was read, in lines: what it filters by and leaves out, and why parts that
    look like operators are words.
    """
    applied = []
    if operators["filters"]:
        applied.append(f"filtered by {_first_of(operators['filters'])}")
    if operators["without"]:
        applied.append(f"left out by {_first_of(operators['without'])}")
    lines = ["; ".join(applied)] if applied else []
    reasons = list(dict.fromkeys(operators["words"].values()))
    lines += [f"{reason}: searched for the words" for reason in reasons[:MOST_LINES]]
    if len(reasons) > MOST_LINES:
        lines.append("more parts of the query are no operators: searched for the words")
    return lines


def _first_of(operators: Sequence[str]) -> str:
    named = ", ".join(operators[:MOST_OPERATORS])
    if len(operators) > MOST_OPERATORS:
        return f"{named} and {len(operators) - MOST_OPERATORS} more"
    return named


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
