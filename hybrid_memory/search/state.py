"""The state of a search in progress."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..storage.interface import KeywordIndex, Storage
    from ..text.query import Query
    from .hit import Hit
    from .request import Request


class SearchState:
    """What every stage of a search may read, and what it stores for later stages and the answer."""

    def __init__(
        self,
        query: "Query",
        request: "Request",
        storage: "Storage",
        keyword_index: "KeywordIndex",
    ) -> None:
        self.query = query
        self.request = request
        self.storage = storage
        self.keyword_index = keyword_index
        # A reranker and what follows it: when the snapshot is closed, which a slow server must not hold
        self.after_snapshot: list[Any] = []
        self.refused: list[Hit] = []  # what `min_confidence` keeps back
        self.nearest_miss: Hit | None = None  # the surest of them, if it kept back all
        self.cut = 0  # hits that `stop` left out
        self.warnings: list[str] = []  # what a stage could not do
        self.is_lookup = False  # whether the query is a name or an identifier
        # With substitutes for words that no chunk has, and with the forms of its words
        self.searched = query

    @cached_property
    def rarities(self) -> Mapping[str, float]:
        """The inverse document frequencies of the words that are searched for."""
        return self.keyword_index.rarities(self.searched)
