"""The embeddings of chunks: their common identity, those that are known, and those that are
pending.

Spare embeddings belong to no chunk: they are those of deleted texts and those of the next model, by
identity and content hash.
"""

import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ...text.characters import digest
from ..encoding import decode_embedding, encode_embedding, unit
from .connection import waiting

if TYPE_CHECKING:
    from ..rows import Identity, Pending, Vectors

PUT = """
insert or replace into spare_embeddings (model, content_hash, embedding, truncated) values (?, ?, ?, ?)
"""
KNOWN_SPARE = """
select embedding, truncated from spare_embeddings where model = ? and content_hash = ? and embedding <> x''
"""
KEEP = """
insert or replace into spare_embeddings (model, content_hash, embedding, truncated)
select ?, content_hash, embedding, truncated from chunks where id = ? and embedding is not null
"""
WANTED = """
select c.id, s.embedding, s.truncated
from   chunks c cross join spare_embeddings s on s.model = ? and s.content_hash = c.content_hash
where  c.embedding is null and s.embedding <> x''
limit  ?
"""
WANTED_BATCH = 512  # chunks

DROP_UNUSED = """
delete from spare_embeddings
where  content_hash not in (select content_hash from chunks where embedding is null)
and    not exists (
    select 1 from chunks c where c.content_hash = spare_embeddings.content_hash and c.embedding is not null
)
"""
DROP_USED = """
delete from spare_embeddings
where  model = ? and content_hash in (select content_hash from chunks where embedding is not null)
"""
DROP_OLD = (
    "delete from spare_embeddings where model is not ? and kept_at < unixepoch('now') - ? * 86400"
)
DROP_MODEL = "delete from spare_embeddings where model = ?"
NEWEST_FIRST = """
select rowid, length(embedding) from spare_embeddings where model is not ? order by kept_at desc, rowid desc
"""
DROP_ROW = "delete from spare_embeddings where rowid = ?"

NEXT = "select value from meta where key = 'next_embeddings'"
SET_NEXT = "insert or replace into meta (key, value) values ('next_embeddings', ?)"
FORGET_NEXT = "delete from meta where key = 'next_embeddings'"
HAS = "exists (select 1 from spare_embeddings s where s.model = :model and s.content_hash = c.content_hash)"
LACKING = f"""
select id, content_hash, heading_path, content, items from chunks c where id < :before and not {HAS}
order by id desc limit :batch
"""
COUNT_LACKING = f"select count(*) from chunks c where not {HAS}"
TAKE_OVER = """
update chunks
set    slot = null,
       embedding = (select nullif(s.embedding, x'') from spare_embeddings s
                    where s.model = :model and s.content_hash = chunks.content_hash),
       truncated = coalesce((select s.truncated from spare_embeddings s
                             where s.model = :model and s.content_hash = chunks.content_hash), 0),
       unembeddable = coalesce((select s.embedding = x'' from spare_embeddings s
                                where s.model = :model and s.content_hash = chunks.content_hash), 0)
"""


def _as_pending(rows: "Iterable[tuple[int, bytes, str, str, str]]") -> "list[Pending]":
    """Convert rows of id, content hash, heading path, content and items to chunks with the text to
    embed.
    """
    # Imported here because no search needs it.
    from ...text.terms import embedded_text
    from ..rows import Pending

    return [
        Pending(id, content_hash, embedded_text(path, content, items))
        for id, content_hash, path, content, items in rows
    ]


