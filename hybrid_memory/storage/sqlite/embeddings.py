"""Which chunk has which embedding: the one identity they share, what is known, what is pending, what left in this run."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..document_rows import Pending
    from ..rows import Identity, Vectors

IDENTITY = "select value from meta where key = 'embeddings'"
SET_IDENTITY = "insert or replace into meta (key, value) values ('embeddings', ?)"
FORGET_IDENTITY = "delete from meta where key = 'embeddings'"

KNOWN = "select embedding, truncated from chunks where content_hash = ? and embedding is not null limit 1"

PENDING = """
select id, content_hash, heading_path, content
from   chunks
where  embedding is null and unembeddable <= :tried and id < :before
order  by id desc
limit  :batch
"""
STILL_PENDING = """
select id, content_hash from chunks where id in (select value from json_each(?)) and embedding is null
"""
ANY_WITHOUT = "select 1 from chunks where embedding is null limit 1"
COUNT_PENDING = "select count(*) from chunks where embedding is null and not unembeddable"
MARK_UNEMBEDDABLE = "update chunks set unembeddable = 1 where content_hash = ? and embedding is null and not unembeddable"

DISCARD_ALL = """
update chunks set embedding = null, slot = null, truncated = 0, unembeddable = 0 where embedding is not null or unembeddable
"""

LEFTOVERS = """
create temp table leftovers (content_hash blob primary key, embedding blob not null, truncated integer not null)
"""
COLLECT_LEFTOVERS = """
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
LEFTOVERS_BATCH = 512  # chunks


class Embeddings:
    """Implements `protocol.Embeddings`."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    def identity(self) -> "Identity | None":
        row = self._conn.execute(IDENTITY).fetchone()
        return json.loads(row[0]) if row else None

    def set_identity(self, identity: "Identity") -> None:
        self._conn.execute(SET_IDENTITY, (json.dumps(identity),))

    def known(self, hashes: Iterable[bytes]) -> "Vectors":
        if self.identity() is None:
            return {}
        found = ((h, self._conn.execute(KNOWN, (h,)).fetchone()) for h in hashes)
        return {h: row for h, row in found if row}

    def pending(self, before: int, batch: int, *, tried: bool) -> "list[Pending]":
        from ...documents.document import embedded_text  # imports like these are not for every search to pay
        from ..document_rows import Pending

        rows = self._conn.execute(PENDING, {"before": before, "batch": batch, "tried": tried})
        return [Pending(id, content_hash, embedded_text(path, content)) for id, content_hash, path, content in rows]

    def still_pending(self, batch: "Sequence[Pending]") -> "list[Pending]":
        rows = set(self._conn.execute(STILL_PENDING, (json.dumps([chunk.id for chunk in batch]),)))
        return [chunk for chunk in batch if (chunk.id, chunk.content_hash) in rows]

    def count_pending(self) -> int:
        return int(self._conn.execute(COUNT_PENDING).fetchone()[0]) if self._conn.execute(ANY_WITHOUT).fetchone() else 0

    def put(self, rows: Iterable[tuple[int, bytes, bool]]) -> None:
        from .vectors import blocks

        blocks.put(self._conn, rows)

    def mark_unembeddable(self, hashes: Iterable[bytes]) -> None:
        self._conn.executemany(MARK_UNEMBEDDABLE, ((content_hash,) for content_hash in hashes))

    def discard_all(self) -> None:
        from .vectors import blocks

        self._conn.execute(DISCARD_ALL)
        blocks.rebuild(self._conn)
        self._conn.execute(FORGET_IDENTITY)

    def leftovers(self) -> "Leftovers":
        return Leftovers(self._conn, self)


class Leftovers:
    """Implements `protocol.Leftovers` by a temporary table and a trigger."""

    def __init__(self, conn: sqlite3.Connection, embeddings: Embeddings) -> None:
        self._conn, self._embeddings = conn, embeddings
        self._identity: Identity | None = None

    def collect(self) -> None:
        if self._identity is None:
            self._identity = self._embeddings.identity()
            if self._identity is not None:
                self._drop()  # they may be left where an ingest was interrupted
                self._conn.execute(LEFTOVERS)
                self._conn.execute(COLLECT_LEFTOVERS)

    def wanted(self) -> list[tuple[int, bytes, bool]]:
        if self._identity is None or self._embeddings.identity() != self._identity:
            return []
        return self._conn.execute(WANTED, (LEFTOVERS_BATCH,)).fetchall()

    def close(self) -> None:
        if self._identity is not None:
            self._identity = None
            with suppress(sqlite3.OperationalError):  # an interrupted statement may still be reading it
                self._drop()

    def _drop(self) -> None:
        self._conn.execute("drop trigger if exists temp.collect_leftovers")
        self._conn.execute("drop table if exists temp.leftovers")
