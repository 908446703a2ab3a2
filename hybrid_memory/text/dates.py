"""Dates in texts: the date of a document, from its path, its metadata or its title; the days of a
filter; and those in a query, such as "2023-09-12", "12.9.2023", "12 September", "September 2023",
"last week" or "gestern". Pure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from ..config import DEFAULTS
from .characters import fold
from .written_days import DIGITS, MONTHS, names_month, token, written_days

# Year, month and perhaps the day. Whether the day exists is checked afterwards. Compiled only when
# needed.
IN_PATH = r"(?<![0-9])((?:19|20)[0-9]{2})[-_./](0[1-9]|1[0-2])(?:[-_./]([0-9]{2}))?(?![0-9])"
DATE_KEYS = tuple(DEFAULTS["date_keys"])
_YEAR_OR_MONTH = "[0-9]{4}(-[0-9]{2})?"
_AGE = "([0-9]{1,5})([dwmy])"
_DAYS = {"d": 1.0, "w": 7.0, "m": 365.25 / 12, "y": 365.25}


def document_date(
    doc_id: str,
    metadata: Mapping[str, Any],
    titles: Sequence[str] = (),
    keys: Sequence[str] = DATE_KEYS,
    text: str = "",
) -> str | None:
    """The document's date in ISO 8601: a day, or only a month or a year.

    'memory/2026-01-05-standup.md' -> '2026-01-05', 'notes/2026/01/x.md' -> '2026-01'

    If the path has several dates, the last one with a day counts, else the last month. If it has
    none, the first of the metadata `keys` with a date counts, then the titles, then a name such as
    '5. Januar 2026.md', then a line such as 'Date: 2026-01-05' at the top of the `text`. A day that
    does not exist, such as 2026-02-30, is not a date, nor is one that can be read in two ways.
    """
    for _, day in _dates(doc_id, metadata, titles, keys, text):
        return day
    return None


def origin_of_date(
    day: str,
    doc_id: str,
    metadata: Mapping[str, Any],
    titles: Sequence[str] = (),
    keys: Sequence[str] = DATE_KEYS,
) -> str:
    """The origin of a document's date: "path", a key of its metadata, "title", else "text"."""
    for origin, candidate in _dates(doc_id, metadata, titles, keys):
        if candidate == day:
            return origin
    return "text"


def _dates(
    doc_id: str,
    metadata: Mapping[str, Any],
    titles: Sequence[str],
    keys: Sequence[str],
    text: str = "",
) -> Iterator[tuple[str, str]]:
    """Yield the possible dates of a document, each after its origin, best first."""
    name = doc_id.rpartition("/")[2]
    in_path = [day for match in re.finditer(IN_PATH, doc_id) if (day := iso(match))]
    of_path = max(reversed(in_path), key=len, default="")
    if len(of_path) < len("2026-01-05"):
        of_path = _in_name(name, of_path) or of_path
    if of_path:
        yield "path", of_path
    written = {_plain_key(key): key for key in metadata}
    for known in keys:
        key = written.get(_plain_key(known))
        day = None if key is None else _of_value(str(metadata[key]))
        if key is not None and day:
            yield key, day
    for title in titles:
        day = next(iter(_with_year(title)), None)
        if day:
            yield "title", day
    for day in _with_year(name):
        yield "path", day
    for line in _date_lines(text):
        day = _of_value(line)
        if day:
            yield "text", day


def _plain_key(key: str) -> str:
    """Normalize a key for comparison: 'Created-At', 'created at' -> 'created_at'."""
    return re.sub("[-_ ]+", "_", key.strip().lower())


def _with_year(text: str) -> Iterator[str]:
    """The days and months in a text that have a year."""
    if re.search("[0-9]{2}", text):
        for written in written_days(fold(text).lower()):
            if not written.date.startswith("--"):
                yield written.date


# A day without separators, with a time of day or without: 20260314, 202603141030, 20260314T103000
_COMPACT = (
    r"(?<![0-9])((?:19|20)[0-9]{2})(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])"
    r"(?:[T_-]?(?:[01][0-9]|2[0-3])[0-5][0-9](?:[0-5][0-9])?)?(?![0-9])"
)
_ISO_WEEK = r"(?<![0-9])((?:19|20)[0-9]{2})-?[Ww](0[1-9]|[1-4][0-9]|5[0-3])(?!\w)"


