from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.text.characters import fold
from hybrid_memory.text.languages import folded, languages
from hybrid_memory.text.periods import MOST, mentions, periods
from hybrid_memory.text.query import Query
from hybrid_memory.text.written_days import token

TODAY = date(2026, 1, 29)  # a Thursday


def meant(text: str, today: date = TODAY) -> list[tuple[str, str]]:
    return [(period.first, period.last) for period in periods(fold(text).lower(), today)]


def test_the_day_before_or_after_which_something_was_is_not_looked_for() -> None:
    def looked_for(text: str) -> set[str]:
        return {" ".join(term.tokens) for term in Query(text, today=TODAY).terms}

    assert looked_for("budget before 2025-01-04") == {"budget"}
    assert looked_for("budget after 2026-01-27") == {
        "budget", token("2026-01-28"), token("2026-01-29"),
    }  # fmt: skip
    assert looked_for("budget since 12 September") == {"budget"}  # so many days are no words


@pytest.mark.parametrize("today", [date.min, date.max])
def test_what_is_out_of_the_calendar_is_no_period(today: date) -> None:
    text = (
        "yesterday, tomorrow, last week, next week, last month, last year, next friday, on friday"
    )
    assert all("0001" <= first <= last for first, last in meant(text, today))
    assert meant("yesterday" if today == date.min else "tomorrow", today) == []


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("the call of 2023-09-12", "2023-09-12", "2023-09-12"),
        ("am 3.9.2023 beim Arzt", "2023-09-03", "2023-09-03"),
        ("12 September 2023", "2023-09-12", "2023-09-12"),
        ("notes of September 2023", "2023-09-01", "2023-09-30"),
        ("am 12. September", "2025-09-12", "2025-09-12"),
        ("between 3 and 5 May 2025", "2025-05-03", "2025-05-05"),
        ("3–5 May", "2025-05-03", "2025-05-05"),
        ("May 3-99", "2025-05-03", "2025-05-03"),
        ("room 5 and May 8", "2025-05-08", "2025-05-08"),
        ("lundi prochain", "2026-02-02", "2026-02-02"),
        ("три дня назад", "2026-01-26", "2026-01-26"),
        ("vor zwei Tagen", "2026-01-27", "2026-01-27"),
        ("会议是三天前的", "2026-01-26", "2026-01-26"),
        ("between 5 and 3 May", "2025-05-03", "2025-05-03"),
        ("29 February", "2024-02-29", "2024-02-29"),
        ("what did Emil say yesterday?", "2026-01-28", "2026-01-28"),
        ("the day before yesterday", "2026-01-27", "2026-01-27"),
        ("this week's calls", "2026-01-26", "2026-02-01"),
        ("what did we do three weeks ago", "2026-01-05", "2026-01-11"),
        ("a month ago", "2025-12-01", "2025-12-31"),
        ("the call on Monday", "2026-01-26", "2026-01-26"),
        ("next Friday", "2026-01-30", "2026-01-30"),
        ("after 2026-01-03", "2026-01-04", "2026-01-29"),
        ("before March 2025", "0001-01-01", "2025-02-28"),
        ("between 3 May and 10 May", "2025-05-03", "2025-05-10"),
    ],
)
def test_days_are_read_from_a_query(text: str, first: str, last: str) -> None:
    assert meant(text) == [(first, last)]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Dentist on 3 May at 9", "2026-05-03"),
        ("Demo next Friday", "2026-04-24"),
        ("as said last Monday", "2026-04-13"),
        ("we ship tomorrow", "2026-04-21"),
        ("two days ago it broke", "2026-04-18"),
    ],
)
def test_days_that_a_passage_speaks_of_are_counted_from_its_own(text: str, day: str) -> None:
    [mention] = mentions(fold(text).lower(), date(2026, 4, 20))
    assert (mention.first, mention.last) == (day, day)


def test_days_that_are_open_to_a_side_are_not_looked_for_as_words() -> None:
    assert Query("outages before March 2025", today=TODAY).compounds == []


def test_the_first_periods_count() -> None:
    assert meant("2023-09-12 2023-09-13 2023-09-14 2023-09-15") == [
        (f"2023-09-{day}",) * 2 for day in (12, 13, 14)
    ]
    assert MOST == 3


def test_words_for_days_become_the_tokens_of_the_days() -> None:
    assert [term.tokens for term in Query("outage yesterday", today=TODAY).terms] == [
        (token("2026-01-28"),),
        ("outage",),
    ]
    assert [term.tokens for term in Query("call of 12 September 2023", today=TODAY).words] == [
        ("call",),
        (token("2023-09-12"),),
    ]
    assert Query("what did we do last week?", today=TODAY).words == []
    assert len(Query("what did we do last week?", today=TODAY).terms) == 7


