"""Blank the parts of a text in which brackets and # have another meaning than in prose: code, and
what Obsidian does not show as text, before links and tags are searched.

Every character keeps its position.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from .structure import Span, Structure

# Backticks and the backslashes before them. Each alternative begins with a character, for which `re`
# looks several times as fast as for a condition
BACKTICKS = re.compile(r"``*+|\\(?<!\\\\)\\*+`++")
HIDING = re.compile(r"(?<!\\)(?:%%|\$\$)")
BLANK_LINE = re.compile(r"\n[ \t]*+\n")


def without_code(structure: Structure) -> str:
    """Replace the code of a text with spaces."""
    text = structure.text
    spans = [*structure.code]
    for start, end in structure.inline:
        if text.find("`", start, end) >= 0:
            spans += _code_spans(text, start, end)
    return _blanked(text, sorted(spans))


def without_hidden(text: str) -> str:
    """Replace comments between %% and formulas between $$ with spaces, in a text without code.

    A pair of signs that does not begin a line must be within one paragraph; a single sign is text.
    """
    return _blanked(text, _hidden(text)) if "%%" in text or "$$" in text else text


def _code_spans(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the code spans of a paragraph: from a run of backticks to the next of the same length."""
    runs = list(BACKTICKS.finditer(text, start, end))
    of_length: dict[int, list[int]] = {}
    for number, run in enumerate(runs):
        of_length.setdefault(run[0].count("`"), []).append(number)
    number = 0
    while number < len(runs):
        backslashes = runs[number][0].count("\\")
        begin = runs[number].start() + backslashes + backslashes % 2  # one may be escaped
        same = of_length.get(runs[number].end() - begin, [])
        later = bisect_right(same, number)
        if later < len(same):
            number = same[later]
            yield begin, runs[number].end()
        number += 1


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
        blank = (" " * len(line) for line in text[start:end].split("\n"))
        pieces += [text[pos:start], "\n".join(blank)]
        pos = end
    return "".join([*pieces, text[pos:]])
