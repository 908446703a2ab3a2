"""The statements on the embeddings of chunks, on spare ones, and on those of queries."""

from collections.abc import Iterable, Sequence
from typing import Any

from ...storage.embeddings import Embeddings, SpareEmbeddings, model_key
from ...storage.encoding import UnitVector, decode_embedding, encode_embedding, unit
from ...storage.query_cache import QueryCache
from ...storage.rows import Identity, Vectors
from .database import SpaceDatabase, numbers
from .vectors import ensure_index

PUT_SPARE = """
insert into spare_embeddings (space, model, content_hash, embedding, truncated)
select %(space)s, %(model)s, new.*
from   unnest(%(hashes)s::bytea[], %(embeddings)s::vector[], %(truncated)s::boolean[]) new
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
LACKS = """
space = %(space)s and not exists (
    select from spare_embeddings s where s.space = c.space and s.model = %(model)s
    and    s.content_hash = c.content_hash)
"""
TAKE_OVER = """
update chunks c
set    embedding = s.embedding, truncated = coalesce(s.truncated, false),
       unembeddable = s.content_hash is not null and s.embedding is null
from   chunks o left join spare_embeddings s
       on s.space = o.space and s.model = %(model)s and s.content_hash = o.content_hash
where  o.space = c.space and o.id = c.id and c.space = %(space)s
"""


class PostgresSpareEmbeddings(SpareEmbeddings):
    """The spare embeddings of a space."""

    NEXT = "select value from meta where space = %(space)s and key = 'next_embeddings'"
    SET_NEXT = (
        "insert into meta (space, key, value) values (%(space)s, 'next_embeddings', %(value)s)"
    )
    FORGET_NEXT = "delete from meta where space = %(space)s and key = 'next_embeddings'"
    DROP_MODEL = "delete from spare_embeddings where space = %(space)s and model = %(model)s"
    DROP_UNUSED = (
        f"delete from spare_embeddings s where space = %(space)s and not {HAS_TEXT.format(more='')}"
    )
    LACKING = f"""
    select id, content_hash, heading_path, content, items from chunks c where id < %(before)s
    and    {LACKS} order by id desc limit nullif(%(batch)s::bigint, -1)
    """
    COUNT_LACKING = f"select count(*) from chunks c where {LACKS}"

    def known(self, identity: Identity, hashes: Iterable[bytes]) -> Vectors:
        wanted = {"model": model_key(identity), "hashes": list(hashes)}
        return _vectors(self._db.all(KNOWN_SPARE, wanted))

    def keep(self, identity: Identity, ids: Iterable[int]) -> None:
        if wanted := list(ids):
            self._db.run(KEEP, {"model": model_key(identity), "ids": wanted})

    def restore(self, identity: Identity) -> None:
        """Give chunks without an embedding the one of their text."""
        self._db.run(RESTORE, {"model": model_key(identity)})

    def put(self, identity: Identity, vectors: Vectors) -> None:
        columns = {
            "model": model_key(identity),
            "hashes": list(vectors),
            "embeddings": [_written(unit(decode_embedding(data))) for data, _ in vectors.values()],
            "truncated": [cut for _, cut in vectors.values()],
        }
        self._db.run(PUT_SPARE, columns)

    def trim(self, identity: Identity, megabytes: float, days: float) -> None:
        kept = self._next_model()
        self._db.run(DROP_USED, {"model": model_key(identity)})
        self._db.run(DROP_OLD, {"kept": kept, "days": days})
        self._db.run(DROP_BEYOND, {"kept": kept, "room": megabytes * 1_000_000})

    def _give_to_chunks(self, model: bytes) -> None:
        self._db.run(TAKE_OVER, {"model": model})


def _written(vector: UnitVector | None) -> str | None:
    """A vector as pgvector reads it."""
    return None if vector is None else str(list(vector))


def _vectors(rows: Iterable[tuple[Any, ...]]) -> Vectors:
    """Embeddings by content hash, from rows of content hash, numbers, and whether the text was cut."""
    return {hash: (encode_embedding(vector), cut) for hash, vector, cut in rows}


KNOWN = """
select distinct on (content_hash) content_hash, embedding::real[], truncated
from   chunks where space = %(space)s and content_hash = any(%(hashes)s) and embedding is not null
"""
MARK_UNEMBEDDABLE = """
update chunks set unembeddable = true
where  space = %(space)s and content_hash = any(%(hashes)s) and embedding is null and not unembeddable
"""
DIMS = "select vector_dims(embedding) from chunks where space = %(space)s and embedding is not null limit 1"
PUT = """
update chunks c
set    embedding = new.embedding, truncated = new.truncated and new.embedding is not null
from   unnest(%(ids)s::bigint[], %(embeddings)s::vector[], %(truncated)s::boolean[])
       new (id, embedding, truncated)
