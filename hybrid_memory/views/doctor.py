"""What is wrong with a store, and the command that repairs it. Changes nothing.

To add a check, write a function and add a row to CHECKS.
"""

import os
import shlex
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from ..documents.files import PATTERN
from ..documents.formats import own_suffix
from ..embedding.protocol import differing, identity_of
from ..errors import ConnectionLostError, StoreError
from ..storage.source import Source, is_in
from ..store import HybridStore, tried_again
from .why import NEW, REASONS, is_up_to_date, missing

RESCUE = "`hybrid-memory rescue OUT`"
RESTORE = f"restore a copy, or {RESCUE} writes what can still be read to a new file"
REINDEX = "`hybrid-memory reindex` repairs it"
PASSING = {NEW, "changing"}  # what the next ingest takes in
SHOWN = 3  # problems of one check that are shown; the others are only counted


class Finding(NamedTuple):
    """What a check found, as one line. If it is not ok, the line ends with what to do."""

    check: str
    ok: bool
    text: str


def examine(store: HybridStore, *, thorough: bool = False) -> list[Finding]:
    """Run every check, and with `thorough` also those that read the whole file.

    This asks the embedding server and the reranker whether they are available, but sends nothing of
    the store. Raises ConnectionLostError if the store's own server is gone. An index is built again
    from the rest of the file, so the file itself is checked before that is advised.
    """
    findings: list[Finding] = []
    for name, check in (THOROUGH if thorough else CHECKS).items():
        try:
            findings += _found(store, check)
        except ConnectionLostError:
            raise
        except StoreError as error:
            way_out = "" if RESCUE in str(error) else f"; {RESTORE}"
            findings.append(Finding(name, False, f"cannot be read: {error}{way_out}"))
    if any(REINDEX in finding.text for finding in findings) and _is_damaged(store, findings):
        findings = [
            finding._replace(text=finding.text.replace(REINDEX, RESTORE)) for finding in findings
        ]
    return findings


@tried_again
def _found(store: HybridStore, check: "Check") -> list[Finding]:
    return list(check(store))


def _is_damaged(store: HybridStore, findings: Iterable[Finding]) -> bool:
    """Whether more than an index is damaged."""
    if any(RESTORE in finding.text or RESCUE in finding.text for finding in findings):
        return True
    try:
        with store.storage.guarded():
            return bool(store.storage.checks.integrity())
    except StoreError:
        return True


def _engine(store: HybridStore) -> list[Finding]:
    name, way_out = store.storage.checks.engine()
    return [Finding("sqlite", not way_out, f"{name}; {way_out}" if way_out else name)]


def _unread(store: HybridStore) -> list[Finding]:
    return [
        Finding(
            "integrity", True, "not checked; `hybrid-memory doctor --thorough` reads the whole file"
        )
    ]


def _integrity(store: HybridStore) -> Iterator[Finding]:
    checks = store.storage.checks
    yield from _findings("integrity", "the database is intact", checks.integrity(), RESTORE)
    ok, text = checks.keyword_index()
    yield Finding("keyword index", ok, text if ok else f"{text}; {REINDEX}")


def _tables(store: HybridStore, *, thorough: bool = False) -> Iterator[Finding]:
    checks = store.storage.checks
    with store.storage.snapshot():
        missing, extra = checks.keyword_index_differences()
        indexes = [f"{missing} chunks are not in the keyword index"] if missing else []
        indexes += [f"{extra} rows of the keyword index have no chunk"] if extra else []
        yield from _findings("indexed", "every chunk is in the keyword index", indexes, REINDEX)
        documents = [
            f"the chunks of {doc_id!r} have no document" for doc_id in checks.without_document()
        ]
        documents += [
            f"{doc_id!r} has more or fewer chunks than it should have"
            for doc_id in checks.miscounted()
        ]
        way_out = "`hybrid-memory delete --doc-id ID`, then store or ingest it again"
        yield from _findings("documents", "documents and chunks agree", documents, way_out)
        vectors = checks.vectors(thorough=thorough)
        agrees = (
            "it agrees with the embeddings" if thorough else "it has a place for every embedding"
        )
        yield from _findings("vector index", agrees, vectors, REINDEX)


def _embedder(store: HybridStore) -> list[Finding]:
    embedder = store.embedder
    if embedder is None:
        return [Finding("embedder", True, 'the provider is "none": searches use keywords only')]
    if difference := differing(store.storage.embeddings.identity(), embedder):
        return [
            Finding(
                "embedder",
                False,
                f"the store's embeddings were made with {difference}; `hybrid-memory update` changes that",
            )
        ]
    identity = identity_of(embedder)
    name = f"{identity['provider']} {identity['model']}"
    if not embedder.is_available():
        return [Finding("embedder", False, f"{name}: {embedder.problem or 'it does not answer'}")]
    return [Finding("embedder", True, f"{name} answers")]


def _reranker(store: HybridStore) -> Iterator[Finding]:
    if reranker := store.reranker:
        ok = reranker.is_available()
        yield Finding(
            "reranker",
            ok,
            f"{reranker.name} answers" if ok else f"{reranker.problem}; searches are not reranked",
        )


