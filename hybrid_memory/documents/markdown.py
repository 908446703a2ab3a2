"""Read markdown files, and all files without a format of their own: front matter, then text that is cut at headings."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from ..text.characters import storable, with_plain_newlines
from ..text.digest import digest
from ..text.lines import Lines
from .files import BadFileError, FileBytes, read

if TYPE_CHECKING:
    from .chunker import Chunk

LONGEST_TITLE = 200  # characters; the title goes with every chunk


class Parsed(NamedTuple):
    """A text with plain newlines whose first `skipped` lines are front matter. `metadata` is all that is known about it."""

    text: str
    skipped: int
    metadata: Mapping[str, Any]
    left_out: int  # keys of the front matter, because it is too long


def parse(text: str, metadata: Mapping[str, Any]) -> Parsed:
    """Read the front matter of a text. The given `metadata` takes precedence over it."""
    from . import frontmatter

    found = frontmatter.parse(text)
    return Parsed(with_plain_newlines(text), found.lines, {**found.metadata, **metadata}, found.left_out)


def chunks(parsed: Parsed, chunk_size: int, overlap: int) -> "list[Chunk]":
    """The chunks, with the document's title at the beginning of their heading paths. Raises ValueError for impossible sizes."""
    from .chunker import chunks_after

    title = parsed.metadata.get("title")
    above = storable(" ".join(title.split())[:LONGEST_TITLE]) if isinstance(title, str) else ""
    found = chunks_after(parsed.text, parsed.skipped, chunk_size, overlap, above)
    if parsed.skipped and not found:  # a note that is only front matter, such as a contact card: the front matter is its text
        card = "\n".join(parsed.text.split("\n")[1 : parsed.skipped - 1])
        found = [
            replace(chunk, start_line=chunk.start_line + 1, end_line=chunk.end_line + 1)
            for chunk in chunks_after(card, 0, chunk_size, overlap, above)
        ]
    return found


class MarkdownReading:
    """A markdown file that has been read; implements `formats.Reading`."""

    def __init__(self, file: FileBytes, metadata: Mapping[str, Any]) -> None:
        self.mtime, self.size = file.mtime, file.size
        self.digest = digest(file.data)
        self._data, self._given = file.data, metadata
        self._parsed: Parsed | None = None

    @property
    def warnings(self) -> list[tuple[str, str]]:
        warnings = []
        try:
            self._data.decode()
        except UnicodeDecodeError as error:
            warnings.append((f"not UTF-8 at byte {error.start}: read with replacement characters", "encoding"))
        if count := self._text.left_out:
            warnings.append((f"keys left out of the front matter because it is too long: {count}", "front matter"))
        return warnings

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self._text.metadata

    def date(self, doc_id: str) -> str | None:
        from ..text.dates import document_date

        return document_date(doc_id, self.metadata)

    def chunks(self, chunk_size: int, overlap: int) -> "list[Chunk]":
        return chunks(self._text, chunk_size, overlap)

    def close(self) -> None:
        """Nothing is open."""

    @property
    def _text(self) -> Parsed:
        self._parsed = self._parsed or parse(self._data.decode(errors="replace"), self._given)
        return self._parsed


class Markdown:
    """Implements `formats.Format`."""

    collection = None
    grows = False

    def is_due(self, path: str, indexed_size: int, mtime: float, size: int, follow_symlinks: bool) -> bool:
        """A file that has changed is always due, because all of it is one text."""
        return True

    def open(self, path: str, max_bytes: int, follow_symlinks: bool, metadata: Mapping[str, Any]) -> MarkdownReading:
        return MarkdownReading(read(path, max_bytes, follow_symlinks), metadata)

    def lines(self, stream: BinaryIO, max_bytes: int) -> tuple[Sequence[str], bytes]:
        data = stream.read(min(max_bytes, os.fstat(stream.fileno()).st_size) + 1)
        if len(data) > max_bytes:
            raise BadFileError(f"it has become larger than max_file_bytes ({max_bytes:,})", "size")
        return Lines(data.decode(errors="replace")), digest(data)

    def joined(self, lines: Sequence[str]) -> str:
        return "\n".join(lines)


FORMAT = Markdown()