def _in_name(name: str, month: str) -> str | None:
    """The day in a file name without separators, or of an ISO week; or with a `month` from the path,
    that of a name such as 'april-16'.
    """
    match = re.search(_COMPACT, name)
    if match:
        return iso(match)
    week = re.search(_ISO_WEEK, name)
    if week:
        return _monday(week)
    for written in written_days(fold(name).lower().replace("-", " ").replace("_", " ")):
        if month and written.date.startswith(f"-{month[4:]}-"):
            return f"{month}{written.date[len('--04') :]}"
    return None


def _monday(week: re.Match[str]) -> str | None:
    try:
        return date.fromisocalendar(int(week[1]), int(week[2]), 1).isoformat()
    except ValueError:
        return None


EPOCH = {10: 1, 13: 1000}  # digits of a time since 1970 -> its units in a second


def _of_value(value: str) -> str | None:
    """The date that a value of metadata begins with; a weekday may stand before it.

    '2026/3/14 10:00', '20260314', 'Sat, 14 Mar 2026', '1773482400', '[[2026-03-14]]' ->
    '2026-03-14'; '2026-W11' -> '2026-03-09', its Monday; '2026' -> '2026'
    """
    value = value.strip("[]<>\"' *_")
    if value.isdecimal() and value.isascii():
        if len(value) in EPOCH:
            return datetime.fromtimestamp(int(value) / EPOCH[len(value)], UTC).date().isoformat()
        if re.fullmatch("(?:19|20)[0-9]{2}", value):
            return value
    compact = re.match(_COMPACT, value) or re.match(_ISO_WEEK, value)
    if compact:
        return _monday(compact) if compact.re.pattern == _ISO_WEEK else iso(compact)
    folded = fold(value).lower()
    for written in written_days(folded)[:1]:
        is_first = _is_weekday(folded[: written.start])
        return written.date if is_first and not written.date.startswith("--") else None
    return None


HEAD = 1500  # characters at the top of a text that may have a line with its date
_DATE_LINE = (
    r"(?im)^[ \t>*_+-]*(?:(?:start|last|creation)[ _-]?|date[ _-])?"
    r"(?:date|day|updated?|created(?: on| at)?|modified|published(?: on)?)[*_ \t]*:[*_ \t]*(\S.*)$"
)


def _date_lines(text: str) -> list[str]:
    """The values of lines such as 'Date: 2026-03-08' or '- **Last Updated**: ...' at the top of a
    text.
    """
    return re.findall(_DATE_LINE, text[:HEAD])


_LOOKS_DATED = r"(?<![0-9])[0-9]{1,4}[-_./][0-9]{1,2}[-_./][0-9]{1,4}(?![0-9])"


def looks_dated(doc_id: str, text: str) -> bool:
    """Whether the name or the head of an undated document has what may be a date, such as
    03/04/2026, which can be read in two ways.
    """
    name = doc_id.rpartition("/")[2]
    return any(re.search(_LOOKS_DATED, place) for place in (name, *_date_lines(text)))


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


def age(of_document: str, today: date) -> int:
    """The days from a document's date to today, at least 0. The age of a month is counted from its
    last day.

    '2026-01-31' and '2026-01' are both 1 day old on 2026-02-01. A day that the month does not have
    counts as its last day. A text that is not a date has the age 0.
    """
    month = of_document[:7] if len(of_document) > len("2026") else f"{of_document}-12"
    for day in (of_document[8:], "31", "30", "29", "28"):
        try:
            return max((today - date.fromisoformat(f"{month}-{day}")).days, 0)
        except ValueError:
            continue
    return 0


def iso(match: re.Match[str]) -> str | None:
    """The date of a match with year, month and perhaps day; None if it does not exist."""
    try:
        date(*(int(group or 1) for group in match.groups()))
    except ValueError:
        return None
    return "-".join(filter(None, match.groups()))


def _day(text: str, today: date, *, is_first: bool) -> str:
    age_in_words = re.fullmatch(_AGE, text)
    if age_in_words:
        number, unit = age_in_words.groups()
        days = round(int(number) * _DAYS[unit])
        return (today - timedelta(min(days, today.toordinal() - 1))).isoformat()
    try:
        if re.fullmatch(_YEAR_OR_MONTH, text):
            date.fromisoformat(f"{text}-01-01"[:10])
            rest_of_year = "-01-01" if is_first else "-12-31"
            return text + rest_of_year[len(text) - len("2026") :]
        return date.fromisoformat(text).isoformat()
    except ValueError:
        pass
    folded = fold(text).lower().strip()
    found = _days_in(folded, today, is_plan=False)
    if len(found) != 1 or (found[0].start, found[0].end) != (0, len(folded)):
        raise ValueError(
            f"{text!r} is not a date: write 2026-01-05, 2026-01, 2026, an age such as 7d, 3w, 6m, 1y, "
            "or words such as yesterday"
        )
    return found[0].first if is_first else found[0].last


