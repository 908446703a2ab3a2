"""HybridStore, the facade: transactions and the order of the steps. How text is cut, matched or embedded is elsewhere."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from . import config as configuration
from . import embeddings, schema, vector
from .document import Document, Prepared, chunking, prepare
from .fts import FTSIndex
from .query_embedding import QueryEmbedding
from .searching import Options, Search

if TYPE_CHECKING:
    from datetime import date

    from .catalog import Known, Source
    from .embedder import Embedder
    from .filters import Filters

MODES = ("hybrid", "keyword", "vector")
DEFAULT_DB = "hybrid_search.db"
EMBED_BATCH = 128  # chunks embedded between two commits
SMALL_BATCH = 16  # the same where time is short

PUT_DOCUMENT = """
insert or replace into documents (doc_id, source_path, file_mtime, file_size, content_hash, collection, date, metadata, content,
                       chunking, chunk_count)
values (:doc_id, :source_path, :file_mtime, :file_size, :content_hash, :collection, :date, :metadata, :content,
        :chunking, :chunk_count)
"""

PUT_CHUNK = """
insert into chunks (doc_id, chunk_id, heading, heading_path, content, start_line, end_line, content_hash)
values (:doc_id, :chunk_id, :heading, :heading_path, :content, :start_line, :end_line, :content_hash)
"""

CHUNKS_OF = "select id from chunks where doc_id = ? order by id"

STATS = """
select (select count(*) from documents)                       as doc_count,
       (select count(*) from chunks)                          as chunk_count,
       (select count(slot) from chunks)                       as embedded_count,
       (select count(*) from chunks where embedding is null and not unembeddable) as pending_count,
       (select count(*) from chunks where embedding is null and unembeddable)     as unembeddable_count,
       (select count(*) from chunks where truncated)          as truncated_count
