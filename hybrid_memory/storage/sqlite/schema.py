"""All tables and indexes of the database."""

import sqlite3

from ...errors import StoreError
from ..bm25 import TOKENIZER

VERSION = 7
# FTS5 has secure-delete; without it, words of removed rows stay in old segments
ERASES_WORDS = sqlite3.sqlite_version_info >= (3, 42)
APPLICATION_ID = 0x484D454E  # distinguishes our files from other SQLite databases
DEVELOPMENT_ID = 0x484D454D  # of files from before the first version of these tables

META = """
create table meta (
    key   text primary key,   -- embeddings: JSON, the identity of the model whose vectors are in chunks
                              -- next_embeddings: the same for the next set, in spare_embeddings
                              -- late_server: when a query last waited in vain for its embedding
                              -- refusals: JSON, the files that could not be read, and why
                              -- removed_words: chunks_fts may still have words of deleted documents
                              -- listed_chunks: the rows of chunks_fts when the table terms was filled
    value text not null
) without rowid;

"""

END_OF_CHUNK_ID = (
    "iif(substr(chunk_id, 1, length(doc_id)) = doc_id, "
    "substr(chunk_id, length(doc_id) + 1), chunk_id)"
)

CHUNKS = f"""
create table chunks (
    id           integer primary key, -- chunks_fts.rowid; ascends in a document, with gaps where it grew
    doc_id       text not null,
    chunk_id     text not null,
    heading      text not null,
    heading_path text not null,
    content      text not null,
    items        text not null default '', -- the first lines of the list items in which it begins
    start_line   integer not null,
    end_line     integer not null,
    content_hash blob not null,       -- of the text that is embedded; the same text is embedded once
    slot         integer,             -- place in vector_blocks; null if and only if embedding is null
    truncated    integer not null default 0,
    date         text,                -- its own, YYYY-MM-DD; null: its document's date counts
    role         text,                -- who speaks in it: user, assistant, both; null: no conversation
    created_at   real not null default (unixepoch('now')),
    embedding    blob,                -- little-endian float32, unit length; null: pending
    unembeddable integer not null default 0, -- the model can never embed this text: embedding is null
    indexed      integer              -- checksum of the indexed terms, see chunks.py
);
create unique index chunks_by_document on chunks ( -- of a chunk_id "<doc_id>-3", only "-3"
    doc_id, {END_OF_CHUNK_ID}
);
create unique index chunks_by_slot on chunks (slot) where slot is not null;
create index chunks_by_content on chunks (content_hash) where embedding is not null;
create index chunks_by_date on chunks (date, doc_id) where date is not null;
create index chunks_by_role on chunks (role, doc_id) where role is not null;
create index chunks_pending on chunks (id) where embedding is null;
create index chunks_truncated on chunks (id) where truncated;
"""

VECTORS = """
create table vector_blocks (
    block  integer primary key,
    live   blob not null,             -- a bit for each of 8,192 places: set if it is in use
    center blob not null,             -- the mean of a sample of embeddings, the same in every row
    planes blob not null              -- one or two bits for each place and dimension, see bitplanes.py
);

create table query_embeddings (
    key       blob primary key,       -- hash of identity and query
    embedding blob not null,          -- or a reranker's scores, see storage/query_cache.py
    used_at   real not null
) without rowid;

"""

DOCUMENTS = """
create table documents (              -- with rowids; without them, look-ups would read long texts
    doc_id       text primary key not null,
    source_path  text,                -- absolute; null for texts that have no file
    file_mtime   real,
    file_size    integer,             -- bytes; also of texts without a file
    content_hash blob,                -- of the file's bytes; in chunks, of a text
    collection   text,
    date         text,                -- YYYY-MM-DD
    metadata     text not null default '{}',
    chunking     text not null,       -- how the text was split; other settings require reading it again
    chunk_count  integer not null,
    indexed_at   real not null default (unixepoch('now')),
    content      text                 -- of documents without a file; last, as it may be long
);
create index documents_by_collection on documents (collection);
"""

FOLDERS = """
create table folders (                -- ingested folders and files, with their settings
    collection      text not null,    -- '' for a single file without one
    path            text not null,
    is_file         integer not null,
    patterns        text not null,    -- JSON, like exclude
    exclude         text not null default '[]',
    follow_symlinks integer not null default 0,
    keep_missing    integer not null default 0,
    chunk_size      integer,          -- set by the user for this source; null: as in the settings
    chunk_overlap   integer,
    doc_id          text,             -- of a single file, if it is not the file's name
    metadata        text not null default '{}', -- JSON; of a single file: overrides its front matter
    workspace       text,             -- of transcripts: read only sessions that began in it
    no_ignore       integer not null default 0,
    primary key (collection, path)
) without rowid;
"""