MOST = 3  # periods that count in a query

# Folded words for periods in English, German, French, Spanish, Portuguese, Italian, Russian and
# Chinese. French "hier" is left out: in German it means "here".
DAY = "day"
WEEK = "week"
MONTH = "month"
YEAR = "year"
TODAY = "today|heute|aujourd'hui|hoy|hoje|oggi|сегодня|今天"
YESTERDAY = "yesterday|last night|gestern|letzte nacht|hier soir|anoche|ayer|ontem|ieri|вчера|昨天"
DAY_BEFORE = "day before yesterday|vorgestern|avant-hier|anteayer|anteontem|позавчера|前天"
THIS_WEEK = (
    "this week|diese woche|dieser woche|cette semaine|esta semana|questa settimana"
    "|этой неделе|本周|这周"
)
LAST_WEEK = (
    "last week|letzte woche|letzter woche|vorige woche|semaine derniere|semana pasada"
    "|semana passada|settimana scorsa|прошлой неделе|上周|上个星期"
)
THIS_MONTH = (
    "this month|diesen monat|diesem monat|ce mois|este mes|questo mese|этом месяце|本月|这个月"
)
LAST_MONTH = (
    "last month|letzten monat|letztem monat|vorigen monat|mois dernier|mes pasado|mes passado"
    "|mese scorso|прошлом месяце|上个月|上月"
)
LAST_YEAR = (
    "last year|letztes jahr|letzten jahr|voriges jahr|annee derniere|an dernier|ano pasado"
    "|ano passado|anno scorso|прошлом году|去年"
)
# Without the German and Spanish words, which also mean morning
TOMORROW = "tomorrow|demain|domani|amanha|завтра|明天"
NEXT_WEEK = (
    "next week|nachste woche|nachster woche|semaine prochaine|proxima semana|semana que viene"
    "|prossima settimana|следующей неделе|下周|下个星期"
)
RELATIVE = {  # (unit, units back) -> words
    (DAY, -1): TOMORROW,
    (WEEK, -1): NEXT_WEEK,
    (DAY, 0): TODAY,
    (DAY, 1): YESTERDAY,
    (DAY, 2): DAY_BEFORE,
    (WEEK, 0): THIS_WEEK,
    (WEEK, 1): LAST_WEEK,
    (MONTH, 0): THIS_MONTH,
    (MONTH, 1): LAST_MONTH,
    (YEAR, 1): LAST_YEAR,
}

# A month's name with a day before or after it, or a year, or both. Which of them are required is
# checked afterwards.
BY_NAME = (
    r"(?<![\w-])(?:(?P<begin>[0-9]{{1,2}})(?:st|nd|rd|th|\.)?\s*"
    r"(?:[-–]|to|and|bis|und|et|y|a[lu]?)\s*(?:(?:the|le|el|dem|den)\s+)?)?"
    r"(?:(?P<before>[0-9]{{1,2}})(?:st|nd|rd|th|er|o)?\.?\s+(?:of\s+|de\s+)?)?"
    r"(?P<month>{names})\b\.?(?:\s+(?P<after>[0-9]{{1,2}})(?:st|nd|rd|th)?(?![\w:]))?"
    r"(?:,?\s+(?:of\s+|del?\s+)?(?P<year>(?:19|20)[0-9]{{2}})(?!\w))?"
)


