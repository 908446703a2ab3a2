"""The memory that the server is about: its settings, its threads, and the state of its database."""

import asyncio
import time
from collections.abc import Callable
from datetime import date
from os import urandom
from threading import Event, Thread
from typing import Any, TypeVar

from ... import __version__, config
from ...store import HybridStore
from .answers import etag
from .api.updates import Update
from .workers import BusyError, OpenStore, Workers

READERS = 4
ENDING = 0.7  # seconds that threads have to finish what they do; a write that is cut off then is undone by SQLite

T = TypeVar("T")


class Memory:
    """Readers wait for nobody; writers wait for each other. `open_store` is called in the thread that uses the store."""

    def __init__(self, open_store: OpenStore, settings: config.Settings, *, needs_token: bool = False) -> None:
        self.settings, self.open_store, self._needs_token = settings, open_store, needs_token
        self._readers, self._writer, self._slow, self._states = (Workers(open_store, count) for count in (READERS, 1, 1, 1))
        self._run = urandom(8)  # the number of a state means nothing to another run of the server
        self._seen: HybridStore | None = None
        self._opened = 0
        self.update: Update | None = None
        self.watcher: Thread | None = None
        self.ending = Event()
        self._end: asyncio.Future[None] | None = None

    async def read(self, work: Callable[[HybridStore], T]) -> T:
        """What `work` gives for a store."""
        return await self._answer(self._readers, work)

    async def write(self, work: Callable[[HybridStore], T]) -> T:
        """The same for work that writes."""
        return await self._answer(self._writer, work)

    async def slowly(self, work: Callable[[HybridStore], T]) -> T:
        """The same for work that takes long, one after the other."""
        return await self._answer(self._slow, work)

    async def etag(self, *parts: object) -> str:
        """An ETag for an answer that depends on these parts, the store and the day."""
        state = await self._answer(self._states, self._state)
        return etag(self._run, state, date.today(), *parts)

    async def _answer(self, workers: Workers, work: Callable[[HybridStore], T]) -> T:
        """What a thread answers. Raises BusyError when the server ends first."""
        self._end = self._end or asyncio.get_running_loop().create_future()
        future: asyncio.Future[T] = asyncio.wrap_future(workers.submit(work))
        either: set[asyncio.Future[Any]] = {future, self._end}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not future.done() or future.cancelled():
            raise BusyError("the server is ending")
        return future.result()

    def _state(self, store: HybridStore) -> tuple[int, int]:
        if store is not self._seen:  # the first, or one that was opened because another file took the place of its own
            self._seen, self._opened = store, self._opened + 1
        return self._opened, store.storage.state()

    def server(self) -> dict[str, Any]:
        """What the overview tells of the server itself."""
        watching, updating = (bool(thread and thread.is_alive()) for thread in (self.watcher, self.update))
        return {"version": __version__, "watching": watching, "updating": updating, "token": self._needs_token}

    def end(self) -> None:
        """Tell all that goes on to end: requests, an update and its stream, the watch. For the thread of the event loop."""
        self.ending.set()
        if self._end and not self._end.done():
            self._end.set_result(None)
        if self.update:
            self.update.stop()
        for workers in self._workers():
            workers.end()

    def close(self) -> None:
        """End the threads."""
        self.end()
        threads = [thread for workers in self._workers() for thread in workers.threads]
        threads += [thread for thread in (self.update, self.watcher) if thread]
        deadline = time.monotonic() + ENDING
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _workers(self) -> tuple[Workers, ...]:
        return self._readers, self._writer, self._slow, self._states
