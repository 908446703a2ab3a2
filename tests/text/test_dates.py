from contextlib import suppress
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.text.characters import fold
from hybrid_memory.text.dates import age, document_date, origin_of_date
from hybrid_memory.text.periods import first_day, last_day, periods


@pytest.mark.parametrize(
    ("doc_id", "metadata", "expected"),
    [
        ("memory/2026-01-05.md", {}, "2026-01-05"),
        ("notes/2026-01/x.md", {}, "2026-01"),
        ("notes/2026-01-07/part-2025-11.md", {}, "2026-01-07"),
        ("2026-01-05.md", {"date": "2020-01-01"}, "2020-01-01"),
        ("2026-01-05.md", {"date": "2020-01"}, "2026-01-05"),
        ("2026-01-05.md", {"created": "2020-01-01"}, "2026-01-05"),
        ("notes/2026-01/x.md", {"date": "2026-01-07"}, "2026-01-07"),
        ("2026 07 18.md", {}, "2026-07-18"),
        ("talk_19_06_2026.md", {}, "2026-06-19"),
        ("08 07 2026.md", {}, None),
        ("compte-rendu-du-14-mai-2020.md", {}, "2020-05-14"),
        ("may-14-2020-minutes.md", {}, "2020-05-14"),
        ("notes-2020-chapter-14.md", {}, None),
        ("4. Mai 2026.md", {"created": "2026-05-05"}, "2026-05-04"),
        ("2026-02-30.md", {}, None),
        ("a.md", {"date": "２０２６-01-05"}, "2026-01-05"),
        ("Tage/03.05.2026.md", {}, "2026-05-03"),
        ("4. Mai 2026/a.md", {}, None),
    ],
)
def test_date_comes_from_the_path_else_from_the_front_matter(
    doc_id: str, metadata: dict[str, object], expected: str | None
) -> None:
    assert document_date(doc_id, metadata) == expected


@pytest.mark.parametrize(
    ("metadata", "titles", "expected"),
    [
        ({"created": "2026-01-05T10:00"}, [], ("2026-01-05", "created")),
        (
            {"published": "2026-01-01", "updated": "2026-01-02", "created_at": "2026-01-03"},
            [],
            ("2026-01-03", "created_at"),
        ),
        ({"date": "soon", "modified": "2026-01-04"}, ["2026-01-05"], ("2026-01-04", "modified")),
        ({"created": "[[2026-01-05]]"}, [], ("2026-01-05", "created")),
        ({"date created": "2026-01-05"}, [], ("2026-01-05", "date created")),
        ({"Last Updated": "2026-01-05"}, [], ("2026-01-05", "Last Updated")),
        ({"created": "some day in May 2026"}, [], None),
        ({}, ["Standup", "2026-01-05, standup"], ("2026-01-05", "title")),
        ({}, ["Notes of January 5th, 2026"], ("2026-01-05", "title")),
        ({}, ["1er août 2025"], ("2025-08-01", "title")),
        ({}, ["Plan for Sept. 2026"], ("2026-09", "title")),
        ({}, ["maybe 2026", "2026 in May", "May 20"], None),
    ],
)
def test_a_path_without_a_date_leaves_it_to_the_metadata_and_then_the_titles(
    metadata: dict[str, object], titles: list[str], expected: tuple[str, str] | None
) -> None:
    found = document_date("a.md", metadata, titles)
    assert (found and (found, origin_of_date(found, "a.md", metadata, titles))) == expected
    assert document_date("2020-02-02.md", metadata, titles) == "2020-02-02"


def test_the_keys_that_date_a_document_can_be_chosen() -> None:
    metadata = {"date": "2026-01-01", "begun": "2026-02-02", "Sent": "2026-03-03"}
    assert document_date("a.md", metadata, keys=["begun", "date"]) == "2026-02-02"
    assert document_date("a.md", metadata, keys=["Sent"]) == "2026-03-03"
    assert document_date("a.md", metadata, keys=[]) is None
    assert origin_of_date("2026-01-01", "a.md", {}) == "text"


TODAY = date(2026, 3, 1)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026-01-05", "2026-01-05", "2026-01-05"),
        ("20260105", "2026-01-05", "2026-01-05"),
        ("2026-02", "2026-02-01", "2026-02-31"),
        ("2026", "2026-01-01", "2026-12-31"),
        ("2024-02-29", "2024-02-29", "2024-02-29"),
        ("1d", "2026-02-28", "2026-02-28"),
        ("3w", "2026-02-08", "2026-02-08"),
        ("6m", "2025-08-30", "2025-08-30"),
        ("2026y", "0001-01-01", "0001-01-01"),
    ],
)
def test_days_that_a_filter_means(text: str, first: str, last: str) -> None:
    assert (first_day(text, TODAY), last_day(text, TODAY)) == (first, last)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "20261",
        "2026-13",
        "2025-02-29",
        "2026-01-05T10:00",
        "100000d",
        "1.5y",
        "7D",
        "0000-01",
        "٣d",
    ],
)
def test_what_is_not_a_date_is_an_error_that_shows_some(text: str) -> None:
    for day in (first_day, last_day):
        with pytest.raises(
            ValueError, match="is not a date: write 2026-01-05, 2026-01, 2026, an age such as 7d"
        ):
            day(text, TODAY)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("yesterday", "2026-01-31", "2026-01-31"),
        ("last week", "2026-01-19", "2026-01-25"),
        ("8 March 2025", "2025-03-08", "2025-03-08"),
    ],
)
def test_a_date_in_words_is_that_of_a_query(text: str, first: str, last: str) -> None:
    day = date(2026, 2, 1)
    assert (first_day(text, day), last_day(text, day)) == (first, last)
    [period] = periods(fold(text).lower(), day)
    assert (period.first, period.last) == (first, last)


@pytest.mark.parametrize(
    ("of_document", "today", "days"),
    [
        ("2026-01", "2026-02-01", 1),
        ("2026-01", "2026-01-31", 0),
        ("2026-02-31", "2026-03-01", 1),
        ("2027-01-01", "2026-03-01", 0),
        ("9999-12", "9999-12-31", 0),
        ("9999-99-99", "2026-03-01", 0),
        ("", "2026-03-01", 0),
    ],
)
def test_age_in_days(of_document: str, today: str, days: int) -> None:
    assert age(of_document, date.fromisoformat(today)) == days


ANY_TEXT = st.text() | st.from_regex(r"[0-9]{4,5}-[0-9]{2}(-[0-9]{2})?", fullmatch=True)


@given(ANY_TEXT, st.dates())
def test_no_stored_date_is_an_error(text: str, today: date) -> None:
    assert age(text, today) >= 0
    found = document_date(text, {"date": text})
    assert found is None or date.fromisoformat(found if len(found) == 10 else found + "-01")


@given(ANY_TEXT, st.dates())
def test_a_filter_is_a_day_or_an_error(text: str, today: date) -> None:
    with suppress(ValueError):
        assert date.fromisoformat(first_day(text, today))
        assert first_day(text, today) <= last_day(text, today)
