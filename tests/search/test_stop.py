"""An answer ends where scores fall below a share of the best; a passage about another name is not strong."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridStore
from hybrid_memory.search.request import Request
from hybrid_memory.search.result import match
from hybrid_memory.text.query import Query
from tests.command import Run, answer

NOTES = {
    "heron": "The heron of the harbour nests in the old crane.",
    "fees": "Harbour fees are due in May.",
    "crane": "The crane was painted green.",
    "soup": "Soup and bread on Fridays.",
}


@pytest.fixture(scope="module")
def store() -> Iterator[HybridStore]:
    with HybridStore(":memory:", {"provider": "builtin"}) as store:
        for doc_id, text in NOTES.items():
            store.store(doc_id, text)
        yield store


@given(
    st.lists(st.sampled_from("heron harbour crane soup bread nest May".split()), min_size=1),
    st.floats(0, 1),
    st.integers(1, 4),
)
@settings(deadline=None)
def test_the_results_are_those_above_the_share_and_the_others_are_counted(
    store: HybridStore, words: list[str], stop: float, limit: int
) -> None:
    query = " ".join(words)
    whole = store.answer(query, Request(limit)).results
    ended = store.answer(query, Request(limit, stop=stop))
    best = max(hit["score"] for hit in whole)
    expected = [hit for hit in whole if hit["score"] >= stop * best]
    # Scores of results are rounded: one at the bound may be on either side
    at_bound = [hit for hit in whole if abs(hit["score"] - stop * best) < 1e-5]
    assert abs(len(ended.results) - len(expected)) <= len(at_bound)
    assert [hit["doc_id"] for hit in ended.results if hit not in at_bound] == [
        hit["doc_id"] for hit in expected if hit not in at_bound
    ]
    assert ended.cut == len(whole) - len(ended.results)
    assert (f"{ended.cut} more below {stop:g} of the best" in (ended.more or "")) == (ended.cut > 0)


def test_the_command_reports_what_it_leaves_out(run: Run) -> None:
    for doc_id, text in NOTES.items():
        answer(run("store", "--doc-id", doc_id, "--text", text, "--provider", "builtin"))
    query = "where does the heron nest in the harbour?"
    done = run("search", query, "--stop", "0.5", "--provider", "builtin")
    assert [hit["doc_id"] for hit in answer(done)] == ["heron"]
    assert done.stderr == "hybrid-memory: 1 more below 0.5 of the best score (stop)\n"
    assert run("search", query, "--stop", "0.5", "--quiet", "--provider", "builtin").stderr == ""
    assert run("search", query, "--stop", "1.5").returncode == 2


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("Which cargo bike did Rosa Duval order?", [{"rosa", "duval"}]),
        ("Rosa Duval ordered what?", [{"duval"}]),
        ("did Ann's brother meet Bo-Li or José?", [{"ann"}, {"jose"}]),
        ("what does McDonald want", [{"mcdonald"}]),
        ("Done. Which port has the GPU server?", []),
        ("GPU Server Port", []),
        ("The Old Man And The Sea", []),
        ("what did Rosa say on Monday", [{"rosa"}]),
        ("鷺はどこ", []),
        ("", []),
    ],
)
def test_names_are_words_with_a_capital_inside_a_sentence(
    query: str, names: list[set[str]]
) -> None:
    assert Query(query).names == names


@pytest.mark.parametrize(
    ("asked", "is_strong"), [("Anne Koch", True), ("Koch", True), ("Rosa Duval", False)]
)
def test_a_passage_about_another_name_is_no_strong_match(asked: str, is_strong: bool) -> None:
    with HybridStore(":memory:", {"provider": "builtin"}) as store:
        store.store("orders", "Anne Koch ordered the cargo bike with the long cargo box.")
        store.store("rosa", "Rosa Duval paid for the repair of a wheel.")
        [first, *_] = store.search(
            f"Which long cargo bike was ordered by {asked} with a cargo box?"
        )
        assert first["doc_id"] == "orders"
        assert (match(first["confidence"]) == "strong") == is_strong
        assert first["confidence"] >= 0.3
