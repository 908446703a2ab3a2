"""Read documents: single ones, lists and counts. Changes nothing."""

import json
from typing import Any

from ...storage.filters import Filters
from ...storage.matching import keys_of
from ...storage.rows import DocumentRow, SourceFile
from .chunks import MODIFIED, Links, text_of_chunks
from .connection import Connection, from_column, here, text, to_column
from .selection import condition

OF_SPACE = "space = %(space)s"
BY_ID = f"select doc_id from documents where {OF_SPACE} and doc_id = %(doc_id)s"
BY_PATH = f"""
select doc_id from documents where {OF_SPACE} and host = %(host)s
and    source_path = any(%(paths)s::bytea[]) order by doc_id
"""
BY_TAIL = f"""
select doc_id from documents where {OF_SPACE} and right(doc_id, length(%(tail)s)) = %(tail)s order by doc_id
"""
ALL_IDS = f"select doc_id from documents where {OF_SPACE}"
DOCUMENT = f"""
select d.source_path, d.content_hash, coalesce(d.content, e.content), d.collection, d.date, d.host,
       d.number, e.pages
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
         to_char(to_timestamp(d.indexed_at) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as indexed_at
from     documents d
where    d.space = %(space)s and {{condition}}
order by {{order}}
limit    %(limit)s
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
select metadata, source_path is not null, number from documents where {OF_SPACE} and doc_id = %(doc_id)s
"""
PASSAGES = """
select chunk_id, heading, heading_path, start_line, end_line
from   chunks where document = %(number)s order by id
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
MOST_TAGS = 200
NEWEST = 10


class Catalog:
    """Implements `interface.Catalog`."""

    def __init__(self, conn: Connection, space: int) -> None:
        self._conn, self._space = conn, space

    def _parameters(self, **values: Any) -> dict[str, Any]:
        return {"space": self._space, "host": here()} | values

    def by_id(self, doc_id: str) -> str | None:
        row = self._conn.first(BY_ID, self._parameters(doc_id=text(doc_id)))
        if row:
            return str(row[0])
        return None

    def by_path(self, *paths: str) -> str | None:
        row = self._conn.first(BY_PATH, self._parameters(paths=list(map(to_column, paths))))
        if row:
            return str(row[0])
        return None

    def by_tail(self, tail: str) -> list[str]:
        return [doc_id for (doc_id,) in self._conn.all(BY_TAIL, self._parameters(tail=text(tail)))]

    def ids(self) -> list[str]:
        return [doc_id for (doc_id,) in self._conn.all(ALL_IDS, self._parameters())]

    def document(self, doc_id: str) -> DocumentRow:
        row = self._conn.one(DOCUMENT, self._parameters(doc_id=text(doc_id)))
        path, content_hash, content, collection, date, host, number, written = row
        pages = json.loads(written or "[]")
        if path is not None and host != here():
            if content is None:
                known = text_of_chunks(self._conn, number)
            else:
                known = content
            return DocumentRow(None, None, known, collection, date, pages, host)
        return DocumentRow(
            from_column(path),
            content_hash and bytes(content_hash),
            content,
            collection,
            date,
            pages,
        )

    def outline(self, doc_id: str) -> dict[str, Any]:
        metadata, is_file, number = self._conn.one(METADATA, self._parameters(doc_id=text(doc_id)))
        return {
            "metadata": json.loads(metadata),
            "is_file": is_file,
            "passages": self._dicts(PASSAGES, number=number),
        }

    def metadata_keys(self) -> list[tuple[str, int]]:
        rows = self._conn.all(WITH_METADATA, self._parameters())
        return keys_of(metadata for (metadata,) in rows)

    def facets(self) -> dict[str, Any]:
        return {
            "collections": self._dicts(COLLECTIONS),
            "months": self._dicts(MONTHS),
            "undated": self._conn.one(UNDATED, self._parameters())[0],
            "tags": [
                {"tag": tag, "documents": count}
                for tag, count in Links(self._conn, self._space).tags()[:MOST_TAGS]
            ],
            "newest": self._listed("true", BY_INDEXING, limit=NEWEST),
        }

    def entry(self, doc_id: str) -> dict[str, Any]:
        return self._listed("doc_id = %(doc_id)s", doc_id=text(doc_id), limit=1)[0]

    def listing(
        self, filters: Filters | None, limit: int, *, by_change: bool = False
    ) -> tuple[int, list[dict[str, Any]]]:
        where, given = self._condition(filters)
        if by_change:
            order = BY_CHANGE
        else:
            order = BY_DATE
        found = self._listed(where, order, limit=limit, **given)
        return self._conn.one(TOTAL.format(condition=where), self._parameters(**given))[0], found

    def has_any(self, filters: Filters) -> bool:
        where, given = self._condition(filters)
        return bool(self._conn.one(ANY.format(condition=where), self._parameters(**given))[0])

    def _condition(self, filters: Filters | None) -> tuple[str, dict[str, Any]]:
        return condition(self._conn, self._space, filters) if filters else ("true", {})

    def _listed(self, where: str, order: str = BY_DATE, **given: Any) -> list[dict[str, Any]]:
        found = self._dicts(LIST.format(condition=where, order=order), **given)
        return [
            {key: value for key, value in document.items() if key != "host" or value}
            | {"path": from_column(document["path"])}
            for document in found
        ]

    def _dicts(self, statement: str, **given: Any) -> list[dict[str, Any]]:
        return self._conn.dicts(statement, self._parameters(**given))

    def names(self) -> list[tuple[str, str | None, bool]]:
        return [
            (doc_id, collection, is_file)
            for doc_id, collection, is_file in self._conn.all(NAMES, self._parameters())
        ]

    def source_files(self) -> list[SourceFile]:
        rows = self._conn.all(SOURCE_FILES, self._parameters())
        return [
            SourceFile._make((row[0], str(from_column(row[1])), *row[2:6], from_column(row[6])))
            for row in rows
        ]

    def counts(self) -> dict[str, int]:
        [counts] = self._dicts(COUNTS)
        return counts | {"db_size_bytes": self._conn.one(SIZE)[0]}
