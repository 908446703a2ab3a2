"""The date of a document, from its path, its metadata, its title or its first lines, and that of a
heading; the age of a document. Pure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import cache, lru_cache
from typing import Any, NamedTuple

from ..config import DEFAULTS
from .characters import pattern
from .languages import alternatives, folded, numbered, phrases
from .periods import mentions
from .written_days import DAY_FIRST, MONTH_FIRST, existing, shown_order, written_days

# Year, month and perhaps the day. Whether the day exists is checked afterwards. Compiled only when
# needed.
IN_PATH = r"(?<![0-9])((?:19|20)[0-9]{2})[-_./](0[1-9]|1[0-2])(?:[-_./]([0-9]{2}))?(?![0-9])"
DATE_KEYS = tuple(DEFAULTS["date_keys"])


def document_date(
    doc_id: str,
    metadata: Mapping[str, Any],
    titles: Sequence[str] = (),
    keys: Sequence[str] = DATE_KEYS,
    text: str = "",
    order: str = "",
) -> str | None:
    """The document's date in ISO 8601: a day, or only a month or a year.

    'memory/2026-01-05-standup.md' -> '2026-01-05', 'notes/2026/01/x.md' -> '2026-01'

    A day in the first of the metadata `keys` comes first. Then the path counts: if it has several
    dates, the last one with a day, else the last month; a name may write it as a text does, as in
    '5. Januar 2026.md', or with other signs between the words. If the path has none, the first of
    the `keys` with a date counts, then the titles, then a line such as 'Date: 2026-01-05' at the top
    of the `text`. A day that does not exist, such as 2026-02-30, is not a date, nor is one that can
    be read in two ways, unless the `order` of day and month is given.
    """
    return next((day for _, day in _dates(doc_id, metadata, titles, keys, text, order)), None)


class Dated(NamedTuple):
    """The date of a document, and its mark: DAY_FIRST or MONTH_FIRST if it shows this order of day and
    month, IN_EITHER and the order by which it was read if it has only a date such as 03/04/2026, else "".
    """

    day: str | None
    mark: str = ""


IN_EITHER = "e"


def dated(
    doc_id: str,
    metadata: Mapping[str, Any],
    titles: Sequence[str],
    keys: Sequence[str],
    text: str,
    order: str,
) -> Dated:
    """The date of a document, in a folder where dates have this `order`, or "" if none is known."""
    known = set(map(_plain_key, keys))
    values = [str(value) for key, value in metadata.items() if _plain_key(key) in known]
    name = _as_in_text(doc_id.rpartition("/")[2])
    shown = shown_order("\n".join([name, *values, *titles, *_date_lines(text)]))
    mark = "" if shown is None else shown or f"{IN_EITHER}{order}"
    return Dated(document_date(doc_id, metadata, titles, keys, text, shown or order), mark)


def origin_of_date(
    day: str,
    doc_id: str,
    metadata: Mapping[str, Any],
    titles: Sequence[str] = (),
    keys: Sequence[str] = DATE_KEYS,
) -> str:
    """The origin of a document's date: "path", a key of its metadata, "title", else "text"."""
    for order in ("", DAY_FIRST, MONTH_FIRST):
        for origin, candidate in _dates(doc_id, metadata, titles, keys, order=order):
            if candidate == day:
                return origin
    return "text"


def _dates(
    doc_id: str,
    metadata: Mapping[str, Any],
    titles: Sequence[str],
    keys: Sequence[str],
    text: str = "",
    order: str = "",
) -> Iterator[tuple[str, str]]:
    """Yield the possible dates of a document, each after its origin, best first."""
    written = {_plain_key(key): key for key in metadata}
    for known in keys[:1]:
        key = written.get(_plain_key(known))
        day = None if key is None else _of_value(str(metadata[key]), order)
        if key is not None and day and len(day) == len("2026-01-05"):
            yield key, day  # a statement, where the day in a name may be that of an import
    name = doc_id.rpartition("/")[2]
    in_path = [
        day for match in pattern(IN_PATH).finditer(doc_id) if (day := existing(*match.groups()))
    ]
    of_path = max(reversed(in_path), key=len, default="")
    if len(of_path) < len("2026-01-05"):
        of_path = _in_name(name, of_path, order) or of_path
    if of_path:
        yield "path", of_path
    for known in keys:
        key = written.get(_plain_key(known))
        day = None if key is None else _of_value(str(metadata[key]), order)
        if key is not None and day:
            yield key, day
    for title in titles:
        day = next(iter(_with_year(title, order)), None)
        if day:
            yield "title", day
    for day in _with_year(_as_in_text(name), order):
        yield "path", day
    for line in _date_lines(text):
        day = _of_value(line, order)
        if day:
            yield "text", day


def _plain_key(key: str) -> str:
    """Normalize a key for comparison: 'Created-At', 'created at' -> 'created_at'."""
    return re.sub("[-_ ]+", "_", key.strip().lower())


