"""Find secrets by the name before them: `DB_PASSWORD=…`, `"apiKey": "…"`, "the password of the router is …",
and the cells below such a name in a table. Pure.

The names of secrets, what connects a name with a value, and how values are judged are data in
secret_names.toml, which is read when the first text is searched.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple
from unicodedata import combining, normalize

from .secret_rules import compiled, hinted, is_random, read_rules

MASK = "[redacted]"

# Limits in characters, so that a long text takes linear time
LONGEST_WHOLE = 6  # of a name in ASCII that is no secret inside another word
PURPOSE = 24  # before a name, of a word that belongs to it
BEFORE = 100  # before a name, of what connects it with a value
AFTER = 300  # after a name
LONGEST_JUDGED = 120  # of a value
LONGEST_QUOTED = 2000
LONGEST_HEADER = 500  # of a table

NEVER = 7  # above the highest level of a value

_SENTENCE_END = re.compile(r"[.!?;](?=\s|\Z)|[。！？]|\n")
_LITERALS = re.compile(r" |\(.*?\)+")  # between the plain texts of a name
_AFTER_A_VALUE = ".,:)]}*…"
_HEADER_CELL = re.compile(r"[^\W_][\w .()/-]{0,30}|")
_RULE = re.compile(r"[ |:-]*--[ |:-]*\r?")  # below the header of a table in markdown


class Name(NamedTuple):
    """What secrets are called."""

    hints: tuple[str, ...]
    pattern: str
    kind: str
    before: str  # is found before the name
    is_whole: bool  # not a part of another word
    in_capitals: bool


class Connector(NamedTuple):
    """What connects a name with its value."""

    name: str
    pattern: str
    least: Mapping[str, int]  # kind of name -> level of value
    before: str = ""  # is found before the name
    reach: int = 0  # characters between the name and the link; 0 if it follows the name directly


class NameKind(NamedTuple):
    """A kind of names."""

    value: str  # what every value is
    after: str = ""  # what follows every value


class Level(NamedTuple):
    """How much values of a form look like secrets."""

    name: str
    level: int
    pattern: str
    kinds: tuple[str, ...] = ()  # of names; () for all
    and_after: bool = False  # also with one or three characters after it
    is_random: bool = False


class NameRules(NamedTuple):
    """What secret_names.toml contains."""

    names: list[Name]
    kinds: dict[str, NameKind]
    links: list[Connector]
    levels: list[Level]
    value_before: Connector
    columns: Mapping[str, int]  # kind of name -> least level of a value below it
    values: Mapping[str, str]
    not_after: str


@cache
def rules() -> NameRules:
    """The rules, read from the file of the package."""
    rows = read_rules("secret_names.toml")
    return NameRules(
        names=[
            _name(word, kind, table)
            for table in rows["names"]
            for kind in rows["kinds"]
            for word in table.get(kind, ())
        ],
        kinds={kind: NameKind(**row) for kind, row in rows["kinds"].items()},
        links=[Connector(**row) for row in rows["links"]],
        levels=[Level(**row) for row in rows["levels"]],
        value_before=Connector(**rows["value_before"]),
        columns=rows["columns"]["least"],
        values=rows["values"],
        not_after=rows["not_after"],
    )


def _name(word: str, kind: str, table: Mapping[str, Any]) -> Name:
    spellings = _spellings(word)
    patterns = "|".join(spelling.replace(" ", "[ _.-]?") for spelling in spellings)
    return Name(
        hints=tuple(max(_LITERALS.split(spelling), key=len) for spelling in spellings),
        pattern=f"(?:{patterns}){table['ending']}",
        kind=kind,
        before=table.get("before", ""),
        is_whole=word.isascii() and len(word) <= LONGEST_WHOLE and "before" not in table,
        in_capitals="capitals" in table,
    )


def _spellings(word: str) -> set[str]:
    """The word with its marks, with combining marks and, if it is then ASCII, without them."""
    decomposed = normalize("NFD", word)
    plain = "".join(character for character in decomposed if not combining(character))
    return {normalize("NFC", word), decomposed} | ({plain} if plain.isascii() else set())


def same_length_lower(text: str) -> str:
    """The text in lower case, with every character at its place."""
    return text.replace("İ", "i").lower()  # İ is the only letter whose lower case is longer


def named_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each secret found by its name, in order."""
    lowered = same_length_lower(text)
    found = _found(text, lowered)
    spans = [(0, 0)]
    for start, end, name in found:
        last_start, last_end = spans[-1]
        if not last_start <= start < last_end:  # not in a secret
            spans += _secrets_of(text, lowered, name, start, end)
    named = {lowered.rfind("\n", 0, start) + 1 for start, _, _ in found}
    reached = 0
    for start, end in sorted({*spans[1:], *_secrets_in_columns(text, named)}):
        if start >= reached:
            yield start, end
            reached = end


