"""The hint of an answer: decided once, and the same on every surface."""

from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.search.advice import NOTHING_FOUND, ORDER, advise
from hybrid_memory.search.answer import Answer
from hybrid_memory.search.request import Request
from hybrid_memory.search.result import STRONG, UNCLEAR


def result(citation: str, confidence: float) -> dict[str, Any]:
    return {"citation": citation, "confidence": confidence}


def hint_of(store: HybridStore, results: list[dict[str, Any]], query: str = "server") -> str | None:
    answer = Answer(results, [])  # type: ignore[arg-type]
    advise(answer, store.plan(query, Request()), store.storage)
    return answer.hint


@pytest.mark.parametrize(
    ("confidences", "hint"),
    [
        ([0.9, 0.2], None),
        ([0.4, 0.3], None),
        ([0.1, 0.2], UNCLEAR),
        ([0.389, 0.2, STRONG], ORDER),
        ([STRONG, 0.9], None),  # the first is strong, too
    ],
)
def test_a_hint_explains_words_that_do_not_follow_the_order(
    store: HybridStore, confidences: list[float], hint: str | None
) -> None:
    results = [result(f"c{number}#L1", value) for number, value in enumerate(confidences)]
    assert hint_of(store, results) == hint


def test_the_reason_for_no_result_is_named(store: HybridStore) -> None:
    hint = hint_of(store, [])
    assert hint is not None
    assert hint.startswith("the memory is empty")
    store.store("a", "the cat")
    assert hint_of(store, []) == NOTHING_FOUND
    assert store.answer("zebra", Request(mode="keyword")).hint == NOTHING_FOUND
    filtered = store.answer("zebra tag:ops", Request(mode="keyword"))
    assert filtered.hint == NOTHING_FOUND  # the filter was searched for as words
