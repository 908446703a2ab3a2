"""The plan of a search: what the query and its options mean in this store, decided in one step."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import QueryError
from ..storage.filter_values import narrowed, resolved
from ..storage.filters import Filters
from ..text.query import Query, Term
from ..text.written_days import date_of_token
from .request import Request

if TYPE_CHECKING:
    from ..config import Settings
    from ..storage.interface import Storage


class Plan:
    """The query without its operators, the same in other words (`also`), and the options with the
    filters of both.

    Its filters are resolved: names of documents are ids. It depends on the store only as far as
    operators and names do, and it does not change.
    """

    def __init__(self, query: Query, also: Sequence[Query], request: "Request") -> None:
        self.query = query
        self.also = also
        self.request = request

    @property
    def phrasings(self) -> list[Query]:
        """The query and the same in other words."""
        return [self.query, *self.also]

    @property
    def has_only_filters(self) -> bool:
        """Whether the query filters and has no words to search for."""
        return bool(self.query.asked) and self.query.is_blank

    def to_json(self) -> dict[str, Any]:
        """Describe the plan for people and programs."""
        query, request = self.query, self.request
        return {
            "mode": request.mode,
            "limit": request.limit,
            "words": [date_of_token(" ".join(term.tokens)) for term in query.limited_words],
            "phrases": [" ".join(term.tokens) for term in query.compounds],
            "days": [[period.first, period.last] for period in query.periods],
            "filters": _plain(request.filters or Filters()),
            "is_identifier": query.is_identifier,
            "also": [phrasing.text for phrasing in self.also],
        }


def _plain(value: Any) -> Any:
    """A filter's value in types that JSON has."""
    if isinstance(value, Term):
        return " ".join(value.tokens)
    if isinstance(value, Filters):
        return {name: _plain(each) for name, each in value._asdict().items() if each}
    if isinstance(value, str):
        return value
    if hasattr(value, "items"):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value]


def plan(
    storage: "Storage",
    settings: "Settings",
    text: str,
    request: "Request",
) -> Plan:
    """Read a query and complete the options of its search.

    Raises QueryError for a query with too many filters, for an FTS5 expression in other words, and
    for `linked_to` if its document is ambiguous; NotFoundError if there is no such document.
    """
    with storage.snapshot():
        query = Query(
            text,
            fts_syntax=request.fts_syntax,
            today=request.today,
            is_typed=request.typed,
            is_literal=request.literal,
        )
        filters = request.filters
        if query.asked:
            filters = narrowed(filters, query.asked)
        if filters:
            filters = resolved(storage, filters)
    options: dict[str, Any] = {"filters": filters}
    if request.fts_syntax:  # an expression is no text to embed or to read
        options |= {"mode": "keyword", "rerank": False}
    if request.half_life is None:
        options["half_life"] = settings["half_life_days"]
    also = [
        Query(text, today=request.today, is_literal=True)
        for text in dict.fromkeys(map(str.strip, request.also))
        if text and text != query.text
    ]
    if also and request.fts_syntax:
        raise QueryError(
            "an expression in the syntax of FTS5 cannot be asked in other words (also)"
        )
    return Plan(query, also, request._replace(**options))
