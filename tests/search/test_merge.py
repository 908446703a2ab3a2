import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.merger import merge_results


def hits(*scores: float, prefix: str = "d") -> list[dict[str, Any]]:
    return [
        {"doc_id": f"{prefix}{i}", "chunk_id": f"{prefix}{i}-0", "score": score}
        for i, score in enumerate(scores)
    ]


def summary(results: list[dict[str, Any]]) -> dict[str, tuple[float, str]]:
    return {hit["doc_id"]: (pytest.approx(hit["score"]), hit["source"]) for hit in results}


def test_overlap_adds_both_normalised_scores_and_is_hybrid() -> None:
    merged = merge_results(hits(4.0, 2.0), [{"doc_id": "d1", "chunk_id": "d1-0", "score": 0.5}])
    assert summary(merged) == {"d1": (0.3 * 0.5 + 0.7, "hybrid"), "d0": (0.3, "keyword")}
    assert [hit["doc_id"] for hit in merged] == ["d1", "d0"]


def test_without_overlap_each_hit_gets_its_own_side_only() -> None:
    merged = merge_results(hits(3.0, prefix="k"), hits(0.9, prefix="v"))
    assert summary(merged) == {"v0": (0.7, "vector"), "k0": (0.3, "keyword")}


def test_no_keyword_hits_leaves_the_vector_side() -> None:
    assert summary(merge_results([], hits(0.8, 0.4))) == {
        "d0": (0.7, "vector"),
        "d1": (0.35, "vector"),
    }


def test_no_vector_hits_leaves_the_keyword_side() -> None:
    assert summary(merge_results(hits(8.0, 2.0), [])) == {
        "d0": (0.3, "keyword"),
        "d1": (0.075, "keyword"),
    }


def test_nothing_on_either_side_is_nothing() -> None:
    assert merge_results([], []) == []


@pytest.mark.parametrize(
    ("keyword_weight", "vector_weight", "best"), [(0.0, 1.0, "v0"), (1.0, 0.0, "k0")]
)
def test_weight_zero_takes_a_side_out_of_the_score(
    keyword_weight: float, vector_weight: float, best: str
) -> None:
    merged = merge_results(
        hits(5.0, prefix="k"), hits(0.5, prefix="v"), keyword_weight, vector_weight
    )
    assert (merged[0]["doc_id"], merged[0]["score"]) == (best, 1.0)
    assert merged[1]["score"] == 0.0


def test_scores_that_are_all_zero_stay_zero() -> None:
    assert summary(merge_results(hits(0.0, 0.0), [])) == {
        "d0": (0.0, "keyword"),
        "d1": (0.0, "keyword"),
    }


def test_negative_maximum_leaves_scores_as_they_are() -> None:
    assert summary(merge_results(hits(-1.0, -2.0), [], 1.0, 0.0)) == {
        "d0": (-1.0, "keyword"),
        "d1": (-2.0, "keyword"),
    }


def test_ties_stand_in_the_order_of_documents_and_chunks() -> None:
    tied = [{"doc_id": d, "chunk_id": f"{d}-{i}", "score": 1.0} for d in "ba" for i in (10, 2)]
    assert [hit["chunk_id"] for hit in merge_results(tied, [])] == ["a-2", "a-10", "b-2", "b-10"]


def test_inputs_are_not_changed() -> None:
    keyword = hits(2.0, 1.0)
    merge_results(keyword, keyword)
    assert keyword == hits(2.0, 1.0)


scores = st.lists(st.floats(0.001, 100), max_size=20)


@given(scores, scores, st.randoms())
def test_merging_is_independent_of_input_order_and_bounded(
    keyword: list[float], vector: list[float], rng: random.Random
) -> None:
    left, right = hits(*keyword), hits(*vector)
    merged = merge_results(left, right)
    rng.shuffle(left)
    rng.shuffle(right)
    assert merge_results(left, right) == merged
    assert len(merged) == max(len(keyword), len(vector))
    assert all(0 <= hit["score"] <= 1.0 + 1e-9 for hit in merged)
    assert [hit["score"] for hit in merged] == sorted(
        (hit["score"] for hit in merged), reverse=True
    )
