"""Read documents: single ones, lists and counts; read and write their names, links and tags; and,
for `doctor`, check a database for inconsistencies.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from math import hypot
from typing import TYPE_CHECKING, Any

from ...documents.links import DocumentLinks, aliases, filterable_tags, key_of, path_of
from ...text.characters import plural, storable
from ..encoding import FLOAT_BYTES, UNIT, decode_embedding
from ..links import ALIAS, FILE, TITLE, LinkColumns, LinkReader
from ..matching import keys_of
from ..rows import MISCOUNT
from ..source import DocumentRow, SourceFile
from . import bitplanes, word_list
from .bitplanes import PLACES
from .connection import waiting
from .keyword import COUNTED, FTSIndex
from .schema import path_from_column, path_to_column
from .selection import condition
from .vectors import chunks_in, read_center, read_planes, slots_of

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
LIST = """
with waiting as (
    select doc_id, count(*) as pending from chunks where embedding is null and not unembeddable
    group by +doc_id
)
select   doc_id, collection, date, source_path as path, chunk_count as chunks,
         coalesce(pending, 0) as pending,
         file_size as size,
         strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(file_mtime, indexed_at), 'unixepoch') as modified,
         strftime('%Y-%m-%dT%H:%M:%SZ', indexed_at, 'unixepoch') as indexed_at
from     documents d left join waiting using (doc_id)
where    {condition}
order by {order}
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

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

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
                {"tag": tag, "documents": count}
                for tag, count in Links(self._conn).tags()[:MOST_TAGS]
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

    def _condition(self, filters: "Filters | None") -> tuple[str, list[str]]:
        if not filters:
            return "true", []
        return condition(self._conn, filters, lambda: Links(self._conn))

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


TABLES_OF_MARKS = ("names", "links", "tags")
PUT_NAME = "insert or ignore into names (key, doc_id, kind, name) values (?, ?, ?, ?)"
PUT_LINK = "insert into links (doc_id, line, target, kind, key) values (?, ?, ?, ?, ?)"
PUT_TAG = "insert into tags (tag, doc_id) values (?, ?)"


def put_links(conn: sqlite3.Connection, row: Mapping[str, Any], found: DocumentLinks) -> None:
    """Write the names, links and tags of a document that has none yet, from its row of `documents`
    and the links in its text.
    """
    doc_id = row["doc_id"]
    metadata = row["metadata"]
    names = [(FILE, doc_id.rpartition("/")[2])]
    names += [(ALIAS, storable(name)) for name in aliases(json.loads(metadata))]
    names += [(TITLE, storable(name)) for name in found.titles]
    conn.executemany(PUT_NAME, ((key_of(name), doc_id, kind, name) for kind, name in names))
    links = ((line, storable(target), kind) for line, target, kind in found.links)
    conn.executemany(
        PUT_LINK,
        (
            (doc_id, line, target, kind, key_of(path_of(target, kind)))
            for line, target, kind in links
        ),
    )
    conn.executemany(
        PUT_TAG, ((tag, doc_id) for tag in filterable_tags(metadata, map(storable, found.tags)))
    )


def remove_links(conn: sqlite3.Connection, doc_ids: Iterable[str]) -> None:
    """Delete the names, links and tags of documents."""
    ids = [(doc_id,) for doc_id in doc_ids]
    for table in TABLES_OF_MARKS:
        conn.executemany(f"delete from {table} where doc_id = ?", ids)


NAMED = """
select doc_id, collection, kind, name from names join documents using (doc_id) where key = ? order by doc_id
"""
TITLES = "select name from names where doc_id = :doc_id and kind = 'title'"
LINKS = """
select l.doc_id, l.line, l.target, l.kind, d.collection
from   links l join documents d using (doc_id)
where  {condition}
order by l.doc_id, l.line, l.rowid
"""
TAGS = "select tag, doc_id from tags"
TAGS_OF = "select tag from tags where doc_id = :doc_id order by tag"


