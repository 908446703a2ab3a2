"""Add a table to a TOML text, and remove it. Every other line stays as it is.

The table is found by parsing, in any place and in any spelling of its header. A path is a sequence
of keys: ("servers", "a") is the table [servers.a]. Every result is parsed again and compared, and
the functions raise ValueError rather than return a text with other values.
"""

import io
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

Path = tuple[str, ...]
Table = Mapping[str, Any]


class Statement(NamedTuple):
    """A header, a key with its value, a comment or a blank line. `path` is the full path of a
    header or key, and empty for the others.
    """

    path: Path
    text: str
    is_header: bool = False


def table_at(text: str, path: Path) -> Table | None:
    """The values of a table; None if it is missing. Raises ValueError if the text is not TOML."""
    found: Any = _values(text)
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else None


def with_table(text: str, path: Path, values: Table) -> str:
    """Return the text with these values (strings, or lists of strings) in the table. Its other keys
    stay. A missing table is added to the end.
    """
    table = table_at(text, path)
    expected = {**(table or {}), **values}
    if table == expected:
        return text
    lines = [f"{key} = {_literal(value)}\n" for key, value in values.items()]
    header = f"[{'.'.join(path)}]\n"
    if table is None:
        blank = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        return _checked("".join([text, blank, header, *lines]), text, path, expected)
    replaced = {(*path, key) for key in values}
    parts = []
    for statement in _statements(text):
        if statement.path not in replaced:
            parts.append(statement.text)
        if statement.is_header and statement.path == path:
            parts += lines
    return _checked("".join(parts), text, path, expected)


def without_table(text: str, path: Path, marks: Sequence[str] = ()) -> str:
    """Return the text without the table and its subtables. Comments in it stay; comments that equal
    one of `marks` go, wherever they are. A blank line before anything that goes is removed, too.
    """
    statements = list(_statements(text))
    removed = set()
    for number, statement in enumerate(statements):
        line = statement.text.strip()
        if line in marks or statement.path[: len(path)] == path:
            removed.add(number)
            if number and not statements[number - 1].text.strip():
                removed.add(number - 1)
    rest = [part.text for number, part in enumerate(statements) if number not in removed]
    return _checked("".join(rest), text, path, None)


def _statements(text: str) -> Iterator[Statement]:
    """Yield the statements of a valid text, with their line ends. A statement ends with the first
    line that makes it valid TOML alone.
    """
    table: Path = ()
    part = ""
    for line in io.StringIO(text, newline="\n"):
        part += line
        with suppress(tomllib.TOMLDecodeError):
            values = tomllib.loads(part)
            is_header = part.lstrip().startswith("[")
            path = _keys(values)
            if is_header:
                table = path
            elif path:
                path = table + path
            yield Statement(path, part, is_header)
            part = ""


def _keys(values: Any) -> Path:
    """The keys from a table to its first value, or to the first table with several keys."""
    path = []
    while isinstance(values, dict) and len(values) == 1:
        [(key, values)] = values.items()
        path.append(key)
        if values == [{}]:  # [[header]]
            values = {}
    return tuple(path)


def _checked(new: str, old: str, path: Path, expected: Table | None) -> str:
    """Return `new` if it has the values of `old`, with `expected` as the table."""
    *above, name = path
    values = _values(old)
    place = values
    for key in above:
        place = place.setdefault(key, {})
        if type(place) is not dict:
            raise ValueError(f"{key} is not a table")
    place.pop(name, None)
    if expected is not None:
        place[name] = expected
    try:
        is_right = _without_empty(_values(new), above) == _without_empty(values, above)
    except ValueError:
        is_right = False
    if not is_right:
        dotted = ".".join(path)
        raise ValueError(f"{dotted} is not a table with a header; edit it by hand")
    return new


def _without_empty(values: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """The values without the tables along the path that are empty: a header creates them."""
    if path and isinstance(values.get(path[0]), dict):
        values[path[0]] = _without_empty(values[path[0]], path[1:])
        if not values[path[0]]:
            del values[path[0]]
    return values


def _values(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text, parse_float=str)  # a NaN would differ from itself
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"it is not TOML: {error}") from error


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
