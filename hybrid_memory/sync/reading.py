"""Read a file that is due, and cut it into chunks."""

from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple

from ..documents.document import Document, Prepared, assemble, chunk_row, document_row
from ..documents.formats import Reading, format_of
from ..documents.walk import Found
from ..storage.protocol import GrowingDocument
from ..storage.source import Source, StoredDocument
from ..store import HybridStore
from .plan import Rules, is_recut
from .report import Report


class Unchanged(NamedTuple):
    """A file with the content that is indexed already, and its new time and size."""

    doc_id: str
    mtime: float
    size: int


class Reader:
    """Reads the files of one source. What cannot be read is in the report."""

    def __init__(self, store: HybridStore, source: Source, rules: Rules, report: Report) -> None:
        self._store, self._source, self.rules, self._report = store, source, rules, report
        self._sizes = source.sizes(store.config)
        self._chunking, self._date_keys = source.chunking(store.config), store.config["date_keys"]

    def whole(self, doc_id: str, file: Found, known: StoredDocument | None) -> Prepared | Unchanged | None:
        """A file that fits into memory, as a document."""
        with self._report.reading(file.path), closing(self._open(file)) as reading:
            if self._is_unchanged(known, reading):
                return Unchanged(doc_id, reading.mtime, reading.size)
            document = self._document(doc_id, file, reading)
            date = reading.date(doc_id, self._date_keys)
            prepared = assemble(document, reading.chunks(*self._sizes), date, self._chunking, reading.marks)
            self._tell_warnings(file, reading)
            return prepared
        return None

    def growing(
        self,
        doc_id: str,
        file: Found,
        known: StoredDocument | None,
        is_ready: Callable[[GrowingDocument], bool],
        write: Callable[[GrowingDocument, dict[str, Any]], None],
    ) -> Unchanged | None:
        """A file that may be larger than memory: `write` is called with what is new, and with the document's row.

        Of a file that is as it was, and is only to be cut anew, nothing is written unless `is_ready`.
        """
        growing = self._store.storage.documents.growing
        with self._report.reading(file.path), closing(self._open(file)) as reading, closing(growing(doc_id)) as document:
            count = document.spool(chunk_row(doc_id, chunk) for chunk in reading.chunks(*self._sizes))
            self._tell_warnings(file, reading)
            if self._is_unchanged(known, reading):
                return Unchanged(doc_id, reading.mtime, reading.size)
            if known and is_recut(known, reading.digest, self._chunking) and not is_ready(document):
                return None
            date = reading.date(doc_id, self._date_keys)
            row = document_row(self._document(doc_id, file, reading), date, self._chunking, count)
            write(document, row)
        return None

    def _open(self, file: Found) -> Reading:
        source, most = self._source, self._store.config["max_file_bytes"]
        return format_of(file.path).open(file.path, most, source.follow_symlinks, dict(source.metadata))

    def _is_unchanged(self, known: StoredDocument | None, reading: Reading) -> bool:
        return known is not None and self.rules.is_current(known) and known.content_hash == reading.digest

    def _document(self, doc_id: str, file: Found, reading: Reading) -> Document:
        of_file = file.path, reading.mtime, reading.size, reading.digest
        return Document(doc_id, "", reading.metadata, *of_file, self._source.collection, reading.extract)

    def _tell_warnings(self, file: Found, reading: Reading) -> None:
        for warning in reading.warnings:
            self._report.warning(file.path, *warning)
