"""Divide a large text into portions that give the same chunks, links and tags as the whole text.

A portion ends above a line with which a chunk begins, and which ends all code, comments, lists,
quotes and tables above it: a heading or a list item that is not indented, or any such line below an
empty one. A text without such a line is divided anywhere:

- A table's header, the first line of code and the beginnings of the list items around the place are
  repeated in the next portion.
- Other text is divided at the beginning of a chunk or, in a very long line, of a word. The chunks
  after it may begin elsewhere, and indented text that belongs to HTML above it is code.
- A comment, or text hidden between %% or $$, is text.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from .chunker import BEGINNING, Chunk, Place
from .code import without_code, without_hidden
from .passages import LONGEST_ITEM, clipped, indentation
from .structure import LIST_MARK, Block, Heading, Markup, below

# Characters. The text below a portion may change its last chunk: this much, and three chunks, are read
# ahead
LOOK_AHEAD = 4_000

# Lines that end all blocks above them: below any line, and below an empty one
TOP_ANYWHERE = re.compile(r"#{1,6}[ \t]|[-*+][ \t]+\S")
TOP_BELOW_EMPTY = re.compile(r"[^\s<%$=~`]")
# The beginnings of formulas, comments between %% and org-mode blocks
UNCLOSED = re.compile(r"\n[ \t]{0,3}(?:%%|\$\$)|\n[ \t]*+#\+begin_", re.IGNORECASE)
BEFORE_WORD = re.compile(r".*\s(?=[^\W\d_])", re.DOTALL)


class End(NamedTuple):
    """The end of a portion: its position in the text of the window, the number of lines before it,
    and the headings around it as in `chunker.Place`.

    `chunks` is the number of chunks in the portion; None: it has to be cut again. `has_title` if
    one of its headings has a title. `repeated` lines begin the next portion.
    """

    at: int
    lines: int
    headings: Sequence[tuple[int, str]]
    has_title: bool
    chunks: int | None = None
    repeated: str = ""


class Window(NamedTuple):
    """A part of a text that begins with a portion. Its first `skipped` lines are front matter, or
    its first `repeated` lines are repeated from above.
    """

    text: str
    skipped: int = 0
    place: Place = BEGINNING
    repeated: int = 0

    @property
    def first_line(self) -> int:
        """The first line that is not in an earlier portion."""
        return self.place.lines + self.repeated + 1

    def after(self, end: End, chunks: int, more: str) -> "Window":
        """The window of the next portion, which has this many chunks before it, and `more` text
        behind this window's.
        """
        repeated = end.repeated.count("\n")
        place = Place(chunks, end.lines - repeated, end.headings)
        return Window(end.repeated + self.text[end.at :] + more, 0, place, repeated)


class Divider:
    """Finds the end of the first portion of a window that was cut into `chunks`."""

    def __init__(
        self, window: Window, chunks: Sequence[Chunk], chunk_size: int, markup: Markup
    ) -> None:
        self._window = window
        self._chunks = chunks
        self._structure = markup(below(window.text, window.skipped))
        self._text = self._structure.text
        self._lines = [line_break.end() for line_break in re.finditer("\n", self._text)]
        self._last = len(self._text) - LOOK_AHEAD - 3 * chunk_size

    def end(self) -> End | None:
        """The last position at which the text can be divided without a change of chunks, links or
        tags; None if it has no such position.
        """
        text = self._text
        shown = without_hidden(without_code(self._structure))
        unclosed = UNCLOSED.search(shown)
        last = unclosed.start() if unclosed else len(text)
        for number, at in self._line_starts():
            if (
                at <= last
                and shown[at] == text[at]
                and (TOP_ANYWHERE.match(text, at) or self._begins_top_paragraph(at))
                and not self._block(at)
                and self._is_below_text(at)
                and shown.rfind("<!--", 0, at) <= shown.rfind("-->", 0, at)
            ):
                return self._end(number, at)
        return None

    def any_end(self) -> End:
        """An end for a text that has no other."""
        for number, at in self._line_starts():
            block = self._block(at)
            if not block:
                return self._end(number, at)._replace(repeated=self._items_around(at))
            first_line = self._text[block.start : block.first]
            return self._end(number, at)._replace(repeated=block.header or first_line)
        text = self._window.text
        word = BEFORE_WORD.match(text, 0, max(len(text) - LOOK_AHEAD, 1))
        at = word.end() if word else len(text)
        lines = text.count("\n", 0, at)
        headings = self._headings(self._lines[max(lines - self._window.skipped, 0)])
        around = self._around(headings)
        return End(at, self._window.place.lines + lines, around, _has_title(headings))

    def _line_starts(self) -> Iterator[tuple[int, int]]:
        """Yield the chunks with which a line begins, the last first: number and position."""
        above = self._window.place.lines + self._window.skipped
        for number in range(len(self._chunks) - 1, 0, -1):
            line = self._chunks[number].start_line
            at = self._lines[line - above - 1]
            if at <= self._last and self._chunks[number - 1].end_line < line:
                yield number, at

    def _begins_top_paragraph(self, at: int) -> bool:
        above = self._text.rfind("\n", 0, at - 1)
        is_below_empty = above >= 0 and self._text[above:at].isspace()
        return is_below_empty and TOP_BELOW_EMPTY.match(self._text, at) is not None

    def _block(self, at: int) -> Block | None:
        """The code or the table in which a line is."""
        number = bisect_left(self._structure.blocks, (at,)) - 1
        if number >= 0 and at <= self._structure.blocks[number].end:
            return self._structure.blocks[number]
        return None

    def _items_around(self, at: int) -> str:
        """The beginnings of the list items that go on after the start of a line, one a line: without
        them, inner items would be code.
        """
        text = self._text
        beginnings: list[str] = []
        width = indentation(text, at)
        end = at - 1
        while width and end > 0:
            start = text.rfind("\n", 0, end) + 1
            column = indentation(text, start)
            if column < width and start < end:
                if LIST_MARK.match(text, start, end):
                    beginnings.insert(0, clipped(text[start:end], LONGEST_ITEM) + "\n")
                    width = column
                elif not column:
                    break  # text below the list
            end = start - 1
        return "".join(beginnings)

    def _is_below_text(self, at: int) -> bool:
        """Whether there is text between a line and the heading above. A heading without text belongs
        to the text below it.
        """
        headings = self._headings(at)
        begin = headings[-1].end if headings else 0
        return not self._text[begin:at].isspace()

    def _headings(self, end: int) -> Sequence[Heading]:
        """The headings above a position."""
        return self._structure.headings[
            : bisect_left(self._structure.headings, end, key=attrgetter("start"))
        ]

    def _end(self, number: int, at: int) -> End:
        lines = self._chunks[number].start_line - 1
        rows = self._window.text.split("\n", lines - self._window.place.lines)[:-1]
        headings = self._headings(at)
        return End(
            sum(map(len, rows)) + len(rows),
            lines,
            self._around(headings),
            _has_title(headings),
            number,
        )

    def _around(self, headings: Sequence[Heading]) -> list[tuple[int, str]]:
        around = list(self._window.place.headings)
        for heading in headings:
            around = [each for each in around if each[0] < heading.level]
            around.append((heading.level, heading.title))
        return around


def _has_title(headings: Sequence[Heading]) -> bool:
    return any(heading.title for heading in headings)