def _with_year(text: str, order: str) -> Iterator[str]:
    """The days and months in a text that have a year."""
    if re.search("[0-9]{2}", text):
        for written in written_days(folded(text), order):
            if not written.date.startswith("--"):
                yield written.date


# A day without separators, with a time of day or without: 20260314, 202603141030, 20260314T103000; or
# a week: 2026-W11
_UNDIVIDED = (
    r"(?<![0-9])(?P<year>(?:19|20)[0-9]{2})(?:(?P<month>0[1-9]|1[0-2])(?P<day>0[1-9]|[12][0-9]|3[01])"
    r"(?:[T_-]?(?:[01][0-9]|2[0-3])[0-5][0-9](?:[0-5][0-9])?)?(?![0-9])"
    r"|-?[Ww](?P<week>0[1-9]|[1-4][0-9]|5[0-3])(?!\w))"
)


# The parts of a day in digits, in a file name
_PARTS = (
    r"(?<![0-9])((?:19|20)[0-9]{2})[ _]([01][0-9])[ _]([0-3][0-9])(?![0-9])",
    r"(?<![0-9])([0-3]?[0-9])[ _]([0-3]?[0-9])[ _]((?:19|20)[0-9]{2})(?![0-9])",
)
_DAY_AND_YEAR = r"(?<=[^\W\d_] )([0-3]?[0-9])[-_]((?:19|20)[0-9]{2})(?![0-9-])"  # of may-14-2020


def _as_in_text(name: str) -> str:
    """A file name, folded, with the signs that days have in a text.

    'Talk 19 06 2026.md' -> 'talk 19-06-2026.md', 'visit-of-14-may-2020' -> 'visit of 14 may 2020'
    """
    name = folded(name)
    for parts in _PARTS:
        name = pattern(parts).sub(r"\1-\2-\3", name)
    name = pattern(r"[-_](?=[^\W\d_])|(?<=[^\W\d_])[-_]").sub(" ", name)
    return pattern(_DAY_AND_YEAR).sub(r"\1 \2", name)


def _in_name(name: str, month: str, order: str) -> str | None:
    """The day in a file name: without separators, or of an ISO week, or written as in a text; or with a
    `month` from the path, that of a name such as 'april-16'.
    """
    match = pattern(_UNDIVIDED).search(name)
    if match:
        return _undivided(match)
    for written in written_days(_as_in_text(name), order):
        if len(written.date) == len("2026-01-05"):
            return written.date
        if month and written.date.startswith(f"-{month[4:]}-"):
            return f"{month}{written.date[len('--04') :]}"
    return None


def _undivided(match: re.Match[str]) -> str | None:
    """The day, or the Monday of the week, if it exists."""
    year, month, day, week = (int(group or 0) for group in match.groups())
    with suppress(ValueError):
        found = date.fromisocalendar(year, week, 1) if week else date(year, month, day)
        return found.isoformat()
    return None


EPOCH = {10: 1, 13: 1000}  # digits of a time since 1970 -> its units in a second


def _of_value(value: str, order: str) -> str | None:
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
    match = pattern(_UNDIVIDED).match(value)
    if match:
        return _undivided(match)
    text = folded(value)
    for written in written_days(text, order)[:1]:
        is_first = _is_weekday(text[: written.start])
        return written.date if is_first and not written.date.startswith("--") else None
    return None


HEAD = 1500  # characters at the top of a text that may have a line with its date


@cache
def _date_line() -> str:
    """A pattern for a line with the date of a document; a space of its label may be another sign."""
    label = alternatives(phrases("date_labels")).replace(r"\ ", "[ _-]?")
    return rf"(?m)^[ \t>*_+-]*(?:{label})[*_ \t]*:[*_ \t]*(\S.*)$"


def _date_lines(text: str) -> list[str]:
    """The folded values of lines such as 'Date: 2026-03-08' or '- **Last Updated**: ...' at the top of a
    text.
    """
    return pattern(_date_line()).findall(folded(text[:HEAD]))


_LOOKS_DATED = r"(?<![0-9])[0-9]{1,4}[-_./][0-9]{1,2}[-_./][0-9]{1,4}(?![0-9])"


def looks_dated(doc_id: str, text: str) -> bool:
    """Whether the name or the head of an undated document has what may be a date, such as
    03/04/2026, which can be read in two ways.
    """
    name = doc_id.rpartition("/")[2]
    return any(pattern(_LOOKS_DATED).search(place) for place in (name, *_date_lines(text)))


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
    text = folded(heading)
    for period in mentions(text, base)[:1]:
        has_year = period.first[:4] in text[period.start : period.end]
        least = len("2026-01") if period.is_yearly else len("2026-01-05")
        is_known = has_year or len(of_document or "") >= least
        if period.first == period.last and is_known and _is_weekday(text[: period.start]):
            return period.first
    return None


def _is_weekday(text: str) -> bool:
    """Whether a text is empty, or a weekday's name or its beginning."""
    word = text.strip(" ,.[(")
    return not word or any(name.startswith(word) for name in numbered("weekdays"))
