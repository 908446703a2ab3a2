"""Every table and index of the database as one script, and how to open it. Knows nothing of what the rows mean."""

import os
import sqlite3
import time
from collections.abc import Callable

from .errors import StoreError

VERSION = 2
APPLICATION_ID = 0x484D454D  # "HMEM": tells our file from any other SQLite database
BUSY_TIMEOUT = 30.0  # seconds that one writer waits for another

SMALLEST = 512  # bytes of a database that is not empty
WAYS_OUT = {  # SQLite's codes for what is not our fault
    sqlite3.SQLITE_CANTOPEN: "; is it a file, and may you read it and write to its folder?",
    sqlite3.SQLITE_CORRUPT: "; restore a copy, or remove it and ingest again",
    sqlite3.SQLITE_CORRUPT_VTAB: "; `hybrid-memory reindex` makes the index anew",
    sqlite3.SQLITE_FULL: "; make room and run the command again",
    sqlite3.SQLITE_IOERR: "; its disk or file system fails",
    sqlite3.SQLITE_NOTADB: "; name another file with --db",
    sqlite3.SQLITE_PERM: "",
    sqlite3.SQLITE_READONLY: "",
}

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
    unembeddable integer not null default 0, -- the model has no vector for this text, and never will: embedding is null
    unique (doc_id, chunk_id)
);
create index chunks_by_content on chunks (content_hash);
create index chunks_pending on chunks (id) where embedding is null;

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

"""

FOLDERS = """
create table folders (                -- what was ingested, and how: what a refresh looks at
    collection      text not null,    -- '' of a single file that has none
    path            text not null,
    is_file         integer not null,
    patterns        text,             -- JSON, as exclude is; null where version 1 did not note how
    exclude         text not null default '[]',
    follow_symlinks integer not null default 0,
    keep_missing    integer not null default 0,
    primary key (collection, path)
) without rowid
"""

KEYWORD_INDEX = """
create virtual table chunks_fts using fts5(
    doc_id unindexed, chunk_id unindexed, heading, content, context,
    tokenize = 'porter unicode61 remove_diacritics 2'
)
"""

# What version 1 knew of a folder; and its single files, which are the documents from elsewhere.
FOLDERS_OF_1 = "insert into folders (collection, path, is_file) select collection, path, 0 from folders_1"
FILES_OF_1 = """
insert into folders (collection, path, is_file, patterns)
select coalesce(d.collection, ''), d.source_path, 1, '[]'
from   documents d left join folders_1 f using (collection)
where  d.source_path is not null
and    (f.path is null or instr(cast(d.source_path as blob), cast(f.path || '/' as blob)) <> 1)
"""


def _from_1(conn: sqlite3.Connection) -> None:
    conn.execute("alter table chunks add column unembeddable integer not null default 0")
    conn.execute("alter table folders rename to folders_1")
    conn.execute(FOLDERS)
    conn.execute(FOLDERS_OF_1)
    conn.execute(FILES_OF_1)
    conn.execute("drop table folders_1")


# One statement, for another process may make the tables between two.
IDENTITY = """
select user_version, application_id, exists (select 1 from sqlite_schema) from pragma_user_version, pragma_application_id
"""

MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {1: _from_1}  # from version n to n + 1


def connect(path: str, *, create: bool = False) -> sqlite3.Connection:
    """Open the database in autocommit mode, and create it (mode 0600, WAL) if asked. Opening an up-to-date one writes nothing.

    Raises StoreError for a file that is missing, foreign, damaged or from a newer version; it stays as it is.
    """
    if path != ":memory:":
        if create:
            _create_private(path)
        elif not os.path.exists(path):
            raise StoreError(f"no database at {path}; `hybrid-memory ingest --path DIR` makes one")
    try:
        conn = _open(path)
    except sqlite3.DatabaseError as error:
        raise failure(error, path, "cannot open") or error from error
    try:
        if _version(conn, path) < VERSION:
            _upgrade(conn, path, create)
    except BaseException as error:
        conn.close()
        if isinstance(error, sqlite3.DatabaseError):
            raise failure(error, path, "cannot open") or error from error
        raise
    return conn


def failure(error: sqlite3.DatabaseError, path: str, what: str = "cannot write") -> StoreError | None:
    """What SQLite says of the file, its disk or its lock, in a line with the way out; None for a bug of ours."""
    kind = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    code = kind & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreError(f"{path} is being written by another process; try again when that is done")
    if code not in WAYS_OUT:
        return None
    return StoreError(f"{what} {path}: {error}{WAYS_OUT.get(kind, WAYS_OUT[code])}")


def _create_private(path: str) -> None:
    """An empty file that only its owner can read: SQLite gives -wal and -shm the same mode."""
    try:
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            os.close(os.open(path, os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(f"cannot create the database {path}: {error.strerror}") from error


def _open(path: str) -> sqlite3.Connection:
    try:
        return _configured(sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None))
    except sqlite3.OperationalError:
        # A WAL database in a folder where -shm cannot be made; without a -wal the file itself is the whole truth.
        if path == ":memory:" or _size(path + "-wal") or os.access(os.path.dirname(path) or ".", os.W_OK):
            raise
    uri = f"file:{path.replace('%', '%25').replace('?', '%3f').replace('#', '%23')}?immutable=1"
    return _configured(sqlite3.connect(uri, uri=True, isolation_level=None))


def _configured(conn: sqlite3.Connection) -> sqlite3.Connection:
    try:
        conn.execute("pragma secure_delete = on")
        conn.execute("pragma synchronous = normal")
        conn.execute("select 1 from sqlite_schema limit 1").fetchone()
    except sqlite3.DatabaseError:
        conn.close()
        raise
    return conn


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _version(conn: sqlite3.Connection, path: str) -> int:
    """0 of an empty file. Raises StoreError for a version that this code does not know, and for another program's file."""
    version, application, is_used = conn.execute(IDENTITY).fetchone()
    if application != APPLICATION_ID and (version or is_used):
        raise StoreError(f"{path} is a SQLite database of another program; name another file with --db")
    if version > VERSION:
        raise StoreError(
            f"{path} was written by a newer hybrid-memory (schema {version}, this one knows {VERSION}); upgrade this one"
        )
    return int(version)


