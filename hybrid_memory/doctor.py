"""What is wrong with a store, and the command that mends it. Changes nothing."""

import os
import shlex
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from . import catalog, embeddings, vector

if TYPE_CHECKING:
    from .store import HybridStore

OLDEST_SQLITE = (3, 38)
RESTORE = "restore a copy, or remove the file and ingest again"
TRIED = 1000  # pending chunks
SHOWN = 3  # lines of one check's problems; the rest is a number

INTEGRITY = "pragma integrity_check(10)"
FTS_INTEGRITY = "insert into chunks_fts (chunks_fts) values ('integrity-check')"
NOT_INDEXED = "select count(*) from (select id from chunks except select rowid from chunks_fts)"
NOT_STORED = "select count(*) from (select rowid from chunks_fts except select id from chunks)"
WITHOUT_DOCUMENT = "select distinct doc_id from chunks where doc_id not in (select doc_id from documents)"
MISCOUNTED = """
select doc_id from documents d
where  chunk_count <> (select count(*) from chunks c where c.doc_id = d.doc_id)
"""
SOURCES = """
select d.doc_id, d.source_path, d.file_mtime, d.file_size, d.chunking, d.collection, f.path
from   documents d left join folders f on f.collection = d.collection and not f.is_file
where  d.source_path is not null
"""


class Finding(NamedTuple):
    """What a check found, in a line; if it is not ok, with the way out."""

    check: str
    ok: bool
    text: str


def examine(store: "HybridStore") -> list[Finding]:
    """Every check there is. Asks the embedding server whether it is there, but has it embed nothing."""
    findings = [_sqlite()]
    for name, check in CHECKS.items():
        try:
            findings += check(store)
        except sqlite3.DatabaseError as error:
            findings.append(Finding(name, False, f"cannot be read: {error}; {RESTORE}"))
    return findings


def _sqlite() -> Finding:
    ok = sqlite3.sqlite_version_info >= OLDEST_SQLITE
    needed = "" if ok else f"; use a Python whose SQLite is {'.'.join(map(str, OLDEST_SQLITE))} or later"
    return Finding("sqlite", ok, f"SQLite {sqlite3.sqlite_version} with FTS5{needed}")


def _integrity(store: "HybridStore") -> list[Finding]:
    lines = [line for (line,) in store.connection.execute(INTEGRITY) if line != "ok"]
    return _findings("integrity", "the database is intact", lines, RESTORE)


def _keyword_index(store: "HybridStore") -> list[Finding]:
    try:
        store.connection.execute(FTS_INTEGRITY)
    except sqlite3.OperationalError as error:  # it counts as a write
        return [Finding("keyword index", True, f"not checked: {error}")]
    except sqlite3.DatabaseError as error:
        return [Finding("keyword index", False, f"{error}; `hybrid-memory reindex` makes it anew")]
    return [Finding("keyword index", True, "FTS5's own check passes")]


def _tables(store: "HybridStore") -> list[Finding]:
    conn = store.connection
    conn.execute("begin")  # one state of the store, whoever writes meanwhile
    try:
        return [*_agreement(conn), *_vectors(conn)]
    finally:
        conn.execute("rollback")


def _agreement(conn: sqlite3.Connection) -> list[Finding]:
    def count(statement: str) -> int:
        return int(conn.execute(statement).fetchone()[0])

    indexes = []
    if missing := count(NOT_INDEXED):
        indexes.append(f"{missing} chunks are not in the keyword index")
    if extra := count(NOT_STORED):
        indexes.append(f"{extra} rows of the keyword index have no chunk")
    documents = [f"the chunks of {doc_id!r} have no document" for (doc_id,) in conn.execute(WITHOUT_DOCUMENT)]
    documents += [f"{doc_id!r} has more or fewer chunks than it should have" for (doc_id,) in conn.execute(MISCOUNTED)]
    return [
        *_findings("indexed", "every chunk is in the keyword index", indexes, "`hybrid-memory reindex` mends it"),
        *_findings(
            "documents",
            "documents and chunks agree",
            documents,
            "`hybrid-memory delete --doc-id ID`, then store or ingest it again",
        ),
    ]


def _vectors(conn: sqlite3.Connection) -> list[Finding]:
    return _findings("vector index", "it agrees with the embeddings", vector.check(conn), "`hybrid-memory reindex` mends it")


