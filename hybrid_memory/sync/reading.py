"""Read the files that are due, chunk them, and embed the chunks if the model is built in: in this
process, or in others while this one writes.

A worker process runs `main` until its standard input ends, at the end of the ingest. A request is a
batch: how to read the files of the source, the built-in provider and the path of its table if texts
should be embedded, and jobs. The reply has an outcome for each job, or None for a job with an
unexpected exception. Both are marshal data after their length: Python values without classes,
exchanged between two processes of one Python.

Outcomes come in the order of the files. If a worker dies, nothing is lost: the caller does the jobs
that have no outcome.
"""

import gc
import marshal
import os
import struct
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from queue import SimpleQueue
from subprocess import DEVNULL, PIPE, Popen
from threading import Event, Thread
from typing import IO, TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from ..documents.document import Document, assemble, chunking
from ..documents.formats import Reading, open_file
from ..indexing.pending import make_vectors
from ..paths import CHECKOUT
from ..registry import PROVIDERS, load
from ..storage.prepared import Extract, Prepared, texts_of
from ..storage.rows import Vectors
from ..storage.source import Source
from ..text.links import DocumentLinks, Link
from .report import Report

if TYPE_CHECKING:
    from queue import SimpleQueue
    from subprocess import Popen
    from threading import Thread

    from ..embedding.builtin import BuiltinEmbedder
    from ..embedding.interface import Embedder


class Unchanged(NamedTuple):
    """A file whose content is already indexed, with its new time and size."""

    doc_id: str
    mtime: float
    size: int


class ReadOptions(NamedTuple):
    """How to read the files of a source: the metadata of all its documents, `sizes` (chunk size and
    overlap in characters), and the front matter keys that may hold a date.
    """

    collection: str | None
    metadata: dict[str, str]
    follow_symlinks: bool
    max_bytes: int
    sizes: tuple[int, int]
    date_keys: Sequence[str]

    @classmethod
    def of(cls, source: Source, settings: Mapping[str, Any]) -> "ReadOptions":
        return cls(
            collection=source.collection,
            metadata=dict(source.metadata),
            follow_symlinks=source.follow_symlinks,
            max_bytes=settings["max_file_bytes"],
            sizes=source.sizes(settings),
            date_keys=settings["date_keys"],
        )

    @property
    def chunking(self) -> str:
        """As in `documents.chunking`."""
        return chunking(*self.sizes, self.date_keys)

    def open(self, path: str) -> Reading:
        """Begin to read a file. Raises BadFileError and OSError."""
        return open_file(path, self.max_bytes, self.follow_symlinks, self.metadata)

    def document(self, doc_id: str, path: str, reading: Reading) -> Document:
        """The document of a file, without its text."""
        of_file = path, reading.mtime, reading.size, reading.digest
        return Document(doc_id, "", reading.metadata, *of_file, self.collection, reading.extract)

    def prepared(self, doc_id: str, path: str, reading: Reading) -> Prepared:
        """The document of a file that fits into memory, chunked."""
        chunks = list(reading.chunks(*self.sizes))  # before date and digest, which may need it
        document = self.document(doc_id, path, reading)
        date = reading.date(doc_id, self.date_keys)
        return assemble(document, chunks, date, self.chunking, reading.links)


BuiltinTable = tuple[str, str]  # a built-in provider, and the path of its table


class Job(NamedTuple):
    """A file to read, with its listed size in bytes. If its content has the hash `known`, it is not
    chunked.
    """

    doc_id: str
    path: str
    size: int
    known: bytes | None
    embed: bool


class Outcome(NamedTuple):
    """The result of reading a file. An unreadable file has only errors and warnings, as in a
    report.
    """

    found: Prepared | Unchanged | None
    vectors: Vectors  # by content hash; empty if the chunks will be embedded later
    not_embedded: Sequence[bytes]  # content hashes of texts without a vector in this model
    errors: Sequence[dict[str, str]]
    warnings: Sequence[dict[str, str]]