"""


class Deleted(NamedTuple):
    documents: int
    chunks: int


class HybridStore:
    """Documents as chunks in one SQLite file, searched by keyword and by meaning.

    `config` has the keys of config.json; neither that file nor the environment is read. `embedder` is anything with
    the methods of `hybrid_memory.embedder.Embedder`; by default the one that the config names. What went wrong without
    stopping the work is in `warnings`, a line each.

    Raises ConfigError for a bad config, StoreError for a database that cannot be opened.
    """

    def __init__(
        self,
        db_path: str | os.PathLike[str] = DEFAULT_DB,
        config: Mapping[str, Any] | None = None,
        *,
        embedder: "Embedder | None" = None,
        create: bool = True,
    ) -> None:
        self.config = (
            config if isinstance(config, configuration.Settings) else configuration.merged((configuration.LIBRARY, config or {}))
        )
        path = os.fspath(db_path)
        if path == DEFAULT_DB and config and "db_path" in config:
            path = config["db_path"]
        self.path = path if path == ":memory:" else os.path.abspath(path)
        self.warnings: list[str] = []
        self.timings: dict[str, float] = {}  # of the last search, in seconds
        self.nearest_miss: dict[str, Any] | None = None  # of the last search, where `min_confidence` kept all back
        self._embedder = embedder
        self.connection = schema.connect(self.path, create=create)
        self._fts = FTSIndex(self.connection)

    def __enter__(self) -> "HybridStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.connection.close()
        getattr(self._embedder, "close", lambda: None)()

    # Writing

    def store(self, doc_id: str, text: str, metadata: Mapping[str, Any] | None = None) -> int:
        """Put in a document, in place of the one with this id if there is one. Gives the number of its chunks.

        `metadata` (JSON values) wins over the text's own front matter. Raises SourceError for the id of a file's document.
        """
        if not doc_id:
            raise ValueError("doc_id is empty")
        from . import catalog

        prepared = self.prepare(Document(schema.storable(doc_id), schema.storable(text), metadata or {}))
        vectors = self._new_vectors(prepared.texts)
        with self.transaction():
            catalog.check_is_no_file(self.connection, prepared.row["doc_id"])
            if self.embedder and not embeddings.adopt(self.connection, self.embedder, vectors):
                self._warn(embeddings.MISFIT)
                vectors = {}
            self.put(prepared, vectors)
            self._leave_without(prepared.texts)
        return len(prepared.chunks)

    def prepare(self, document: Document) -> Prepared:
        """Cut a document into chunks. Reads and writes nothing."""
        return prepare(document, self.config["chunk_size"], self.config["chunk_overlap"])

    @property
    def chunking(self) -> str:
        """What decides how a text is cut; a document cut otherwise is due again."""
        return chunking(self.config["chunk_size"], self.config["chunk_overlap"])

    def put(self, prepared: Prepared, new_vectors: embeddings.Vectors | None = None) -> None:
        """Write a document over all tables, inside `transaction`. A text embedded before keeps its embedding."""
        vectors = {**embeddings.known(self.connection, prepared.texts), **(new_vectors or {})}
        self.remove(prepared.row["doc_id"])
        self.connection.execute(PUT_DOCUMENT, prepared.row)
        self.connection.executemany(PUT_CHUNK, prepared.chunks)
        ids = self.connection.execute(CHUNKS_OF, (prepared.row["doc_id"],)).fetchall()
        hashes = (chunk["content_hash"] for chunk in prepared.chunks)
        items = [(id, *vectors[h]) for (id,), h in zip(ids, hashes, strict=True) if h in vectors]
        self._fts.add_document(prepared.row["doc_id"])
        vector.put(self.connection, items)

    def delete(self, doc_id: str) -> int:
        """Remove a document. Gives the number of its chunks: 0 if there is none of this id."""
        from . import catalog

        with self.transaction():
            document = catalog.of_id(self.connection, schema.storable(doc_id))
            return self._delete(document, forgotten=[s for s in catalog.sources(self.connection) if s.is_file]).chunks

    def delete_collection(self, collection: str) -> Deleted:
        """Remove all documents of a collection, and its name from the folder that has it."""
        from . import catalog

        with self.transaction():
            documents = catalog.of_collection(self.connection, collection)
            return self._delete(documents, catalog.sources(self.connection, collection))

    def delete_path(self, path: str) -> Deleted:
        """Remove all documents that came from this file or from below this folder, be it still there or not.

        Raises SourceError for an empty path.
        """
        from . import catalog

        path = catalog.real_path(path)
        with self.transaction():
            sources = [s for s in catalog.sources(self.connection) if catalog.is_in(s.path, path)]
            return self._delete(catalog.from_path(self.connection, path), sources)

    def _delete(self, documents: "Mapping[str, Known]", forgotten: "Iterable[Source]") -> Deleted:
        from . import catalog

        paths = {document.path for document in documents.values()}
        for source in forgotten:
            if source.path in paths or not source.is_file:
                catalog.forget(self.connection, source)
        if back := catalog.coming_back(self.connection, paths):
            self._warn(f"{back} is still there, and the next ingest of its folder takes it in again unless you --exclude it")
        return Deleted(len(documents), self.remove(*documents))

    def remove(self, *doc_ids: str) -> int:
        """`delete` inside `transaction`."""
        ids = [id for doc_id in doc_ids for (id,) in self.connection.execute(CHUNKS_OF, (doc_id,))]
        vector.drop(self.connection, ids)
        self._fts.remove(ids)
        for table in ("chunks", "documents"):
            self.connection.executemany(f"delete from {table} where doc_id = ?", [(doc_id,) for doc_id in doc_ids])
        return len(ids)

    def reindex(self, *, anew: bool = False, progress: Callable[[int], None] = lambda count: None) -> int:
        """Make all that derives from the chunks anew, then compact the file. Gives the number of chunks.

        `anew`: the embeddings, too, as soon as the embedder is known to give any; `progress` is that of `embed_pending`.
        """
        with self.transaction():
            self._fts.reindex()
            vector.rebuild(self.connection)
        if anew and self.embedder and self._make_way(self.embedder, always=True):
            self.embed_pending(progress)
        with self._errors():
            self.connection.execute("vacuum")
            self.connection.execute("pragma wal_checkpoint(truncate)")
        return int(self.connection.execute("select count(*) from chunks").fetchone()[0])

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing. Raises StoreError if another process is writing for longer than the busy time-out."""
        with self._errors():
            self.connection.execute("begin immediate")
        try:
            with self._errors():
                yield
                self.connection.execute("commit")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("rollback")
            raise

    @contextmanager
    def _errors(self, what: str = "cannot write") -> Iterator[None]:
        """Raises StoreError for what SQLite says of the file, its disk or its lock."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise schema.failure(error, self.path, what) or error from error

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One state of the store for several statements, whoever writes meanwhile. Waits for nobody."""
        with self._errors("cannot read"):
            if self.connection.in_transaction:  # of the caller, who sees one state already
                yield
                return
            self.connection.execute("begin")
            try:
                yield
            finally:
                self.connection.execute("rollback")

    # Embedding

    @property
    def embedder(self) -> "Embedder | None":
        """What makes the vectors; None with the provider "none"."""
        if self._embedder is None:
            from . import providers

            self._embedder = providers.make(self.config, embeddings.of_store(self.connection))
        return self._embedder

    def _new_vectors(self, texts: Mapping[bytes, str]) -> embeddings.Vectors:
        """From the model, for the texts that the store has no embedding of."""
        known = embeddings.known(self.connection, texts)
        missing = {content_hash: text for content_hash, text in texts.items() if content_hash not in known}
        if not missing or not self.embedder:
            return {}
        if problem := embeddings.conflict(self.connection, self.embedder):
            self._warn(problem)
            return {}
        vectors = embeddings.new(self.embedder, missing)
        self._warn(embeddings.problem(self.embedder))
        return vectors

    def embed_pending(self, progress: Callable[[int], None] = lambda count: None, *, seconds: float | None = None) -> int:
        """Embed the chunks that have no embedding, the newest first, in batches committed one by one. Gives the number embedded.

        After `seconds`, if given, the rest stays pending. Embeddings of another identity than the embedder's are given up as
        soon as it has made the first new one. `progress` is called with the number of chunks of each batch.
        """
        count, before = 0, embeddings.NEWEST
        if not self.embedder or not self._make_way(self.embedder):
            return 0
        is_final = getattr(self.embedder, "is_final", False)
        size, deadline = EMBED_BATCH if seconds is None else SMALL_BATCH, time.monotonic() + (seconds or 0)
        while batch := embeddings.pending(self.connection, before, size, tried=not is_final):
            left = None if seconds is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                break
            texts = {content_hash: text for _, content_hash, text in batch}
            with embeddings.within(self.embedder, left):
                vectors = {**embeddings.known(self.connection, texts), **self._new_vectors(texts)}
            if not vectors and not is_final:
                break  # a server that embeds none of so many is down, or has another model
            with self.transaction():
                if not embeddings.adopt(self.connection, self.embedder, vectors):
                    self._warn(embeddings.MISFIT)
                    break
                rows = embeddings.unchanged(self.connection, batch)
                found = [(id, *vectors[content_hash]) for id, content_hash in rows if content_hash in vectors]
                vector.put(self.connection, found)
                self._leave_without(texts)
            count += len(found)
            before = batch[-1][0]
            progress(len(batch))
        return count

    def _leave_without(self, hashes: Iterable[bytes]) -> None:
        """What has no embedding now will have none, if the model is one that can say so."""
        if (
            getattr(self.embedder, "is_final", False)
            and self.embedder
            and not embeddings.conflict(self.connection, self.embedder)
        ):
            embeddings.leave_without(self.connection, hashes)

    def _make_way(self, embedder: "Embedder", *, always: bool = False) -> bool:
        """May the embedder's vectors go in? Those of another model make way as soon as it is known to give any."""
        if always or embeddings.conflict(self.connection, embedder):
            if not any(embedder.embed_batch(["probe"])):
                self._warn(embeddings.problem(embedder))
                return False
            with self.transaction():
                if always or embeddings.conflict(self.connection, embedder):  # else another process did it meanwhile
                    embeddings.switch(self.connection)
        return True

    # Searching

    def search(
        self,
        query: str,
        limit: int = 10,
        mode: str = "hybrid",
        *,
        filters: "Filters | None" = None,
        exact: bool = False,
        fts_syntax: bool = False,
        min_score: float = 0.0,
        min_confidence: float = 0.0,
        half_life_days: float | None = None,
        per_doc: int | None = None,
        context: int = 0,
        explain: bool = False,
        today: "date | None" = None,
    ) -> list[dict[str, Any]]:
        """The best `limit` chunks for the query, best first; scores are 0 to 1.

        `filters` say in which documents to look. `exact` compares every embedding, without the index. With `fts_syntax` the
        query is an expression of FTS5, and keywords alone answer: it is no text to embed. `min_score` keeps back what scores
        less, `min_confidence` what is less sure. Scores of dated documents are halved by every `half_life_days` of age
        (default: the config's; 0: never), counted from `today`. At most `per_doc` results are of one document. `context`
        adds as many chunks before and after to each text. With `explain` each result says what its score is made of. The
        seconds that each stage took are in `timings`.

        Raises EmbedderError in mode "vector" if the query could not be embedded; in mode "hybrid" the same is a warning,
        and keywords answer. QueryError if an expression is none.
        """
        if mode not in MODES:
            raise ValueError(f"mode is {mode!r}, not one of {', '.join(MODES)}")
        for name, number in (("limit", limit), ("per_doc", per_doc)):
            if number is not None and number < 1:
                raise ValueError(f"{name} is {number}; it must be at least 1")
        half_life = self.config["half_life_days"] if half_life_days is None else half_life_days
        for name, value in (("half_life_days", half_life), ("context", context)):
            if value < 0:
                raise ValueError(f"{name} is {value}; it must be at least 0")
        mode = "keyword" if fts_syntax else mode
        options = Options(
            limit, mode, filters, exact, fts_syntax, min_score, min_confidence, half_life, per_doc, context, explain, today
        )
        query = schema.storable(query)
        started = time.perf_counter()
        query_vector = self._query_vector(query, mode)  # first: a slow server must not hold a state of the database
        embedded = time.perf_counter()
        search = Search(self.connection, self.config, lambda: self.embedder)
        with self.snapshot():
            answer = search.run(query, query_vector, options)
        self.timings = {"embedding": embedded - started, **search.seconds, "total": time.perf_counter() - started}
        self.nearest_miss = search.nearest_miss
        if miss := search.nearest_miss:
            least = f"nothing reaches confidence {min_confidence:g}"
            self._warn(f"{least}; the nearest is {miss['citation']} with {miss['confidence']:g}")
        return answer

    def _query_vector(self, query: str, mode: str) -> list[float] | None:
        """The query's embedding, [] if it cannot be had, None if it is not wanted or keywords answer in its place."""
        if mode == "keyword" or not query.strip():
            return None
        found, problem = QueryEmbedding(self.connection, self.config, lambda: self.embedder).of(query, mode)
        self._warn(problem)
        return found or (None if mode == "hybrid" else [])

    # Knowing

    def stats(self) -> dict[str, Any]:
        """Counts, the size of the file in bytes, and the identity of the embeddings (None before the first)."""
        cursor = self.connection.execute(STATS)
        counts = dict(zip((column[0] for column in cursor.description), cursor.fetchone(), strict=True))
        pages, page_size = (self.connection.execute(f"pragma {name}").fetchone()[0] for name in ("page_count", "page_size"))
        return counts | {
            "db_size_bytes": pages * page_size,
            "db_path": self.path,
            "embeddings": embeddings.of_store(self.connection),
            "advice": self.advice(),
        }

    def advice(self) -> str | None:
        """What would make searches better, in a line; None if nothing is known."""
        identity = embeddings.of_store(self.connection)
        return embeddings.BUILTIN_ADVICE if identity and identity["provider"] == "builtin" else None

    def _warn(self, message: str | None) -> None:
        """Keep a warning, once."""
        if message and message not in self.warnings:
            self.warnings.append(message)
