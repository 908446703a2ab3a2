"""Threads that have a store each. Requests wait for a thread in the order in which they came."""

import os
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from ...errors import HybridMemoryError
from ...store import HybridStore

MOST_WAITING = 500  # requests; a further one is refused

OpenStore = Callable[[], HybridStore]
Work = Callable[[HybridStore], Any]


class BusyError(HybridMemoryError):
    """More requests wait than can be answered in time."""


class Workers:
    """`count` threads. Each opens its store for the first request that it gets, and anew if another file takes its place.

    With one thread, requests wait for each other. The threads do not keep the process from ending.
    """

    def __init__(self, open_store: OpenStore, count: int) -> None:
        self._open = open_store
        self._queue: SimpleQueue[tuple[Future[Any], Work] | None] = SimpleQueue()
        self.threads = [Thread(target=self._run, daemon=True) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def submit(self, work: Work) -> "Future[Any]":
        """Have a thread call `work` with its store. Raises BusyError."""
        if self._queue.qsize() >= MOST_WAITING:
            raise BusyError("too many requests are waiting; try again in a moment")
        future: Future[Any] = Future()
        self._queue.put((future, work))
        return future

    def end(self) -> None:
        """Have the threads end after what they do now. What they have not begun is not done."""
        with suppress(Empty):
            while job := self._queue.get_nowait():
                job[0].cancel()
        for _ in self.threads:
            self._queue.put(None)

    def _run(self) -> None:
        held = Held(self._open)
        while job := self._queue.get():
            _do(held, *job)
            del job  # or its answer would stay in memory until the next one
        held.close()


def _do(held: "Held", future: "Future[Any]", work: Work) -> None:
    if not future.set_running_or_notify_cancel():  # whoever asked has left
        return
    try:
        store = held.store()
        with store.storage.guarded():
            answer = work(store)
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(answer)


class Held:
    """A store that stays open between requests, in one thread."""

    def __init__(self, open_store: OpenStore) -> None:
        self._open = open_store
        self._store: HybridStore | None = None
        self._file: tuple[int, int] | None = None

    def store(self) -> HybridStore:
        """The store at its path as it is now, without the warnings of earlier requests. Raises StoreError."""
        if self._store and file_at(self._store.path) != self._file:  # deleted, or replaced as after a rescue
            self.close()
        if self._store is None:
            self._store = self._open()
            self._file = file_at(self._store.path)
        self._store.warnings = []
        return self._store

    def close(self) -> None:
        """Close the store."""
        if self._store:
            self._store.close()
        self._store = None


def file_at(path: str) -> tuple[int, int] | None:
    """Which file is at the path, whatever it holds; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
