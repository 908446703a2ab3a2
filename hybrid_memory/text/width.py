"""How many columns of a terminal a text takes, and how to break it into lines that fit.

An East Asian wide character takes two columns and a combining mark takes none. An emoji that is joined from several others
counts as all of its parts, so that a line comes out too short rather than too long.
"""

from unicodedata import category, east_asian_width

from .characters import begins_grapheme

WIDEST = 2  # columns of one character


def columns(text: str) -> int:
    """The width of the text in columns of a terminal."""
    return sum(map(_width, text))


def clipped(text: str, room: int) -> str:
    """The text if it fits into `room` columns, else its beginning and `…`."""
    return text if columns(text) <= room else text[: _fitting(text, 0, room - 1)].rstrip() + "…"


def wrapped(text: str, room: int) -> list[str]:
    """The text as lines of at most `room` columns, but never less than WIDEST.

    Lines are broken at spaces. A word that has wide characters, or that is longer than a line, is broken inside.
    """
    room = max(room, WIDEST)
    lines: list[str] = []
    line, used = "", 0
    for word in text.split():
        width, gap = columns(word), " " if line else ""
        if used + len(gap) + width > room and len(word) == width <= room:
            lines.append(line)
            line, used, gap = "", 0, ""
        at = 0
        while at < len(word):
            end = _fitting(word, at, room - used - len(gap))
            if end == at and not line:
                end = at + 1  # the first character of a grapheme that is wider than a line
            if end > at:
                line += gap + word[at:end]
                used += len(gap) + columns(word[at:end])
                at, gap = end, ""
            if at < len(word):
                lines.append(line)
                line, used, gap = "", 0, ""
    return [*lines, line]


def _width(character: str) -> int:
    if character.isascii():
        return 1
    return 0 if category(character) in ("Mn", "Me", "Cf") else 2 if east_asian_width(character) in "WF" else 1


def _fitting(text: str, start: int, room: int) -> int:
    """Where to cut what begins at `start`, so that it fits into `room` columns and no grapheme is cut."""
    end, used = start, 0
    while end < len(text) and (used := used + _width(text[end])) <= room:
        end += 1
    while end > start and not begins_grapheme(text, end):
        end -= 1
    return end
