"""Read a file that is due, cut it into chunks, and embed these if the model is the built-in one.

MERGED Lets other processes read files while this one writes, if there is enough to do. The outcomes
come in the order of the files.

Whatever happens to a process, nothing is lost: jobs of which no outcome came are done by the
caller.

MERGED A process that reads, cuts and embeds files for an ingest. It ends when its standard input
does, which is when the ingest ends.

A request is a batch: how the files of the source are read, the path of the built-in model's table
if texts are to be embedded, and jobs. The reply has an outcome for each job, or None for one that
raised what nobody expected, which the ingest then does itself. Both are marshal data behind their
length: Python values without classes, between two processes of one Python.
"""

import gc
import marshal
import os
import struct
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..documents.document import (
    Document,
    Extract,
    Prepared,
    assemble,
    chunk_row,
    chunking,
    document_row,
    texts_of,
)
from ..documents.files import Found
from ..documents.formats import Reading, format_of
from ..documents.links import DocumentLinks, Link
from ..environment import CHECKOUT
from ..indexing import made
from ..storage.rows import Vectors
from ..storage.source import Source, StoredDocument
from .plan import Rules, is_recut
from .report import Report

if TYPE_CHECKING:
    from queue import SimpleQueue
    from subprocess import Popen
    from threading import Thread

    from ..embedding.builtin import BuiltinEmbedder
    from ..embedding.protocol import Embedder
    from ..storage.protocol import GrowingDocument
    from ..store import HybridStore


class Unchanged(NamedTuple):
    """A file with the content that is indexed already, and its new time and size."""

    doc_id: str
    mtime: float
    size: int


class Way(NamedTuple):
    """How the files of a source are read: what every document of it has, `sizes` (chunk size and
    overlap in characters), and the keys of the front matter that may date one.
    """

    collection: str | None
    metadata: dict[str, str]
    follow_symlinks: bool
    max_bytes: int
    sizes: tuple[int, int]
    date_keys: Sequence[str]

    @property
    def chunking(self) -> str:
        """As in `documents.chunking`."""
        return chunking(*self.sizes, self.date_keys)

    def open(self, path: str) -> Reading:
        """Begin to read a file. Raises BadFileError and OSError."""
        return format_of(path).open(path, self.max_bytes, self.follow_symlinks, self.metadata)

    def document(self, doc_id: str, path: str, reading: Reading) -> Document:
        """The document of a file, without its text."""
        of_file = path, reading.mtime, reading.size, reading.digest
        return Document(doc_id, "", reading.metadata, *of_file, self.collection, reading.extract)


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
    without: Sequence[bytes]  # content hashes of the texts that the model has no vector for
    errors: Sequence[dict[str, str]]
    warnings: Sequence[dict[str, str]]


def read(way: Way, job: Job, embedder: "Embedder | None") -> Outcome:
    """Read a file that fits into memory. Needs no store, so that another process can do it."""
    report = Report()
    found: Prepared | Unchanged | None = None
    new = None
    with report.reading(job.path), closing(way.open(job.path)) as reading:
        if job.known is not None and job.known == reading.digest:
            found = Unchanged(job.doc_id, reading.mtime, reading.size)
        else:
            document = way.document(job.doc_id, job.path, reading)
            date = reading.date(job.doc_id, way.date_keys)
            found = assemble(
                document, reading.chunks(*way.sizes), date, way.chunking, reading.links
            )
            for warning in reading.warnings:
                report.warning(job.path, *warning)
            new = made(embedder, found.texts) if embedder and job.embed else None
    return Outcome(
        found,
        new.vectors if new else {},
        new.without if new else [],
        report.errors,
        report.warnings,
    )


