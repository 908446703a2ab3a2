"""Finds the days and months that a text writes, in any of the usual forms, and the tokens of the
keyword index for them. Pure.

A day has one token, whatever its form: 2026-03-08, 08.03.2026, 2026年3月8日, 8 March 2026, March 8,
2026, 8 mars 2026 and so on, in the languages of languages.json. The number of a day is not a token
of its own: else a question about issue 14 would find the notes of every 14th.

A form that can be read in two ways is none: 03/04/2026. Dates with points are day, month, year.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import date
from functools import cache, lru_cache
from typing import NamedTuple

from .characters import pattern
from .languages import alternatives, by_language, numbered, words

YEAR_IN_DIGITS = r"(?:19|20)[0-9]{2}"
_ISO = (
    rf"({YEAR_IN_DIGITS})-([0-9]{{2}})-([0-9]{{2}})(?![0-9])(?<![0-9][./-].{{10}})(?<![0-9].{{10}})"
)
_NUMERIC = (
    rf"(?<![0-9])(?<![0-9][./-])(?:(?P<y>{YEAR_IN_DIGITS})"
    r"(?:(?P<s>[-_./])(?P<m>0[1-9]|1[0-2])(?:(?P=s)(?P<d>[0-3][0-9])(?![0-9]))?"
    r"|(?P<s2>[-/])(?P<m2>[1-9]|1[0-2])(?P=s2)(?P<d2>[0-3]?[0-9])(?![0-9])"
    r"|(?P<m3>0[1-9]|1[0-2])(?P<d3>[0-3][0-9])(?![0-9])"
    r"|[YEARS](?P<m4>[0-9]{1,2})[MONTHS](?:(?P<d4>[0-9]{1,2})[DAYS])?)"
    rf"|(?P<d5>[0-3]?[0-9])(?P<s5>[-./])\s?(?P<m5>[0-3]?[0-9])(?P=s5)\s?(?P<y5>{YEAR_IN_DIGITS})"
    r"|(?P<d6>[0-3][0-9])\.(?P<m6>0[1-9]|1[0-2])\.(?P<y6>[0-6][0-9])(?![.\w])"
    r")(?![0-9])"
)
DAY_FIRST, MONTH_FIRST = "d", "m"  # orders of the numbers in 03/04/2026
LEAP_YEAR = 2000  # of a day without a year, which may be 29 February
_LONGEST_NAME = 24  # characters of the name of a month with what joins it to a number
_SEPARATOR = "\uf82d"  # what replaces - in the identifiers of the keyword index


class WrittenDay(NamedTuple):
    """A day or a month at [start:end] of a text: `date` is YYYY-MM-DD or YYYY-MM, or --MM-DD without
    a year (ISO 8601:2000). `is_named`: with the name of the month.
    """

    start: int
    end: int
    date: str
    is_named: bool = False


@cache
def ordinal() -> str:
    """A pattern for the sign behind the number of a day, as in 8th; a point may end a sentence."""
    return f"(?:{alternatives(words('ordinals') - {'.'})})?"


@cache
def _patterns() -> dict[str, str]:
    """The patterns that have words and signs of languages: "numeric" and "day first" forms of a day, the
    "month before" a number and what is "after a day" such as March 8; and pieces of text between
    spaces that "may be a day": with a year beside a sign, two digits beside a point, or a month's
    name between hyphens.
    """
    years, months, days = _signs()
    of = rf"(?:(?:{alternatives(words('of'))})\s+)?"
    return {
        "numeric": _NUMERIC.replace("YEARS", years).replace("MONTHS", months).replace("DAYS", days),
        "day first": rf"(?<![\w.:/-])(?P<d>[0-3]?[0-9]){ordinal()}\.?(?:\s+{of}|-)"
        rf"(?P<name>[^\W\d_]{{3,}})\b\.?(?:,?(?:\s+{of}|-)(?P<y>{YEAR_IN_DIGITS})(?!\w))?",
        "month before": rf"(?<!\S)([^\W\d_]{{3,}})[.,]*\s+{of}\Z",
        "after a day": rf"{ordinal()}(?![\w:/-]|[.,][0-9])(?:,?\s+{of}(?P<y>{YEAR_IN_DIGITS})(?!\w))?",
        "may be a day": rf"{YEAR_IN_DIGITS}[-_./{years}]|[-./]{YEAR_IN_DIGITS}|[0-9]\.[01][0-9]\.[0-6]"
        r"|[0-9]-[^\W\d_]{3}",
    }


@cache
def _signs() -> list[str]:
    """The signs behind the numbers of a year, a month and a day, such as 年, 月 and 日."""
    return list(map("".join, zip(*by_language("date_signs").values(), strict=True)))


@cache
def _month_pieces() -> frozenset[str]:
    """The pieces of text that are the name of a month."""
    spelled = [form for name in numbered("months") for form in (name, name.title(), name.upper())]
    return frozenset(f"{name}{sign}" for name in spelled for sign in ("", ".", ","))


DIGITS = re.compile("[0-9]+")


@lru_cache(30_000)
def _may_be_day(piece: str) -> bool:
    """Whether a piece of text between spaces may be a day in digits."""
    if not DIGITS.search(piece):
        return False
    return pattern(_patterns()["may be a day"]).search(piece) is not None


def may_have_days(folded: str, pieces: Iterable[str], signed: Iterable[str]) -> bool:
    """Whether a folded text may write a day. It is also given in pieces; `signed` are those that have
    a sign. Takes a fraction of the time of the patterns, which most texts do not need.
    """
    return DIGITS.search(folded) is not None and (
        not _month_pieces().isdisjoint(pieces)
        or any(sign in folded for sign in _signs()[0])
        or any(map(_may_be_day, signed))
    )


def written_days(text: str, order: str = "") -> list[WrittenDay]:
    """The days and months in a text that is folded and in lower case, in order, without overlap.

    With the `order` DAY_FIRST or MONTH_FIRST, 03/04/2026 is a day too.
    """
    found: list[WrittenDay] = []
    end = 0
    for digits in DIGITS.finditer(text):
        if digits.start() < end:
            continue
        written = _in_digits(text, digits, order) or _day_first(text, digits)
        written = written or _month_first(text, digits, end)
        if written:
            end = written.end
            if written.date:
                found.append(written)
    return found


def _in_digits(text: str, digits: re.Match[str], order: str) -> WrittenDay | None:
    signs = ("-", "_", ".", "/", *_signs()[0])
    if not text.startswith(signs, digits.end()) and len(digits[0]) != len("20260308"):
        return None
    iso = pattern(_ISO).match(text, digits.start())
    if iso:
        day = existing(*iso.groups())
        return WrittenDay(*iso.span(), day) if day else None
    match = pattern(_patterns()["numeric"]).match(text, digits.start())
    day = _numeric(match, order) if match else None
    return WrittenDay(*match.span(), day) if match and day else None


def _day_first(text: str, digits: re.Match[str]) -> WrittenDay | None:
    """'8 March 2026', '8 March'; with the date "" for a day that does not exist."""
    if digits.end() - digits.start() > 2:
        return None
    match = pattern(_patterns()["day first"]).match(text, digits.start())
    number = match and numbered("months").get(match["name"])
    if not match or not number:
        return None
    day = existing(match["y"], str(number), digits[0])
    return WrittenDay(*match.span(), day or "", is_named=True)


def _month_first(text: str, digits: re.Match[str], least: int) -> WrittenDay | None:
    """'March 8, 2026', 'March 8', 'March 2026'; the name begins at `least` or later."""
    if not text[digits.start() - 1 : digits.start()].isspace():
        return None
    least = max(digits.start() - _LONGEST_NAME, least)
    name = pattern(_patterns()["month before"]).search(text, least, digits.start())
    number = name and numbered("months").get(name[1])
    match = pattern(_patterns()["after a day"]).match(text, digits.end())
    if not name or not number or not match:
        return None
    if pattern(YEAR_IN_DIGITS).fullmatch(digits[0]):
        day, end = existing(digits[0], str(number), None), digits.end()
    elif len(digits[0]) <= 2:
        day, end = existing(match["y"], str(number), digits[0]), match.end()
    else:
        return None
    return WrittenDay(name.start(), end, day, is_named=True) if day else None


def _numeric(match: re.Match[str], order: str) -> str | None:
    """The date of a match of the numeric pattern; None if there is no such day, or two without an
    `order`.
    """
    groups = {name: value for name, value in match.groupdict().items() if value}
    year = groups.get("y") or groups.get("y5") or f"20{groups.get('y6')}"
    month, day = (next((groups[name] for name in groups if name[0] == part), None) for part in "md")
    if month and day and "y5" in groups and groups["s5"] != "." and int(month) != int(day):
        is_either = int(month) <= 12 and int(day) <= 12
        if int(month) > 12 >= int(day) or (is_either and order == MONTH_FIRST):
            month, day = day, month
        elif is_either and not order:
            return None
    return existing(year, month or "0", day)


@lru_cache(4096)
def existing(year: str | None, month: str, day: str | None) -> str | None:
    """The date in ISO 8601; None if it does not exist."""
    try:
        found = date(int(year or LEAP_YEAR), int(month), int(day or 1)).isoformat()
    except ValueError:
        return None
    return f"{year or '-'}{found[4:] if day else found[4:7]}"


def shown_order(text: str) -> str | None:
    """The order of day and month that the dates of a text show: one such as 27/03/2019, or "" if they
    can be read in either way; None without such dates.
    """
    shown = None
    for match in pattern(_DAY_MONTH_YEAR).finditer(text):
        first, second = int(match[1]), int(match[3])
        if first > 12 >= second:
            return DAY_FIRST
        if second > 12 >= first:
            return MONTH_FIRST
        if first != second and match[2] != ".":
            shown = ""
    return shown


_DAY_MONTH_YEAR = rf"(?<![0-9./-])([0-3]?[0-9])([-./])([0-3]?[0-9])\2{YEAR_IN_DIGITS}(?![0-9])"


def token(day: str) -> str:
    """The token of a day, a month, or a day without a year: 2026-03-08, 2026-03, --03-08."""
    return day.replace("-", _SEPARATOR)


def date_of_token(text: str) -> str:
    """The date of a `token`; any other text as it is."""
    return text.replace(_SEPARATOR, "-")


def split_at_days(folded: str) -> Iterator[tuple[str, str]]:
    """Split a folded text into texts without the numbers of days, each with the tokens behind it: the
    year, and the `tokens_of` the day. Names of months and days of eight digits stay.

    'on 2026-03-08 we' -> ('on ', '2026 2026-03-08 --03-08'), (' we', ''), with private letters
    for the hyphens
    """
    at = 0
    lowered = folded.lower() if DIGITS.search(folded) else ""
    # Positions in another length would be others
    for start, end, day, is_named in written_days(lowered) if len(lowered) == len(folded) else ():
        text = folded[at:start]
        if is_named:
            text += re.sub(f"[0-9]+{ordinal()}", " ", folded[start:end])
        elif folded[start:end].isdecimal():
            text += folded[start:end]
        yield text, " ".join(tokens_of(day))
        at = end
    yield folded[at:], ""


@lru_cache(4096)
def tokens_of(day: str) -> list[str]:
    """The year of a date, the token of the day or month, and that of the day in any year. The token of
    a month begins those of its days.
    """
    if day.startswith("--"):
        return [token(day)]
    in_any_year = [f"-{day[4:]}"] if len(day) > len("2026-03") else []
    return list(map(token, [day[:4], day, *in_any_year]))
