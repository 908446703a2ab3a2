"""What the rest of the program may ask of a store. An engine implements `Storage` and the parts it
is made of.

Nothing but this is used outside of an engine. Methods that write need an open `transaction`, unless
they say otherwise; those that read see one state of the store inside a `snapshot`. Raises
StoreError for what is wrong with the file, disk or server.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date
from typing import Any, NamedTuple, Protocol

from ..documents.document import Prepared
from ..text.query import Query
from .filters import Filters
from .rows import ChunkRow, Coverage, Identity, KeywordLeg, Neighbour, Ranking, Vectors
from .source import DocumentRow, Pending, Refusal, Source, SourceFile, StoredDocument, Whole


class LinkRow(NamedTuple):
    """A link in line `line` of the document `source`, and the document that it leads to, if there
    is one.

    `target` is as it is written; `kind` is "wikilink", "embed" or "markdown". One that is `broken`
    should lead to a document.
    """

    source: str
    line: int
    target: str
    kind: str
    doc_id: str | None
    broken: bool


class Links(Protocol):
    """Names, links and tags of the documents. Where a link leads is looked up when it is asked for."""

    def named(self, name: str) -> list[str]:
        """Return the documents whose path ends with this, whatever its case; else those with this
        alias; else those with this title.
        """

    def titles(self, doc_id: str) -> list[str]:
        """Return the titles of a document."""

    def links_of(self, doc_id: str) -> list[LinkRow]:
        """Return the links in a document, in its order."""

    def links_to(self, doc_id: str) -> list[LinkRow]:
        """Return the links of all documents that lead to this one, by document and line."""

    def broken(self) -> list[LinkRow]:
        """Return all broken links, by document and line."""

    def tags(self) -> list[tuple[str, int]]:
        """Return every tag, and those that tags are nested in, with the number of documents that a
        filter on it leaves; by number.
        """


class SpareEmbeddings(Protocol):
    """Embeddings that no chunk has, by identity and content hash: those of texts that left, which
    may come back; and the next set, of another model, which grows until it is complete and takes
    the place of the present one. b"" stands for a text that the model can never embed.
    """

    def known(self, identity: Identity, hashes: Iterable[bytes]) -> Vectors:
        """Return the embeddings of these texts."""

    def put(self, identity: Identity, vectors: Vectors) -> None:
        """Take embeddings in."""

    def drop_unused(self) -> None:
        """Drop the embeddings of all texts that no chunk has."""

    def trim(self, identity: Identity, megabytes: float, days: float) -> None:
        """Drop what left more than so many days ago, the oldest beyond so many megabytes, and what
        chunks of this identity have again. The next set stays.
        """

    def next_identity(self) -> Identity | None:
        """Return the identity of the next set; None if there is none."""

    def begin_next(self, identity: Identity) -> None:
        """Begin a next set, in place of another one."""

    def drop_next(self) -> None:
        """Give the next set up."""

    def lacking(self, identity: Identity, before: int, batch: int) -> list[Pending]:
        """Return at most `batch` chunks (all if -1) below the id `before`, the newest first, whose
        text has no embedding here.
        """

    def count_lacking(self, identity: Identity) -> int:
        """Return how many chunks have no embedding here."""


class Embeddings(Protocol):
    """The embeddings of the chunks, which all have one identity."""

    def identity(self) -> Identity | None:
        """Who made the embeddings; None before the first."""

    def set_identity(self, identity: Identity) -> None:
        """Say who makes the embeddings from now on."""

    def known(self, hashes: Iterable[bytes]) -> Vectors:
        """Return the embeddings that the store has of these texts, by content hash."""

    def pending(self, before: int, batch: int, *, tried: bool) -> list[Pending]:
        """Return at most `batch` chunks without an embedding whose id is below `before`, the newest
        first.

        `tried`: also chunks that were marked as unembeddable.
        """

    def still_pending(self, batch: Sequence[Pending]) -> list[Pending]:
        """Return those of the batch that no other process has changed or embedded meanwhile."""

    def count_pending(self) -> int:
        """Return how many chunks wait for an embedding."""

    def put(self, rows: Iterable[tuple[int, bytes, bool]]) -> None:
        """Give chunks their embeddings: (chunks.id, embedding, whether the text was cut to fit the
        model).
        """

    def mark_unembeddable(self, hashes: Iterable[bytes]) -> None:
        """Mark texts, by content hash, as ones that the model can never embed."""

    @property
    def spare(self) -> SpareEmbeddings: ...

    def keep(self, ids: Iterable[int]) -> None:
        """Put the embeddings of chunks, by chunks.id, among the spare ones."""

    def restore(self) -> None:
        """Give pending chunks the spare embeddings of their texts."""

    def take_over(self, identity: Identity) -> None:
        """Give every chunk its embedding of the next set, which has this identity, in place of the
        one that it has.
        """


class QueryCache(Protocol):
    """What models said of earlier queries. Needs no transaction, and waits for no other writer."""

    def vector(
        self, identity: Identity, query: str, embed: Callable[[str], list[float]]
    ) -> list[float]:
        """Return the embedding of a query: the one that is kept, else what `embed` gives, which is
        then kept if nobody else writes.
        """

    def scores(
        self,
        reranker: str,
        query: str,
        texts: Sequence[str],
        score: Callable[[list[str]], list[float]],
    ) -> list[float]:
        """Return a reranker's score of each text for a query: those that are kept, and for other
        texts what `score` gives, which is then kept; [] if it gives [].
        """


class GrowingDocument(Protocol):
    """A document that grows at its end: its first chunks stay as they are, only what comes after
    them is written.

    First `spool`, outside of a transaction; then `write`, inside one; then `close`. New chunks get
    the spare embeddings of their texts; the others are pending.
    """

    def spool(self, chunks: Iterable[Mapping[str, Any]]) -> int:
        """Take the rows of all chunks of the document, and keep those that are new. Gives the
        number of all.
        """

    def texts(self, batch: int) -> Iterator[dict[bytes, str]]:
        """Return the texts that were spooled, to be embedded, by content hash, so many at a time."""

    def write(self, row: Mapping[str, Any]) -> int | None:
        """Write what was spooled. Gives the number of new chunks; None if another process changed
        the document meanwhile.
        """

    def close(self) -> None:
        """Drop what was spooled."""


class Documents(Protocol):
    """The documents and where they came from."""

    def get(self, doc_id: str) -> StoredDocument | None:
        """Return the document of this id."""

    def several(self, doc_ids: Sequence[str]) -> dict[str, StoredDocument]:
        """Return those of these ids that are there."""

    def of_collection(self, collection: str) -> dict[str, StoredDocument]:
        """Return the documents of a collection that came from files, by id."""

    def from_path(self, path: str) -> list[StoredDocument]:
        """Return the documents that came from this file or from below this folder."""

    def whole(self, doc_id: str) -> Whole | None:
        """Return all of the document of this id."""

    def texts_cut_otherwise(self, chunking: str) -> list[str]:
        """Return the ids of the texts without a file that were not read and cut in this way."""

    def put(self, prepared: Prepared, new_vectors: Vectors | None = None) -> None:
        """Write a document with its chunks, in place of the one of the same id. Texts embedded
        before keep their embedding; those of texts that leave become spare ones.
        """

    def put_again(self, prepared: Prepared) -> None:
        """`put` for a document that is only read and cut anew: the time at which it was stored
        stays.
        """

    def put_all(self, documents: Iterable[Prepared], new_vectors: Vectors | None = None) -> None:
        """`put` for documents of one transaction, one after the other, which takes less time than
        several calls.
        """

    def remove(self, *doc_ids: str, keep: bool = False) -> int:
        """Remove documents. Gives the number of their chunks. `keep`: their embeddings become spare
        ones.
        """

    def purge(self) -> None:
        """Rewrite what still holds words of removed documents. Takes time in proportion to the
        store.
        """

    def touch(self, doc_id: str, mtime: float, size: int) -> None:
        """Note the new time of a file whose content is what it was."""

    def growing(self, doc_id: str) -> GrowingDocument:
        """Return a way to write a document that is larger than memory."""


class Sources(Protocol):
    """The folders and files that were ingested."""

    def all(self, collection: str | None = None, path: str | None = None) -> list[Source]:
        """Return every source, or those of this collection and path."""

    def of_own_name(self, source: Source) -> Source:
        """Return the source under the collection that its folder has in this store, where its user
        named none.

        That is the folder's own name. If several hosts share the store and one of them has taken the
        name, it is NAME@HOST of this host.
        """

    def check_claim(self, source: Source) -> None:
        """Raise SourceError if the collection belongs to another folder, whose documents would have
        the same ids.
        """

    def news(self, source: Source) -> Source | None:
        """Return the source as `remember` is to be given it, or None if it is remembered so already.

        It has the patterns of earlier ingests besides its own, and their chunk sizes and workspace if
        it has none.
        """

    def with_earlier_choices(self, source: Source) -> Source:
        """Return the source with the chunk sizes and the workspace that an earlier ingest of it was
        given, if it has none.
        """

    def remember(self, source: Source) -> None:
        """Note how a source was ingested. Gives a folder its collection."""

    def forget(self, source: Source) -> None:
        """Forget a source."""

    def refusals(self) -> dict[str, Refusal]:
        """Return the files of this host that were refused, by path."""

    def remember_refusals(self, refusals: Mapping[str, Refusal]) -> None:
        """Note the files of this host that were refused, in place of those noted before."""


class KeywordIndex(Protocol):
    """The keyword leg, for one state of the store."""

    def ranked(self, query: Query, limit: int) -> KeywordLeg:
        """Return the best chunks. Raises QueryError for an expression that is not valid."""

    def coverage(self, query: Query, ids: Collection[int]) -> Mapping[int, Coverage]:
        """Return the coverage of each of these chunks."""

    def counts(self, query: Query) -> dict[str, int]:
        """Return how many chunks of the whole store have each word of the query, in the query's
        order.
        """


class VectorIndex(Protocol):
    """The vector leg."""

    def nearest(self, vector: Sequence[float], limit: int, *, exact: bool = False) -> Ranking:
        """Return the chunks with the greatest cosine above 0. `exact` compares every embedding."""

    def cosines(self, vector: Sequence[float], chunk_ids: Iterable[int]) -> dict[int, float]:
        """Return the cosine of each of these chunks that has an embedding."""

    def of(self, chunk_id: int) -> Sequence[float] | None:
        """Return the embedding of a chunk."""

    def sample(self, vector: Sequence[float]) -> dict[int, float]:
        """Return the cosines of a few chunks from all over the store."""


class Chunks(Protocol):
    """What a search reads of chunks and their documents."""

    def candidates(self, ids: Iterable[int]) -> list[tuple[int, str, str, str]]:
        """(chunks.id, doc_id, chunk_id, text) of chunks; one that was deleted meanwhile is missing."""

    def leads(self, ids: Iterable[int], count: int) -> dict[int, list[int]]:
        """Return the ids of the first `count` chunks of the document of each of these chunks."""

    def rows(self, ids: Iterable[int]) -> dict[int, ChunkRow]:
        """Chunks with their documents, by id."""

    def at(self, doc_id: str, start: int, end: int) -> list[int]:
        """Return the ids of the document's chunks that have one of these lines, in the order of the
        document.
        """

    def locations(self, ids: Iterable[int]) -> dict[int, tuple[str, int, int, Sequence[int]]]:
        """Document id, first and last line of each chunk, and the lines with which the pages of the
        document begin.
        """

    def dates(self, ids: Iterable[int]) -> dict[int, str]:
        """Return the dates of those of these chunks that have one: their own, or else their
        document's.
        """

    def declaring(self, ids: Iterable[int]) -> dict[int, dict[str, Any]]:
        """Return the metadata of those of these chunks whose documents have metadata about what
        supersedes or replaces what.
        """

    def own_dates(self, doc_id: str) -> list[tuple[int, str | None]]:
        """Return the first line of each chunk of a document and the date of its own, if it has one,
        in the order of the document.
        """

    def around(self, doc_id: str, id: int, count: int) -> list[Neighbour]:
        """Return the chunk and up to `count` chunks of its document on either side."""

    def count(self) -> int:
        """Return how many chunks there are."""


class Catalog(Protocol):
    """What is read of documents: one of them, lists, counts."""

    def by_id(self, doc_id: str) -> str | None:
        """Return the id, if there is such a document."""

    def by_path(self, *paths: str) -> str | None:
        """Return the id of the document whose file has one of these two paths."""

    def by_tail(self, tail: str) -> list[str]:
        """Return the ids that end so."""

    def ids(self) -> list[str]:
        """Return the ids of all documents."""

    def document(self, doc_id: str) -> DocumentRow:
        """Return a document that exists."""

    def entry(self, doc_id: str) -> dict[str, Any]:
        """Return what `listing` gives of a document that exists."""

    def listing(
        self, filters: Filters | None, limit: int, *, by_change: bool = False
    ) -> tuple[int, list[dict[str, Any]]]:
        """Return how many documents fulfil the filters, and the first of them, newest date first,
        or those that changed last. Raises ValueError for a bad date.
        """

    def has_any(self, filters: Filters) -> bool:
        """Return whether a document fulfils the filters. Raises ValueError for a bad date."""

    def names(self) -> list[tuple[str, str | None, bool]]:
        """Id and collection of every document, and whether it came from a file."""

    def source_files(self) -> list[SourceFile]:
        """Return the files of all documents that came from one."""

    def outline(self, doc_id: str) -> dict[str, Any]:
        """`metadata` of a document that exists, whether it `is_file`, and `passages`: place and
        headings of each chunk.
        """

    def key_of(self, name: str, filters: "Filters | None" = None) -> str | None:
        """The key with this name, in any case, in the metadata of the documents that filters leave;
        None if there is none.
        """

    def metadata_like(self, pattern: str, filters: "Filters | None" = None) -> Iterable[str]:
        """The metadata (JSON) of the documents that filters leave, where they are like a pattern of SQL in
        any case.
        """

    def metadata_keys(self) -> list[tuple[str, int]]:
        """The keys of the documents' metadata, each with how many have it, the most frequent first."""

    def facets(self) -> dict[str, Any]:
        """Return how many documents each collection, month and tag has, and the documents that were
        indexed last.
        """

    def counts(self) -> dict[str, int]:
        """Return the counts that `stats` gives, and the size of the store in bytes."""


