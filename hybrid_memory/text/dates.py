"""Dates in texts: the date of a document, from its path, its metadata or its title; the days of a
filter; and those in a query, such as "2023-09-12", "12.9.2023", "12 September", "September 2023",
"last week" or "gestern". Pure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any, NamedTuple
from unicodedata import normalize

from ..config import DEFAULTS
from .characters import fold

# Year, month and perhaps the day. Whether the day exists is checked afterwards. Compiled only when
# needed.
IN_PATH = r"(?<![0-9])((?:19|20)[0-9]{2})[-_./](0[1-9]|1[0-2])(?:[-_./]([0-9]{2}))?(?![0-9])"
_VALUE = r"((?:19|20)[0-9]{2})-(0[1-9]|1[0-2])(?:-([0-9]{2}))?(?![0-9])"
DOTTED = r"(?<![0-9.])([0-3]?[0-9])\.([01]?[0-9])\.((?:19|20)[0-9]{2})(?![0-9])"
DATE_KEYS = tuple(DEFAULTS["date_keys"])
_NAMES = (  # of the months in English, German, French and Spanish, without accents
    "january jan januar janner janvier janv enero ene",
    "february feb februar fevrier fevr febrero",
    "march mar marz mars marzo",
    "april apr avril avr abril abr",
    "may mai mayo",
    "june jun juni juin junio",
    "july jul juli juillet juil julio",
    "august aug aout agosto",
    "september sep sept septembre septiembre",
    "october oct oktober okt octobre octubre",
    "november nov novembre noviembre",
    "december dec dezember dez decembre diciembre dic",
)
_YEAR_OR_MONTH = "[0-9]{4}(-[0-9]{2})?"
_AGE = "([0-9]{1,5})([dwmy])"
_DAYS = {"d": 1.0, "w": 7.0, "m": 365.25 / 12, "y": 365.25}


def document_date(
    doc_id: str,
    metadata: Mapping[str, Any],
    titles: Sequence[str] = (),
    keys: Sequence[str] = DATE_KEYS,
) -> str | None:
    """The document's date in ISO 8601, a day or only a month.

    'memory/2026-01-05-standup.md' -> '2026-01-05', 'notes/2026/01/x.md' -> '2026-01'

    If the path has several dates, the last one with a day counts, else the last month. If it has
    none, the first of the metadata `keys` with a date counts, then the titles, then a name such as
    '5. Januar 2026.md'. A day that does not exist, such as 2026-02-30, is not a date.
    """
    for _, day in _dates(doc_id, metadata, titles, keys):
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
    doc_id: str, metadata: Mapping[str, Any], titles: Sequence[str], keys: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the possible dates of a document, each after its origin, best first."""
    in_path = [day for match in re.finditer(IN_PATH, doc_id) if (day := iso(match))]
    if in_path:
        yield "path", max(reversed(in_path), key=len)
    written = {_plain_key(key): key for key in metadata}
    for known in keys:
        key = written.get(_plain_key(known))
        if key is None:
            continue
        value = str(metadata[key]).lstrip("[\"' ")  # a link to a daily note is a date, too
        match = re.match(_VALUE, value)
        day = iso(match) if match else _written_out(value, at_start=True)
        if day:
            yield key, day
    for title in titles:
        match = re.search(IN_PATH, title)
        day = (iso(match) if match else None) or _written_out(title)
        if day:
            yield "title", day
    day = _written_out(doc_id.rpartition("/")[2])
    if day:
        yield "path", day


def _plain_key(key: str) -> str:
    """Normalize a key for comparison: 'Created-At', 'created at' -> 'created_at'."""
    return re.sub("[-_ ]+", "_", key.strip().lower())


def _written_out(text: str, *, at_start: bool = False) -> str | None:
    """The date in a text with the name of a month, or with dots in the German order.

    '5 January 2026', 'January 5th, 2026', '5. Januar 2026', '5 de enero de 2026' -> '2026-01-05';
    'May 2026' -> '2026-05'; '5.1.2026' -> '2026-01-05'
    """
    if not re.search("[0-9]{4}", text):
        return None
    dotted = (re.match if at_start else re.search)(DOTTED, text)
    if dotted:
        match = re.match(_VALUE, f"{dotted[3]}-{dotted[2]:0>2}-{dotted[1]:0>2}")
        return iso(match) if match else None
    plain = normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    numbers, pattern = months()
    date_in_words = pattern.match(plain) if at_start else pattern.search(plain)
    if not date_in_words:
        return None
    day = int(date_in_words["before"] or date_in_words["after"] or 0)
    month = f"{date_in_words['year']}-{numbers[date_in_words['month']]:02}"
    if not day:
        return month
    match = re.match(_VALUE, f"{month}-{day:02}")
    return iso(match) if match else None


