"""Find the parts of a markdown text that are not prose: noise, which has no meaning, and code, in
which brackets and # have another meaning.

Noise is left out of chunks: rules, HTML comments, the padding of wide table rows, data: URIs, and
runs of over 200 characters without a space, such as base64, hashes and minified code. A long address
keeps its beginning, and a long list of short values (CSV) and JSON are kept, the latter without its
long strings. Text in scripts without spaces is never such a run. A removal inside a line leaves a
`…`. A chunk of closing tags alone is dropped. The patterns begin with the line break before a line,
because Python searches fastest for it.

Code is blanked before links and tags are searched. Its extent depends on the quotes and list items
around a line, so the text is parsed line by line according to CommonMark 0.31 (appendix, "A parsing
strategy"), with the tables of GitHub Flavored Markdown 0.29. HTML is text. Comments between %% and
formulas between $$, which Obsidian does not show as text, are blanked last.

All of it takes time in proportion to the text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache

from .headings import DELIMITER_LINE, FENCE, fence_end, underlined_from

LONGEST_RUN = 200  # characters; the longest hash in use, SHA-512 in hexadecimal, has 128
LONGEST_VALUE = 50  # characters of a value in a list
LOOK_BACK = 1000  # characters of a line to search for the beginning of code
LEFT_OUT = "…"
# A run that is too long fills at least one piece that begins at a multiple of this.
_STEP = LONGEST_RUN // 2

# CommonMark 0.31, 4.1 Thematic breaks
RULE = r"\n {0,3}(?:(?:-[ \t]*+){3,}+|(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)(?=\n|\Z)"
ANY_RULE = re.compile(RULE)
DASHES = re.compile(r"\n {0,3}-+[ \t]*")  # below a paragraph, they make it a heading
RULE_COMMENT_OR_FENCE = re.compile(rf"\n {{0,3}}{FENCE}|(?P<rule>{RULE})|<!--")
# Programs that align the columns of a table pad most cells, and make all rows equally long.
ALIGNED = 80  # characters; columns of longer rows are not seen below each other in a terminal
ROW_OR_FENCE = re.compile(rf"\n {{0,3}}{FENCE}|(?P<row>\n[ >]{{0,12}}\|[^\n]{{{ALIGNED},}}+)")
PADDING = re.compile(r"(?<=[^ ]) {2,}+(?=\|)|(?<=\|) {2,}+")
LONG_DASHES = re.compile(r"-{4,}+")
# A passage of closing tags, as in the documents of a component library, has no meaning.
CLOSING_TAGS = re.compile(r"\s*+(?:</[A-Za-z][\w.:-]*+[ \t]*+>\s*+)++")
DATA_URI = re.compile(
    r"data:(?:[\w.+-]{1,80}/[\w.+-]{1,80})?(?:;[\w=.+-]{1,80})*+(?<!:),[^\s)>\"'\]]*+"
)
RUN = re.compile(rf"(?<![!-~])[!-~]{{{LONGEST_RUN + 1},}}+")
LONG_LINE = re.compile(rf"\n.{{{LONGEST_RUN + 1},}}+")
JSON_SIGNS = re.compile(r'[][{},:"]+')
JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)')
JSON_WITHOUT_STRINGS = re.compile(r"(?:[][{},:]|-?\d[\d.eE+-]*+|true|false|null)*+")
ADDRESS = re.compile(r"\b[a-z]{2,9}://[^()<>\"'\]|]++")


def readable(text: str, start: int = 0) -> str:
    """Remove the noise after `start`, the line break before a line, but keep every line."""
    return text[:start] + _readable(text[start:])


@lru_cache(1)  # called twice per document: for its links and for its chunks
def _readable(body: str) -> str:
    if "<!--" in body or ANY_RULE.search(body):
        body = _without_rules_and_comments(body)
    if "  |" in body:
        body = _without_padding(body)
    return without_runs(body)


def without_runs(body: str) -> str:
    """Remove data: URIs and unbroken runs from a text with a line break before each line."""
    if "data:" in body:
        body = DATA_URI.sub(LEFT_OUT, body)
    if _has_long_run(body):
        body = LONG_LINE.sub(lambda line: RUN.sub(_shortened, line[0]), body)
    return body


def _without_rules_and_comments(text: str) -> str:
    """Remove rules and closed comments, except in code."""
    pieces: list[str] = []
    done = 0  # up to where the text is in the pieces
    pos = 0
    above = 0  # the end of the last heading, fence or rule
    last_comment = text.rfind("-->")
    while mark := RULE_COMMENT_OR_FENCE.search(text, pos):
        start, pos = mark.span()
        if mark["fence"]:
            above = pos = fence_end(text, mark)
            continue
        if mark["rule"]:
            before, above = above, pos
            if DASHES.fullmatch(mark[0]) and underlined_from(text, start, before) is not None:
                continue
        else:
            if pos > last_comment or _is_in_code(text, start):
                continue
            pos = text.index("-->", pos) + len("-->")
        pieces += [text[done:start], "\n" * text.count("\n", start, pos)]
        done = pos
    return "".join([*pieces, text[done:]])


def _without_padding(text: str) -> str:
    """Remove the spaces that align the columns of wide tables, except in code."""
    pieces: list[str] = []
    done = 0
    pos = 0
    while found := ROW_OR_FENCE.search(text, pos):
        pos = found.end()
        if found["fence"]:
            pos = fence_end(text, found)
            continue
        row = PADDING.sub(" ", found["row"])
        if not row.strip(" \n>|:-"):
            row = LONG_DASHES.sub("---", row)
        pieces += [text[done : found.start()], row]
        done = pos
    return "".join([*pieces, text[done:]])


def _is_in_code(text: str, at: int) -> bool:
    earliest = max(at - LOOK_BACK, 0)
    line = text.rfind("\n", earliest, at) + 1 or earliest
    return text.count("`", line, at) % 2 == 1


def _has_long_run(text: str) -> bool:
    pieces = (text[start : start + _STEP] for start in range(0, len(text), _STEP))
    return any(" " not in piece and "\n" not in piece for piece in pieces)


def _shortened(run: re.Match[str]) -> str:
    pieces = []
    done = 0
    for address in ADDRESS.finditer(run[0]):
        pieces += [_piece(run[0][done : address.start()]), _address(address[0])]
        done = address.end()
    short = "".join([*pieces, _piece(run[0][done:])])
    after = run.string[run.end() : run.end() + 1]
    is_line = run.string[run.start() - 1] == "\n" and after in ("", "\n")
    return "" if short == LEFT_OUT and is_line else short


def _address(address: str) -> str:
    """Shorten a long 'https://example.com/page?token=...' to the part that names the page."""
    if len(address) <= LONGEST_RUN:
        return address
    return re.split("[?#;]", address[:LONGEST_RUN], maxsplit=1)[0] + LEFT_OUT


def _piece(piece: str) -> str:
    """Keep a piece that is short, a list of short values, JSON, or a table's delimiter row."""
    if len(piece) <= LONGEST_RUN or not piece.strip("-:|"):
        return piece
    is_list = piece.startswith("|") or ("{" not in piece and "(" not in piece)
    longest_value = max(map(len, re.split("[,;|]", piece)))
    if is_list and longest_value <= LONGEST_VALUE:
        return piece
    return _json(piece) or LEFT_OUT


