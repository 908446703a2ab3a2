"""Words of order in a query, such as "latest" and "first": they ask for the newest or the oldest of
the passages that answer equally well. Pure.

The words are those of languages.json. A word is a word like others in quotes, joined to another
("first-run", "last_name"), before a comma or a unit of time ("last week", "first day"), as part of a
name ("The Last Supper"), in the phrases of `no_order`, such as "first name", and in long messages.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from .languages import by_language, has_spaces, numbered, occurrences, time_words
from .periods import Period

LONGEST_QUESTION = 160  # characters; a longer query is a message, which asks for no order
NEWEST, OLDEST = "newest", "oldest"  # also the keys in languages.json
_OPENING = "([{¿¡'’"  # may stand before a word, also as in l'ultimo
_CLOSING = ")]}?!.;"


class TextSpan(NamedTuple):
    """Characters [start:end] of a query."""

    start: int
    end: int


def order_in(text: str, periods: Sequence[Period]) -> tuple[str | None, list[TextSpan]]:
    """The order that a folded query asks for, NEWEST, OLDEST or None, and its words of order.

    A query with words of both kinds asks for neither.
    """
    if len(text) > LONGEST_QUESTION:
        return None, []
    found: dict[str, list[TextSpan]] = {}
    lower = text.lower()
    for kind, phrase, is_spaced in _phrases():
        if phrase in lower:
            spans = [TextSpan(*place) for place in occurrences(phrase, lower, is_spaced=is_spaced)]
            if is_spaced:
                spans = [span for span in spans if _is_plain_word(text, span)]
            found.setdefault(kind, []).extend(spans)
    if not found:
        return None, []
    taken: list[TextSpan | Period] = [*_quoted(text), *periods, *_phrases_without_order(lower)]
    asked = {kind: free for kind in (NEWEST, OLDEST) if (free := _free(found.get(kind, []), taken))}
    if len(asked) != 1:
        return None, []
    [(kind, spans)] = asked.items()
    return kind, spans


@cache
def _phrases() -> list[tuple[str, str, bool]]:
    """The words of order, each with its kind, and whether its language has spaces between words."""
    return [
        (kind, phrase, has_spaces(code))
        for kind in (NEWEST, OLDEST)
        for code, phrases in by_language(kind).items()
        for phrase in phrases
    ]


def _is_plain_word(text: str, span: TextSpan) -> bool:
    """Whether a phrase stands alone, is not of a name, and no unit of time follows it."""
    before, after = text[: span.start], text[span.end :]
    if before[-1:] not in _OPENING and not before[-1:].isspace():
        return False
    if after.lstrip(_CLOSING)[:1].strip():
        return False
    if text[span.start : span.end].istitle() and before.strip(_OPENING + " "):
        return False
    following = after.lower().split()[:2]
    if following and (following[0].isdecimal() or following[0] in numbered("numbers")):
        del following[0]
    word = following[0].strip(_CLOSING + ",") if following else ""
    return not (word in time_words() or word in numbered("months"))


def _phrases_without_order(text: str) -> Iterator[TextSpan]:
    for code, phrases in by_language("no_order").items():
        for phrase in phrases:
            if phrase in text:
                for place in occurrences(phrase, text, is_spaced=has_spaces(code)):
                    yield TextSpan(*place)


def _quoted(text: str) -> Iterator[TextSpan]:
    """The texts in double quotes, with them. A quotation mark without a partner is ignored."""
    marks = [at for at, character in enumerate(text) if character == '"']
    yield from (
        TextSpan(start, end + 1) for start, end in zip(marks[::2], marks[1::2], strict=False)
    )


def _free(spans: Iterable[TextSpan], taken: Sequence[TextSpan | Period]) -> list[TextSpan]:
    """The spans that overlap none of those that are taken, nor a longer one: "most recent"."""
    free: list[TextSpan] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not any(span.start < other.end and other.start < span.end for other in [*taken, *free]):
            free.append(span)
    return free
