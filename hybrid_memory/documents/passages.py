"""Cut the text of a section into passages that make sense alone: each ends with a sentence, an item
or a block if one fits.

Code and tables are found first, because neither has sentences,
and because the later rows of a table need its header. The later items of a nested list need the
items around them.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..text.characters import begins_grapheme, pattern
from ..text.scripts import last_break
from ..text.sentences import CLOSING, ENDS, WIDE_CLOSING, WIDE_ENDS, ends_sentence
from ..text.terms import SEPARATOR
from .structure import Block

FIRST_CELL = r"[ \t>]*+\|[^|\n]+\|"
CUT = " … "  # in place of the beginning of a row
SHORTEST_CELL = 20  # characters; without room for so much, a first cell is not repeated

NONSPACE = r"\S"
LAST_CLAUSE = r"(?s).*(?:[;:,–—](?=\s)|[，、；：]|\n)"
LONGEST_END = 6  # characters: a full stop, closing quotes and brackets, a space
_CLOSING = re.escape(CLOSING)
_WIDE_CLOSING = re.escape(WIDE_CLOSING + WIDE_ENDS)
END = (
    rf"[\n{ENDS}{WIDE_ENDS}](?:(?<=\n)|(?<=[{ENDS}])[{_CLOSING}]{{0,4}}(?=[ \t])"
    rf"|(?<=[{WIDE_ENDS}])[{_WIDE_CLOSING}]{{0,4}}(?!\n))"
)
LAST_END = f"(?s).*{END}"
REST_OF_ROW = r"[ \t]*+\|[ \t]*+(?=\n|\Z)"
DELIMITERS = r"[\s>|:-]*+\Z"
# An option of a question: "B) Iron", "- [ ] b. Iron", "(B) Iron", "**B.** Iron"
OPTION = (
    r"(?:[ \t>]*+\n)?[ \t>]*+(?:[-*+•][ \t]++)?(?:\[[ xX]\][ \t]++)?(?:\*\*)?\(?[A-Ha-h][.)](?:\*\*)?[ \t]"
    r"[^\n]{0,150}(?=\n|\Z)"
)
NEXT_LINE = (
    rf"(?P<option>{OPTION})"
    r"|[ \t>]*+(?:(?P<begins>\n|\Z|\||<|```|~~~|(?:[-*+•]|\d{1,9}[.)])[ \t])|[^\w\n]*(?P<letter>\w))?"
)


class Part(NamedTuple):
    """A part of a document that is cut independently: a section with text, and the headings without
    text above it or, at the end of the document, below it.
    """

    start: int
    body: int  # where the text begins, below the headings
    tail: int  # where the text ends, above the headings below it
    end: int
    heading: str
    path: str  # the headings from the top to this one


class ChunkSpan(NamedTuple):
    """text[start:end]."""

    start: int
    end: int
    header: str  # of the table in which the passage begins, or ""
    items: str = ""  # the first lines of the list items in which it begins: "Garage > Shelf one"


def passages(
    text: str, part: Part, size: int, overlap: int, inside: Sequence[Block]
) -> Iterator[ChunkSpan]:
    """Yield the passages of a part in order.

    Each has up to `size` characters, including its table's header, and begins with up to `overlap`
    characters of the previous one. `inside` are the code and the tables of the text.
    """
    part_end = _without_space(text, part.start, part.end)
    if part_end == part.start:
        return
    if text[part.start] == "\n":  # the title of a heading was noise; its underline is left
        part = part._replace(start=_first_character(text, part.start, part_end))
    if part_end - part.start <= size:
        yield ChunkSpan(part.start, part_end, "")
        return
    text_end = part_end
    if part.tail < part.end:
        # The passage before the headings at the end must leave some text to go with them.
        text_end = _without_space(text, part.start, part.tail) - 1
    items = _Items(text, part.body, inside)
    start = part.start
    new = part.body  # start of the text that is in no passage yet
    while True:
        header = _header(text, inside, start, size)
        limit = start + size - len(header)
        if part_end <= limit:
            if start < part_end:
                yield ChunkSpan(start, part_end, header, items.around(start))
            return
        end = _natural_end(text, new, min(limit, text_end), size, inside)
        has_overlap = part.start < start < new
        if not end and has_overlap:
            start = new  # there is no room for the overlap
            continue
        end = end or cut(text, start, new, limit)
        if end == start:  # the indentation leaves no room
            start = new = _first_character(text, start, part_end)
            continue
        yield ChunkSpan(start, end, header, items.around(start))
        next_new = _next_new(text, end, part_end, size, inside)
        if next_new is None:
            return
        earliest = max(next_new - overlap, start + 1)
        start = new = next_new
        if overlap and not _block(inside, end - 1) and not _block(inside, new):
            start = _sentence_start(text, earliest, end, new)


def _without_space(text: str, start: int, end: int) -> int:
    """The end of text[start:end] without its trailing white space."""
    return start + len(text[start:end].rstrip())


def _first_character(text: str, start: int, end: int) -> int:
    rest = text[start:end]
    return start + len(rest) - len(rest.lstrip())


def _next_new(text: str, end: int, part_end: int, size: int, inside: Sequence[Block]) -> int | None:
    """The position of the first text after a passage; None at the end of the text.

    Skips text without meaning: the bar that closes a table row, and the delimiter row below a
    table's header.
    """
    rest = pattern(REST_OF_ROW).match(text, end, part_end)
    if rest:
        end = rest.end()
        if end == part_end:
            return None
    new = next_text(text, end, part_end, size)
    block = _block(inside, new)
    if block and new < block.first and pattern(DELIMITERS).match(text, new, block.first):
        new = next_text(text, block.first, part_end, size)
    return new


def next_text(text: str, pos: int, stop: int, size: int) -> int:
    """The position of the next text at or after `pos`: the start of its line or, if the line is
    indented too far, its first word.
    """
    first = pattern(NONSPACE).search(text, pos, stop)
    if not first:
        return stop
    line_start = text.rfind("\n", max(pos - 1, 0), first.start()) + 1
    if line_start >= pos and first.start() - line_start < size:
        return line_start
    has_space_before = first.start() > max(pos, line_start)
    if size > 1 and has_space_before and not begins_grapheme(text, first.start()):
        return first.start() - 1  # a combining mark keeps the space before it
    return first.start()


def _block(inside: Sequence[Block], at: int) -> Block | None:
    number = bisect_right(inside, (at + 1,)) - 1
    if number >= 0 and at < inside[number].end:
        return inside[number]
    return None


def _header(text: str, inside: Sequence[Block], at: int, size: int) -> str:
    """The header to repeat above a position in a table, and the first cell of the row if the
    position is inside a row. A long cell is cut.
    """
    block = _block(inside, at)
    if not block or not block.header or block.first > at or 2 * len(block.header) > size:
        return ""
    row = text.rfind("\n", block.first - 1, at) + 1
    cell = pattern(FIRST_CELL).match(text, row, at)
    room = size // 2 - len(block.header) - len(CUT)
    if cell is None or room < SHORTEST_CELL:
        return block.header
    first = cell[0]
    if len(first) > room:
        first = f"{text[row : cut(text, row, row, row + room - 3)]}… |"
    return f"{block.header}{first}{CUT}"


ITEM_OR_END = (
    r"\n(?:(?P<indent>[ \t>]*+)(?:[-+*]|\d{1,9}[.)])[ \t]++(?P<first>\S[^\n]*+)"
    r"|[ \t]*+(?=\n(?!(?:[-+*]|\d{1,9}[.)])[ \t])\S))"  # an empty line before text ends a list
)
INDENT = r"[ \t>]*+"
LONGEST_ITEM = 100  # characters of an item's first line
LONGEST_ITEMS = 200


class _Items:
    """The list items of a text from `start` on. Positions are given in ascending order, so that it is
    read once.
    """

    def __init__(self, text: str, start: int, inside: Sequence[Block]) -> None:
        self._text = text
        self._inside = inside
        self._found = pattern(ITEM_OR_END).finditer(text, text.rfind("\n", 0, start))
        self._next = next(self._found, None)
        self._open: list[tuple[int, str]] = []  # indentation and first line

    def around(self, at: int) -> str:
        """The first lines of the items that begin before a position and go on after it."""
        line_break = self._text.rfind("\n", 0, at)
        block = _block(self._inside, at)
        if block and not block.header:
            line_break = block.start - 1
        while self._next and self._next.start() < line_break:
            self._take(self._next)
            self._next = next(self._found, None)
        own = self._next
        if own and own["first"] and own.start() == line_break and at >= own.start("first"):
            return _titles(
                [*self._above(indentation(self._text, own.start("indent"))), own["first"]]
            )
        return _titles(self._above(indentation(self._text, line_break + 1)))

    def _above(self, indent: int) -> list[str]:
        return [first for column, first in self._open if column < indent]

    def _take(self, line: re.Match[str]) -> None:
        block = _block(self._inside, line.start() + 1)
        if block and not block.header and block.start <= line.start():
            return  # in code
        if not line["first"]:
            self._open = []
            return
        indent = indentation(self._text, line.start("indent"))
        while self._open and self._open[-1][0] >= indent:
            self._open.pop()
        self._open.append((indent, line["first"]))


def indentation(text: str, line: int) -> int:
    """The number of columns before the text of a line that begins at this position."""
    indent = pattern(INDENT).match(text, line)
    assert indent  # the pattern matches anywhere
    return len(indent[0].expandtabs(4))


def _titles(first_lines: list[str]) -> str:
    """Join the first lines of items. If they are too long, the innermost are kept."""
    joined = ""
    for line in reversed(first_lines):
        title = clipped(line.strip(), LONGEST_ITEM)
        room = LONGEST_ITEMS - len(joined) - len(SEPARATOR)
        if not joined:
            joined = title
        elif len(title) <= room:
            joined = f"{title}{SEPARATOR}{joined}"
        else:
            break
    return joined


def _natural_end(text: str, new: int, limit: int, size: int, inside: Sequence[Block]) -> int:
    """The last good end in text[new:limit], or 0. Code that fits into a passage is not cut."""
    block = _block(inside, limit)
    if block:
        first = max(new, block.first)
        is_moved = block.start > new and not block.header and block.end - block.start <= size
        if not is_moved:
            line_end = text.rfind("\n", first, limit + 1)
            if line_end > first:
                return _without_space(text, new, line_end)
        if block.start <= new:
            return 0
        limit = block.start - 1
    fallback = 0  # the last possible end
    pos = limit + 1
    while pos > new + 1:
        last_end = pattern(LAST_END).match(text, new + 1, pos)
        if not last_end:
            break
        at = last_end.end()
        is_line = text[at - 1] == "\n"
        if is_line:
            at -= 1
        pos = min(at, limit)
        if at > limit:  # a wide full stop needs no space after it
            continue
        block = _block(inside, at)
        if block and block.start < at and not (block.header and is_line):
            pos = max(block.start, new + 1)
            continue
        end = _without_space(text, new, at) if is_line else at
        if is_line:
            is_end = _line_ends(text, at, end)
        else:
            is_end = ends_sentence(text, at)
        if is_end:
            return end
        if is_end is None and not fallback:
            fallback = end
    return fallback


def _line_ends(text: str, at: int, end: int) -> bool | None:
    """Whether the line that ends here ends a sentence or an item; None if unsure, and above the
    options of a question, which stay with it if they fit.
    """
    if text[max(end - 4, 0) : end].rstrip("*_").endswith((":", "：")):
        return None
    next_line = pattern(NEXT_LINE).match(text, at + 1)
    assert next_line  # the pattern matches anywhere
    if next_line["option"]:
        return None
    if next_line["begins"] or text.endswith(("```", "~~~"), 0, end) or ends_sentence(text, end):
        return True
    letter = next_line["letter"]
    if letter and letter.islower():
        return False
    return None


def cut(text: str, origin: int, new: int, limit: int) -> int:
    """The end of a passage without a natural end: after a clause, else a word, else a character."""
    start = new if limit > new else origin
    middle = (start + limit) // 2
    clause = pattern(LAST_CLAUSE).match(text, middle, limit + 1)
    if clause:
        clause_end = _without_space(text, start, min(clause.end(), limit))
        if clause_end > middle:
            return clause_end
    return _without_space(text, origin, _word_end(text, start, origin, limit))


def clipped(text: str, room: int) -> str:
    """The beginning of a text, with `…` in place of the rest if it is longer than `room`."""
    if len(text) <= room:
        return text
    return text[: cut(text, 0, 0, room - 1)] + "…"


def _word_end(text: str, start: int, origin: int, limit: int) -> int:
    for base in dict.fromkeys((start, origin)):
        end = limit + 1
        while last := last_break(text).match(text, base + 1, end):
            end = last.end() - 1
            if begins_grapheme(text, end):
                return end
    characters = range(limit, start, -1)
    return next((end for end in characters if begins_grapheme(text, end)), limit)


def _sentence_start(text: str, start: int, end: int, default: int) -> int:
    """The start of the first sentence or line in text[start:end]."""
    for sentence_end in pattern(END).finditer(text, max(start - LONGEST_END, 0), end):
        at = sentence_end.end()
        is_line = text[at - 1] == "\n"
        if _line_ends(text, at - 1, at - 1) if is_line else ends_sentence(text, at):
            begins = next_text(text, at, end, default)
            if start <= begins < end:
                return begins
    return default
