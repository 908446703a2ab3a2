"""The hint of an answer: decided once, and the same on every surface."""

from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.search.advice import (
    FAINT,
    IF_ABSENT,
    NOTHING_FOUND,
    ORDER,
    OTHER_WORDS,
    advise,
)
from hybrid_memory.search.answer import Answer
from hybrid_memory.search.request import Request
from hybrid_memory.search.result import STRONG


def result(citation: str, confidence: float) -> dict[str, Any]:
    return {"citation": citation, "confidence": confidence}


def hint_of(
    store: HybridStore,
    results: list[dict[str, Any]],
    query: str = "server",
    request: Request = Request(),  # noqa: B008
) -> str | None:
    answer = Answer(results, [])  # type: ignore[arg-type]
    advise(answer, store.plan(query, request), store.storage)
    return answer.hint


@pytest.mark.parametrize(
    ("confidences", "hint"),
    [
        ([0.9, 0.2], None),
        ([0.4, 0.3], IF_ABSENT),
        ([0.1, 0.2], f"{FAINT}; {OTHER_WORDS}"),
        ([0.389, 0.2, STRONG], ORDER),
        ([STRONG, 0.9], None),  # the first is strong, too
    ],
)
def test_a_hint_explains_words_that_do_not_follow_the_order(
    store: HybridStore, confidences: list[float], hint: str | None
) -> None:
    results = [result(f"c{number}#L1", value) for number, value in enumerate(confidences)]
    assert hint_of(store, results) == hint


@pytest.mark.parametrize(
    ("confidence", "query", "request_", "hint"),
    [
        (0.4, "server", Request(also=["machine"]), None),
        (0.2, "server", Request(also=["machine"]), FAINT),
        (0.4, "v2.0", Request(), None),  # an identifier has no other words
        (0.2, "v2.0", Request(), FAINT),
        (0.4, "server", Request(typed=True), None),
        (0.4, "server", Request(literal=True), None),
    ],
)
def test_other_words_are_suggested_where_nobody_gave_any(
    store: HybridStore, confidence: float, query: str, request_: Request, hint: str | None
) -> None:
    assert hint_of(store, [result("a#L1", confidence)], query, request_) == hint


def test_an_answer_below_the_floor_suggests_other_words(store: HybridStore) -> None:
    store.store("a", "the cat sleeps on the sofa, the dog below it")
    answer = store.answer("cat food", Request(floor=1.0))
    assert not answer.results
    assert answer.hint == OTHER_WORDS
    assert store.answer("cat food", Request(floor=1.0, also=["pet"])).hint is None


def test_the_reason_for_no_result_is_named(store: HybridStore) -> None:
    hint = hint_of(store, [])
    assert hint is not None
    assert hint.startswith("the memory is empty")
    store.store("a", "the cat")
    assert hint_of(store, []) == NOTHING_FOUND
    assert store.answer("zebra", Request(mode="keyword")).hint == NOTHING_FOUND
    words = store.answer("zebra tag:ops", Request(mode="keyword"))
    assert words.hint == NOTHING_FOUND
