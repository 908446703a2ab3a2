"""Every table and index of the database as one script, and how to open it. Knows nothing of what the rows mean."""

import os
import sqlite3
from collections.abc import Callable

from .errors import StoreError

VERSION = 1
APPLICATION_ID = 0x484D454D  # "HMEM": tells our file from any other SQLite database
BUSY_TIMEOUT = 30.0  # seconds that one writer waits for another

SCHEMA = """
create table meta (
    key   text primary key,
    value text not null
) without rowid;

create table documents (
    doc_id       text primary key,
    source_path  text,                -- absolute; null for documents put in by `store`
    file_mtime   real,
    file_size    integer,
    content_hash blob,                -- of the source's bytes
    collection   text,
    date         text,                -- YYYY-MM-DD
    metadata     text not null default '{}',
    content      text,                -- of documents that have no file
    chunking     text not null,       -- what the text was cut by; other settings make it due again
    chunk_count  integer not null,
    indexed_at   real not null default (unixepoch('now'))
) without rowid;
create index documents_by_collection on documents (collection);

create table chunks (
    id           integer primary key, -- chunks_fts.rowid; ascending within a document
    doc_id       text not null,
    chunk_id     text not null,
    heading      text not null,
    heading_path text not null,
    content      text not null,
    start_line   integer not null,
    end_line     integer not null,
    content_hash blob not null,       -- of the text that is embedded
    slot         integer unique,      -- place in vector_blocks; null exactly where embedding is
    truncated    integer not null default 0,
    created_at   real not null default (unixepoch('now')),
    embedding    blob,                -- little-endian float32, unit length; last, as it may overflow the page
    unique (doc_id, chunk_id)
);
create index chunks_by_content on chunks (content_hash);
create index chunks_pending on chunks (id) where embedding is null;

create virtual table chunks_fts using fts5(
    doc_id unindexed, chunk_id unindexed, heading, content, context,
    tokenize = 'porter unicode61 remove_diacritics 2'
);

create table vector_blocks (
    block  integer primary key,
    live   blob not null,             -- one bit a slot
    center blob not null,
    planes blob not null
);

create table query_embeddings (
    key       blob primary key,       -- hash of identity and query
    embedding blob not null,
    used_at   real not null
) without rowid;

create table folders (
    collection text primary key,
    path       text not null
) without rowid;
"""

MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {}  # from version n to n + 1


def connect(path: str, *, create: bool = False) -> sqlite3.Connection:
    """Open the database in autocommit mode, and create it (mode 0600, WAL) if asked. Opening an up-to-date one writes nothing.

    Raises StoreError for a file that is missing, foreign, damaged or from a newer version.
    """
    if path != ":memory:":
        if create:
            _create_private(path)
        elif not os.path.exists(path):
            raise StoreError(f"no database at {path}; `hybrid-memory ingest --path DIR` makes one")
    try:
        conn = _open(path)
        version = conn.execute("pragma user_version").fetchone()[0]
        if version < VERSION:
            _upgrade(conn, path, version)
    except sqlite3.DatabaseError as error:
        raise StoreError(f"cannot open {path}: {error}") from error
    if version > VERSION:
        conn.close()
        raise StoreError(
            f"{path} was written by a newer hybrid-memory (schema {version}, this one knows {VERSION}); upgrade this one"
        )
    return conn


def _create_private(path: str) -> None:
    """An empty file that only its owner can read: SQLite gives -wal and -shm the same mode."""
    try:
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            os.close(os.open(path, os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(f"cannot create the database {path}: {error.strerror}") from error


def _open(path: str) -> sqlite3.Connection:
    conn = _configured(sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None))
    try:
        conn.execute("select 1 from sqlite_schema limit 1").fetchone()
    except sqlite3.OperationalError:
        # A WAL database in a folder where -shm cannot be made; without a -wal the file itself is the whole truth.
        if path == ":memory:" or os.path.exists(path + "-wal") or os.access(os.path.dirname(path) or ".", os.W_OK):
            raise
        conn.close()
        uri = f"file:{path.replace('%', '%25').replace('?', '%3f').replace('#', '%23')}?immutable=1"
        conn = _configured(sqlite3.connect(uri, uri=True, isolation_level=None))
    return conn


def _configured(conn: sqlite3.Connection) -> sqlite3.Connection:
    conn.execute("pragma secure_delete = on")
    conn.execute("pragma synchronous = normal")
    return conn


def _upgrade(conn: sqlite3.Connection, path: str, version: int) -> None:
    if version == 0 and conn.execute("select 1 from sqlite_schema limit 1").fetchone():
        conn.close()
        raise StoreError(f"{path} is a SQLite database of another program; name another file with --db")
    conn.execute("pragma journal_mode = wal")
    conn.execute("begin immediate")
    try:
        version = conn.execute("pragma user_version").fetchone()[0]  # another process may have been first
        if version == 0:
            _create_tables(conn)
        for step in range(max(version, 1), VERSION):
            MIGRATIONS[step](conn)
        conn.execute(f"pragma user_version = {VERSION}")
        conn.execute("commit")
    except BaseException:
        conn.execute("rollback")
        conn.close()
        raise


def _create_tables(conn: sqlite3.Connection) -> None:
    conn.execute(f"pragma application_id = {APPLICATION_ID}")
    statement = ""
    for line in SCHEMA.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            try:
                conn.execute(statement)
            except sqlite3.OperationalError as error:
                if "fts5" in str(error):
                    raise StoreError("this Python's SQLite is built without FTS5; use a Python whose SQLite has it") from error
                raise
            statement = ""
    if sqlite3.sqlite_version_info >= (3, 42):
        conn.execute("insert into chunks_fts (chunks_fts, rank) values ('secure-delete', 1)")
