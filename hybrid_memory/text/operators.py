"""Decides which parts of a query are operators, from the query alone; the rest are words. Pure.

If a word is mistaken for an operator, the notes with that word are lost. So an operator has a form
that pasted commands do not have: it has quotes, or it is a filter before the first word.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Any, NamedTuple, TypedDict

from .analyzer import has_token
from .characters import QUOTES, fold
from .periods import first_day

# Text in quotes or backticks is not an operator.
PIECE = re.compile(
    r"(?<!\S)(?P<minus>-?)(?P<name>tag|in|path|date|before|after|modified|where):"
    r"(?P<value>\"[^\"]+\"|[^\s\"]+)(?!\S)"
    r"|(?<!\S)-(?P<left_out>\"[^\"]+\"|[^\W\d_][^\s\":]{2,})(?!\S)"
    r"|\"[^\"]*\"|`[^`]*`"  # matched so that nothing inside it matches
)
MOST_MISTAKEN = 20  # parts that are words after all; a query with more is a pasted text
NEEDS_QUOTES = 'a minus leaves out what is in quotes, as in -"a word"'


class Operators(TypedDict):
    """How the parts of a query that look like operators were read, each as written."""

    filters: list[str]  # select documents
    without: list[str]  # exclude documents or passages
    words: dict[str, str]  # searched as words, with the reason


class Piece(NamedTuple):
    """A part of a query that looks like an operator."""

    start: int
    end: int
    written: str
    fields: Mapping[str, Any]  # of `Filters`; empty for a wrong value
    reason: str  # why it is not an operator; "" if it is one

    @property
    def has_minus(self) -> bool:
        return self.written.startswith("-")


class QueryParts(NamedTuple):
    """A query: the text of its words, and the filters of its operators."""

    text: str
    asked: Mapping[str, Any]  # fields of `Filters`, `without` as texts
    operators: Operators


def read(text: str, today: date | None) -> QueryParts:
    """Take the operators out of a query.

    'tag:ops date:2026 backups' -> 'backups', {tags: [ops], since: 2026, until: 2026}
    'backups tag:"ops"'         -> 'backups', {tags: [ops]}
    'deadlock -"page cache"'    -> 'deadlock', {without: [page cache]}
    '-tag:ops deadlock'         -> 'deadlock', {excluded: [{tags: [ops]}]}
    """
    unified = text.translate(QUOTES)
    pieces = _pieces(unified, today)
    chosen = [piece for piece in pieces if not piece.reason]
    mistaken = [piece for piece in pieces if piece.reason]
    operators: Operators = {
        "filters": [piece.written for piece in chosen if not piece.has_minus],
        "without": [piece.written for piece in chosen if piece.has_minus],
        "words": {piece.written: piece.reason for piece in mistaken[:MOST_MISTAKEN]},
    }
    if not chosen:
        return QueryParts(text, {}, operators)
    words = " ".join(_blanked(unified, chosen).split())
    return QueryParts(words, _combined(chosen), operators)


def _pieces(text: str, today: date | None) -> list[Piece]:
    """The parts of a text that look like operators."""
    pieces: list[Piece] = []
    for match in PIECE.finditer(text):
        if match["name"]:
            operators = [piece for piece in pieces if not piece.reason]
            is_first = set(_blanked(text[: match.start()], operators).split()) <= {"OR"}
            pieces.append(_filter(match, today, is_first=is_first))
        elif has_token(fold(match["left_out"] or "")):
            is_quoted = match["left_out"].startswith('"')
            fields = {"without": [match["left_out"].strip('"')]}
            reason = "" if is_quoted else NEEDS_QUOTES
            pieces.append(Piece(*match.span(), match[0], fields, reason))
    return pieces


def _filter(match: re.Match[str], today: date | None, *, is_first: bool) -> Piece:
    """A part with the name of a filter. `is_first`: it is before all words."""
    written, name, value = match[0], match["name"], match["value"].strip('"')
    fields = _fields(name, value, today)
    reason = ""
    if not fields:
        wanted = "KEY=VALUE" if name == "where" else "date"
        reason = f"{written!r} has no {wanted} after the colon"
    elif not (is_first or written.endswith('"')):
        quoted = f'{match["minus"]}{name}:"{value}"'
        reason = f"{written!r} is a filter only before the words, or as {quoted}"
    if match["minus"]:
        fields = {"excluded": [fields]}
    return Piece(*match.span(), written, fields, reason)


def _blanked(text: str, pieces: Iterable[Piece]) -> str:
    """Replace these pieces with spaces."""
    for piece in pieces:
        text = text[: piece.start] + " " * (piece.end - piece.start) + text[piece.end :]
    return text


def _combined(pieces: Iterable[Piece]) -> dict[str, Any]:
    """Combine the fields of several operators: lists and keys add up; otherwise the last one
    counts.
    """
    asked: dict[str, Any] = {}
    for piece in pieces:
        for name, value in piece.fields.items():
            if isinstance(value, list):
                asked[name] = asked.get(name, []) + value
            elif isinstance(value, dict):
                values_by_key = asked.setdefault(name, {})
                for key, values in value.items():
                    values_by_key[key] = values_by_key.get(key, []) + values
            else:
                asked[name] = value
    return asked


def _fields(name: str, value: str, today: date | None) -> dict[str, Any]:
    """The fields of `Filters` for one filter; {} for an invalid value."""
    if name == "tag":
        return {"tags": [value.lstrip("#")]}
    if name in ("in", "path"):
        return {"inside": value}
    if name == "where":
        key, equals, wanted = value.partition("=")
        return {"where": {key: [wanted]}} if key and equals else {}
    return _days(name, value, today)


def _days(name: str, value: str, today: date | None) -> dict[str, Any]:
    try:
        begin = date.fromisoformat(first_day(value, today or date.today()))
    except ValueError:
        return {}
    if value[-1].isalpha():  # an age: 7d
        value = str(begin)
    if name == "before":
        return {"until": str(begin - timedelta(days=1))}
    if name == "after":
        return {"since": value}
    if name == "modified":
        return {"modified_since": value}
    return {"since": value, "until": value}
