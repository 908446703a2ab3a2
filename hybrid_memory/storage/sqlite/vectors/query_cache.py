"""The embeddings of queries, kept in the database so that a repeated query needs neither a server nor a network library.

Best effort: what cannot be written at once is not written. Keys are hashes, because queries are as private as memories.
"""

import json
import sqlite3
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ....text.digest import digest
from ...vector import decode_embedding, encode_embedding
from ..connection import waiting

if TYPE_CHECKING:
    from ...rows import Identity

FRESH = 86_400.0  # seconds in which a further use is not noted, so that a read does not become a write

GET = "select embedding, used_at from query_embeddings where key = ?"
PUT = "insert or replace into query_embeddings (key, embedding, used_at) values (?, ?, ?)"
EVICT = """
delete from query_embeddings where key in (select key from query_embeddings order by used_at desc limit -1 offset ?)
"""


class QueryCache:
    """Implements `storage.embeddings.QueryCache`: holds the `size` queries used last."""

    def __init__(self, conn: sqlite3.Connection, size: int) -> None:
        self._conn, self._size = conn, size

    def vector(self, identity: "Identity", query: str, embed: Callable[[str], list[float]]) -> list[float]:
        key = _key(identity, query)
        encoded, used_at = self._conn.execute(GET, (key,)).fetchone() or (b"", 0.0)
        if not encoded:
            encoded = encode_embedding(embed(query))
        if encoded and time.time() - used_at > FRESH:
            self._keep(key, encoded)
        return decode_embedding(encoded)  # a new vector, too, so that the second answer is the same as the first

    def _keep(self, key: bytes, embedding: bytes) -> None:
        if not self._size:
            return
        with waiting(self._conn, 0):
            try:
                self._conn.execute("begin immediate")
                self._conn.execute(PUT, (key, embedding, time.time()))
                self._conn.execute(EVICT, (self._size,))
                self._conn.execute("commit")
            except sqlite3.OperationalError:
                if self._conn.in_transaction:
                    self._conn.execute("rollback")


def _key(identity: "Identity", query: str) -> bytes:
    return digest(f"{json.dumps(identity)}\0{query}".encode())
