"""The days in a query or a passage, such as "2023-09-12", "12 September", "September 2023", "last
week", "vor drei Tagen" or "since Friday", and the days of a filter. Pure.

The words are those of languages.json, in any language; days with a number are read by
written_days.py.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import cache
from typing import NamedTuple

from .characters import pattern
from .languages import (
    OPENERS,
    alternatives,
    by_language,
    folded,
    has_spaces,
    is_in,
    numbered,
    occurrences,
    openers,
    phrase_before,
    phrases,
    relative_phrases,
    time_words,
    words,
)
from .seasons import end_of_month, seasons
from .written_days import DIGITS, YEAR_IN_DIGITS, WrittenDay, ordinal, token, written_days

MOST = 3  # periods that count in a query
EARLIEST = "0001-01-01"
_OPENING = str.maketrans(dict.fromkeys("([{<>*'\"", " "))  # signs before the name of a month
DAY, WEEK, MONTH, YEAR = "day", "week", "month", "year"
WEEKEND, QUARTER = "weekend", "quarter"
LATELY = 30  # days
_YEAR_OR_MONTH = "[0-9]{4}(-[0-9]{2})?"
_AGE = "([0-9]{1,5})([dwmy])"
_LONGEST_IN_MONTHS = 100  # days of a period whose tokens are those of its months
_DAYS = {"d": 1.0, "w": 7.0, "m": 365.25 / 12, "y": 365.25}
_UNREAD_IN_DIGITS = (
    rf"(?<![\w./-])(?:[0-9]{{1,2}}([-/.])[0-9]{{1,2}}\1{YEAR_IN_DIGITS}|{YEAR_IN_DIGITS}([-/])[0-9]{{1,2}}\2[0-9]{{1,2}})"
    r"(?![\w/-]|\.[0-9])"
)
_BETWEEN = 1  # words between a word such as "last" and a unit


class Period(NamedTuple):
    """A span of days from `first` to `last`, ISO 8601, written at [start:end] of the query.

    `is_named`: by words such as "today". `is_open`: widened by words such as "since". `is_yearly`:
    without a year. `is_vague`: a number of months or years ago, or "lately". `name`: the place of a name
    that texts may write too, such as "October" or "week 45", and that stays a word of the query.
    """

    first: str
    last: str
    start: int
    end: int
    is_named: bool = False
    is_open: bool = False
    is_yearly: bool = False
    is_vague: bool = False
    name: tuple[int, int] = (0, 0)

    def meets(self, other: "Period") -> bool:
        """Whether the two periods have a day in common, in any year if this one has no year."""
        if self.is_yearly and self.first[5:] == other.first[5:]:
            return True
        return self.first <= other.last and other.first <= self.last

    def has(self, day: str) -> bool:
        """Whether a document of this day or month may be in the period: '2026-01' may be any day of
        January.
        """
        return self.first[: len(day)] <= day <= self.last[: len(day)]

    @property
    def days(self) -> int:
        return (date.fromisoformat(self.last) - date.fromisoformat(self.first)).days + 1

    @property
    def is_day(self) -> bool:
        """Whether it is a single day."""
        return self.first == self.last and not self.is_open

    @property
    def is_of_months(self) -> bool:
        """Whether its tokens are those of months, which begin those of the months' days."""
        return 7 < self.days <= _LONGEST_IN_MONTHS and not self.is_open

    def tokens(self) -> list[str]:
        """The tokens of its year, its month or each of its days in the keyword index, in texts and
        paths (text/written_days.py). A day without a year has the token of that day in any year.
        """
        if self.is_open and self.days > 7:
            return []  # too many
        if self.days > _LONGEST_IN_MONTHS:
            return [self.first[:4]]
        if self.days > 7:
            begin, end = (12 * int(day[:4]) + int(day[5:7]) - 1 for day in (self.first, self.last))
            months = range(begin, end + 1)
            return [token(f"{month // 12:04}-{month % 12 + 1:02}") for month in months]
        if self.is_yearly:
            return [token(f"-{self.first[4:]}")]
        first = date.fromisoformat(self.first)
        return [token((first + timedelta(number)).isoformat()) for number in range(self.days)]


