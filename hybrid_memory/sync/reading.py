"""Read a file that is due, cut it into chunks, and embed these if the model is the built-in one."""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from ..documents.document import Document, Prepared, assemble, chunk_row, chunking, document_row
from ..documents.formats import Reading, format_of
from ..documents.walk import Found
from ..indexing.embedding import made
from ..storage.rows import Vectors
from ..storage.source import Source, StoredDocument
from .plan import Rules, is_recut
from .report import Report

if TYPE_CHECKING:
    from ..embedding.protocol import Embedder
    from ..storage.protocol import GrowingDocument
    from ..store import HybridStore


class Unchanged(NamedTuple):
    """A file with the content that is indexed already, and its new time and size."""

    doc_id: str
    mtime: float
    size: int


class Way(NamedTuple):
    """How the files of a source are read: what every document of it has, `sizes` (chunk size and overlap in characters), and the
    keys of the front matter that may date one.
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
    """A file to be read, of `size` bytes as it was listed. If its content has the hash `known`, it is not cut."""

    doc_id: str
    path: str
    size: int
    known: bytes | None
    embed: bool


class Outcome(NamedTuple):
    """What became of a file; of one that could not be read, only errors and warnings, as in a report."""

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
            found = assemble(document, reading.chunks(*way.sizes), date, way.chunking, reading.marks)
            for warning in reading.warnings:
                report.warning(job.path, *warning)
            new = made(embedder, found.texts) if embedder and job.embed else None
    return Outcome(found, new.vectors if new else {}, new.without if new else [], report.errors, report.warnings)


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
        """A file that may be larger than memory: `write` is called with what is new, and with the document's row.

        Of a file that is as it was, and is only to be cut anew, nothing is written unless `is_ready`.
        """
        growing, cut = self._store.storage.documents.growing, self.way.chunking
        with self._report.reading(file.path), closing(self.way.open(file.path)) as reading, closing(growing(doc_id)) as document:
            count = document.spool(chunk_row(doc_id, chunk) for chunk in reading.chunks(*self.way.sizes))
            for warning in reading.warnings:
                self._report.warning(file.path, *warning)
            if self._unchanged_hash(known) == reading.digest:
                return Unchanged(doc_id, reading.mtime, reading.size)
            if known and is_recut(known, reading.digest, cut) and not is_ready(document):
                return None
            date = reading.date(doc_id, self.way.date_keys)
            write(document, document_row(self.way.document(doc_id, file.path, reading), date, cut, count))
        return None

    def _unchanged_hash(self, known: StoredDocument | None) -> bytes | None:
        """The hash of the content that need not be indexed again."""
        return known.content_hash if known is not None and self.rules.is_current(known) else None
