"""Options: the types of what users choose, and the rows of which every surface is made.

A row is an `Option` in the annotation of a field, so that a field of `search.request.Request` or of
`storage.filters.Filters` and its option are written once:

    since: Annotated[str | None, Option(DATE, "only documents of this date or later")] = None

`options_of` reads the rows. The command line, the parameters of HTTP with their OpenAPI schema, the
arguments of MCP, `HybridStore.search` and the tables of the docs are made from them. The help is
written for the command line; the other surfaces print it as a sentence.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import cache
from json import dumps, loads
from typing import Any

from .errors import suggestion
from .text.characters import storable_name

DEEPEST = 100  # levels of nested objects and lists in metadata
MOST = 10**9  # a larger number means the same, and SQLite has no number above 2**63

# Surfaces
COMMAND_LINE = "command line"
HTTP = "HTTP"
MCP = "MCP"
PYTHON = "Python"
EVERYWHERE = frozenset((COMMAND_LINE, HTTP, MCP, PYTHON))
WITHOUT_MCP = EVERYWHERE - {MCP}  # an agent reads the description of each argument before each task


class Kind:
    """A type of value: how a word is parsed, and how a value of a program is checked.

    Both raise ValueError for a value that is not of the kind; `check` raises TypeError for one of
    another type. `json_type` is the name that JSON Schema has for it. A kind with `of_pairs` is
    repeated and has values by key, which this function checks.
    """

    def __init__(
        self,
        json_type: str,
        parse: "Callable[[str], Any]",
        check: "Callable[[Any], Any] | None" = None,
        metavar: str = "",
        pattern: str = "",
        of_pairs: "Callable[[Any], Any] | None" = None,
    ) -> None:
        self.json_type = json_type
        self.parse = parse
        self.check = check or _text_or_word(parse)
        self.metavar = metavar
        self.pattern = pattern  # of the word, for the OpenAPI document
        self.of_pairs = of_pairs


class Option:
    """One option. `name` is the name on every surface, the field's own by default; `aliases` are
    names that are still understood. `least` and `most` bound a number, `most` also the number of
    values of a repeated option, and `served` is the bound of a server if that is lower. `setting`
    is the config key that decides where nobody chose a value. `when_bare` is the value of an option
    of the command line that has no value.
    """

    def __init__(
        self,
        kind: Kind,
        about: str,
        *,
        name: str = "",
        aliases: Sequence[str] = (),
        default: Any = None,
        least: float = 0,
        most: float = MOST,
        served: float = MOST,
        choices: Sequence[str] = (),
        repeated: bool = False,
        required: bool = False,
        setting: str | None = None,
        when_bare: Any = None,
        metavar: str = "",
        surfaces: Iterable[str] = EVERYWHERE,
    ) -> None:
        self.kind = kind
        self.about = about
        self.name = name
        self.aliases = aliases
        self.default = default
        self.least = least
        self.most = most
        self.served = served
        self.choices = choices
        self.repeated = repeated
        self.required = required
        self.setting = setting
        self.when_bare = when_bare
        self.metavar = metavar or kind.metavar
        self.surfaces = frozenset(surfaces)

    def parse(self, text: str) -> Any:
        """Return the value of one word. Raises ValueError with the reason if it has none."""
        return self._within_bounds(self.kind.parse(text))

    def check(self, value: Any) -> Any:
        """Return a value of a program in the type of the option. Raises TypeError or ValueError."""
        if self.repeated:
            return self._all(value)
        return self._within_bounds(self.kind.check(value))

    def read(self, value: Any) -> Any:
        """Return the value that a model or a form means, None if it means none; for a server.

        Models fill in optional arguments with "", and clients send lists, objects, numbers and
        switches as JSON text. Raises as `check` does.

        `"" -> None`, `"[\\"a\\"]" -> ["a"]` of a list, `"5" -> 5` of a number
        """
        if self.repeated:
            items = [item for item in _items_meant(value) if item != ""]
            if not items:
                return None
            if self.kind.of_pairs:
                return self.kind.of_pairs(self._by_key(items))
            return self.check([self._read_one(item) for item in items])
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is None or value == [] or (value == "" and not self.required):
            return None
        value = self._read_one(value)
        return None if value is None else self.served_value(self._within_bounds(value))

    def _read_one(self, value: Any) -> Any:
        if isinstance(value, str) and self.kind.json_type != "string":
            value = _from_json(value)
        elif self.kind.json_type == "string" and isinstance(value, int | float):
            value = dumps(value)
        if value is None:
            return None
        return self.kind.parse(value) if isinstance(value, str) else self.kind.check(value)

    def _by_key(self, items: Sequence[Any]) -> dict[str, Any]:
        """Values by key from objects and KEY=VALUE; a key with several values has a list."""
        values: dict[str, Any] = {}
        for item in items:
            if not isinstance(item, str | Mapping):
                raise TypeError(f"{item!r} is not KEY=VALUE")
            given = item if isinstance(item, Mapping) else dict([self.kind.parse(item)])
            for key, value in given.items():
                values[key] = [*_items(values[key]), *_items(value)] if key in values else value
        return values

    def served_value(self, value: Any) -> Any:
        """Return a checked value unless a server's bound refuses it: ValueError."""
        if isinstance(value, int | float) and value > self.served:
            raise ValueError(f"{value} is more than {self.served:,g}")
        return value

    def _all(self, value: Any) -> Any:
        if self.kind.of_pairs:
            return self.kind.of_pairs(value)
        if isinstance(value, str) or not isinstance(value, Sequence | set | frozenset):
            raise TypeError(f"{value!r} is not a list of texts")
        if len(value) > self.most:
            raise ValueError(f"{len(value)} values are more than {self.most:,g}")
        return [self.kind.check(item) for item in value]

    def _within_bounds(self, value: Any) -> Any:
        if self.choices and value not in self.choices:
            raise ValueError(f"{value!r} is not one of {', '.join(self.choices)}")
        if self.kind.json_type in ("integer", "number"):
            if value < self.least:
                raise ValueError(f"{value} is less than {self.least:g}")
            if value > self.most:
                if self.most < MOST:
                    raise ValueError(f"{value} is more than {self.most:,g}")
                return MOST
        return value

    def sentence(self) -> str:
        """Return the help as a sentence."""
        return f"{self.about[:1].upper()}{self.about[1:]}."

    def schema(self, *, default: Any = None) -> dict[str, Any]:
        """Return the JSON Schema of one value, without its description."""
        schema: dict[str, Any] = {"type": self.kind.json_type}
        if self.choices:
            schema["enum"] = [*self.choices]
        elif self.kind.json_type in ("integer", "number"):
            schema["minimum"] = self.least
            most = min(self.most, self.served)
            if most < MOST:
                schema["maximum"] = most
        if default is not None:
            schema["default"] = default
        return schema

    def list_schema(self, items: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON Schema of a repeated option, given that of one value."""
        schema = {"type": "array", "items": items}
        return schema | {"maxItems": self.most} if self.most < MOST else schema


# --- kinds


def _text(text: str) -> str:
    if "\0" in text:
        raise ValueError(f"{text!r} has a NUL character")
    return storable_name(text)


def _whole(text: str) -> int:
    if not re.fullmatch("[-+]?[0-9]+", text.strip()):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    if not abs(number) < float("inf"):
        raise ValueError(f"{text!r} is not a number")
    return number


def _characters(text: str) -> int:
    """Tokens count as 4 characters: '250t' -> 1000."""
    if text.endswith("t"):
        return 4 * _whole(text.removesuffix("t"))
    return _whole(text)


def _switch(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is not true or false")
    return text == "true"


def _date(text: str) -> str:
    from .text.periods import first_day  # a large module, and most calls have no date

    first_day(text, date.today())  # raises
    return text


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a day: write 2026-01-05") from None


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise ValueError(f"{text!r} is not KEY=VALUE")
    return _text(key), _text(value)


def _text_or_word(parse: Callable[[str], Any]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not isinstance(value, str):
            raise TypeError(f"{value!r} is not a text")
        return parse(value)

    return check


def _checked_whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a whole number")
    if value != value or abs(value) == float("inf") or value != int(value):
        raise ValueError(f"{value!r} is not a whole number")
    return int(value)


def _checked_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    if not abs(value) < float("inf"):
        raise ValueError(f"{value!r} is not a number")
    return float(value)


def _checked_switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is not True or False")
    return value


def _checked_date(value: Any) -> str:
    if isinstance(value, date):
        return value.isoformat()
    return str(_text_or_word(_date)(value))


def _checked_day(value: Any) -> date:
    if isinstance(value, date):
        return value
    day: date = _text_or_word(_day)(value)
    return day


def _pairs(value: Any) -> dict[str, list[str]]:
    """Metadata by key: a value, or a list of values that must all be there. 3 is looked for as '3',
    True as 'true'.
    """
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise TypeError(f"{value!r} does not have values by key")
    return {
        storable_name(key): [_plain(key, item) for item in _items(of)] for key, of in value.items()
    }


def data(value: Any) -> Mapping[str, Any]:
    """Metadata to be stored, unchanged."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise TypeError(f"{value!r} does not have values by key")
    if is_nested_deeper(value, DEEPEST):
        raise ValueError(f"more than {DEEPEST} nested levels")
    dumps(value, allow_nan=False)  # raises
    return value


def is_nested_deeper(value: Any, levels: int) -> bool:
    """Whether a value has more than this many levels of nested objects and lists."""
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, list) and (
        levels == 0 or any(is_nested_deeper(item, levels - 1) for item in value)
    )


