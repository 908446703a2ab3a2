"""Take in what changed since the last ingest, for a search that is about to begin: in little time, and without failing."""

from collections.abc import Collection

from ..errors import SourceError, StoreError
from ..indexing.embedding import embed_pending
from ..store import HybridStore
from .ingest import Ingest
from .report import Report
from .selection import remembered

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
                job.mirror(remembered(store.storage.sources, report, paths))
                if embed_seconds > 0:
                    _embed(store, report, embed_seconds)
                report.pending = store.storage.embeddings.count_pending()
        except (StoreError, SourceError) as error:
            report.warning(store.path, f"changes since the last ingest are not in: {error}", "database")
    report.warnings, report.errors = report.errors + report.warnings, []
    return report


def _embed(store: HybridStore, report: Report, seconds: float) -> None:
    """Embed what is new, and go on with a change of model. Only an ingest begins one that the settings ask for."""
    if store.storage.embeddings.spare.next_identity() or (report.files and store.moves_up):
        report.embedded_by(store.embed(seconds=seconds))
    elif report.files and (embedder := store.fitting_embedder):
        report.embedded_by(embed_pending(store.storage, embedder, seconds=seconds))


def problems(report: Report) -> list[str]:
    """The warnings of a refresh as lines: the first few, and how many more there are."""
    lines = report.problem_lines()
    if len(lines) > SHOWN:
        lines[SHOWN:] = [f"and {len(lines) - SHOWN} more; `hybrid-memory update` names all"]
    return lines