# Numbers, units and weekdays in English, German, French and Spanish, folded.
NUMBERS = {
    "a": 1, "an": 1, "one": 1, "einem": 1, "einer": 1, "un": 1, "une": 1, "una": 1,
    "two": 2, "zwei": 2, "deux": 2, "dos": 2, "three": 3, "drei": 3, "trois": 3, "tres": 3,
    "four": 4, "vier": 4, "quatre": 4, "cuatro": 4, "five": 5, "funf": 5, "cinq": 5, "cinco": 5,
    "six": 6, "sechs": 6, "seis": 6, "seven": 7, "sieben": 7, "sept": 7, "siete": 7,
    "eight": 8, "acht": 8, "huit": 8, "ocho": 8, "nine": 9, "neun": 9, "neuf": 9, "nueve": 9,
    "ten": 10, "zehn": 10, "dix": 10, "diez": 10,
}  # fmt: skip
UNITS = {
    DAY: "days?|tag|tagen|jours?|dias?",
    WEEK: "weeks?|wochen?|semaines?|semanas?",
    MONTH: "months?|monat|monaten|mois|mes|meses",
    YEAR: "years?|jahr|jahren|ans?|annees?|anos?",
}
AMOUNT = rf"(?P<number>[0-9]{{1,3}}|{'|'.join(NUMBERS)})\s+(?:UNIT)"
AGO = rf"(?<!\w)(?:{AMOUNT} ago|(?:vor|il y a|hace) {AMOUNT.replace('number', 'other')})(?!\w)"
WEEKDAYS = (
    "monday|montag|lundi|lunes",
    "tuesday|dienstag|mardi|martes",
    "wednesday|mittwoch|mercredi|miercoles",
    "thursday|donnerstag|jeudi|jueves",
    "friday|freitag|vendredi|viernes",
    "saturday|samstag|samedi|sabado",
    "sunday|sonntag|dimanche|domingo",
)
WEEKDAY = (
    r"(?<!\w)(?:(?P<before>on|this|last|next|am|diesen|letzten|nachsten|el|proximo|le|ce)\s+"
    r"|(?<=since )|(?<=until )|(?<=after )|(?<=before )|(?<=seit )|(?<=bis )|(?<=depuis )|(?<=desde ))"
    r"(?:{names})(?!\w)"
)
BEHIND = ("last", "letzten")
AHEAD = ("next", "nachsten", "proximo")

# Words before a date that open it to one side, or join two. Compiled when a query has a date.
SINCE = r"(?<!\w)(?:since|seit(?: dem)?|depuis(?: le)?|desde(?: el)?)\s+\Z"
AFTER = r"(?<!\w)(?:after|nach dem|apres(?: le)?|despues del?)\s+\Z"
UNTIL = r"(?<!\w)(?:until|till|up to|bis(?: zum)?|jusqu'au|hasta(?: el)?)\s+\Z"
BEFORE = r"(?<!\w)(?:before|vor dem|avant(?: le)?|antes del?)\s+\Z"
BETWEEN = r"(?<!\w)(?:between|from|zwischen(?: dem)?|vom|entre(?: le| el)?)\s+\Z"
AND = r"\s+(?:and|to|until|und(?: dem)?|bis(?: zum)?|et(?: le)?|y(?: el)?)\s+"
BESIDE = r"(?<!\w)(?:the )?(day|week|month) (before|after)\s+\Z"
EARLIEST = "0001-01-01"


class Period(NamedTuple):
    """A span of days from `first` to `last`, ISO 8601, written at [start:end] of the query.

    `is_named`: by words such as "today". `is_open`: widened by words such as "since". `is_yearly`:
    without a year. `is_vague`: a number of months or years ago.
    """

    first: str
    last: str
    start: int
    end: int
    is_named: bool = False
    is_open: bool = False
    is_yearly: bool = False
    is_vague: bool = False

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
    def is_month(self) -> bool:
        """Whether its token is that of a month, which begins those of the month's days."""
        return 7 < self.days <= 31 and not self.is_open

    def tokens(self) -> list[str]:
        """The tokens of its year, its month or each of its days in the keyword index, in texts and
        paths (text/written_days.py). A day without a year has the token of that day in any year.
        """
        if self.is_open and self.days > 7:
            return []  # too many
        if self.days > 31:
            return [self.first[:4]]
        if self.days > 7:
            return [token(self.first[:7])]
        if self.is_yearly:
            return [token(f"-{self.first[4:]}")]
        first = date.fromisoformat(self.first)
        return [token((first + timedelta(number)).isoformat()) for number in range(self.days)]


def periods(folded: str, today: date) -> list[Period]:
    """The first MOST periods in a folded query, in order.

    Words such as "yesterday" are counted from `today`; a weekday is the last one unless "next"
    precedes it, and a date without a year is always the last one.
    """
    return _widened(folded, _days_in(folded, today, is_plan=False), today)[:MOST]


