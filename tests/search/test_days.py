"""A day is the same in every form: in texts, paths, headings, and in queries."""

from datetime import date
from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.documents.document import Document
from hybrid_memory.search.request import Request
from hybrid_memory.storage.bm25 import stems
from hybrid_memory.text.analyzer import indexed, searchable
from hybrid_memory.text.characters import fold
from hybrid_memory.text.highlight import Highlighter
from hybrid_memory.text.periods import mentions, periods
from hybrid_memory.text.query import Query
from hybrid_memory.text.written_days import token, written_days
from tests.traces import steps

TODAY = date(2026, 4, 20)
FORMS = {
    "iso": "2026-{m:02}-{d:02}",
    "english": "{d} March 2026",
    "american": "March {d}, 2026",
    "german": "{d}. März 2026",
    "dotted": "{d}.{m}.2026",
    "padded": "{d:02}.{m:02}.26",
    "french": "{d} mars 2026",
    "russian": "{d} марта 2026",
    "chinese": "2026年{m}月{d}日",
    "yearless": "March {d}",
}
EVENTS = {
    8: "the morning brief went out late",
    9: "the boiler was serviced by Ruiz",
    13: "the parcel came back",
    14: "the budget was approved",
    21: "the lease was signed",
    28: "the cat went to the vet",
}
HELD_OUT = Path(__file__).parent.parent / "text" / "data" / "day_forms_held_out.txt"


def form(name: str, day: int) -> str:
    return FORMS[name].format(d=day, m=3)


def put(store: HybridStore, texts: dict[str, str]) -> None:
    with store.storage.transaction():
        for doc_id, text in texts.items():
            store.storage.documents.put(store.prepare(Document(doc_id, text, {})), {})


def held_out() -> list[tuple[str, str]]:
    lines = HELD_OUT.read_text().splitlines()
    pairs = [line.split("|") for line in lines if line and not line.startswith("#")]
    return [(day, written) for day, written in pairs]


@pytest.mark.parametrize(("day", "written"), held_out())
def test_forms_of_a_day(day: str, written: str) -> None:
    text = f"On {written} it rained"
    folded = fold(text).lower()
    assert [found.date for found in written_days(folded)] == [day]
    [period] = periods(folded, TODAY)
    assert (period.first, period.last) == (day, day)
    assert token(day) in indexed(text).split()


@pytest.mark.parametrize(
    "text",
    [
        "03/04/2026",
        "2026-02-30",
        "version 2026.3.8",
        "10.0.0.7",
        "1.2.3",
        "v8.3.26",
        "issue 14",
        "20260308123000",
        "call 555-0199",
        "12:30",
    ],
)
def test_what_is_no_day_or_more_than_one(text: str) -> None:
    assert written_days(text) == []
    assert indexed(text) == searchable(text)


@pytest.mark.parametrize("written", FORMS)
def test_a_question_in_any_form_finds_the_day(store: HybridStore, written: str) -> None:
    # A day without a year is found in every year.
    forms = ["yearless"] if written == "yearless" else [*FORMS.keys() - {"yearless"}]
    texts = {f"n{d}.md": f"# Log\n\nOn {form(written, d)} {text}." for d, text in EVENTS.items()}
    other = "In March the garden plan {} changed; {} tulips, 2026 was fine."
    put(store, texts | {f"x{n}.md": f"# Other {n}\n\n{other.format(n, n + 3)}" for n in range(20)})
    for asked in sorted(forms):
        for day in EVENTS:
            hits = store.search(f"what happened on {form(asked, day)}?", 3, today=TODAY)
            assert hits[0]["doc_id"] == f"n{day}.md", (asked, day)


def test_a_day_without_a_year_is_that_of_any_year(store: HybridStore) -> None:
    put(store, {"a.md": "On 2026-03-08 the brief was late", "b.md": "On 2026-03-09 it was not"})
    for question in ("what happened on March 8?", "the 8th of March"):
        assert store.search(question, 1, today=TODAY)[0]["doc_id"] == "a.md"


def test_a_number_is_not_the_day_of_a_daily_note(store: HybridStore) -> None:
    notes = {
        f"memory/2026-11-{day:02}.md": f"# 2026-11-{day:02}\n\n## Issues\n\nIssue {29 - day}: noted."
        for day in range(1, 29)
    }
    put(store, notes)
    for number in range(1, 29, 3):
        [hit] = store.search(f"what was issue {number} about?", 1, today=TODAY)
        assert f"Issue {number}:" in hit["text"]
        [hit] = store.search(f"2026-11-{number:02}", 1, today=TODAY)
        assert hit["doc_id"] == f"memory/2026-11-{number:02}.md"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("the week before 16 november 2023", ("2023-11-09", "2023-11-15")),
        ("the day after 2026-03-08", ("2026-03-09", "2026-03-09")),
        ("last night", ("2026-04-19", "2026-04-19")),
    ],
)
def test_days_beside_a_day(query: str, expected: tuple[str, str]) -> None:
    [period] = periods(query, TODAY)
    assert (period.first, period.last) == expected


