"""What an engine implements: `Storage` and its parts. The rest of the program uses a store only
through these protocols, and the base classes of `catalog`, `chunks`, `embeddings`, `keyword`, `links`,
`query_cache` and `source`, to which an engine adds its SQL.

Methods that write need an open `transaction`, unless they say otherwise. Inside a `snapshot`, all
reads see the same state. Every method may raise StoreError for a problem with the file, disk or
server.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import date
from typing import Any, Protocol

from .catalog import Catalog
from .chunks import Chunks
from .embeddings import Embeddings
from .filters import Filters
from .growing import GrowingDocument
from .keyword import BM25Index
from .links import LinkReader
from .prepared import DocumentExport, Prepared
from .query_cache import QueryCache
from .rows import (
    Ranking,
    StoredDocument,
    Vectors,
)
from .source import KnownSources


class Documents(Protocol):
    """Read and write whole documents."""

    def get(self, doc_id: str) -> StoredDocument | None:
        """The document with this id, or None."""

    def several(self, doc_ids: Sequence[str]) -> dict[str, StoredDocument]:
        """The documents with these ids, by id; missing ones are left out."""

    def of_collection(self, collection: str) -> dict[str, StoredDocument]:
        """The documents of a collection that came from files, by id."""

    def ids_in(self, collection: str) -> Iterator[str]:
        """The ids of the documents of a collection that came from files."""

    def from_path(self, path: str) -> list[StoredDocument]:
        """The documents that came from this file, or from files below this folder."""

    def whole(self, doc_id: str) -> DocumentExport | None:
        """The complete document with this id, or None."""

    def texts_cut_otherwise(self, chunking: str) -> dict[str, str]:
        """The texts without a file that were read and split otherwise: the chunking of each, by id."""

    def put(self, prepared: Prepared, new_vectors: Vectors | None = None) -> None:
        """Write a document with its chunks, replacing any with the same id. Unchanged texts keep
        their embeddings; the embeddings of removed texts become spare.
        """

    def put_again(self, prepared: Prepared) -> None:
        """`put` a document that is only read and split again, without changing the time at which it
        was stored.
        """

    def put_all(self, documents: Iterable[Prepared], new_vectors: Vectors | None = None) -> None:
        """`put` several documents in one transaction, in order, which is faster than separate
        calls.
        """

    def remove(self, *doc_ids: str, keep: bool = False) -> int:
        """Delete documents. Returns the number of their chunks. With `keep`, their embeddings
        become spare.
        """

    def touch(self, doc_id: str, mtime: float, size: int) -> None:
        """Store the new time of a file whose content has not changed."""

    def growing(self, doc_id: str, collection: str | None) -> GrowingDocument:
        """A writer for a document of this collection whose file grows."""


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
