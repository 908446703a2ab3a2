"""The days that a query means: "2023-09-12", "12.9.2023", "12 September", "September 2023", "last week", "gestern". Pure."""

import re
from collections.abc import Iterator
from datetime import date, timedelta

from ..typed.names import NamedTuple
from .dates import IN_PATH, iso, months

MOST = 3  # periods of a query that count

# How far back, by the folded words for it in English, German, French, Spanish, Portuguese, Italian, Russian and Chinese.
# French "hier" is left out: it is German, too, where it means "here".
DAY, WEEK, MONTH, YEAR = "day", "week", "month", "year"
RELATIVE = {
    (DAY, 0): "today|heute|aujourd'hui|hoy|hoje|oggi|сегодня|今天",
    (DAY, 1): "yesterday|gestern|ayer|ontem|ieri|вчера|昨天",
    (DAY, 2): "day before yesterday|vorgestern|avant-hier|anteayer|anteontem|позавчера|前天",
    (WEEK, 0): "this week|diese woche|dieser woche|cette semaine|esta semana|questa settimana|этой неделе|本周|这周",
    (WEEK, 1): "last week|letzte woche|letzter woche|vorige woche|semaine derniere|semana pasada|semana passada|settimana scorsa"
    "|прошлой неделе|上周|上个星期",
    (MONTH, 0): "this month|diesen monat|diesem monat|ce mois|este mes|questo mese|этом месяце|本月|这个月",
    (MONTH, 1): "last month|letzten monat|letztem monat|vorigen monat|mois dernier|mes pasado|mes passado|mese scorso"
    "|прошлом месяце|上个月|上月",
    (YEAR, 1): "last year|letztes jahr|letzten jahr|voriges jahr|annee derniere|an dernier|ano pasado|ano passado|anno scorso"
    "|прошлом году|去年",
}


# A name with a day before or after it, or a year, or both: which of them there must be is checked afterwards.
BY_NAME = (
    r"(?<![\w-])(?:(?P<before>[0-9]{{1,2}})(?:st|nd|rd|th|er|o)?\.?\s+(?:of\s+|de\s+)?)?(?P<month>{names})\b\.?"
    r"(?:\s+(?P<after>[0-9]{{1,2}})(?:st|nd|rd|th)?(?![\w:]))?(?:,?\s+(?:of\s+|del?\s+)?(?P<year>(?:19|20)[0-9]{{2}})(?!\w))?"
)


class Period(NamedTuple):
    """The days from `first` to `last`, ISO 8601, which stand at [start:end] of the query; `is_named` if by words like "today"."""

    first: str
    last: str
    start: int
    end: int
    is_named: bool = False

    def has(self, day: str) -> bool:
        """Whether a document of this day, or of this month, may be of the period: '2026-01' is of every day of January."""
        return self.first[: len(day)] <= day <= self.last[: len(day)]

    def phrases(self) -> list[tuple[str, ...]]:
        """What a text or a path says that is of the period: its year, its month or each of its days, as tokens of a date."""
        first, last = date.fromisoformat(self.first), date.fromisoformat(self.last)
        days = (last - first).days + 1
        if days > 31:
            return [(self.first[:4],)]
        if days > 7:
            return [tuple(self.first[:7].split("-"))]
        return [tuple((first + timedelta(number)).isoformat().split("-")) for number in range(days)]


def periods(folded: str, today: date) -> list[Period]:
    """The first MOST periods that a folded query means, in its order. Words such as "yesterday" are counted from `today`."""
    found: list[Period] = []
    for period in sorted([*_written(folded, today), *_named(folded, today)], key=lambda each: (each.start, -each.end)):
        if not found or period.start >= found[-1].end:
            found.append(period)
    return found[:MOST]


def _written(folded: str, today: date) -> Iterator[Period]:
    if not re.search("[0-9]", folded):
        return
    for match in re.finditer(IN_PATH, folded):
        if found := iso(match):
            yield _whole(found, match)
    for match in re.finditer(r"(?<![\w.])([0-9]{1,2})\.\s?([0-9]{1,2})\.\s?((?:19|20)[0-9]{2})(?!\w)", folded):
        if exact := _date(int(match[3]), int(match[2]), int(match[1])):
            yield _whole(exact.isoformat(), match)
    numbers, _ = months()
    names = "|".join(sorted(numbers, key=len, reverse=True))
    for match in re.finditer(BY_NAME.format(names=names), folded):
        day = int(match["before"] or match["after"] or 0)
        years = [int(match["year"])] if match["year"] else range(today.year, today.year - 8, -1)  # not each has a 29 February
        known = (each for year in years if (each := _date(year, numbers[match["month"]], day or 1)))
        best = next((each for each in known if match["year"] or each <= today), None)
        if best and (day or match["year"]):
            yield _whole(best.isoformat()[: 10 if day else 7], match)


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _whole(day: str, match: re.Match[str]) -> Period:
    """The period of a day, or of a month."""
    if len(day) == 10:
        return Period(day, day, *match.span())
    return Period(f"{day}-01", _end_of_month(date.fromisoformat(f"{day}-01")).isoformat(), *match.span())


def _named(folded: str, today: date) -> Iterator[Period]:
    for (unit, back), words in RELATIVE.items():
        if not any(word in folded for word in words.split("|")):
            continue
        for match in re.finditer(rf"(?<![a-zа-я])(?:{words})(?![a-zа-я])", folded):
            first, last = _days(unit, back, today)
            yield Period(first.isoformat(), last.isoformat(), *match.span(), True)


def _days(unit: str, back: int, today: date) -> tuple[date, date]:
    if unit == DAY:
        return (day := today - timedelta(back)), day
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
