"""The lines of a part of a document: below a heading, or a block that has a name."""

import re
from collections.abc import Sequence

from ..documents.marks.code import without_code
from ..documents.marks.links import plain
from ..errors import QueryError

NAMED = 8  # headings in an error message
HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*\Z")
ITEM = re.compile(r"[ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]")
NO_LETTER = re.compile(r"[^\w\s-]")


def lines_of(doc_id: str, part: str, lines: Sequence[str]) -> tuple[int, int]:
    """First and last line, counted from 1. A heading is given by its text or as GitHub writes it in addresses, "Plan#Next" is the
    heading Next below Plan, and "^name" is the block of this name. Raises QueryError if there is no such part.
    """
    return _block(doc_id, part[1:], lines) if part.startswith("^") else _section(doc_id, part, lines)


def _section(doc_id: str, part: str, lines: Sequence[str]) -> tuple[int, int]:
    bare = without_code("\n" + "\n".join(lines)).split("\n")[1:]
    found = ((number, HEADING.match(line)) for number, line in enumerate(bare, 1))
    headings = [(number, len(heading[1]), _title(lines[number - 1])) for number, heading in found if heading]
    at = 0
    for title in part.split("#"):
        at = next((place for place in range(at, len(headings)) if _slug(headings[place][2]) == _slug(title)), -1) + 1
        if not at:
            known = ", ".join(heading for _, _, heading in headings[:NAMED]) or "none"
            raise QueryError(f"{doc_id} has no heading {title!r}; its headings: {known}")
    start, level, _ = headings[at - 1]
    return start, next((number - 1 for number, other, _ in headings[at:] if other <= level), len(lines))


def _title(line: str) -> str:
    heading = HEADING.match(line)
    return plain(heading[2]) if heading else ""


def _slug(title: str) -> str:
    """'The GPU server: Log in!' -> 'the-gpu-server-log-in'"""
    return "-".join(NO_LETTER.sub("", plain(title)).casefold().split())


def _block(doc_id: str, name: str, lines: Sequence[str]) -> tuple[int, int]:
    """An item of a list is its line; any other block is what stands between blank lines, above if the name stands alone."""
    named = re.compile(rf"(?:.*\s)?\^{re.escape(name)}\s*\Z", re.IGNORECASE)
    at = next((number for number, line in enumerate(lines) if named.match(line)), None)
    if at is None:
        raise QueryError(f"{doc_id} has no block ^{name}")
    if ITEM.match(lines[at]):
        return at + 1, at + 1
    if not lines[at].strip().removeprefix(f"^{name}"):
        at = next((number for number in range(at - 1, -1, -1) if lines[number].strip()), at)
    first = next((number + 1 for number in range(at, -1, -1) if not lines[number].strip()), 0)
    last = next((number for number in range(at, len(lines)) if not lines[number].strip()), len(lines))
    return first + 1, last
