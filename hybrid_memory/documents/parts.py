"""The lines of a part of a document: below a heading, or a block."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import QueryError
from .noise import without_code
from .terms import plain

if TYPE_CHECKING:
    pass

NAMED_HEADINGS = 8  # in an error message
HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*\Z")
ITEM = re.compile(r"[ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]")
NO_LETTER = re.compile(r"[^\w\s-]")


def lines_of(doc_id: str, part: str, lines: Sequence[str]) -> tuple[int, int]:
    """Return the first and last line of a part, counted from 1.

    The part is a heading's text or its GitHub anchor, "Plan#Next" for the heading Next below Plan,
    or "^name" for the block of this name. Raises QueryError if there is no such part.
    """
    if part.startswith("^"):
        return _block(doc_id, part[1:], lines)
    return _section(doc_id, part, lines)


def _section(doc_id: str, part: str, lines: Sequence[str]) -> tuple[int, int]:
    bare = without_code("\n" + "\n".join(lines)).split("\n")[1:]
    headings = []  # (number of the line, level, title)
    for number, line in enumerate(bare, 1):
        heading = HEADING.match(line)
        if heading:
            headings.append((number, len(heading[1]), _title(lines[number - 1])))
    remaining = headings
    for title in part.split("#"):
        slugs = [_slug(heading) for _, _, heading in remaining]
        if _slug(title) not in slugs:
            titles = ", ".join(heading for _, _, heading in headings[:NAMED_HEADINGS]) or "none"
            raise QueryError(f"{doc_id} has no heading {title!r}; its headings: {titles}")
        place = slugs.index(_slug(title))
        start, level, _ = remaining[place]
        remaining = remaining[place + 1 :]
    for number, other_level, _ in remaining:
        if other_level <= level:
            return start, number - 1
    return start, len(lines)


def _title(line: str) -> str:
    heading = HEADING.match(line)
    if not heading:
        return ""
    return plain(heading[2])


def _slug(title: str) -> str:
    """The anchor of a title: 'The GPU server: Log in!' -> 'the-gpu-server-log-in'"""
    return "-".join(NO_LETTER.sub("", plain(title)).casefold().split())


def _block(doc_id: str, name: str, lines: Sequence[str]) -> tuple[int, int]:
    """Return the first and last line of a block: the line of a list item, or the lines between
    blank lines; if the name is alone on its line, the block above.
    """
    named = re.compile(rf"(?:.*\s)?\^{re.escape(name)}\s*\Z", re.IGNORECASE)
    at = next((number for number, line in enumerate(lines) if named.match(line)), None)
    if at is None:
        raise QueryError(f"{doc_id} has no block ^{name}")
    if ITEM.match(lines[at]):
        return at + 1, at + 1
    if not lines[at].strip().removeprefix(f"^{name}"):
        at = next((number for number in range(at - 1, -1, -1) if lines[number].strip()), at)
    first = next((number + 1 for number in range(at, -1, -1) if not lines[number].strip()), 0)
    last = next(
        (number for number in range(at, len(lines)) if not lines[number].strip()), len(lines)
    )
    return first + 1, last
