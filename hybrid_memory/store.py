"""HybridStore, the facade: it decides which parts do the work, and in which order. Chunking,
matching and embedding are elsewhere.
"""

import os
from collections.abc import Callable, Mapping
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any

from . import config as configuration
from . import messages
from .addresses import server_scheme
from .embedding import choice
from .embedding.identity import conflict, identity_of, why_not_working
from .embedding.loading import load_later
from .errors import ConfigError, ConnectionLostError, QueryError
from .registry import ENGINES, RERANKERS, load
from .search.advice import advise
from .search.answer import Answer, operator_lines
from .search.pipeline import Search
from .search.plan import Plan, plan
from .search.request import Request, request_of
from .search.result import Result as Result
from .storage.filters import check_types
from .storage.sqlite.engine import SQLiteStorage
from .text.characters import storable

if TYPE_CHECKING:
    from typing import Concatenate, ParamSpec, TypeVar

    from .documents.document import Document
    from .embedding.interface import Embedder, MinimalEmbedder
    from .indexing.pending import Embedded
    from .search.answer import Reranker
    from .storage.interface import Storage
    from .storage.prepared import Prepared

    P = ParamSpec("P")
    R = TypeVar("R")

DEFAULT_DB = "hybrid_search.db"
# Documents, and lines of each, whose language decides which built-in model a store begins with
SAMPLED = 20


def retry_once(
    read: "Callable[Concatenate[HybridStore, P], R]",
) -> "Callable[Concatenate[HybridStore, P], R]":
    """Decorate a method that only reads: if the connection to a database server is lost, run it
    once more on a new connection.
    """

    @wraps(read)
    def run(store: "HybridStore", /, *args: "P.args", **options: "P.kwargs") -> "R":
        try:
            # One thread at a time; errors name a way out
            with store.storage.guarded():
                return read(store, *args, **options)
        except ConnectionLostError:
            with store.storage.guarded():
                return read(store, *args, **options)

    return run


