"""Take in what changed since the last ingest, for a search that is about to begin: in little time, and without failing."""

from collections.abc import Collection, Iterator
from shlex import quote

from ..embedding.identity import conflict
from ..errors import SourceError, StoreError
from ..indexing.embedding import embed_pending
from ..storage.source import Source
from ..store import HybridStore
from .ingest import Ingest
from .report import Report
from .selection import resolve

SHOWN = 3  # problems that are told one by one
LOCK_TIMEOUT = 1.0  # seconds that a search waits for another writer


def refresh(store: HybridStore, *, embed_seconds: float = 2.0, paths: Collection[str] = ()) -> Report:
    """An incremental ingest of everything that was ingested before (or of these paths), as it was ingested.

    Writes nothing if nothing changed. What is new is embedded for `embed_seconds` at most; the rest stays pending, as after an
    ingest without a server. Whatever goes wrong is in the report's `warnings`; no document is removed because of it.
    """
    job = Ingest(store, incremental=True, rechunk=False)  # or one search with other settings would cut the whole store anew
    report = job.report
    with store.storage.waiting(LOCK_TIMEOUT):
        try:
            with store.storage.guarded():
                job.mirror(_existing(store, paths, report))
                if report.files and embed_seconds > 0 and model_fits(store):
                    report.embedded_by(embed_pending(store.storage, store.embedder, seconds=embed_seconds))
                report.pending = store.storage.embeddings.count_pending()
        except (StoreError, SourceError) as error:
            report.warning(store.path, f"changes since the last ingest are not in: {error}")
    report.warnings, report.errors = report.errors + report.warnings, []
    return report


def model_fits(store: HybridStore) -> bool:
    """Whether the embedder may add to the store's embeddings; another model would make the store discard those it has."""
    return store.embedder is not None and not conflict(store.storage.embeddings.identity(), store.embedder)


def problems(report: Report) -> list[str]:
    """The warnings of a refresh as lines: the first few, and how many more there are."""
    lines = report.problem_lines()
    if len(lines) > SHOWN:
        lines[SHOWN:] = [f"and {len(lines) - SHOWN} more; an ingest with --incremental names all"]
    return lines


def _existing(store: HybridStore, paths: Collection[str], report: Report) -> Iterator[Source]:
    for source in store.storage.sources.all():
        if paths and source.path not in paths:
            continue
        try:
            resolve(source.path)
        except SourceError as error:
            way_out = f"`hybrid-memory delete --path {quote(source.path)}`"
            report.warning(source.path, f"{error}; if it is gone for good: {way_out}")
            continue
        if source.patterns is None:
            report.warning(source.path, f"an older version did not note its patterns; once `{source.command()}`")
            continue
        yield source