def _items_meant(value: Any) -> list[Any]:
    """The items of a list, which may be JSON text, or the one item that stands for a list."""
    items = []
    for item in _items(value):
        meant = _from_json(item) if isinstance(item, str) else item
        if isinstance(meant, list):
            items += meant
        elif meant is not None:
            items.append(meant if isinstance(meant, Mapping) else item)
    return items


def _from_json(text: str) -> Any:
    """Return the value of a JSON text, or the text if it is none. Models also write Python's words."""
    try:
        return loads({"True": "true", "False": "false", "None": "null"}.get(text, text))
    except (ValueError, RecursionError):
        return text


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _plain(key: str, value: Any) -> str:
    if isinstance(value, str):
        return storable_name(value)
    if value is None or isinstance(value, int) or (isinstance(value, float) and value == value):
        return dumps(value)
    raise ValueError(f"the value of {key!r} must be a text, a number or a list of these")


TEXT = Kind("string", _text, _text_or_word(storable_name), metavar="TEXT", pattern=r"[^\x00]*")
CONTENT = Kind("string", str)  # of a document, kept as it is
COUNT = Kind("integer", _whole, _checked_whole, metavar="N")
NUMBER = Kind("number", _number, _checked_number, metavar="N")
CHARACTERS = Kind("integer", _characters, _checked_whole, metavar="N")
SWITCH = Kind("boolean", _switch, _checked_switch)
DATE = Kind("string", _date, _checked_date, metavar="DATE", pattern=r"[^\x00]+")
DAY = Kind("string", _day, _checked_day, metavar="DATE", pattern="[0-9]{4}-[0-9]{2}-[0-9]{2}")
PAIR = Kind("string", _pair, metavar="KEY=VALUE", pattern=r"[^\x00=]+=[^\x00]*", of_pairs=_pairs)


