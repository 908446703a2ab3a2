"""What an engine implements: `Storage` and its parts. The rest of the program uses a store only
through these protocols.

Methods that write need an open `transaction`, unless they say otherwise. Inside a `snapshot`, all
reads see the same state. Every method may raise StoreError for a problem with the file, disk or
server.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import date
from typing import Any, Protocol

from .filters import Filters
from .growing import GrowingDocument
from .keyword import BM25Index
from .links import LinkReader
from .prepared import DocumentExport, Prepared
from .query_cache import QueryCache
from .rows import (
    LAST_LINE,
    Candidate,
    ChunkRow,
    DocumentRow,
    Identity,
    Neighbour,
    Pending,
    Ranking,
    SourceFile,
    StoredDocument,
    Vectors,
)
from .source import KnownSources


class SpareEmbeddings(Protocol):
    """Embeddings that no chunk uses, by identity and content hash.

    These are the embeddings of deleted texts, which may come back, and the next set: embeddings by
    a new model, which replace the current ones when the set is complete. b"" marks a text that the
    model can never embed.
    """

    def known(self, identity: Identity, hashes: Iterable[bytes]) -> Vectors:
        """The embeddings of these texts, where they exist."""

    def put(self, identity: Identity, vectors: Vectors) -> None:
        """Store embeddings."""

    def drop_unused(self) -> None:
        """Delete the embeddings of all texts that no chunk has."""

    def trim(self, identity: Identity, megabytes: float, days: float) -> None:
        """Delete embeddings older than `days`, the oldest beyond `megabytes`, and those that chunks
        of this identity use again. The next set stays.
        """

    def next_identity(self) -> Identity | None:
        """The identity of the next set, or None."""

    def begin_next(self, identity: Identity) -> None:
        """Start a next set, dropping an unfinished one."""

    def drop_next(self) -> None:
        """Abandon the next set."""

    def lacking(self, identity: Identity, before: int, batch: int) -> list[Pending]:
        """At most `batch` chunks (all if -1) with an id below `before` whose text has no embedding
        in this set, the newest first.
        """

    def count_lacking(self, identity: Identity) -> int:
        """The number of chunks whose text has no embedding in this set."""


class Embeddings(Protocol):
    """The embeddings of the chunks, which all have one identity."""

    def identity(self) -> Identity | None:
        """The identity of the embeddings; None before the first."""

    def set_identity(self, identity: Identity) -> None:
        """Set the identity of the embeddings made from now on."""

    def known(self, hashes: Iterable[bytes]) -> Vectors:
        """The stored embeddings of these texts, by content hash."""

    def pending(self, before: int, batch: int, *, tried: bool) -> list[Pending]:
        """At most `batch` chunks without an embedding and with an id below `before`, the newest
        first.

        `tried` includes chunks that were marked as unembeddable.
        """

    def still_pending(self, batch: Sequence[Pending]) -> list[Pending]:
        """The chunks of the batch that no other process has changed or embedded meanwhile."""

    def count_without(self) -> int:
        """The number of chunks without an embedding, which is faster than `count_pending`: it includes
        those marked as unembeddable.
        """

    def count_pending(self) -> int:
        """The number of chunks that wait for an embedding."""

    def put(self, rows: Iterable[tuple[int, bytes, bool]]) -> None:
        """Set the embeddings of chunks: (chunks.id, embedding, whether the text was cut to fit the
        model).
        """

    def mark_unembeddable(self, hashes: Iterable[bytes]) -> None:
        """Mark texts, by content hash, that the model can never embed."""

    def was_server_late(self, seconds: float) -> bool:
        """Whether `note_late_server` was called in the last `seconds`."""

    def note_late_server(self, seconds: float) -> bool:
        """Note that the server of the embeddings is late. Needs no transaction, and never waits for
        another writer. Returns False if that was noted in the last `seconds`, or cannot be written.
        """

    @property
    def spare(self) -> SpareEmbeddings: ...

    def keep(self, ids: Iterable[int]) -> None:
        """Copy the embeddings of chunks, by chunks.id, to the spare ones."""

    def restore(self) -> None:
        """Give pending chunks the spare embeddings of their texts."""

    def take_over(self, identity: Identity) -> None:
        """Replace the embeddings of all chunks with those of the next set, which has this
        identity.
        """


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


class Chunks(Protocol):
    """What a search reads about chunks and their documents."""

    def candidates(self, ids: Iterable[int]) -> list[Candidate]:
        """These chunks, without those deleted meanwhile."""

    def leads(self, ids: Iterable[int], count: int) -> dict[int, list[int]]:
        """For each of these chunks, the ids of the first `count` chunks of its document."""

    def rows(self, ids: Iterable[int]) -> dict[int, ChunkRow]:
        """Chunks with their documents, by id."""

    def at(self, doc_id: str, start: int = 1, end: int = LAST_LINE) -> list[int]:
        """The ids of the document's chunks that overlap these lines, in document order."""

    def locations(self, ids: Iterable[int]) -> dict[int, tuple[str, int, int, Sequence[int]]]:
        """Document id, first and last line of each chunk, and the first line of each page of the
        document.
        """

    def declaring(self, ids: Iterable[int]) -> dict[int, dict[str, Any]]:
        """The metadata of these chunks' documents, where they may declare that one document
        supersedes or replaces another.
        """

    def own_dates(self, doc_id: str) -> list[tuple[int, str | None]]:
        """(first line, own date or None) of each chunk of a document, in document order."""

    def around(self, doc_id: str, id: int, count: int) -> list[Neighbour]:
        """A chunk, with up to `count` chunks of its document on either side."""

    def count(self) -> int:
        """The number of chunks."""


class Catalog(Protocol):
    """Read documents: single ones, lists and counts."""

    def by_id(self, doc_id: str) -> str | None:
        """The id, if a document has it."""

    def by_path(self, *paths: str) -> str | None:
        """The id of the document whose file has one of these two paths."""

    def by_tail(self, tail: str) -> list[str]:
        """The document ids that end with this text."""

    def ids(self) -> list[str]:
        """The ids of all documents."""

    def document(self, doc_id: str) -> DocumentRow:
        """An existing document."""

    def entry(self, doc_id: str) -> dict[str, Any]:
        """The entry of an existing document in a `listing`."""

    def listing(
        self, filters: Filters | None, limit: int, *, by_change: bool = False
    ) -> tuple[int, list[dict[str, Any]]]:
        """The number of documents that match the filters, and the first of them: those with the
        newest dates, or with `by_change` those changed last. Raises ValueError for a bad date.
        """

    def has_any(self, filters: Filters) -> bool:
        """Whether any document matches the filters. Raises ValueError for a bad date."""

    def names(self) -> list[tuple[str, str | None, bool]]:
        """For every document: id, collection, and whether it came from a file."""

    def source_files(self) -> list[SourceFile]:
        """The files of all documents that came from one."""

    def outline(self, doc_id: str) -> dict[str, Any]:
        """`metadata`, `is_file` and `passages` (place and headings of each chunk) of an existing
        document.
        """

    def metadata_keys(self) -> list[tuple[str, int]]:
        """Each metadata key with the number of documents that have it, the most frequent first."""

    def facets(self) -> dict[str, Any]:
        """The number of documents by collection, by month and by tag, and the documents indexed
        last.
        """

    def counts(self) -> dict[str, int]:
        """The counts that `stats` prints, and the size of the store in bytes."""


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
