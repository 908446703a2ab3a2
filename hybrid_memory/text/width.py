"""How many columns of a terminal a text takes, and lines of it that fit. East Asian wide characters take two, marks none.

Emoji that are joined into one picture count as their parts, so that a line comes out shorter rather than too long.
"""

from unicodedata import category, east_asian_width

from .characters import begins_grapheme


def columns(text: str) -> int:
    """The width of the text in columns of a terminal."""
    return sum(0 if category(c) in ("Mn", "Me", "Cf") else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def clipped(text: str, room: int) -> str:
    """The text if it fits into `room` columns, else its beginning and `…`."""
    return text if columns(text) <= room else text[: _fitting(text, room - 1)].rstrip() + "…"


def wrapped(text: str, room: int) -> list[str]:
    """The text as lines of at most `room` columns, broken at spaces, or inside words that are wide or too long for a line."""
    lines = [""]
    for word in text.split():
        rest = f"{lines[-1]} {word}".lstrip()
        if columns(rest) > room and len(word) == columns(word) <= room:
            lines.append(word)
            continue
        lines.pop()
        while columns(rest) > room:
            cut = _fitting(rest, room)
            lines.append(rest[:cut].rstrip())
            rest = rest[cut:].lstrip()
        lines.append(rest)
    return lines


def _fitting(text: str, room: int) -> int:
    """How many characters fit into `room` columns without cutting a grapheme; at least one."""
    cut, used = 0, 0
    while cut < len(text) and (used := used + columns(text[cut])) <= room:
        cut += 1
    while not begins_grapheme(text, cut):
        cut -= 1
    return max(cut, 1)
