"""Read markdown files, and all files without a format of their own: front matter, then text that is
cut at headings.

Other markups that are text, line by line as it is in the file, derive from `Markdown`.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from ..text.characters import Lines, digest, storable, with_plain_newlines
from ..text.dates import DATE_KEYS, document_date
from .chunker import Chunk, Syntax, chunks_of
from .files import BadFileError, FileBytes, read
from .front_matter import FrontMatter, front_matter, named
from .links import document_links

if TYPE_CHECKING:
    from .links import DocumentLinks

LONGEST_TITLE = 200  # characters; the title goes with every chunk


class Parsed(NamedTuple):
    """A text with plain newlines whose first `skipped` lines are front matter. `metadata` is all
    that is known of it; `problems` name what could not be read of the front matter.
    """

    text: str
    skipped: int
    metadata: Mapping[str, Any]
    problems: Sequence[str] = ()

    @property
    def warnings(self) -> list[str]:
        """Return the problems in one line, if there are any."""
        return [named(self.problems)] if self.problems else []

    @property
    def links(self) -> "DocumentLinks":
        """Find titles, links and tags."""
        return document_links(self.text, self.skipped, self.metadata)


def parse(text: str, metadata: Mapping[str, Any]) -> Parsed:
    """Read the front matter of a markdown text. The given `metadata` takes precedence over it."""
    return FORMAT.parsed(text, metadata)


def chunk_text(text: str, chunk_size: int = 512, overlap: int = 50) -> list[Chunk]:
    """Cut markdown into chunks of up to `chunk_size` characters that end with a sentence, an item
    or a block where one fits.

    A chunk begins with the last whole sentences of the one before it in its section, if they have
    at most `overlap` characters. A heading without a text of its own becomes part of the next
    chunk, or at the end of the last one. A chunk that begins inside of a table begins with the
    table's header, which is not on its lines. Front matter, rules, HTML comments, data: URIs and
    runs of over 200 characters without a space are left out. Raises ValueError for an overlap that
    leaves no room for new text.
    """
    text = with_plain_newlines(text)
    return chunks_of(text, front_matter(text).lines, chunk_size, overlap)


def chunks(
    parsed: Parsed, chunk_size: int, overlap: int, syntax: Syntax | None = None
) -> list[Chunk]:
    """Cut a text into chunks, with the document's title at the beginning of their heading paths.
    Raises ValueError for impossible sizes.

    The text is markdown unless another `syntax` is given.
    """
    title = parsed.metadata.get("title")
    above = ""
    if isinstance(title, str):
        above = storable(" ".join(title.split())[:LONGEST_TITLE])
    of_text = chunks_of(parsed.text, parsed.skipped, chunk_size, overlap, above, syntax)
    if of_text or not parsed.skipped:
        return of_text
    # A note that is only front matter, such as a contact card: the front matter is its text.
    card = "\n".join(parsed.text.split("\n")[1 : parsed.skipped - 1])
    return [
        replace(chunk, start_line=chunk.start_line + 1, end_line=chunk.end_line + 1)
        for chunk in chunks_of(card, 0, chunk_size, overlap, above)
    ]


class MarkdownReading:
    """A file that has been read; implements `formats.Reading`."""

    extract = None

    def __init__(self, file: FileBytes, metadata: Mapping[str, Any], format: "Markdown") -> None:
        self.mtime = file.mtime
        self.size = file.size
        self.digest = digest(file.data)
        self._data = file.data
        self._given = metadata
        self._format = format
        self._parsed: Parsed | None = None

    @property
    def warnings(self) -> list[tuple[str, str]]:
        warnings = []
        try:
            self._data.decode()
        except UnicodeDecodeError as error:
            reason = f"not UTF-8 at byte {error.start}: read with replacement characters"
            warnings.append((reason, "encoding"))
        return warnings + [(problem, "front matter") for problem in self._text.warnings]

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self._text.metadata

    @cached_property
    def links(self) -> "DocumentLinks":
        return self._text.links

    def date(self, doc_id: str, keys: Sequence[str] = DATE_KEYS) -> str | None:
        return document_date(doc_id, self.metadata, self.links.titles, keys)

    def chunks(self, chunk_size: int, overlap: int) -> list[Chunk]:
        return chunks(self._text, chunk_size, overlap, self._format.syntax)

    def close(self) -> None:
        """Do nothing: no file is open."""

    @property
    def _text(self) -> Parsed:
        if self._parsed is None:
            text = self._data.decode(errors="replace")
            self._parsed = self._format.parsed(text, self._given)
        return self._parsed


class Markdown:
    """The format of markdown files; implements `formats.Format`."""

    collection = None
    grows = False
    is_text = True
    syntax: Syntax | None = None  # of markdown

    def front_matter(self, text: str) -> FrontMatter:
        """Read what a text says about itself, and how many lines at its beginning are nothing else."""
        return front_matter(text)

    def parsed(self, text: str, metadata: Mapping[str, Any]) -> Parsed:
        """Return a text and all that is known of it. The given `metadata` takes precedence over what
        it says.
        """
        own = self.front_matter(text)
        known = {**own.metadata, **metadata}
        return Parsed(with_plain_newlines(text), own.lines, known, own.problems)

    def is_due(
        self, path: str, indexed_size: int, mtime: float, size: int, follow_symlinks: bool
    ) -> bool:
        """Return true: a file that has changed is always due, because all of it is one text."""
        return True

    def open(
        self, path: str, max_bytes: int, follow_symlinks: bool, metadata: Mapping[str, Any]
    ) -> MarkdownReading:
        return MarkdownReading(read(path, max_bytes, follow_symlinks), metadata, self)

    def lines(self, stream: BinaryIO, max_bytes: int) -> tuple[Sequence[str], bytes]:
        data = stream.read(min(max_bytes, os.fstat(stream.fileno()).st_size) + 1)
        if len(data) > max_bytes:
            raise BadFileError(f"it has become larger than max_file_bytes ({max_bytes:,})", "size")
        return Lines(data.decode(errors="replace")), digest(data)

    def joined(self, lines: Sequence[str]) -> str:
        return "\n".join(lines)


FORMAT = Markdown()
