"""The table of the embeddings of queries, and of reranker scores."""

import sqlite3
import time

from ..query_cache import QueryCache as Cache
from .connection import waiting

GET = "select embedding, used_at from query_embeddings where key = ?"
PUT = "insert or replace into query_embeddings (key, embedding, used_at) values (?, ?, ?)"
EVICT = """
delete from query_embeddings
where  key in (select key from query_embeddings order by used_at desc limit -1 offset ?)
"""


class QueryCache(Cache):
    """The cache of the `size` queries used last."""

    def __init__(self, conn: sqlite3.Connection, size: int) -> None:
        self._conn = conn
        self._size = size

    def _load(self, key: bytes) -> tuple[bytes, float]:
        found: tuple[bytes, float] = self._conn.execute(GET, (key,)).fetchone() or (b"", 0.0)
        return found

    def _save(self, key: bytes, value: bytes) -> None:
        if not self._size:
            return
        with waiting(self._conn, 0):
            try:
                self._conn.execute("begin immediate")
                self._conn.execute(PUT, (key, value, time.time()))
                self._conn.execute(EVICT, (self._size,))
                self._conn.execute("commit")
            except sqlite3.OperationalError:
                if self._conn.in_transaction:
                    self._conn.execute("rollback")
