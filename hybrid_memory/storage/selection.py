"""A selection: the chunks that the filters of a search leave."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from functools import cached_property

SAMPLE = 64  # chunks for estimating which share is selected
# Share of all chunks: in a larger selection, checking the hits of a search is faster than listing
# the selected chunks
BROAD = 0.15


class Selected(ABC):
    """The chunks that a search may find. An engine adds the statements."""

    @cached_property
    def share(self) -> float:
        """An estimate of the share of all chunks that are selected."""
        ids = set(self._sampled(SAMPLE))
        return len(self.among(ids)) / max(len(ids), 1)

    @property
    def is_broad(self) -> bool:
        """Whether it is faster to search all chunks and keep the selected ones."""
        return self.share > BROAD

    @abstractmethod
    def among(self, ids: Collection[int]) -> set[int]:
        """The selected chunks among these."""

    @abstractmethod
    def _sampled(self, count: int) -> Iterable[int]:
        """At most `count` chunks from all over the store, selected or not."""