EXTRACTS = """
create table extracts (               -- the text of a PDF, for example, whose lines are cited
    doc_id  text primary key not null,
    pages   text,                     -- JSON: the first line of each page; null: no pages
    content text not null             -- last, as it may be long
);
"""

SPARE_EMBEDDINGS = """
create table spare_embeddings (       -- of deleted texts, and of the store's next model
    model        blob not null,       -- hash of an identity
    content_hash blob not null,
    embedding    blob not null,
    truncated    integer not null,
    kept_at      real not null default (unixepoch('now')),
    primary key (model, content_hash)
);
"""

MARKS = """
create table names (                  -- names of documents: file name, aliases and titles
    key    text not null,             -- the last part of the name, folded
    doc_id text not null,
    kind   text not null,             -- file, alias, title
    name   text not null,
    primary key (key, doc_id, kind, name)
) without rowid;
create index names_by_document on names (doc_id);

create table links (                  -- as written; their targets are looked up in names
    doc_id text not null,
    line   integer not null,
    target text not null,
    kind   text not null,             -- wikilink, embed, markdown
    key    text not null              -- as in names
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

# What reading the columns of the index returns: the original texts, and "" for `context`. The
# indexed terms are different, see KEYWORD_INDEX.
INDEXED_CHUNKS = """
create view indexed_chunks as
select id, doc_id, chunk_id, heading_path as heading, content, '' as context from chunks;
"""

# FTS5 indexes the terms that text/terms.py makes of each chunk; the rowid is chunks.id.
#   heading: the words of its heading path, and of its document's path
#   content: the words of its text, with runs of scripts without spaces cut into grams
#   context: identifiers such as src/a.ts as one word each, targets of links, the words of the list
#     items around it; for the first chunk of a document also its names, titles, aliases, and the
#     values of its metadata
# doc_id and chunk_id are not indexed; they are for users of the bare index.
KEYWORD_INDEX = f"""
create virtual table chunks_fts using fts5(
    doc_id unindexed, chunk_id unindexed, heading, content, context,
    {{content}}tokenize = '{TOKENIZER}'
)
"""
TERMS = """
create table terms (                  -- empty, or the words in chunks_fts, see word_list.py
    term   text primary key,
    chunks integer not null           -- the number of chunks that have it
) without rowid;
"""
WITHOUT_TEXTS = "content = 'indexed_chunks', content_rowid = 'id', "
HAS_TEXTS = "select exists (select 1 from sqlite_schema where name = 'chunks_fts_content')"


def create_tables(conn: sqlite3.Connection) -> None:
    """Create all tables and indexes in an empty database, inside a transaction."""
    conn.execute(f"pragma application_id = {APPLICATION_ID}")
    run(conn, META + CHUNKS + VECTORS + DOCUMENTS + FOLDERS)
    run(conn, EXTRACTS + SPARE_EMBEDDINGS + MARKS + INDEXED_CHUNKS + TERMS)
    create_keyword_index(conn)


def complete(conn: sqlite3.Connection) -> None:
    """Create what is missing for a bare connection: all tables in an empty database, or the keyword
    index for tables of another program. Never commits.

    The index gets a copy of its texts, because the caller may add rows to it that have no chunk.
    """
    existing = tables(conn)
    if not existing:
        create_tables(conn)
        conn.execute(f"pragma user_version = {VERSION}")
    if "chunks_fts" not in existing:
        create_keyword_index(conn, with_texts=True)


def tables(conn: sqlite3.Connection) -> set[str]:
    """The names of all tables."""
    return {name for (name,) in conn.execute("select name from sqlite_schema where type = 'table'")}


def is_own(conn: sqlite3.Connection) -> bool:
    """Whether this program made the tables, rather than another one that uses the same names."""
    return {"meta", "vector_blocks"} <= tables(conn)


def run(conn: sqlite3.Connection, script: str) -> None:
    """Run the statements of a script one by one. Unlike executescript, this keeps the transaction
    open.
    """
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            conn.execute(statement)
            statement = ""


def has_texts(conn: sqlite3.Connection) -> bool:
    """Whether the keyword index has a copy of its texts, like an index behind a bare connection."""
    return bool(conn.execute(HAS_TEXTS).fetchone()[0])


def create_keyword_index(conn: sqlite3.Connection, *, with_texts: bool = False) -> None:
    """Create an empty keyword index, replacing any other, even a damaged one.

    Raises StoreError if SQLite has no FTS5.
    """
    conn.execute("drop table if exists chunks_fts")
    try:
        conn.execute(KEYWORD_INDEX.format(content="" if with_texts else WITHOUT_TEXTS))
    except sqlite3.OperationalError as error:
        if "no such module" in str(error):
            raise StoreError(
                "this Python's SQLite is built without FTS5; use a Python whose SQLite has it"
            ) from error
        raise
    if ERASES_WORDS:
        conn.execute("insert into chunks_fts (chunks_fts, rank) values ('secure-delete', 1)")