def test_last_night_is_the_day_before_the_note() -> None:
    [night] = mentions("watched it last night!", date(2022, 5, 2))
    assert night.first == "2022-05-01"


def test_years_ago_are_the_days_of_notes_not_what_they_mention(store: HybridStore) -> None:
    put(store, {"2023-06-01.md": "we moved last year", "2022-06-01.md": "we moved to Ulm"})
    [hit] = store.search("where did we move 4 years ago?", 1, today=TODAY)
    assert hit["doc_id"] == "2022-06-01.md"


@pytest.mark.parametrize(
    ("question", "share"),
    [
        ("where did we move 4 years ago?", 0.1),
        ("where did we move 46 months ago?", 0.1),
        ("where did we move in June 2022?", 0.2),
        ("where did we move on 2022-06-01?", 0.2),
        ("where did we move in May 2022?", None),
        ("where did we move?", None),
    ],
)
def test_days_that_are_not_exact_raise_less(
    store: HybridStore, question: str, share: float | None
) -> None:
    put(store, {"2022-06-01.md": "we moved to Ulm"})
    [hit] = store.search(question, 1, today=TODAY, explain=True)
    added = [each["add"] for each in steps(hit, "date") if "add" in each]
    assert added == ([] if share is None else [share])


@pytest.mark.both_engines
def test_a_month_is_that_of_its_days(store: HybridStore) -> None:
    put(store, {"a.md": "On 2026-03-08 the brief was late", "b.md": "On 2026-04-08 it was not"})
    [hit] = store.search("what happened in March 2026?", 1, today=TODAY)
    assert hit["doc_id"] == "a.md"


def test_a_day_that_nothing_is_of_is_named(store: HybridStore) -> None:
    put(store, {"a.md": "On 8 March 2026 the brief was late", "2026-03-10.md": "all quiet"})
    unknown = store.answer("what happened on 9 March 2026?", Request(mode="keyword")).warnings
    assert unknown == ["nothing is dated 2026-03-09 or mentions this date"]
    for question in ("what happened on 8 March 2026?", "what happened on 2026-03-10?", "brief"):
        assert store.answer(question, Request(mode="keyword")).warnings == []


def test_a_time_that_is_not_understood_is_named(store: HybridStore) -> None:
    put(store, {"a.md": "On 8 March 2026 the brief was late"})
    [line, *_] = store.answer("what was late on 03/04/2026?", Request(mode="keyword")).warnings
    assert line.startswith("the time '03/04/2026' was not understood")


def test_a_day_is_highlighted_in_its_own_form() -> None:
    text = "It rained. On 8 March 2026 the brief was late, on 9 March it was not."
    highlighter = Highlighter(Query("brief 2026-03-08", today=TODAY), [text], stems)
    marked = [text[span.start : span.end] for span in highlighter.spans(text)]
    assert marked == ["8 March 2026", "brief"]


@pytest.mark.both_engines
def test_a_day_counts_as_a_word_that_the_passage_has(store: HybridStore) -> None:
    put(
        store, {"a.md": "On 2026-03-08 the brief was late", "b.md": "In March 2026 we had 8 briefs"}
    )
    [hit] = store.search("8 March 2026", 1, mode="keyword", today=TODAY)
    assert (hit["doc_id"], hit["confidence"]) == ("a.md", 1.0)


NAMES_OF_DAYS = [
    "today", "Tomorrow", "Domani", "oggi", "yesterday", "last week", "this month", "Monday", "lundi",
    "May", "Сегодня", "明天",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES_OF_DAYS)
def test_the_name_of_a_day_that_no_text_writes_is_a_word(store: HybridStore, name: str) -> None:
    put(store, {"a.md": f"the song {name} is nice", "b.md": "the song Grazie is not"})
    [hit] = store.search(name, 5, mode="keyword", today=TODAY, explain=True)
    assert (hit["doc_id"], hit["confidence"]) == ("a.md", 1.0)
    assert "instead" not in hit
    [hit, *_] = store.search(name, 5, today=TODAY)
    assert hit["doc_id"] == "a.md"


@pytest.mark.parametrize("name", ["today", "oggi", "this month", "this week"])
def test_the_name_of_a_day_that_a_text_writes_is_not_a_word(store: HybridStore, name: str) -> None:
    put(store, {"a.md": f"the song {name} is nice", "b.md": "2026-04-20: the parcel came"})
    [hit] = store.search(name, 5, mode="keyword", today=TODAY)
    assert hit["doc_id"] == "b.md"


@pytest.mark.parametrize("day", ["2026-04-20", "20.4.2026", "April 20"])
def test_a_day_in_digits_is_never_searched_as_words(store: HybridStore, day: str) -> None:
    put(store, {"a.md": "issue 20 and port 2026 were closed on Monday in room 4"})
    assert store.search(day, 5, mode="keyword", today=TODAY) == []
