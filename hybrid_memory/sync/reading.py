"""Read files that are due, cut them into chunks, and embed these if the model is the built-in one:
in this process, or in others while this one writes.

A process of the pool runs `main` until its standard input ends, which is when the ingest ends. A
request is a batch: how the files of the source are read, the built-in provider and the path of its
table if texts are to be embedded, and jobs. The reply has an outcome for each job, or None for one that
raised what nobody expected. Both are marshal data behind their length: Python values without
classes, between two processes of one Python.

Outcomes come in the order of the files. Nothing is lost with a process: the caller does the jobs
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
from typing import IO, TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from ..documents.document import Document, Extract, Prepared, assemble, chunking, texts_of
from ..documents.formats import Reading, format_of
from ..documents.links import DocumentLinks, Link
from ..indexing import make_vectors
from ..paths import CHECKOUT
from ..seams import PROVIDERS, load
from ..storage.rows import Vectors
from ..storage.source import Source
from .report import Report

if TYPE_CHECKING:
    from queue import SimpleQueue
    from subprocess import Popen
    from threading import Thread

    from ..embedding.builtin import BuiltinEmbedder
    from ..embedding.protocol import Embedder


class Unchanged(NamedTuple):
    """A file with the content that is indexed already, and its new time and size."""

    doc_id: str
    mtime: float
    size: int


class ReadOptions(NamedTuple):
    """How the files of a source are read: what every document of it has, `sizes` (chunk size and
    overlap in characters), and the keys of the front matter that may date one.
    """

    collection: str | None
    metadata: dict[str, str]
    follow_symlinks: bool
    max_bytes: int
    sizes: tuple[int, int]
    date_keys: Sequence[str]

    @classmethod
    def of(cls, source: Source, settings: Mapping[str, Any]) -> "ReadOptions":
        """Return how the files of a source are read."""
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
        return format_of(path).open(path, self.max_bytes, self.follow_symlinks, self.metadata)

    def document(self, doc_id: str, path: str, reading: Reading) -> Document:
        """Return the document of a file, without its text."""
        of_file = path, reading.mtime, reading.size, reading.digest
        return Document(doc_id, "", reading.metadata, *of_file, self.collection, reading.extract)

    def prepared(self, doc_id: str, path: str, reading: Reading) -> Prepared:
        """Return the document of a file that fits into memory, cut into chunks."""
        chunks = list(reading.chunks(*self.sizes))  # first: they may tell the date and the digest
        document = self.document(doc_id, path, reading)
        date = reading.date(doc_id, self.date_keys)
        return assemble(document, chunks, date, self.chunking, reading.links)


BuiltinTable = tuple[str, str]  # a built-in provider, and the path of its table


class Job(NamedTuple):
    """A file to be read, of `size` bytes as it was listed. If its content has the hash `known`, it
    is not cut.
    """

    doc_id: str
    path: str
    size: int
    known: bytes | None
    embed: bool


class Outcome(NamedTuple):
    """What became of a file; of one that could not be read, only errors and warnings, as in a
    report.
    """

    found: Prepared | Unchanged | None
    vectors: Vectors  # by content hash; empty if the chunks are to be embedded later
    not_embedded: Sequence[bytes]  # content hashes of the texts that the model has no vector for
    errors: Sequence[dict[str, str]]
    warnings: Sequence[dict[str, str]]


def read(options: ReadOptions, job: Job, embedder: "Embedder | None") -> Outcome:
    """Read a file that fits into memory. Needs no store, so that another process can do it."""
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
    """Write a value that marshal knows. Raises OSError if nobody reads it."""
    data = marshal.dumps(value)
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """Return the bytes of a value. Raises EOFError if the other side has ended."""
    header = stream.read(LENGTH.size)
    if len(header) < LENGTH.size:
        raise EOFError
    (size,) = LENGTH.unpack(header)
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def asked(
    process: "Popen[bytes]", options: ReadOptions, table: BuiltinTable | None, jobs: list[Job]
) -> bytes:
    """Return the reply of a process to a batch. Raises EOFError or OSError if it has ended."""
    assert process.stdin
    assert process.stdout
    send(process.stdin, (tuple(options), table, [tuple(job) for job in jobs]))
    return receive(process.stdout)


def read_outcomes(data: bytes) -> list[Outcome | None]:
    """Return what became of a batch's jobs."""
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
    """Return what is sent of a document: the texts of its chunks can be told from these."""
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