def _json(piece: str) -> str:
    """A piece of JSON without its long strings; "" for other text, for JSON with less than a key for
    every two values, and if no value is left.
    """
    for opened in ("", '"'):  # a piece may begin in the middle of a string
        whole = opened + piece
        short = JSON_STRING.sub(_without_long_string, whole)[len(opened) :]
        keys = short.count('":')
        is_telling = keys * 2 * LONGEST_VALUE >= len(short) and keys > short.count(LEFT_OUT)
        if is_telling and JSON_WITHOUT_STRINGS.fullmatch(JSON_STRING.sub("", whole)):
            return short
    return ""


def _without_long_string(string: re.Match[str]) -> str:
    """A string of JSON, or `"…"` for a long one that is not JSON of short values itself."""
    if len(string[0]) <= LONGEST_RUN:
        return string[0]
    longest_value = max(map(len, JSON_SIGNS.split(string[0])))
    return string[0] if longest_value <= LONGEST_VALUE else f'"{LEFT_OUT}"'


QUOTE = 0  # instead of an item's width
DEEPEST = 100  # nested containers; deeper ones are text, so that no line takes long

TOP_PARAGRAPH = re.compile(r"\n\n(?=[^\W\d_])")
CODE_SIGN = re.compile(r"`| {4}|\t|~~~")
INDENTATION = re.compile(" *+")
FENCE_LINE = re.compile(r"(`{3,})[^`]*\Z|(~{3,})")
HEADING_MARK = re.compile(r"#{1,6}(?: |\Z)")
BREAK = re.compile(r"(?:(?:- *){3,}+|(?:\* *){3,}+|(?:_ *){3,}+)\Z")
UNDERLINE = re.compile(r"(?:=+|-+) *\Z")
ITEM_MARK = re.compile(r"(?:[-+*]|(\d{1,9})[.)])(?= |\Z)")
BACKTICKS = re.compile(r"(?<!\\)(\\*+)(`+)")
ORG_BLOCK = re.compile(r"\n[ \t]*+#\+(begin|end)_(src|example|export|comment)\b", re.IGNORECASE)
HIDING = re.compile(r"(?<!\\)(?:%%|\$\$)")
BLANK_LINE = re.compile(r"\n[ \t]*+\n")
NO_BREAK = re.compile(r"[^\n]")

Span = tuple[int, int]


def without_code(text: str) -> str:
    """Replace code with spaces, so that every character keeps its position.

    A letter at the beginning of a line, below an empty line, ends all blocks but a fence that is in
    no list or quote. So the text is parsed in parts, and only those with a sign of code.
    """
    parts = TOP_PARAGRAPH.split(text)
    fence = ""
    for number, part in enumerate(parts):
        if fence or CODE_SIGN.search(part):
            blanking = _Blanking(part.split("\n"), fence)
            parts[number] = "\n".join(blanking.lines())
            fence = blanking.open_fence
    return "\n\n".join(parts)


