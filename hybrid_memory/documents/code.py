"""Find the code of a markdown text, in which brackets and # mean something else, and blank it out.

Where code is depends on the quotes and the items of lists that a line is in, so the text is read
line by line as CommonMark 0.31 says (appendix, "A parsing strategy"), with the tables of GitHub
Flavored Markdown 0.29. HTML is text. What Obsidian does not show either, comments between %% and
formulas between $$, is found in what is left. All of it takes time in proportion to the text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

QUOTE = 0  # in place of the width of an item

FENCE_LINE = re.compile(r"(`{3,})[^`]*\Z|(~{3,})")
HEADING_MARK = re.compile(r"#{1,6}(?: |\Z)")
BREAK = re.compile(r"(?:(?:- *){3,}+|(?:\* *){3,}+|(?:_ *){3,}+)\Z")
UNDERLINE = re.compile(r"(?:=+|-+) *\Z")
ITEM_MARK = re.compile(r"(?:[-+*]|(\d{1,9})[.)])(?= |\Z)")
DELIMITER_LINE = re.compile(
    r"[ \t>]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+\Z"
)
BACKTICKS = re.compile(r"(?<!\\)(\\*+)(`+)")
ORG_BLOCK = re.compile(r"\n[ \t]*+#\+(begin|end)_(src|example|export|comment)\b", re.IGNORECASE)
HIDING = re.compile(r"(?<!\\)(?:%%|\$\$)")
BLANK_LINE = re.compile(r"\n[ \t]*+\n")
NO_BREAK = re.compile(r"[^\n]")

Span = tuple[int, int]


def without_code(text: str) -> str:
    """Return a text with spaces in place of its code, so that every character keeps its place."""
    if "`" in text or "~~~" in text or "    " in text or "\t" in text:
        text = "\n".join(_Blanking(text.split("\n")).lines())
    return text


def without_hidden(text: str) -> str:
    """Return a text without code with spaces also in place of org-mode's blocks of code, comments
    between %% and formulas between $$.

    A pair of signs that does not begin a line belongs to one paragraph; a sign alone is text.
    """
    if "#+" in text:
        text = _blanked(text, _org_blocks(text))
    if "%%" in text or "$$" in text:
        text = _blanked(text, _hidden(text))
    return text


class _Container:
    """A quote or an item of a list that is open. The lines of an item are indented by its width."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.is_empty = True


