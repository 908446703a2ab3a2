"""Replace the secrets in a text by [redacted]. Pure, except that the rules are read once.

Secrets are recognized by their form, by the command around them, or by the name before them. The forms and
commands are data in secret_shapes.toml; for names see named_secrets.py. This is best effort: what no rule
describes stays.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from .named_secrets import MASK, named_secrets, same_length_lower
from .secret_rules import compiled, hinted, is_random, read_rules

FLAGS = re.IGNORECASE | re.VERBOSE


class Rule(NamedTuple):
    """How to recognize one kind of secret."""

    name: str
    hints: tuple[str, ...]
    pattern: (
        str  # its group `secret` is replaced if its group `random`, which it may have, is random
    )
    flags: re.RegexFlag = FLAGS
    line: str = ""  # if it is not empty, secrets are searched in the group `line` of this pattern


class ShapeRules(NamedTuple):
    """What secret_shapes.toml contains."""

    forms: list[Rule]  # their hints are in lower case
    keys: list[Rule]  # their hints are as in the text


@cache
def rules() -> ShapeRules:
    """The rules, read from the file of the package."""
    rows = read_rules("secret_shapes.toml")
    argument = rows["parts"]["ARGUMENT"]
    forms = [Rule(row["name"], tuple(row["hints"]), row["pattern"]) for row in rows["rules"]]
    for row in rows["commands"]:
        programs = "|".join(row["programs"])
        forms.append(
            Rule(
                programs,
                tuple(row.get("hints", row["programs"])),
                rf"""[\s"']{row["option"]}["']?{argument}""",
                line=rows["command_line"].replace("PROGRAMS", programs.replace(" ", "[ ]")),
            )
        )
    keys = [
        Rule(prefix, (prefix,), _key(re.escape(prefix), row["rest"]), re.ASCII)
        for row in rows["services"]
        for prefix in row["prefixes"].split()
    ]
    keys += [Rule(row["name"], ("_", "-"), row["pattern"]) for row in rows["tokens"]]
    return ShapeRules(forms, keys)


def _key(prefix: str, rest: str) -> str:
    """The pattern of a key at the beginning of a word, or after the `\\n` of a quoted string.

    The beginning is checked after the prefix: `re` is fast with patterns that begin with plain letters.
    """
    return rf"(?P<secret>{prefix}(?:(?<![\w-]{prefix})|(?<=\\[nrt]{prefix})){rest})"


def redact(text: str) -> str:
    """Replace the secrets in a text by MASK.

    `curl -H "Authorization: Bearer abc123…" -> curl -H "Authorization: Bearer [redacted]`
    """
    for rule in hinted(rules().forms, same_length_lower(text)):
        text = _masked(text, secrets_of(rule, text))
    for rule in hinted(rules().keys, text):
        text = _masked(text, secrets_of(rule, text))
    return _masked(text, named_secrets(text))


def secrets_of(rule: Rule, text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each secret of this kind, in order."""
    places = [(0, len(text))]
    if rule.line:
        places = [match.span("line") for match in compiled(rule.line, FLAGS).finditer(text)]
    for start, end in places:
        for match in compiled(rule.pattern, rule.flags).finditer(text, start, end):
            random = match.groupdict().get("random")
            if random is None or is_random(random):
                yield match.span("secret")


def _masked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    pieces = []
    position = 0
    for start, end in spans:
        pieces += [text[position:start], MASK]
        position = end
    return "".join([*pieces, text[position:]])
