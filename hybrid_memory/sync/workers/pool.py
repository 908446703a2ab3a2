"""Lets other processes read files while this one writes, if there is enough to do. The outcomes come in the order of the files.

Whatever happens to a process, nothing is lost: jobs of which no outcome came are done by the caller.
"""

import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from ...environment import CHECKOUT
from ..reading import Job, Outcome, Way
from . import worker

if TYPE_CHECKING:
    from queue import SimpleQueue
    from subprocess import Popen
    from threading import Thread

MOST = 8  # processes: one writer cannot keep more of them busy. They take some 15 MB each
MOST_EMBEDDING = 3  # the same with the built-in model, some 45 MB each: with the writer less than 200 MB
ENOUGH = 2_000_000  # bytes of files that are due: less is done before the processes have started; a fourth if they embed
AHEAD = 3_000_000  # bytes of files that are read before they are written
BATCH = 200_000  # bytes of files that a process gets at a time
BATCH_FILES = 64
FAILURES = 3  # processes that ended by themselves; after that no more are started
# The package that this process runs, wherever it is, is imported, and nothing else from beside it.
MAIN = """
import sys
sys.path.insert(0, sys.argv[1])
import hybrid_memory
del sys.path[0]
from hybrid_memory.sync.workers.worker import main
main()
"""

Item = TypeVar("Item")


def cores() -> int:
    """How many cores this process may use for `Workers`; 1 where it cannot start any."""
    if not sys.executable:
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Batch:
    """Jobs that one process does; `reply` is None if it did not."""

    def __init__(self, way: Way, table: str | None) -> None:
        from threading import Event  # imports like this one are not for every ingest to pay

        self.way, self.table, self.jobs = way, table, list[Job]()
        self.reply: bytes | None = None
        self.is_done = Event()
        self._size = 0
        self._outcomes: list[Outcome | None] | None = None

    def add(self, job: Job) -> None:
        self.jobs.append(job)
        self._size += job.size

    def is_full(self) -> bool:
        return self._size >= BATCH or len(self.jobs) == BATCH_FILES

    def outcome(self, number: int) -> Outcome | None:
        self.is_done.wait()
        if self._outcomes is None:
            self._outcomes = worker.outcomes(self.reply) if self.reply else [None] * len(self.jobs)
            self.reply = None
        outcome, self._outcomes[number] = self._outcomes[number], None
        return outcome


class Workers:
    """At most `count` processes, started when they are first needed. To be closed."""

    def __init__(self, count: int) -> None:
        self._wanted = self._count = count
        self._batches: SimpleQueue[_Batch | None] | None = None
        self._threads: list[Thread] = []
        self._processes: set[Popen[bytes]] = set()
        self._failures = 0
        self._closed = False

    def outcomes(
        self, items: Iterable[tuple[Item, Job | None]], way: Way, table: str | None
    ) -> Iterator[tuple[Item, Outcome | None]]:
        """The items in their order, each with the outcome of its job; None where the caller has to do the job.

        `table` is that of the built-in model, for jobs whose texts are to be embedded.
        """
        ahead: deque[tuple[Item, _Batch | None, int]] = deque()  # items with their batch, and their place in it
        unsent: list[_Batch] = []  # what is read by the caller, unless there is enough of it; all but the last are full
        size, enough = 0, ENOUGH // 4 if table else ENOUGH
        self._count = min(self._wanted, MOST_EMBEDDING if table else MOST)
        for item, job in items:
            if job is None:
                ahead.append((item, None, 0))
            else:
                if not unsent or unsent[-1].is_full():
                    unsent.append(_Batch(way, table))
                ahead.append((item, unsent[-1], len(unsent[-1].jobs)))
                unsent[-1].add(job)
                size += job.size
            if self._threads or size >= enough:
                while unsent and unsent[0].is_full():
                    self._send(unsent.pop(0))
            while ahead:
                item, batch, number = ahead[0]
                if batch and not batch.is_done.is_set() and (size <= AHEAD or batch in unsent):
                    break
                ahead.popleft()
                size -= batch.jobs[number].size if batch else 0
                yield item, batch.outcome(number) if batch else None
        if self._threads:
            while unsent:
                self._send(unsent.pop())
        for item, batch, number in ahead:
            yield item, batch.outcome(number) if batch and batch not in unsent else None

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        self._closed = True
        for _ in self._threads:
            assert self._batches
            self._batches.put(None)
        for process in [*self._processes]:
            process.kill()
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _send(self, batch: _Batch) -> None:
        from queue import SimpleQueue
        from threading import Thread

        self._batches = self._batches or SimpleQueue()
        while len(self._threads) < self._count:
            thread = Thread(target=self._drive, args=[self._batches], daemon=True)
            self._threads.append(thread)
            thread.start()
        self._batches.put(batch)

    def _drive(self, batches: "SimpleQueue[_Batch | None]") -> None:
        """Give batches to a process, one after the other. If it ends, the next batch gets a new one."""
        process: Popen[bytes] | None = None
        while batch := batches.get():
            try:
                if self._failures < FAILURES and not self._closed:
                    process = process or self._started()
                    batch.reply = worker.asked(process, batch.way, batch.table, batch.jobs)
            except Exception:  # the caller, who does the batch itself, finds out what is wrong with it
                self._failures += 1
                self._ended(process)
                process = None
            finally:
                batch.is_done.set()
        self._ended(process)

    def _started(self) -> "Popen[bytes]":
        from subprocess import DEVNULL, PIPE, Popen

        # -P: nothing is imported from the working directory. A session of its own: Ctrl-C is the ingest's, which ends them.
        command = [sys.executable, "-P", "-c", MAIN, CHECKOUT]
        process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True)
        self._processes.add(process)
        if self._closed:
            process.kill()
        return process

    def _ended(self, process: "Popen[bytes] | None") -> None:
        if process:
            self._processes.discard(process)
            process.kill()
            with suppress(OSError):
                process.communicate()  # closes the pipes
