"""What looks like a time in a query and is not read as one: "03/04/2026", "31 February 2026", "the last
ten Fridays". Pure.
"""

import re
from collections.abc import Iterable, Iterator

from .characters import pattern
from .languages import numbered, phrases, time_words, words
from .periods import Period
from .written_days import YEAR

_IN_DIGITS = (
    rf"(?<![\w./-])(?:[0-9]{{1,2}}([-/.])[0-9]{{1,2}}\1{YEAR}|{YEAR}([-/])[0-9]{{1,2}}\2[0-9]{{1,2}})"
    r"(?![\w/-]|\.[0-9])"
)
_BETWEEN = 1  # words between a word such as "last" and a unit


def unread_time(text: str, periods: Iterable[Period]) -> str | None:
    """The first text that looks like a time in a folded query in lower case, outside its periods."""
    read = [(period.start, period.end) for period in periods]
    for start, end in sorted([*_in_digits(text), *_in_words(text)]):
        if not any(first < end and start < last for first, last in read):
            return text[start:end]
    return None


def _in_digits(text: str) -> Iterator[tuple[int, int]]:
    for match in pattern(_IN_DIGITS).finditer(text):
        yield match.span()
    if not any(map(str.isdigit, text)):
        return
    for match in pattern(rf"(?<!\S)([0-9]{{1,2}})\.?\s+([^\W\d_]{{3,}})\s+{YEAR}(?!\w)").finditer(
        text
    ):
        if match[2] in numbered("months"):
            yield match.span()


def _in_words(text: str) -> Iterator[tuple[int, int]]:
    """Yield "last", "ago" and their like with a day, week, month or year near them."""
    order = phrases("order")
    if not any(word in text for word in order):
        return
    written = list(re.finditer(r"\w+", text))
    for number, word in enumerate(written):
        if word[0] not in order:
            continue
        for near in written[max(number - 1 - _BETWEEN, 0) : number + 2 + _BETWEEN]:
            start, end = min(word.start(), near.start()), max(word.end(), near.end())
            is_unit = (near[0] in time_words() and near[0] not in words("function_words")) or near[
                0
            ].removesuffix("s") in numbered("weekdays")
            if is_unit and not re.search(r"[^\w\s]", text[start:end]):
                yield start, end
                break
