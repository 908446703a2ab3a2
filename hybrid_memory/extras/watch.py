"""The command `watch`: update a memory while files change."""

import os
import signal
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from threading import Event

from ..errors import ConnectionLostError, SourceError
from ..storage.source import Source, real_path
from ..store import HybridStore
from ..surface.arguments import Parser, examples
from ..surface.opening import open_store
from ..surface.streams import print_advice
from ..sync.refresh import refresh
from ..sync.report import Report
from .environment import needing

DEBOUNCE = 1500  # milliseconds without a change before an update starts
LONGEST_DELAY = 10_000  # milliseconds that further changes can delay an update
LOOK = 2000  # milliseconds between two checks for changes that raise no event
FULL_ROUND = 60.0  # seconds between two updates without any event
WATCH_EMBED_SECONDS = 30.0


def watch_options(parser: Parser) -> None:
    parser.add_argument(
        "--path",
        action="append",
        default=[],
        metavar="DIR",
        help="watch only this ingested folder or file (repeatable)",
    )
    examples(parser, "watch", "watch --path ~/notes")


def run_watch(args: Namespace) -> int:
    reported: set[str] = set()

    def print_report(report: Report) -> None:
        print_advice(args, *report.summary(), *report.notes)
        problems = report.warning_lines()
        print_advice(args, *(problem for problem in problems if problem not in reported))
        reported.clear()
        reported.update(problems)  # report a persistent problem only once

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), open_store(args) as store:
        watch = Watch(store, args.path, print_report)
        print_advice(args, f"watching {', '.join(watch.paths)}; press Ctrl-C to stop")
        watch.run()
    return 0


class Watch:
    """Watches ingested folders and files: the operating system reports changes, `refresh` updates
    the store.

    Some changes raise no event and are checked for periodically: single files (editors replace
    them), sessions that have become quiet, chunks that wait for an embedding server, and folders
    that reappear.

    `paths` selects ingested folders and files; empty means all. `on_report` receives the report of
    each update. The watch ends when `stop` is set.

    Raises SourceError for a path that was never ingested, ConfigError if the package watchfiles is
    missing.
    """

    def __init__(
        self,
        store: HybridStore,
        paths: Sequence[str],
        on_report: Callable[[Report], None],
        stop: Event | None = None,
    ) -> None:
        with needing("watch"):
            import watchfiles  # noqa: F401
        self._store = store
        self._on_report = on_report
        self._stop = stop
        self._last_sources: list[Source] | None = None
        self._selected = {real_path(path) for path in paths}
        ingested = {source.path for source in self._sources()}
        if unknown := self._selected - ingested:
            raise SourceError(
                f"{min(unknown)} was never ingested; "
                f"run `hybrid-memory ingest --path {min(unknown)}` once"
            )
        if not ingested:
            raise SourceError(
                "nothing to watch: no folder was ingested; run `hybrid-memory ingest --path DIR`"
            )

    @property
    def paths(self) -> list[str]:
        return sorted({source.path for source in self._sources()})

    def run(self) -> None:
        """Update the store on changes, until a KeyboardInterrupt or until `stop` is set."""
        while not (self._stop and self._stop.is_set()):
            folders = self._folders()
            due = True  # files may have changed before the watch started
            file_states = self._files()
            last = 0.0
            for changes in self._events(folders):
                due = (
                    due
                    or bool(changes)
                    or self._files() != file_states
                    or time.monotonic() - last >= FULL_ROUND
                )
                if due:
                    file_states = self._files()
                    last = time.monotonic()
                    due = not self._update()
                if self._folders() != folders:
                    break

    def _events(self, folders: set[str]) -> Iterator[object]:
        """Yield sets of changes, and falsy values at intervals without any.

        The first two values are truthy: one before and one after the system starts watching.
        """
        from watchfiles import DefaultFilter, watch

        wanted = DefaultFilter()
        try:
            changes = watch(
                *folders,
                watch_filter=lambda change, path: (
                    wanted(change, path) and not path.startswith(self._store.path)
                ),
                debounce=LONGEST_DELAY,
                step=DEBOUNCE,
                rust_timeout=LOOK,
                yield_on_timeout=True,
                stop_event=self._stop,
            )
            yield "before"
            for number, changed in enumerate(changes):
                yield changed or number == 0
        except FileNotFoundError:  # a folder was just deleted
            return
        except (OSError, RuntimeError) as error:
            raise SourceError(f"cannot watch {', '.join(sorted(folders))}: {error}") from error

    def _update(self) -> bool:
        """Refresh the store. Return False if the database could not be written or reached; the
        update is then tried again.
        """
        report = refresh(
            self._store,
            embed_seconds=WATCH_EMBED_SECONDS,
            extract_seconds=None,
            paths=self._selected,
        )
        self._on_report(report)
        return report.is_complete

    def _sources(self) -> list[Source]:
        """Return the watched sources; while the database server is down, the last known ones."""
        try:
            with self._store.storage.guarded():
                self._last_sources = self._store.storage.sources.all()
        except ConnectionLostError:
            if self._last_sources is None:
                raise
        return [
            source
            for source in self._last_sources
            if not self._selected or source.path in self._selected
        ]

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
