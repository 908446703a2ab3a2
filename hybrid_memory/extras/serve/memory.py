"""The memory behind the server: its settings, the state of its database, and its threads, each with
a store. Also the search for similar passages, by stored embeddings, without a model.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import date
from os import urandom
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, TypeVar

from ... import __version__, config
from ...errors import HybridMemoryError, NotFoundError, QueryError
from ...messages import Progress
from ...search.request import Request
from ...store import HybridStore, retry_once
from ...sync.ingest import Ingest
from ...text.characters import citation
from .bounds import NO_BOUNDS, Bounds
from .responses import as_json, etag, problem_document

MOST_WAITING = 500  # requests in a queue; more are refused
STOPPED = (  # an update
    "the server is shutting down; what was read so far is stored, and the next update continues"
)
READERS = 4
# Seconds for threads to finish their work; SQLite rolls back a write that is cut off then
ENDING = 0.7

News = tuple[str, dict[str, Any]]  # name and data of an event
PAUSE = 0.1  # seconds between two progress events
# Seconds between keep-alive comments, so that no proxy closes the connection
SILENCE = 15.0

T = TypeVar("T")
OpenStore = Callable[[], HybridStore]
Work = Callable[[HybridStore], Any]


class BusyError(HybridMemoryError):
    """The server has too many waiting requests, or is shutting down."""


class Job(Future[Any]):
    """Work for a thread, and the store that it currently uses."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self.work = work
        self._turn = Lock()
        self._store: HybridStore | None = None
        self._is_stopped = False

    def run(self, holder: "StoreHolder") -> None:
        """Do the work, unless it was cancelled."""
        if not self.set_running_or_notify_cancel():
            return
        try:
            answer = self._answer(holder)
        except BaseException as error:
            self.set_exception(error)
        else:
            self.set_result(answer)
        holder.was_stopped = self._is_stopped

    def _answer(self, holder: "StoreHolder") -> Any:
        """Do the work and return its result. Retry it once if an interrupt for the previous job may
        have ended it.

        Statements that the previous job left open keep the connection interrupted, and a request to
        cancel may reach a database server late.
        """
        try:
            return self._attempt(holder.store())
        except Exception:
            if self._is_stopped or not holder.was_stopped:
                raise
        holder.close()
        return self._attempt(holder.store())

    def _attempt(self, store: HybridStore) -> Any:
        self._set_store(store)
        try:
            with store.storage.guarded():
                return self.work(store)
        finally:
            self._set_store(None)

    def stop(self) -> None:
        """Cancel the work if it has not begun; else interrupt its current statement."""
        self.cancel()
        with self._turn:
            if self._store:
                self._is_stopped = True
                self._store.storage.interrupt()

    def _set_store(self, store: HybridStore | None) -> None:
        with self._turn:
            self._store = store


