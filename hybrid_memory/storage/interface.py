"""What an engine implements: `Storage` and its parts. The rest of the program uses a store only
through these protocols, and the base classes of `catalog`, `chunks`, `documents`, `embeddings`,
`keyword`, `links`, `query_cache` and `source`, to which an engine adds its SQL.

Methods that write need an open `transaction`, unless they say otherwise. Inside a `snapshot`, all
reads see the same state. Every method may raise StoreError for a problem with the file, disk or
server.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import date
from typing import Any, Protocol

from .catalog import Catalog
from .chunks import Chunks
from .documents import Documents
from .embeddings import Embeddings
from .filters import Filters
from .keyword import BM25Index
from .links import LinkReader
from .query_cache import QueryCache
from .rows import Ranking
from .source import KnownSources


class VectorIndex(Protocol):
    """The vector leg."""

    def nearest(self, vector: Sequence[float], limit: int, *, exact: bool = False) -> Ranking:
        """The chunks with the highest cosines above 0. `exact` compares every embedding."""

    def cosines(self, vector: Sequence[float], chunk_ids: Iterable[int]) -> dict[int, float]:
        """The cosines of these chunks, without those that have no embedding."""

    def of(self, chunk_id: int) -> Sequence[float] | None:
        """The embedding of a chunk, or None."""

    def sample(self, vector: Sequence[float]) -> dict[int, float]:
        """The cosines of a few chunks from all over the store."""


class Checks(Protocol):
    """Checks for inconsistencies."""

    intact: str  # a line about the result of `integrity` if there is no sign of damage

    def engine(self) -> tuple[str, str]:
        """The name and version of the engine, and what to do if it is too old, else ""."""

    def integrity(self) -> list[str]:
        """A line for each sign of damage in the database."""

    def keyword_index(self) -> tuple[bool | None, str]:
        """Whether the keyword index is intact (None: it cannot be checked now), and a line about
        the result.
        """

    def keyword_index_differences(self) -> tuple[int, int]:
        """The number of chunks that are missing from the keyword index, and of its rows that have
        no chunk.
        """

    def rows(self) -> list[str]:
        """A line for each contradiction between rows, such as a chunk without its document."""

    def vectors(self, *, thorough: bool) -> list[str]:
        """A line for each inconsistency between embeddings and the vector index. `thorough` reads
        and compares every embedding.
        """


class Storage(Protocol):
    """An open store."""

    @property
    def path(self) -> str:
        """The file, or another name by which users know the store."""

    @property
    def group(self) -> int:
        """The most chunks that one transaction over many documents should write."""

    @property
    def documents(self) -> Documents: ...
    @property
    def sources(self) -> KnownSources: ...
    @property
    def embeddings(self) -> Embeddings: ...
    @property
    def chunks(self) -> Chunks: ...
    @property
    def catalog(self) -> Catalog: ...
    @property
    def checks(self) -> Checks: ...

    @property
    def links(self) -> LinkReader:
        """Names, links and tags, for one state of the store."""

    def keyword(self, chosen: Any = None) -> BM25Index:
        """The keyword leg over the chunks of a selection, or all. Use it inside one `snapshot`."""

    def vectors(self, chosen: Any = None) -> VectorIndex:
        """The vector leg over the chunks of a selection, or all."""

    def query_cache(self, size: int) -> QueryCache:
        """The cache of the `size` queries used last."""

    def selection(self, filters: Filters, today: date | None = None) -> AbstractContextManager[Any]:
        """Open a selection: the chunks whose documents match the filters; None if all do. Raises
        ValueError for a bad date.
        """

    def transaction(self) -> AbstractContextManager[None]:
        """Write all or nothing. Waits for other writers, and raises StoreError if that takes
        too long.
        """

    def snapshot(self) -> AbstractContextManager[None]:
        """Show one state of the store to all reads inside, whatever others write. Never waits."""

    def state(self) -> int:
        """A number that changes when another connection changes the store."""

    def guarded(self, what: str = "cannot read") -> AbstractContextManager[None]:
        """Keep other threads out, and turn the engine's own errors into StoreError.

        Also raises StoreError if the store is closed.
        """

    def interrupt(self) -> None:
        """Cancel the statement that another thread is running; it fails there."""

    def waiting(self, seconds: float) -> AbstractContextManager[None]:
        """Wait at most this long for other writers."""

    def rebuild_indexes(self) -> None:
        """Rebuild everything that is derived from the chunks."""

    def compact(self) -> None:
        """Release unused space. Not inside a transaction."""

    def close(self) -> None:
        """Close the store."""
