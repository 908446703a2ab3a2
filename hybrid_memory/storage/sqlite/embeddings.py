"""The statements on the embeddings of chunks, on spare ones, and on those of queries."""

from collections.abc import Iterable, Sequence

from ..embeddings import Embeddings, SpareEmbeddings, model_key
from ..encoding import decode_embedding, encode_embedding, unit
from ..query_cache import QueryCache
from ..rows import Identity, Vectors
from .connection import SQLiteDatabase

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

DROP_USED = """
delete from spare_embeddings
where  model = ? and content_hash in (select content_hash from chunks where embedding is not null)
"""
DROP_OLD = (
    "delete from spare_embeddings where model is not ? and kept_at < unixepoch('now') - ? * 86400"
)
NEWEST_FIRST = """
select rowid, length(embedding) from spare_embeddings where model is not ? order by kept_at desc, rowid desc
"""
DROP_ROW = "delete from spare_embeddings where rowid = ?"
HAS = "exists (select 1 from spare_embeddings s where s.model = :model and s.content_hash = c.content_hash)"
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


class SQLiteSpareEmbeddings(SpareEmbeddings):
    """The spare embeddings of a database file."""

    NEXT = "select value from meta where key = 'next_embeddings'"
    SET_NEXT = "insert or replace into meta (key, value) values ('next_embeddings', :value)"
    FORGET_NEXT = "delete from meta where key = 'next_embeddings'"
    DROP_MODEL = "delete from spare_embeddings where model = :model"
    DROP_UNUSED = """
    delete from spare_embeddings
    where  content_hash not in (select content_hash from chunks where embedding is null)
    and    not exists (
        select 1 from chunks c
        where  c.content_hash = spare_embeddings.content_hash and c.embedding is not null
    )
    """
    LACKING = f"""
    select id, content_hash, heading_path, content, items from chunks c where id < :before and not {HAS}
    order by id desc limit :batch
    """
    COUNT_LACKING = f"select count(*) from chunks c where not {HAS}"

    def __init__(self, database: SQLiteDatabase) -> None:
        super().__init__(database)
        self._conn = database.connection

    def known(self, identity: Identity, hashes: Iterable[bytes]) -> Vectors:
        model = model_key(identity)
        vectors: Vectors = {}
        for content_hash in hashes:
            row = self._conn.execute(KNOWN_SPARE, (model, content_hash)).fetchone()
            if row:
                vectors[content_hash] = (row[0], bool(row[1]))
        return vectors

    def keep(self, identity: Identity, ids: Iterable[int]) -> None:
        model = model_key(identity)
        self._conn.executemany(KEEP, ((model, id) for id in ids))

    def wanted(self, identity: Identity) -> list[tuple[int, bytes, bool]]:
        """The embeddings of some pending chunks: (chunks.id, embedding, whether the text was cut)."""
        return self._conn.execute(WANTED, (model_key(identity), WANTED_BATCH)).fetchall()

    def put(self, identity: Identity, vectors: Vectors) -> None:
        model = model_key(identity)
        rows = (
            (model, content_hash, _at_unit_length(data), cut)
            for content_hash, (data, cut) in vectors.items()
        )
        self._conn.executemany(PUT, rows)

    def trim(self, identity: Identity, megabytes: float, days: float) -> None:
        kept = self._next_model()
        self._conn.execute(DROP_USED, (model_key(identity),))
        self._conn.execute(DROP_OLD, (kept, days))
        room = megabytes * 1_000_000
        for row, size in self._conn.execute(NEWEST_FIRST, (kept,)).fetchall():
            room -= size
            if room < 0:
                self._conn.execute(DROP_ROW, (row,))

    def _give_to_chunks(self, model: bytes) -> None:
        from .vectors import rebuild

        self._conn.execute(TAKE_OVER, {"model": model})
        rebuild(self._conn)


def _at_unit_length(data: bytes) -> bytes:
    """The embedding as chunks have it; b"" if it is empty, zero or not finite."""
    return encode_embedding(unit(decode_embedding(data)) or ())


KNOWN = "select embedding, truncated from chunks where content_hash = ? and embedding is not null limit 1"
MARK_UNEMBEDDABLE = """
update chunks set unembeddable = 1 where content_hash in ({}) and embedding is null and not unembeddable
"""


class SQLiteEmbeddings(Embeddings):
    """The embeddings of a database file."""

    spare: SQLiteSpareEmbeddings

    IDENTITY = "select value from meta where key = 'embeddings'"
    SET_IDENTITY = "insert or replace into meta (key, value) values ('embeddings', :value)"
    PENDING = """
    select id, content_hash, heading_path, content, items
    from   chunks
    where  embedding is null and unembeddable <= :tried and id < :before
    order  by id desc
    limit  :batch
    """
    STILL_PENDING = """
    select id, content_hash from chunks
    where  id in (select value from json_each(:ids)) and embedding is null
    """
    COUNT_WITHOUT = "select count(*) from chunks where embedding is null"
    COUNT_PENDING = "select count(*) from chunks where embedding is null and not unembeddable"
    WAS_LATE = """
    select 1 from meta where key = 'late_server' and cast(value as real) between :now - :seconds and :now
    """
    NOTE_LATE = """
    insert into meta (key, value) values ('late_server', :now)
    on conflict (key) do update set value = excluded.value
    where  cast(value as real) not between :now - :seconds and :now
    """

    def __init__(self, database: SQLiteDatabase) -> None:
        super().__init__(database, SQLiteSpareEmbeddings(database))
        self._conn = database.connection

    def _of_chunks(self, hashes: Sequence[bytes]) -> Vectors:
        rows = ((hash, self._conn.execute(KNOWN, (hash,)).fetchone()) for hash in hashes)
        return {content_hash: row for content_hash, row in rows if row}

    def put(self, rows: Iterable[tuple[int, bytes, bool]]) -> None:
        from .vectors import put

        put(self._conn, rows)

    def mark_unembeddable(self, hashes: Iterable[bytes]) -> None:
        marked = list(hashes)
        if marked:  # one statement for all, because it reads all pending chunks
            self._conn.execute(MARK_UNEMBEDDABLE.format(", ".join("?" * len(marked))), marked)

    def restore(self) -> None:
        identity = self.identity()
        while identity and (rows := self.spare.wanted(identity)):
            self.put(rows)


class SQLiteQueryCache(QueryCache):
    """The table of the embeddings of queries, and of reranker scores."""

    GET = "select embedding, used_at from query_embeddings where key = :key"
    PUT = "insert or replace into query_embeddings (key, embedding, used_at) values (:key, :value, :now)"
    EVICT = """
    delete from query_embeddings
    where  key in (select key from query_embeddings order by used_at desc limit -1 offset :size)
    """
