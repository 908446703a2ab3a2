"""Texts without anything that a terminal would obey: control characters, and marks that change the direction of text."""

import json
import re
from collections.abc import Iterable

from ..typed.names import Any

_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROL: dict[int, str | None] = {code: "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0)) if code != 0x09}
_CONTROL |= dict.fromkeys((0x0A, 0x0D, 0x2028, 0x2029), "\n")  # a bare CR would let the rest of its line cover the beginning
_CONTROL |= dict.fromkeys(_DIRECTIONS)
# JSON itself escapes what is below U+0020.
_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029, *_DIRECTIONS)}


def printable(text: str) -> str:
    """The text with U+FFFD for each control character, every line ended by a line feed, and no marks of direction."""
    return text.replace("\r\n", "\n").translate(_CONTROL)


def harmless(text: str) -> str:
    """The text, printable and on one line."""
    return re.sub(r"\s+", " ", printable(text))


def json_text(value: Any, indent: int | None = None) -> str:
    r"""JSON with escapes such as \u009b for what a terminal would obey. To a program it means the same."""
    return json.dumps(value, indent=indent, ensure_ascii=False).translate(_ESCAPES)


def json_line(value: Any) -> str:
    """`json_text` with no space between the parts."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPES)


def json_lines(values: Iterable[Any]) -> str:
    """A JSON list with each value on a line of its own: short, and still to be read with eyes and line by line."""
    lines = ",\n".join(map(json_line, values))
    return f"[\n{lines}\n]" if lines else "[]"
