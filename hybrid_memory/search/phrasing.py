"""A phrasing: one wording of what a search looks for, and how the store reads its words."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..storage.keyword import BM25Index
    from ..text.query import Query


class Phrasing:
    """One wording of what is searched for: the user's question, or the same in other words."""

    def __init__(
        self,
        query: "Query",
        vector: list[float],
        keyword_index: "BM25Index",
        *,
        is_question: bool,
    ) -> None:
        self.query = query
        self.vector = vector  # [] without an embedding
        self.is_question = is_question
        self.is_lookup = False  # whether it is a name or an identifier
        # With substitutes for words that no chunk has, and with the forms of its words
        self.searched = query
        self._keyword_index = keyword_index

    @cached_property
    def rarities(self) -> Mapping[str, float]:
        """The inverse document frequencies of the words that are searched for."""
        return self._keyword_index.rarities(self.searched)
