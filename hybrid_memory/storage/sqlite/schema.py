"""Every table and index of the database, and how columns hold paths. Steps lead from one version to
the next.
"""

import os
import sqlite3
from collections.abc import Callable

from ...errors import StoreError

VERSION = 2
# FTS5's secure-delete; before, words of removed rows stay in old segments
ERASES_WORDS = sqlite3.sqlite_version_info >= (3, 42)
APPLICATION_ID = 0x484D454E  # tells our file from any other SQLite database
DEVELOPMENT_ID = 0x484D454D  # of files that were made before the first version of these tables

META = """
create table meta (
    key   text primary key,   -- embeddings: JSON, the identity of the model whose vectors are in chunks
                              -- next_embeddings: the same of a set that is growing in spare_embeddings
                              -- refusals: JSON, the files that could not be read, and why
                              -- indexed_chunks: how many rows chunks_fts has
    value text not null
) without rowid;

"""

END_OF_CHUNK_ID = (
    "iif(substr(chunk_id, 1, length(doc_id)) = doc_id, "
    "substr(chunk_id, length(doc_id) + 1), chunk_id)"
)

CHUNKS = f"""
create table chunks (
    id           integer primary key, -- chunks_fts.rowid; ascends in a document, with gaps where it has grown
    doc_id       text not null,
    chunk_id     text not null,
    heading      text not null,
    heading_path text not null,
    content      text not null,
    start_line   integer not null,
    end_line     integer not null,
    content_hash blob not null,       -- of the text that is embedded; the same text is embedded once
    slot         integer,             -- place in vector_blocks; null exactly where embedding is
    truncated    integer not null default 0,
    date         text,                -- YYYY-MM-DD, of its own; null: it has its document's date
    created_at   real not null default (unixepoch('now')),
    embedding    blob,                -- little-endian float32, unit length; null: pending
    unembeddable integer not null default 0, -- the model can never embed this text: embedding is null
    indexed      integer              -- checksum of what the keyword index was given, see chunks.py
);
create unique index chunks_by_document on chunks ( -- of chunk_id, "<doc_id>-3", only from the "-" on
    doc_id, {END_OF_CHUNK_ID}
);
create unique index chunks_by_slot on chunks (slot) where slot is not null;
create index chunks_by_content on chunks (content_hash) where embedding is not null;
create index chunks_by_date on chunks (date, doc_id) where date is not null;
create index chunks_pending on chunks (id) where embedding is null;
create index chunks_truncated on chunks (id) where truncated;
"""

VECTORS = """
create table vector_blocks (
    block  integer primary key,
    live   blob not null,             -- a bit for each of 8,192 places: whether it is in use
    center blob not null,             -- the mean of a sample of embeddings, the same in every row
    planes blob not null              -- a bit for each place and dimension, see bitplanes.py
);

create table query_embeddings (
    key       blob primary key,       -- hash of identity and query
    embedding blob not null,          -- or what a reranker said, see storage/vector.py
    used_at   real not null
) without rowid;

"""

DOCUMENTS = """
create table documents (              -- with rowids: without them, a look-up reads long texts, too
    doc_id       text primary key not null,
    source_path  text,                -- absolute; null for texts that have no file
    file_mtime   real,
    file_size    integer,             -- bytes; also of texts without a file
    content_hash blob,                -- of the source's bytes, not of a text as that of chunks
    collection   text,
    date         text,                -- YYYY-MM-DD
    metadata     text not null default '{}',
    chunking     text not null,       -- how the text was cut; other settings make the document due again
    chunk_count  integer not null,
    indexed_at   real not null default (unixepoch('now')),
    content      text                 -- of documents that have no file; last, as it may be long
);
create index documents_by_collection on documents (collection);
"""

FOLDERS = """
create table folders (                -- what was ingested, and how; a refresh looks at these
    collection      text not null,    -- '' for a single file that has none
    path            text not null,
    is_file         integer not null,
    patterns        text not null,    -- JSON, like exclude
    exclude         text not null default '[]',
    follow_symlinks integer not null default 0,
    keep_missing    integer not null default 0,
    chunk_size      integer,          -- where the user named it for this source; null: what the settings say
    chunk_overlap   integer,
    doc_id          text,             -- of a single file whose document has not the file's name
    metadata        text not null default '{}', -- JSON; of a single file: what wins over its front matter
    workspace       text,             -- of transcripts: only sessions that began in it are taken
    primary key (collection, path)
) without rowid;
"""

EXTRACTS = """
create table extracts (               -- the text of a PDF or the like, whose lines are cited
    doc_id  text primary key not null,
    pages   text,                     -- JSON: the line with which each page begins; null: no pages
    content text not null             -- last, as it may be long
);
"""

SPARE_EMBEDDINGS = """
create table spare_embeddings (       -- of texts that left, and of the next model of the store
    model        blob not null,       -- hash of an identity
    content_hash blob not null,
    embedding    blob not null,
    truncated    integer not null,
    kept_at      real not null default (unixepoch('now')),
    primary key (model, content_hash)
);
"""