def periods(text: str, today: date) -> list[Period]:
    """The first MOST periods in a folded query in lower case, in order.

    Words such as "yesterday" are counted from `today`; a weekday is the last one unless "next"
    precedes it, and a date without a year is always the last one.
    """
    return _widened(text, _days_in(text, today, is_plan=False), today)[:MOST]


def mentions(text: str, day: date) -> list[Period]:
    """All days that a folded passage in lower case, written on `day`, mentions.

    "next Friday" is counted from that day, and a date without a year is the nearest.
    """
    return _days_in(text, day, is_plan=True)


def first_day(text: str, today: date) -> str:
    """The first day of a period.

    '2026' -> '2026-01-01', '2026-02' -> '2026-02-01', '7d' -> the day a week ago;
    'yesterday' and 'last week' -> as in a query

    Raises ValueError if the text is not a date.
    """
    return _day(text, today, is_first=True)


def last_day(text: str, today: date) -> str:
    """The last day of a period: '2026' -> '2026-12-31', '2026-01' -> '2026-01-31'.

    Every month ends with '-31', which is enough for comparisons. Raises like `first_day`.
    """
    return _day(text, today, is_first=False)


def first_second(text: str, today: date) -> float:
    """The beginning of a period in local time, in seconds since 1970. Raises like `first_day`."""
    day = date.fromisoformat(first_day(text, today))
    with suppress(OverflowError, ValueError):  # before the epoch
        return datetime(day.year, day.month, day.day).timestamp()
    return 0.0


def _day(text: str, today: date, *, is_first: bool) -> str:
    age = pattern(_AGE).fullmatch(text)
    if age:
        number, unit = age.groups()
        days = round(int(number) * _DAYS[unit])
        return (today - timedelta(min(days, today.toordinal() - 1))).isoformat()
    with suppress(ValueError):
        if pattern(_YEAR_OR_MONTH).fullmatch(text):
            date.fromisoformat(f"{text}-01-01"[:10])
            rest_of_year = "-01-01" if is_first else "-12-31"
            return text + rest_of_year[len(text) - len("2026") :]
        return date.fromisoformat(text).isoformat()
    written = folded(text).strip()
    found = _days_in(written, today, is_plan=False)
    if len(found) != 1 or (found[0].start, found[0].end) != (0, len(written)):
        raise ValueError(
            f"{text!r} is not a date: write 2026-01-05, 2026-01, 2026, an age such as 7d, 3w, 6m, 1y, "
            "or words such as yesterday"
        )
    return found[0].first if is_first else found[0].last


def _days_in(text: str, today: date, *, is_plan: bool) -> list[Period]:
    """The periods in a text, in order, without overlap. In a plan they may lie ahead."""
    text = text.replace("\n", " ")  # a phrase may go on in the next line
    # A passage that says "lately" or "in summer" is about no day in particular
    candidates = [] if is_plan else [*_no_times(text), *_spans(text, today), *_seasons(text, today)]
    candidates += [
        *_calendar_dates(text, today, is_plan=is_plan),
        *_relative_dates(text, today, is_plan=is_plan),
        *_dates_ago(text, today),
        *_weekdays(text, today, is_plan=is_plan),
    ]
    candidates.sort(key=lambda period: (period.start, -period.end))
    chosen: list[Period] = []
    for period in candidates:
        if chosen and period.start < chosen[-1].end:
            continue
        if chosen and _names_the_same(text, chosen[-1], period):
            chosen.pop()
        chosen.append(period)
    return [period for period in chosen if period.first]


def _no_times(text: str) -> Iterator[Period]:
    """Yield phrases such as "in spring boot", whose words name no time, as periods without days."""
    for phrase in phrases("no_times"):
        for start, end in occurrences(phrase, text):
            yield Period("", "", start, end)


def _names_the_same(text: str, first: Period, second: Period) -> bool:
    """Whether a weekday belongs to the date behind it: "on Thursday, 24 December 2026"."""
    weekday, between = text[first.start : first.end], text[first.end : second.start]
    return not between.strip(" ,") and not any(map(str.isdigit, weekday))


