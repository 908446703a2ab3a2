"""Decides which parts of a query are operators, and which are words. Pure.

If a word is mistaken for an operator, the notes with that word are lost, as in `kubectl get pods
-owide`. So a part is an operator only if that is clear; `choose` alone decides.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple, Protocol, TypedDict

from .analyzer import TOKEN, has_token
from .characters import QUOTES, fold
from .dates import first_day

# Text in quotes or backticks is not an operator. Two letters after a - are an option of a command, and
# "//" belongs to an address.
PIECE = re.compile(
    r"(?<!\S)(?P<minus>-?)(?P<name>[^\W\d_][\w.-]*):(?!//)(?P<value>\"[^\"]+\"|[^\s\"]+)(?!\S)"
    r"|(?<!\S)-(?P<left_out>\"[^\"]+\"|[^\W\d_][^\s\"]{2,})(?!\S)"
    r"|\"[^\"]*\"|`[^`]*`"  # matched so that nothing inside it matches
)
PLAIN_WORD = re.compile(r"(?<!\S)[^\s-]\S*")
DATE_FILTERS = ("date", "before", "after", "modified")
MOST_MISTAKEN = 20  # parts that are words after all; a query with more is a pasted text


class Operators(TypedDict):
    """How the parts of a query that look like operators were read, each as written."""

    filters: list[str]  # select documents
    without: list[str]  # exclude documents or passages
    words: dict[str, str]  # searched as words, with the reason


class Memory(Protocol):
    """The facts that decide between operators and words."""

    def key_of(self, name: str) -> str | None:
        """The metadata key with this name in any case; None if no document has it."""

    def unmet(self, asked: Mapping[str, Any]) -> str | None:
        """Explain why no document matches these fields of `Filters`; None if one does, "" without
        an explanation.
        """

    def is_written(self, literal: str, beside: str = "") -> bool:
        """Whether a passage has this text literally, together with all words of `beside`."""


class UnknownMemory:
    """A memory without metadata, in which every filter matches: for parsing a query alone."""

    def key_of(self, name: str) -> str | None:
        return None

    def unmet(self, asked: Mapping[str, Any]) -> str | None:
        return None

    def is_written(self, literal: str, beside: str = "") -> bool:
        return False


class Piece(NamedTuple):
    """A part of a query that looks like an operator."""

    start: int
    end: int
    written: str
    name: str  # "tag" of tag:ops; "" of -word and -"a phrase"
    fields: Mapping[str, Any]  # of `Filters`; empty for an unknown name or a wrong value
    left_out: str  # the word or phrase after the -, unless it is a filter

    @property
    def has_minus(self) -> bool:
        return self.written.startswith("-")


class Choice(NamedTuple):
    """The pieces that are operators, and the reasons why others are words."""

    operators: list[Piece]
    words: dict[str, str]


class Reading(NamedTuple):
    """A query: the text of its words, and the filters of its operators."""

    text: str
    asked: Mapping[str, Any]  # fields of `Filters`, `without` as texts
    operators: Operators
    leaves_out_words: bool  # a -word is an operator


def read(
    text: str, today: date | None, memory: Memory, *, may_leave_out_words: bool = True
) -> Reading:
    """Take the operators out of a query.

    'backups tag:ops date:2026' -> 'backups', {tags: [ops], since: 2026, until: 2026}
    'deadlock -"page cache"' -> 'deadlock', {without: [page cache]}
    'deadlock -tag:ops' -> 'deadlock', {excluded: [{tags: [ops]}]}
    """
    unified = text.translate(QUOTES)
    pieces = _pieces(unified, today, memory)
    choice = choose(pieces, unified, memory, may_leave_out_words=may_leave_out_words)
    chosen = sorted(choice.operators)
    operators: Operators = {
        "filters": [piece.written for piece in chosen if not piece.has_minus],
        "without": [piece.written for piece in chosen if piece.has_minus],
        "words": choice.words,
    }
    if not chosen:
        return Reading(text, {}, operators, leaves_out_words=False)
    words = " ".join(_blanked(unified, chosen).split())
    leaves_out_words = any(map(_is_word_left_out, chosen))
    return Reading(words, _combined(chosen), operators, leaves_out_words)


def choose(
    pieces: Sequence[Piece], text: str, memory: Memory, *, may_leave_out_words: bool = True
) -> Choice:
    """Choose the operators among the pieces of a query.

    - A filter, unless no document matches it, or a passage has it literally beside the other words,
      as a command in a note.
    - -"a phrase", and a filter with a minus under the same conditions.
    - -word before or after all other words, if no passage has it literally.

    Without `may_leave_out_words`, no -word is an operator: with it, a search found nothing.
    """
    choice = Choice([piece for piece in pieces if piece.left_out.startswith('"')], {})
    plain = _blanked(text, pieces)
    for piece in pieces:
        if piece.left_out or len(choice.words) >= MOST_MISTAKEN:
            continue
        if not piece.fields and memory.is_written(piece.written):
            continue  # not meant as a filter
        reason = _why_no_filter(piece, plain, memory)
        if reason is None:
            choice.operators.append(piece)
        else:
            choice.words[piece.written] = reason
    for piece in _at_the_edges(pieces, text, choice.operators):
        if memory.is_written(piece.written):
            choice.words[piece.written] = f"a passage contains {piece.written!r}"
        elif not may_leave_out_words:
            choice.words[piece.written] = f"{piece.written!r} would leave no result"
        else:
            choice.operators.append(piece)
    return choice


def _why_no_filter(piece: Piece, plain: str, memory: Memory) -> str | None:
    """Explain why a piece is not a filter; None if it is."""
    if not piece.fields:
        if piece.name in DATE_FILTERS:
            return f"{piece.written!r} is not a date"
        return f"no document has {piece.name!r} in its metadata"
    if not piece.has_minus:
        reason = memory.unmet(piece.fields)
        if reason is not None:
            return reason or f"no document matches {piece.written!r}"
    if has_token(plain) and memory.is_written(piece.written, beside=plain):
        return f"a passage contains {piece.written!r} and the other words"
    return None


def _at_the_edges(
    pieces: Sequence[Piece], text: str, operators: Sequence[Piece]
) -> Sequence[Piece]:
    """Each -word before or after all other words, operators not counted; [] if there are no other
    words.
    """
    left_out = [piece for piece in pieces if _is_word_left_out(piece)]
    rest = _blanked(text, [*operators, *left_out])
    if not any(map(has_token, PLAIN_WORD.findall(rest))):
        return []
    places = [match.start() for match in re.finditer(TOKEN, rest)]
    return [piece for piece in left_out if piece.end <= places[0] or piece.start > places[-1]]


def _is_word_left_out(piece: Piece) -> bool:
    return bool(piece.left_out) and not piece.left_out.startswith('"')


def _pieces(text: str, today: date | None, memory: Memory) -> list[Piece]:
    """The parts of a text that look like operators."""
    pieces = []
    for match in PIECE.finditer(text):
        name = match["name"] or ""
        fields: dict[str, Any] = {}
        if name:
            fields = _fields(name, match["value"].strip('"'), today, memory)
        left_out = match["left_out"] or ""
        if match["minus"]:
            if fields:
                fields = {"excluded": [fields]}
            else:
                left_out = match[0].removeprefix("-")
        is_address = "." in name and not fields  # example.com:8080
        if (name and not is_address) or has_token(fold(left_out)):
            pieces.append(Piece(*match.span(), match[0], name, fields, left_out))
    return pieces


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
        fields = piece.fields
        if piece.left_out:
            fields = {"without": [piece.left_out.strip('"')]}
        for name, value in fields.items():
            if isinstance(value, list):
                asked[name] = asked.get(name, []) + value
            elif isinstance(value, dict):
                values_by_key = asked.setdefault(name, {})
                for key, values in value.items():
                    values_by_key[key] = values_by_key.get(key, []) + values
            else:
                asked[name] = value
    return asked


def _fields(name: str, value: str, today: date | None, memory: Memory) -> dict[str, Any]:
    """The fields of `Filters` for one filter; {} for an invalid value, or a name that no metadata
    has.
    """
    if name == "tag":
        return {"tags": [value.lstrip("#")]}
    if name in ("in", "path"):
        return {"inside": value}
    if name in DATE_FILTERS:
        return _days(name, value, today)
    key = memory.key_of(name)
    return {"where": {key: [value]}} if key else {}


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
