"""Which parts of a query are operators, and which are words. Pure.

A word that is taken for an operator loses the notes that have it, as in `kubectl get pods -owide`. So a
part of a query is an operator only where that is clear; `choose` alone decides it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple, Protocol, TypedDict

from .analyzer import TOKEN
from .characters import QUOTES, fold
from .dates import first_day

# What stands in quotes, also those of code, is no operator. Two letters behind a - are an option of a
# command, and "//" is in an address.
PIECE = re.compile(
    r"(?<!\S)(?P<minus>-?)(?P<name>[^\W\d_][\w.-]*):(?!//)(?P<value>\"[^\"]+\"|[^\s\"]+)(?!\S)"
    r"|(?<!\S)-(?P<left_out>\"[^\"]+\"|[^\W\d_][^\s\"]{2,})(?!\S)"
    r"|\"[^\"]*\"|`[^`]*`"  # matches so that nothing inside of it does
)
PLAIN_WORD = re.compile(r"(?<!\S)[^\s-]\S*")
OF_DAYS = ("date", "before", "after", "modified")
MOST_MISTAKEN = 20  # parts that turn out to be words; a query with more of them is a pasted text


class Operators(TypedDict):
    """How the parts of a query were read that have the form of operators, each as it is written."""

    filters: list[str]  # they choose documents
    without: list[str]  # they leave out documents or passages
    words: dict[str, str]  # they are searched as words, and why


class Memory(Protocol):
    """What the choice between operators and words depends on."""

    def key_of(self, name: str) -> str | None:
        """Return the metadata key that is written so, in any case; None if no document has it."""

    def unmet(self, asked: Mapping[str, Any]) -> str | None:
        """Explain why no document fulfils these fields of `Filters`; None if one does. "" if there
        is no more to say.
        """

    def is_written(self, literal: str, beside: str = "") -> bool:
        """Return whether a passage has this text literally, and all words that stand beside it."""


class UnknownMemory:
    """A memory without metadata in which every filter is met, for a query that is only parsed."""

    def key_of(self, name: str) -> str | None:
        return None

    def unmet(self, asked: Mapping[str, Any]) -> str | None:
        return None

    def is_written(self, literal: str, beside: str = "") -> bool:
        return False


class Piece(NamedTuple):
    """A part of a query that has the form of an operator."""

    start: int
    end: int
    written: str
    name: str  # "tag" of tag:ops; "" of -word and -"a phrase"
    fields: Mapping[str, Any]  # of `Filters`; none for an unknown name or a wrong value
    left_out: str  # the word or phrase behind the -, unless this is a filter

    @property
    def has_minus(self) -> bool:
        return self.written.startswith("-")


class Choice(NamedTuple):
    """The pieces that are operators, and why others are words."""

    operators: list[Piece]
    words: dict[str, str]


class Reading(NamedTuple):
    """A query: the text of its words, and what its operators ask for."""

    text: str
    asked: Mapping[str, Any]  # fields of `Filters`, `without` as texts
    operators: Operators
    leaves_out_words: bool  # some -word is an operator


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
    return Reading(words, _asked(chosen), operators, leaves_out_words)


def choose(
    pieces: Sequence[Piece], text: str, memory: Memory, *, may_leave_out_words: bool = True
) -> Choice:
    """Choose the operators among the pieces of a query.

    - A filter, unless no document fulfils it, or a passage has it literally beside the other words,
      as a command in a note.
    - -"a phrase", and a filter with a minus under the same condition.
    - -word before or behind all other words, if no passage has it literally.

    Without `may_leave_out_words`, no -word is one: a search found nothing without it.
    """
    choice = Choice([piece for piece in pieces if piece.left_out.startswith('"')], {})
    plain = _blanked(text, pieces)
    for piece in pieces:
        if piece.left_out or len(choice.words) >= MOST_MISTAKEN:
            continue
        if not piece.fields and memory.is_written(piece.written):
            continue  # nobody meant a filter
        reason = _why_no_filter(piece, plain, memory)
        if reason is None:
            choice.operators.append(piece)
        else:
            choice.words[piece.written] = reason
    for piece in _at_the_edges(pieces, text, choice.operators):
        if memory.is_written(piece.written):
            choice.words[piece.written] = f"a passage has {piece.written!r}"
        elif not may_leave_out_words:
            choice.words[piece.written] = f"nothing is left with {piece.written!r}"
        else:
            choice.operators.append(piece)
    return choice


def _why_no_filter(piece: Piece, plain: str, memory: Memory) -> str | None:
    """Explain why a piece is not a filter; None if it is one."""
    if not piece.fields:
        if piece.name in OF_DAYS:
            return f"{piece.written!r} names no day"
        return f"no document has {piece.name!r} in its metadata"
    if not piece.has_minus:
        reason = memory.unmet(piece.fields)
        if reason is not None:
            return reason or f"no document fits {piece.written!r}"
    if TOKEN.search(plain) and memory.is_written(piece.written, beside=plain):
        return f"a passage has {piece.written!r} and the other words"
    return None


def _at_the_edges(
    pieces: Sequence[Piece], text: str, operators: Sequence[Piece]
) -> Sequence[Piece]:
    """Return each -word that stands before or behind all other words, operators not counted; none
    if there are no other words.
    """
    left_out = [piece for piece in pieces if _is_word_left_out(piece)]
    rest = _blanked(text, [*operators, *left_out])
    if not any(TOKEN.search(word) for word in PLAIN_WORD.findall(rest)):
        return []
    places = [match.start() for match in TOKEN.finditer(rest)]
    return [piece for piece in left_out if piece.end <= places[0] or piece.start > places[-1]]


def _is_word_left_out(piece: Piece) -> bool:
    return bool(piece.left_out) and not piece.left_out.startswith('"')


def _pieces(text: str, today: date | None, memory: Memory) -> list[Piece]:
    """Return the parts of a text that have the form of operators."""
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
        if (name and not is_address) or TOKEN.search(fold(left_out)):
            pieces.append(Piece(*match.span(), match[0], name, fields, left_out))
    return pieces


def _blanked(text: str, pieces: Iterable[Piece]) -> str:
    """Return the text with spaces in place of these pieces."""
    for piece in pieces:
        text = text[: piece.start] + " " * (piece.end - piece.start) + text[piece.end :]
    return text


def _asked(pieces: Iterable[Piece]) -> dict[str, Any]:
    """Return the fields of `Filters` that operators give: of lists and of keys, all count; of others,
    the last.
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
                of_keys = asked.setdefault(name, {})
                for key, values in value.items():
                    of_keys[key] = of_keys.get(key, []) + values
            else:
                asked[name] = value
    return asked


def _fields(name: str, value: str, today: date | None, memory: Memory) -> dict[str, Any]:
    """Return what a filter asks for as fields of `Filters`; nothing for a value that it cannot have,
    and for a name that no metadata has.
    """
    if name == "tag":
        return {"tags": [value.lstrip("#")]}
    if name in ("in", "path"):
        return {"inside": value}
    if name in OF_DAYS:
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
