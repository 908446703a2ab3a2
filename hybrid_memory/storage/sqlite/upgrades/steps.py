"""One step for each version of the tables: what turns a database of version n into one of version n + 1."""

import sqlite3
from collections.abc import Callable

from .. import schema
from ..keyword import FTSIndex
from ..marks.writing import TABLES, fill

# Version 1 noted folders without how they were ingested, and single files not at all: those are the documents from elsewhere.
FOLDERS_OF_1 = "insert into folders (collection, path, is_file) select collection, path, 0 from folders_1"
FILES_OF_1 = """
insert into folders (collection, path, is_file, patterns)
select coalesce(d.collection, ''), d.source_path, 1, '[]'
from   documents d left join folders_1 f using (collection)
where  d.source_path is not null
and    (f.path is null or instr(cast(d.source_path as blob), cast(f.path || '/' as blob)) <> 1)
"""

FOLDERS_OF_2 = """
create table folders (
    collection      text not null,
    path            text not null,
    is_file         integer not null,
    patterns        text,
    exclude         text not null default '[]',
    follow_symlinks integer not null default 0,
    keep_missing    integer not null default 0,
    primary key (collection, path)
) without rowid
"""

COLUMNS_OF_2 = """
doc_id, source_path, file_mtime, file_size, content_hash, collection, date, metadata, chunking, chunk_count, indexed_at, content
"""

CHUNK_COLUMNS_OF_6 = """
id, doc_id, chunk_id, heading, heading_path, content, start_line, end_line, content_hash, slot, truncated, created_at, embedding,
unembeddable
"""

INDEXES_OF_CHUNKS = "select name from sqlite_schema where type = 'index' and tbl_name = 'chunks_6' and sql is not null"

COLUMNS_OF_3 = "collection, path, is_file, patterns, exclude, follow_symlinks, keep_missing"


def _from_1(conn: sqlite3.Connection) -> None:
    conn.execute("alter table chunks add column unembeddable integer not null default 0")
    conn.execute("alter table folders rename to folders_1")
    conn.execute(FOLDERS_OF_2)
    conn.execute(FOLDERS_OF_1)
    conn.execute(FILES_OF_1)
    conn.execute("drop table folders_1")


def _from_2(conn: sqlite3.Connection) -> None:
    # Version 2 also marked texts that the model had not been asked about. Those it was asked about are marked again.
    conn.execute("update chunks set unembeddable = 0 where unembeddable")
    conn.execute("alter table documents rename to documents_2")
    conn.execute("drop index documents_by_collection")
    schema.run(conn, schema.DOCUMENTS)
    conn.execute(f"insert into documents ({COLUMNS_OF_2}) select {COLUMNS_OF_2} from documents_2")
    conn.execute("update documents set file_size = length(cast(content as blob)) where content is not null")
    conn.execute("drop table documents_2")


def _from_3(conn: sqlite3.Connection) -> None:
    conn.execute("alter table folders rename to folders_3")
    conn.execute(schema.FOLDERS)
    conn.execute(f"insert into folders ({COLUMNS_OF_3}) select {COLUMNS_OF_3} from folders_3")
    conn.execute("drop table folders_3")
    conn.execute(schema.SPARE_EMBEDDINGS)
    conn.execute("create index if not exists chunks_truncated on chunks (id) where truncated")


def _from_4(conn: sqlite3.Connection) -> None:
    for table in TABLES:
        conn.execute(f"drop table if exists {table}")
    schema.run(conn, schema.MARKS)
    fill(conn)


def _from_5(conn: sqlite3.Connection) -> None:
    conn.execute("select 1 from chunks, folders limit 0")  # a database without its tables is not old but damaged
    conn.execute("drop table if exists extracts")
    conn.execute(schema.EXTRACTS)


def _from_6(conn: sqlite3.Connection) -> None:
    # The rows are written anew, one after the other, and the keyword index without a copy of the texts.
    conn.execute("drop table chunks_fts")
    conn.execute("drop view if exists indexed_chunks")
    conn.execute("alter table chunks rename to chunks_6")
    for (name,) in conn.execute(INDEXES_OF_CHUNKS).fetchall():
        conn.execute(f"drop index {name}")
    schema.run(conn, schema.CHUNKS)
    conn.execute(f"insert into chunks ({CHUNK_COLUMNS_OF_6}) select {CHUNK_COLUMNS_OF_6} from chunks_6 order by id")
    conn.execute("drop table chunks_6")
    conn.execute(schema.INDEXED_CHUNKS)
    FTSIndex(conn).reindex()


def _from_7(conn: sqlite3.Connection) -> None:
    conn.execute("select 1 from chunks, folders limit 0")  # a database without its tables is not old but damaged
    FTSIndex(conn).reindex()  # words of more languages are stemmed


# From version n to n + 1.
STEPS: dict[int, Callable[[sqlite3.Connection], None]] = {
    1: _from_1, 2: _from_2, 3: _from_3, 4: _from_4, 5: _from_5, 6: _from_6, 7: _from_7,
}  # fmt: skip
