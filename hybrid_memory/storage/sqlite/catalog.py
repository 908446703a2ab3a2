"""The statements that read documents, and those on ingested folders and refused files."""

from typing import TYPE_CHECKING, Any

from ..catalog import Catalog
from ..source import KnownSources
from .chunks import MODIFIED
from .connection import SQLiteDatabase
from .links import Links
from .selection import EVERYTHING, condition

if TYPE_CHECKING:
    from ..filters import Filters


class SQLiteCatalog(Catalog):
    """The catalog of a database file."""

    BY_ID = "select doc_id from documents where doc_id = :doc_id"
    BY_PATH = "select doc_id from documents where source_path = :path order by doc_id"
    BY_TAIL = (
        "select doc_id from documents where substr(doc_id, -length(:tail)) = :tail order by doc_id"
    )
    ALL_IDS = "select doc_id from documents"
    DOCUMENT = """
    select d.source_path, d.content_hash, coalesce(d.content, e.content), d.collection, d.date, e.pages,
           null as host
    from   documents d left join extracts e using (doc_id)
    where  d.doc_id = :doc_id
    """

    # Pending chunks have their own small index (+ rules another one out); counting embedded chunks
    # would read every chunk.
    LIST = f"""
    with waiting as (
        select doc_id, count(*) as pending from chunks where embedding is null and not unembeddable
        group by +doc_id
    )
    select   doc_id, collection, date, source_path as path, chunk_count as chunks,
             coalesce(pending, 0) as pending,
             file_size as size,
             {MODIFIED} as modified,
             strftime('%Y-%m-%dT%H:%M:%SZ', indexed_at, 'unixepoch') as indexed_at
    from     documents d left join waiting using (doc_id)
    where    {{condition}}
    order by {{order}}
    limit    {{limit}}
    """
    BY_DATE = "date desc nulls last, doc_id"
    BY_INDEXING = "d.indexed_at desc, doc_id"
    BY_CHANGE = "coalesce(file_mtime, d.indexed_at) desc, doc_id"
    TOTAL = "select count(*) from documents d where {condition}"
    ANY = "select exists (select 1 from documents d where {condition})"
    NAMES = "select doc_id, collection, source_path is not null from documents"

    SOURCE_FILES = """
    select doc_id, source_path, file_mtime, file_size, chunking, collection
    from   documents where source_path is not null
    """

    COUNTS = """
    select (select count(*) from documents)                       as doc_count,
           (select count(*) from chunks)                          as chunk_count,
           (select count(*) from chunks where slot is not null)    as embedded_count,
           (select count(*) from chunks where embedding is null and not unembeddable) as pending_count,
           (select count(*) from chunks where embedding is null and unembeddable)     as unembeddable_count,
           (select count(*) from chunks where truncated)          as truncated_count
    """

    WITH_METADATA = "select metadata from documents where metadata <> '{}'"
    METADATA = "select metadata, source_path is not null from documents where doc_id = :doc_id"
    PASSAGES = """
    select chunk_id, heading, heading_path, start_line, end_line
    from   chunks where doc_id = :doc_id order by id
    """

    COLLECTIONS = """
    select   collection as name, count(*) as documents, sum(chunk_count) as chunks
    from     documents
    group by collection
    order by documents desc, name
    """
    MONTHS = """
    select   substr(date, 1, 7) as month, count(*) as documents
    from     documents
    where    date is not null
    group by month
    order by month desc
    """
    UNDATED = "select count(*) from documents where date is null"
    SIZE = "select page_count * page_size from pragma_page_count, pragma_page_size"

    def __init__(self, database: SQLiteDatabase) -> None:
        super().__init__(database)
        self._database = database

    def _condition(self, filters: "Filters | None") -> tuple[str, Any]:
        if not filters:
            return EVERYTHING, ()
        return condition(self._database, filters)

    def _is(self, doc_id: str) -> tuple[str, Any]:
        return "doc_id = :doc_id", {"doc_id": doc_id}

    def _tags(self) -> list[tuple[str, int]]:
        return Links(self._db).tags()


class SQLiteSources(KnownSources):
    """The sources of a database file."""

    CLAIMED = """
    select path, collection from folders
    where  collection = :collection and not is_file and path <> :path
    and    exists (select 1 from documents where collection = :collection)
    """
    SOURCES = """
    select path, collection, is_file, patterns, exclude, follow_symlinks, keep_missing, chunk_size,
           chunk_overlap, doc_id, metadata, workspace, no_ignore
    from   folders
    where  collection = coalesce(:collection, collection) and path = coalesce(:path, path)
    order  by collection, path
    """
    REMEMBER = """
    insert into folders
           (collection, path, is_file, patterns, exclude, follow_symlinks, keep_missing, chunk_size,
            chunk_overlap, doc_id, metadata, workspace, no_ignore)
    values (:collection, :path, :is_file, :patterns, :exclude, :follow_symlinks, :keep_missing,
            :chunk_size, :chunk_overlap, :own_id, :metadata, :workspace, :no_ignore)
    """
    FORGET = "delete from folders where collection = :collection and path = :path"
    FORGET_OTHERS = "delete from folders where collection = :collection and not is_file"
    REFUSALS = "select value from meta where key = 'refusals'"
    FORGET_REFUSALS = "delete from meta where key = 'refusals'"
    REMEMBER_REFUSALS = "insert into meta (key, value) values ('refusals', :value)"