def mentions(folded: str, day: date) -> list[Period]:
    """All days that a folded passage, written on `day`, mentions.

    "next Friday" is counted from that day, and a date without a year is the nearest.
    """
    return _days_in(folded, day, is_plan=True)


def _days_in(folded: str, today: date, *, is_plan: bool) -> list[Period]:
    """The periods in a text, in order, without overlap. In a plan they may lie ahead."""
    candidates = [
        *_calendar_dates(folded, today, is_plan=is_plan),
        *_relative_dates(folded, today),
        *_dates_ago(folded, today),
        *_weekdays(folded, today, is_plan=is_plan),
    ]
    candidates.sort(key=lambda period: (period.start, -period.end))
    chosen: list[Period] = []
    for period in candidates:
        if chosen and period.start < chosen[-1].end:
            continue
        if chosen and _names_the_same(folded, chosen[-1], period):
            chosen.pop()
        chosen.append(period)
    return chosen


def _names_the_same(folded: str, first: Period, second: Period) -> bool:
    """Whether a weekday belongs to the date behind it: "on Thursday, 24 December 2026"."""
    weekday, between = folded[first.start : first.end], folded[first.end : second.start]
    return not between.strip(" ,") and not any(map(str.isdigit, weekday))


def _widened(folded: str, found: Sequence[Period], today: date) -> list[Period]:
    """Widen periods by the words before and between them."""
    opened: list[Period] = []
    for period in found:
        before = folded[: period.start]
        if opened and re.search(BETWEEN, folded[: opened[-1].start]):
            between = folded[opened[-1].end : period.start]
            if re.fullmatch(AND, between) and opened[-1].first <= period.last:
                opened[-1] = opened[-1]._replace(last=period.last, end=period.end, is_yearly=False)
                continue
        wider = period._replace(is_open=True, is_yearly=False)
        beside = re.search(BESIDE, before)
        if beside:
            period = _beside(period, beside)
        elif re.search(SINCE, before):
            period = wider._replace(last=max(today.isoformat(), period.last))
        elif re.search(AFTER, before):
            first = _shifted(period.last, 1)
            period = wider._replace(first=first, last=max(today.isoformat(), first))
        elif re.search(UNTIL, before):
            period = wider._replace(first=EARLIEST)
        elif re.search(BEFORE, before):
            period = wider._replace(first=EARLIEST, last=_shifted(period.first, -1))
        opened.append(period)
    return opened


def _beside(period: Period, match: re.Match[str]) -> Period:
    """The day, week or month before or after a period: "the week before 16 November"."""
    days = {"day": 1, "week": 7, "month": 31}[match[1]]
    if match[2] == "before":
        first, last = _shifted(period.first, -days), _shifted(period.first, -1)
    else:
        first, last = _shifted(period.last, 1), _shifted(period.last, days)
    return period._replace(first=first, last=last, start=match.start(), is_yearly=False)


def _shifted(day: str, days: int) -> str:
    try:
        return (date.fromisoformat(day) + timedelta(days)).isoformat()
    except OverflowError:
        return day


def _calendar_dates(folded: str, today: date, *, is_plan: bool) -> Iterator[Period]:
    if not DIGITS.search(folded):
        return
    for written in written_days(folded):
        if not written.date.startswith("--"):
            yield _whole(written.date, written.start, written.end)
    if not names_month(folded):
        return
    names = "|".join(sorted(MONTHS, key=len, reverse=True))
    for match in re.finditer(BY_NAME.format(names=names), folded):
        day = int(match["before"] or match["after"] or 0)
        first = _first_of(match, MONTHS[match["month"]], day or 1, today, is_plan=is_plan)
        if first and (day or match["year"]):
            whole = _whole(first.isoformat()[: 10 if day else 7], *match.span())
            begin = _date(first.year, first.month, int(match["begin"] or day or 1))
            if match["before"] and begin and begin < first:
                whole = whole._replace(first=begin.isoformat())
            yield whole._replace(is_yearly=not match["year"])


def _first_of(
    match: re.Match[str], month: int, day: int, today: date, *, is_plan: bool
) -> date | None:
    """The day in the given year, else in the last year in which it was not ahead; in a plan, the
    nearest.
    """
    if match["year"]:
        return _date(int(match["year"]), month, day)
    if is_plan:
        years = (today.year - 1, today.year, today.year + 1)
        existing = [day_of for year in years if (day_of := _date(year, month, day))]
        return min(existing, key=lambda day_of: abs(day_of - today), default=None)
    for year in range(today.year, today.year - 8, -1):  # not each has a 29 February
        candidate = _date(year, month, day)
        if candidate and candidate <= today:
            return candidate
    return None


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _whole(day: str, start: int, end: int) -> Period:
    """The period of a day or a month, written at [start:end]."""
    if len(day) == 10:
        return Period(day, day, start, end)
    first = date.fromisoformat(f"{day}-01")
    return Period(first.isoformat(), _end_of_month(first).isoformat(), start, end)


