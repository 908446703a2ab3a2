"""The words of languages that the program understands: months, days, abbreviations, function words.
Pure, except that the table, languages.json, is read when it is first needed.

The table has an entry for each language by its code; "mul" is for words that belong to no language.
Another language is another entry, and any key may be missing:

- `months`, `weekdays`, `numbers` (one to ten): one text for each; the full name comes first, then
  its short and inflected forms.
- `units`: the forms of the words for a day, a week, a month and a year.
- `ordinals`: the signs behind the number of a day; `of`: the words between day, month and year.
- `date_signs`: the signs behind the numbers of year, month and day.
- `date_labels`: what stands before the date of a document, as in "Date: 2026-03-08".
- `relative`: unit -> units back -> phrases such as "last week". `ago`: templates of an age.
- `few`: number -> phrases for an inexact one. `span`: templates of a time that ends today, as in "last 5
  days"; `lately`: phrases for the last weeks.
- `seasons`: first and last day -> names of a part of the year: a season, a quarter, a holiday.
  `in_season`: templates of such a name, or that of a month, without a year: the latest one ("on"), this
  year's ("this"), the latest that is over ("last"), one ahead ("next"), or a third of it ("early",
  "middle", "late"). `week_number`: templates of the number of a week.
- `no_times`: phrases that contain such words and name no time. `only_within`: phrases of `relative` that
  are words of another language too; they count in texts that seem to be in this one.
- `order`: words that tell which day, week, month or year is meant.
- `weekday`: templates of a weekday that is past ("last"), ahead ("next") or neither ("on").
- `since`, `after`, `until`, `before`, `between`, `and`: the words before a day, and between two.
- `beside`: days from a day -> phrases before it, such as "the week before".
- `newest`, `oldest`: words that ask for the newest or the oldest; `no_order`: phrases in which these
  words mean something else, such as "first name".
- `first_particles`, `last_particles`: function words that may begin or end a compound, as in "setup".
- `function_words`; `abbreviations`, without the full stop, and `abbreviations_before_numbers`.
- `speakers`: the labels of "user" and "assistant" in conversations.
- `frequent_words`: about a fifth of the words of a text, by which its language is recognised. English has
  none that other languages or short notes have, too.
- `technical_words`, `orders`, `polite_words`, `personal_words`, `possessives`: of prompts to an agent,
  see extras/recall/prompts.py. A technical word stands for all its forms.
- `has_spaces`: whether there are spaces between words; true if it is missing.

A phrase that often means something else is left out, such as the German and Spanish words for
tomorrow, which also mean "morning".
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from typing import Any

from .characters import fold

OPENERS = ("before", "until", "after", "since")  # kinds of phrases before a day
FILE = os.path.join(os.path.dirname(__file__), "languages.json")


Languages = dict[str, dict[str, Any]]  # code of a language -> kind of words -> words


@cache
def languages() -> Languages:
    """The table, with words as they are written."""
    with open(FILE, encoding="utf-8") as file:
        table: Languages = json.load(file)
    return table


def folded(text: str) -> str:
    """The form in which the words of a text are compared with those of a language."""
    return fold(text).lower()


def _folded_values(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _folded_values(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return list(map(_folded_values, value))
    return folded(value) if isinstance(value, str) else value


@cache
def by_language(kind: str) -> dict[str, Any]:
    """The folded words of one kind, of each language that has it."""
    return {
        code: _folded_values(language[kind])
        for code, language in languages().items()
        if kind in language
    }


@cache
def words_of(code: str, kind: str) -> frozenset[str]:
    """The single words of one kind of a language, as they are written."""
    return frozenset(" ".join(languages()[code][kind]).split())


def full_names(kind: str, code: str) -> list[str]:
    """The full names of the `months` or `weekdays` of a language, as they are written."""
    return [forms.split()[0] for forms in languages()[code][kind]]


def has_spaces(code: str) -> bool:
    """Whether a language has spaces between words."""
    return languages()[code].get("has_spaces", True) is True


@cache
def phrases(kind: str) -> frozenset[str]:
    """The phrases of one kind in all languages."""
    return frozenset(chain.from_iterable(by_language(kind).values()))


@cache
def words(kind: str) -> frozenset[str]:
    """The words of one kind in all languages."""
    return frozenset(" ".join(phrases(kind)).split())


@cache
def numbered(kind: str) -> dict[str, int]:
    """The words of `months`, `weekdays` or `numbers` in all languages, with their number from 1."""
    return {
        word: number
        for names in by_language(kind).values()
        for number, forms in enumerate(names, 1)
        for word in forms.split()
    }


@cache
def time_words() -> frozenset[str]:
    """The words for units of time, one or several, and for weekdays, in all languages."""
    units = (unit for by_unit in by_language("units").values() for unit in by_unit.values())
    return frozenset(" ".join(units).split()).union(numbered("weekdays"))


@cache
def function_words() -> dict[str, frozenset[str]]:
    """The words that occur in every text of a language, such as articles and pronouns, by its code."""
    lists = by_language("function_words").items()
    return {code: frozenset(" ".join(lines).split()) for code, lines in lists}


def occurrences(phrase: str, text: str, *, is_spaced: bool = True) -> Iterator[tuple[int, int]]:
    """Yield start and end of each occurrence of a phrase in a text, as whole words if the language
    has spaces between words.
    """
    start = text.find(phrase)
    while start >= 0:
        end = start + len(phrase)
        is_whole = not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())
        if is_whole or not is_spaced:
            yield start, end
        start = text.find(phrase, end)


@cache
def relative_phrases() -> list[tuple[str, str, str, int]]:
    """Phrases such as "last week", each after its language, and with its unit and the units back."""
    return [
        (code, phrase, unit, int(back))
        for code, by_unit in by_language("relative").items()
        for unit, by_distance in by_unit.items()
        for back, written in by_distance.items()
        for phrase in written
    ]


@cache
def openers() -> dict[str, str | int]:
    """Folded phrases before a day, with what they mean: "since", "after", "until" or "before", or the
    number of days from the day, as -7 for "the week before".
    """
    found: dict[str, str | int] = {phrase: kind for kind in OPENERS for phrase in phrases(kind)}
    for beside in by_language("beside").values():
        found |= {phrase: int(days) for days in beside for phrase in beside[days]}
    return found


def phrase_before(text: str, choices: Iterable[str]) -> str:
    """The longest of these phrases at the end of a text that ends with a space; "" if there is none."""
    written = text.rstrip()
    if written == text:
        return ""
    ending = (phrase for phrase in choices if written.endswith(phrase))
    whole = (phrase for phrase in ending if not written[: -len(phrase)][-1:].isalnum())
    return max(whole, key=len, default="")


def is_in(code: str, text: str) -> bool:
    """Whether a folded text has more function words of this language than of any other."""
    written = set(re.findall(r"[^\W\d_]+", text))
    counts = {other: len(written & own) for other, own in function_words().items()}
    own = counts.pop(code, 0)
    return own > max(counts.values(), default=0)


def alternatives(choices: Iterable[str]) -> str:
    """A regular expression for one of these texts, the longest if several match."""
    return "|".join(map(re.escape, sorted(choices, key=len, reverse=True)))