class SpareEmbeddings:
    """Implements `interface.SpareEmbeddings`."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    def known(self, identity: "Identity", hashes: Iterable[bytes]) -> "Vectors":
        model = _key(identity)
        vectors: Vectors = {}
        for content_hash in hashes:
            row = self._conn.execute(KNOWN_SPARE, (model, content_hash)).fetchone()
            if row:
                vectors[content_hash] = (row[0], bool(row[1]))
        return vectors

    def keep(self, identity: "Identity", ids: Iterable[int]) -> None:
        model = _key(identity)
        self._conn.executemany(KEEP, ((model, id) for id in ids))

    def wanted(self, identity: "Identity") -> list[tuple[int, bytes, bool]]:
        return self._conn.execute(WANTED, (_key(identity), WANTED_BATCH)).fetchall()

    def put(self, identity: "Identity", vectors: "Vectors") -> None:
        model = _key(identity)
        rows = (
            (model, content_hash, _at_unit_length(data), cut)
            for content_hash, (data, cut) in vectors.items()
        )
        self._conn.executemany(PUT, rows)

    def drop_unused(self) -> None:
        self._conn.execute(DROP_UNUSED)

    def trim(self, identity: "Identity", megabytes: float, days: float) -> None:
        growing = self.next_identity()
        kept = _key(growing) if growing else None
        self._conn.execute(DROP_USED, (_key(identity),))
        self._conn.execute(DROP_OLD, (kept, days))
        room = megabytes * 1_000_000
        for row, size in self._conn.execute(NEWEST_FIRST, (kept,)).fetchall():
            room -= size
            if room < 0:
                self._conn.execute(DROP_ROW, (row,))

    def next_identity(self) -> "Identity | None":
        row = self._conn.execute(NEXT).fetchone()
        return json.loads(row[0]) if row else None

    def begin_next(self, identity: "Identity") -> None:
        self.drop_next()
        self._conn.execute(SET_NEXT, (json.dumps(identity),))

    def drop_next(self) -> None:
        identity = self.next_identity()
        if identity and "anew" in identity:  # no later set has this identity
            self._conn.execute(DROP_MODEL, (_key(identity),))
        self._conn.execute(FORGET_NEXT)

    def lacking(self, identity: "Identity", before: int, batch: int) -> "list[Pending]":
        rows = self._conn.execute(
            LACKING, {"model": _key(identity), "before": before, "batch": batch}
        )
        return _as_pending(rows)

    def count_lacking(self, identity: "Identity") -> int:
        return int(self._conn.execute(COUNT_LACKING, {"model": _key(identity)}).fetchone()[0])

    def take_over(self, identity: "Identity") -> None:
        from .vectors import rebuild

        model = _key(identity)
        self._conn.execute(TAKE_OVER, {"model": model})
        rebuild(self._conn)
        self._conn.execute(DROP_MODEL, (model,))
        self._conn.execute(FORGET_NEXT)


def _key(identity: "Identity") -> bytes:
    return digest(json.dumps(identity, sort_keys=True).encode())


def _at_unit_length(data: bytes) -> bytes:
    """The embedding as chunks have it; b"" if it is empty, zero or not finite."""
    return encode_embedding(unit(decode_embedding(data)) or ())


IDENTITY = "select value from meta where key = 'embeddings'"
SET_IDENTITY = "insert or replace into meta (key, value) values ('embeddings', ?)"

KNOWN = "select embedding, truncated from chunks where content_hash = ? and embedding is not null limit 1"

PENDING = """
select id, content_hash, heading_path, content, items
from   chunks
where  embedding is null and unembeddable <= :tried and id < :before
order  by id desc
limit  :batch
"""
STILL_PENDING = """
select id, content_hash from chunks where id in (select value from json_each(?)) and embedding is null
"""
ANY_WITHOUT = "select 1 from chunks where embedding is null limit 1"
COUNT_WITHOUT = "select count(*) from chunks where embedding is null"
COUNT_PENDING = "select count(*) from chunks where embedding is null and not unembeddable"
MARK_UNEMBEDDABLE = """
update chunks set unembeddable = 1 where content_hash in ({}) and embedding is null and not unembeddable
"""
WAS_LATE = """
select 1 from meta where key = 'late_server' and cast(value as real) between :now - :seconds and :now
"""
NOTE_LATE = """
insert into meta (key, value) values ('late_server', :now)
on conflict (key) do update set value = excluded.value
where  cast(value as real) not between :now - :seconds and :now
"""


class Embeddings:
    """Implements `interface.Embeddings`."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    def identity(self) -> "Identity | None":
        row = self._conn.execute(IDENTITY).fetchone()
        return json.loads(row[0]) if row else None

    def set_identity(self, identity: "Identity") -> None:
        self._conn.execute(SET_IDENTITY, (json.dumps(identity),))

    def known(self, hashes: Iterable[bytes]) -> "Vectors":
        identity = self.identity()
        if identity is None:
            return {}
        vectors: Vectors = {}
        unknown = []
        for content_hash in hashes:
            row = self._conn.execute(KNOWN, (content_hash,)).fetchone()
            if row:
                vectors[content_hash] = row
            else:
                unknown.append(content_hash)
        return vectors | self.spare.known(identity, unknown)

    def pending(self, before: int, batch: int, *, tried: bool) -> "list[Pending]":
        rows = self._conn.execute(PENDING, {"before": before, "batch": batch, "tried": tried})
        return _as_pending(rows)

    def still_pending(self, batch: "Sequence[Pending]") -> "list[Pending]":
        rows = set(self._conn.execute(STILL_PENDING, (json.dumps([chunk.id for chunk in batch]),)))
        return [chunk for chunk in batch if (chunk.id, chunk.content_hash) in rows]

    def count_without(self) -> int:
        return int(self._conn.execute(COUNT_WITHOUT).fetchone()[0])

    def count_pending(self) -> int:
        if self._conn.execute(ANY_WITHOUT).fetchone() is None:
            return 0
        return int(self._conn.execute(COUNT_PENDING).fetchone()[0])

    def put(self, rows: Iterable[tuple[int, bytes, bool]]) -> None:
        from .vectors import put

        put(self._conn, rows)

    def mark_unembeddable(self, hashes: Iterable[bytes]) -> None:
        marked = list(hashes)
        if marked:  # one statement for all, because it reads all pending chunks
            self._conn.execute(MARK_UNEMBEDDABLE.format(", ".join("?" * len(marked))), marked)

    def was_server_late(self, seconds: float) -> bool:
        times = {"now": time.time(), "seconds": seconds}
        return self._conn.execute(WAS_LATE, times).fetchone() is not None

    def note_late_server(self, seconds: float) -> bool:
        try:
            with waiting(self._conn, 0):
                times = {"now": time.time(), "seconds": seconds}
                return self._conn.execute(NOTE_LATE, times).rowcount == 1
        except sqlite3.OperationalError:
            return False

    @cached_property
    def spare(self) -> SpareEmbeddings:
        return SpareEmbeddings(self._conn)

    def keep(self, ids: Iterable[int]) -> None:
        if identity := self.identity():
            self.spare.keep(identity, ids)

    def restore(self) -> None:
        identity = self.identity()
        while identity and (rows := self.spare.wanted(identity)):
            self.put(rows)

    def take_over(self, identity: "Identity") -> None:
        self.spare.take_over(identity)
        self.set_identity({key: value for key, value in identity.items() if key != "anew"})