def read(options: ReadOptions, job: Job, embedder: "Embedder | None") -> Outcome:
    """Read a file that fits into memory. Needs no store, so a worker can do it."""
    report = Report()
    found: Prepared | Unchanged | None = None
    vectors: Vectors = {}
    not_embedded: Sequence[bytes] = []
    with report.reading(job.path), closing(options.open(job.path)) as reading:
        if job.known is not None and job.known == reading.digest:
            found = Unchanged(job.doc_id, reading.mtime, reading.size)
        else:
            found = options.prepared(job.doc_id, job.path, reading)
            for warning in reading.warnings:
                report.warning(job.path, *warning)
            if embedder and job.embed:
                new = make_vectors(embedder, found.texts)
                vectors = new.vectors
                not_embedded = new.not_embedded
    return Outcome(found, vectors, not_embedded, report.errors, report.warnings)


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
    process: "Popen[bytes]", options: ReadOptions, table: BuiltinTable | None, jobs: list[Job]
) -> bytes:
    """Send a batch to a process and return its reply. Raises EOFError or OSError if it has ended."""
    assert process.stdin
    assert process.stdout
    send(process.stdin, (tuple(options), table, [tuple(job) for job in jobs]))
    return receive(process.stdout)


def read_outcomes(data: bytes) -> list[Outcome | None]:
    """Decode the outcomes of a batch."""
    return [reply and _outcome(*reply) for reply in marshal.loads(data)]


def _outcome(
    unchanged: tuple[str, float, int] | None, prepared: tuple[Any, ...] | None, *rest: Any
) -> Outcome:
    found: Prepared | Unchanged | None = Unchanged(*unchanged) if unchanged else None
    if prepared:
        row, extract, chunks, terms, (titles, links, tags) = prepared
        links = DocumentLinks(titles, tuple(map(Link._make, links)), tags)
        found = Prepared(
            row | {"extract": extract and Extract(*extract)}, chunks, texts_of(chunks), terms, links
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
    )


def _answer(options: ReadOptions, job: Job, embedder: "BuiltinEmbedder | None") -> Any:
    try:
        return _reply(read(options, job, embedder))
    except Exception:
        return None


def main() -> None:
    """Answer requests until standard input ends."""
    requests = sys.stdin.buffer
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keep printed output out of the replies
    gc.set_threshold(100_000)  # rows contain no reference cycles
    embedder: BuiltinEmbedder | None = None
    try:
        while True:
            options, table, jobs = marshal.loads(receive(requests))
            if table and not embedder:
                provider, path = table
                embedder = load(PROVIDERS[provider])(path)
            used = embedder if table else None
            send(replies, [_answer(ReadOptions(*options), Job(*job), used) for job in jobs])
    except (EOFError, BrokenPipeError):
        pass


MOST = 8  # processes of some 15 MB each; one writer cannot keep more of them busy
# The same with the built-in model, some 45 MB each: less than 200 MB with the writer
MOST_EMBEDDING = 3
# Bytes of due files that make it worth starting processes; a fourth of it if they embed
ENOUGH = 2_000_000
AHEAD = 3_000_000  # bytes of files that may be read ahead of the writer
BATCH = 200_000  # bytes of files that a process gets at a time
BATCH_FILES = 64
FAILURES = 3  # after this many processes died, no more are started
# Imports the package that this process runs, wherever it is, and nothing else from its folder.
MAIN = """
import sys
sys.path.insert(0, sys.argv[1])
import hybrid_memory
del sys.path[0]
from hybrid_memory.sync.reading import main
main()
"""

Item = TypeVar("Item")


def cores() -> int:
    """The number of cores that this process may use for `Workers`; 1 if it cannot start processes."""
    if not sys.executable:
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Batch:
    """Jobs for one process; `reply` is None if it did not do them."""

    def __init__(self, options: ReadOptions, table: BuiltinTable | None) -> None:
        self.options = options
        self.table = table
        self.jobs: list[Job] = []
        self.reply: bytes | None = None
        self.is_done = Event()
        self._size = 0
        self._outcomes: list[Outcome | None] | None = None

    def add(self, job: Job) -> int:
        """Add a job and return its number in the batch."""
        self.jobs.append(job)
        self._size += job.size
        return len(self.jobs) - 1

    def is_full(self) -> bool:
        return self._size >= BATCH or len(self.jobs) == BATCH_FILES

    def outcome(self, number: int) -> Outcome | None:
        self.is_done.wait()
        if self._outcomes is None:
            self._outcomes = [None] * len(self.jobs)
            if self.reply:
                self._outcomes = read_outcomes(self.reply)
            self.reply = None
        outcome = self._outcomes[number]
        self._outcomes[number] = None  # large, and needed only once
        return outcome


