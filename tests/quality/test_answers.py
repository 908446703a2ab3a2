"""Answers are those that were recorded, so that each number that ranks is guarded."""

import json

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.documents.markdown import chunk_text
from hybrid_memory.search.result import match
from hybrid_memory.text.query import Query
from tests.quality.answers import FILE, WAYS, answers

RECORDED = json.loads(FILE.read_text("utf-8"))


@pytest.mark.parametrize("way", WAYS)
def test_answers_are_those_that_were_recorded(way: str) -> None:
    found = answers(way)
    assert found.keys() == RECORDED[way].keys()
    for question, hits in found.items():
        recorded = RECORDED[way][question]
        assert [name for name, _ in hits] == [name for name, _ in recorded], question
        confidences = [confidence for _, confidence in recorded]
        assert [each for _, each in hits] == pytest.approx(confidences, abs=0.002), question


def test_a_note_about_somebody_else_is_never_a_strong_answer() -> None:
    with HybridStore(":memory:", {"provider": "builtin"}) as store:
        store.store("bike", "Rosa ordered the red cargo bike from the harbour shop in May.")
        [hit] = store.search("which cargo bike did Jonas order in the harbour shop?")
        assert match(hit["confidence"]) != "strong"
        [hit] = store.search("which cargo bike did Rosa order in the harbour shop?")
        assert match(hit["confidence"]) == "strong"


@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
def test_a_limit_beyond_the_first_candidates_is_reached(mode: str) -> None:
    with HybridStore(":memory:", {"provider": "builtin"}) as store:
        for number in range(200):
            store.store(f"n{number}", f"The server has the port {number}.")
        assert len(store.search("server port", 150, mode)) == 150


@pytest.mark.parametrize(
    ("note", "query", "is_found"),
    [
        ("The boiler heats the whole house.", "warm radiators in winter", True),
        ("The invoice was paid late.", "money owed by a customer", True),
        ("The database is copied every night.", "saving data safely", False),
        ("The boiler heats the whole house.", "gnarp flobber wuzz", False),
    ],
)
def test_under_a_filter_a_passage_without_the_words_must_be_near(
    note: str, query: str, *, is_found: bool
) -> None:
    with HybridStore(":memory:", {"provider": "builtin"}) as store:
        store.store("asked", note, {"tags": ["x"]})
        store.store("other", "The museum opens at nine.")
        assert bool(store.search(query, tags=["x"])) is is_found


def test_a_title_of_eight_lines_can_be_underlined_and_one_of_nine_cannot() -> None:
    for lines, heading in ((8, "a line " * 8), (9, "")):
        [chunk] = chunk_text("a line\n" * lines + "---\n\ntext")
        assert chunk.heading == heading.strip()


def test_words_of_a_title_are_no_names() -> None:
    assert Query("Which bike did Rosa Duval order?").names == [frozenset({"rosa", "duval"})]
    assert Query("The History Of Our Backups").names == []
