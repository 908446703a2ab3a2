"""The parts of the calendar that a query names: "in October", "last summer", "Q3 2025", "week 45",
"after 2025", "at Christmas". Pure.

Such a name is often another word ("may", "spring", "fall", "march"): without a year it counts only in
a phrase such as "in October" or "last summer", or after a word such as "since".
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, timedelta
from functools import cache, partial
from typing import NamedTuple

from .characters import pattern
from .languages import (
    alternatives,
    by_language,
    occurrences,
    openers,
    phrase_before,
    phrases,
    relative_phrases,
    words,
)
from .written_days import YEAR_IN_DIGITS

_DAY_BEFORE = r"(?<![0-9])[0-9]{1,2}(?:st|nd|rd|th|[.º])?\s+\Z"
_THIRDS = {"early": (0, 1), "middle": (1, 2), "late": (2, 3)}  # of a month or a season
_LONGEST_PHRASE = 24  # characters of a phrase before or behind a name


class NamedPeriod(NamedTuple):
    """A part of the calendar, named at [start:end] of a text."""

    first: date
    last: date
    start: int
    end: int
    name: tuple[int, int]  # where the name alone is


class _Name(NamedTuple):
    """A name at [start:end] of a text: a month, a season, a week or a year. `days` are those of the
    part of the calendar in a year.
    """

    days: Callable[[int], tuple[date, date]]
    start: int
    end: int
    languages: frozenset[str] = frozenset()
    year: int | None = None
    place: tuple[int, int] = (0, 0)  # of the name alone


def seasons(text: str, today: date) -> Iterator[NamedPeriod]:
    """Yield the parts of the calendar that a folded text in lower case names."""
    previous: _Name | None = None
    for name in sorted(_names(text, today), key=lambda name: (name.start, -name.end)):
        if previous and name.start < previous.end:
            continue
        follows = previous and text[previous.end : name.start].strip() in phrases("and")
        is_pair = follows and previous and phrase_before(text[: previous.start], phrases("between"))
        if is_pair and previous:
            yield from _placed(previous._replace(year=previous.year or name.year), "on", today)
        kind, framed = _in_phrase(text, name)
        if kind or name.year or is_pair or phrase_before(text[: name.start], openers()):
            yield from _placed(framed, kind or "on", today)
        previous = name


def _placed(name: _Name, kind: str, today: date) -> Iterator[NamedPeriod]:
    """Yield the days of a name in its year, or in the year that a phrase of this `kind` means."""
    for year in [name.year] if name.year else _years(kind, today):
        with suppress(ValueError, OverflowError):
            first, last = name.days(year)
            is_meant = {"next": first > today, "last": last < today, "this": True}
            if name.year or is_meant.get(kind, first <= today):
                if kind in _THIRDS:
                    begin, end = _THIRDS[kind]
                    third = ((last - first).days + 1) / 3
                    last = first + timedelta(round(end * third) - 1)
                    first += timedelta(round(begin * third))
                yield NamedPeriod(first, last, name.start, name.end, name.place)
                return


def _years(kind: str, today: date) -> range:
    """The years in which a name without one may be, the likeliest first."""
    if kind == "next":
        return range(today.year, today.year + 2)
    return range(today.year, today.year - 1 if kind == "this" else today.year - 3, -1)


@cache
def _table() -> dict[tuple[str, str, str], frozenset[str]]:
    """The names of months, seasons, quarters and holidays, with their first and last days, and the
    languages that have them.
    """
    table: dict[tuple[str, str, str], frozenset[str]] = {}
    for code, months in by_language("months").items():
        named = [
            (f"{number:02}-01 {number:02}-31", forms.split())
            for number, forms in enumerate(months, 1)
        ]
        for days, written in [*named, *by_language("seasons").get(code, {}).items()]:
            for name in written:
                key = (name, *days.split())
                table[key] = table.get(key, frozenset()) | {code}
    return table


def _days_of(first: str, last: str, year: int) -> tuple[date, date]:
    """The days from MM-DD to MM-DD that begin in a year. A day after the last one of its month is that."""
    begin = date.fromisoformat(f"{year:04}-{first}")
    month, day = map(int, last.split("-"))
    of_month = date(year + (last < first), month, 1)
    return begin, end_of_month(of_month) if day >= 28 else of_month.replace(day=day)


def end_of_month(first: date) -> date:
    """The last day of the month that begins on this day."""
    return (first + timedelta(31)).replace(day=1) - timedelta(1)


def _week(number: int, year: int) -> tuple[date, date]:
    monday = date.fromisocalendar(year, number, 1)
    return monday, monday + timedelta(6)


def _year(year: int, _: int) -> tuple[date, date]:
    return date(year, 1, 1), date(year, 12, 31)


def _named(
    days: Callable[[int], tuple[date, date]], start: int, end: int, languages: frozenset[str]
) -> _Name:
    return _Name(days, start, end, languages, place=(start, end))


def _names(text: str, today: date) -> Iterator[_Name]:
    """Yield the names in a text, each with the year beside it."""
    for (name, first, last), languages in _table().items():
        for start, end in occurrences(name, text):
            if not pattern(_DAY_BEFORE).search(text[:start]):  # "31 February" is no day
                yield _with_year(
                    _named(partial(_days_of, first, last), start, end, languages), text, today
                )
    if not any(map(str.isdigit, text)):
        return
    for match in pattern(_week_pattern()).finditer(text):
        number = int(match["iso_week"] or match["week"])
        week = _named(partial(_week, number), *match.span(), frozenset(by_language("in_season")))
        if match["year"]:
            yield week._replace(year=int(match["year"]))
        else:
            yield _with_year(week, text, today)
    for match in pattern(rf"(?<![\w.,:/-]){YEAR_IN_DIGITS}(?![\w:/-]|[.,][0-9])").finditer(text):
        if int(match[0]) <= today.year + 1:
            yield _named(partial(_year, int(match[0])), *match.span(), frozenset())


@cache
def _week_pattern() -> str:
    """A pattern for 2026-W45 and 'week 45'."""
    named = alternatives(each.replace("{number}", "") for each in phrases("week_number"))
    number = "(?:0?[1-9]|[1-4][0-9]|5[0-3])"
    return (
        rf"(?<![\w-])(?:(?P<year>{YEAR_IN_DIGITS})-?w(?P<iso_week>{number})|(?:{named})(?P<week>{number}))"
        r"(?![\w-]|[.,:/][0-9])"
    )


@cache
def _year_beside() -> tuple[str, str]:
    """Patterns for the year before a name, and for what stands behind it: a year, in digits or in words
    such as "last year".
    """
    relative = alternatives(_relative_years())
    of = rf"(?:(?:{alternatives(words('of'))})\s+)?"
    article = rf"(?:[^\W\d_]{{1,3}}\s+)?(?={relative})"
    return (
        rf"(?<![\w.:/-])({YEAR_IN_DIGITS})[\s-]\Z",
        rf",?(?:\s+{of}|[\s/-])(?:(?P<year>{YEAR_IN_DIGITS})(?![\w:/-]|[.,][0-9])|{article}(?P<words>{relative})(?!\w))",
    )


@cache
def _relative_years() -> dict[str, int]:
    """Phrases such as "last year", with the years back."""
    return {phrase: back for _, phrase, unit, back in relative_phrases() if unit == "year"}


def _with_year(name: _Name, text: str, today: date) -> _Name:
    before, behind = map(pattern, _year_beside())
    match = behind.match(text, name.end)
    if match:
        year = int(match["year"] or today.year - _relative_years()[match["words"]])
        return name._replace(end=match.end(), year=year)
    match = before.search(text, max(name.start - len(" 2025 "), 0), name.start)
    if match:
        return name._replace(start=match.start(), year=int(match[1]))
    return name


@cache
def _templates() -> list[tuple[str, str, str, str]]:
    """What stands before and behind a name, with its meaning: "on", "last", "next" and so on; each after
    its language.
    """
    return [
        (code, *template.split("{season}"), kind)
        for code, by_kind in by_language("in_season").items()
        for kind, templates in by_kind.items()
        for template in templates
    ]


def _in_phrase(text: str, name: _Name) -> tuple[str, _Name]:
    """The meaning of the longest phrase around a name, and the name with the phrase; "" without one.

    Years, which no language has, take no phrase: "in 2024" is also a number.
    """
    found, framed = "", name
    head = text[max(name.start - _LONGEST_PHRASE, 0) : name.start]
    tail = text[name.end : name.end + _LONGEST_PHRASE]
    for code, before, behind, kind in _templates():
        if code not in name.languages or not (head.endswith(before) and tail.startswith(behind)):
            continue
        start, end = name.start - len(before), name.end + len(behind)
        is_whole = not (
            (before and text[start - 1 : start].isalnum())
            or (behind and text[end : end + 1].isalnum())
        )
        if is_whole and end - start > framed.end - framed.start:
            found, framed = kind, name._replace(start=start, end=end)
    # "in the first quarter of the game" is of something else
    behind_name = text[framed.end :].split(None, 1)
    if found and name.year is None and behind_name and behind_name[0] in words("of"):
        return "", name
    return found, framed