class Workers:
    """A pool of threads with a first-in, first-out queue of requests.

    Each thread opens its store for its first request, and again if the database file is replaced.
    The threads do not keep the process alive.
    """

    def __init__(self, open_store: OpenStore, count: int) -> None:
        self._open = open_store
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self.threads = [Thread(target=self._run, daemon=True) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def submit(self, work: Work) -> Job:
        """Queue `work`; a thread calls it with its store. Raises BusyError if the queue is full."""
        if self._queue.qsize() >= MOST_WAITING:
            raise BusyError("too many requests are waiting; try again in a moment")
        job = Job(work)
        self._queue.put(job)
        return job

    def end(self) -> None:
        """End each thread after its current job. Cancel all waiting jobs."""
        with suppress(Empty):
            while True:
                job = self._queue.get_nowait()
                if job is None:
                    break
                job.cancel()
        for _ in self.threads:
            self._queue.put(None)

    def _run(self) -> None:
        holder = StoreHolder(self._open)
        while self._run_next(holder):
            pass
        holder.close()

    def _run_next(self, holder: "StoreHolder") -> bool:
        """Run the next job; return False at the end.

        A separate method, so that no local variable keeps a result alive while the thread waits.
        """
        job = self._queue.get()
        if job is None:
            return False
        job.run(holder)
        return True


def in_thread(work: Callable[[], T]) -> Future[T]:
    """Do work in a thread that does not keep the process alive."""
    job: Future[T] = Future()
    job.set_running_or_notify_cancel()

    def run() -> None:
        try:
            answer = work()
        except BaseException as error:
            job.set_exception(error)
        else:
            job.set_result(answer)

    Thread(target=run, daemon=True).start()
    return job


class StoreHolder:
    """A store that stays open between requests, in one thread."""

    def __init__(self, open_store: OpenStore) -> None:
        self._open = open_store
        self._store: HybridStore | None = None
        self._file: tuple[int, int] | None = None
        self.was_stopped = False  # whether the last job was interrupted

    def store(self) -> HybridStore:
        """Return the open store, reopened if its file was replaced, without the warnings of earlier
        requests. Raises StoreError.
        """
        if self._store and file_at(self._store.path) != self._file:
            self.close()  # the file was deleted or replaced
        if self._store is None:
            self._store = self._open()
            self._file = file_at(self._store.path)
        self._store.warnings = []
        return self._store

    def close(self) -> None:
        if self._store:
            self._store.close()
        self._store = None


def file_at(path: str) -> tuple[int, int] | None:
    """Return the device and inode of the file at this path; None if it is missing."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class Stopped(Exception):
    """The server is shutting down."""


class Update(Thread):
    """A thread that updates the memory with its own store. It does not keep the process alive."""

    def __init__(self, open_store: OpenStore, *, everything: bool) -> None:
        super().__init__(daemon=True)
        self._open = open_store
        self._everything = everything
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._progress: Progress | None = None
        self._last: News | None = None
        self._stopped = False

    def run(self) -> None:
        try:
            with self._open() as store, store.storage.guarded():
                report = Ingest(
                    store, incremental=True, everything=self._everything, progress=self._on_progress
                ).update()
            self._last = "report", report.as_dict()
        except Stopped:
            pass
        except Exception as error:
            self._last = "problem", problem_document(error, "/api/update")
            if not isinstance(error, HybridMemoryError):
                raise  # a bug: the thread prints its traceback
        finally:
            self._wake()

    def stop(self) -> None:
        """End the thread after its current file or batch, and the stream at once."""
        self._stopped = True
        self._last = self._last or ("problem", problem_document(BusyError(STOPPED), "/api/update"))
        self._news.set()

    async def events(self) -> AsyncIterator[bytes]:
        """Yield server-sent events: the latest progress at intervals, and the report or a problem
        at the end.
        """
        sent_progress = None
        while not self._last:
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

    def _on_progress(self, progress: Progress) -> None:
        if self._stopped:
            raise Stopped
        self._progress = progress
        self._wake()

    def _wake(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)


def as_event(name: str, data: dict[str, Any]) -> bytes:
    """Encode a server-sent event."""
    return f"event: {name}\ndata: ".encode() + as_json(data) + b"\n\n"


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
        self.open_store = open_store
        self._needs_token = needs_token
        self._readers = Workers(open_store, READERS)
        self._writer = Workers(open_store, 1)
        self._slow = Workers(open_store, 1)
        self._states = Workers(open_store, 1)
        self._run = urandom(8)  # state numbers are not comparable between runs of the server
        self._last_store: HybridStore | None = None
        self._open_count = 0
        self.update: Update | None = None
        self.watcher: Thread | None = None
        self.ending = Event()

    async def read(self, work: Callable[[HybridStore], T]) -> T:
        """Return the result of `work` on a store. It is interrupted if the caller is cancelled."""
        return await self._answer(self._readers, work, may_stop=True)

    async def write(self, work: Callable[[HybridStore], T]) -> T:
        """Like `read`, for work that writes; it is not interrupted."""
        return await self._answer(self._writer, work)

    async def slowly(self, work: Callable[[HybridStore], T]) -> T:
        """Like `write`, for long work, one job at a time."""
        return await self._answer(self._slow, work)

    async def etag(self, *parts: object) -> str:
        """Return an ETag for an answer that depends on these parts, the store and the date."""
        state = await self._answer(self._states, self._state)
        return etag(self._run, state, date.today(), *parts)

    async def _answer(
        self, workers: Workers, work: Callable[[HybridStore], T], *, may_stop: bool = False
    ) -> T:
        """Run `work` in one of the threads and return its result. If the caller is cancelled while
        the work is still waiting, it does not start.
        """
        job = workers.submit(work)
        try:
            answer: T = await asyncio.wrap_future(job)
        finally:
            if may_stop and not job.done():
                job.stop()
        return answer

    def _state(self, store: HybridStore) -> tuple[int, int]:
        # The first store, or reopened because its file was replaced
        if store is not self._last_store:
            self._last_store = store
            self._open_count += 1
        return self._open_count, store.storage.state()

    def server(self) -> dict[str, Any]:
        """Return the part of the overview about the server itself."""
        return {
            "version": __version__,
            "watching": bool(self.watcher and self.watcher.is_alive()),
            "updating": bool(self.update and self.update.is_alive()),
            "token": self._needs_token,
        }

    def begin_ending(self) -> None:
        """Stop the watch, the update and its stream. Requests are still answered. Call it in the
        thread of the event loop.
        """
        self.ending.set()
        if self.update:
            self.update.stop()

    def close(self) -> None:
        """Stop all threads and wait for them up to ENDING seconds."""
        self.begin_ending()
        for workers in self._workers():
            workers.end()
        threads = [thread for workers in self._workers() for thread in workers.threads]
        threads += [thread for thread in (self.update, self.watcher) if thread]
        deadline = time.monotonic() + ENDING
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _workers(self) -> tuple[Workers, ...]:
        return self._readers, self._writer, self._slow, self._states


# Neighbours requested in addition to the limit, as many may be in the document itself.
DEPTH = 50
FIELDS = (
    "doc_id",
    "chunk_id",
    "heading",
    "heading_path",
    "text",
    "score",
    "path",
    "start_line",
    "end_line",
    "citation",
    "collection",
    "date",
    "metadata",
)


@retry_once
def passages(
    store: HybridStore, doc_id: str, lines: str | None, *, limit: int = 5
) -> dict[str, Any]:
    """Return up to `limit` passages of other documents that are most similar to the first chunk in
    these lines ("12-30" or "12"), by default the document's first chunk.

    `by` is "vector", and `score` is the cosine similarity; or, if the chunk has no embedding, `by`
    is "keyword", and `score` comes from a search for its words. Raises NotFoundError if there is no
    such document, QueryError if it has no passage in these lines.
    """
    storage = store.storage
    start, _, end = (lines or f"1-{10**9}").partition("-")
    first = int(start.partition("C")[0])
    with storage.snapshot():
        if storage.catalog.by_id(doc_id) is None:
            raise NotFoundError(f"no document {doc_id!r} in this memory")
        ids = storage.chunks.at(doc_id, first, int(end or first))
        if not ids:
            where = ""
            if lines:
                where = f" in the lines {lines}"
            raise QueryError(f"{doc_id} has no passage{where}")
        vectors = storage.vectors()
        vector = vectors.of(ids[0])
        if vector:
            neighbours = vectors.nearest(vector, limit + DEPTH)
            rows = storage.chunks.rows([id for id, _ in neighbours])
        else:
            text = storage.chunks.rows(ids[:1])[ids[0]].text
    if vector:
        results: Sequence[Mapping[str, Any]] = [
            _result(rows[id], round(cosine, 6)) for id, cosine in neighbours
        ]
    else:
        request = Request(limit + DEPTH, "keyword", per_doc=limit, rerank=False, literal=True)
        results = store.answer(text, request).results
    others = [result for result in results if result["doc_id"] != doc_id][:limit]
    return {
        "by": "vector" if vector else "keyword",
        "results": [{field: result[field] for field in FIELDS} for result in others],
    }


def _result(row: Any, score: float) -> dict[str, Any]:
    place = citation(row.doc_id, row.start_line, row.end_line, row.pages)
    return {**row._asdict(), "score": score, "citation": place}