where  c.space = %(space)s and c.id = new.id
"""


class PostgresEmbeddings(Embeddings):
    """The embeddings of a space."""

    spare: PostgresSpareEmbeddings

    IDENTITY = "select value from meta where space = %(space)s and key = 'embeddings'"
    SET_IDENTITY = """
    insert into meta (space, key, value) values (%(space)s, 'embeddings', %(value)s)
    on conflict (space, key) do update set value = excluded.value
    """
    PENDING = """
    select id, content_hash, heading_path, content, items
    from   chunks
    where  space = %(space)s and embedding is null and (%(tried)s or not unembeddable) and id < %(before)s
    order  by id desc
    limit  %(batch)s
    """
    STILL_PENDING = """
    select id, content_hash from chunks
    where  space = %(space)s and id = any(%(ids)s) and embedding is null
    """
    COUNT_WITHOUT = "select count(*) from chunks where space = %(space)s and embedding is null"
    COUNT_PENDING = f"{COUNT_WITHOUT} and not unembeddable"
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

    def __init__(self, database: SpaceDatabase) -> None:
        super().__init__(database, PostgresSpareEmbeddings(database))
        self._database = database

    def _of_chunks(self, hashes: Sequence[bytes]) -> Vectors:
        return _vectors(self._db.all(KNOWN, {"hashes": list(hashes)}))

    def put(self, rows: Iterable[tuple[int, bytes, bool]]) -> None:
        given = list(rows)
        vectors = self.as_vectors([embedding for _, embedding, _ in given])
        columns = {
            "ids": numbers(id for id, *_ in given),
            "embeddings": vectors,
            "truncated": [cut for *_, cut in given],
        }
        self._db.run(PUT, columns)
        self.ensure_index()

    def as_vectors(self, embeddings: Sequence[bytes]) -> list[str | None]:
        """Embeddings at length 1, as pgvector reads them; None for one without a direction.

        Raises ValueError for an embedding whose dimension is not that of the others.
        """
        dims = self._dims() if any(embeddings) else 0
        found: list[str | None] = []
        for data in embeddings:
            vector = unit(decode_embedding(data))
            dims = dims or len(vector or ())
            if vector and len(vector) != dims:
                raise ValueError(
                    f"an embedding has {len(vector)} dimensions, the others have {dims}"
                )
            found.append(_written(vector))
        return found

    def _dims(self) -> int:
        """The dimensions of the stored embeddings; 0 before the first."""
        [dims] = self._db.first(DIMS) or (0,)
        return int(dims)

    def mark_unembeddable(self, hashes: Iterable[bytes]) -> None:
        if wanted := list(hashes):
            self._db.run(MARK_UNEMBEDDABLE, {"hashes": wanted})

    def restore(self) -> None:
        if identity := self.identity():
            self.spare.restore(identity)
            self.ensure_index()

    def ensure_index(self) -> None:
        """Create the HNSW index if there are enough embeddings."""
        if dims := self._dims():
            ensure_index(self._database, dims)


class SpaceQueryCache(QueryCache):
    """The table of the embeddings of queries, and of reranker scores."""

    GET = (
        "select embedding, used_at from query_embeddings where space = %(space)s and key = %(key)s"
    )
    PUT = """
    insert into query_embeddings (space, key, embedding, used_at)
    values (%(space)s, %(key)s, %(value)s, %(now)s)
    on conflict (space, key) do update set embedding = excluded.embedding, used_at = excluded.used_at
    """
    EVICT = """
    delete from query_embeddings where space = %(space)s and key in (
        select key from query_embeddings where space = %(space)s order by used_at desc, key offset %(size)s)
    """
