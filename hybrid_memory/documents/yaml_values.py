"""YAML values as written: scalars, plain, in quotes or as a block, and lists and maps in brackets.

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
BLOCK_SCALAR = re.compile(r"([|>])[1-9]?([-+]?)[1-9]?(?:\s+#.*)?")
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

# In brackets
SPACE = re.compile(r"(?:\s++|(?<!\S)#[^\n]*+)*+")
SPACE_IN_TAGS = re.compile(r"(?:\s++|(?<!\S)#(?!\S)[^\n]*+)*+")
_WORD = r"(?:[^\s,\[\]{}:#]++|:(?![\s,\[\]{}]|\Z)|(?<=\S)#)++"
PLAIN = re.compile(rf"#?+{_WORD}(?:\s++{_WORD})*+")
END_OF_LINE = re.compile(r"[^\S\n]*+(?:(?<!\S)#[^\n]*+)?(?:\n|\Z)")


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


def block_text(style: re.Match[str], below: list[str]) -> str:
    """The text of a block scalar, with its lines `below` | or >. All have the column of the first; line
    breaks at the end are one, or with `-` none.
    """
    begin = column_of(next((line for line in below if line.strip()), ""))
    lines = [line[min(begin, column_of(line)) :] for line in below]
    while lines and not lines[-1]:
        lines.pop()
    end = "\n" if lines and style[2] != "-" else ""
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


class UnreadableError(Exception):
    """A text in brackets is neither a list nor a map. `is_open`: only its end is missing."""

    def __init__(self, *, is_open: bool) -> None:
        super().__init__()
        self.is_open = is_open


class Flow:
    """Reads the list or map at the beginning of a text."""

    def __init__(self, source: str, *, is_tags: bool = False) -> None:
        self.lines_passed = 0
        self.properties: list[str] = []  # anchors, aliases and tags, which are read as text
        self._source = source
        self._space = SPACE_IN_TAGS if is_tags else SPACE
        self._at = 0

    def whole(self, depth: int) -> Value | None:
        """Read the list or map. Raises TooLargeError, and UnreadableError if text follows it."""
        value = self._value(depth)
        if not END_OF_LINE.match(self._source, self._at):
            raise UnreadableError(is_open=False)
        self.lines_passed = self._source.count("\n", 0, self._at)
        return value

    def _next(self) -> str:
        """Skip spaces and comments, and return the next character; "" at the end."""
        space = self._space.match(self._source, self._at)
        self._at = space.end() if space else self._at
        return self._source[self._at : self._at + 1]

    def _passes(self, sign: str) -> bool:
        """Move past the next character if it is this sign; return whether it was."""
        if self._next() != sign:
            return False
        self._at += 1
        return True

    def _matched(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._source, self._at)
        if match:
            self._at = match.end()
        return match

    def _value(self, depth: int) -> Value | None:
        first = self._next()
        if first in ("[", "{"):
            link = self._matched(NOTE_LINK)
            if link:
                return link[0]
            if depth >= DEEPEST:
                raise TooLargeError(TOO_DEEP)
            self._at += 1
            return self._list(depth + 1) if first == "[" else self._map(depth + 1)
        text, is_plain = self._text()
        return scalar(text) if is_plain else text

    def _list(self, depth: int) -> list[Value]:
        found: list[Value] = []
        while not self._passes("]"):
            value = self._item(depth)
            if value is not None:
                found.append(value)
            self._pass_comma("]")
        return found

    def _item(self, depth: int) -> Value | None:
        """Read an item of a list, which may be a pair: [a, b: c] is [a, {b: c}]."""
        begin = self._at
        value = self._value(depth)
        end = self._at
        if isinstance(value, list | dict) or not self._passes(":"):
            self._at = end
            return value
        self._at = begin
        pair: dict[str, Value] = {}
        self._put_pair(pair, depth)
        return pair

    def _map(self, depth: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        is_map = self._next() == "}"
        while not self._passes("}"):
            is_map |= self._put_pair(found, depth)
            self._pass_comma("}")
        if not is_map:  # {name} is a placeholder of templates
            raise UnreadableError(is_open=False)
        return found

    def _put_pair(self, found: dict[str, Value], depth: int) -> bool:
        """Read a key and its value. Return whether there was a colon."""
        self._next()
        begin = self._at
        key = self._text()[0].strip().lower()
        if not key or "\n" in self._source[begin : self._at]:
            raise UnreadableError(is_open=False)
        has_colon = self._passes(":")
        has_value = has_colon and self._next() not in ("", ",", "}", "]")
        value = self._value(depth) if has_value else None
        if value is not None:
            found[key] = value
        return has_colon

    def _pass_comma(self, closing: str) -> None:
        if not self._passes(",") and self._next() != closing:
            raise UnreadableError(is_open=self._at == len(self._source))

    def _text(self) -> tuple[str, bool]:
        """Read a scalar; return its text, and whether it has no quotes."""
        quote = self._matched(QUOTED_PART)
        if quote:
            return unquoted(quote[0]), False
        is_open_quote = self._source.startswith(("'", '"'), self._at)
        plain = None if is_open_quote else self._matched(PLAIN)
        if not plain:
            raise UnreadableError(is_open=is_open_quote or self._at == len(self._source))
        if NODE_PROPERTY.match(plain[0]):
            self.properties.append(plain[0])
        return folded(plain[0]), True
