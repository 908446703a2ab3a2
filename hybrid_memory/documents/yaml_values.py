"""YAML values, and scalars as written: plain, in quotes, or as a block.

A scalar is a number only if Python writes the number the same way: 3 and 2.5, but not 007 or 1.10.
Dates, yes and no are texts.
"""

import re
from collections.abc import Iterator
from typing import Union

Scalar = str | int | float | bool
Value = Union[Scalar, "list[Value]", "dict[str, Value]"]

ROOM = 65_536  # characters that aliases may add
DEEPEST = 32  # nested maps and lists

# yes and no are texts since YAML 1.2.
CONSTANTS: dict[str, bool | None] = {
    "~": None, "": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
MERGE = "<<"

QUOTED = r'"(?:[^"\\]|\\.)*+"' + r"|'(?:[^']|'')*+'"
QUOTED_PART = re.compile(QUOTED, re.DOTALL)
BLOCK_SCALAR = re.compile(r"([|>])(?:([-+])?([1-9])?|([1-9])([-+]))(?:\s+#.*)?")
ANCHOR = re.compile(r"&([^\s,\[\]{}]+)(?:\s+|$)")
ALIAS = re.compile(r"\*([^\s,\[\]{}]+)")
# And the ! that Ruby writes before a quote
TYPE = re.compile(r"!!(str|int|float|bool|null|timestamp|seq|map)(?:\s+|$)|!\s+(?=[\"'])")
# For YAML, [[Note]] is a list in a list. [[1, 2]] is one here, too.
NOTE_LINK = re.compile(r"""\[\[(?!\s*'|[-\d.\s]*,[-\d.,\s]*\]\])[^\[\]"{}]++\]\]""")

BREAKS = re.compile(r"(?<![ \t])[ \t]*+\n[ \t\n]*+|\n[ \t\n]*+")
ESCAPES_AND_BREAKS = re.compile(
    r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(\n[ \t\n]*+)|(.))|"
    + BREAKS.pattern,
    re.DOTALL,
)
ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f",
    "r": "\r", "e": "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0",
    "L": "\u2028", "P": "\u2029",
}  # fmt: skip
SURROGATE = re.compile("[\ud800-\udfff]")


TOO_DEEP = f"is nested more than {DEEPEST} deep"
TOO_LONG = "has aliases that make it too long"


class TooLargeError(Exception):
    """A value is nested too deeply, or aliases make it too long. The message is a predicate."""


class Anchors:
    """Values by the names of their anchors. Every alias uses up some ROOM, so that aliases of
    aliases cannot grow without bounds.
    """

    def __init__(self) -> None:
        self._values: dict[str, tuple[Value | None, int]] = {}  # each with its size
        self._room = ROOM

    def put(self, name: str, value: Value | None) -> None:
        self._values[name] = value, _size(value)

    def resolved(self, text: str) -> Value | None:
        """The value of an alias, or of a plain scalar. Raises TooLargeError."""
        alias = ALIAS.fullmatch(text) if text.startswith("*") else None
        if not alias or alias[1] not in self._values:
            return scalar(text)
        value, size = self._values[alias[1]]
        self._room -= size
        if self._room < 0:
            raise TooLargeError(TOO_LONG)
        return value


def _size(value: Value | None) -> int:
    if isinstance(value, str):
        return len(value) + 2
    if isinstance(value, list):
        return sum(map(_size, value)) + 2
    if isinstance(value, dict):
        return sum(len(key) + 2 + _size(item) for key, item in value.items()) + 2
    return 8


class Map:
    """The keys of a map while it is read, and the keys that it merges."""

    def __init__(self) -> None:
        self._own: dict[str, Value] = {}
        self._merged: dict[str, Value] = {}

    def put(self, key: str, value: Value | None) -> bool:
        """Add a value. Return whether it replaces another one."""
        if key == MERGE and (maps := _maps_in(value)):
            for one in maps:
                self._merged = {**one, **self._merged}
            return False
        if value is None:
            return False
        replaces = key in self._own
        self._own[key] = value
        return replaces

    @property
    def values(self) -> dict[str, Value]:
        """All values by key. The map's own values take precedence over merged ones."""
        return {**self._merged, **self._own}


def _maps_in(value: Value | None) -> list[dict[str, Value]]:
    items = value if isinstance(value, list) else [value]
    maps = [item for item in items if isinstance(item, dict)]
    return maps if len(maps) == len(items) else []


def scalar(text: str) -> Scalar | None:
    """Parse a plain scalar.

    'true' -> True, 'null' -> None, '2.5' -> 2.5, '1.10' -> '1.10'
    """
    if text in CONSTANTS:
        return CONSTANTS[text]
    if text[0] not in "-0123456789":
        return text
    try:
        number = float(text) if "." in text else int(text)
    except ValueError:
        return text
    return number if str(number) == text else text  # version 1.10 is not 1.1, and 007 is not 7


def folded(text: str) -> str:
    """Join the lines of a text with spaces. Of several line breaks, all but the first remain."""
    return BREAKS.sub(_folded, text)


def _folded(breaks: re.Match[str]) -> str:
    return "\n" * (breaks[0].count("\n") - 1) or " "


def unquoted(text: str) -> str:
    """The text inside quotes. If an escape is unknown, all backslashes remain."""
    inner = text[1:-1]
    if text[0] == "'":
        return folded(inner.replace("''", "'"))
    if "\\" not in inner:
        return folded(inner)
    try:
        found = ESCAPES_AND_BREAKS.sub(_unescaped, inner)
    except (KeyError, ValueError, OverflowError):
        return re.sub(r'\\(["\\/])', r"\1", folded(inner))
    if SURROGATE.search(found):  # as JSON writes the characters beyond U+FFFF
        return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return found


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code:
        return chr(int(code, 16))
    if match[4]:
        return "\n" * (match[4].count("\n") - 1)
    return ESCAPES[match[5]] if match[5] else _folded(match)


def block_text(style: re.Match[str], below: list[str], indent: int) -> str:
    """The text of a block scalar, with its lines `below` | or >."""
    width = style[3] or style[4]
    first = next((line for line in below if line.strip()), "")
    begin = indent + int(width) if width else column_of(first)
    lines = [line[min(begin, column_of(line)) :] for line in below]
    count = len(lines)
    while lines and not lines[-1]:
        lines.pop()
    chomping = style[2] or style[5]
    end = "\n" if lines and chomping != "-" else ""
    if chomping == "+":
        end += "\n" * (count - len(lines))
    return ("\n".join(lines) if style[1] == "|" else "".join(_folded_lines(lines))) + end


def _folded_lines(lines: list[str]) -> Iterator[str]:
    """Yield the lines and their separators: spaces, but line breaks around indented lines."""
    before = ""
    blank = 0
    for line in lines:
        if not line:
            blank += 1
            continue
        is_indented = line[0] in " \t" or before[:1] in (" ", "\t")
        if not before:
            yield "\n" * blank
        elif is_indented:
            yield "\n" * (blank + 1)
        else:
            yield "\n" * blank or " "
        yield line
        before = line
        blank = 0


def column_of(line: str) -> int:
    """The width of a line's indentation."""
    return len(line) - len(line.lstrip(" \t"))
