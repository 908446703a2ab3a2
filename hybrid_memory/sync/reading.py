"""Read the files that are due, chunk them, and embed the chunks if the model is built in."""

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from ..documents.document import Document, assemble, chunking
from ..documents.formats import Reading, open_file
from ..indexing.pending import make_vectors
from ..storage.prepared import Prepared
from ..storage.rows import Vectors
from ..storage.source import Source
from .report import Report

if TYPE_CHECKING:
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

    def chunking(self, mark: str = "") -> str:
        """As in `documents.chunking`."""
        return chunking(*self.sizes, self.date_keys, mark)

    def open(self, path: str) -> Reading:
        """Begin to read a file. Raises BadFileError and OSError."""
        return open_file(path, self.max_bytes, self.follow_symlinks, self.metadata)

    def document(self, doc_id: str, path: str, reading: Reading) -> Document:
        """The document of a file, without its text."""
        of_file = path, reading.mtime, reading.size, reading.digest
        return Document(doc_id, "", reading.metadata, *of_file, self.collection, reading.extract)

    def prepared(self, doc_id: str, path: str, reading: Reading, order: str = "") -> Prepared:
        """The document of a file that fits into memory, chunked. `order` is that of day and month."""
        chunks = list(reading.chunks(*self.sizes))  # before date and digest, which may need it
        document = self.document(doc_id, path, reading)
        day, mark = reading.date(doc_id, self.date_keys, order)
        prepared = assemble(document, chunks, day, self.chunking(mark), reading.links)
        return prepared._replace(left_out=reading.left_out)


class Job(NamedTuple):
    """A file to read, with its listed size in bytes. If its content has the hash `known`, it is not
    chunked. `order` is that of day and month in the dates of its folder, or "".
    """

    doc_id: str
    path: str
    size: int
    known: bytes | None
    embed: bool
    order: str = ""


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
            found = options.prepared(job.doc_id, job.path, reading, job.order)
            for warning in reading.warnings:
                report.warning(job.path, *warning)
            if embedder and job.embed:
                new = make_vectors(embedder, found.texts)
                vectors = new.vectors
                not_embedded = new.not_embedded
    return Outcome(found, vectors, not_embedded, report.errors, report.warnings)


def cores() -> int:
    """The number of cores that this process may use for `Workers`."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
