"""Read markdown files, and all files without a format of their own: front matter, then text that is cut at headings.

Other markups that are text, line by line as it is in the file, derive from `Markdown`.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from ..text.characters import storable, with_plain_newlines
from ..text.dates import DATE_KEYS, document_date
from ..text.digest import digest
from ..text.lines import Lines
from ..typed.names import TYPE_CHECKING, Any, BinaryIO, NamedTuple
from .files import BadFileError, FileBytes, read

if TYPE_CHECKING:
    from .chunker import Chunk
    from .cutting.syntax import Syntax
    from .frontmatter import FrontMatter
    from .marks.found import Marks

LONGEST_TITLE = 200  # characters; the title goes with every chunk


class Parsed(NamedTuple):
    """A text with plain newlines whose first `skipped` lines are front matter. `metadata` is all that is known about it."""

    text: str
    skipped: int
    metadata: Mapping[str, Any]
    left_out: int  # keys of the front matter, because it is too long

    @property
    def marks(self) -> "Marks":
        """Titles, links and tags."""
        from .marks.found import marks

        return marks(self.text, self.skipped, self.metadata)


def parse(text: str, metadata: Mapping[str, Any]) -> Parsed:
    """Read the front matter of a markdown text. The given `metadata` takes precedence over it."""
    return FORMAT.parsed(text, metadata)


def chunks(parsed: Parsed, chunk_size: int, overlap: int, syntax: "Syntax | None" = None) -> "list[Chunk]":
    """The chunks, with the document's title at the beginning of their heading paths. Raises ValueError for impossible sizes.

    The text is markdown unless another `syntax` is given.
    """
    from .chunker import chunks_after

    title = parsed.metadata.get("title")
    above = storable(" ".join(title.split())[:LONGEST_TITLE]) if isinstance(title, str) else ""
    found = chunks_after(parsed.text, parsed.skipped, chunk_size, overlap, above, syntax)
    if parsed.skipped and not found:  # a note that is only front matter, such as a contact card: the front matter is its text
        card = "\n".join(parsed.text.split("\n")[1 : parsed.skipped - 1])
        found = [
            replace(chunk, start_line=chunk.start_line + 1, end_line=chunk.end_line + 1)
            for chunk in chunks_after(card, 0, chunk_size, overlap, above)
        ]
    return found


class MarkdownReading:
    """A file that has been read; implements `formats.Reading`."""

    extract = None

    def __init__(self, file: FileBytes, metadata: Mapping[str, Any], format: "Markdown") -> None:
        self.mtime, self.size = file.mtime, file.size
        self.digest = digest(file.data)
        self._data, self._given, self._format = file.data, metadata, format
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

    @cached_property
    def marks(self) -> "Marks":
        return self._text.marks

    def date(self, doc_id: str, keys: Sequence[str] = DATE_KEYS) -> str | None:
        return document_date(doc_id, self.metadata, self.marks.titles, keys)

    def chunks(self, chunk_size: int, overlap: int) -> "list[Chunk]":
        return chunks(self._text, chunk_size, overlap, self._format.syntax)

    def close(self) -> None:
        """Nothing is open."""

    @property
    def _text(self) -> Parsed:
        self._parsed = self._parsed or self._format.parsed(self._data.decode(errors="replace"), self._given)
        return self._parsed


class Markdown:
    """Implements `formats.Format`."""

    collection = None
    grows = False
    is_text = True
    syntax: "Syntax | None" = None  # of markdown

    def front_matter(self, text: str) -> "FrontMatter":
        """What a text says about itself, and how many lines at its beginning are nothing else."""
        from . import frontmatter

        return frontmatter.parse(text)

    def parsed(self, text: str, metadata: Mapping[str, Any]) -> Parsed:
        """A text and all that is known about it. The given `metadata` takes precedence over what it says."""
        found = self.front_matter(text)
        return Parsed(with_plain_newlines(text), found.lines, {**found.metadata, **metadata}, found.left_out)

    def is_due(self, path: str, indexed_size: int, mtime: float, size: int, follow_symlinks: bool) -> bool:
        """A file that has changed is always due, because all of it is one text."""
        return True

    def open(self, path: str, max_bytes: int, follow_symlinks: bool, metadata: Mapping[str, Any]) -> MarkdownReading:
        return MarkdownReading(read(path, max_bytes, follow_symlinks), metadata, self)

    def lines(self, stream: BinaryIO, max_bytes: int) -> tuple[Sequence[str], bytes]:
        data = stream.read(min(max_bytes, os.fstat(stream.fileno()).st_size) + 1)
        if len(data) > max_bytes:
            raise BadFileError(f"it has become larger than max_file_bytes ({max_bytes:,})", "size")
        return Lines(data.decode(errors="replace")), digest(data)

    def joined(self, lines: Sequence[str]) -> str:
        return "\n".join(lines)


FORMAT = Markdown()
