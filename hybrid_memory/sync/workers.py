"""Read files in other processes while this one writes.

A worker process runs `main` until its standard input ends, at the end of the ingest. A request is
how to read the files of the source, the built-in provider and the path of its table if texts should
be embedded, and a job. The reply is its outcome, or None after an unexpected exception. Both are
marshal data after their length: Python values without classes, exchanged between two processes of
one Python.

Outcomes come in the order of the files. If a worker dies, nothing is lost: the caller does the jobs
that have no outcome.
"""

import gc
import marshal
import struct
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from subprocess import DEVNULL, PIPE, Popen
from threading import local
from typing import IO, TYPE_CHECKING, Any, TypeVar

from ..paths import CHECKOUT
from ..registry import PROVIDERS, load
from ..storage.prepared import Extract, Prepared, texts_of
from ..text.links import DocumentLinks, Link
from .reading import Job, Outcome, ReadOptions, Unchanged, read

if TYPE_CHECKING:
    from ..embedding.builtin import BuiltinEmbedder


BuiltinTable = tuple[str, str]  # a built-in provider, and the path of its table
LENGTH = struct.Struct("<Q")


def send(stream: IO[bytes], value: Any) -> None:
    """Write a value that marshal supports. Raises OSError if the reader is gone."""
    data = marshal.dumps(value)
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """Read the bytes of a value. Raises EOFError if the other side has ended."""
    header = stream.read(LENGTH.size)
    if len(header) < LENGTH.size:
        raise EOFError
    (size,) = LENGTH.unpack(header)
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def request(
    process: "Popen[bytes]", options: ReadOptions, table: BuiltinTable | None, job: Job
) -> bytes:
    """Send a job to a process and return its reply. Raises EOFError or OSError if it has ended."""
    assert process.stdin
    assert process.stdout
    send(process.stdin, (tuple(options), table, tuple(job)))
    return receive(process.stdout)


def outcome_of(reply: "Future[bytes]") -> Outcome | None:
    """Wait for a reply and decode it; None if the caller has to do the job."""
    data = reply.result()
    values = marshal.loads(data) if data else None
    return values and _outcome(*values)


def _outcome(
    unchanged: tuple[str, float, int] | None, prepared: tuple[Any, ...] | None, *rest: Any
) -> Outcome:
    found: Prepared | Unchanged | None = Unchanged(*unchanged) if unchanged else None
    if prepared:
        row, extract, chunks, terms, (titles, links, tags), left_out = prepared
        found = Prepared(
            row | {"extract": extract and Extract(*extract)},
            chunks,
            texts_of(chunks),
            terms,
            DocumentLinks(titles, tuple(map(Link._make, links)), tags),
            left_out=left_out,
        )
    return Outcome(found, *rest)


def _reply(outcome: Outcome) -> Any:
    found, *rest = outcome
    unchanged = tuple(found) if isinstance(found, Unchanged) else None
    return unchanged, _plain(found) if isinstance(found, Prepared) else None, *rest


def _plain(found: Prepared) -> tuple[Any, ...]:
    """The parts of a document to send: the texts follow from its chunks."""
    extract = found.row["extract"]
    names = found.links
    links = [tuple(link) for link in names.links]
    row = found.row | {"extract": None}
    return (
        row,
        extract and tuple(extract),
        found.chunks,
        found.terms,
        (names.titles, links, names.tags),
        found.left_out,
    )


def _answer(options: ReadOptions, job: Job, embedder: "BuiltinEmbedder | None") -> Any:
    try:
        return _reply(read(options, job, embedder))
    except Exception:
        return None


def main() -> None:
    """Answer requests until standard input ends."""
    requests = sys.stdin.buffer
    replies = sys.stdout.buffer
    gc.set_threshold(100_000)  # rows contain no reference cycles
    embedder: BuiltinEmbedder | None = None
    try:
        while True:
            options, table, job = marshal.loads(receive(requests))
            if table and not embedder:
                provider, path = table
                embedder = load(PROVIDERS[provider])(path)
            used = embedder if table else None
            send(replies, _answer(ReadOptions(*options), Job(*job), used))
    except (EOFError, BrokenPipeError):
        pass


