"""Keep the store current between ingests: for a search that is about to begin, and for a file that is
stored under an id of its own.

A refresh takes little time and does not fail: what goes wrong is in its report.
"""

from collections.abc import Collection, Mapping
from contextlib import closing
from typing import Any

from ..documents.files import BadFileError, hurried
from ..errors import SourceError, StoreError
from ..indexing import embed_pending, put_document
from ..search.answer import Answer
from ..search.request import Request
from ..storage.source import Source, default_collection
from ..store import HybridStore
from .ingest import Ingest, check_paths
from .plan import known_sources, resolve
from .reading import ReadOptions
from .report import Report

# A search that first refreshes the store spends at most so many seconds on embeddings, and on
# extracting texts from files such as PDFs
EMBED_SECONDS = 2.0
EXTRACT_SECONDS = 3.0
SHOWN = 3  # problems that are told one by one
LOCK_TIMEOUT = 1.0  # seconds that a search waits for another writer


def refresh(
    store: HybridStore,
    *,
    embed_seconds: float = EMBED_SECONDS,
    extract_seconds: float | None = EXTRACT_SECONDS,
    paths: Collection[str] = (),
) -> Report:
    """Ingest incrementally everything that was ingested before (or these paths), as it was ingested.

    Writes nothing if nothing changed. What is pending is embedded for `embed_seconds` at most; the
    rest stays pending, as after an ingest without a server. Texts are extracted for
    `extract_seconds` at most (None: as long as it takes); the files that this leaves out wait for
    an `update`. Whatever goes wrong is in the report's `warnings`; no document is removed because of
    it.
    """
    check_paths(paths)
    # With `rechunk`, one search with other settings would cut the whole store anew.
    job = Ingest(store, incremental=True, rechunk=False)
    report = job.report
    with store.storage.waiting(LOCK_TIMEOUT):
        try:
            with store.storage.guarded():
                with hurried(extract_seconds):
                    job.mirror(known_sources(store.storage.sources, report, paths))
                report.pending = store.storage.embeddings.count_pending()
                if embed_seconds > 0:
                    _embed(store, report, embed_seconds)
        except (StoreError, SourceError) as error:
            report.is_complete = False
            reason = f"changes since the last ingest are not in: {error}"
            report.warning(store.path, reason, "database")
    report.warnings = report.errors + report.warnings
    report.errors = []
    return report


def _embed(store: HybridStore, report: Report, seconds: float) -> None:
    """Embed what is pending, and go on with a change of model. Only an ingest begins one that the
    settings ask for.
    """
    embeddings = store.storage.embeddings
    if embeddings.spare.next_identity() or store.may_change_over:
        report.embedded_by(store.embed(seconds=seconds))
    elif report.pending and (embedder := store.fitting_embedder):
        report.embedded_by(embed_pending(store.storage, embedder, seconds=seconds))
    if report.embedded:
        report.pending = embeddings.count_pending()


def problems(report: Report) -> list[str]:
    """Return the warnings of a refresh as lines: the first few, and how many more there are."""
    lines = report.problem_lines()
    if len(lines) > SHOWN:
        lines[SHOWN:] = [f"and {len(lines) - SHOWN} more; `hybrid-memory update` names all"]
    return lines


def search(store: HybridStore, query: str, request: Request, *, refreshed: bool) -> Answer:
    """Answer a query; with `refreshed`, changes in the ingested folders are taken in first.

    What kept changes out is among its warnings. Raises what HybridStore.search raises.
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
    """Read a file anew, in place of the document of this id. Gives the number of its chunks, and
    warnings.

    The `metadata` wins over the file's own, also when the file is read again later. Raises
    SourceError for a file that cannot be read, for one that is in the store already with another
    id, and for the id of a document of another folder.
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
        warnings.append(f"{path}: it holds no text that a search could find")
    with store.storage.guarded("cannot write"):
        problems = put_document(store.storage, store.fitting_embedder, prepared, source)
    return len(prepared.chunks), warnings + problems