def _widened(text: str, found: Sequence[Period], today: date) -> list[Period]:
    """Widen periods by the words before and between them."""
    opened: list[Period] = []
    for period in found:
        if opened and phrase_before(text[: opened[-1].start], phrases("between")):
            between = text[opened[-1].end : period.start]
            if between.strip() in phrases("and") and opened[-1].first <= period.last:
                opened[-1] = opened[-1]._replace(last=period.last, end=period.end, is_yearly=False)
                continue
        before = text[: period.start]
        opener = phrase_before(before, openers())
        start = len(before.rstrip()) - len(opener)
        opened.append(_opened(period, openers()[opener], start, today) if opener else period)
    return opened


def _opened(period: Period, meaning: str | int, start: int, today: date) -> Period:
    """The days that are meant by a period behind an opener, which begins at `start`."""
    if isinstance(meaning, int):
        edge = period.first if meaning < 0 else period.last
        first, last = sorted((_shifted(edge, meaning), _shifted(edge, 1 if meaning > 0 else -1)))
        period = period._replace(start=start, is_yearly=False, name=(0, 0))
        return period._replace(first=first, last=last)
    first, last = period.first, period.last
    if meaning == "after":
        first = _shifted(last, 1)
    if meaning == "before":
        last = _shifted(first, -1)
    if meaning in ("since", "after"):
        last = max(today.isoformat(), first, last)
    else:
        first = EARLIEST
    return period._replace(first=first, last=last, is_open=True, is_yearly=False, name=(0, 0))


def _shifted(day: str, days: int) -> str:
    try:
        return (date.fromisoformat(day) + timedelta(days)).isoformat()
    except OverflowError:
        return day


@cache
def _ranges() -> tuple[str, str, str]:
    """Patterns for the days of a range besides the one that is written with its month: a hyphen with the
    number before it, '3 to ' in '3 to 5 May', and '–5' in 'May 3–5'.
    """
    number = rf"(?<![\w-])([0-9]{{1,2}}){ordinal()}\.?"
    return (
        rf"({number})-(?=[0-9]{{1,2}}{ordinal()}\.?(?![\w-]))",
        rf"{number}\s*(?:–|{alternatives(phrases('and'))})\s*\Z",
        r"–([0-9]{1,2})(?!\w)",
    )


def _calendar_dates(text: str, today: date, *, is_plan: bool) -> Iterator[Period]:
    if not DIGITS.search(text):
        return
    hyphen, before, after = map(pattern, _ranges())
    text = hyphen.sub(r"\1–", text.translate(_OPENING))  # a hyphen may be a part of a date
    end = 0
    for day in written_days(text):
        period = _written(day, today, is_plan=is_plan)
        if period and period.is_day and day.is_named:
            is_day_first = text[day.start].isdecimal()
            first = before.search(text, end, day.start) if is_day_first else None
            period = _with_range(period, first, after.match(text, day.end))
        if period:
            yield period
        end = day.end


def _with_range(
    period: Period, before: re.Match[str] | None, after: re.Match[str] | None
) -> Period:
    """Widen a day to the first and the last day of a range in its month, if these days exist."""
    first = f"{period.first[:8]}{before[1]:0>2}" if before else period.first
    last = f"{period.last[:8]}{after[1]:0>2}" if after else period.last
    return period._replace(
        first=min(first, period.first) if _exists(first) else period.first,
        last=max(last, period.last) if _exists(last) else period.last,
        start=before.start() if before else period.start,
        end=after.end() if after else period.end,
        is_yearly=period.is_yearly and not (before or after),
    )


def _exists(day: str) -> bool:
    with suppress(ValueError):
        return bool(date.fromisoformat(day))
    return False


def _written(written: WrittenDay, today: date, *, is_plan: bool) -> Period | None:
    """The period of a day or a month.

    A day without a year is the last one that was not ahead; in a plan, the nearest. None if there is
    no such day.
    """
    start, end, day, _ = written
    if not day.startswith("--"):
        first = date.fromisoformat(f"{day}-01"[:10])
        last = first if len(day) == len("2026-03-08") else end_of_month(first)
        name = (start, end) if first != last else (0, 0)
        return Period(first.isoformat(), last.isoformat(), start, end, name=name)
    years = range(today.year - 7, today.year + 2)  # not each has a 29 February
    existing = [f"{year:04}{day[1:]}" for year in years if _exists(f"{year:04}{day[1:]}")]
    if is_plan:
        chosen = min(existing, key=lambda day: abs(date.fromisoformat(day) - today), default="")
    else:
        chosen = max((day for day in existing if day <= today.isoformat()), default="")
    return Period(chosen, chosen, start, end, is_yearly=True) if chosen else None