def without_hidden(text: str) -> str:
    """Replace org-mode code blocks, comments between %% and formulas between $$ with spaces, in a
    text without code.

    A pair of signs that does not begin a line must be within one paragraph; a single sign is text.
    """
    if "#+" in text:
        text = _blanked(text, _org_blocks(text))
    if "%%" in text or "$$" in text:
        text = _blanked(text, _hidden(text))
    return text


class _Container:
    """An open quote or list item. The lines of an item are indented by its width."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.is_empty = True


class _Blanking:
    """The lines of a text, whose code is blanked step by step, and the state of the parser.

    They are code from the beginning if a `fence` is open.
    """

    def __init__(self, lines: list[str], fence: str) -> None:
        self._lines = lines
        self._open: list[_Container] = []
        self._fence = fence  # that opened the current code, or ""
        self._paragraph: int | None = None  # the number of its first line

    def lines(self) -> list[str]:
        for number in range(len(self._lines)):
            self._read(number)
        self._end_paragraph(len(self._lines))
        return self._lines

    @property
    def open_fence(self) -> str:
        """The fence that no list or quote around it has closed, or ""."""
        return "" if self._open else self._fence

    def _read(self, number: int) -> None:
        line = self._lines[number]
        if not self._open:
            if self._fence and self._fence not in line:
                self._blank(number)
                return
            if not self._fence and line[:1].isalpha():
                self._begin_paragraph(number)
                return
        if "\t" in line:
            line = line.expandtabs(4)
        line = line.rstrip(" ")
        column, matched = self._continued(line)
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

    def _continued(self, line: str) -> tuple[int, int]:
        """Return the column after the markers of the open containers that this line continues, and
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
            elif column + spaces >= len(line):
                if container.is_empty:  # an item may begin with at most one empty line
                    return column, matched
            elif spaces >= container.width:
                column += container.width
            else:
                return column, matched
        return column, len(self._open)

    def _begin_blocks(self, number: int, line: str, column: int, matched: int) -> None:
        """Open the blocks that begin in the line, after the markers of the continued containers."""
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
            sign = line[start]
            is_too_deep = matched >= DEEPEST
            fence = FENCE_LINE.match(line, start) if sign in "`~" else None
            may_be_item = not is_too_deep and (sign in "-+*" or sign.isdigit())
            item = ITEM_MARK.match(line, start) if may_be_item else None
            if sign == ">" and not is_too_deep:
                self._close(number, matched)
                self._open.append(_Container(QUOTE))
                column = start + 1
                column += line[column : column + 1] == " "
            elif fence:
                self._close(number, matched)
                self._fence = fence[1] or fence[2]
                self._blank(number)
                return
            elif sign == "#" and HEADING_MARK.match(line, start):
                self._close(number, matched)
                self._lines[number] = _without_spans(self._lines[number])
                return
            elif (goes_on and sign in "-=" and UNDERLINE.match(line, start)) or (
                sign in "-*_" and sign == line[-1] and BREAK.match(line, start)
            ):
                self._close(number, matched)
                return
            elif item and not (goes_on and _cannot_interrupt(item, line)):
                self._close(number, matched)
                width = _item_width(item, line)
                self._open.append(_Container(item.end() - column + width))
                column = item.end() + width
            else:
                if not in_paragraph:  # otherwise the paragraph continues
                    self._close(number, matched)
                    self._begin_paragraph(number)
                return
            matched = len(self._open)
            in_paragraph = goes_on = False

    def _begin_paragraph(self, number: int) -> None:
        if self._paragraph is None:
            self._paragraph = number

    def _close(self, number: int, matched: int) -> None:
        """Close the paragraph above, and the containers that this line does not continue."""
        if self._paragraph is not None:
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
            blanked = "\n".join(map(_without_spans, _span_scopes(paragraph)))
            self._lines[start:number] = blanked.split("\n")

    def _closes_fence(self, line: str, column: int) -> bool:
        mark = line[column:].lstrip(" ")
        is_deep = len(line) - column - len(mark) > 3
        return not is_deep and mark.startswith(self._fence) and not mark.strip(self._fence[0])

    def _blank(self, number: int) -> None:
        self._lines[number] = " " * len(self._lines[number])


def _spaces(line: str, column: int) -> int:
    spaces = INDENTATION.match(line, column)
    assert spaces  # the pattern matches anywhere
    return spaces.end() - column


def _cannot_interrupt(item: re.Match[str], line: str) -> bool:
    """Whether this list marker is text when the line continues a paragraph."""
    return item.end() == len(line) or (item[1] is not None and int(item[1]) != 1)


def _item_width(item: re.Match[str], line: str) -> int:
    """The number of columns between a list marker and its content."""
    spaces = _spaces(line, item.end())
    is_empty = item.end() + spaces >= len(line)
    return 1 if is_empty or spaces > 4 else spaces


def _span_scopes(lines: list[str]) -> list[str]:
    """Split a paragraph into texts that no code span crosses: the text above a table, and each row."""
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
