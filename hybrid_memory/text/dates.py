"""The date of a document: from its path, else from its front matter, else none; and the days that a filter means. Pure."""

import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

_PATH = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_./](0[1-9]|1[0-2])(?:[-_./](0[1-9]|[12]\d|3[01]))?(?!\d)")
_VALUE = re.compile(r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?(?!\d)")
_AGE = re.compile(r"(\d{1,5})([dwmy])")
_DAYS = {"d": 1.0, "w": 7.0, "m": 365.25 / 12, "y": 365.25}


def document_date(doc_id: str, metadata: Mapping[str, Any]) -> str | None:
    """ISO 8601, the day or only the month: 'memory/2026-01-05-standup.md' -> '2026-01-05', 'notes/2026/01/x.md' -> '2026-01'.

    The last date in the path counts, the most exact first; then `date` of the front matter.
    """
    found = [match.groups() for match in _PATH.finditer(doc_id)]
    if found:
        year, month, day = max(reversed(found), key=lambda groups: groups[2] is not None)
        return f"{year}-{month}-{day}" if day else f"{year}-{month}"
    match = _VALUE.match(str(metadata.get("date", "")))
    return match[0] if match else None


def first_day(text: str, today: date) -> str:
    """'2026-01' -> '2026-01-01', '7d' -> the day a week ago. Raises ValueError for what is no date."""
    return _day(text, today, "-01")


def last_day(text: str, today: date) -> str:
    """'2026-01' -> '2026-01-31', whatever the month: for comparing. Raises ValueError for what is no date."""
    return _day(text, today, "-31")


def _day(text: str, today: date, rest_of_month: str) -> str:
    if age := _AGE.fullmatch(text):
        days = round(int(age[1]) * _DAYS[age[2]])
        return (today - timedelta(min(days, today.toordinal() - 1))).isoformat()
    if re.fullmatch(r"\d{4}-\d\d", text) and "01" <= text[5:] <= "12":
        return text + rest_of_month
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError(f"{text!r} is no date: write 2026-01-05, 2026-01, or an age such as 7d, 3w, 6m, 1y") from None


def age(of_document: str, today: date) -> int:
    """Days from a document's date to today, at least 0; of a month, from its end, at the latest today.

    '2026-01-31' and '2026-01' are both 1 day old on 2026-02-01. A day that the month does not have counts as its last.
    """
    year, month, *day = map(int, of_document.split("-"))
    after = date(year + month // 12, month % 12 + 1, 1)
    found = min(date(year, month, 1) + timedelta(day[0] - 1), after - timedelta(1)) if day else after - timedelta(1)
    return max((today - found).days, 0)
