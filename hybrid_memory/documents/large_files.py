"""Read a large text file in portions, so that memory does not depend on its size.

The chunks, links and tags are the same as for the whole text, with the exceptions in portions.py.
Only the first portion is searched for front matter, for the date, and for the speakers of a
conversation.
"""

import codecs
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from io import TextIOWrapper
from typing import Any, BinaryIO, NamedTuple

from ..text.characters import hasher, marked_encoding
from ..text.dates import DATE_KEYS, document_date
from .chunker import BEGINNING, Chunk, chunks_of
from .conversations import Conversation, continued, conversation, with_roles
from .files import SNIFF, changing, check_text, is_unchanged, open_regular, settled
from .links import DocumentLinks, Link
from .markdown import Markdown, Parsed, undecodable
from .portions import Divider, Window

PORTION = 500_000  # characters read at a time
LONGEST = 2_000_000  # characters in memory, to find a place where a portion may end
BLOCK = 1_000_000  # bytes


class Survey(NamedTuple):
    """The properties of a file that do not depend on its text. `marked` is the encoding that a byte
    order mark declares; `bad_byte` is the first that cannot be decoded, counted behind such a mark.
    """

    status: os.stat_result
    digest: bytes
    marked: str | None
    bad_byte: int | None


def survey(stream: BinaryIO, max_bytes: int) -> Survey:
    """Read all bytes of a file. Raises BadFileError if it is too large, changing or binary."""
    status = settled(stream, max_bytes)
    beginning = stream.read(SNIFF)
    check_text(beginning)
    marked = marked_encoding(beginning)
    mark = beginning[: 2 if marked else 0]
    content = hasher()
    content.update(mark)
    stream.seek(len(mark))
    decoder = codecs.getincrementaldecoder(marked or "utf-8")()
    decoded = 0  # bytes
    bad_byte = None
    while True:
        block = stream.read(BLOCK)
        content.update(block)
        if bad_byte is None:
            waiting = len(decoder.getstate()[0])
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                bad_byte = decoded - waiting + error.start
            decoded += len(block)
        if not block:
            break
    if not is_unchanged(stream, status):
        raise changing()
    return Survey(status, content.digest(), marked, bad_byte)


class LargeReading:
    """A file that is being read; implements `formats.StreamedReading`. It is stored when all of it
    has been read, and then its links are complete.
    """

    extract = None
    left_out = None
    has_more = False

    def __init__(
        self,
        path: str,
        max_bytes: int,
        follow_symlinks: bool,
        metadata: Mapping[str, Any],
        format: Markdown,
    ) -> None:
        self._given = metadata
        self._format = format
        self._titles: tuple[str, ...] = ()
        self._has_title = False  # whether a heading so far has a title
        self._links: list[Link] = []
        self._tags: dict[str, None] = {}
        self._conversation: Conversation | None = None
        self._is_at_end = False
        self._stream = open_regular(path, follow_symlinks)
        try:
            self._survey = survey(self._stream, max_bytes)
            self._stream.seek(2 if self._survey.marked else 0)
            encoding = self._survey.marked or "utf-8"
            self._text = TextIOWrapper(self._stream, encoding, "replace", newline=None)
        except BaseException:
            self._stream.close()
            raise
        self.mtime = self._survey.status.st_mtime
        self.size = self._survey.status.st_size
        self.digest = self._survey.digest

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self._first.metadata

    @property
    def warnings(self) -> list[tuple[str, str]]:
        warnings = []
        if self._survey.bad_byte is not None:
            warnings.append(undecodable(self._survey.marked, self._survey.bad_byte))
        return warnings + [(problem, "front matter") for problem in self._first.warnings]

    @property
    def links(self) -> DocumentLinks:
        return DocumentLinks(self._titles, tuple(self._links), tuple(self._tags))

    def date(self, doc_id: str, keys: Sequence[str] = DATE_KEYS) -> str | None:
        return document_date(doc_id, self.metadata, self._first_titles, keys, self._first.head)

    def chunks(self, chunk_size: int, overlap: int) -> Iterator[Chunk]:
        """As in `formats.Reading`. Raises BadFileError at the end if the file has changed."""

        def cut(window: Window) -> list[Chunk]:
            text, skipped, place, _ = window
            title = self._first.title
            return chunks_of(text, skipped, chunk_size, overlap, title, markup, place)

        markup = self._format.structure
        window = Window(self._first.text, self._first.skipped)
        while True:
            found = cut(window)
            if self._is_at_end:
                break
            divider = Divider(window, found, chunk_size, markup)
            end = divider.end()
            if end is None and len(window.text) < max(LONGEST, 10 * chunk_size):
                window = window._replace(text=window.text + self._more(len(window.text)))
                continue
            end = end or divider.any_end()
            portion = window._replace(text=window.text[: end.at])
            found = cut(portion) if end.chunks is None else found[: end.chunks]
            yield from self._finished(portion, found)
            self._has_title |= end.has_title
            window = window.after(end, window.place.chunks + len(found), self._more(PORTION))
        yield from self._finished(window, found)
        if not is_unchanged(self._stream, self._survey.status):
            raise changing()

    def _finished(self, portion: Window, chunks: list[Chunk]) -> Iterator[Chunk]:
        """Collect the links of a portion, and yield its chunks with their roles and true lines."""
        text, skipped, place, repeated = portion
        links = self._format.links(Parsed(text, skipped, self.metadata))
        if not self._has_title:
            self._titles = links.titles
        on_lines = (link._replace(line=link.line + place.lines) for link in links.links)
        self._links += (link for link in on_lines if link.line >= portion.first_line)
        self._tags |= dict.fromkeys(links.tags)
        if place is BEGINNING:
            self._conversation = conversation(text, skipped)
        elif self._conversation:
            self._conversation = continued(self._conversation, text, place.lines)
        for chunk in with_roles(chunks, self._conversation):
            if chunk.start_line < portion.first_line:
                header = "\n".join([*text.split("\n", repeated)[:repeated], ""])
                chunk = replace(chunk, start_line=portion.first_line, header=header)
            yield chunk

    def close(self) -> None:
        self._text.close()

    @cached_property
    def _first(self) -> Parsed:
        """The beginning of the file. It is read once, before all other text."""
        return self._format.parsed(self._more(PORTION), self._given)

    @cached_property
    def _first_titles(self) -> tuple[str, ...]:
        return self._format.links(self._first).titles

    def _more(self, size: int) -> str:
        """Read this many characters, or the rest of the file."""
        text = self._text.read(size)
        self._is_at_end = len(text) < size
        return text
