"""The embedding of a query: from memory, from the database, or from the model; or why there is none."""

import json
import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import config, embeddings, vector
from .errors import EmbedderError
from .query_cache import QueryCache, key

if TYPE_CHECKING:
    from .embedder import Embedder


BACKLOG = 0.1  # of all chunks


class QueryEmbedding:
    """`embedder` gives what makes the vectors, or None where nothing is to; it is asked for as late as can be."""

    def __init__(self, conn: sqlite3.Connection, settings: config.Settings, embedder: "Callable[[], Embedder | None]") -> None:
        self._conn, self._settings, self._embedder = conn, settings, embedder

    def of(self, query: str, mode: str) -> tuple[list[float], str | None]:
        """The vector, [] if it cannot be had; and a reason worth telling the user, if there is one.

        Raises EmbedderError in mode "vector" if the model failed.
        """
        identity = embeddings.of_store(self._conn)
        if problem := self._why_none(identity, mode):
            return [], problem
        embedder = self._embedder() if identity else None
        if embedder is None or identity is None:
            return [], None
        vector = self._vector(query, embedder)
        if len(vector) == identity["dims"]:
            return vector, self._backlog()
        problem = embeddings.MISFIT if vector else embeddings.problem(embedder)
        if problem is None:  # the model works, and knows no word of this: nothing is near
            return [], None
        if mode == "vector":
            raise EmbedderError(problem)
        return [], problem

    def _vector(self, query: str, embedder: "Embedder") -> list[float]:
        if getattr(embedder, "provider", None) == "builtin":
            return embedder.embed(query)  # faster than a look-up
        cache = QueryCache(self._conn, self._settings["query_cache_size"])
        cache_key = key(json.dumps(embeddings.of_store(self._conn)), query)
        encoded = cache.get(cache_key)
        if encoded is None:
            encoded = vector.encode_embedding(embedder.embed(query))
            if encoded:
                cache.put(cache_key, encoded)
        return vector.decode_embedding(encoded)  # also a new one: the second answer is the first

    def _backlog(self) -> str | None:
        """What is to be said where so much has no embedding yet that the answer would be another one."""
        pending = embeddings.count_pending(self._conn)
        total = self._conn.execute("select count(*) from chunks").fetchone()[0] if pending else 0
        if pending <= BACKLOG * total:
            return None
        return f"{pending:,} of {total:,} chunks have no embedding yet: found by keyword alone; `hybrid-memory ingest` makes them"

    def _why_none(self, identity: embeddings.Identity | None, mode: str) -> str | None:
        if self._settings["provider"] == "none" and not self._embedder():
            return None if mode == "hybrid" else 'the provider is "none": there is no search by meaning'
        if identity is None:
            if not embeddings.count_pending(self._conn):
                return None  # there is nothing that has one to come
            once = " once Ollama is up (`ollama serve`)" if self._settings["provider"] == "ollama" else ""
            return f"no chunk has an embedding yet: answering by keyword; `hybrid-memory ingest` makes them{once}"
        if (embedder := self._embedder()) is None:
            name = identity["provider"]
            return f"the store's embeddings are {name}'s: answering by keyword; name that provider with --provider {name}"
        return embeddings.conflict(self._conn, embedder)
