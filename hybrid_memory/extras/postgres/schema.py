"""All tables and indexes in PostgreSQL, and their policies for roles; created under an advisory
lock.

All memories of a database are in the same tables, in the schema `hybrid_memory`. A row belongs to a
space. The owner of the tables sees every space; any other role sees the spaces that `space_roles`
lists for it, or for a role that it is a member of.
"""

from psycopg import errors

from ...errors import MissingStoreError, StoreError, WayOut
from ...storage.rows import UPGRADED
from .connection import LOCK, Connection

VERSION = 7


START_OF_ID = 500  # characters: a value in an index has at most 2,700 bytes
BY_SPELLED_ID = f"""
create index documents_by_spelled_id on documents (space, left(spelled_id, {START_OF_ID}))
"""

OLDEST = 150_000  # server_version_num
OLDEST_PGVECTOR = (0, 8)  # the first with iterative scans

TABLES = """
create table version (number integer not null);

create table spaces (
    id      integer generated always as identity primary key,
    name    text collate "C" not null unique,
    chunks  bigint not null default 0,     -- in the keyword index
    tokens  bigint not null default 0,     -- of these chunks
    -- chunks removed since the index was built, whose entries may still be in postings
    dead    bigint not null default 0,
    unmerged bigint not null default 0,    -- of these, since a slice of postings was last rewritten
    slice   integer not null default 0,    -- the next one to rewrite
    changes bigint not null default 0      -- transactions that wrote
);

create table space_roles (                 -- who can see a space, in addition to the owner
    space integer not null references spaces on delete cascade,
    role  name not null,
    primary key (space, role)
);

create table meta (
    space integer not null,
    key   text collate "C" not null,
    value text not null,
    primary key (space, key)
);

create table documents (
    space        integer not null,
    number       bigint generated always as identity,
    doc_id       text collate "C" not null,
    spelled_id   text collate "C" not null, -- doc_id in the spelling in which ids are compared
    -- absolute, as the file system has it; null for texts that have no file
    source_path  bytea,
    host         text,                     -- the machine and user whose file it is
    file_mtime   double precision,
    file_size    bigint,                   -- bytes; also of texts without a file
    content_hash bytea,                    -- of the source's bytes
    collection   text collate "C",
    date         text collate "C",         -- YYYY-MM-DD
    metadata     text not null default '{}',
    chunking     text not null,            -- how the text was split; other settings require reading it again
    chunk_count  integer not null,
    indexed_at   double precision not null default extract(epoch from clock_timestamp()),
    content      text,                     -- of documents without a file
    primary key (space, number)
);
create unique index documents_by_id on documents (space, doc_id);
create index documents_by_collection on documents (space, collection);
create index documents_by_path on documents (space, source_path);

create table chunks (
    space        integer not null,
    id           bigint not null,          -- consecutive in a document that was written at once
    document     bigint not null,
    start_line   integer not null,
    end_line     integer not null,
    truncated    boolean not null default false,
    date         text collate "C",         -- its own, YYYY-MM-DD; null: its document's date counts
    role         text collate "C",         -- who speaks in it: user, assistant, both; null: no conversation
    unembeddable boolean not null default false, -- the model can never embed this text: embedding is null
    chunk_id     text collate "C" not null,
    heading      text not null,
    heading_path text not null,
    content      text not null,
    items        text not null default '', -- the first lines of the list items in which it begins
    content_hash bytea not null,           -- of the text that is embedded
    embedding    vector,                   -- unit length
    primary key (space, id),
    -- a row cannot belong to a document of another space
    foreign key (space, document) references documents (space, number)
);
create sequence chunk_ids owned by chunks.id;
create index chunks_by_document on chunks (document, id);
create index chunks_by_content on chunks (space, content_hash);
create index chunks_by_date on chunks (document, date) where date is not null;
create index chunks_pending on chunks (space, id) where embedding is null;

create table terms (
    space     integer not null,
    id        integer generated always as identity,
    frequency integer not null,            -- number of chunks of the space with the term
    -- small blocks of postings written since the last merge
    loose     integer not null default 0,
    term      text collate "C" not null,
    primary key (space, id)
) with (fillfactor = 80);
create unique index terms_by_text on terms (space, term);

create table postings (                    -- a block of the chunks that have a term
    term    integer not null,
    space   integer not null,
    first   bigint not null,               -- chunk
    last    bigint not null,
    entries bigint[] not null              -- described in postings.py
);
create index postings_by_term on postings (term, first);

-- the keyword index by chunk: the indexed text, and its terms in order
create table words (
    space    integer not null,
    chunk    bigint not null,
    -- the columns heading, content and context; then the text for searching fragments
    written  text[] not null,
    sequence integer[] not null,           -- ids of terms; a 0 between two columns
    primary key (space, chunk)
);

-- the texts of documents whose files are not text: their lines are cited
create table extracts (
    space    integer not null,
    document bigint not null,
    -- JSON: the first line of each page; null: no pages
    pages    text,
    content  text not null,
    primary key (space, document),
    foreign key (space, document) references documents (space, number) on delete cascade
);

create table names (                       -- names of documents: file name, aliases and titles
    document bigint not null,
    space    integer not null,
    key      text collate "C" not null,    -- the last part of the name, folded
    kind     text not null,                -- file, alias, title
    name     text collate "C" not null,
    foreign key (space, document) references documents (space, number) on delete cascade
);
create index names_by_key on names (space, key);
create index names_by_document on names (document);

-- as written; their targets are looked up in names, which may change
create table links (
    document bigint not null,
    space    integer not null,
    place    integer not null,             -- position among the links of the document
    line     integer not null,
    target   text collate "C" not null,
    kind     text not null,                -- wikilink, embed, markdown
    key      text collate "C" not null,    -- as in names
    foreign key (space, document) references documents (space, number) on delete cascade
);
create index links_by_document on links (document, place);
create index links_by_key on links (space, md5(key)); -- a target may be too long for an index

-- of the metadata and of the text, folded; also the words of a tag that has several
create table tags (
    document bigint not null,
    space    integer not null,
    tag      text collate "C" not null,
    foreign key (space, document) references documents (space, number) on delete cascade
);
create index tags_by_document on tags (document);

create table folders (                     -- ingested folders and files, with their settings
    space           integer not null,
    host            text not null,
    collection      text collate "C" not null, -- '' for a single file without one
    path            bytea not null,
    is_file         boolean not null,
    patterns        text,                  -- JSON, like exclude
    exclude         text not null default '[]',
    follow_symlinks boolean not null default false,
    keep_missing    boolean not null default false,
    chunk_size      integer,
    chunk_overlap   integer,
    doc_id          text,
    metadata        text not null default '{}',
    workspace       bytea,                 -- of transcripts: read only sessions that began in it
    no_ignore       boolean not null default false,
    primary key (space, host, collection, path)
);

-- of deleted texts, and of the store's next model
create table spare_embeddings (
    space        integer not null,
    model        bytea not null,           -- hash of an identity
    content_hash bytea not null,
    embedding    vector,                   -- null: the model can never embed this text
    truncated    boolean not null,
    kept_at      double precision not null default extract(epoch from clock_timestamp()),
    primary key (space, model, content_hash)
);

create table query_embeddings (
    space     integer not null,
    key       bytea not null,              -- hash of identity and query
    embedding bytea not null,              -- little-endian float32
    used_at   double precision not null,
    primary key (space, key)
);

-- No plan needs the most common elements of an array, and counting them takes longer than the rest of a
-- vacuum.
alter table postings alter column entries set statistics 0;
alter table words alter column written set statistics 0, alter column sequence set statistics 0;

alter table space_roles enable row level security;
create policy own_roles on space_roles for select using (pg_has_role(current_user, role, 'member'));
alter table spaces enable row level security;
create policy own_spaces on spaces using (id in (select space from space_roles));
"""

