"""Change one value of a JSON text. Every other character stays as it is: order, numbers, layout.

A path is a sequence of keys and, in arrays, of indexes (counted from 0):

    with_value('{"hooks": {"Stop": [1.50]}}', ("hooks", "Stop", 1), 2) -> {"hooks": {"Stop": [1.50, 2]}}

The text must be valid JSON, as `values_of` checks. Both functions raise ValueError if a part of the
path has another shape: a key of an array, or an index of an object.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..config import each_once

BLANKS = re.compile(r"[ \t\r\n]*")
INDENTED = re.compile(r"\n([ \t]+)\S")
DECODER = json.JSONDecoder()

Path = Sequence[str | int]


class Item(NamedTuple):
    """A member of an object or an element of an array. `start` is where its key begins, and
    `value` and `end` enclose its value.
    """

    key: str | int
    start: int
    value: int
    end: int


def values_of(text: str) -> dict[str, Any]:
    """Parse a text that holds one object; an empty text is an empty object. Raises ValueError."""
    if not text.strip():
        return {}
    try:
        values = json.loads(text, object_pairs_hook=each_once)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if type(values) is not dict:
        raise ValueError("it is not a JSON object")
    return values


def with_value(text: str, path: Path, value: Any) -> str:
    """Return the text with this value at the path. Missing objects and arrays are created, and an
    index that equals the length of its array appends.
    """
    if not text.strip():
        text += "{}\n"
    layout = _Layout(text)
    start = _skip_blanks(text, 0)
    end = start
    for depth, key in enumerate(path):
        items, end = _items(text, start, path[:depth], key)
        found = [item for item in items if item.key == key]
        if not found:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value} if isinstance(missing, str) else [value]
            return layout.with_item(text, (start, end), items, key, value, depth)
        _, _, start, end = found[0]
    return text[:start] + layout.value(value, len(path)) + text[end:]


def without_value(text: str, path: Path) -> str:
    """Return the text without the item at the path; unchanged without such an item."""
    start = _skip_blanks(text, 0)
    for depth, key in enumerate(path):
        if start == len(text):
            return text
        items, end = _items(text, start, path[:depth], key)
        numbers = [number for number, item in enumerate(items) if item.key == key]
        if not numbers:
            return text
        number = numbers[0]
        if depth < len(path) - 1:
            start = items[number].value
        elif len(items) == 1:
            return text[: start + 1] + text[end:]
        elif number < len(items) - 1:
            return text[: items[number].start] + text[items[number + 1].start :]
        else:
            return text[: items[number - 1].end] + text[items[number].end :]
    return text


def _items(text: str, start: int, above: Path, key: str | int) -> tuple[list[Item], int]:
    """The items of the object or array that begins at `start`, and where its last bracket is.

    `key` is looked for in it and decides its shape; `above` is its own path, for the message.
    """
    is_object = isinstance(key, str)
    if text[start] != ("{" if is_object else "["):
        place = ".".join(map(str, above)) or "it"
        raise ValueError(f"{place} is not a JSON {'object' if is_object else 'array'}")
    items: list[Item] = []
    at = _skip_blanks(text, start + 1)
    while text[at] not in "}]":
        first, name = at, len(items)
        if is_object:
            name, at = DECODER.raw_decode(text, at)
            at = _skip_blanks(text, _skip_blanks(text, at) + 1)  # after the colon
        _, end = DECODER.raw_decode(text, at)
        items.append(Item(name, first, at, end))
        at = _skip_blanks(text, end)
        if text[at] == ",":
            at = _skip_blanks(text, at + 1)
    return items, at


def _skip_blanks(text: str, at: int) -> int:
    return BLANKS.match(text, at).end()  # type: ignore[union-attr]  # it matches the empty text


class _Layout:
    """The indentation and the line ends of a text."""

    def __init__(self, text: str) -> None:
        self._newline = "\r\n" if "\r\n" in text else "\n"
        indented = INDENTED.search(text)
        self._indent: str | None = "  "
        if indented:
            self._indent = indented[1]
        elif len(text.strip()) > 2:  # more than {}
            self._indent = None

    def value(self, value: Any, depth: int, *, on_one_line: bool = False) -> str:
        """Format a value whose first line is at this depth."""
        indent = None if on_one_line else self._indent
        text = json.dumps(value, indent=indent, ensure_ascii=False)
        return text.replace("\n", self._line(depth))

    def with_item(
        self,
        text: str,
        place: tuple[int, int],
        items: Sequence[Item],
        key: str | int,
        value: Any,
        depth: int,
    ) -> str:
        """Add an item to the end of the object or array between the two brackets at `place`."""
        start, end = place
        on_one_line = self._indent is None or (bool(items) and "\n" not in text[start:end])
        item = self.value(value, depth + 1, on_one_line=on_one_line)
        if isinstance(key, str):
            item = f"{json.dumps(key, ensure_ascii=False)}: {item}"
        line = "" if on_one_line else self._line(depth + 1)
        if items:
            after = items[-1].end
            return f"{text[:after]},{line or ' '}{item}{text[after:]}"
        closing = "" if on_one_line else self._line(depth)
        return f"{text[: start + 1]}{line}{item}{closing}{text[end:]}"

    def _line(self, depth: int) -> str:
        return self._newline + (self._indent or "") * depth
