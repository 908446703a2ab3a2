"""The state of a search that is going on."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..storage.protocol import KeywordIndex, Storage
    from ..text.query import Query
    from .hit import Hit
    from .request import Request


class SearchState:
    """The state of a search that is going on: what every stage may know, and what it notes for
    later ones and for the answer.
    """

    def __init__(
        self,
        query: "Query",
        request: "Request",
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
