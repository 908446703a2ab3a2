"""Keep the store current between ingests: for a search that is about to begin, for a file that is
stored under an id of its own, and, with `Watch`, while files change.

A refresh takes little time and does not fail: what goes wrong is in its report.
"""

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from ..documents.document import Document, assemble
from ..documents.files import BadFileError, hurried
from ..documents.formats import format_of
from ..environment import missing_package
from ..errors import ConnectionLostError, SourceError, StoreError
from ..indexing import embed_pending, put_document
from ..search.hit import Answer, Request
from ..storage.source import Source, default_collection, real_path
from ..store import HybridStore
from .ingest import Ingest
from .plan import remembered
from .report import Report

if TYPE_CHECKING:
    from threading import Event

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
    # With `rechunk`, one search with other settings would cut the whole store anew.
    job = Ingest(store, incremental=True, rechunk=False)
    report = job.report
    with store.storage.waiting(LOCK_TIMEOUT):
        try:
            with store.storage.guarded():
                with hurried(extract_seconds):
                    job.mirror(remembered(store.storage.sources, report, paths))
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
    if embeddings.spare.next_identity() or store.moves_up:
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
    path = real_path(path)
    collection = default_collection(path, True, ())
    source = Source(path, collection, True, (), own_id=doc_id, metadata=tuple(metadata.items()))
    sizes = source.sizes(store.config)
    try:
        with closing(
            format_of(path).open(path, store.config["max_file_bytes"], False, metadata)
        ) as reading:
            chunks = list(reading.chunks(*sizes))
            of_file = path, reading.mtime, reading.size, reading.digest, collection, reading.extract
            document = Document(doc_id, "", reading.metadata, *of_file)
            date = reading.date(doc_id, store.config["date_keys"])
            prepared = assemble(
                document, chunks, date, source.chunking(store.config), reading.links
            )
            warnings = [f"{path}: {warning}" for warning in reading.warnings]
    except (OSError, BadFileError) as error:
        raise SourceError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}"
        ) from error
    if not chunks:
        warnings.append(f"{path}: it holds no text that a search could find")
    with store.storage.guarded("cannot write"):
        problems = put_document(store.storage, store.fitting_embedder, prepared, source)
    return len(chunks), warnings + problems


DEBOUNCE = 1500  # milliseconds without a further change until a change is taken in
# The same where somebody may stop it: only then does it look whether that has happened
DEBOUNCE_STOPPED = 400
LONGEST = 10_000  # milliseconds for which changes may put that off
LOOK = 2000  # milliseconds between two looks for changes that come without an event
ROUND = 60.0  # seconds between two rounds without any event
WATCH_EMBED_SECONDS = 30.0


class Watch:
    """A watch over what was ingested: the operating system tells of changes, `refresh` does the rest.

    Some changes come without an event and are looked for now and then: single files (editors put
    another file in their place), sessions that have become quiet, chunks that wait for a server,
    folders that come back.

    `paths` are some of what was ingested, empty for all. `on_report` gets the report of each
    update.

    Raises SourceError for a path that was never ingested, or if the package watchfiles is missing.
    """

    def __init__(
        self,
        store: HybridStore,
        paths: Sequence[str],
        on_report: Callable[[Report], None],
        stop: "Event | None" = None,
    ) -> None:
        try:
            import watchfiles
        except ImportError as error:
            raise SourceError(missing_package("`hybrid-memory watch`", "watch")) from error
        self._watch = watchfiles.watch
        self._usual = watchfiles.DefaultFilter()
        self._store = store
        self._on_report = on_report
        self._stop = stop
        self._known: list[Source] | None = None
        self._only = {real_path(path) for path in paths}
        ingested = {source.path for source in self._sources()}
        if unknown := self._only - ingested:
            raise SourceError(
                f"{min(unknown)} was never ingested; once `hybrid-memory ingest --path {min(unknown)}`"
            )
        if not ingested:
            raise SourceError(
                "nothing was ingested yet; `hybrid-memory ingest --path DIR` says what to watch"
            )

    @property
    def paths(self) -> list[str]:
        return sorted({source.path for source in self._sources()})

    def run(self) -> None:
        """Take in changes until a KeyboardInterrupt, or until `stop` is set."""
        while not (self._stop and self._stop.is_set()):
            folders = self._folders()
            due = True  # for what happened while nobody watched
            seen = self._files()
            last = 0.0
            for changes in self._events(folders):
                due = (
                    due
                    or bool(changes)
                    or self._files() != seen
                    or time.monotonic() - last >= ROUND
                )
                if due:
                    seen = self._files()
                    last = time.monotonic()
                    due = not self._take_in()
                if self._folders() != folders:
                    break

    def _events(self, folders: set[str]) -> Iterator[object]:
        """Yield what changed, or nothing, every now and then; first once before and once after the
        system begins to watch.
        """
        try:
            changes = self._watch(
                *folders,
                watch_filter=lambda change, path: (
                    self._usual(change, path) and not path.startswith(self._store.path)
                ),
                debounce=LONGEST,
                step=DEBOUNCE_STOPPED if self._stop else DEBOUNCE,
                rust_timeout=LOOK,
                yield_on_timeout=True,
                stop_event=self._stop,
            )
            yield "before"
            for number, changed in enumerate(changes):
                yield changed or number == 0
        except FileNotFoundError:  # gone just now
            return
        except (OSError, RuntimeError) as error:
            raise SourceError(f"cannot watch {', '.join(sorted(folders))}: {error}") from error

    def _take_in(self) -> bool:
        """Refresh the store. Gives False if the database could not be written or reached, so that
        it is tried again.
        """
        report = refresh(self._store, embed_seconds=0.0, extract_seconds=None, paths=self._only)
        try:
            with self._store.storage.guarded():
                embeddings = self._store.storage.embeddings
                if report.pending or embeddings.spare.next_identity():
                    report.embedded_by(self._store.embed(seconds=WATCH_EMBED_SECONDS))
                    report.pending = embeddings.count_pending()
        except StoreError as error:
            report.is_complete = False
            report.warning(self._store.path, str(error), "database")
        self._on_report(report)
        return report.is_complete

    def _sources(self) -> list[Source]:
        """Return what is watched: while a server is down, what it was before."""
        try:
            with self._store.storage.guarded():
                self._known = self._store.storage.sources.all()
        except ConnectionLostError:
            if self._known is None:
                raise
        return [source for source in self._known if not self._only or source.path in self._only]

    def _folders(self) -> set[str]:
        return {source.path for source in self._sources() if os.path.isdir(source.path)}

    def _files(self) -> list[tuple[float, int] | None]:
        return [_state(source.path) for source in self._sources() if source.is_file]


def _state(path: str) -> tuple[float, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime, status.st_size
