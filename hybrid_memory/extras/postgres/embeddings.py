"""Read and write embeddings: their common identity, those of chunks, and spare ones.

Spare embeddings belong to no chunk: they are those of deleted texts and those of the next model, by
identity and content hash.
"""

import json
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from struct import pack
from typing import Any

import psycopg

from ...storage.encoding import decode_embedding, encode_embedding, unit
from ...storage.rows import Identity, Pending, Vectors
from ...text.characters import digest
from ...text.terms import embedded_text
from .connection import Array, Connection, bigints, integers, values_of
from .vectors import ensure_index

PUT_SPARE = """
insert into spare_embeddings (space, model, content_hash, embedding, truncated)
values (%(space)s, %(model)s, %(hash)s, %(embedding)s::real[]::vector, %(truncated)s)
on conflict (space, model, content_hash) do update
set embedding = excluded.embedding, truncated = excluded.truncated, kept_at = excluded.kept_at
"""
KNOWN_SPARE = """
select content_hash, embedding::real[], truncated from spare_embeddings
where  space = %(space)s and model = %(model)s and content_hash = any(%(hashes)s) and embedding is not null
"""
KEEP = """
insert into spare_embeddings (space, model, content_hash, embedding, truncated)
select distinct on (content_hash) space, %(model)s::bytea, content_hash, embedding, truncated
from   chunks where space = %(space)s and id = any(%(ids)s) and embedding is not null
on conflict (space, model, content_hash) do update
set embedding = excluded.embedding, truncated = excluded.truncated, kept_at = excluded.kept_at
"""
RESTORE = """
update chunks c set embedding = s.embedding, truncated = s.truncated
from   spare_embeddings s
where  s.space = %(space)s and s.model = %(model)s and s.content_hash = c.content_hash
and    s.embedding is not null
and    c.space = %(space)s and c.embedding is null
"""

HAS_TEXT = "exists (select from chunks c where c.space = s.space and c.content_hash = s.content_hash {more})"
DROP_UNUSED = (
    f"delete from spare_embeddings s where space = %(space)s and not {HAS_TEXT.format(more='')}"
)
DROP_USED = f"""
delete from spare_embeddings s
where  space = %(space)s and model = %(model)s and {HAS_TEXT.format(more="and c.embedding is not null")}
"""
DROP_OLD = """
delete from spare_embeddings
where  space = %(space)s and model is distinct from %(kept)s::bytea
and    kept_at < extract(epoch from clock_timestamp()) - %(days)s::float8 * 86400
"""
DROP_BEYOND = """
delete from spare_embeddings s using (
    select model, content_hash, sum(coalesce(vector_dims(embedding), 0) * 4)
           over (order by kept_at desc, content_hash) as size
    from   spare_embeddings where space = %(space)s and model is distinct from %(kept)s::bytea
) ranked
where  s.space = %(space)s and s.model = ranked.model and s.content_hash = ranked.content_hash
and    size > %(room)s
"""
DROP_MODEL = "delete from spare_embeddings where space = %(space)s and model = %(model)s"

NEXT = "select value from meta where space = %(space)s and key = 'next_embeddings'"
SET_NEXT = "insert into meta (space, key, value) values (%(space)s, 'next_embeddings', %(value)s)"
FORGET_NEXT = "delete from meta where space = %(space)s and key = 'next_embeddings'"
LACKS = """
space = %(space)s and not exists (
    select from spare_embeddings s where s.space = c.space and s.model = %(model)s
    and    s.content_hash = c.content_hash)
"""
LACKING = f"""
select id, content_hash, heading_path, content, items from chunks c where id < %(before)s
and    {LACKS} order by id desc limit %(batch)s
"""
COUNT_LACKING = f"select count(*) from chunks c where {LACKS}"
TAKE_OVER = """
update chunks c
set    embedding = s.embedding, truncated = coalesce(s.truncated, false),
       unembeddable = s.content_hash is not null and s.embedding is null
from   chunks o left join spare_embeddings s
       on s.space = o.space and s.model = %(model)s and s.content_hash = o.content_hash
where  o.space = c.space and o.id = c.id and c.space = %(space)s
"""


