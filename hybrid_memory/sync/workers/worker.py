"""A process that reads, cuts and embeds files for an ingest. It ends when its standard input does, which is when the ingest ends.

A request is a batch: how the files of the source are read, the path of the built-in model's table if texts are to be embedded,
and jobs. The reply has an outcome for each job, or None for one that
raised what nobody expected, which the ingest then does itself. Both are marshal data behind their length: Python values without
classes, between two processes of one Python.
"""

import gc
import marshal
import os
import struct
import sys
from typing import IO, TYPE_CHECKING, Any

from ...documents.document import Prepared, texts_of
from ...documents.extracted.extract import Extract
from ...documents.marks.found import Marks
from ...documents.marks.links import Link
from ..reading import Job, Outcome, Unchanged, Way, read

if TYPE_CHECKING:
    from subprocess import Popen

    from ...embedding.builtin import BuiltinEmbedder

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


def outcomes(data: bytes) -> list[Outcome | None]:
    """What became of a batch's jobs."""
    return [reply and _outcome(*reply) for reply in marshal.loads(data)]


def _outcome(unchanged: tuple[str, float, int] | None, prepared: tuple[Any, ...] | None, *rest: Any) -> Outcome:
    found: Prepared | Unchanged | None = Unchanged(*unchanged) if unchanged else None
    if prepared:
        row, extract, chunks, terms, (titles, links, tags) = prepared
        marks = Marks(titles, tuple(map(Link._make, links)), tags)
        found = Prepared(row | {"extract": extract and Extract(*extract)}, chunks, texts_of(chunks), terms, marks)
    return Outcome(found, *rest)


def _reply(outcome: Outcome) -> Any:
    found, *rest = outcome
    unchanged = tuple(found) if isinstance(found, Unchanged) else None
    return unchanged, _plain(found) if isinstance(found, Prepared) else None, *rest


def _plain(found: Prepared) -> tuple[Any, ...]:
    """What is sent of a document: the texts of its chunks can be told from these."""
    extract, marks = found.row["extract"], found.marks
    links = [tuple(link) for link in marks.links]
    row = found.row | {"extract": None}
    return row, extract and tuple(extract), found.chunks, found.terms, (marks.titles, links, marks.tags)


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
    from ...embedding import builtin

    embedder: BuiltinEmbedder | None = None
    try:
        while True:
            way, table, jobs = marshal.loads(receive(requests))
            if table and not embedder:
                embedder = builtin.BuiltinEmbedder(table)
            send(replies, [_answered(Way(*way), Job(*job), embedder if table else None) for job in jobs])
    except (EOFError, BrokenPipeError):
        pass
