"""Write blocks of text as markdown, for all readers of documents.

A block is its kind, "text", "list", "code" or "table", and its lines.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from ...storage.prepared import Extract
from .extracted import MAX_TEXT, ExtractError

Block = tuple[str, list[str]]

END_OF_CODE: Block = ("end of code", [])  # separates blocks of code
# The target of a link out of the document: in the web, or another file
OUTSIDE = re.compile(r"https?:|mailto:|[^:#][^:]*\Z", re.IGNORECASE)
LIKE_MARKDOWN_MARK = re.compile(r"#{1,6}(?:\s|$)|```|~~~|(?:=+|-+)\s*$")
FENCE = re.compile(r" *(`{3,})")
DEEPEST_LIST = 8
DAY = len("2026-01-05")


def extract_of(
    blocks: Iterable[Block], metadata: Mapping[str, Any], damaged: Sequence[str] = ()
) -> Extract:
    """Join the blocks, and add the properties that are not empty, with dates as days. `damaged`
    names parts of the file that cannot be read.

    Raises ExtractError for a text that is too long.
    """
    text = "\n".join(with_blank_lines(blocks)) + "\n"
    if len(text) > MAX_TEXT:
        raise ExtractError(f"its text has over {MAX_TEXT:,} characters", "size")
    warnings = []
    if not text.strip():
        warnings.append(("it has no text", "no text"))
    if damaged:
        parts = ", ".join(damaged)
        warnings.append((f"these damaged or missing parts are left out: {parts}", "damaged part"))
    properties = {key: value for key, value in metadata.items() if value}
    for key in ("created", "modified"):
        if key in properties:
            properties[key] = properties[key][:DAY]
    return Extract(text, [], properties, warnings)


def with_blank_lines(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield the lines of the blocks, separated by empty lines. Consecutive list items form one
    block, as do lines of code up to END_OF_CODE.
    """
    is_first = True
    for kind, group in groupby(blocks, key=itemgetter(0)):
        parts = [lines for _, lines in group if lines]
        if parts and kind in ("list", "code"):
            parts = [[line for lines in parts for line in lines]]
        for lines in parts:
            if not is_first:
                yield ""
            is_first = False
            yield from fenced(lines) if kind == "code" else lines


def fenced(lines: list[str], language: str = "") -> list[str]:
    """Put lines of code between fences that are longer than any fence in the code."""
    inner = filter(None, map(FENCE.match, lines))
    fence = "`" * (1 + max((len(found[1]) for found in inner), default=2))
    return [fence + language, *lines, fence]


def table_lines(rows: list[list[str]]) -> Iterator[str]:
    """Yield the rows of a table in markdown; the first one is its header.

    Only the header is padded to the width of the table. Markdown allows shorter rows, and a single
    wide row would lengthen all others.
    """
    width = max(map(len, rows), default=0)
    for number, row in enumerate(rows):
        if number == 0:
            row = row + [""] * (width - len(row))
        yield f"| {' | '.join(row)} |"
        if number == 0:
            yield "|" + "---|" * width


def paragraph(text: str) -> list[str]:
    """Format a paragraph as one line, indented if it looks like a heading or a fence."""
    words = " ".join(text.split())
    return [f"    {words}" if LIKE_MARKDOWN_MARK.match(words) else words]


def link(text: str, target: str) -> str:
    """Format a link out of the document; of any other link, only the text stays."""
    target = "".join(target.split())
    if not text.strip() or target == text or not OUTSIDE.match(target):
        return text
    return f"[{text}]({target})"


def cell(text: str) -> str:
    """Format the text of a table cell."""
    return " ".join(text.split()).replace("|", "\\|")


def list_of(text: str) -> list[str]:
    """Split a text at commas and semicolons: "heat, house" -> ["heat", "house"]"""
    return [part.strip() for part in re.split("[,;]", text) if part.strip()]