class SpareEmbeddings:
    """Implements `interface.SpareEmbeddings`."""

    def __init__(self, conn: Connection, space: int) -> None:
        self._conn = conn
        self._space = space

    def _parameters(self, identity: Identity | None, **values: Any) -> dict[str, Any]:
        return {"space": self._space, "model": _key(identity) if identity else None} | values

    def known(self, identity: Identity, hashes: Iterable[bytes]) -> Vectors:
        rows = self._conn.all(KNOWN_SPARE, self._parameters(identity, hashes=list(hashes)))
        return {
            bytes(content_hash): (encode_embedding(vector), cut)
            for content_hash, vector, cut in rows
        }

    def keep(self, identity: Identity, ids: Iterable[int]) -> None:
        if wanted := list(ids):
            self._conn.execute(KEEP, self._parameters(identity, ids=wanted))

    def restore(self, identity: Identity) -> None:
        """Give chunks without an embedding the one of their text."""
        self._conn.execute(RESTORE, self._parameters(identity))

    def put(self, identity: Identity, vectors: Vectors) -> None:
        rows = [
            self._parameters(
                identity,
                hash=content_hash,
                embedding=list(unit(decode_embedding(data)) or ()) or None,
                truncated=cut,
            )
            for content_hash, (data, cut) in vectors.items()
        ]
        self._conn.many(PUT_SPARE, rows)

    def drop_unused(self) -> None:
        self._conn.execute(DROP_UNUSED, self._parameters(None))

    def trim(self, identity: Identity, megabytes: float, days: float) -> None:
        growing = self.next_identity()
        kept = None
        if growing:
            kept = _key(growing)
        self._conn.execute(DROP_USED, self._parameters(identity))
        self._conn.execute(DROP_OLD, self._parameters(None, kept=kept, days=days))
        self._conn.execute(
            DROP_BEYOND, self._parameters(None, kept=kept, room=megabytes * 1_000_000)
        )

    def next_identity(self) -> Identity | None:
        row = self._conn.once(NEXT, self._parameters(None))
        return json.loads(row[0]) if row else None

    def begin_next(self, identity: Identity) -> None:
        self.drop_next()
        self._conn.execute(SET_NEXT, self._parameters(None, value=json.dumps(identity)))

    def drop_next(self) -> None:
        identity = self.next_identity()
        if identity and "anew" in identity:  # no later set has this identity
            self._conn.execute(DROP_MODEL, self._parameters(identity))
        self._conn.execute(FORGET_NEXT, self._parameters(None))

    def lacking(self, identity: Identity, before: int, batch: int) -> list[Pending]:
        rows = self._conn.all(
            LACKING, self._parameters(identity, before=before, batch=None if batch < 0 else batch)
        )
        return [
            Pending(id, bytes(content_hash), embedded_text(path, content, items))
            for id, content_hash, path, content, items in rows
        ]

    def count_lacking(self, identity: Identity) -> int:
        return int(self._conn.one(COUNT_LACKING, self._parameters(identity))[0])

    def take_over(self, identity: Identity) -> None:
        """Give every chunk the embedding of its text in this set."""
        self._conn.execute(TAKE_OVER, self._parameters(identity))
        self._conn.execute(DROP_MODEL, self._parameters(identity))
        self._conn.execute(FORGET_NEXT, self._parameters(None))


def _key(identity: Identity) -> bytes:
    return digest(json.dumps(identity, sort_keys=True).encode())


IDENTITY = "select value from meta where space = %(space)s and key = 'embeddings'"
SET_IDENTITY = """
insert into meta (space, key, value) values (%(space)s, 'embeddings', %(value)s)
on conflict (space, key) do update set value = excluded.value
"""