MARKS = """
create table names (                  -- what documents are called: by file name, alias and title
    key    text not null,             -- the last part of the name, folded
    doc_id text not null,
    kind   text not null,             -- file, alias, title
    name   text not null,
    primary key (key, doc_id, kind, name)
) without rowid;
create index names_by_document on names (doc_id);

create table links (                  -- as they are written; names says where they lead
    doc_id text not null,
    line   integer not null,
    target text not null,
    kind   text not null,             -- wikilink, embed, markdown
    key    text not null              -- that of names
);
create index links_by_document on links (doc_id);
create index links_by_key on links (key);

create table tags (                   -- of metadata and text, folded; also each word of a tag
    tag    text not null,
    doc_id text not null,
    primary key (tag, doc_id)
) without rowid;
create index tags_by_document on tags (doc_id);
"""

# What the index shows when its columns are read: the texts as they are, and nothing for `context`.
# What it is given to index is another thing, see KEYWORD_INDEX.
INDEXED_CHUNKS = """
create view indexed_chunks as
select id, doc_id, chunk_id, heading_path as heading, content, '' as context from chunks;
"""

# Of each chunk, FTS5 is given what documents/terms.py makes of it; chunks.id is the rowid.
#   heading: the words of its heading path, and of its document's path
#   content: the words of its text, with runs of scripts without spaces cut into grams
#   context: identifiers such as src/a.ts as one word each, targets of links; and with the first chunk
#     of a document, what is told once: its names, titles, aliases, and the values of its metadata
# doc_id and chunk_id are not indexed; they are for users of the bare index.
KEYWORD_INDEX = """
create virtual table chunks_fts using fts5(
    doc_id unindexed, chunk_id unindexed, heading, content, context,
    {content}tokenize = 'porter unicode61 remove_diacritics 2'
)
"""
WITHOUT_TEXTS = "content = 'indexed_chunks', content_rowid = 'id', "
HAS_TEXTS = "select exists (select 1 from sqlite_schema where name = 'chunks_fts_content')"


Step = Callable[[sqlite3.Connection], None]
# Version -> what brings the tables of that version to the next one
STEPS: dict[int, Step] = {}


def step(version: int) -> Callable[[Step], Step]:
    """Register a function that brings the tables of `version` to the next one, inside a
    transaction.
    """

    def register(function: Step) -> Step:
        STEPS[version] = function
        return function

    return register


@step(1)
def add_workspaces(conn: sqlite3.Connection) -> None:
    conn.execute("alter table folders add column workspace text")


def upgrade(conn: sqlite3.Connection, version: int) -> None:
    """Bring tables of an older version to the present one, inside a transaction."""
    for older in range(version, VERSION):
        STEPS[older](conn)


def create_tables(conn: sqlite3.Connection) -> None:
    """Make all tables and indexes of an empty database, inside a transaction."""
    conn.execute(f"pragma application_id = {APPLICATION_ID}")
    run(conn, META + CHUNKS + VECTORS + DOCUMENTS + FOLDERS)
    run(conn, EXTRACTS + SPARE_EMBEDDINGS + MARKS + INDEXED_CHUNKS)
    create_keyword_index(conn)


def complete(conn: sqlite3.Connection) -> None:
    """Make all tables of an empty database, or the keyword index that somebody else's tables lack, for
    a bare connection. Never commits.

    The index gets a copy of its texts, as somebody may put rows into it that have no chunk.
    """
    existing = tables(conn)
    if not existing:
        create_tables(conn)
        conn.execute(f"pragma user_version = {VERSION}")
    if "chunks_fts" not in existing:
        create_keyword_index(conn, with_texts=True)


def tables(conn: sqlite3.Connection) -> set[str]:
    """Return the names of all tables."""
    return {name for (name,) in conn.execute("select name from sqlite_schema where type = 'table'")}


def is_own(conn: sqlite3.Connection) -> bool:
    """Return whether the tables are this program's, and not of the same names by somebody else."""
    return {"meta", "vector_blocks"} <= tables(conn)


def run(conn: sqlite3.Connection, script: str) -> None:
    """Run the statements of a script one by one, which, unlike executescript, leaves the
    transaction open.
    """
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            conn.execute(statement)
            statement = ""


def has_texts(conn: sqlite3.Connection) -> bool:
    """Return whether the keyword index has a copy of its texts, as one behind a bare connection
    has.
    """
    return bool(conn.execute(HAS_TEXTS).fetchone()[0])


def create_keyword_index(conn: sqlite3.Connection, *, with_texts: bool = False) -> None:
    """Make an empty keyword index in place of the existing one, even a damaged one.

    Raises StoreError if SQLite has no FTS5.
    """
    conn.execute("drop table if exists chunks_fts")
    try:
        conn.execute(KEYWORD_INDEX.format(content="" if with_texts else WITHOUT_TEXTS))
    except sqlite3.OperationalError as error:
        if "fts5" in str(error):
            raise StoreError(
                "this Python's SQLite is built without FTS5; use a Python whose SQLite has it"
            ) from error
        raise
    if ERASES_WORDS:
        conn.execute("insert into chunks_fts (chunks_fts, rank) values ('secure-delete', 1)")


def path_to_column(path: str | None) -> str | bytes | None:
    """Return text where the path is Unicode, else the bytes that the file system has."""
    try:
        (path or "").encode()
    except UnicodeEncodeError:
        return os.fsencode(path or "")
    return path


def path_from_column(value: str | bytes | None) -> str | None:
    """Return the inverse of `path_to_column`."""
    return os.fsdecode(value) if isinstance(value, bytes) else value
