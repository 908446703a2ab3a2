"""Read the TOML files with the rules for secrets. Pure, except for reading a file of the package."""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Protocol, TypeVar

LEAST_CHANGES = 0.55  # of random characters; words in camel case have less

_PART = re.compile(r"\{([A-Z][A-Z0-9_]*)\}")


class Hinted(Protocol):
    """A rule that is tried only in texts with one of its hints, because finding a plain text is fast."""

    @property
    def hints(self) -> tuple[str, ...]: ...


HintedRule = TypeVar("HintedRule", bound=Hinted)


def read_rules(name: str) -> dict[str, Any]:
    """The tables of a file of rules, where `{QUOTE}` in a text is replaced by the row `QUOTE` of `parts`."""
    rows = tomllib.loads(files(__package__).joinpath(name).read_text("utf-8"))
    filled: dict[str, Any] = _filled(rows, rows["parts"])
    return filled


def _filled(value: Any, parts: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(one, parts) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, parts) for one in value]
    while isinstance(value, str) and _PART.search(value):
        value = _PART.sub(lambda part: parts[part[1]], value)
    return value


@cache
def compiled(pattern: str, flags: re.RegexFlag = re.VERBOSE) -> re.Pattern[str]:
    """The pattern, compiled when it is first used: most texts need few of them."""
    return re.compile(pattern, flags)


def hinted(rules: Iterable[HintedRule], text: str) -> Iterable[HintedRule]:
    """The rules of which at least one hint is in the text, in their order."""
    return dict.fromkeys(rule for rule in rules for hint in rule.hints if hint in text)


def is_random(word: str) -> bool:
    """Whether small letters, capitals and digits alternate about as often as they do in random texts."""
    kinds = re.sub("[A-Z]", "A", re.sub("[a-z]", "a", re.sub("[0-9]", "0", word)))
    shares = [{"a": 26, "A": 26, "0": 10}.get(kind, 0) for kind in set(kinds)]
    expected = 1 - sum((share / (sum(shares) or 1)) ** 2 for share in shares)
    found = sum(one != other for one, other in pairwise(kinds))
    return found >= LEAST_CHANGES * expected * (len(word) - 1) > 0