def _embeddings(store: HybridStore) -> Iterator[Finding]:
    counts = store.stats()
    embedded = f"{counts['embedded_count']} of {counts['chunk_count']} chunks have an embedding"
    if counts["pending_count"] and store.embedder:
        yield Finding("embeddings", False, f"{embedded}; `hybrid-memory update` embeds the others")
    else:
        yield Finding("embeddings", True, embedded)
    if building := counts["building"]:
        state = f"{building['model']} has embedded {building['done']} of {building['of']} chunks, and then answers"
        yield Finding("change of model", False, f"{state}; `hybrid-memory update` goes on")
    if counts["unembeddable_count"]:
        unknown = (
            f"{counts['unembeddable_count']} chunks are in a language that the model does not know"
        )
        yield Finding("language", True, f"{unknown}; they are found by keyword")
    if counts["truncated_count"]:
        cut = f"{counts['truncated_count']} chunks were cut to fit the model"
        yield Finding(
            "truncated",
            True,
            f"{cut}; with a smaller --chunk-size, an ingest embeds all of their text",
        )


def _sources(store: HybridStore) -> Iterator[Finding]:
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
        if file.chunking != source.chunking(store.config) or not is_up_to_date(
            file.path, file.mtime, file.size, status
        ):
            changed.setdefault(source, []).append(file.doc_id)
    for source, ids in changed.items():
        again = f"`{source.command()}` reads them again"
        yield Finding(
            "sources", False, f"{len(ids)} documents of {source.path} are out of date; {again}"
        )
    for source, ids in gone.items():
        way_out = (
            source.command()
            if os.path.isdir(source.path)
            else f"hybrid-memory delete --path {shlex.quote(source.path)}"
        )
        yield Finding(
            "sources",
            False,
            f"{len(ids)} documents of {source.path} no longer have a file; `{way_out}` removes them",
        )
    new: dict[Source, list[str]] = {}
    by_rule: dict[str, list[str]] = {}
    others: dict[Source, Counter[str]] = {}  # endings of files that could be read
    is_refused = False  # something that an ingest would read, and cannot
    for found in missing(store):
        if found.rule in PASSING:
            new.setdefault(found.source, []).append(os.path.basename(found.path))
        else:
            by_rule.setdefault(found.rule, []).append(os.path.basename(found.path))
            is_refused = is_refused or found.rule not in REASONS
            if found.rule == PATTERN and (suffix := own_suffix(found.path)):
                others.setdefault(found.source, Counter())[found.path[-len(suffix) :]] += 1
    for source, names in new.items():
        take_in = f"`{source.command()}` takes them in"
        yield Finding(
            "sources",
            False,
            f"{len(names)} files of {source.path} are not in yet: {_some(names)}; {take_in}",
        )
    if not (changed or gone or new):
        yield Finding(
            "sources",
            True,
            "every file that the rules take is in, and none has changed since it was read",
        )
    if by_rule:
        rules = ", ".join(
            f"{len(names)} {rule} ({_some(names)})" for rule, names in by_rule.items()
        )
        yield Finding(
            "left out",
            not is_refused,
            f"{rules}; `hybrid-memory why NOTE` tells the way out of each",
        )
    for source, suffixes in others.items():
        counts = ", ".join(f"{count} {suffix}" for suffix, count in sorted(suffixes.items()))
        wider = source._replace(
            patterns=(*source.patterns, *(f"*{suffix}" for suffix in sorted(suffixes)))
        )
        yield Finding(
            "formats",
            True,
            f"no pattern of {source.path} takes {counts}; `{wider.command()}` would",
        )


def _some(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")


def _permissions(store: HybridStore) -> list[Finding]:
    path, open_to_others = store.path, []
    for file in (path, path + "-wal", path + "-shm"):
        try:
            mode = stat.S_IMODE(os.stat(file).st_mode)
        except OSError:
            continue
        if os.name == "posix" and mode & 0o077:
            open_to_others.append(f"other users can access {file} (mode {mode:o})")
    return _findings(
        "permissions",
        "only the owner can access the database",
        open_to_others,
        f"`chmod 600 {shlex.quote(path)}*`",
    )


def _findings(check: str, ok: str, problems: Iterable[str], way_out: str) -> list[Finding]:
    listed = list(problems)
    if not listed:
        return [Finding(check, True, ok)]
    more = f", and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return [Finding(check, False, f"{', '.join(listed[:SHOWN])}{more}; {way_out}")]


Check = Callable[[HybridStore], Iterable[Finding]]
CHECKS: dict[str, Check] = {
    "sqlite": _engine,
    "integrity": _unread,
    "tables": _tables,
    "embedder": _embedder,
    "reranker": _reranker,
    "embeddings": _embeddings,
    "sources": _sources,
    "permissions": _permissions,
}
THOROUGH: dict[str, Check] = {
    **CHECKS,
    "integrity": _integrity,
    "tables": partial(_tables, thorough=True),
}