class HybridStore:
    """Documents as chunks in one store, searched by keyword and by meaning. A context manager.

    Several threads may use a store: their calls take turns. Methods of a closed store raise
    StoreError.

    `db_path` is a SQLite file, ":memory:", or an address of PostgreSQL,
    postgresql://USER@HOST/DATABASE. `config` has the keys of config.json; neither that file nor the
    environment is read. `embedder` is an object with the methods of
    `hybrid_memory.embedder.MinimalEmbedder`; by default, the config decides. `warnings` collects
    problems that did not stop the work, and how operators in queries were read, one line each.
    `on_wait` is called with a line if another process blocks writing for more than a second.

    With `read_only`, nothing is written.

    Raises ConfigError for an invalid config, StoreError for a database that cannot be opened.
    """

    def __init__(
        self,
        db_path: str | os.PathLike[str] = DEFAULT_DB,
        config: Mapping[str, Any] | None = None,
        *,
        embedder: "MinimalEmbedder | None" = None,
        create: bool = True,
        read_only: bool = False,
        on_wait: Callable[[str], None] = messages.warning,
    ) -> None:
        if isinstance(config, configuration.Settings):
            self.config = config
        else:
            self.config = configuration.merge_layers((configuration.LIBRARY, config or {}))
        path = os.fspath(db_path)
        if path == DEFAULT_DB and config and "db_path" in config:
            path = config["db_path"]
        scheme = server_scheme(path)
        self.path = path if scheme or path == ":memory:" else os.path.abspath(path)
        self.warnings: list[str] = []
        self._on_wait = on_wait
        self._given_embedder = embedder
        self._fitting: Embedder | None = None
        # Text about to be ingested: its language decides which embedder a new store begins with
        self.incoming_texts: list[str] = []
        self.storage: Storage
        if scheme:
            engine = load(ENGINES[scheme])
            self.storage = engine(
                path,
                space=self.config["space"],
                create=create and not read_only,
                read_only=read_only,
                on_wait=on_wait,
            )
            self.path = self.storage.path  # without a password
        elif self.config["space"] != configuration.DEFAULTS["space"]:
            raise ConfigError(
                f"SQLite files do not support --space ({self.config['space']!r}); "
                "name another file with --db"
            )
        else:
            self.storage = SQLiteStorage(
                self.path, create=create and not read_only, read_only=read_only, on_wait=on_wait
            )

    def __enter__(self) -> "HybridStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database, and the connections to models."""
        self.storage.close()
        for model in (self.__dict__.get("embedder"), self._fitting, self.__dict__.get("reranker")):
            if model:
                model.close()

    @cached_property
    def embedder(self) -> "Embedder | None":
        """The model that the settings choose: it made the store's embeddings, or will replace them.
        None for the provider "none".
        """
        if self._given_embedder is not None:
            from .embedding.interface import complete  # only for an embedder of a program

            return complete(self._given_embedder)
        made = choice.make(
            self.config, self.storage.embeddings.identity(), self._some_texts, self._load_later
        )
        if made and hasattr(made, "on_wait"):
            made.on_wait = self._on_wait
        return made

    @cached_property
    def reranker(self) -> "Reranker | None":
        """The model that reorders the first results of a search; None unless the config names one."""
        if self.config["rerank"] == "none":
            return None
        reranker: Reranker = load(RERANKERS[self.config["rerank"]]).configured(self.config)
        return reranker

    @property
    def fitting_embedder(self) -> "Embedder | None":
        """A model whose vectors can be compared with the store's. None if only a remote provider
        has it and the settings do not name that provider: no text may be sent to it.
        """
        with self.storage.guarded():
            identity = self.storage.embeddings.identity()
            if identity is None:
                return self.embedder
            if self._fitting and not conflict(identity, self._fitting):
                return self._fitting
            given = self.embedder if self._given_embedder is not None else None
            if given and not conflict(identity, given):
                self._fitting = given
            else:
                self._fitting = choice.fitting(self.config, identity) or given
            return self._fitting

    def limit_queries(self, seconds: float) -> None:
        """Wait at most this long for the embedding of a query; call it before the first search."""
        self.config["query_timeout"] = min(seconds, self.config["query_timeout"])

    @property
    def may_switch_model(self) -> bool:
        """Whether a better model may replace the store's: it is the built-in one, because the user
        has not chosen a model.
        """
        with self.storage.guarded():
            identity = self.storage.embeddings.identity() or {}
        return (
            self._given_embedder is None
            and self.config["provider"] == "auto"
            and identity.get("provider") == "builtin"
        )

    @property
    def advice(self) -> str | None:
        """A line of advice for better searches, if there is any."""
        with self.storage.guarded():
            identity = self.storage.embeddings.identity()
        if self._given_embedder is not None or self.config["provider"] != "auto" or not identity:
            return None
        made = self.__dict__.get("embedder")
        if made and made.problem:  # Ollama has the model, which does not work
            return None
        return choice.ADVICE.get(identity["provider"])

    def _load_later(self, embedder: "Embedder") -> None:
        identity = identity_of(embedder) | {"dims": embedder.wanted_dims}
        load_later(self.config, identity, self.storage.embeddings.note_late_server)

    def _some_texts(self) -> list[str]:
        """The texts about to be ingested, and the beginnings of the newest documents."""
        _, newest = self.storage.catalog.listing(None, SAMPLED)
        texts = [*self.incoming_texts]
        for document in newest:
            chunks = self.storage.chunks.at(document["doc_id"], 1, SAMPLED)
            texts.append(" ".join(row.text for row in self.storage.chunks.rows(chunks).values()))
        return texts

    def embed(
        self,
        on_total: "Callable[[int], Callable[[int], None]]" = lambda total: lambda count: None,
        seconds: float | None = None,
        *,
        anew: bool = False,
    ) -> "Embedded":
        """Embed the chunks without an embedding, or all chunks by another model; see indexing/pending.py."""
        from .indexing.pending import Embedded, embed

        with self.storage.guarded("cannot write"):
            if self.embedder is None:
                return Embedded(0, [])
            return embed(
                self.storage,
                self.embedder,
                lambda: self.fitting_embedder,
                on_total=on_total,
                seconds=seconds,
                anew=anew,
            )

    def store(
        self,
        doc_id: str,
        text: str,
        metadata: Mapping[str, Any] | None = None,
        *,
        append: bool = False,
        replaces: str | None = None,
    ) -> int:
        """Store a document, replacing any with the same id. Returns the number of its chunks.

        `metadata` (JSON values) takes precedence over the text's front matter. None keeps the
        document's metadata; {} removes it. With `append`, the text becomes a new paragraph at the
        end of the document, and the metadata is added to the document's. `replaces` is the id of a
        document that this one supersedes; it becomes the metadata `supersedes`. Raises SourceError
        for the id of a file's document, QueryError if `replaces` is not the id of another document.
        """
        from .documents.document import Document
        from .indexing.documents import ConcurrentUpdateError, put_document, revised, stored_text

        if not doc_id:
            raise ValueError("doc_id is empty")
        self.incoming_texts = [text]
        superseding = {} if replaces is None else self._superseding(doc_id, replaces)
        document = Document(storable(doc_id), storable(text), {**(metadata or {}), **superseding})
        while True:
            with self.storage.guarded("cannot write"):
                before = stored_text(self.storage, document.doc_id)
                keeps_metadata = append or metadata is None
                prepared = self.prepare(
                    revised(document, before, append=append, keeps_metadata=keeps_metadata)
                )
                try:
                    problems = put_document(
                        self.storage, self.fitting_embedder, prepared, follows=before
                    )
                except ConcurrentUpdateError:
                    continue  # another process has stored this document meanwhile
                self._warn(*problems, *prepared.warnings)
                return len(prepared.chunks)

    def _superseding(self, doc_id: str, former: str) -> dict[str, str]:
        """The metadata of a document that supersedes another one. Raises QueryError."""
        from .search.revisions import SUPERSEDES, named_documents

        [name] = named_documents({"supersedes": former}, SUPERSEDES) or [former]
        with self.storage.snapshot():
            named = self.storage.links.named(name)
        if named != [former] or former == doc_id:
            others = ", ".join(named) or "no other document"
            raise QueryError(f"{former!r} must be the id of another document; it names {others}")
        return {"supersedes": former}

    def prepare(self, document: "Document") -> "Prepared":
        """Cut a text without a file into chunks; for files, see sync/reading.py."""
        from .documents.document import prepare

        return prepare(
            document,
            self.config["chunk_size"],
            self.config["chunk_overlap"],
            self.config["date_keys"],
        )

    def search(
        self, query: str, limit: int | None = None, mode: str | None = None, **options: Any
    ) -> list[Result]:
        """The best results for the query, best first; scores are 0 to 1.

        `options` are the options of a search and its filters, as docs/python.md lists them; see
        `hybrid_memory.search.request.Request` and `hybrid_memory.storage.filters.Filters`.
        `filters` may be a whole `Filters`; single filters override its fields. An option that is
        missing or None has the value from the config. `budget` limits the characters of all
        passages together.

        In the mode "vector", there are no results if the query could not be embedded; `warnings`
        has the reason. Raises TypeError for an unknown option or a wrong type, ValueError for an
        invalid value, QueryError for an invalid expression.
        """
        filters = options.pop("filters", None)
        if filters is not None:
            check_types(filters)
        given = {"limit": limit, "mode": mode, **options}
        return self.answer(query, request_of(given, self.config, filters=filters)).results

    @retry_once
    def answer(self, query: str, request: Request) -> Answer:
        """Search; the answer has the results, warnings and timings."""
        planned = self.plan(query, request)
        search = Search(
            self.storage, self.config, lambda: self.fitting_embedder, lambda: self.reranker
        )
        answer = search.answer(planned)
        advise(answer, planned, self.storage)
        self._warn(*answer.warnings, *operator_lines(answer.operators))
        return answer

    def plan(self, query: str, request: Request) -> Plan:
        """Decide what a query and its options mean in this store; see search/plan.py."""
        return plan(self.storage, self.config, query, request)

    def delete(self, doc_id: str) -> int:
        """Remove a document. Returns the number of its chunks: 0 if no document has this id."""
        from .indexing.documents import delete_document

        with self.storage.guarded("cannot write"):
            deleted = delete_document(self.storage, storable(doc_id))
            self._warn(deleted.warning)
        return deleted.chunks

    def reindex(self) -> int:
        """Rebuild everything that is derived from the chunks, then compact the file. Returns the
        number of chunks.
        """
        with self.storage.guarded("cannot write"):
            with self.storage.transaction():
                self.storage.rebuild_indexes()
            self.storage.compact()
            return self.storage.chunks.count()

    @retry_once
    def stats(self) -> dict[str, Any]:
        """Counts, the size of the store in bytes, and the identity of the embeddings (None before
        the first).

        `building` describes an unfinished set of embeddings by another model, with `model`, `done`
        and `of`; else it is None. `reranker` is the name of the configured reranker, or None.
        """
        from .indexing.pending import building

        with self.storage.snapshot():
            return {
                **self.storage.catalog.counts(),
                "db_path": self.path,
                "embeddings": self.storage.embeddings.identity(),
                "building": building(self.storage),
                "advice": self.advice,
                "reranker": self.reranker.name if self.reranker else None,
            }

    def why_not_working(self, embedder: "Embedder | None") -> str | None:
        """Why a model does not work with this store, in one line: it does not embed a word, or is
        another one than that of the embeddings; None if it does, or for no model. Asks its server,
        which may take query_timeout.
        """
        if embedder is None:
            return None
        with self.storage.guarded():
            identity = self.storage.embeddings.identity()
            problem = why_not_working(identity, embedder)
            if embedder.is_late:
                self._load_later(embedder)
            return problem

    def _warn(self, *warnings: str | None) -> None:
        """Add each warning once."""
        self.warnings += dict.fromkeys(
            warning for warning in warnings if warning and warning not in self.warnings
        )
