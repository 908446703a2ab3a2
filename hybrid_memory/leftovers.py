"""Embeddings that left the store in a run of ingest, for texts that come back in the same run: swapped files, rotated logs."""

import sqlite3

from . import embeddings

BATCH = 512  # chunks

TABLE = """
create temp table leftovers (content_hash blob primary key, embedding blob not null, truncated integer not null)
"""
COLLECT = """
create temp trigger collect_leftovers after update of embedding on main.chunks
when old.embedding is not null and new.embedding is null
begin
    insert or ignore into leftovers values (old.content_hash, old.embedding, old.truncated);
end
"""
WANTED = """
select c.id, l.embedding, l.truncated
from   chunks c join temp.leftovers l using (content_hash)
where  c.embedding is null
limit  ?
"""


class Leftovers:
    """Collects from the first `collect` on, in a temporary table. Never commits."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn
        self._identity: embeddings.Identity | None = None

    def collect(self) -> None:
        if self._identity is None:
            self._identity = embeddings.of_store(self._conn)
            if self._identity is not None:
                self._conn.execute(TABLE)
                self._conn.execute(COLLECT)

    def wanted(self) -> list[tuple[int, bytes, bool]]:
        """(chunks.id, embedding, truncated) of some chunks that lack what was collected; none of another identity's store."""
        if self._identity is None or embeddings.of_store(self._conn) != self._identity:
            return []
        return self._conn.execute(WANTED, (BATCH,)).fetchall()

    def close(self) -> None:
        if self._identity is not None:
            self._conn.execute("drop trigger if exists temp.collect_leftovers")
            self._conn.execute("drop table if exists temp.leftovers")
            self._identity = None
