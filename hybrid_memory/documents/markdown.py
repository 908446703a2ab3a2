"""Markdown files, and every file whose format has no entry of its own: front matter, then text that is cut at headings."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from ..text.characters import lines_of, with_plain_newlines
from ..text.digest import digest
from .files import BadFileError, FileBytes, read

if TYPE_CHECKING:
    from .chunker import Chunk

LONGEST_TITLE = 200  # characters; the title goes with every chunk


class Parsed(NamedTuple):
    """A text with plain newlines whose first `skipped` lines are front matter; `metadata` is all that is known of it."""

    text: str
    skipped: int
    metadata: Mapping[str, Any]


def parse(text: str, metadata: Mapping[str, Any]) -> Parsed:
    """`metadata` wins over the text's own front matter."""
    from . import frontmatter

    found = frontmatter.parse(text)
    return Parsed(with_plain_newlines(text), found.lines, {**found.metadata, **metadata})


def chunks(parsed: Parsed, chunk_size: int, overlap: int) -> "Iterator[Chunk]":
    """The chunks, their heading paths below the document's title. Raises ValueError for sizes that make no chunks."""
    from .chunker import chunks_after

    found = chunks_after(parsed.text, parsed.skipped, chunk_size, overlap)
    if parsed.skipped and not found:  # a note that is only front matter, as a contact card is: that is its text
        card = "\n".join(parsed.text.split("\n")[1 : parsed.skipped - 1])
        found = [
            chunk._replace(start_line=chunk.start_line + 1, end_line=chunk.end_line + 1)
            for chunk in chunks_after(card, 0, chunk_size, overlap)
        ]
    for chunk in found:
        yield chunk._replace(heading_path=_titled(chunk.heading_path, parsed.metadata.get("title")))


def _titled(heading_path: str, title: object) -> str:
    """The heading path below the document's title, unless the first heading says the same."""
    above = " ".join(title.split())[:LONGEST_TITLE] if isinstance(title, str) else ""
    if not above or f"{heading_path} > ".casefold().startswith(f"{above} > ".casefold()):
        return heading_path
    return f"{above} > {heading_path}" if heading_path else above


class MarkdownReading:
    """A markdown file that has been read; implements `formats.Reading`."""

    def __init__(self, file: FileBytes) -> None:
        self.mtime, self.size = file.mtime, file.size
        self.digest = digest(file.data)
        self._data = file.data
        self._parsed: Parsed | None = None

    @property
    def warnings(self) -> list[str]:
        try:
            self._data.decode()
        except UnicodeDecodeError as error:
            return [f"not UTF-8 at byte {error.start}: read with replacement characters"]
        return []

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self._text.metadata

    def date(self, doc_id: str) -> str | None:
        from ..text.dates import document_date

        return document_date(doc_id, self.metadata)

    def chunks(self, chunk_size: int, overlap: int) -> "Iterator[Chunk]":
        return chunks(self._text, chunk_size, overlap)

    def close(self) -> None:
        """Nothing is open."""

    @property
    def _text(self) -> Parsed:
        self._parsed = self._parsed or parse(self._data.decode(errors="replace"), {})
        return self._parsed


class Markdown:
    """Implements `formats.Format`."""

    collection = None
    grows = False

    def is_due(self, path: str, indexed_size: int, mtime: float, size: int) -> bool:
        """Always: the whole file is one text."""
        return True

    def open(self, path: str, max_bytes: int, follow_symlinks: bool) -> MarkdownReading:
        return MarkdownReading(read(path, max_bytes, follow_symlinks))

    def lines(self, stream: BinaryIO, max_bytes: int) -> tuple[list[str], bytes]:
        data = stream.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise BadFileError(f"it has become larger than max_file_bytes ({max_bytes:,})")
        return lines_of(data.decode(errors="replace")), digest(data)

    def joined(self, lines: list[str]) -> str:
        return "\n".join(lines)


FORMAT = Markdown()
