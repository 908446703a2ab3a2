"""Read lists and maps in brackets: the flow style of YAML."""

import re

from .yaml_values import (
    DEEPEST,
    MERGE,
    NODE_PROPERTY,
    NOTE_LINK,
    QUOTED_PART,
    TOO_DEEP,
    TooLargeError,
    Value,
    folded,
    scalar,
    unquoted,
)

SIMPLE_LIST = re.compile(r"""\[([^][{}"'#&*!:\n]*)\]""")
SPACE = re.compile(r"(?:\s++|(?<!\S)#[^\n]*+)*+")
SPACE_IN_TAGS = re.compile(r"(?:\s++|(?<!\S)#(?!\S)[^\n]*+)*+")
_WORD = r"(?:[^\s,\[\]{}:#]++|:(?![\s,\[\]{}]|\Z)|(?<=\S)#)++"
PLAIN = re.compile(rf"#?+{_WORD}(?:\s++{_WORD})*+")
END_OF_LINE = re.compile(r"[^\S\n]*+(?:(?<!\S)#[^\n]*+)?(?:\n|\Z)")


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
        simple = SIMPLE_LIST.fullmatch(self._source)
        if simple:
            items = map(scalar, map(str.strip, simple[1].split(",")))
            return [item for item in items if item is not None]
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
        if not is_plain:
            return text
        if NODE_PROPERTY.match(text):
            self.properties.append(text)
        return scalar(text)

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
        if key == MERGE:
            self.properties.append(key)
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
        return folded(plain[0]), True