class Checks(Protocol):
    """What may be inconsistent."""

    def engine(self) -> tuple[str, str]:
        """Name and version of the engine; and what to do if it is too old, else ""."""

    def integrity(self) -> list[str]:
        """Return what is damaged in the file."""

    def keyword_index(self) -> tuple[bool | None, str]:
        """Return whether the keyword index is intact (None: it cannot be checked now), and what was
        found.
        """

    def keyword_index_differences(self) -> tuple[int, int]:
        """Return how many chunks are not in the keyword index, and how many of its rows have no
        chunk.
        """

    def without_document(self) -> list[str]:
        """Return the document ids of chunks that have no document."""

    def miscounted(self) -> list[str]:
        """Return the documents that have more or fewer chunks than they should have."""

    def vectors(self, *, thorough: bool) -> list[str]:
        """Return what does not agree between embeddings and the vector index. `thorough`: each
        embedding is read and compared.
        """


class Storage(Protocol):
    """A store that is open."""

    @property
    def path(self) -> str:
        """The file, or another name that users know the store by."""

    @property
    def group(self) -> int:
        """Chunks of many documents that are best written in one transaction, at most."""

    @property
    def documents(self) -> Documents: ...
    @property
    def sources(self) -> Sources: ...
    @property
    def embeddings(self) -> Embeddings: ...
    @property
    def chunks(self) -> Chunks: ...
    @property
    def catalog(self) -> Catalog: ...
    @property
    def checks(self) -> Checks: ...

    @property
    def links(self) -> Links:
        """Names, links and tags, for one state of the store."""

    def keyword(self, chosen: Any = None) -> KeywordIndex:
        """Return the keyword leg over the chunks of a selection, or all. To be used inside one
        `snapshot`.
        """

    def vectors(self, chosen: Any = None) -> VectorIndex:
        """Return the vector leg over the chunks of a selection, or all."""

    def query_cache(self, size: int) -> QueryCache:
        """Return what models said of the `size` queries used last."""

    def selection(self, filters: Filters, today: date | None = None) -> AbstractContextManager[Any]:
        """Open a selection: the chunks of the documents that fulfil the filters; None for none.
        Raises ValueError for a bad date.
        """

    def transaction(self) -> AbstractContextManager[None]:
        """Write all or nothing. Waits for other writers, and raises StoreError if that takes
        too long.
        """

    def snapshot(self) -> AbstractContextManager[None]:
        """Keep one state of the store for all that is read meanwhile, whoever writes. Waits for nobody."""

    def state(self) -> int:
        """Return a number that changes when another connection has changed the store."""

    def guarded(self, what: str = "cannot read") -> AbstractContextManager[None]:
        """Keep other threads out meanwhile, and raise StoreError in place of the engine's own errors.

        Raises StoreError for a store that is closed, too.
        """

    def interrupt(self) -> None:
        """End the statement that another thread is running, which fails there."""

    def waiting(self, seconds: float) -> AbstractContextManager[None]:
        """Wait for other writers for this long at most."""

    def rebuild_indexes(self) -> None:
        """Build everything anew that derives from the chunks."""

    def compact(self) -> None:
        """Give unused space back. Not inside a transaction."""

    def close(self) -> None:
        """Close the store."""
