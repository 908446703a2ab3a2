"""Find the structure of a markdown text in one pass over its lines: headings, code, tables and
paragraphs, inside quotes and list items, too. Chunks, links, tags and roles are found with it.

The rules are those of CommonMark 0.31 (appendix, "A parsing strategy") with the tables of GitHub
Flavored Markdown 0.29, except that the lines of HTML blocks are read as markdown, because people
write notes in them. The pass also removes noise that only the structure can tell from text: rules,
empty list items, HTML comments, and the padding of wide tables. Every line is kept, so that lines
can be cited.

Time is in proportion to the text.
"""

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from .headings import name_of
from .html_tables import BEGIN, END, as_pipe_table
from .noise import ALIGNED, UNTRUSTED, compact_row, without_noise

LONGEST_HEADING = 1000  # characters; a longer one is text
MOST_LINES = 8  # of a heading with an underline
LOOK_BACK = 1000  # characters of a line to search for the beginning of code
DEEPEST = 100  # nested containers; deeper ones are text, so that no line takes long
QUOTE = 0  # instead of an item's width

INDENTATION = re.compile(" *+")
BLOCK_SIGNS = frozenset(">`~#-=+*_0123456789")  # with which a block can begin
FENCE_LINE = re.compile(r"`{3,}(?=[^`]*\Z)|~{3,}")
HEADING_MARK = re.compile(r"(#{1,6})(?: |\Z)")
BREAK = re.compile(r"(?:(?:- *){3,}+|(?:\* *){3,}+|(?:_ *){3,}+)\Z")
UNDERLINE = re.compile(r"(?:=+|-+) *\Z")
ITEM_MARK = re.compile(r"(?:[-+*]|([0-9]{1,9})[.)])(?= |\Z)")
DEFINITION = re.compile(r"\[(?!\^)[^\]\n]+\]:[ \t]*\S")
# The row below the header of a table, behind the marks of quotes and items
DELIMITER_ROW = re.compile(r"\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+\Z")
# The beginnings of HTML blocks: those of any line (6), then a tag alone at the top of a paragraph (7)
HTML_BLOCK = re.compile(
    r"<(?:[!?]|(?:script|pre|style|textarea)(?:[\s>]|\Z)|/?(?:address|article|aside|base|basefont"
    r"|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption"
    r"|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu"
    r"|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th"
    r"|thead|title|tr|track|ul)(?:[\s>]|/>|\Z))",
    re.IGNORECASE,
)
LONE_TAG = re.compile(r"</?[A-Za-z][\w-]*+(?:\s[^<>]*+)?/?>[ \t]*\Z")
LIST_MARK = re.compile(r"[ \t>]*+(?:[-+*]|\d{1,9}[.)])[ \t]++")
SPACES = re.compile(r"[ \t]+")

Span = tuple[int, int]  # first and end position, or the first line and the line after the last


class Heading(NamedTuple):
    """text[start:end], one or more whole lines without the last line break."""

    level: int  # from 1
    title: str
    start: int
    end: int


class Block(NamedTuple):
    """Fenced code or a table, text[start:end], from the start of its first line to the line break
    after its last.
    """

    start: int
    first: int  # where the first line of code or the first row below the header begins
    end: int
    header: str  # of a table, repeated above its later parts: '| a | b |\n|---|---|\n'; "" for code


class Structure(NamedTuple):
    """A text without noise, and the positions of its parts, each in order.

    `text` has a line break before each line, because Python searches fastest for it. Headings
    inside quotes and list items are not among `headings`: they are text.
    """

    text: str
    headings: Sequence[Heading]
    blocks: Sequence[Block]
    code: Sequence[Span] = ()  # fenced and indented, in whole lines
    inline: Sequence[Span] = ()  # paragraphs, headings and rows: a code span is in one of them


Markup = Callable[[str], Structure]  # reads a text that has a line break before each line


def markdown_structure(text: str) -> Structure:
    """The structure of a markdown text that has a line break before each line."""
    return _structure(text)


