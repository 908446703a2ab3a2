"""The date of a document, from its path or its front matter, and the days that a filter on dates means. Pure."""

import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

# Year, month and, if there is one, the day. Whether the day exists is checked afterwards.
_IN_PATH = re.compile(r"(?<![0-9])((?:19|20)[0-9]{2})[-_./](0[1-9]|1[0-2])(?:[-_./]([0-9]{2}))?(?![0-9])")
_VALUE = re.compile(r"((?:19|20)[0-9]{2})-(0[1-9]|1[0-2])(?:-([0-9]{2}))?(?![0-9])")
_MONTH = re.compile("[0-9]{4}-[0-9]{2}")
_AGE = re.compile("([0-9]{1,5})([dwmy])")
_DAYS = {"d": 1.0, "w": 7.0, "m": 365.25 / 12, "y": 365.25}


def document_date(doc_id: str, metadata: Mapping[str, Any]) -> str | None:
    """ISO 8601, the day or only the month: 'memory/2026-01-05-standup.md' -> '2026-01-05', 'notes/2026/01/x.md' -> '2026-01'.

    If the path has several dates, the last one with a day counts, or else the last month. A path without a date leaves it to
    `date` of the front matter. A day that does not exist, such as 2026-02-30, is not a date.
    """
    in_path = [found for match in _IN_PATH.finditer(doc_id) if (found := _iso(match))]
    if in_path:
        return max(reversed(in_path), key=len)
    match = _VALUE.match(str(metadata.get("date", "")))
    return _iso(match) if match else None


def first_day(text: str, today: date) -> str:
    """'2026-01' -> '2026-01-01', '7d' -> the day a week ago. Raises ValueError if the text is not a date."""
    return _day(text, today, "-01")


def last_day(text: str, today: date) -> str:
    """'2026-01' -> '2026-01-31', and '-31' for every other month too: it only has to compare well. Raises like `first_day`."""
    return _day(text, today, "-31")


def age(of_document: str, today: date) -> int:
    """Days from a document's date to today, at least 0. A month's age is counted from its last day.

    '2026-01-31' and '2026-01' are both 1 day old on 2026-02-01. A day that the month does not have counts as the month's last
    day. A text that is not a date at all has the age 0.
    """
    month = of_document[:7]
    for day in (of_document[8:], "31", "30", "29", "28"):
        try:
            return max((today - date.fromisoformat(f"{month}-{day}")).days, 0)
        except ValueError:
            continue
    return 0


def _iso(match: re.Match[str]) -> str | None:
    """The date that was matched as year, month and perhaps day; None if it does not exist."""
    try:
        date(*(int(group or 1) for group in match.groups()))
    except ValueError:
        return None
    return "-".join(filter(None, match.groups()))


def _day(text: str, today: date, rest_of_month: str) -> str:
    if found := _AGE.fullmatch(text):
        days = round(int(found[1]) * _DAYS[found[2]])
        return (today - timedelta(min(days, today.toordinal() - 1))).isoformat()
    try:
        if _MONTH.fullmatch(text):
            return date.fromisoformat(text + "-01").isoformat()[:7] + rest_of_month
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError(f"{text!r} is not a date: write 2026-01-05, 2026-01, or an age such as 7d, 3w, 6m, 1y") from None
