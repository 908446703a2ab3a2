"""Read markdown files, and all files without another format: front matter, then text that is cut at
headings.

Other line-based text markups derive from `Markdown`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from ..registry import PLUGINS, load
from ..text.characters import (
    digest,
    lines_at,
    marked_encoding,
    storable,
    text_of_bytes,
    with_plain_newlines,
)
from ..text.dates import DATE_KEYS, HEAD, Dated, dated
from ..text.links import DocumentLinks
from .chunker import Chunk, chunks_of
from .conversations import conversation, with_roles
from .files import FileBytes, read
from .formats import PlainLines
from .front_matter import FrontMatter, named
from .links import document_links
from .metadata import metadata_of
from .structure import Markup, Structure, below, markdown_structure

LONGEST_TITLE = 200  # characters; every chunk repeats the title

# What git writes around two versions of some lines that it could not merge, and between them
MERGE_BEGINS, MERGE_BASE, MERGE_MIDDLE, MERGE_ENDS = (sign * 7 for sign in "<|=>")
FENCES = ("```", "~~~")


class Parsed(NamedTuple):
    """A text with plain newlines whose first `skipped` lines are front matter.

    `metadata` includes the metadata given by the caller; `problems` describe unreadable front
    matter. `merges` has the first line of each conflict that git left in the text. `left_out` is as
    in `formats.Reading`.
    """

    text: str
    skipped: int
    metadata: Mapping[str, Any]
    problems: Sequence[str] = ()
    merges: Sequence[int] = ()
    left_out: str | None = None

    @property
    def warnings(self) -> list[str]:
        """The problems in one line, or []."""
        return [named(self.problems)] if self.problems else []

    @property
    def title(self) -> str:
        """The title in the metadata, as in the heading paths of chunks, or ""."""
        title = self.metadata.get("title")
        return storable(" ".join(title.split())[:LONGEST_TITLE]) if isinstance(title, str) else ""

    @property
    def head(self) -> str:
        """The beginning of the text behind the front matter, at most HEAD characters."""
        return self.text.split("\n", self.skipped)[-1][:HEAD]


def parse(text: str, metadata: Mapping[str, Any]) -> Parsed:
    """Read the front matter of a markdown text. The given `metadata` takes precedence over it."""
    return FORMAT.parsed(text, metadata)


def chunk_text(text: str, chunk_size: int = 512, overlap: int = 50) -> list[Chunk]:
    """Cut markdown into chunks of up to `chunk_size` characters. A chunk ends with a sentence, an
    item or a block if one fits.

    A chunk begins with the last whole sentences of the previous chunk in its section, if they have
    at most `overlap` characters. A heading without text becomes part of the next chunk, or at the
    end of the text, of the last one. A chunk that begins inside a table repeats the table's header,
    which is not on its lines. Front matter, rules, empty list items, HTML comments, data: URIs and
    runs of over 200 characters without a space are left out. Raises ValueError for an overlap that
    leaves no room for new text.
    """
    parsed = parse(text, {})
    return chunks_of(parsed.text, parsed.skipped, chunk_size, overlap)


def chunks(
    parsed: Parsed, chunk_size: int, overlap: int, markup: Markup = markdown_structure
) -> list[Chunk]:
    """Cut a text into chunks whose heading paths begin with the document's title.

    The text is markdown unless another `markup` is given. Raises ValueError for invalid sizes.
    """
    above = parsed.title
    text_chunks = chunks_of(parsed.text, parsed.skipped, chunk_size, overlap, above, markup)
    if text_chunks or not parsed.skipped:
        return with_roles(text_chunks, conversation(parsed.text, parsed.skipped))
    # A note with nothing but front matter, such as a contact card: index the front matter as text.
    card = "\n".join(parsed.text.split("\n")[1 : parsed.skipped - 1])
    return [
        replace(chunk, start_line=chunk.start_line + 1, end_line=chunk.end_line + 1)
        for chunk in chunks_of(card, 0, chunk_size, overlap, above)
    ]


def headings_below(text: str, skipped: int, markup: Markup) -> list[tuple[int, int, str]]:
    """The line, level and title of each heading below the first `skipped` lines."""
    body, headings, *_ = markup(below(text, skipped))
    lines = lines_at(body, [heading.start for heading in headings], skipped)
    return [
        (line, heading.level, heading.title) for line, heading in zip(lines, headings, strict=True)
    ]


def without_merge_marks(text: str) -> tuple[str, list[int]]:
    """Remove git's marks around the lines that it could not merge, but keep every line and both
    versions. Marks in fenced code are an example. Returns the text, and the first line of each
    conflict.
    """
    found: list[int] = []
    if MERGE_MIDDLE not in text or MERGE_ENDS not in text:
        return text, found
    lines = text.split("\n")
    marks: dict[int, str] = {}  # of the conflict that is open
    is_code = False
    for number, line in enumerate(lines):
        mark = line.partition(" ")[0]
        if mark == MERGE_BEGINS and not is_code:
            marks = {number: mark}
        elif marks and mark in (MERGE_BASE, MERGE_MIDDLE):
            marks[number] = mark
        elif mark == MERGE_ENDS and MERGE_MIDDLE in marks.values():
            found.append(min(marks) + 1)
            for at in (*marks, number):
                lines[at] = ""
            marks = {}
        elif not marks and line.startswith(FENCES):
            is_code = not is_code
    return "\n".join(lines), found


class MarkdownReading:
    """A file that was read; implements `formats.Reading`."""

    extract = None

    def __init__(self, file: FileBytes, metadata: Mapping[str, Any], format: "Markdown") -> None:
        self.mtime = file.mtime
        self.size = file.size
        self.digest = digest(file.data)
        self._data = file.data
        self._given = metadata
        self._format = format

    @property
    def warnings(self) -> list[tuple[str, str]]:
        warnings = []
        try:
            text_of_bytes(self._data, "strict")
        except UnicodeDecodeError as error:
            name = "UTF-16" if marked_encoding(self._data) else "UTF-8"
            reason = f"not {name} at byte {error.start}: read with replacement characters"
            warnings.append((reason, "encoding"))
        warnings += [(problem, "front matter") for problem in self._text.warnings]
        for line in self._text.merges[:1]:
            text = "git could not merge the lines from here; both versions are read"
            warnings.append((f"line {line}: {text}", "merge conflict"))
        return warnings

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self._text.metadata

    @property
    def left_out(self) -> str | None:
        return self._text.left_out

    @cached_property
    def links(self) -> DocumentLinks:
        return self._format.links(self._text)

    def date(self, doc_id: str, keys: Sequence[str] = DATE_KEYS, order: str = "") -> Dated:
        return dated(doc_id, self.metadata, self.links.titles, keys, self._text.head, order)

    def chunks(self, chunk_size: int, overlap: int) -> list[Chunk]:
        return chunks(self._text, chunk_size, overlap, self._format.structure)

    def close(self) -> None:
        """Do nothing: no file is open."""

    @cached_property
    def _text(self) -> Parsed:
        return self._format.parsed(text_of_bytes(self._data), self._given)


class Markdown(PlainLines):
    """The format of markdown files; implements `formats.Format`."""

    collection = None
    is_text = True

    def structure(self, text: str) -> Structure:
        """The structure of a text with a line break before each line, see structure.py."""
        return markdown_structure(text)

    def front_matter(self, text: str) -> FrontMatter:
        """Read the metadata of a text."""
        return metadata_of(text)

    def parsed(self, text: str, metadata: Mapping[str, Any]) -> Parsed:
        """Parse a text. The given `metadata` takes precedence over its own."""
        text, merges = without_merge_marks(with_plain_newlines(text))
        own = self.front_matter(text)
        for key in PLUGINS.keys() & own.metadata.keys():
            text = load(PLUGINS[key])(text)
        known = {**own.metadata, **metadata}
        return Parsed(text[: own.end], own.lines, known, own.problems, merges, own.left_out)

    def links(self, parsed: Parsed) -> DocumentLinks:
        """The titles, links and tags of a parsed text."""
        return document_links(parsed.text, parsed.skipped, parsed.metadata, self.structure)

    def headings(self, lines: Sequence[str]) -> list[tuple[int, int, str]]:
        """As in `formats.Format`."""
        parsed = self.parsed("\n".join(lines), {})
        return headings_below(parsed.text, parsed.skipped, self.structure)

    def open(
        self, path: str, max_bytes: int, follow_symlinks: bool, metadata: Mapping[str, Any]
    ) -> MarkdownReading:
        return MarkdownReading(read(path, max_bytes, follow_symlinks), metadata, self)


FORMAT = Markdown()
