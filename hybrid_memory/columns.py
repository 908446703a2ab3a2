"""How wide a terminal shows a text, and lines of it that fit: East Asian characters take two columns, combining ones none.

Emoji that are joined into one picture count as their parts, so that a line comes out shorter rather than too long.
"""

from unicodedata import category, east_asian_width

from .highlight import begins_grapheme


def columns(text: str) -> int:
    return sum(0 if category(c) in ("Mn", "Me", "Cf") else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def clipped(text: str, room: int) -> str:
    """As much as fits, `…` in place of the rest."""
    return text if columns(text) <= room else text[: _fitting(text, room - 1)].rstrip() + "…"


def wrapped(text: str, room: int) -> list[str]:
    """Lines broken at spaces; also between characters where they are wide, or a word is wider than a line."""
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
    """How many characters fit, whole graphemes; at least one."""
    cut, used = 0, 0
    while cut < len(text) and (used := used + columns(text[cut])) <= room:
        cut += 1
    while not begins_grapheme(text, cut):
        cut -= 1
    return max(cut, 1)
