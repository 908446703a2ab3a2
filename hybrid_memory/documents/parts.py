"""The lines of a part of a document: below a heading, or a block."""

import re
from collections.abc import Callable, Sequence

from ..errors import QueryError
from ..text.equality import anchor_key, heading_key, name_key
from ..text.terms import plain
from .headings import ids_in

Heading = tuple[int, int, str]  # line, level, title

NAMED_HEADINGS = 8  # in an error message
ITEM = re.compile(r"[ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]")
NUMBERED = re.compile(r"(.+)-([0-9]{1,4})")  # the anchor of a later heading with the same text


def lines_of(
    doc_id: str,
    part: str,
    lines: Sequence[str],
    find: Callable[[Sequence[str]], Sequence[Heading]],
) -> tuple[int, int]:
    """Return the first and last line of a part, counted from 1.

    The part is a heading's text, its GitHub anchor or an id that its line gives it, "Plan#Next" for
    the heading Next below Plan, or "^name" for the block of this name. `find` finds the headings of
    the lines. Raises QueryError if there is no such part.
    """
    if part.startswith("^"):
        return _block(doc_id, part[1:], lines)
    return _section(doc_id, part, lines, find(lines))


def _section(
    doc_id: str, part: str, lines: Sequence[str], headings: Sequence[Heading]
) -> tuple[int, int]:
    titles = [plain(title) for _, _, title in headings]
    place = _place_of(part, titles)
    if place is None:
        own = [ids_in(lines[number - 1]) for number, _, _ in headings]
        place = next((at for at, ids in enumerate(own) if part in ids), None)
    if place is None:
        named = ", ".join(titles[:NAMED_HEADINGS]) or "none"
        raise QueryError(f"{doc_id} has no heading {part!r}; its headings: {named}")
    start, level, _ = headings[place]
    for number, other_level, _ in headings[place + 1 :]:
        if other_level <= level:
            return start, number - 1
    return start, len(lines)


def _place_of(part: str, titles: Sequence[str]) -> int | None:
    """The index of the heading that a part names. A # in it may belong to a heading, such as C#,
    or stand before the next one.
    """
    whole = _heading_named(part, titles)
    if whole is not None:
        return whole
    for end in (at for at, sign in enumerate(part) if sign == "#"):
        first = _heading_named(part[:end], titles)
        if first is not None:
            below = _place_of(part[end + 1 :], titles[first + 1 :])
            if below is not None:
                return first + 1 + below
    return None


def _heading_named(wanted: str, titles: Sequence[str]) -> int | None:
    """The index of the first heading with this text in any spelling; else with the same text
    without marks, else with the same anchor.
    """
    for key in (name_key, heading_key, anchor_key):
        keys = [key(title) for title in titles]
        own = key(plain(wanted))
        if own and own in keys:
            return keys.index(own)
    numbered = NUMBERED.fullmatch(wanted)
    if numbered:
        twins = [at for at, anchor in enumerate(keys) if anchor == anchor_key(numbered[1])]
        if len(twins) > int(numbered[2]):
            return twins[int(numbered[2])]
    return None


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