def by_key(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return values that were written as KEY=VALUE, by key."""
    values: dict[str, list[str]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return values


# --- tables


@cache
def options_of(fields: Any) -> dict[str, Option]:
    """Return the options of a class by field, each with its name and default."""
    table: dict[str, Option] = {}
    for field, annotation in fields.__annotations__.items():
        for option in getattr(annotation, "__metadata__", ()):
            option.name = option.name or field
            option.default = fields._field_defaults[field]
            table[field] = option
    return table


def on_surface(table: Mapping[str, Option], surface: str) -> dict[str, Option]:
    """Return the options of a table that a surface has, by field."""
    return {field: option for field, option in table.items() if surface in option.surfaces}


def fields_given(
    tables: Sequence[Mapping[str, Option]], given: Mapping[str, Any], what: str
) -> list[dict[str, Any]]:
    """Sort checked values into the fields of each table. A name may be an option's own, its field's
    or an alias. None stands for a value that was not given.

    Raises TypeError for an unknown name or a wrong type, ValueError for a wrong value; both name it.
    """
    fields: list[dict[str, Any]] = [{} for _ in tables]
    places = {
        name: (number, field, option)
        for number, table in enumerate(tables)
        for field, option in table.items()
        for name in (field, option.name, *option.aliases)
    }
    for name, value in given.items():
        if name not in places:
            raise TypeError(f"{what} has no option {name!r}{suggestion(name, places)}")
        number, field, option = places[name]
        if value is None:
            continue
        if field in fields[number]:
            raise TypeError(f"{option.name} is given twice, once as {name}")
        try:
            fields[number][field] = option.check(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}: {error}") from None
    return fields
