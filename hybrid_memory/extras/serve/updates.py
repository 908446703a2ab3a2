"""An update that runs in a thread of its own, and whoever follows it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from threading import Thread
from typing import Any

from ...errors import HybridMemoryError
from ...messages import Progress
from ...store import HybridStore
from .responses import as_json, described

Event = tuple[str, dict[str, Any]]  # its name and its data
PAUSE = 0.1  # seconds between two events of progress
# Seconds after which a sign of life is sent, so that nothing on the way closes the connection
SILENCE = 15.0

OpenStore = Callable[[], HybridStore]


class Stopped(Exception):
    """The server ends."""


class Update(Thread):
    """Takes in what has changed, with a store of its own. The thread does not keep the process from
    ending.
    """

    def __init__(self, open_store: OpenStore, *, everything: bool) -> None:
        super().__init__(daemon=True)
        self._open = open_store
        self._everything = everything
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._progress: Progress | None = None
        self._last: Event | None = None
        self._stopped = False

    def run(self) -> None:
        """Run the update, for the thread."""
        from ...sync.ingest import Ingest

        try:
            with self._open() as store, store.storage.guarded():
                report = Ingest(
                    store, incremental=True, everything=self._everything, progress=self._tell
                ).update()
            self._last = "report", report.as_dict()
        except Stopped:
            pass
        except Exception as error:
            self._last = "problem", described(error, "/api/update")
            if not isinstance(error, HybridMemoryError):
                raise  # a bug: the thread prints its traceback
        finally:
            self._wake()

    def stop(self) -> None:
        """Have it end after the file or the batch at which it is."""
        self._stopped = True
        self._news.set()

    async def events(self) -> AsyncIterator[bytes]:
        """Yield what is sent to a client that follows: the newest progress now and then, and the
        report or the problem at the end.
        """
        sent_progress = None
        while not (self._last or self._stopped):
            try:
                await asyncio.wait_for(self._news.wait(), SILENCE)
            except TimeoutError:
                yield b": still at it\n\n"
                continue
            self._news.clear()
            if self._progress and self._progress != sent_progress and not self._last:
                sent_progress = self._progress
                yield as_event("progress", sent_progress._asdict())
                await asyncio.sleep(PAUSE)
        if self._progress and self._progress != sent_progress:
            yield as_event("progress", self._progress._asdict())
        if self._last:
            yield as_event(*self._last)

    def _tell(self, progress: Progress) -> None:
        if self._stopped:
            raise Stopped
        self._progress = progress
        self._wake()

    def _wake(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)


def as_event(name: str, data: dict[str, Any]) -> bytes:
    """Return a server-sent event."""
    return f"event: {name}\ndata: ".encode() + as_json(data) + b"\n\n"