@cache
def months() -> tuple[dict[str, int], re.Pattern[str]]:
    """The number of each month name, and the pattern of a date with such a name. Compiled when
    first needed.
    """
    numbers = {name: number for number, names in enumerate(_NAMES, 1) for name in names.split()}
    names = "|".join(sorted(numbers, key=len, reverse=True))
    pattern = re.compile(
        r"\b(?:(?P<before>[0-9]{1,2})(?:st|nd|rd|th|er|o)?\.?\s+(?:of\s+|de\s+)?)?"
        rf"(?P<month>{names})\b\.?,?\s+"
        r"(?:(?P<after>[0-9]{1,2})(?:st|nd|rd|th)?,?\s+)?"
        r"(?:of\s+|del?\s+)?(?P<year>(?:19|20)[0-9]{2})(?![0-9])"
    )
    return numbers, pattern


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
    month = of_document[:7]
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
YESTERDAY = "yesterday|gestern|ayer|ontem|ieri|вчера|昨天"
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
EARLIEST = "0001-01-01"

GERMAN = r"(?<![\w.])([0-9]{1,2})\.\s?([0-9]{1,2})\.\s?((?:19|20)[0-9]{2})(?!\w)"  # 12.9.2023


class Period(NamedTuple):
    """A span of days from `first` to `last`, ISO 8601, written at [start:end] of the query.

    `is_named`: by words such as "today". `is_open`: widened by words such as "since". `is_yearly`:
    without a year.
    """

    first: str
    last: str
    start: int
    end: int
    is_named: bool = False
    is_open: bool = False
    is_yearly: bool = False

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

    def phrases(self) -> list[tuple[str, ...]]:
        """The phrases to search for in texts and paths of the period: its year, its month or each
        of its days, as tokens of a date in both orders, '2026-05-03' and '03.05.2026'.
        """
        first, days = date.fromisoformat(self.first), self.days
        if self.is_open and days > 7:
            return []  # too many
        if days > 31:
            return [(self.first[:4],)]
        if days > 7:
            return [tuple(self.first[:7].split("-"))]
        dates = [(first + timedelta(number)).isoformat().split("-") for number in range(days)]
        return [tuple(order) for day in dates for order in (day, day[::-1])]


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
        if not chosen or period.start >= chosen[-1].end:
            chosen.append(period)
    return chosen


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
        if re.search(SINCE, before):
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


def _shifted(day: str, days: int) -> str:
    try:
        return (date.fromisoformat(day) + timedelta(days)).isoformat()
    except OverflowError:
        return day


def _calendar_dates(folded: str, today: date, *, is_plan: bool) -> Iterator[Period]:
    if not re.search("[0-9]", folded):
        return
    for match in re.finditer(IN_PATH, folded):
        day_or_month = iso(match)
        if day_or_month:
            yield _whole(day_or_month, match)
    for match in re.finditer(GERMAN, folded):
        exact = _date(int(match[3]), int(match[2]), int(match[1]))
        if exact:
            yield _whole(exact.isoformat(), match)
    numbers, _ = months()
    names = "|".join(sorted(numbers, key=len, reverse=True))
    for match in re.finditer(BY_NAME.format(names=names), folded):
        day = int(match["before"] or match["after"] or 0)
        first = _first_of(match, numbers[match["month"]], day or 1, today, is_plan=is_plan)
        if first and (day or match["year"]):
            whole = _whole(first.isoformat()[: 10 if day else 7], match)
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


def _whole(day: str, match: re.Match[str]) -> Period:
    """The period of a day or a month."""
    if len(day) == 10:
        return Period(day, day, *match.span())
    first = date.fromisoformat(f"{day}-01")
    return Period(first.isoformat(), _end_of_month(first).isoformat(), *match.span())


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
                yield Period(first.isoformat(), last.isoformat(), *match.span())


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
    base = date.fromisoformat(f"{of_document}-01"[:10]) if of_document else date(2000, 1, 1)
    for heading in reversed(headings):
        folded = fold(heading).lower() if any(map(str.isdigit, heading)) else ""
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