def plain_structure(text: str) -> Structure:
    """As `markdown_structure`, with the rules, comments and padding of the text."""
    return _structure(text, keeps_noise=True)


def outline_structure(text: str) -> Structure:
    """As `markdown_structure`, for a text in which indentation is depth and never means code."""
    return _structure(text, is_outline=True)


@lru_cache(1)  # used twice per document: for its links and for its chunks
def _structure(text: str, *, keeps_noise: bool = False, is_outline: bool = False) -> Structure:
    scanned = _Scan(text, is_outline)
    body = without_noise(text if keeps_noise else "\n".join(["", *scanned.lines]))
    lines = body[1:].split("\n")
    begins = [
        number + before for number, before in enumerate(accumulate(map(len, lines), initial=0), 1)
    ]

    def spans(found: Iterable[Span]) -> list[Span]:
        return [(begins[first], begins[end] - 1) for first, end in found]

    def block(first: int, end: int, above: int, header: str) -> Block:
        """The block in these lines. Its code or rows begin below the first `above` lines."""
        stop = begins[end] - 1
        return Block(begins[first], min(begins[first + above], stop), stop, header)

    headings = [
        Heading(level, _title(lines[first:end], level), begins[first], begins[end] - 1)
        for level, first, end in scanned.headings
    ]
    blocks = [block(first, end, 1, "") for first, end in scanned.fences]
    blocks += [
        block(first, end, 2, _compact_header(*lines[first : first + 2]))
        for first, end in scanned.tables
    ]
    return Structure(body, headings, sorted(blocks), spans(scanned.code), spans(scanned.inline))


def code_of(blocks: Iterable[Block]) -> list[Span]:
    """The positions of the blocks that are code."""
    return [(block.start, block.end) for block in blocks if not block.header]


def is_in(blocks: Sequence[Block], at: int) -> bool:
    """Whether a position is in one of the blocks."""
    number = bisect(blocks, (at + 1,))
    return number > 0 and at < blocks[number - 1].end


def below(text: str, skipped: int) -> str:
    """The text below its first lines, with a line break before each line."""
    lines = text.split("\n", skipped)
    return "\n" + lines[-1] if len(lines) > skipped else ""