ON = date(2026, 11, 28)  # a Saturday
SAID = """
in the last 5 days|2026-11-23|2026-11-28
in the last two weeks|2026-11-14|2026-11-28
a couple of weeks ago|2026-11-09|2026-11-15
last weekend|2026-11-21|2026-11-22
over the weekend|2026-11-28|2026-11-29
this morning|2026-11-28|2026-11-28
last night|2026-11-27|2026-11-27
what did I do lately|2026-10-29|2026-11-28
in October|2026-10-01|2026-10-31
in December|2025-12-01|2025-12-31
last November|2025-11-01|2025-11-30
next May|2027-05-01|2027-05-31
in mid-October|2026-10-11|2026-10-21
October last year|2025-10-01|2025-10-31
between March and May|2026-03-01|2026-05-31
since October|2026-10-01|2026-11-28
last winter|2025-12-01|2026-02-28
spring 2025|2025-03-01|2025-05-31
winter 2023|2023-12-01|2024-02-29
Q3 2025|2025-07-01|2025-09-30
in Q3|2026-07-01|2026-09-30
the second quarter of 2025|2025-04-01|2025-06-30
this quarter|2026-10-01|2026-12-31
in week 50|2025-12-08|2025-12-14
2026-W45|2026-11-02|2026-11-08
at Christmas 2024|2024-12-20|2024-12-31
the week before Christmas 2024|2024-12-13|2024-12-19
after 2025|2026-01-01|2026-11-28
before 2024|0001-01-01|2023-12-31
between 2023 and 2024|2023-01-01|2024-12-31
in den letzten 5 Tagen|2026-11-23|2026-11-28
im 3. Quartal 2025|2025-07-01|2025-09-30
qu'ai-je fait hier|2026-11-27|2026-11-27
l'été dernier|2026-06-01|2026-08-31
最近3天的电话|2026-11-25|2026-11-28
"""


@pytest.mark.parametrize("line", SAID.split("\n")[1:-1])
def test_a_time_as_people_say_it(line: str) -> None:
    text, first, last = line.split("|")
    assert meant(f"{text}", ON) == [(first, last)]


@pytest.mark.parametrize(
    "text",
    [
        "may I march on", "you may ask March about it", "the fall of the tree", "a spring in the bed",
        "how do I configure beans in Spring Boot", "the first quarter of the game",
        "which week number is it", "recently closed tabs", "hier steht es",
        "was steht hier im Flur", "issues 2024", "port 2049", "la maison a été dernier cri",
        "May's book", "en sept minutes", "KW", "set 30 as the timeout", "5 ago", "v2.0", "10.0.0.1", "2023-13-01",
        "2023-02-30", "todays", "192.168.1.5", "",
    ],
)  # fmt: skip
def test_words_that_are_also_those_of_a_time(text: str) -> None:
    assert meant(text, ON) == []


@pytest.mark.parametrize(
    ("today", "last", "this", "coming"), [(28, 21, 28, 5), (27, 21, 21, 5), (23, 21, 21, 5)]
)
def test_weekends_around_a_day(today: int, last: int, this: int, coming: int) -> None:
    day = date(2026, 11, today)
    [[found, _]] = meant("last weekend", day)
    assert found == f"2026-11-{last}"
    [[found, _]] = meant("over the weekend", day)
    assert found == f"2026-11-{this}"
    [[found, _]] = meant("next weekend", day)
    assert found[-2:] == f"{coming:02}"


def test_a_passage_that_says_lately_or_in_summer_is_of_no_day() -> None:
    for text in ("we met lately", "in summer", "in the last 5 days", "this weekend", "in October"):
        assert mentions(text, ON) == []


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        ("what broke on 03/04/2026", "03/04/2026"),
        ("what broke on 2026-02-30", "2026-02-30"),
        ("what broke on 31 February 2026", "31 february 2026"),
        ("ten Fridays ago", "fridays ago"),
        ("in den letzten Tagen", "letzten tagen"),
        ("what broke in the last 5 days", None),
        ("what broke on 3 April 2026", None),
        ("the last cup of tea. Days later", None),
        ("version 1.2.3 of 10.0.0.1", None),
    ],
)
def test_a_time_that_is_not_read_is_named(text: str, unread: str | None) -> None:
    assert Query(text, today=ON).unread_time == unread


def test_the_name_of_a_month_stays_a_word_and_that_of_a_year_behind_before_does_not() -> None:
    def words_of(text: str) -> list[str]:
        return [term.tokens[0] for term in Query(text, today=ON).words]

    assert words_of("invoices in October") == ["invoices", "October"]
    assert words_of("invoices in October last year") == ["invoices", "October"]
    assert words_of("invoices of last summer") == ["invoices", "summer"]
    assert words_of("invoices before 2024") == ["invoices"]
    assert words_of("invoices in the last 5 days") == ["invoices"]


days = st.dates(date(1900, 2, 1), date(2099, 12, 1))
words = st.sampled_from(
    [
        folded(phrase)
        for language in languages().values()
        for by_distance in language.get("relative", {}).values()
        for written in by_distance.values()
        for phrase in written
        if phrase not in language.get("only_within", ())
    ]
)


@given(
    st.text(max_size=60)
    | st.lists(words | st.text("2019-. may", max_size=12), max_size=6).map(" ".join),
    days,
)
def test_any_text_has_whole_periods_that_do_not_overlap(text: str, today: date) -> None:
    folded = fold(text).lower()
    found = periods(folded, today)
    assert len(found) <= MOST
    for period in found:
        assert period.first <= period.last
        assert period.has(period.first) and period.has(period.last[:7])
        assert not period.has((date.fromisoformat(period.last) + timedelta(1)).isoformat())
        assert period.tokens()
    ends = [0, *(period.end for period in found)]
    assert all(
        end <= period.start < period.end <= len(folded)
        for end, period in zip(ends, found, strict=False)
    )


@given(words, days)
def test_every_word_of_the_table_is_found(word: str, today: date) -> None:
    [period] = periods(word, today)
    assert period.is_named
