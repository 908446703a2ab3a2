"""Find the headings of a markdown text: ATX headings (`# Title`) and setext headings (a title above a
line of `=` or `-`), as CommonMark 0.31 defines them (4.2 and 4.3).

A `#` inside a fence is not a heading, nor is a line of dashes below a list item, a quote, a table or
HTML. Headings inside lists and quotes are text. A text has a line break before each line, because
Python searches fastest for it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

LONGEST_HEADING = 1000  # characters; a longer one is text
MOST_LINES = 8  # of a heading with an underline

# CommonMark 0.31, 4.5 Fenced code blocks. A list item may begin with a fence (5.2). For use behind
# "\n {0,3}".
FENCE = r"(?P<bullet>(?:[-+*]|\d{1,9}[.)]) {1,4})?(?P<fence>`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})"
HEADING_OR_FENCE = re.compile(
    rf"\n {{0,3}}(?:(?P<level>#{{1,6}})(?:[ \t](?P<heading>.*))?(?=\n|\Z)|{FENCE}"
    r"|(?P<underline>=++|-++)[ \t]*+(?=\n|\Z))"
)
# The row below the header of a table. GitHub Flavored Markdown 0.29, 4.10 Tables
DELIMITERS_OF_TABLE = r"[ \t>]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+"
DELIMITER_LINE = re.compile(rf"{DELIMITERS_OF_TABLE}\Z")

INDENTED = re.compile(r" {4}| {0,3}\t")
CONTAINER = re.compile(r" {0,3}(?:>|(?:[-+*]|\d{1,9}[.)])(?:[ \t]|\Z))")
# A quote, or an item that may follow a paragraph without a blank line
INTERRUPTING = re.compile(r" {0,3}(?:>|(?:[-+*]|1[.)])[ \t]+\S)")
THEMATIC_BREAK = re.compile(r" {0,3}(?:(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+|(?:-[ \t]*+){3,}+)\Z")
ATX = re.compile(r" {0,3}#{1,6}(?:[ \t]|\Z)")
COMMENT_START = re.compile(r" {0,3}<!--")
# The beginnings of HTML blocks: those of any line (6), then a tag alone at the top of a paragraph (7)
HTML_BLOCK = re.compile(
    r" {0,3}<(?:[!?]|(?:script|pre|style|textarea)(?:[\s>]|\Z)|/?(?:address|article|aside|base|basefont"
    r"|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption"
    r"|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu"
    r"|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th"
    r"|thead|title|tr|track|ul)(?:[\s>]|/>|\Z))",
    re.IGNORECASE,
)
LONE_TAG = re.compile(r" {0,3}</?[A-Za-z][\w-]*+(?:\s[^<>]*+)?/?>[ \t]*\Z")
DEFINITION = re.compile(r" {0,3}\[(?!\^)[^\]\n]+\]:[ \t]*\S")


class Heading(NamedTuple):
    """text[start:end], one or more whole lines without the last line break."""

    level: int  # from 1
    title: str
    start: int
    end: int


def headings(text: str, start: int) -> Iterator[Heading]:
    """Yield the headings of a markdown text after `start`, the line break before a line."""
    pos = start
    above = start  # the end of the last heading, fence or rule
    while line := HEADING_OR_FENCE.search(text, pos):
        pos = line.end()
        if line["fence"]:
            above = pos = fence_end(text, line)
        elif line["level"]:
            above = pos
            yield Heading(len(line["level"]), _title(line["heading"] or ""), line.start() + 1, pos)
        else:
            begin = underlined_from(text, line.start(), above)
            if begin is not None:
                level = 1 if line["underline"][0] == "=" else 2
                title = " ".join(text[begin : line.start()].split())
                yield Heading(level, title, begin, pos)
            if begin is not None or line["underline"].startswith("---"):
                above = pos


def fence_end(text: str, opening: re.Match[str]) -> int:
    """Return the end of fenced code: a fence at least as long as the opening one, or the end of its
    list item or of the document.
    """
    fence = opening["fence"]
    indent = 0
    if opening["bullet"]:
        indent = opening.start("fence") - opening.start() - 1
    closing = rf"\n {{0,{indent + 3}}}{fence[0]}{{{len(fence)},}}+[ \t]*+(?=\n|\Z)"
    if indent:
        closing += rf"|(?=\n {{0,{indent - 1}}}\S)"
    match = re.compile(closing).search(text, opening.end())
    return match.end() if match else len(text)


def underlined_from(text: str, end: int, above: int) -> int | None:
    """The start of the paragraph that ends at a line break, and which an underline below makes a
    heading; None if the lines there are not a paragraph, or too long.

    No paragraph begins before `above`.
    """
    earliest = max(above, end - LONGEST_HEADING)
    lines: list[str] = []
    at = end
    while at > earliest:
        line_break = text.rfind("\n", earliest, at)
        if line_break < 0:
            return None
        line = text[line_break + 1 : at]
        if not line or line.isspace():
            break
        if len(lines) == MOST_LINES:
            return None
        lines.append(line)
        at = line_break
    lines.reverse()
    first = _paragraph(lines)
    if first is None:
        return None
    return at + 1 + sum(len(line) + 1 for line in lines[:first])


def _paragraph(lines: list[str]) -> int | None:
    """The number of the first line of the paragraph with which these lines end, if any."""
    first: int | None = None
    is_comment = False
    is_other = False  # in a list item, a quote or a table
    for number, line in enumerate(lines):
        if is_comment or COMMENT_START.match(line):
            is_comment = "-->" not in line
            first = None
            is_other = False
        elif THEMATIC_BREAK.match(line) or ATX.match(line):
            first = None
            is_other = False
        elif HTML_BLOCK.match(line) or (first is None and LONE_TAG.match(line)):
            return None
        elif first is None:
            is_other = is_other or CONTAINER.match(line) is not None
            if not (is_other or INDENTED.match(line) or DEFINITION.match(line)):
                first = number
        elif INTERRUPTING.match(line) or _begins_table(lines[number - 1], line):
            first = None
            is_other = True
    return first


def _begins_table(header: str, line: str) -> bool:
    return (
        "|" in header
        and DELIMITER_LINE.match(line) is not None
        and header.strip("| \t").count("|") == line.strip("| \t").count("|")
    )


def _title(raw: str) -> str:
    """Strip the closing sequence from a heading: "Setup ##" -> "Setup", "C#" -> "C#"."""
    title = raw.strip()
    opened = title.rstrip("#")
    if not opened or opened[-1].isspace():
        title = opened.rstrip()
    return title