KNOWN = """
select distinct on (content_hash) content_hash, embedding::real[], truncated
from   chunks where space = %(space)s and content_hash = any(%(hashes)s) and embedding is not null
"""
PENDING = """
select id, content_hash, heading_path, content, items
from   chunks
where  space = %(space)s and embedding is null and (%(tried)s or not unembeddable) and id < %(before)s
order  by id desc
limit  %(batch)s
"""
STILL_PENDING = """
select id, content_hash from chunks where space = %(space)s and id = any(%(ids)s) and embedding is null
"""
COUNT_WITHOUT = "select count(*) from chunks where space = %(space)s and embedding is null"
COUNT_PENDING = (
    "select count(*) from chunks where space = %(space)s and embedding is null and not unembeddable"
)
MARK_UNEMBEDDABLE = """
update chunks set unembeddable = true
where  space = %(space)s and content_hash = any(%(hashes)s) and embedding is null and not unembeddable
"""
DIMS = "select vector_dims(embedding) from chunks where space = %(space)s and embedding is not null limit 1"
VECTOR = "select 'vector'::regtype::oid::bigint"
CLEAR = """
update chunks set embedding = null, truncated = false
where  space = %(space)s and id = any(%(ids)s) and embedding is not null
"""
PUT = """
update chunks c set embedding = new.embedding, truncated = new.truncated::boolean
from   unnest(%(ids)s::bigint[], %(embeddings)s::vector[], %(truncated)s::int[])
       new (id, embedding, truncated)
where  c.space = %(space)s and c.id = new.id
"""


WAS_LATE = """
select 1 from meta
where  space = %(space)s and key = 'late_server'
and    value::float8 between %(now)s - %(seconds)s and %(now)s
"""
NOTE_LATE = """
insert into meta (space, key, value) values (%(space)s, 'late_server', (%(now)s::float8)::text)
on conflict (space, key) do update set value = excluded.value
where  meta.value::float8 not between %(now)s - %(seconds)s and %(now)s
"""


# Embeddings in a large batch: more will come, and an index is built faster when all are there
MANY = 1000


