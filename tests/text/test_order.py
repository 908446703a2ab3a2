"""Words of order in a query: what they ask for, and where they are words like others."""

import pytest

from hybrid_memory.text.languages import by_language, has_spaces
from hybrid_memory.text.order import LONGEST_QUESTION, NEWEST, OLDEST
from hybrid_memory.text.query import Query

EVERY_WORD = [
    pytest.param(kind, word, has_spaces(code), id=f"{code} {word}")
    for kind in (NEWEST, OLDEST)
    for code, words in by_language(kind).items()
    for word in words
]


def words(query: Query) -> list[str]:
    return [term.tokens[0].lower() for term in query.words]


@pytest.mark.parametrize(("kind", "word", "is_spaced"), EVERY_WORD)
def test_a_word_of_order_asks_for_an_order_and_is_not_searched(
    kind: str, word: str, *, is_spaced: bool
) -> None:
    text = f"{word} zanzibar" if is_spaced else f"{word}会议"
    query = Query(text)
    assert query.order == kind
    assert words(query) == (["zanzibar"] if is_spaced else ["会议"])


@pytest.mark.parametrize("phrase", sorted(set().union(*by_language("no_order").values())))
def test_a_fixed_phrase_asks_for_no_order(phrase: str) -> None:
    assert Query(f"zanzibar {phrase}").order is None


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("what was the latest Acme meeting?", NEWEST),
        ("the meeting that was the most recent", NEWEST),
        ("last 3 meetings", NEWEST),
        ("who is on call now?", NEWEST),
        ("which port do we use at the moment?", NEWEST),
        ("when did we first meet Ann?", OLDEST),
        ("l'ultimo incontro", NEWEST),
    ],
)
def test_an_order_is_read_anywhere_in_a_question(text: str, order: str) -> None:
    assert Query(text).order == order


@pytest.mark.parametrize(
    "text",
    [
        "zanzibar",
        '"latest" release',
        "last_name column",
        "first, check the server",
        "now, check the server",
        "last week's meeting",
        "last 5 days at work",
        "first day of school",
        "The Last Supper in Milan",
        "first and last meeting",
        "latest",
        "pastfirst meeting",
        f"the latest meeting {'with Ann ' * 20}",
    ],
)
def test_elsewhere_the_word_is_a_word_like_others(text: str) -> None:
    assert Query(text).order is None


def test_a_quoted_word_is_searched_and_a_longer_text_is_a_message() -> None:
    assert words(Query('"latest" release')) == ["latest", "release"]
    text = "the latest meeting with Ann " + "x" * LONGEST_QUESTION
    assert "latest" in words(Query(text))


def test_an_expression_of_fts5_has_no_words_of_order() -> None:
    assert Query("latest AND release", fts_syntax=True).order is None


def test_a_word_of_order_leaves_no_compound() -> None:
    query = Query("latest release of src/a.ts")
    assert words(query) == ["release", "src", "ts"]
    assert not any("latest" in term.tokens for term in query.terms)