def _relative_dates(folded: str, today: date) -> Iterator[Period]:
    for (unit, back), words in RELATIVE.items():
        if not any(word in folded for word in words.split("|")):
            continue
        for match in re.finditer(rf"(?<![a-zа-я])(?:{words})(?![a-zа-я])", folded):
            with suppress(ValueError, OverflowError):  # not in the calendar
                first, last = _days(unit, back, today)
                yield Period(first.isoformat(), last.isoformat(), *match.span(), True)


def _dates_ago(folded: str, today: date) -> Iterator[Period]:
    """Yield the periods of "three weeks ago": that day, or all of that week, month or year."""
    if not any(word in folded for word in (" ago", "vor ", "il y a ", "hace ")):
        return  # compiling the patterns takes longer than a keyword search
    for unit, words in UNITS.items():
        for match in re.finditer(AGO.replace("UNIT", words), folded):
            amount = match["number"] or match["other"]
            back = NUMBERS.get(amount) or int(amount)
            with suppress(ValueError, OverflowError):
                first, last = _days(unit, back, today)
                yield Period(
                    first.isoformat(),
                    last.isoformat(),
                    *match.span(),
                    is_vague=unit in (MONTH, YEAR),
                )


def _weekdays(folded: str, today: date, *, is_plan: bool) -> Iterator[Period]:
    """Yield the days of "last Friday", "next Friday" and "on Friday"; in a plan, the latter lies
    ahead.
    """
    for weekday, names in enumerate(WEEKDAYS):
        if not any(name in folded for name in names.split("|")):
            continue
        for match in re.finditer(WEEKDAY.format(names=names), folded):
            is_ahead = match["before"] in AHEAD or (is_plan and match["before"] not in BEHIND)
            days = (weekday - today.weekday()) % 7 or 7
            with suppress(OverflowError):
                day = (today + timedelta(days if is_ahead else days - 7 or -7)).isoformat()
                yield Period(day, day, *match.span())


def _days(unit: str, back: int, today: date) -> tuple[date, date]:
    if unit == DAY:
        day = today - timedelta(back)
        return day, day
    if unit == WEEK:
        monday = today - timedelta(today.weekday() + 7 * back)
        return monday, monday + timedelta(6)
    if unit == YEAR:
        return date(today.year - back, 1, 1), date(today.year - back, 12, 31)
    first = today.replace(day=1)
    for _ in range(back):
        first = (first - timedelta(1)).replace(day=1)
    return first, _end_of_month(first)


def _end_of_month(first: date) -> date:
    return (first + timedelta(31)).replace(day=1) - timedelta(1)


def heading_day(headings: Sequence[str], of_document: str | None) -> str | None:
    """The day of the nearest heading that begins with one: '2026-03-04', 'Wednesday, 4 March'.

    A day without a year is the nearest to the document's date, and words such as "yesterday" are
    counted from it; if the document has no date, they are not dates.
    """
    for heading in reversed(headings):
        day = _day_of_heading(heading, of_document)
        if day:
            return day
    return None


@lru_cache(1024)
def _day_of_heading(heading: str, of_document: str | None) -> str | None:
    if not any(map(str.isdigit, heading)):
        return None
    base = date.fromisoformat(f"{of_document}-01-01"[:10]) if of_document else date(2000, 1, 1)
    folded = fold(heading).lower()
    for period in mentions(folded, base)[:1]:
        has_year = period.first[:4] in folded[period.start : period.end]
        least = len("2026-01") if period.is_yearly else len("2026-01-05")
        is_known = has_year or len(of_document or "") >= least
        if period.first == period.last and is_known and _is_weekday(folded[: period.start]):
            return period.first
    return None


def _is_weekday(text: str) -> bool:
    """Whether a text is empty, or a weekday's name or its beginning."""
    word = text.strip(" ,.[(")
    names = (name for names in WEEKDAYS for name in names.split("|"))
    return not word or any(name.startswith(word) for name in names)