MOST = 8  # processes of some 15 MB each; one writer cannot keep more of them busy
# The same with the built-in model, some 45 MB each: less than 200 MB with the writer
MOST_EMBEDDING = 3
# Bytes of due files that make it worth starting processes; a fourth of it if they embed
ENOUGH = 2_000_000
AHEAD = 3_000_000  # bytes of files that may be read ahead of the writer
# Imports the package that this process runs, wherever it is, and nothing else from its folder.
MAIN = """
import sys
sys.path.insert(0, sys.argv[1])
import hybrid_memory
del sys.path[0]
from hybrid_memory.sync.workers import main
main()
"""
Item = TypeVar("Item")


class Workers:
    """At most `count` processes, started when first needed. Close it when done.

    Each thread of a pool has a process of its own. A ProcessPoolExecutor would import the main module
    of the calling program again in each of them, and run it where it has no guard.
    """

    def __init__(self, count: int) -> None:
        self._most = count
        self._threads: ThreadPoolExecutor | None = None
        self._of_thread = local()  # `process`, if one is running
        self._processes: set[Popen[bytes]] = set()
        self._closed = False  # no more work is sent

    def outcomes(
        self,
        items: Iterable[tuple[Item, Job | None]],
        options: ReadOptions,
        table: BuiltinTable | None,
    ) -> Iterator[tuple[Item, Outcome | None]]:
        """Yield the items in order, each with the outcome of its job; None if the caller has to do
        it.

        `table` is the built-in model's table, if texts should be embedded.
        """
        count = min(self._most, MOST)
        bytes_to_start = ENOUGH
        if table:
            count = min(self._most, MOST_EMBEDDING)
            bytes_to_start = ENOUGH // 4
        queue: deque[tuple[Item, Job | None]] = deque()  # not yet yielded, in order
        # Of the jobs in the queue. Without enough work no process is started, and the caller does it
        replies: deque[Future[bytes]] = deque()
        waiting: list[Job] = []  # until there is enough work
        bytes_ahead = 0
        for item, job in items:
            queue.append((item, job))
            if job:
                waiting.append(job)
                bytes_ahead += job.size
            if bytes_ahead >= bytes_to_start:
                self._threads = self._threads or ThreadPoolExecutor(count)
            if self._threads:
                for each in waiting:
                    replies.append(self._threads.submit(self._request, options, table, each))
                waiting.clear()
            # Until more than AHEAD bytes are in memory, the processes get more work first
            while queue and (queue[0][1] is None or (self._threads and bytes_ahead > AHEAD)):
                item, job = queue.popleft()
                bytes_ahead -= job.size if job else 0
                yield item, outcome_of(replies.popleft()) if job and replies else None
        for item, job in queue:
            yield item, outcome_of(replies.popleft()) if job and replies else None

    def close(self) -> None:
        """Kill the processes, whatever they are doing."""
        self._closed = True
        for process in [*self._processes]:
            process.kill()
        if self._threads:
            self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            with suppress(OSError):
                process.communicate()  # closes the pipes

    def _request(self, options: ReadOptions, table: BuiltinTable | None, job: Job) -> bytes:
        """Send a job to the process of this thread. If that has died, the caller does its jobs, and so
        meets the same error.
        """
        process: Popen[bytes] | None = getattr(self._of_thread, "process", None)
        with suppress(Exception):
            if not self._closed:
                self._of_thread.process = process = process or self._start()
                return request(process, options, table, job)
        return b""

    def _start(self) -> "Popen[bytes]":
        # -P: nothing is imported from the working directory. A new session: Ctrl-C reaches only
        # the ingest, which then ends the processes.
        command = [sys.executable, "-P", "-c", MAIN, CHECKOUT]
        process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True)
        self._processes.add(process)
        if self._closed:
            process.kill()
        return process