def _relative_dates(text: str, today: date, *, is_plan: bool) -> Iterator[Period]:
    for code, phrase, unit, back in relative_phrases():
        if phrase not in text or (phrase in phrases("only_within") and not is_in(code, text)):
            continue
        if is_plan and unit == WEEKEND and back <= 0:
            continue  # it may lie ahead or behind
        for start, end in occurrences(phrase, text, is_spaced=has_spaces(code)):
            yield from _units_back(unit, back, today, start, end, is_named=True)


@cache
def _ages(kind: str) -> list[tuple[str, str, list[str]]]:
    """Templates such as "{number} {unit} ago", each with its language and the texts in it."""
    return [
        (code, template, template.replace("{unit}", "{number}").split("{number}"))
        for code, templates in by_language(kind).items()
        for template in templates
    ]


@cache
def _numbers(code: str) -> dict[str, int]:
    """The words of a language for numbers, also for vague ones such as "a few"."""
    numbers = enumerate(by_language("numbers")[code], 1)
    exact = {word: number for number, forms in numbers for word in forms.split()}
    few = by_language("few").get(code, {}).items()
    return exact | {phrase: int(number) for number, written in few for phrase in written}


@cache
def _units(code: str) -> dict[str, str]:
    """The words of a language for units of time -> the units."""
    units = by_language("units")[code]
    return {word: unit for unit in units for word in units[unit].split()}


@cache
def _age_pattern(code: str, template: str) -> str:
    number = alternatives(_numbers(code))
    written = re.escape(template)
    written = written.replace(r"\{number\}", rf"(?P<number>[0-9]{{1,3}}|{number})")
    written = written.replace(r"\{unit\}", f"(?P<unit>{alternatives(_units(code))})")
    return rf"(?<!\w){written}(?!\w)" if has_spaces(code) else written


def _counted(kind: str, text: str) -> Iterator[tuple[int, str, int, int]]:
    """Yield the number, the unit, the start and the end of each phrase of this kind, such as "three
    weeks ago".
    """
    for code, template, parts in _ages(kind):
        if not all(part in text for part in parts):
            continue  # compiling the pattern takes longer than a keyword search
        for match in pattern(_age_pattern(code, template)).finditer(text):
            written = match["number"] if "{number}" in template else "1"
            number = _numbers(code).get(written) or int(written)
            yield number, _units(code)[match["unit"]], *match.span()


def _dates_ago(text: str, today: date) -> Iterator[Period]:
    """Yield the periods of "three weeks ago": that day, or all of that week, month or year."""
    for back, unit, start, end in _counted("ago", text):
        is_vague = unit in (MONTH, YEAR)
        yield from _units_back(unit, back, today, start, end, is_vague=is_vague)


def _spans(text: str, today: date) -> Iterator[Period]:
    """Yield the periods that end today: "the last 5 days", "lately"."""
    for number, unit, start, end in _counted("span", text):
        days = min(round(number * _DAYS[unit[0]]), today.toordinal() - 1)
        first = (today - timedelta(days)).isoformat()
        yield Period(first, today.isoformat(), start, end, is_named=True)
    first = _shifted(today.isoformat(), -LATELY)
    for phrase in phrases("lately"):
        for start, end in occurrences(phrase, text):
            behind = pattern(r"\s+(\w+)").match(text, end)
            if not behind or behind[1] in words("function_words"):  # not "recently used files"
                yield Period(first, today.isoformat(), start, end, is_named=True, is_vague=True)


def _seasons(text: str, today: date) -> Iterator[Period]:
    """Yield the periods of "in October", "last summer", "Q3 2025", "week 45" and, after a word such as
    "before", 2024.
    """
    for first, last, start, end, name in seasons(text, today):
        yield Period(first.isoformat(), last.isoformat(), start, end, name=name)