class _Blanking:
    """The lines of a text in which the code is blanked, and the state after the lines read so far."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._open: list[_Container] = []
        self._fence = ""  # that opened the code which the line is in, or ""
        self._paragraph: int | None = None  # the number of its first line

    def lines(self) -> list[str]:
        for number in range(len(self._lines)):
            self._read(number)
        self._end_paragraph(len(self._lines))
        return self._lines

    def _read(self, number: int) -> None:
        line = self._lines[number]
        if not self._open and not self._fence and line[:1].isalpha():
            self._begin_paragraph(number)
            return
        line = line.expandtabs(4).rstrip(" ")
        column, matched = self._matched(line)
        if self._fence and matched == len(self._open):
            self._blank(number)
            if self._closes_fence(line, column):
                self._fence = ""
            return
        self._fence = ""
        if column >= len(line):
            del self._open[matched:]
            self._end_paragraph(number)
        else:
            self._begin_blocks(number, line, column, matched)

    def _matched(self, line: str) -> tuple[int, int]:
        """Return the column behind the marks of the open containers that the line goes on with, and
        how many they are.
        """
        column = 0
        for matched, container in enumerate(self._open):
            spaces = _spaces(line, column)
            if container.width == QUOTE:
                if spaces > 3 or line[column + spaces : column + spaces + 1] != ">":
                    return column, matched
                column += spaces + 1
                column += line[column : column + 1] == " "
            elif column + spaces >= len(line):
                if container.is_empty:  # an item may begin with one empty line only
                    return column, matched
            elif spaces >= container.width:
                column += container.width
            else:
                return column, matched
        return column, len(self._open)

    def _begin_blocks(self, number: int, line: str, column: int, matched: int) -> None:
        """Open what begins in the line, behind the marks of the containers that it goes on with."""
        in_paragraph = self._paragraph is not None
        goes_on = in_paragraph and matched == len(self._open)
        while column < len(line):
            spaces = _spaces(line, column)
            if spaces > 3:
                if not in_paragraph:
                    self._close(number, matched)
                    self._blank(number)
                return
            start = column + spaces
            fence = FENCE_LINE.match(line, start)
            item = ITEM_MARK.match(line, start)
            if line[start] == ">":
                self._close(number, matched)
                self._open.append(_Container(QUOTE))
                column = start + 1
                column += line[column : column + 1] == " "
            elif fence:
                self._close(number, matched)
                self._fence = fence[1] or fence[2]
                self._blank(number)
                return
            elif HEADING_MARK.match(line, start):
                self._close(number, matched)
                self._lines[number] = _without_spans(self._lines[number])
                return
            elif (goes_on and UNDERLINE.match(line, start)) or BREAK.match(line, start):
                self._close(number, matched)
                return
            elif item and not (goes_on and _cannot_interrupt(item, line)):
                self._close(number, matched)
                width = _item_width(item, line)
                self._open.append(_Container(item.end() - column + width))
                column = item.end() + width
            else:
                if not in_paragraph:  # otherwise it goes on, whatever it is in
                    self._close(number, matched)
                    self._begin_paragraph(number)
                return
            matched = len(self._open)
            in_paragraph = goes_on = False

    def _begin_paragraph(self, number: int) -> None:
        if self._paragraph is None:
            self._paragraph = number

    def _close(self, number: int, matched: int) -> None:
        """Close the paragraph above, and the containers that this line does not go on with."""
        self._end_paragraph(number)
        del self._open[matched:]
        if self._open:
            self._open[-1].is_empty = False

    def _end_paragraph(self, number: int) -> None:
        if self._paragraph is None:
            return
        start = self._paragraph
        self._paragraph = None
        paragraph = self._lines[start:number]
        if any("`" in line for line in paragraph):
            blanked = "\n".join(map(_without_spans, _apart(paragraph)))
            self._lines[start:number] = blanked.split("\n")

    def _closes_fence(self, line: str, column: int) -> bool:
        mark = line[column:].lstrip(" ")
        is_deep = len(line) - column - len(mark) > 3
        return not is_deep and mark.startswith(self._fence) and not mark.strip(self._fence[0])

    def _blank(self, number: int) -> None:
        self._lines[number] = " " * len(self._lines[number])


def _spaces(line: str, column: int) -> int:
    """Return the number of spaces at a column."""
    end = column
    while line[end : end + 1] == " ":
        end += 1
    return end - column


def _cannot_interrupt(item: re.Match[str], line: str) -> bool:
    """Return whether this mark of an item is text if the line goes on with a paragraph."""
    return item.end() == len(line) or (item[1] is not None and int(item[1]) != 1)


def _item_width(item: re.Match[str], line: str) -> int:
    """Return the columns between the mark of an item and its content."""
    spaces = _spaces(line, item.end())
    is_empty = item.end() + spaces >= len(line)
    return 1 if is_empty or spaces > 4 else spaces


def _apart(lines: list[str]) -> list[str]:
    """Return the texts of a paragraph whose code spans are their own: all of it, or up to a table
    and then each row.
    """
    for number in range(1, len(lines)):
        if "|" in lines[number - 1] and DELIMITER_LINE.match(lines[number]):
            above = "\n".join(lines[: number - 1])
            return [above] * (number > 1) + lines[number - 1 :]
    return ["\n".join(lines)]


def _without_spans(text: str) -> str:
    """Blank the code spans: from a run of backticks to the next of the same length."""
    if "`" not in text:
        return text
    runs = list(BACKTICKS.finditer(text))
    of_length: dict[int, list[int]] = {}
    for number, run in enumerate(runs):
        of_length.setdefault(len(run[2]), []).append(number)
    spans = []
    number = 0
    while number < len(runs):
        is_escaped = len(runs[number][1]) % 2
        start = runs[number].start(2) + is_escaped
        same = of_length.get(runs[number].end() - start, [])
        later = bisect_right(same, number)
        if later < len(same):
            number = same[later]
            spans.append((start, runs[number].end()))
        number += 1
    return _blanked(text, spans)


def _org_blocks(text: str) -> Iterator[Span]:
    opening: re.Match[str] | None = None
    for mark in ORG_BLOCK.finditer(text):
        begins = mark[1].lower() == "begin"
        if opening is None:
            opening = mark if begins else None
        elif not begins and mark[2].lower() == opening[2].lower():
            yield opening.start(), mark.end()
            opening = None


def _hidden(text: str) -> Iterator[Span]:
    pos = 0
    while opening := HIDING.search(text, pos):
        start = opening.start()
        pos = opening.end()
        end = text.find(opening[0], pos)
        if end < 0:
            continue
        before = text[max(start - 4, 0) : start]
        begins_line = "\n" in before and not before.rpartition("\n")[2].strip()
        if begins_line or not BLANK_LINE.search(text, pos, end):
            pos = end + len(opening[0])
            yield start, pos


def _blanked(text: str, spans: Iterable[Span]) -> str:
    pieces = []
    pos = 0
    for start, end in spans:
        pieces += [text[pos:start], NO_BREAK.sub(" ", text[start:end])]
        pos = end
    return "".join([*pieces, text[pos:]])
