"""The state of a search in progress."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .phrasing import Phrasing

if TYPE_CHECKING:
    from ..storage.interface import Storage
    from ..storage.keyword import BM25Index
    from ..text.query import Query
    from .hit import Hit
    from .request import Request


class SearchState:
    """What every stage of a search may read, and what it stores for later stages and the answer."""

    def __init__(
        self,
        phrasings: Sequence[Phrasing],
        request: "Request",
        storage: "Storage",
        keyword_index: "BM25Index",
    ) -> None:
        self.phrasings = phrasings  # the question first
        self.request = request
        self.storage = storage
        self.keyword_index = keyword_index
        # A reranker and what follows it: when the snapshot is closed, which a slow server must not hold
        self.after_snapshot: list[Any] = []
        self.refused: list[Hit] = []  # what `min_confidence` keeps back
        self.nearest_miss: Hit | None = None  # the surest of them, if it kept back all
        self.superseded: list[Hit] = []  # what `in_force` leaves out
        self.cut = 0  # hits that `stop` left out
        self.warnings: list[str] = []  # what a stage could not do

    @property
    def question(self) -> Phrasing:
        """The user's own wording."""
        return self.phrasings[0]

    @property
    def query(self) -> "Query":
        """The user's question, which alone decides on filters, days and quoted phrases."""
        return self.question.query
