"""The table of the embeddings of queries, and of reranker scores."""

import time
from contextlib import suppress

import psycopg

from ...storage.query_cache import QueryCache as Cache
from .connection import Connection

GET = "select embedding, used_at from query_embeddings where space = %(space)s and key = %(key)s"
PUT = """
insert into query_embeddings (space, key, embedding, used_at) values (%(space)s, %(key)s, %(value)s, %(now)s)
on conflict (space, key) do update set embedding = excluded.embedding, used_at = excluded.used_at
"""
EVICT = """
delete from query_embeddings where space = %(space)s and key in (
    select key from query_embeddings where space = %(space)s order by used_at desc, key offset %(size)s)
"""


class QueryCache(Cache):
    """The cache of the `size` queries of a space used last."""

    def __init__(self, conn: Connection, space: int, size: int) -> None:
        self._conn = conn
        self._space = space
        self._size = size

    def _load(self, key: bytes) -> tuple[bytes, float]:
        kept, used_at = self._conn.first(GET, {"space": self._space, "key": key}) or (b"", 0.0)
        return bytes(kept), used_at

    def _save(self, key: bytes, value: bytes) -> None:
        if not self._size or self._conn.in_transaction or self._conn.is_standby:
            return
        values = {
            "space": self._space,
            "key": key,
            "value": value,
            "now": time.time(),
            "size": self._size,
        }
        with suppress(psycopg.Error), self._conn.plain_transaction():
            self._conn.execute("set local lock_timeout = 1")
            self._conn.execute(PUT, values)
            self._conn.execute(EVICT, values)