class _Container:
    """An open quote or list item. The lines of an item are indented by its width."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.is_empty = True


class _Scan:
    """The lines of a text, read one by one, and the parts found in them. Lines are counted from 0."""

    def __init__(self, text: str, is_outline: bool) -> None:
        self._is_outline = is_outline
        self.lines = text[1:].split("\n")  # noise is removed from them
        self.headings: list[tuple[int, int, int]] = []  # level, first line, line after the last
        self.fences: list[Span] = []
        self.tables: list[Span] = []
        self.code: list[Span] = []
        self.inline: list[Span] = []
        self._open: list[_Container] = []
        self._fence = ""  # that opened the current code, or ""
        self._fence_line = 0
        self._is_deep = False  # whether its indentation would make it indented code
        self._unclosed = 0  # up to this line, no closing fence was found
        self._paragraph: int | None = None  # its first line
        self._table: int | None = None  # the first line, if the paragraph is a table
        self._is_html = False  # whether the paragraph has a line of an HTML block
        self._last_comment = -1  # the last line that could end a comment
        if "<!--" in text:
            ends = (number for number, line in enumerate(self.lines) if "-->" in line)
            self._last_comment = max(ends, default=-1)
        self._last_table = -1  # the last line that could end a table of HTML
        if "<table" in text or "<TABLE" in text:
            ends = (number for number, line in enumerate(self.lines) if END.search(line))
            self._last_table = max(ends, default=-1)
        self._below_table = 0  # the line below the last table of HTML
        self._has_padding = "  |" in text
        self._read_all()

    def _read_all(self) -> None:
        for number, line in enumerate(self.lines):
            if number < self._below_table:
                continue
            if self._fence:
                if self._open or self._fence in line:
                    self._read(number, line)
                continue
            if number <= self._last_comment and "<!--" in line:
                line = self._without_comments(number)
            if self._open:
                self._read(number, line)
            elif number < self._last_table and BEGIN.match(line) and self._read_table(number):
                continue
            elif not line:
                self._end_paragraph(number)
            elif not line[0].isalpha():
                self._read(number, line)
            elif self._paragraph is None:
                self._paragraph = number
        if self._fence:
            self._end_fence(len(self.lines))
        self._end_paragraph(len(self.lines))

    def _read_table(self, number: int) -> bool:
        """Read the table of HTML that begins in a line as a table in pipes, if it is one."""
        end = (
            next(at for at in range(number, self._last_table + 1) if END.search(self.lines[at])) + 1
        )
        table = as_pipe_table(self.lines[number:end])
        if table is None:
            return False
        header, rows = table
        self._end_paragraph(number)
        self.lines[number:end] = rows
        self.inline += [(row, row + 1) for row in range(number, end)]
        self.tables.append((number + header, end))
        self._below_table = end
        return True

    def _read(self, number: int, line: str) -> None:
        if "\t" in line:
            line = line.expandtabs(4)
        line = line.rstrip()  # as for every part of the text, any space of Unicode is space
        column, matched = self._continued(line)
        if self._fence:
            if matched == len(self._open):
                if self._closes_fence(line, column):
                    self._end_fence(number + 1)
                return
            self._end_fence(number)  # with its container
            if number <= self._last_comment and "<!--" in line:
                line = self._without_comments(number).expandtabs(4).rstrip(" ")
        if column >= len(line):
            del self._open[matched:]
            self._end_paragraph(number)
        else:
            self._begin_blocks(number, line, column, matched)

    def _continued(self, line: str) -> tuple[int, int]:
        """Return the column after the marks of the open containers that this line continues, and
        their number.
        """
        column = 0
        for matched, container in enumerate(self._open):
            spaces = _spaces(line, column)
            if container.width == QUOTE:
                if spaces > 3 or line[column + spaces : column + spaces + 1] != ">":
                    return column, matched
                column += spaces + 1
                column += line[column : column + 1] == " "
            elif not line:
                if container.is_empty:  # an item may begin with at most one empty line
                    return column, matched
            elif spaces >= container.width:
                column += container.width
            else:
                return column, matched
        return column, len(self._open)

    def _begin_blocks(self, number: int, line: str, column: int, matched: int) -> None:
        """Open the blocks that begin in the line, after the marks of the continued containers."""
        in_paragraph = self._paragraph is not None
        goes_on = in_paragraph and matched == len(self._open)
        while column < len(line):
            spaces = _spaces(line, column)
            start = column + spaces
            sign = line[start]
            is_row = sign == "|" and (in_paragraph or self._is_header(number))
            if spaces > 3 and not (self._is_outline or self._is_html or is_row):
                fence = FENCE_LINE.match(line, start)
                if fence and self._is_closed(number, start, fence[0]):
                    self._close(number, matched)
                    self._begin_fence(number, fence[0], is_deep=True)
                elif not in_paragraph:
                    self._close(number, matched)
                    self.code.append((number, number + 1))
                return
            if sign not in BLOCK_SIGNS:
                break
            fence = FENCE_LINE.match(line, start) if sign in "`~" else None
            is_too_deep = matched >= DEEPEST
            item = None if is_too_deep else ITEM_MARK.match(line, start)
            if sign == ">" and not is_too_deep:
                self._close(number, matched)
                self._open.append(_Container(QUOTE))
                column = start + 1
                column += line[column : column + 1] == " "
            elif fence:
                self._close(number, matched)
                self._begin_fence(number, fence[0], is_deep=spaces > 3)
                return
            elif sign == "#" and (mark := HEADING_MARK.match(line, start)):
                self._close(number, matched)
                self.inline.append((number, number + 1))
                if not self._open:
                    self.headings.append((len(mark[1]), number, number + 1))
                return
            elif goes_on and sign in "-=" and UNDERLINE.match(line, start):
                self._underline(number, line, start, matched)
                return
            elif sign in "-*_" and sign == line[-1] and BREAK.match(line, start):
                self._close(number, matched)
                if not line[:start].strip(" "):
                    self.lines[number] = ""
                return
            elif item and not (goes_on and _cannot_interrupt(item, line)):
                self._close(number, matched)
                width = _item_width(item, line)
                self._open.append(_Container(item.end() - column + width))
                column = item.end() + width
                if column >= len(line) and not line[:start].strip(" "):
                    self.lines[number] = ""  # an empty item, often of a template
            else:
                break
            matched = len(self._open)
            in_paragraph = goes_on = False
        if column < len(line):
            self._add_text(number, line, start, matched, in_paragraph, goes_on)

    def _underline(self, number: int, line: str, start: int, matched: int) -> None:
        """Read a line of = or - below a paragraph: it makes the paragraph a heading, unless that is
        in a container, a table, HTML or too long; then it is a rule or text.
        """
        title = self._title_line(number)
        if self._begins_table(number, line, start):
            self._begin_table(number)
        elif title is not None or self._open:
            if title is not None:
                self.headings.append((1 if line[start] == "=" else 2, title, number + 1))
            self._close(number, matched)
        elif BREAK.match(line, start):
            self._close(number, matched)
            self.lines[number] = ""

    def _title_line(self, number: int) -> int | None:
        """The first line of the title that ends above a line, if its paragraph may be a heading."""
        assert self._paragraph is not None
        if self._open or self._is_html or self._table is not None:
            return None
        title = self.lines[self._paragraph : number]
        is_short = len(title) <= MOST_LINES and sum(map(len, title)) < LONGEST_HEADING
        return self._paragraph if is_short else None

    def _add_text(
        self, number: int, line: str, start: int, matched: int, in_paragraph: bool, goes_on: bool
    ) -> None:
        """Add the text of a line to the open paragraph, or begin one."""
        if not in_paragraph:
            self._close(number, matched)
            self._paragraph = number
        sign = line[start]
        if sign == "[" and not in_paragraph and DEFINITION.match(line, start):
            self._end_paragraph(number + 1)
        elif sign == "<":
            may_end = not in_paragraph or self._table is not None
            is_lone = may_end and LONE_TAG.match(line, start) is not None
            if is_lone and in_paragraph:
                self._end_paragraph(number)  # a table in a component of MDX
                self._paragraph = number
            self._is_html = self._is_html or is_lone or HTML_BLOCK.match(line, start) is not None
        elif sign == "|" and self._has_padding and len(line) - start > ALIGNED:
            self.lines[number] = compact_row(self.lines[number])
        if goes_on and sign in "|:-" and self._begins_table(number, line, start):
            self._begin_table(number)

    def _is_header(self, number: int) -> bool:
        """Whether the next line is a delimiter row. A table may be indented as far as code."""
        below = self.lines[number + 1 : number + 2]
        return bool(below) and DELIMITER_ROW.match(below[0].strip()) is not None

    def _begins_table(self, number: int, line: str, start: int) -> bool:
        """Whether a line below a line of the same paragraph is a delimiter row."""
        header = self.lines[number - 1]
        if self._table is not None or "|" not in header or not DELIMITER_ROW.match(line, start):
            return False
        return "|" in line[start:] or "|" not in header.strip("| \t")

    def _begin_table(self, number: int) -> None:
        assert self._paragraph is not None
        if self._paragraph < number - 1:
            self.inline.append((self._paragraph, number - 1))
        self._paragraph = self._table = number - 1

    def _close(self, number: int, matched: int) -> None:
        """Close the paragraph above, and the containers that this line does not continue."""
        self._end_paragraph(number)
        del self._open[matched:]
        if self._open:
            self._open[-1].is_empty = False

    def _end_paragraph(self, number: int) -> None:
        if self._paragraph is None:
            return
        if self._table is not None:
            self.tables.append((self._table, number))
            self.inline += [(row, row + 1) for row in range(self._table, number)]
        else:
            self.inline.append((self._paragraph, number))
        self._paragraph = self._table = None
        self._is_html = False

    def _is_closed(self, number: int, column: int, fence: str) -> bool:
        """Whether a fence that is indented as code is closed before text that is indented less. Then
        it was meant as a fence, as in a component of MDX or in a list with other indentation.
        """
        if number < self._unclosed:
            return False
        for later in range(number + 1, len(self.lines)):
            line = self.lines[later].expandtabs(4).rstrip(" ")
            if line and _spaces(line, 0) < column:
                break
            if _is_fence(line, fence):
                return True
            self._unclosed = later
        return False

    def _begin_fence(self, number: int, fence: str, *, is_deep: bool) -> None:
        self._fence = fence
        self._fence_line = number
        self._is_deep = is_deep

    def _closes_fence(self, line: str, column: int) -> bool:
        return (self._is_deep or _spaces(line, column) <= 3) and _is_fence(
            line[column:], self._fence
        )

    def _end_fence(self, end: int) -> None:
        """End the code. A block of data about a chat, which its program put there, is no text."""
        above = self.lines[self._fence_line - 1] if self._fence_line else ""
        if "(untrusted" in above and UNTRUSTED.search(above):
            self.lines[self._fence_line - 1] = UNTRUSTED.sub("", above)
            self.lines[self._fence_line : end] = [""] * (end - self._fence_line)
            self._fence = ""
            return
        self.fences.append((self._fence_line, end))
        self.code.append((self._fence_line, end))
        self._fence = ""

    def _without_comments(self, number: int) -> str:
        """Remove the comments that begin in a line and not in a code span. Returns what is left."""
        line = self.lines[number]
        pieces = []
        done = 0  # up to where the line is in the pieces
        pos = 0
        while (start := line.find("<!--", pos)) >= 0:
            if line.count("`", max(start - LOOK_BACK, done), start) % 2:
                pos = start + len("<!--")
                continue
            end = line.find("-->", start + len("<!--"))
            if end < 0 and number >= self._last_comment:
                break
            pieces.append(line[done:start])
            if end < 0:
                self._end_comment(number + 1)
                done = len(line)
                break
            done = pos = end + len("-->")
        self.lines[number] = "".join([*pieces, line[done:]])
        return self.lines[number]

    def _end_comment(self, number: int) -> None:
        """Remove the rest of a comment, from the beginning of a line to a later `-->`."""
        while "-->" not in self.lines[number]:
            self.lines[number] = ""
            number += 1
        self.lines[number] = self.lines[number].partition("-->")[2]


def _spaces(line: str, column: int) -> int:
    spaces = INDENTATION.match(line, column)
    assert spaces  # the pattern matches anywhere
    return spaces.end() - column


def _is_fence(line: str, fence: str) -> bool:
    """Whether a line closes code that this fence has opened."""
    mark = line.lstrip(" ")
    return mark.startswith(fence) and not mark.strip(fence[0])


def _cannot_interrupt(item: re.Match[str], line: str) -> bool:
    """Whether this list mark is text when the line continues a paragraph."""
    return item.end() == len(line) or (item[1] is not None and int(item[1]) != 1)


def _item_width(item: re.Match[str], line: str) -> int:
    """The number of columns between a list mark and its content."""
    spaces = _spaces(line, item.end())
    is_empty = item.end() + spaces >= len(line)
    return 1 if is_empty or spaces > 4 else spaces


def _title(lines: Sequence[str], level: int) -> str:
    """The title of a heading as a reader sees it, without the closing sequence of a heading in one
    line: "# Setup ##" -> "Setup", "# C#" -> "C#".
    """
    if len(lines) > 1:
        return name_of(" ".join(" ".join(lines[:-1]).split()))
    title = lines[0].strip()[level:].strip()
    opened = title.rstrip("#")
    if not opened or opened[-1].isspace():
        title = opened.rstrip()
    return name_of(title)


def _compact_header(header: str, delimiters: str) -> str:
    """The header and the delimiter row without the spaces that align the columns."""
    columns = delimiters.strip(" \t>|").count("|") + 1
    header = LIST_MARK.sub("", header, count=1)
    return f"{SPACES.sub(' ', header.strip())}\n{'|---' * columns}|\n"