def _embedder(store: "HybridStore") -> list[Finding]:
    embedder = store.embedder
    if embedder is None:
        return [Finding("embedder", True, 'none: the provider is "none", and keywords answer')]
    if problem := embeddings.conflict(store.connection, embedder):
        return [Finding("embedder", False, problem)]
    name = " ".join(str(value) for key, value in embeddings.of_embedder(embedder).items() if key in ("provider", "model"))
    if not embedder.is_available():
        return [Finding("embedder", False, f"{name}: {embeddings.problem(embedder) or 'does not answer'}")]
    return [Finding("embedder", True, f"{name} answers")]


def _embeddings(store: "HybridStore") -> Iterator[Finding]:
    counts = store.stats()
    embedded = f"{counts['embedded_count']} of {counts['chunk_count']} chunks have an embedding"
    if counts["pending_count"] and _are_beyond_the_builtin_model(store):
        yield Finding(
            "embeddings", True, f"{embedded}; of the others the built-in model knows too few words, and keywords find them"
        )
    elif counts["pending_count"] and store.embedder:
        yield Finding("embeddings", False, f"{embedded}; `hybrid-memory ingest --path DIR --incremental` makes the others")
    else:
        yield Finding("embeddings", True, embedded)
    if counts["truncated_count"]:
        cut = f"{counts['truncated_count']} chunks were cut to fit the model"
        yield Finding("truncated", True, f"{cut}; an ingest with a smaller --chunk-size embeds all of their text")


def _are_beyond_the_builtin_model(store: "HybridStore") -> bool:
    """Does it give nothing for what is pending? The first of it will tell."""
    embedder = store.embedder
    if getattr(embedder, "provider", None) != "builtin" or embedder is None:
        return False
    return not any(embedder.embed_batch([text for _, _, text in embeddings.pending(store.connection, 0, TRIED)]))


def _sources(store: "HybridStore") -> Iterator[Finding]:
    gone: dict[catalog.Source, list[str]] = {}  # by what an ingest of would mend it
    changed: dict[catalog.Source, list[str]] = {}
    sources = {(source.collection, source.path): source for source in catalog.sources(store.connection)}
    for doc_id, source_path, mtime, size, chunking, collection, folder in store.connection.execute(SOURCES):
        path, top = str(catalog.path_from_column(source_path)), catalog.path_from_column(folder)
        ingested = sources.get((collection, top if top and catalog.is_in(path, top) else path))
        ingested = ingested or catalog.Source(path, collection, True, ())
        try:
            status = os.stat(path)
        except OSError:
            gone.setdefault(ingested, []).append(doc_id)
            continue
        as_it_was = (status.st_mtime, status.st_size) == (mtime, size) or _goes_on(path, size, status)
        if not as_it_was or chunking != store.chunking:
            changed.setdefault(ingested, []).append(doc_id)
    for source, ids in changed.items():
        again = f"`{source.command()}` reads them again"
        yield Finding("sources", False, f"{len(ids)} documents of {source.path} are out of date; {again}")
    for source, ids in gone.items():
        way_out = source.command() if os.path.isdir(source.path) else f"hybrid-memory delete --path {shlex.quote(source.path)}"
        yield Finding("sources", False, f"{len(ids)} documents of {source.path} have no file any more; `{way_out}` removes them")
    if not (changed or gone):
        yield Finding("sources", True, "every file is as it was when it was read")


def _goes_on(path: str, size: int, status: os.stat_result) -> bool:
    """Is it a transcript with too little news to be read again?"""
    if not path.endswith(catalog.TRANSCRIPT):
        return False
    from . import transcripts

    return not transcripts.is_due(path, size, status.st_mtime, status.st_size)


def _permissions(store: "HybridStore") -> list[Finding]:
    path, open_to_others = store.path, []
    for file in (path, path + "-wal", path + "-shm"):
        try:
            mode = stat.S_IMODE(os.stat(file).st_mode)
        except OSError:
            continue
        if os.name == "posix" and mode & 0o077:
            open_to_others.append(f"others may use {file} (mode {mode:o})")
    return _findings("permissions", "the database is its owner's alone", open_to_others, f"`chmod 600 {shlex.quote(path)}*`")


def _findings(check: str, ok: str, problems: Iterable[str], way_out: str) -> list[Finding]:
    listed = list(problems)
    if not listed:
        return [Finding(check, True, ok)]
    more = f", and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return [Finding(check, False, f"{', '.join(listed[:SHOWN])}{more}; {way_out}")]


CHECKS: dict[str, "Callable[[HybridStore], Iterable[Finding]]"] = {
    "integrity": _integrity,
    "keyword index": _keyword_index,
    "tables": _tables,
    "embedder": _embedder,
    "embeddings": _embeddings,
    "sources": _sources,
    "permissions": _permissions,
}
