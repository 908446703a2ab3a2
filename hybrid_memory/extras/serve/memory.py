"""The memory behind the server: its settings, the state of its database, and the threads that work
on it, each with a store.
"""

import asyncio
import os
import traceback
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date
from os import urandom
from threading import Event, Thread
from time import monotonic
from typing import Any, TypeVar

from ... import __version__, config
from ...errors import HybridMemoryError
from ...messages import Progress
from ...store import HybridStore
from ...sync.ingest import Ingest
from .bounds import NO_BOUNDS, Bounds
from .responses import BusyError, Problem, as_json, etag, problem_document

READERS = 4
MOST_WAITING = 500  # unanswered requests for the same threads; more are refused
STOPPED = (  # an update
    "the server is shutting down; what was read so far is stored, and the next update continues"
)
PAUSE = 0.1  # seconds between two progress events

T = TypeVar("T")
OpenStore = Callable[[], HybridStore]
Work = Callable[[HybridStore], T]
File = tuple[int, int]  # device and inode


class StoreThreads:
    """Threads that work on stores, which stay open between requests."""

    def __init__(self, open_store: OpenStore, count: int) -> None:
        self._open = open_store
        self._threads = ThreadPoolExecutor(count)
        # Open stores, each with the database file that it had when it was opened
        self._idle: list[tuple[HybridStore, File | None]] = []
        self._unanswered = 0

    async def do(self, work: Work[T]) -> T:
        """Return the result of `work` on a store. If the caller is cancelled while the work is
        still waiting, it does not start. Raises BusyError if too many are waiting.
        """
        if self._unanswered >= MOST_WAITING:
            raise BusyError("too many requests are waiting; try again in a moment")
        self._unanswered += 1
        try:
            return await asyncio.wrap_future(self._threads.submit(self._run, work))
        finally:
            self._unanswered -= 1

    def _run(self, work: Work[T]) -> T:
        store, file = self._take()
        try:
            with store.storage.guarded():
                return work(store)
        finally:
            self._idle.append((store, file))

    def _take(self) -> tuple[HybridStore, File | None]:
        """Return a store that no other thread uses, without the warnings of earlier requests."""
        with suppress(IndexError):
            while True:
                store, file = self._idle.pop()
                if file_at(store.path) == file:  # else it was replaced
                    store.warnings = []
                    return store, file
                store.close()
        store = self._open()
        return store, file_at(store.path)

    def close(self) -> None:
        """Cancel the waiting work, and close the stores that are not in use."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for store, _ in self._idle:
            store.close()


def file_at(path: str) -> File | None:
    """Identify the file at this path; None if it is missing."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class Update(Thread):
    """A thread that updates the memory with its own store, and its events for one client."""

    def __init__(self, open_store: OpenStore, *, everything: bool) -> None:
        super().__init__(daemon=True)
        self._open = open_store
        self._everything = everything
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue()
        self.is_running = True
        self._is_stopped = False
        self._next_progress = 0.0

    def run(self) -> None:
        try:
            with self._open() as store, store.storage.guarded():
                report = Ingest(
                    store, incremental=True, everything=self._everything, progress=self._on_progress
                ).update()
            event = "report", report.as_dict()
        except Exception as error:
            event = "problem", problem_document(error, "/api/update")
            if not isinstance(error, HybridMemoryError):
                traceback.print_exc()
        self.is_running = False
        self._tell(*event)

    def stop(self) -> None:
        """End the update after its current file or batch, and the stream of events at once."""
        self._is_stopped = True
        self._tell("problem", problem_document(BusyError(STOPPED), "/api/update"))

    async def events(self) -> AsyncIterator[bytes]:
        """Yield server-sent events: progress at intervals, and the report or a problem at the
        end.
        """
        name = "progress"
        while name == "progress":
            name, data = await self._events.get()
            yield f"event: {name}\ndata: ".encode() + as_json(data) + b"\n\n"

    def _on_progress(self, progress: Progress) -> None:
        if self._is_stopped:
            raise BusyError(STOPPED)
        if monotonic() >= self._next_progress:
            self._next_progress = monotonic() + PAUSE
            self._tell("progress", progress._asdict())

    def _tell(self, name: str, data: dict[str, Any]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._events.put_nowait, (name, data))


class Memory:
    """A memory for concurrent requests: several can read at a time, but only one can write.
    `open_store` is called in the thread that uses the store.
    """

    def __init__(
        self,
        open_store: OpenStore,
        settings: config.Settings,
        *,
        needs_token: bool = False,
        bounds: Bounds = NO_BOUNDS,
    ) -> None:
        self.settings = settings
        self.bounds = bounds
        self._open_store = open_store
        self._needs_token = needs_token
        self.readers = StoreThreads(open_store, READERS)
        self.writer = StoreThreads(open_store, 1)
        self._run = urandom(8)
        self._update: Update | None = None
        self.watcher: Thread | None = None
        self.ending = Event()

    async def etag(self, *parts: object) -> str:
        """Return an ETag for an answer that depends on these parts, the store, the date and the
        state of the server.
        """
        # Another file, and another run of the server, count their states anew
        state = await self.readers.do(lambda store: (file_at(store.path), store.storage.state()))
        return etag(self._run, state, date.today(), self.server(), *parts)

    def update(self, *, everything: bool) -> AsyncIterator[bytes]:
        """Start an update, and return the stream of its events. Raises Problem if one is
        running.
        """
        if self._is_updating:
            raise Problem(409, "an update is running; /api/overview shows when it is done")
        self._update = Update(self._open_store, everything=everything)
        self._update.start()
        return self._update.events()

    def server(self) -> dict[str, Any]:
        """Return the part of the overview about the server itself."""
        return {
            "version": __version__,
            "watching": self.watcher is not None and self.watcher.is_alive(),
            "updating": self._is_updating,
            "token": self._needs_token,
        }

    @property
    def _is_updating(self) -> bool:
        return self._update is not None and self._update.is_running

    def begin_ending(self) -> None:
        """Stop the watch, the update and its stream. Requests are still answered."""
        self.ending.set()
        if self._update:
            self._update.stop()

    def close(self) -> None:
        """Close the stores that are not in use."""
        self.readers.close()
        self.writer.close()
