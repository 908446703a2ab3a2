"""Checks for contradictions between tables."""

from ...storage.encoding import UNIT
from ...storage.rows import MISCOUNT
from .database import SpaceDatabase
from .postings import decoded
from .vectors import INDEX, IS_INDEXED, MOST_DIMS, WORTH_AN_INDEX

VERSIONS = """
select current_setting('server_version'), extversion from pg_extension where extname = 'vector'
"""
UNREAD = """
select c.relname, i.indexrelid::regclass::text from pg_class c join pg_index i on i.indrelid = c.oid
where  c.relnamespace = 'hybrid_memory'::regnamespace and not i.indisvalid
"""
NOT_INDEXED = """
select count(*) from (
    select id from chunks where space = %(space)s except select chunk from words where space = %(space)s) a
"""
NOT_STORED = """
select count(*) from (
    select chunk from words where space = %(space)s except select id from chunks where space = %(space)s) a
"""
FREQUENCIES = f"""
select count(*) from (
    select term, count(*) as chunks from ({decoded("postings where space = %(space)s", "term")}) entry
    where  exists (select from words where space = %(space)s and words.chunk = entry.chunk) group by term) p
full   join (select id, frequency from terms where space = %(space)s) t on t.id = p.term
where  chunks is distinct from frequency
"""
TOTALS = """
select (chunks, tokens) <> (select count(*), coalesce(sum(cardinality(array_remove(sequence, 0))), 0)
                            from words where space = id)
from   spaces where id = %(space)s
"""
MISCOUNTED = """
select doc_id from documents d
where  space = %(space)s
and    chunk_count <> (select count(*) from chunks c where c.space = d.space and c.document = d.number)
"""
DIMS = "select vector_dims(embedding) from chunks where space = %(space)s and embedding is not null limit 1"
MANY = "select count(*) from chunks where space = %(space)s and embedding is not null"
ODD = """
select id from chunks
where  space = %(space)s and embedding is not null
and   (vector_dims(embedding) <> %(dims)s or not abs(vector_norm(embedding) - 1) < 2 * %(unit)s)
"""


class Checks:
    """Implements `interface.Checks`."""

    intact = "every index is valid"

    def __init__(self, database: SpaceDatabase) -> None:
        self._db = database

    def engine(self) -> tuple[str, str]:
        [(server, vector)] = self._db.all(VERSIONS)
        return f"PostgreSQL {server} with pgvector {vector}", ""

    def integrity(self) -> list[str]:
        return [
            f"the index {index} of {table} is not valid" for table, index in self._db.all(UNREAD)
        ]

    def keyword_index(self) -> tuple[bool | None, str]:
        wrong = self._db.number(FREQUENCIES)
        if wrong:
            return False, f"{wrong} terms have a frequency that does not match their postings"
        if self._db.number(TOTALS):
            return False, "the stored number of chunks or of their tokens is wrong"
        return True, "terms, postings and totals agree"

    def keyword_index_differences(self) -> tuple[int, int]:
        return self._db.number(NOT_INDEXED), self._db.number(NOT_STORED)

    def rows(self) -> list[str]:  # types and foreign keys rule out the others
        return [MISCOUNT.format(doc_id) for doc_id in self._db.column(MISCOUNTED)]

    def vectors(self, *, thorough: bool) -> list[str]:
        row = self._db.first(DIMS)
        if row is None:
            return []
        dims, problems = row[0], []
        if dims <= MOST_DIMS and not self._db.number(IS_INDEXED, {"name": INDEX.format(dims=dims)}):
            count = self._db.number(MANY)
            if count > WORTH_AN_INDEX:
                problems.append(f"{count} embeddings have no HNSW index")
        if thorough:
            problems += [
                f"chunk {id} has an embedding of another dimension, or its length is not 1"
                for id in self._db.column(ODD, {"dims": dims, "unit": UNIT})
            ]
        return problems