OF_A_SPACE = (
    "meta",
    "documents",
    "extracts",
    "names",
    "links",
    "tags",
    "chunks",
    "terms",
    "postings",
    "words",
    "folders",
    "spare_embeddings",
    "query_embeddings",
)
# Every edit deletes rows. Early vacuums free their space before a table has grown much.
VACUUMED_SOON = """
alter table {table} set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0)
"""
POLICY = """
alter table {table} enable row level security;
create policy own_spaces on {table} using (space in (select space from space_roles));
"""

STATE = """
select (select setting::int from pg_settings where name = 'server_version_num'),
       (select extversion from pg_extension where extname = 'vector'),
       to_regclass('hybrid_memory.version') is not null,
       to_regclass('hybrid_memory.schema_version') is not null,
       current_user, current_database()
"""

WRITTEN_BY = "select number from hybrid_memory.version"
IN_SCHEMA = (
    "select set_config('search_path', 'hybrid_memory, ' || current_setting('search_path'), true)"
)

AS_ADMINISTRATOR = (
    "create extension if not exists vector; "
    'create schema if not exists hybrid_memory authorization "{role}";'
)


def prepare(conn: Connection, *, create: bool) -> None:
    """Create the tables if they are missing and `create` is set.

    Raises StoreError for a server or a pgvector that is too old, for tables that are missing or
    of another version, and for a role that may not create them; the message has the SQL for an
    administrator.
    """
    server, vector, exists, is_of_development, role, database = conn.one(STATE)
    if server < OLDEST:
        raise StoreError(
            f"{conn.name} is PostgreSQL {server // 10_000}; version 15 or later is needed"
        )
    if vector and tuple(map(int, vector.split(".")[:2])) < OLDEST_PGVECTOR:
        raise StoreError(
            f"{conn.name} has pgvector {vector}; install 0.8 or later, "
            "and run `alter extension vector update`"
        )
    version = conn.one(WRITTEN_BY)[0] if exists else VERSION
    if is_of_development or version < VERSION:
        raise StoreError(
            f"the tables in {conn.name} are from a development version and no longer supported; "
            "run `drop schema hybrid_memory cascade`, and ingest again"
        )
    if not exists and not create:
        way_out = WayOut("ingest", "ingest --path DIR", "makes one")
        raise MissingStoreError(f"no memory in {conn.name}", way_out)
    if not exists:
        conn.to_primary()
        _create(conn, role, database)
    if version > VERSION:
        raise StoreError(
            f"{conn.name} was written by a newer hybrid-memory (schema {version}, "
            f"this one supports {VERSION}); upgrade this one"
        )


