"""Keep the store current between ingests: before a search, and for a file stored under a chosen id.

A refresh is quick and does not fail: problems are in its report.
"""

from collections.abc import Collection, Mapping
from contextlib import closing
from typing import Any

from ..documents.files import BadFileError, time_limit
from ..documents.sources import default_collection
from ..errors import BusyStoreError, SourceError, StoreError
from ..indexing.documents import put_document
from ..indexing.pending import embed_pending
from ..search.answer import Answer
from ..search.request import Request
from ..storage.source import Source
from ..store import HybridStore
from .ingest import Ingest, check_paths
from .plan import known_sources, resolve
from .reading import ReadOptions
from .report import Report

# What a refresh before a search may spend on embedding, and on extracting text (from PDFs, say)
EMBED_SECONDS = 2.0
EXTRACT_SECONDS = 3.0
SHOWN = 3  # problems that are listed one by one
LOCK_TIMEOUT = 1.0  # seconds that a search waits for another writer


def refresh(
    store: HybridStore,
    *,
    embed_seconds: float = EMBED_SECONDS,
    extract_seconds: float | None = EXTRACT_SECONDS,
    paths: Collection[str] = (),
) -> Report:
    """Ingest incrementally everything that was ingested before (or these paths), with its stored
    options.

    Writes nothing if nothing changed. Pending chunks are embedded for at most `embed_seconds`; the
    rest stay pending, as after an ingest without a server. Text is extracted for at most
    `extract_seconds` (None: unlimited); the remaining files wait for an `update`. All problems are
    in the report's `warnings`; none of them makes a document disappear.
    """
    check_paths(paths)
    # With `rechunk`, one search with other settings would re-chunk the whole store.
    job = Ingest(store, incremental=True, rechunk=False)
    report = job.report
    with store.storage.waiting(LOCK_TIMEOUT):
        try:
            with store.storage.guarded():
                with time_limit(extract_seconds):
                    job.mirror(known_sources(store.storage, report, paths))
                report.pending = store.storage.embeddings.count_pending()
                if embed_seconds > 0:
                    _embed(store, report, embed_seconds)
        except (StoreError, SourceError) as error:
            report.is_complete = False
            reason = f"changes since the last ingest are missing: {error}"
            is_busy = isinstance(error, BusyStoreError)
            report.warning(store.path, reason, "busy" if is_busy else "database")
    report.warnings = report.errors + report.warnings
    report.errors = []
    return report


def _embed(store: HybridStore, report: Report, seconds: float) -> None:
    """Embed pending chunks, or continue a change of model.

    Only an ingest begins a change of model that the settings ask for.
    """
    embeddings = store.storage.embeddings
    if embeddings.spare.next_identity() or store.may_switch_model:
        report.embedded_by(store.embed(seconds=seconds))
    elif report.pending and (embedder := store.fitting_embedder):
        report.embedded_by(embed_pending(store.storage, embedder, seconds=seconds))
    if report.embedded:
        report.pending = embeddings.count_pending()


def problems(report: Report) -> list[str]:
    """The first warnings of a refresh as lines, and the number of the others."""
    lines = report.problem_lines()
    if len(lines) > SHOWN:
        lines[SHOWN:] = [f"and {len(lines) - SHOWN} more; `hybrid-memory update` lists all"]
    return lines


def search(store: HybridStore, query: str, request: Request, *, refreshed: bool) -> Answer:
    """Answer a query; with `refreshed`, index changed files of the ingested folders first.

    The answer's warnings include the problems of the refresh. Raises the errors of
    HybridStore.search.
    """
    if not refreshed:
        return store.answer(query, request)
    report = refresh(store, embed_seconds=0.0 if request.mode == "keyword" else EMBED_SECONDS)
    answer = store.answer(query, request)
    of_model = [
        problem
        for problem in report.embedding_problems
        if not any(warning.startswith(problem) for warning in answer.warnings)
    ]
    warnings = problems(report) + of_model + answer.warnings
    answer.warnings = list(dict.fromkeys(warnings))
    return answer


def store_file(
    store: HybridStore, doc_id: str, path: str, metadata: Mapping[str, Any]
) -> tuple[int, list[str]]:
    """Read a file and store it under this id. Return the number of its chunks, and warnings.

    The `metadata` override those of the file, also when the file is read again later. Raises
    SourceError if the file cannot be read, if the store has it under another id, or if the id
    belongs to a document of another folder.
    """
    path, _ = resolve(path)
    collection = default_collection(path, True, ())
    source = Source(path, collection, True, (), own_id=doc_id, metadata=tuple(metadata.items()))
    options = ReadOptions.of(source, store.config)
    try:
        with closing(options.open(path)) as reading:
            prepared = options.prepared(doc_id, path, reading)
            warnings = [f"{path}: {warning}" for warning in reading.warnings]
    except (OSError, BadFileError) as error:
        raise SourceError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}"
        ) from error
    if not prepared.chunks:
        warnings.append(f"{path}: it contains no searchable text")
    with store.storage.guarded("cannot write"):
        problems = put_document(store.storage, store.fitting_embedder, prepared, source)
    return len(prepared.chunks), warnings + problems
