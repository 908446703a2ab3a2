"""Read plain text: markdown's headings, code and tables, because people write these into .txt
files, too, and underlined titles.

Below a line of text, a line of `=` makes it a heading of the first level, and one of `-` of the
second.
"""

import re
from bisect import bisect
from collections.abc import Iterator
from heapq import merge

from ...documents.chunker import MARKDOWN, Heading, Syntax
from ...documents.markdown import Markdown
from ...documents.noise import without_runs

UNDERLINED = re.compile(  # not the head of a table, "Name   Age"
    r"(?:(?<=\n)|\A)\n(?!\S[^\n]*\S(?:[ ]{2}|\t)[ \t]*\S)(?P<title>[^\W_][^\n|]{0,200})"
    r"\n(?P<line>={3,}|-{3,})[ \t]*(?=\n|\Z)"
)
LEVELS = {"=": 1, "-": 2}


def readable(text: str, start: int) -> str:
    """The text without unbroken runs; a line of dashes may underline a title."""
    return text[:start] + without_runs(text[start:])


def headings(text: str, start: int) -> Iterator[Heading]:
    """Those of markdown, and underlined ones outside of code."""
    code = [block for block in MARKDOWN.blocks(text, start + 1, len(text)) if not block.header]
    begins = [block.start for block in code]
    underlined = (
        Heading(LEVELS[found["line"][0]], found["title"].strip(), found.start() + 1, found.end())
        for found in UNDERLINED.finditer(text, start)
        if not (number := bisect(begins, found.start() + 1))
        or code[number - 1].end <= found.start()
    )
    yield from merge(MARKDOWN.headings(text, start), underlined, key=lambda heading: heading.start)


class PlainText(Markdown):
    """Implements `formats.Format`."""

    syntax = Syntax(readable, headings, MARKDOWN.blocks)


FORMAT = PlainText()
