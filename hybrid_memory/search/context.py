"""What every stage of a search may know."""

from ..typed.names import TYPE_CHECKING

if TYPE_CHECKING:
    from ..storage.protocol import KeywordIndex, Storage
    from ..text.query import Query
    from .hit import Hit, Request
    from .legs import Legs


class Context:
    """A search that is going on."""

    def __init__(
        self,
        query: "Query",
        request: "Request",
        half_life_days: float,
        legs: "Legs",
        storage: "Storage",
        keyword_index: "KeywordIndex",
    ) -> None:
        self.query, self.request, self.half_life_days, self.legs = query, request, half_life_days, legs
        self.storage, self.keyword_index = storage, keyword_index
        self.refused: list[Hit] = []  # what `min_confidence` keeps back
        self.warnings: list[str] = []  # what a stage could not do
