"""What changed in the remembered folders -> the store, for a search that is about to begin: little time, and no failure."""

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from . import catalog, embeddings, schema
from .errors import SourceError, StoreError
from .ingest import Ingest, Report, resolve

if TYPE_CHECKING:
    from .store import HybridStore

SHOWN = 3  # problems
LOCK_TIMEOUT = 1000  # milliseconds that a search waits for another writer


def refresh(store: "HybridStore", *, embed_seconds: float = 2.0, paths: Collection[str] = ()) -> Report:
    """An incremental ingest of all that was ingested before (or of these paths), as it was. Writes nothing where nothing changed.

    What is new is embedded for `embed_seconds` at most; the rest is pending, as after an ingest without a server. Whatever
    goes wrong is in the report's `warnings`, and no reason to remove a document.
    """
    job = Ingest(store, incremental=True, rechunk=False)  # or one search with other settings would do the whole store anew
    report = job.report
    with _impatient(store):
        try:
            job.mirror(_there(store, paths, report))
            if report.files and embed_seconds > 0 and fits(store):
                report.embedded = store.embed_pending(seconds=embed_seconds)
            report.pending = job.pending()
        except (StoreError, SourceError, sqlite3.DatabaseError) as error:
            told = schema.failure(error, store.path) if isinstance(error, sqlite3.DatabaseError) else error
            if not told:
                raise
            report.warning(store.path, f"changes since the last ingest are not in: {told}")
    report.warnings, report.errors = report.errors + report.warnings, []
    return report


def fits(store: "HybridStore") -> bool:
    """Another model's vectors would cost the store those that it has."""
    return store.embedder is not None and not embeddings.conflict(store.connection, store.embedder)


def problems(report: Report) -> list[str]:
    """A refresh's warnings as lines: a few, and how many more there are."""
    lines = [f"{problem['path']}: {problem['reason']}" for problem in report.warnings]
    if len(lines) > SHOWN:
        lines[SHOWN:] = [f"and {len(lines) - SHOWN} more; an ingest with --incremental names all"]
    return lines


def _there(store: "HybridStore", paths: Collection[str], report: Report) -> Iterator[catalog.Source]:
    for source in catalog.sources(store.connection):
        if paths and source.path not in paths:
            continue
        try:
            resolve(source.path)
        except SourceError as error:
            from shlex import quote

            way_out = f"`hybrid-memory delete --path {quote(source.path)}`"
            report.warning(source.path, f"{error}; if it is gone for good: {way_out}")
            continue
        if source.patterns is None:
            report.warning(source.path, f"an older version did not note its patterns; once `{source.command()}`")
            continue
        yield source


@contextmanager
def _impatient(store: "HybridStore") -> Iterator[None]:
    (patience,) = store.connection.execute("pragma busy_timeout").fetchone()
    store.connection.execute(f"pragma busy_timeout = {LOCK_TIMEOUT}")
    try:
        yield
    finally:
        store.connection.execute(f"pragma busy_timeout = {patience}")