@cache
def _phrases_of_weekday(name: str) -> list[tuple[str, int, str]]:
    """The phrases for a weekday, such as "next friday" or "since friday", each with the
    characters at its beginning that do not belong to the day, and "on", "last" or "next".
    """
    with_day = [
        (template.format(day=name), 0, kind)
        for by_kind in by_language("weekday").values()
        for kind, templates in by_kind.items()
        for template in templates
    ]
    opened = [
        (f"{opener} {name}", len(f"{opener} "), "on")
        for kind in OPENERS
        for opener in phrases(kind)
    ]
    return with_day + opened


def _weekdays(text: str, today: date, *, is_plan: bool) -> Iterator[Period]:
    """Yield the days of "last Friday", "next Friday" and "on Friday"; in a plan, the latter lies
    ahead.
    """
    for name, number in numbered("weekdays").items():
        if name not in text:
            continue
        ahead = (number - 1 - today.weekday()) % 7 or 7
        for phrase, offset, kind in _phrases_of_weekday(name):
            is_ahead = kind == "next" or (is_plan and kind != "last")
            for start, end in occurrences(phrase, text):
                day = _shifted(today.isoformat(), ahead if is_ahead else ahead - 7 or -7)
                yield Period(day, day, start + offset, end)


def _units_back(
    unit: str,
    back: int,
    today: date,
    start: int,
    end: int,
    *,
    is_named: bool = False,
    is_vague: bool = False,
) -> Iterator[Period]:
    """Yield the day, week, month or year that was so many units ago, unless it is not in the calendar."""
    with suppress(ValueError, OverflowError):
        first, last = _days(unit, back, today)
        yield Period(
            first.isoformat(), last.isoformat(), start, end, is_named=is_named, is_vague=is_vague
        )


def _days(unit: str, back: int, today: date) -> tuple[date, date]:
    if unit == DAY:
        day = today - timedelta(back)
        return day, day
    if unit == WEEK:
        monday = today - timedelta(today.weekday() + 7 * back)
        return monday, monday + timedelta(6)
    if unit == YEAR:
        return date(today.year - back, 1, 1), date(today.year - back, 12, 31)
    if unit == WEEKEND:
        # "this" one has begun; "last" is the one before this week
        begun = today - timedelta((today.weekday() - 5) % 7)
        in_week = today + timedelta(5 - today.weekday())
        saturday = begun if back == 0 else in_week - timedelta(7 * back)
        return saturday, saturday + timedelta(1)
    length = 3 if unit == QUARTER else 1
    months = 12 * today.year + length * ((today.month - 1) // length - back)
    first = date(months // 12, months % 12 + 1, 1)
    return first, end_of_month(first + timedelta(31 * (length - 1)))


def unread_time(text: str, found: Iterable[Period]) -> str | None:
    """The first text in a folded query in lower case that looks like a time and is not read as one,
    outside the periods that were found: "03/04/2026", "31 February 2026", "the last ten Fridays".
    """
    read = [(period.start, period.end) for period in found]
    for start, end in sorted([*_unread_in_digits(text), *_unread_in_words(text)]):
        if not any(first < end and start < last for first, last in read):
            return text[start:end]
    return None


def _unread_in_digits(text: str) -> Iterator[tuple[int, int]]:
    for match in pattern(_UNREAD_IN_DIGITS).finditer(text):
        yield match.span()
    for match in pattern(
        rf"(?<!\S)([0-9]{{1,2}})\.?\s+([^\W\d_]{{3,}})\s+{YEAR_IN_DIGITS}(?!\w)"
    ).finditer(text):
        if match[2] in numbered("months"):
            yield match.span()


def _unread_in_words(text: str) -> Iterator[tuple[int, int]]:
    """Yield "last", "ago" and their like with a day, week, month or year near them."""
    written = list(re.finditer(r"\w+", text))
    for number, word in enumerate(written):
        if word[0] not in phrases("order"):
            continue
        for near in written[max(number - 1 - _BETWEEN, 0) : number + 2 + _BETWEEN]:
            start, end = min(word.start(), near.start()), max(word.end(), near.end())
            is_unit = near[0] in time_words() and near[0] not in words("function_words")
            is_weekday = near[0].removesuffix("s") in numbered("weekdays")
            if (is_unit or is_weekday) and not re.search(r"[^\w\s]", text[start:end]):
                yield start, end
                break