class Links(LinkReader):
    """Implements `interface.Links`, for one state of the store."""

    OF = "l.doc_id = :doc_id"
    TO = "l.key in (select key from names where doc_id = :doc_id and kind <> 'title')"
    # A link with a path may be broken even if a document has its name.
    MAYBE_BROKEN = (
        "instr(l.target, '/') or l.key not in (select key from names where kind <> 'title')"
    )

    def __init__(self, conn: sqlite3.Connection) -> None:
        super().__init__()
        self._conn = conn

    def titles(self, doc_id: str) -> list[str]:
        return [title for (title,) in self._conn.execute(TITLES, {"doc_id": doc_id})]

    def _links(self, condition: str, doc_id: str = "") -> list[LinkColumns]:
        return self._conn.execute(LINKS.format(condition=condition), {"doc_id": doc_id}).fetchall()

    def _tags_with_documents(self) -> list[tuple[str, Any]]:
        return self._conn.execute(TAGS).fetchall()

    def _tags_of(self, doc_id: str) -> list[str]:
        return [tag for (tag,) in self._conn.execute(TAGS_OF, {"doc_id": doc_id})]

    def _names_with(self, key: str) -> list[tuple[Any, ...]]:
        return self._conn.execute(NAMED, (key,)).fetchall()


OLDEST_SQLITE = (3, 38)

INTEGRITY = "pragma integrity_check(10)"
FTS_INTEGRITY = "insert into chunks_fts (chunks_fts) values ('integrity-check')"
# FTS5 has a row in this small table for each row of the index, whose own rows contain the texts.
NOT_INDEXED = (
    "select count(*) from (select id from chunks except select id from chunks_fts_docsize)"
)
NOT_STORED = "select count(*) from (select id from chunks_fts_docsize except select id from chunks)"
WITHOUT_DOCUMENT = (
    "select distinct doc_id from chunks where doc_id not in (select doc_id from documents)"
)
MISCOUNTED = """
select doc_id from documents d
where  chunk_count <> (select count(*) from chunks c where c.doc_id = d.doc_id)
"""


BLOCKS = "select block, live, center, length(planes) from vector_blocks"
SLOTS_IN_BLOCK = "select slot from chunks where slot between ? and ?"
# Indexes give the number of embeddings and of slots. Their difference is the number of chunks with
# only an embedding, less the number with only a slot; these are few and counted one by one.
COUNT_UNPAIRED = """
select (select count(*) from chunks) - (select count(*) from chunks where embedding is null)
       - (select count(*) from chunks where slot is not null)
       + 2 * (select count(*) from chunks where embedding is null and slot is not null) as unpaired
where  unpaired <> 0
"""
UNPAIRED = "select id from chunks where (slot is null) <> (embedding is null)"
ASTRAY = """
select id, slot from chunks where slot is not null and slot / ? not in (select block from vector_blocks)
"""