def _answered(options: ReadOptions, job: Job, embedder: "BuiltinEmbedder | None") -> Any:
    try:
        return _reply(read(options, job, embedder))
    except Exception:
        return None


def main() -> None:
    """Answer requests until there are no more."""
    requests = sys.stdin.buffer
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints is no reply
    gc.set_threshold(100_000)  # rows are no cycles
    embedder: BuiltinEmbedder | None = None
    try:
        while True:
            options, table, jobs = marshal.loads(receive(requests))
            if table and not embedder:
                provider, path = table
                embedder = load(PROVIDERS[provider])(path)
            used = embedder if table else None
            send(replies, [_answered(ReadOptions(*options), Job(*job), used) for job in jobs])
    except (EOFError, BrokenPipeError):
        pass


MOST = 8  # processes: one writer cannot keep more of them busy. They take some 15 MB each
# The same with the built-in model, some 45 MB each: with the writer less than 200 MB
MOST_EMBEDDING = 3
# Bytes of files that are due: less is done before the processes have started; a fourth if they
# embed
ENOUGH = 2_000_000
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
from hybrid_memory.sync.reading import main
main()
"""

Item = TypeVar("Item")


def cores() -> int:
    """Return how many cores this process may use for `Workers`; 1 where it cannot start any."""
    if not sys.executable:
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Batch:
    """Jobs that one process does; `reply` is None if it did not."""

    def __init__(self, options: ReadOptions, table: BuiltinTable | None) -> None:
        from threading import Event  # imports like this one are not for every ingest to pay

        self.options = options
        self.table = table
        self.jobs: list[Job] = []
        self.reply: bytes | None = None
        self.is_done = Event()
        self._size = 0
        self._outcomes: list[Outcome | None] | None = None

    def add(self, job: Job) -> int:
        """Take a job in. Gives its number in the batch."""
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
        self._outcomes[number] = None  # it is needed once, and large
        return outcome


class _Place(NamedTuple, Generic[Item]):
    """An item in the queue, with the batch that has its job, and the job's number there."""

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
    """At most `count` processes, started when they are first needed. To be closed."""

    def __init__(self, count: int) -> None:
        self._most = count  # that the caller wants
        self._count = count  # for the present source
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
        """Yield the items in their order, each with the outcome of its job; None where the caller
        has to do the job.

        `table` is that of a built-in model, for jobs whose texts are to be embedded.
        """
        self._count = min(self._most, MOST)
        bytes_to_start = ENOUGH
        if table:
            self._count = min(self._most, MOST_EMBEDDING)
            bytes_to_start = ENOUGH // 4
        queue: deque[_Place[Item]] = deque()  # read and not yet given out, in order
        waiting: list[_Batch] = []  # of no process yet; all but the last are full
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
            # A batch that was never sent is too little for a process: the caller does it.
            yield place.item, None if place.batch in waiting else place.outcome()

    @property
    def _has_started(self) -> bool:
        return bool(self._threads)

    @staticmethod
    def _may_go(place: "_Place[Item]", waiting: list[_Batch], bytes_ahead: int) -> bool:
        """Return whether the first item in the queue is given out now. Until more than AHEAD is in
        memory, the processes get more to do first: they have it while the caller writes.
        """
        return place.batch is None or (bytes_ahead > AHEAD and place.batch not in waiting)

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
        """Give batches to a process, one after the other. If it ends, the next batch gets a new
        one.
        """
        process: Popen[bytes] | None = None
        while batch := batches.get():
            try:
                if self._failures < FAILURES and not self._closed:
                    process = process or self._started()
                    batch.reply = asked(process, batch.options, batch.table, batch.jobs)
            except Exception:
                # The caller, who does the batch itself, finds out what is wrong with it.
                self._failures += 1
                self._ended(process)
                process = None
            finally:
                batch.is_done.set()
        self._ended(process)

    def _started(self) -> "Popen[bytes]":
        from subprocess import DEVNULL, PIPE, Popen

        # -P: nothing is imported from the working directory. A session of its own: Ctrl-C is the
        # ingest's, which ends them.
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
