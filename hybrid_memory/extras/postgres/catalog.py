"""The statements that read documents, and those on ingested folders and refused files, which belong
to one host.
"""

from typing import Any

from ...storage.catalog import Catalog
from ...storage.filters import Filters
from ...storage.rows import DocumentRow
from ...storage.source import KnownSources, Source
from .chunks import MODIFIED, OF_DOCUMENT, Links, text_of_chunks
from .database import SpaceDatabase, here
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
    select doc_id, source_path, file_mtime, file_size, chunking, collection
    from   documents where space = %(space)s and host = %(host)s and source_path is not null
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
        self._database = database

    def document(self, doc_id: str) -> DocumentRow:
        found = super().document(doc_id)
        if found.host and found.content is None:
            return found._replace(content=text_of_chunks(self._database, doc_id))
        return found

    def _listed(self, condition: tuple[str, Any], order: str, limit: int) -> list[dict[str, Any]]:
        return [
            {key: value for key, value in entry.items() if key != "host" or value}
            for entry in super()._listed(condition, order, limit)
        ]

    def _condition(self, filters: Filters | None) -> tuple[str, Any]:
        return condition(self._database, filters) if filters else ("true", {})

    def _is(self, doc_id: str) -> tuple[str, Any]:
        return "doc_id = %(doc_id)s", {"doc_id": doc_id}

    def _tags(self) -> list[tuple[str, int]]:
        return Links(self._database).tags()


OF_ANOTHER_HOST = """
select path from folders where space = %(space)s and host <> %(host)s and collection = %(collection)s
and    not is_file
"""


class PostgresSources(KnownSources):
    """The sources of one host in a space."""

    CLAIMED = """
    select path, collection from folders
    where  space = %(space)s and host = %(host)s and collection = %(collection)s and not is_file
    and    path <> %(path)s
    and    exists (select from documents where space = %(space)s and host = %(host)s
            and    collection = %(collection)s)
    """
    SOURCES = """
    select path, collection, is_file, patterns, exclude, follow_symlinks, keep_missing, chunk_size,
           chunk_overlap, doc_id, metadata, workspace, no_ignore
    from   folders
    where  space = %(space)s and host = %(host)s and collection = coalesce(%(collection)s, collection)
    and    path = coalesce(%(path)s::bytea, path)
    order  by collection, path
    """
    REMEMBER = """
    insert into folders (space, host, path, collection, is_file, patterns, exclude, follow_symlinks,
                         keep_missing, chunk_size, chunk_overlap, doc_id, metadata, workspace,
                         no_ignore)
    values (%(space)s, %(host)s, %(path)s, %(collection)s, %(is_file)s, %(patterns)s, %(exclude)s,
            %(follow_symlinks)s, %(keep_missing)s, %(chunk_size)s, %(chunk_overlap)s, %(own_id)s,
            %(metadata)s, %(workspace)s, %(no_ignore)s)
    """
    FORGET = """
    delete from folders where space = %(space)s and host = %(host)s and collection = %(collection)s
    and    path = %(path)s
    """
    FORGET_OTHERS = """
    delete from folders where space = %(space)s and host = %(host)s and collection = %(collection)s
    and    not is_file
    """
    REFUSALS = "select value from meta where space = %(space)s and key = 'refusals@' || %(host)s"
    FORGET_REFUSALS = "delete from meta where space = %(space)s and key = 'refusals@' || %(host)s"
    REMEMBER_REFUSALS = """
    insert into meta (space, key, value) values (%(space)s, 'refusals@' || %(host)s, %(value)s)
    """

    def of_own_name(self, source: Source) -> Source:
        own = source._replace(collection=f"{source.collection}@{here()}")
        if source.is_file or self._known(source):
            return source
        if self._known(own) or self._db.first(OF_ANOTHER_HOST, self._key(source)):
            return own
        return source
