"""The statements that read documents."""

from typing import Any

from ...storage.catalog import Catalog
from ...storage.filters import Filters
from ...storage.rows import DocumentRow
from .chunks import MODIFIED, OF_DOCUMENT, Links, text_of_chunks
from .connection import text
from .database import SpaceDatabase
from .selection import condition

OF_SPACE = "space = %(space)s"


class PostgresCatalog(Catalog):
    """The catalog of one space."""

    BY_ID = f"select doc_id from documents where {OF_SPACE} and doc_id = %(doc_id)s"
    BY_PATH = f"""
    select doc_id from documents where {OF_SPACE} and host = %(host)s
    and    source_path = %(path)s order by doc_id
    """
    BY_TAIL = f"""
    select doc_id from documents
    where  {OF_SPACE} and right(doc_id, length(%(tail)s)) = %(tail)s order by doc_id
    """
    ALL_IDS = f"select doc_id from documents where {OF_SPACE}"
    DOCUMENT = f"""
    select case when d.host is not distinct from %(host)s then d.source_path end,
           case when d.source_path is null or d.host = %(host)s then d.content_hash end,
           coalesce(d.content, e.content), d.collection, d.date, e.pages,
           case when d.source_path is not null then nullif(d.host, %(host)s) end
    from   documents d left join extracts e on e.space = d.space and e.document = d.number
    where  d.{OF_SPACE} and d.doc_id = %(doc_id)s
    """

    LIST = f"""
    select   d.doc_id, d.collection, d.date, case when d.host = %(host)s then d.source_path end as path,
             d.chunk_count as chunks,
             (select count(*) from chunks c
              where  c.space = d.space and c.document = d.number
              and    c.embedding is null and not c.unembeddable) as pending,
             d.file_size as size, nullif(d.host, %(host)s) as host,
             {MODIFIED} as modified,
             to_char(to_timestamp(d.indexed_at) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
                 as indexed_at
    from     documents d
    where    d.space = %(space)s and {{condition}}
    order by {{order}}
    limit    {{limit}}
    """
    BY_DATE, BY_INDEXING = "d.date desc nulls last, d.doc_id", "d.indexed_at desc, d.doc_id"
    BY_CHANGE = "coalesce(d.file_mtime, d.indexed_at) desc, d.doc_id"
    TOTAL = "select count(*) from documents d where d.space = %(space)s and {condition}"
    ANY = """
    select exists (select 1 from documents d where d.space = %(space)s and {condition})
    """
    NAMES = f"select doc_id, collection, source_path is not null from documents where {OF_SPACE}"

    SOURCE_FILES = """
    select d.doc_id, d.source_path, d.file_mtime, d.file_size, d.chunking, d.collection, f.path
    from   documents d left join folders f
           on f.space = d.space and f.host = d.host and f.collection = d.collection and not f.is_file
    where  d.space = %(space)s and d.host = %(host)s and d.source_path is not null
    """

    COUNTS = """
    select (select count(*) from documents where space = %(space)s) as doc_count,
           count(*)                                                 as chunk_count,
           count(embedding)                                         as embedded_count,
           count(*) filter (where embedding is null and not unembeddable) as pending_count,
           count(*) filter (where embedding is null and unembeddable)     as unembeddable_count,
           count(*) filter (where truncated)                        as truncated_count
    from   chunks where space = %(space)s
    """
    SIZE = """
    select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint from pg_class c
    where  c.relnamespace = 'hybrid_memory'::regnamespace and c.relkind = 'r'
    """

    WITH_METADATA = """
    select metadata from documents where space = %(space)s and metadata <> '{}'
    """
    METADATA = f"""
    select metadata, source_path is not null from documents where {OF_SPACE} and doc_id = %(doc_id)s
    """
    PASSAGES = f"""
    select chunk_id, heading, heading_path, start_line, end_line
    from   chunks where {OF_DOCUMENT} order by id
    """

    COLLECTIONS = f"""
    select   collection as name, count(*) as documents, sum(chunk_count)::bigint as chunks
    from     documents
    where    {OF_SPACE}
    group by collection
    order by documents desc, name nulls first
    """
    MONTHS = f"""
    select   left(date, 7) as month, count(*) as documents
    from     documents
    where    {OF_SPACE} and date is not null
    group by month
    order by month desc
    """
    UNDATED = f"select count(*) from documents where {OF_SPACE} and date is null"

    def __init__(self, database: SpaceDatabase) -> None:
        super().__init__(database)
        self._space = database.space
        self._conn = database.connection

    def document(self, doc_id: str) -> DocumentRow:
        found = super().document(doc_id)
        if found.host and found.content is None:
            return found._replace(content=text_of_chunks(self._conn, self._space, doc_id))
        return found

    def _listed(self, condition: tuple[str, Any], order: str, limit: int) -> list[dict[str, Any]]:
        return [
            {key: value for key, value in entry.items() if key != "host" or value}
            for entry in super()._listed(condition, order, limit)
        ]

    def _condition(self, filters: Filters | None) -> tuple[str, Any]:
        return condition(self._conn, self._space, filters) if filters else ("true", None)

    def _is(self, doc_id: str) -> tuple[str, Any]:
        return "doc_id = %(doc_id)s", {"doc_id": text(doc_id)}

    def _tags(self) -> list[tuple[str, int]]:
        return Links(self._conn, self._space).tags()