def _upgrade(conn: sqlite3.Connection, path: str, create: bool) -> None:
    if not create and _version(conn, path) == 0:
        raise StoreError(f"the database {path} is empty; `hybrid-memory ingest --path DIR` fills it")
    if 0 < _size(path) < SMALLEST:  # which SQLite takes for an empty one
        raise StoreError(f"cannot open {path}: file is not a database{WAYS_OUT[sqlite3.SQLITE_NOTADB]}")
    _switch_to_wal(conn)
    conn.execute("begin immediate")
    try:
        version = _version(conn, path)  # another process may have been first
        if version == 0:
            _create_tables(conn)
        for step in range(version or VERSION, VERSION):
            MIGRATIONS[step](conn)
        conn.execute(f"pragma user_version = {VERSION}")
        conn.execute("commit")
    except BaseException:
        if conn.in_transaction:
            conn.execute("rollback")
        raise


def _switch_to_wal(conn: sqlite3.Connection) -> None:
    """SQLite does not wait for another process that does the same at the same time; it says "locked" at once."""
    deadline = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            conn.execute("pragma journal_mode = wal")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _create_tables(conn: sqlite3.Connection) -> None:
    conn.execute(f"pragma application_id = {APPLICATION_ID}")
    statement = ""
    for line in SCHEMA.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            conn.execute(statement)
            statement = ""
    conn.execute(FOLDERS)
    create_keyword_index(conn)


def create_keyword_index(conn: sqlite3.Connection) -> None:
    """An empty one, in place of the one that is there, however damaged. Raises StoreError if SQLite has no FTS5."""
    conn.execute("drop table if exists chunks_fts")
    try:
        conn.execute(KEYWORD_INDEX)
    except sqlite3.OperationalError as error:
        if "fts5" in str(error):
            raise StoreError("this Python's SQLite is built without FTS5; use a Python whose SQLite has it") from error
        raise
    if sqlite3.sqlite_version_info >= (3, 42):
        conn.execute("insert into chunks_fts (chunks_fts, rank) values ('secure-delete', 1)")


def storable(text: str) -> str:
    """Unpaired surrogates, which UTF-8 and so SQLite cannot hold, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
