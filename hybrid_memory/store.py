"""HybridStore, the facade: which parts do the work, and in which order. How text is cut, matched or embedded is elsewhere."""

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import config as configuration
from .search.hit import Answer, Request
from .search.pipeline import Search
from .storage.sqlite.engine import SQLiteStorage
from .text.characters import storable
from .text.query import Query

if TYPE_CHECKING:
    from .documents.document import Document, Prepared
    from .embedding.protocol import Embedder, MinimalEmbedder
    from .storage.protocol import Storage

DEFAULT_DB = "hybrid_search.db"


class HybridStore:
    """Documents as chunks in one store, searched by keyword and by meaning. A context manager.

    `db_path` is a SQLite file, or ":memory:". `config` has the keys of config.json; neither that file nor the environment is
    read. `embedder` is anything with the methods of `hybrid_memory.embedder.MinimalEmbedder`; by default the one that the
    config names. `warnings` collects what went wrong without stopping the work, a line each.

    Raises ConfigError for a bad config, StoreError for a database that cannot be opened.
    """

    def __init__(
        self,
        db_path: str | os.PathLike[str] = DEFAULT_DB,
        config: Mapping[str, Any] | None = None,
        *,
        embedder: "MinimalEmbedder | None" = None,
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
        self._given_embedder = embedder
        self.storage: Storage = SQLiteStorage(self.path, create=create)

    def __enter__(self) -> "HybridStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database and the embedder's connections."""
        self.storage.close()
        if embedder := self.__dict__.get("embedder"):
            embedder.close()

    @cached_property
    def embedder(self) -> "Embedder | None":
        """What makes the vectors; None with the provider "none"."""
        if self._given_embedder is not None:
            from .embedding.protocol import complete

            return complete(self._given_embedder)
        from .embedding import providers

        return providers.make(self.config, self.storage.embeddings.identity())

    def store(self, doc_id: str, text: str, metadata: Mapping[str, Any] | None = None) -> int:
        """Put in a document, in place of the one with this id. Gives the number of its chunks.

        `metadata` (JSON values) wins over the text's own front matter. Raises SourceError for the id of a file's document.
        """
        from .documents.document import Document
        from .indexing.documents import put_text

        if not doc_id:
            raise ValueError("doc_id is empty")
        prepared = self.prepare(Document(storable(doc_id), storable(text), metadata or {}))
        with self.storage.guarded("cannot write"):
            self._warn(*put_text(self.storage, self.embedder, prepared))
        return len(prepared.chunks)

    def prepare(self, document: "Document") -> "Prepared":
        """Cut a document into chunks. Reads and writes nothing."""
        from .documents.document import prepare

        return prepare(document, self.config["chunk_size"], self.config["chunk_overlap"])

    @property
    def chunking(self) -> str:
        """Everything that decides how a text is cut; a document cut otherwise is due again."""
        from .documents.document import chunking

        return chunking(self.config["chunk_size"], self.config["chunk_overlap"])

    def search(self, query: str, limit: int = 10, mode: str = "hybrid", **options: Any) -> list[dict[str, Any]]:
        """The best `limit` results for the query, best first; scores are 0 to 1.

        `options` are the other fields of `hybrid_memory.search.hit.Request`. Raises ValueError for one that no search can have,
        EmbedderError in the mode "vector" if the query could not be embedded, QueryError for an expression that is not valid.
        """
        return self.answer(query, Request(limit, mode, **options)).results

    def answer(self, query: str, request: Request) -> Answer:
        """`search`, with the warnings and timings of this search."""
        search = Search(self.storage, self.config, lambda: self.embedder)
        with self.storage.guarded():
            answer = search.answer(Query(query, fts_syntax=request.fts_syntax), request)
        self._warn(*answer.warnings)
        return answer

    def delete(self, doc_id: str) -> int:
        """Remove a document. Gives the number of its chunks: 0 if there is none of this id."""
        from .indexing.deletion import delete_document

        deleted = delete_document(self.storage, storable(doc_id))
        self._warn(deleted.warning)
        return deleted.chunks

    def reindex(self, *, anew: bool = False, progress: Callable[[int], None] = lambda count: None) -> int:
        """Build everything anew that derives from the chunks, then compact the file. Gives the number of chunks.

        `anew`: the embeddings, too, as soon as the embedder has made a first vector. `progress` is called with the number of
        chunks of each batch of these.
        """
        with self.storage.transaction():
            self.storage.rebuild_indexes()
        if anew and self.embedder:
            from .indexing.embedding import embed_all

            self._warn(*embed_all(self.storage, self.embedder, progress).problems)
        self.storage.compact()
        return self.storage.chunks.count()

    def stats(self) -> dict[str, Any]:
        """Counts, the size of the store in bytes, and the identity of the embeddings (None before the first)."""
        from .embedding.identity import advice

        with self.storage.guarded():
            identity, counts = self.storage.embeddings.identity(), self.storage.catalog.counts()
        return counts | {"db_path": self.path, "embeddings": identity, "advice": advice(identity)}

    def _warn(self, *messages: str | None) -> None:
        """Keep each warning once."""
        self.warnings += dict.fromkeys(message for message in messages if message and message not in self.warnings)