class _Place(NamedTuple, Generic[Item]):
    """An item in the queue, with the batch of its job and the job's number there."""

    item: Item
    batch: _Batch | None
    number: int

    @property
    def size(self) -> int:
        if self.batch is None:
            return 0
        return self.batch.jobs[self.number].size

    def outcome(self) -> Outcome | None:
        """Wait for the outcome of the job; None if the caller has to do it."""
        if self.batch is None:
            return None
        return self.batch.outcome(self.number)


class Workers:
    """At most `count` processes, started when first needed. Close it when done."""

    def __init__(self, count: int) -> None:
        self._most = count  # requested by the caller
        self._count = count  # for the current source
        self._batches: SimpleQueue[_Batch | None] | None = None
        self._threads: list[Thread] = []
        self._processes: set[Popen[bytes]] = set()
        self._failures = 0
        self._closed = False

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
        self._count = min(self._most, MOST)
        bytes_to_start = ENOUGH
        if table:
            self._count = min(self._most, MOST_EMBEDDING)
            bytes_to_start = ENOUGH // 4
        queue: deque[_Place[Item]] = deque()  # not yet yielded, in order
        waiting: list[_Batch] = []  # not yet sent; all but the last are full
        bytes_ahead = 0
        for item, job in items:
            batch = None
            number = 0
            if job:
                if not waiting or waiting[-1].is_full():
                    waiting.append(_Batch(options, table))
                batch = waiting[-1]
                number = batch.add(job)
                bytes_ahead += job.size
            queue.append(_Place(item, batch, number))
            if self._has_started or bytes_ahead >= bytes_to_start:
                while waiting and waiting[0].is_full():
                    self._send(waiting.pop(0))
            while queue and self._may_go(queue[0], waiting, bytes_ahead):
                place = queue.popleft()
                bytes_ahead -= place.size
                yield place.item, place.outcome()
        if self._has_started:
            while waiting:
                self._send(waiting.pop())
        for place in queue:
            # A batch that was never sent is too small for a process; the caller does it.
            yield place.item, None if place.batch in waiting else place.outcome()

    @property
    def _has_started(self) -> bool:
        return bool(self._threads)

    @staticmethod
    def _may_go(place: "_Place[Item]", waiting: list[_Batch], bytes_ahead: int) -> bool:
        """Whether to yield the first item of the queue now.

        Until more than AHEAD bytes are in memory, the processes get more work first, to do while
        the caller writes.
        """
        return place.batch is None or (bytes_ahead > AHEAD and place.batch not in waiting)

    def close(self) -> None:
        """Kill the processes, whatever they are doing."""
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
        self._batches = self._batches or SimpleQueue()
        while len(self._threads) < self._count:
            thread = Thread(target=self._drive, args=[self._batches], daemon=True)
            self._threads.append(thread)
            thread.start()
        self._batches.put(batch)

    def _drive(self, batches: "SimpleQueue[_Batch | None]") -> None:
        """Send batches to a process, one after the other. If it dies, the next batch gets a new
        one.
        """
        process: Popen[bytes] | None = None
        while batch := batches.get():
            try:
                if self._failures < FAILURES and not self._closed:
                    process = process or self._start()
                    batch.reply = request(process, batch.options, batch.table, batch.jobs)
            except Exception:
                # The caller does the batch itself and so meets the same error.
                self._failures += 1
                self._end(process)
                process = None
            finally:
                batch.is_done.set()
        self._end(process)

    def _start(self) -> "Popen[bytes]":
        # -P: nothing is imported from the working directory. A new session: Ctrl-C reaches only
        # the ingest, which then ends the processes.
        command = [sys.executable, "-P", "-c", MAIN, CHECKOUT]
        process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True)
        self._processes.add(process)
        if self._closed:
            process.kill()
        return process

    def _end(self, process: "Popen[bytes] | None") -> None:
        if process:
            self._processes.discard(process)
            process.kill()
            with suppress(OSError):
                process.communicate()  # closes the pipes
