from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import HybridStore
from hybrid_memory.search.fusion import normalize_scores
from hybrid_memory.search.hit import Hit, Step
from hybrid_memory.search.phrasing import Phrasing
from hybrid_memory.search.stages import BEST, DOCUMENT_SHARE, NAME_FACTOR, add_context
from hybrid_memory.storage.rows import Candidate
from hybrid_memory.text.query import Query

QUESTION = Phrasing(Query("server"), [], SimpleNamespace(), is_question=True)


def hit(id: int, doc_id: str, score: float) -> Hit:
    candidate = Candidate(id, doc_id, f"{doc_id}-{id}", "", "", None, None, None)
    made = Hit(candidate, normalize_scores(None, None, {}, {}, {}, (1.0, 0.0)), QUESTION)
    made.add("keyword", score)
    return made


def test_the_best_of_a_document_and_its_whole_name_raise_a_score() -> None:
    """a has chunks 1, 2, 3 and 4, b has 5; a's sum is 1.0 + 0.8 + 0.5, b's 0.9.

    1: 1.0 + 0.07 * 2.3          = 1.161, the highest: all are divided by it
    5: (0.9 + 0.07 * 0.9) * 1.15 = 1.10745
    """
    hits = [
        hit(1, "a", 1.0),
        hit(5, "b", 0.9),
        hit(2, "a", 0.8),
        hit(3, "a", 0.5),
        hit(4, "a", 0.1),
    ]
    found = {each.id: each for each in add_context(hits, {"b"})}
    raised = {1: 1.161, 5: 1.10745, 2: 0.961, 3: 0.661, 4: 0.261}
    assert list(found) == list(raised)
    assert {id: each.score for id, each in found.items()} == pytest.approx(
        {id: x / 1.161 for id, x in raised.items()}
    )
    assert found[5].trace == [
        Step("keyword", 0.9, False),
        Step("document", pytest.approx(0.063), False),
        Step("name", 1.15, True),
        Step("rescale", pytest.approx(1 / 1.161), True),
    ]


def test_a_named_document_passes_one_that_is_a_little_better() -> None:
    hits = [hit(1, "Heron Mirror North", 1.0), hit(2, "Heron", 0.9)]
    assert [each.doc_id for each in add_context(hits, {"Heron"})] == ["Heron", "Heron Mirror North"]


def test_shares_are_those_of_the_documentation() -> None:
    assert (DOCUMENT_SHARE, BEST, NAME_FACTOR) == (0.07, 3, 1.15)


HERON = "If it hangs, press the button for ten seconds, then start it again."
MIRROR = "The mirror of heron hangs at times. Restart it from the console."


@pytest.mark.parametrize(
    ("name", "longer", "query", "is_named"),
    [
        ("Heron", "Heron Mirror North", "how do I restart heron when it hangs?", True),
        ("the-heron", "Heron Mirror North", "restart the herons when it hangs", True),
        ("Heron Mirror North", "Heron", "how do I restart Heron Mirror North?", True),
        ("Heron South", "Heron Mirror North", "how do I restart heron when it hangs?", False),
        ("2222", "Heron Mirror North", "restart heron on 2222", False),
    ],
)
def test_the_longest_whole_name_in_a_query_is_named(
    name: str, longer: str, query: str, *, is_named: bool
) -> None:
    with HybridStore(":memory:", {"provider": "builtin"}) as store:
        store.store(f"notes/{name}.md", HERON)
        store.store(f"notes/{longer}.md", MIRROR)
        for number in range(20):
            store.store(f"other {number}", f"The soup number {number} needs salt.")
        found = store.search(query, explain=True)
        [own] = [hit for hit in found if hit["doc_id"] == f"notes/{name}.md"]
    assert any(step["name"] == "name" for step in own["explain"]["trace"]) is is_named


def test_a_chunk_among_good_ones_passes_a_lonely_one() -> None:
    hits = [
        hit(1, "lonely", 1.0),
        hit(11, "together", 0.97),
        hit(12, "together", 0.9),
        hit(13, "together", 0.9),
    ]
    assert add_context(hits)[0].id == 11
    assert add_context(hits)[0].score == pytest.approx(1.0)


scores = st.floats(0, 1, allow_subnormal=False)


@given(st.lists(scores))
def test_where_each_document_has_one_chunk_nothing_changes(values: list[float]) -> None:
    hits = [hit(id, f"d{id}", score) for id, score in enumerate(sorted(values, reverse=True))]
    found = add_context(hits)
    assert [each.id for each in found] == [each.id for each in hits]
    assert [each.score for each in found] == pytest.approx([each.score for each in hits])


@given(st.dictionaries(st.integers(1, 30), st.tuples(st.sampled_from("abc"), scores), min_size=1))
def test_the_best_score_stays(chunks: dict[int, tuple[str, float]]) -> None:
    hits = [hit(id, doc_id, score) for id, (doc_id, score) in chunks.items()]
    before = {each.id: each.score for each in hits}
    found = add_context(hits)
    assert (
        found[0].score == max(each.score for each in found) == pytest.approx(max(before.values()))
    )
    assert all(step.value >= 0 for each in found for step in each.trace)


def test_nothing_and_zero_are_left_alone() -> None:
    assert add_context([]) == []
    assert [each.score for each in add_context([hit(1, "a", 0.0), hit(2, "a", 0.0)])] == [0.0, 0.0]


def test_equal_hits_stay_in_the_order_they_came() -> None:
    hits = [hit(7, "c", 0.5), hit(1, "a", 0.5), hit(4, "b", 0.5)]
    assert [each.id for each in add_context(hits)] == [7, 1, 4]
