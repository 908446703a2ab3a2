"""YAML values, and scalars as written: plain, in quotes, or as a block.

A scalar is a number only if Python writes the number the same way: 3 and 2.5, but not 007 or 1.10.
Dates, yes and no are texts.
"""

import re
from collections.abc import Iterator
from typing import Union

Scalar = str | int | float | bool
Value = Union[Scalar, "list[Value]", "dict[str, Value]"]

DEEPEST = 32  # nested maps and lists

# yes and no are texts since YAML 1.2.
CONSTANTS: dict[str, bool | None] = {
    "~": None, "": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip

QUOTED = r'"(?:[^"\\]|\\.)*+"' + r"|'(?:[^']|'')*+'"
QUOTED_PART = re.compile(QUOTED, re.DOTALL)
BLOCK_SCALAR = re.compile(r"([|>])(?:([-+])?([1-9])?|([1-9])([-+]))(?:\s+#.*)?")
# An anchor, an alias or a tag of YAML, alone or before a value. *Italic* is not an alias.
NODE_PROPERTY = re.compile(
    r"(?:&[^\s,\[\]{}]+|!!\w+|!(?=\s+[\"']))(?:\s|$)|\*[^\s,\[\]{}*]+\s*(?:$|\s#)"
)
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


MERGE = "<<"  # the key that adds the keys of another map

TOO_DEEP = f"is nested more than {DEEPEST} deep"


class TooLargeError(Exception):
    """A value is nested too deeply. The message is a predicate."""


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