class Reader:
    """Reads the files of one source. What cannot be read is in the report."""

    def __init__(self, store: "HybridStore", source: Source, rules: Rules, report: Report) -> None:
        self._store, self.rules, self._report = store, rules, report
        metadata, max_bytes = dict(source.metadata), store.config["max_file_bytes"]
        how = source.sizes(store.config), store.config["date_keys"]
        self.way = Way(source.collection, metadata, source.follow_symlinks, max_bytes, *how)

    def job(self, doc_id: str, file: Found, known: StoredDocument | None, *, embed: bool) -> Job:
        """A file that fits into memory, to be read."""
        return Job(doc_id, file.path, file.size, self._unchanged_hash(known), embed)

    def growing(
        self,
        doc_id: str,
        file: Found,
        known: StoredDocument | None,
        is_ready: "Callable[[GrowingDocument], bool]",
        write: "Callable[[GrowingDocument, dict[str, Any]], None]",
    ) -> Unchanged | None:
        """A file that may be larger than memory: `write` is called with what is new, and with the
        document's row.

        Of a file that is as it was, and is only to be cut anew, nothing is written unless
        `is_ready`.
        """
        growing, cut = self._store.storage.documents.growing, self.way.chunking
        with (
            self._report.reading(file.path),
            closing(self.way.open(file.path)) as reading,
            closing(growing(doc_id)) as document,
        ):
            count = document.spool(
                chunk_row(doc_id, chunk) for chunk in reading.chunks(*self.way.sizes)
            )
            for warning in reading.warnings:
                self._report.warning(file.path, *warning)
            if self._unchanged_hash(known) == reading.digest:
                return Unchanged(doc_id, reading.mtime, reading.size)
            if known and is_recut(known, reading.digest, cut) and not is_ready(document):
                return None
            date = reading.date(doc_id, self.way.date_keys)
            write(
                document,
                document_row(self.way.document(doc_id, file.path, reading), date, cut, count),
            )
        return None

    def _unchanged_hash(self, known: StoredDocument | None) -> bytes | None:
        """The hash of the content that need not be indexed again."""
        return known.content_hash if known is not None and self.rules.is_current(known) else None


LENGTH = struct.Struct("<Q")


def send(stream: IO[bytes], value: Any) -> None:
    """Write a value that marshal knows. Raises OSError if nobody reads it."""
    data = marshal.dumps(value)
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """The bytes of a value. Raises EOFError if the other side has ended."""
    header = stream.read(LENGTH.size)
    if len(header) < LENGTH.size:
        raise EOFError
    (size,) = LENGTH.unpack(header)
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def asked(process: "Popen[bytes]", way: Way, table: str | None, jobs: list[Job]) -> bytes:
    """The reply of a process to a batch. Raises EOFError or OSError if it has ended."""
    assert process.stdin
    assert process.stdout
    send(process.stdin, (tuple(way), table, [tuple(job) for job in jobs]))
    return receive(process.stdout)


def read_outcomes(data: bytes) -> list[Outcome | None]:
    """What became of a batch's jobs."""
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
    """What is sent of a document: the texts of its chunks can be told from these."""
    extract, names = found.row["extract"], found.links
    links = [tuple(link) for link in names.links]
    row = found.row | {"extract": None}
    return (
        row,
        extract and tuple(extract),
        found.chunks,
        found.terms,
        (names.titles, links, names.tags),
    )


def _answered(way: Way, job: Job, embedder: "BuiltinEmbedder | None") -> Any:
    try:
        return _reply(read(way, job, embedder))
    except Exception:
        return None


def main() -> None:
    """Answer requests until there are no more."""
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints is no reply
    gc.set_threshold(100_000)  # rows are no cycles
    from ..embedding import builtin

    embedder: BuiltinEmbedder | None = None
    try:
        while True:
            way, table, jobs = marshal.loads(receive(requests))
            if table and not embedder:
                embedder = builtin.BuiltinEmbedder(table)
            send(
                replies,
                [_answered(Way(*way), Job(*job), embedder if table else None) for job in jobs],
            )
    except (EOFError, BrokenPipeError):
        pass


MOST = 8  # processes: one writer cannot keep more of them busy. They take some 15 MB each
MOST_EMBEDDING = (
    3  # the same with the built-in model, some 45 MB each: with the writer less than 200 MB
)
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
            self._outcomes = read_outcomes(self.reply) if self.reply else [None] * len(self.jobs)
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
        """The items in their order, each with the outcome of its job; None where the caller has to
        do the job.

        `table` is that of the built-in model, for jobs whose texts are to be embedded.
        """
        ahead: deque[tuple[Item, _Batch | None, int]] = (
            deque()
        )  # items with their batch, and their place in it
        unsent: list[
            _Batch
            # What is read by the caller, unless there is enough of it; all but the last are full
        ] = []
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
        """Give batches to a process, one after the other. If it ends, the next batch gets a new
        one.
        """
        process: Popen[bytes] | None = None
        while batch := batches.get():
            try:
                if self._failures < FAILURES and not self._closed:
                    process = process or self._started()
                    batch.reply = asked(process, batch.way, batch.table, batch.jobs)
            except (
                Exception
            ):  # the caller, who does the batch itself, finds out what is wrong with it
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