class Embeddings:
    """Implements `interface.Embeddings`."""

    def __init__(self, conn: Connection, space: int) -> None:
        self._conn = conn
        self._space = space

    def _with_ids(self, ids: Sequence[int]) -> dict[str, Any]:
        return {"space": self._space, "ids": list(ids)}

    def identity(self) -> Identity | None:
        row = self._conn.once(IDENTITY, {"space": self._space})
        return json.loads(row[0]) if row else None

    def set_identity(self, identity: Identity) -> None:
        self._conn.execute(SET_IDENTITY, {"space": self._space, "value": json.dumps(identity)})

    def known(self, hashes: Iterable[bytes]) -> Vectors:
        identity = self.identity()
        wanted = list(hashes)
        if identity is None or not wanted:
            return {}
        rows = self._conn.all(KNOWN, {"space": self._space, "hashes": wanted})
        found = {
            bytes(content_hash): (encode_embedding(vector), cut)
            for content_hash, vector, cut in rows
        }
        return found | self.spare.known(identity, [h for h in wanted if h not in found])

    def was_server_late(self, seconds: float) -> bool:
        return self._conn.first(WAS_LATE, self._times(seconds)) is not None

    def note_late_server(self, seconds: float) -> bool:
        if self._conn.in_transaction or self._conn.is_standby:
            return False
        with suppress(psycopg.Error), self._conn.plain_transaction():
            self._conn.execute("set local lock_timeout = 1")
            return self._conn.execute(NOTE_LATE, self._times(seconds)).rowcount == 1
        return False

    def _times(self, seconds: float) -> dict[str, Any]:
        return {"space": self._space, "now": time.time(), "seconds": seconds}

    def pending(self, before: int, batch: int, *, tried: bool) -> list[Pending]:
        rows = self._conn.all(
            PENDING, {"space": self._space, "before": before, "batch": batch, "tried": tried}
        )
        return [
            Pending(id, bytes(content_hash), embedded_text(path, content, items))
            for id, content_hash, path, content, items in rows
        ]

    def still_pending(self, batch: Sequence[Pending]) -> list[Pending]:
        rows = self._conn.all(STILL_PENDING, self._with_ids([chunk.id for chunk in batch]))
        left = {(id, bytes(content_hash)) for id, content_hash in rows}
        return [chunk for chunk in batch if (chunk.id, chunk.content_hash) in left]

    def count_without(self) -> int:
        return int(self._conn.one(COUNT_WITHOUT, {"space": self._space})[0])

    def count_pending(self) -> int:
        return int(self._conn.one(COUNT_PENDING, {"space": self._space})[0])

    def put(self, rows: Iterable[tuple[int, bytes, bool]]) -> None:
        given = list(rows)
        embeddings = self._encode([embedding for _, embedding, _ in given])
        if refused := [id for (id, *_), each in zip(given, embeddings, strict=True) if not each]:
            self._conn.execute(CLEAR, self._with_ids(refused))
        units = [row for row, each in zip(given, embeddings, strict=True) if each]
        if units:
            columns = {
                "ids": bigints(id for id, *_ in units),
                "embeddings": values_of(self._vector_type, filter(None, embeddings)),
                "truncated": integers(cut for *_, cut in units),
            }
            self._conn.execute(PUT, columns | {"space": self._space})
        self.index_after_put(len(units))

    def as_array(self, embeddings: Sequence[bytes]) -> tuple[Array | None, int]:
        """Embeddings as an array of vectors, and how many of them have a direction. The others are
        null in the array.

        Raises ValueError as `_encode` does.
        """
        if not any(embeddings):
            return None, 0
        vectors = self._encode(embeddings)
        return values_of(self._vector_type, vectors), sum(each is not None for each in vectors)

    def _encode(self, embeddings: Sequence[bytes]) -> list[bytes | None]:
        """Embeddings at length 1, in pgvector's binary form; None for one without a direction.

        Raises ValueError for an embedding whose dimension is not that of the others.
        """
        row = self._conn.first(DIMS, {"space": self._space})
        dims = 0
        if row:
            dims = row[0]
        found: list[bytes | None] = []
        for data in embeddings:
            vector = None
            if data:
                vector = unit(decode_embedding(data))
            if vector is None:
                found.append(None)
                continue
            dims = dims or len(vector)
            if len(vector) != dims:
                raise ValueError(
                    f"an embedding has {len(vector)} dimensions, the others have {dims}"
                )
            found.append(pack(f">hh{dims}f", dims, 0, *vector))
        return found

    @cached_property
    def _vector_type(self) -> int:
        """The server's OID of the type `vector`."""
        return int(self._conn.one(VECTOR)[0])

    def index_after_put(self, count: int) -> None:
        """Create the index if there are enough embeddings by now, but not after a large batch: more
        will come, and then `restore`.
        """
        if 0 < count < MANY:
            self.ensure_index()

    def ensure_index(self) -> None:
        """Create the HNSW index if there are enough embeddings."""
        if row := self._conn.first(DIMS, {"space": self._space}):
            ensure_index(self._conn, row[0])

    def mark_unembeddable(self, hashes: Iterable[bytes]) -> None:
        if wanted := list(hashes):
            self._conn.execute(MARK_UNEMBEDDABLE, {"space": self._space, "hashes": wanted})

    @cached_property
    def spare(self) -> "SpareEmbeddings":

        return SpareEmbeddings(self._conn, self._space)

    def keep(self, ids: Iterable[int]) -> None:
        if identity := self.identity():
            self.spare.keep(identity, ids)

    def restore(self) -> None:
        if identity := self.identity():
            self.spare.restore(identity)
            self.ensure_index()

    def take_over(self, identity: Identity) -> None:
        self.spare.take_over(identity)
        self.set_identity({key: value for key, value in identity.items() if key != "anew"})
