"""Read documents: single ones, lists and counts."""

import json
import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..matching import keys_of
from ..rows import DocumentRow, SourceFile
from .chunks import MODIFIED
from .schema import path_from_column, path_to_column
from .selection import EVERYTHING, Condition, GiveLinks, condition

if TYPE_CHECKING:
    from ..filters import Filters

BY_ID = "select doc_id from documents where doc_id = ?"
BY_PATH = "select doc_id from documents where source_path in (?, ?) order by doc_id"
BY_TAIL = (
    "select doc_id from documents where substr(doc_id, -length(:tail)) = :tail order by doc_id"
)
ALL_IDS = "select doc_id from documents"
DOCUMENT = """
select d.source_path, d.content_hash, coalesce(d.content, e.content), d.collection, d.date, e.pages
from   documents d left join extracts e using (doc_id)
where  d.doc_id = ?
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
limit    ?
"""
BY_DATE = "date desc nulls last, doc_id"
BY_INDEXING = "d.indexed_at desc, doc_id"
BY_CHANGE = "coalesce(file_mtime, d.indexed_at) desc, doc_id"
TOTAL = "select count(*) from documents d where {condition}"
ANY = "select exists (select 1 from documents d where {condition})"
NAMES = "select doc_id, collection, source_path is not null from documents"

SOURCE_FILES = """
select d.doc_id, d.source_path, d.file_mtime, d.file_size, d.chunking, d.collection, f.path
from   documents d left join folders f on f.collection = d.collection and not f.is_file
where  d.source_path is not null
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
METADATA = "select metadata, source_path is not null from documents where doc_id = ?"
PASSAGES = """
select chunk_id, heading, heading_path, start_line, end_line from chunks where doc_id = ? order by id
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
MOST_TAGS = 200
NEWEST = 10


def dicts(cursor: sqlite3.Cursor) -> list[dict[str, Any]]:
    """The rows as dicts, by column name."""
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


class Catalog:
    """Implements `interface.Catalog`."""

    def __init__(self, conn: sqlite3.Connection, links: GiveLinks) -> None:
        self._conn = conn
        self._links = links  # called where a filter or a list needs them

    def by_id(self, doc_id: str) -> str | None:
        row = self._conn.execute(BY_ID, (doc_id,)).fetchone()
        return row and str(row[0])

    def by_path(self, *paths: str) -> str | None:
        row = self._conn.execute(BY_PATH, tuple(map(path_to_column, paths))).fetchone()
        return row and str(row[0])

    def by_tail(self, tail: str) -> list[str]:
        return [doc_id for (doc_id,) in self._conn.execute(BY_TAIL, {"tail": tail})]

    def ids(self) -> list[str]:
        return [doc_id for (doc_id,) in self._conn.execute(ALL_IDS)]

    def document(self, doc_id: str) -> DocumentRow:
        path, content_hash, content, collection, date, pages = self._conn.execute(
            DOCUMENT, (doc_id,)
        ).fetchone()
        return DocumentRow(
            path_from_column(path),
            content_hash,
            content,
            collection,
            date,
            json.loads(pages or "[]"),
        )

    def outline(self, doc_id: str) -> dict[str, Any]:
        metadata, is_file = self._conn.execute(METADATA, (doc_id,)).fetchone()
        return {
            "metadata": json.loads(metadata),
            "is_file": bool(is_file),
            "passages": dicts(self._conn.execute(PASSAGES, (doc_id,))),
        }

    def metadata_keys(self) -> list[tuple[str, int]]:
        return keys_of(metadata for (metadata,) in self._conn.execute(WITH_METADATA))

    def facets(self) -> dict[str, Any]:
        return {
            "collections": dicts(self._conn.execute(COLLECTIONS)),
            "months": dicts(self._conn.execute(MONTHS)),
            "undated": self._conn.execute(UNDATED).fetchone()[0],
            "tags": [
                {"tag": tag, "documents": count} for tag, count in self._links().tags()[:MOST_TAGS]
            ],
            "newest": self._listed("true", (NEWEST,), BY_INDEXING),
        }

    def entry(self, doc_id: str) -> dict[str, Any]:
        return self._listed("doc_id = ?", (doc_id, 1))[0]

    def listing(
        self, filters: "Filters | None", limit: int, *, by_change: bool = False
    ) -> tuple[int, list[dict[str, Any]]]:
        where, values = self._condition(filters)
        found = self._listed(where, (*values, limit), BY_CHANGE if by_change else BY_DATE)
        (total,) = self._conn.execute(TOTAL.format(condition=where), values).fetchone()
        return total, found

    def has_any(self, filters: "Filters") -> bool:
        where, values = self._condition(filters)
        (has_any,) = self._conn.execute(ANY.format(condition=where), values).fetchone()
        return bool(has_any)

    def _condition(self, filters: "Filters | None") -> Condition:
        if not filters:
            return Condition(EVERYTHING, [])
        return condition(self._conn, filters, self._links)

    def _listed(
        self, where: str, values: Sequence[Any], order: str = BY_DATE
    ) -> list[dict[str, Any]]:
        found = dicts(self._conn.execute(LIST.format(condition=where, order=order), values))
        return [document | {"path": path_from_column(document["path"])} for document in found]

    def names(self) -> list[tuple[str, str | None, bool]]:
        return [
            (doc_id, collection, bool(is_file))
            for doc_id, collection, is_file in self._conn.execute(NAMES)
        ]

    def source_files(self) -> list[SourceFile]:
        rows = self._conn.execute(SOURCE_FILES)
        return [
            SourceFile._make(
                (row[0], str(path_from_column(row[1])), *row[2:6], path_from_column(row[6]))
            )
            for row in rows
        ]

    def counts(self) -> dict[str, int]:
        [counts] = dicts(self._conn.execute(COUNTS))
        pages, page_size = (
            self._conn.execute(f"pragma {name}").fetchone()[0]
            for name in ("page_count", "page_size")
        )
        return counts | {"db_size_bytes": pages * page_size}
