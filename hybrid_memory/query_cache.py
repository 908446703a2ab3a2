"""Query embeddings kept in the database, so that a repeated query needs neither a server nor a network library.

Best effort: what cannot be written at once is not written. Keys are hashes, for queries are as private as memories.
"""

import sqlite3
import time

FRESH = 86_400.0  # seconds in which a use is not noted again: a read need not become a write

GET = "select embedding, used_at from query_embeddings where key = ?"
PUT = "insert or replace into query_embeddings (key, embedding, used_at) values (?, ?, ?)"
EVICT = """
delete from query_embeddings where key in (select key from query_embeddings order by used_at desc limit -1 offset ?)
"""


def key(*identity_and_query: str) -> bytes:
    import hashlib

    return hashlib.blake2b("\0".join(identity_and_query).encode(), digest_size=16).digest()


class QueryCache:
    """The `size` queries used last."""

    def __init__(self, conn: sqlite3.Connection, size: int) -> None:
        self._conn, self._size = conn, size

    def get(self, key: bytes) -> bytes | None:
        row = self._conn.execute(GET, (key,)).fetchone()
        if row and time.time() - row[1] > FRESH:
            self.put(key, row[0])
        return row[0] if row else None

    def put(self, key: bytes, embedding: bytes) -> None:
        """Keep it, unless the database is being written or cannot be."""
        if not self._size:
            return
        (patience,) = self._conn.execute("pragma busy_timeout").fetchone()
        self._conn.execute("pragma busy_timeout = 0")
        try:
            self._conn.execute("begin immediate")
            self._conn.execute(PUT, (key, embedding, time.time()))
            self._conn.execute(EVICT, (self._size,))
            self._conn.execute("commit")
        except sqlite3.OperationalError:
            if self._conn.in_transaction:
                self._conn.execute("rollback")
        finally:
            self._conn.execute(f"pragma busy_timeout = {patience}")