def _found(text: str, lowered: str) -> list[tuple[int, int, Name]]:
    """The start and end of each name in the text, in order."""
    found = [
        (*match.span(), name)
        for name in hinted(rules().names, lowered)
        for match in compiled(name.pattern).finditer(lowered)
        if _is_name(text, lowered, name, *match.span())
    ]
    return sorted(found, key=lambda row: (row[0], -row[1]))


def _is_name(text: str, lowered: str, name: Name, start: int, end: int) -> bool:
    if _is_before(rules().not_after, lowered, start, PURPOSE):
        return False
    if not _is_before(name.before, lowered, start, PURPOSE):
        return False
    if name.in_capitals:
        return text[start:end].isupper()
    is_inside = name.is_whole and text[start - 1 : start].isalpha()
    return not is_inside or (text[start].isupper() and text[start - 1].islower())


def _is_before(pattern: str, lowered: str, start: int, reach: int) -> bool:
    return not pattern or bool(compiled(pattern).search(lowered, max(start - reach, 0), start))


def _secrets_of(
    text: str, lowered: str, name: Name, start: int, end: int
) -> Iterator[tuple[int, int]]:
    """Yield the start and end of the secrets of a name: one before it, and the nearest after it."""
    value_before = rules().value_before
    before = compiled(value_before.pattern).search(text, max(start - BEFORE, 0), start)
    least = value_before.least.get(name.kind, NEVER)
    if before and _is_secret(text, *before.span("value"), name.kind, least):
        yield before.span("value")
    is_constant = name.kind != "code" and text[start:end].isupper()
    needed: dict[int, tuple[int, str]] = {}  # where a value can begin -> its least level, kind
    for link in rules().links:
        kind = "constant" if is_constant and "constant" in link.least else name.kind
        ends = list(_ends_of(link, lowered, end)) if kind in link.least else []
        if ends and _is_before(link.before, lowered, start, BEFORE):
            row = link.least[kind], kind
            needed |= {at: min(row, needed.get(at, row)) for at in ends}
    for at, (least, kind) in sorted(needed.items()):
        if _is_secret(text, *_value(text, at, LONGEST_JUDGED), kind, least):
            yield _value(text, at, len(text))
            return


def _ends_of(link: Connector, lowered: str, start: int) -> Iterator[int]:
    """Where a value can begin after a name that ends at `start`: not after a value that is masked."""
    pattern = compiled(link.pattern)
    masked = lowered.find(MASK, start, start + AFTER)
    last = masked if masked >= 0 else start + AFTER
    if link.reach:
        sentence_end = _SENTENCE_END.search(lowered, start, last)
        end = min(sentence_end.start() if sentence_end else last, start + link.reach)
        yield from (match.end() for match in pattern.finditer(lowered, start, end))
    else:
        match = pattern.match(lowered, start)
        yield from [match.end()] if match and match.end() <= last else []


