"""Files whose text is extracted; implements `formats.Format`. Lines are those of the extracted text, which is markdown."""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO

from ...text.characters import storable, with_plain_newlines
from ...text.dates import DATE_KEYS, document_date
from ...text.digest import digest
from ...text.lines import Lines
from ..files import BadFileError, FileBytes, read
from ..markdown import Parsed, chunks

if TYPE_CHECKING:
    from ..chunker import Chunk
    from ..marks.found import Marks
    from .extract import Extract


class ExtractedReading:
    """A file that has been read. Its text is extracted when something of it is first asked for, which may raise BadFileError."""

    def __init__(self, file: FileBytes, metadata: Mapping[str, Any], format: "Extracted") -> None:
        self.mtime, self.size = file.mtime, file.size
        self.digest = digest(file.data)
        self._data, self._given, self._format = file.data, metadata, format
        self._extract: Extract | None = None

    @property
    def extract(self) -> "Extract":
        self._extract = self._extract or self._format.extracted(self._data)
        return self._extract

    @property
    def metadata(self) -> Mapping[str, Any]:
        return {**self.extract.metadata, **self._given}

    @cached_property
    def marks(self) -> "Marks":
        """Titles and links; a `#word` is no tag where nobody writes tags."""
        from ..marks.found import marks

        return marks(self.extract.text, 0, self.metadata)._replace(tags=())

    @property
    def warnings(self) -> list[tuple[str, str]]:
        return [(self.extract.warning, "no text")] if self.extract.warning else []

    def date(self, doc_id: str, keys: Sequence[str] = DATE_KEYS) -> str | None:
        return document_date(doc_id, self.metadata, self.marks.titles, keys)

    def chunks(self, chunk_size: int, overlap: int) -> "list[Chunk]":
        return chunks(Parsed(self.extract.text, 0, self.metadata, 0), chunk_size, overlap)

    def close(self) -> None:
        """Nothing is open."""


class Extracted:
    """A format of files that are not text. `package` is what reading it needs, of the extra `documents`."""

    collection = None
    grows = False
    is_text = False

    def __init__(self, kind: str, package: str | None = None) -> None:
        self._kind, self._package = kind, package

    def is_due(self, path: str, indexed_size: int, mtime: float, size: int, follow_symlinks: bool) -> bool:
        """A file that has changed is always due."""
        return True

    def open(self, path: str, max_bytes: int, follow_symlinks: bool, metadata: Mapping[str, Any]) -> ExtractedReading:
        return ExtractedReading(read(path, max_bytes, follow_symlinks, binary=True), metadata, self)

    def extracted(self, data: bytes) -> "Extract":
        """The text of a file with these bytes. Raises BadFileError."""
        from .sandbox import extracted

        found = extracted(data, self._kind, self._package)
        return found._replace(text=with_plain_newlines(storable(found.text)))

    def lines(self, stream: BinaryIO, max_bytes: int) -> tuple[Sequence[str], bytes]:
        data = stream.read(min(max_bytes, os.fstat(stream.fileno()).st_size) + 1)
        if len(data) > max_bytes:
            raise BadFileError(f"it has become larger than max_file_bytes ({max_bytes:,})", "size")
        return Lines(self.extracted(data).text), digest(data)

    def joined(self, lines: Sequence[str]) -> str:
        return "\n".join(lines)


PDF = Extracted("pdf", "pypdfium2")
DOCX = Extracted("docx")
