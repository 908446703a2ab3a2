"""What is wrong with a store, and the command that repairs it. Changes nothing.

To add a check, write a function and add a row to CHECKS.
"""

import os
import shlex
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..documents.formats import format_of
from ..embedding.identity import conflict, identity_of
from ..errors import StoreError
from ..storage.source import Source, is_in

if TYPE_CHECKING:
    from ..storage.document_rows import SourceFile
    from ..store import HybridStore

RESTORE = "restore a copy, or remove the file and ingest again"
SHOWN = 3  # problems of one check that are shown; the others are only counted


class Finding(NamedTuple):
    """What a check found, as one line. If it is not ok, the line ends with what to do."""

    check: str
    ok: bool
    text: str


def examine(store: "HybridStore") -> list[Finding]:
    """Run every check. This asks the embedding server whether it is available, but embeds nothing."""
    findings: list[Finding] = []
    for name, check in CHECKS.items():
        try:
            with store.storage.guarded():
                findings += check(store)
        except StoreError as error:
            findings.append(Finding(name, False, f"cannot be read: {error}; {RESTORE}"))
    return findings


def _engine(store: "HybridStore") -> list[Finding]:
    name, way_out = store.storage.checks.engine()
    return [Finding("sqlite", not way_out, f"{name}; {way_out}" if way_out else name)]


def _integrity(store: "HybridStore") -> list[Finding]:
    return _findings("integrity", "the database is intact", store.storage.checks.integrity(), RESTORE)


def _keyword_index(store: "HybridStore") -> list[Finding]:
    ok, text = store.storage.checks.keyword_index()
    return [Finding("keyword index", ok, text if ok else f"{text}; `hybrid-memory reindex` builds it again")]


def _tables(store: "HybridStore") -> Iterator[Finding]:
    checks = store.storage.checks
    with store.storage.snapshot():
        missing, extra = checks.keyword_index_differences()
        indexes = [f"{missing} chunks are not in the keyword index"] if missing else []
        indexes += [f"{extra} rows of the keyword index have no chunk"] if extra else []
        yield from _findings("indexed", "every chunk is in the keyword index", indexes, "`hybrid-memory reindex` repairs it")
        documents = [f"the chunks of {doc_id!r} have no document" for doc_id in checks.without_document()]
        documents += [f"{doc_id!r} has more or fewer chunks than it should have" for doc_id in checks.miscounted()]
        way_out = "`hybrid-memory delete --doc-id ID`, then store or ingest it again"
        yield from _findings("documents", "documents and chunks agree", documents, way_out)
        vectors = checks.vectors()
        yield from _findings("vector index", "it agrees with the embeddings", vectors, "`hybrid-memory reindex` repairs it")


def _embedder(store: "HybridStore") -> list[Finding]:
    embedder = store.embedder
    if embedder is None:
        return [Finding("embedder", True, 'the provider is "none": searches use keywords only')]
    if problem := conflict(store.storage.embeddings.identity(), embedder):
        return [Finding("embedder", False, problem)]
    identity = identity_of(embedder)
    name = f"{identity['provider']} {identity['model']}"
    if not embedder.is_available():
        return [Finding("embedder", False, f"{name}: {embedder.problem or 'it does not answer'}")]
    return [Finding("embedder", True, f"{name} answers")]


def _embeddings(store: "HybridStore") -> Iterator[Finding]:
    counts = store.stats()
    embedded = f"{counts['embedded_count']} of {counts['chunk_count']} chunks have an embedding"
    if counts["pending_count"] and store.embedder:
        yield Finding("embeddings", False, f"{embedded}; `hybrid-memory ingest --path DIR --incremental` embeds the others")
    else:
        yield Finding("embeddings", True, embedded)
    if counts["unembeddable_count"]:
        unknown = f"{counts['unembeddable_count']} chunks are in a language that the model does not know"
        yield Finding("language", True, f"{unknown}; they are found by keyword")
    if counts["truncated_count"]:
        cut = f"{counts['truncated_count']} chunks were cut to fit the model"
        yield Finding("truncated", True, f"{cut}; with a smaller --chunk-size, an ingest embeds all of their text")


def _sources(store: "HybridStore") -> Iterator[Finding]:
    gone: dict[Source, list[str]] = {}  # source to ingest again -> ids of its documents
    changed: dict[Source, list[str]] = {}
    sources = {(source.collection, source.path): source for source in store.storage.sources.all()}
    for file in store.storage.catalog.source_files():
        top = file.folder if file.folder and is_in(file.path, file.folder) else file.path
        source = sources.get((file.collection, top)) or Source(file.path, file.collection, True, ())
        try:
            status = os.stat(file.path)
        except OSError:
            gone.setdefault(source, []).append(file.doc_id)
            continue
        if file.chunking != store.chunking or not _is_up_to_date(file, status):
            changed.setdefault(source, []).append(file.doc_id)
    for source, ids in changed.items():
        again = f"`{source.command()}` reads them again"
        yield Finding("sources", False, f"{len(ids)} documents of {source.path} are out of date; {again}")
    for source, ids in gone.items():
        way_out = source.command() if os.path.isdir(source.path) else f"hybrid-memory delete --path {shlex.quote(source.path)}"
        yield Finding("sources", False, f"{len(ids)} documents of {source.path} no longer have a file; `{way_out}` removes them")
    if not (changed or gone):
        yield Finding("sources", True, "no file has changed since it was read")


def _is_up_to_date(file: "SourceFile", status: os.stat_result) -> bool:
    """Whether the file has not changed since it was indexed, or has too little new text to be read again."""
    if (status.st_mtime, status.st_size) == (file.mtime, file.size):
        return True
    return not format_of(file.path).is_due(file.path, file.size, status.st_mtime, status.st_size, follow_symlinks=True)


def _permissions(store: "HybridStore") -> list[Finding]:
    path, open_to_others = store.path, []
    for file in (path, path + "-wal", path + "-shm"):
        try:
            mode = stat.S_IMODE(os.stat(file).st_mode)
        except OSError:
            continue
        if os.name == "posix" and mode & 0o077:
            open_to_others.append(f"other users can access {file} (mode {mode:o})")
    return _findings("permissions", "only the owner can access the database", open_to_others, f"`chmod 600 {shlex.quote(path)}*`")


def _findings(check: str, ok: str, problems: Iterable[str], way_out: str) -> list[Finding]:
    listed = list(problems)
    if not listed:
        return [Finding(check, True, ok)]
    more = f", and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return [Finding(check, False, f"{', '.join(listed[:SHOWN])}{more}; {way_out}")]


CHECKS: dict[str, "Callable[[HybridStore], Iterable[Finding]]"] = {
    "sqlite": _engine,
    "integrity": _integrity,
    "keyword index": _keyword_index,
    "tables": _tables,
    "embedder": _embedder,
    "embeddings": _embeddings,
    "sources": _sources,
    "permissions": _permissions,
}