def _value(text: str, at: int, longest: int) -> tuple[int, int]:
    """The start and end of the value that begins here: a quoted string on one line, or at most `longest`
    characters up to white space.
    """
    values = rules().values
    quoted = compiled(values["quoted"]).match(text, at, at + LONGEST_QUOTED)
    if quoted and quoted.lastgroup:
        return quoted.span(quoted.lastgroup)
    opening = compiled(values["opening"]).match(text, at)
    start = opening.end() if opening else at
    bare = compiled(values["bare"]).match(text, start, start + longest)
    return start, start + len(bare[0].rstrip(_AFTER_A_VALUE) if bare else "")


def _is_secret(text: str, start: int, end: int, kind: str, least: int) -> bool:
    """Whether this value of a name of that kind has at least this level."""
    value = text[start : min(end, start + LONGEST_JUDGED)]
    of_kind = rules().kinds[kind]
    return (
        compiled(of_kind.value).fullmatch(value) is not None
        and compiled(of_kind.after).match(text, end) is not None
        and _level(value, text[end : end + 3], kind) >= least
    )


def _level(value: str, after: str, kind: str) -> int:
    """How much a value looks like a secret, from 0 (harmless) to 6; `after` is the text after it."""
    for row in rules().levels:
        forms = (value, value + after[:1].strip(), value + after) if row.and_after else (value,)
        is_of_form = any(map(compiled(row.pattern, re.VERBOSE | re.DOTALL).fullmatch, forms))
        is_of_kind = not row.kinds or kind in row.kinds
        is_as_random = not row.is_random or is_random(re.sub("[-_.]", "", value))
        if is_of_form and is_of_kind and is_as_random:
            return row.level
    return 1


def _secrets_in_columns(text: str, named: set[int]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each secret in a column of a table, in markdown or CSV, whose header
    is the name of a secret. `named` are the beginnings of the lines with a name.
    """
    columns: dict[int, str] = {}
    mark = ""
    width = position = 0
    lines = [*text.split("\n"), ""] if named else [""]
    for line, next_line in pairwise(lines):
        cells = _cells(line, mark) if columns else []
        shown = [line[start:end] for start, end in cells]
        # a mask in a part of a cell may have replaced a mark between cells
        if columns and len(cells) == width and line.count(MASK) == shown.count(MASK):
            for column, kind in columns.items():
                start, end = (position + at for at in cells[column])
                least = rules().columns.get(kind, NEVER)
                if " " not in shown[column] and _is_secret(text, start, end, kind, least):
                    yield start, end
        else:
            columns, mark, width = {}, "", 0
            if position in named and len(line) <= LONGEST_HEADER:
                columns, mark, width = _header(line, _RULE.fullmatch(next_line) is not None)
        position += len(line) + 1


def _header(line: str, is_before_rule: bool) -> tuple[dict[int, str], str, int]:
    """The columns of secrets with their kinds if this line is the header of a table, the mark between its
    cells, and their number.
    """
    for mark in "|\t,;":
        cells = [line[start:end] for start, end in _cells(line, mark)]
        is_header = len(cells) > 1 and all(map(_HEADER_CELL.fullmatch, cells)) and line[:1] != " "
        if is_header and (mark != "|" or is_before_rule):
            columns = {
                number: name.kind
                for number, cell in enumerate(cells)
                for _, end, name in _found(cell, cell.lower())
                if end == len(cell)
            }
            return columns, mark, len(cells)
    return {}, "", 0


def _cells(line: str, mark: str) -> list[tuple[int, int]]:
    """The start and end of each cell, without spaces, quotation marks and code marks around it."""
    spans = []
    for match in re.finditer(
        rf'(?:\A|(?<=[{mark}]))(?:\s*"[^"]*"\s*(?=[{mark}]|\Z)|[^{mark}]*)', line
    ):
        bare = match[0].strip(' \t\r"`*')
        start = match.start() + match[0].index(bare)
        spans.append((start, start + len(bare)))
    return spans