class Checks:
    """Implements `interface.Checks`."""

    intact = "the database is intact"

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    def engine(self) -> tuple[str, str]:
        version = f"SQLite {sqlite3.sqlite_version} with FTS5"
        oldest = ".".join(map(str, OLDEST_SQLITE))
        if sqlite3.sqlite_version_info < OLDEST_SQLITE:
            return version, f"use a Python whose SQLite is {oldest} or later"
        return version, ""

    def integrity(self) -> list[str]:
        lines = (line for (text,) in self._conn.execute(INTEGRITY) for line in text.splitlines())
        # "*** in database main ***" is a title; new versions of SQLite also check the keyword
        # index, which `keyword_index` does here.
        return [
            line
            for line in lines
            if line != "ok" and not line.startswith("***") and "inverted index" not in line
        ]

    def keyword_index(self) -> tuple[bool | None, str]:
        try:
            with waiting(self._conn, 1.0):
                self._conn.execute(FTS_INTEGRITY)
            (counted,) = self._conn.execute(f"select {COUNTED}").fetchone()
            size = FTSIndex(self._conn).size()
            differing = word_list.count_differing(self._conn)
        except sqlite3.OperationalError as error:
            # SQLite treats the check as a write, which may not be possible
            return None, f"not checked: {error}"
        except sqlite3.DatabaseError as error:
            return False, str(error)
        if size != counted:
            return False, f"it has {counted} chunks, but its stored size is {size}"
        if differing:
            words = plural(differing, "word differs", "words differ")
            return False, f"the list of its words is wrong: {words} from the index"
        return True, "FTS5's own check passes"

    def keyword_index_differences(self) -> tuple[int, int]:
        return self._count(NOT_INDEXED), self._count(NOT_STORED)

    def rows(self) -> list[str]:
        problems = []
        for (doc_id,) in self._conn.execute(WITHOUT_DOCUMENT):
            problems.append(f"the chunks of {doc_id!r} have no note")
        for (doc_id,) in self._conn.execute(MISCOUNTED):
            problems.append(MISCOUNT.format(doc_id))
        return problems

    def vectors(self, *, thorough: bool) -> list[str]:
        return check_vectors(self._conn, thorough=thorough)

    def _count(self, statement: str) -> int:
        return int(self._conn.execute(statement).fetchone()[0])


def check_vectors(conn: sqlite3.Connection, *, thorough: bool = True) -> list[str]:
    """A line for each inconsistency between embeddings, slots and blocks. `rebuild` repairs them,
    except wrong lengths.

    Only a thorough check reads the embeddings, which are most of the database.
    """
    problems = [
        f"chunk {id} has slot {slot}, but there is no such block"
        for id, slot in conn.execute(ASTRAY, (PLACES,))
    ]
    if thorough:
        problems += [
            f"chunk {id} has an embedding or a slot, but not both"
            for (id,) in conn.execute(UNPAIRED)
        ]
    else:
        problems += [
            f"{count} chunks have an embedding or a slot, but not both"
            for (count,) in conn.execute(COUNT_UNPAIRED)
        ]
    common = read_center(conn)
    dims = len(common) // FLOAT_BYTES
    for block, live, own, size in conn.execute(BLOCKS):
        if own != common or size != bitplanes.plane_count(dims) * len(live):
            problems.append(f"block {block} has the wrong center or size")
            continue
        in_use = bitplanes.mask(
            slot % PLACES for (slot,) in conn.execute(SLOTS_IN_BLOCK, slots_of(block))
        )
        if int.from_bytes(live, "little") != in_use:
            problems.append(f"block {block} has other live places than the slots of its chunks")
        if thorough:
            problems += _check_codes(conn, block, len(live), common)
    return problems


def _check_codes(conn: sqlite3.Connection, block: int, width: int, common: bytes) -> list[str]:
    """A line for each embedding of a block that is invalid or that its code does not match."""
    chunks = {slot % PLACES: (id, data or b"") for id, data, slot in chunks_in(conn, block)}
    planes = read_planes(conn, block)
    limits = bitplanes.thresholds(decode_embedding(common), len(planes) // width)
    problems = []
    codes = {}
    for place, (id, data) in chunks.items():
        vector = decode_embedding(data) if len(data) == len(common) else []
        if not abs(hypot(*vector) - 1) <= 2 * UNIT:  # written so that NaN is found, too
            problems.append(
                f"chunk {id} has an embedding of another dimension, or its length is not 1"
            )
        elif place < 8 * width:
            codes[place] = bitplanes.code(vector, limits)
    if codes:
        wrong = bitplanes.places(
            bitplanes.differing(planes, bitplanes.insert(planes, codes, width), width)
        )
        problems += [
            f"chunk {chunks[place][0]} has a code that does not match its embedding"
            for place in wrong
        ]
    return problems