def check_version(conn: Connection) -> None:
    """Raise StoreError if a newer version has upgraded the tables since they were opened."""
    if conn.one(WRITTEN_BY)[0] > VERSION:
        raise StoreError(UPGRADED)


def _create(conn: Connection, role: str, database: str) -> None:
    try:
        with conn.plain_transaction():
            conn.execute("select pg_advisory_xact_lock(%(lock)s, 0)", {"lock": LOCK})
            conn.execute("set local client_min_messages to warning")
            if conn.one(STATE)[2]:  # another process was first
                return
            conn.execute("create extension if not exists vector")
            if not conn.one("select to_regnamespace('hybrid_memory') is not null")[0]:
                conn.execute("create schema hybrid_memory")
            conn.execute(IN_SCHEMA)
            conn.execute(TABLES)
            conn.execute(BY_SPELLED_ID)
            for table in OF_A_SPACE:
                conn.execute(POLICY.format(table=table))
                conn.execute(VACUUMED_SOON.format(table=table))
            conn.execute("insert into version values (%(version)s)", {"version": VERSION})
    except (
        errors.InsufficientPrivilege,
        errors.UndefinedFile,
        errors.FeatureNotSupported,
    ) as error:
        if not isinstance(error, errors.InsufficientPrivilege):
            raise StoreError(
                f"the server of {conn.name} has no pgvector: {error.diag.message_primary}"
            ) from error
        sql = AS_ADMINISTRATOR.format(role=role.replace('"', '""'))
        raise StoreError(
            f"the role {role} may not create the tables in {conn.name} ({error.diag.message_primary}); "
            f"ask an administrator of the database {database} to run: {sql}"
        ) from error
