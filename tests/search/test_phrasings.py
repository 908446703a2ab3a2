"""A question asked in several ways: one answer, in which each passage counts by the phrasing that fits it best."""

from collections.abc import Sequence
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.embedder import OllamaEmbedder
from hybrid_memory.errors import QueryError
from hybrid_memory.search.request import Budget, Request
from hybrid_memory.search.stages import AGREEMENT_SHARE
from hybrid_memory.surface.output import highlighters_of
from tests.conftest import TopicEmbedder
from tests.fake_ollama import FakeOllama
from tests.traces import evaluated, is_of_date, steps

NOTES = {
    "plumber": "The plumber fixed the boiler in May and left an invoice.",
    "garden": "The hedge was cut in June. The neighbour complained of the noise.",
    "heating": "Repairs of the heating cost 400 euros.",
    "2026-01-05": "Yesterday the radiator leaked.",
    "ops": "---\ntags: [ops]\n---\nThe furnace of the data centre is maintained by Rosa.",
}
QUESTION = "who mended the central warmth?"
ALSO = ["plumber boiler invoice", "repairs of the heating"]


@pytest.fixture
def notes() -> Any:
    with HybridStore(":memory:", {"provider": "builtin"}) as store:
        for doc_id, text in NOTES.items():
            store.store(doc_id, text)
        yield store


def ids(results: Sequence[Any]) -> list[str]:
    return [result["doc_id"] for result in results]


def test_a_phrasing_finds_what_the_question_shares_no_word_with(notes: HybridStore) -> None:
    assert notes.search(QUESTION, mode="keyword") == []
    assert ids(notes.search(QUESTION, mode="keyword", also=ALSO)) == ["plumber", "heating"]


def test_the_best_score_stays_and_parts_add_up(notes: HybridStore) -> None:
    alone = {
        text: {result["doc_id"]: result["score"] for result in notes.search(text)}
        for text in (QUESTION, *ALSO)
    }
    found = notes.search(QUESTION, also=ALSO, explain=True)
    highest = max(score for scores in alone.values() for score in scores.values())
    assert found[0]["score"] == pytest.approx(highest, abs=1e-5)
    sums = {}
    for doc_id in ids(found):
        best, *others = sorted((scores.get(doc_id, 0.0) for scores in alone.values()), reverse=True)
        sums[doc_id] = best + AGREEMENT_SHARE * sum(others)
    scale = highest / max(sums.values())
    for result in found:
        assert result["score"] == pytest.approx(scale * sums[result["doc_id"]], abs=1e-4)
        assert evaluated(result) == pytest.approx(result["score"], abs=1e-5)


def test_the_phrasing_that_found_a_passage_is_named_and_marked(notes: HybridStore) -> None:
    first = notes.search(QUESTION, also=ALSO, explain=True)[0]
    assert first["phrasing"] == first["explain"]["phrasing"] == ALSO[0]
    [highlighter] = highlighters_of([first], QUESTION, [first["text"]])
    spans = highlighter.spans(first["text"])
    marked = [first["text"][span.start : span.end] for span in spans]
    assert marked == ["plumber", "boiler", "invoice"]
    own = notes.search("plumber boiler invoice", also=["who came?"])[0]
    assert "phrasing" not in own


def test_one_phrasing_is_the_same_search_as_none(notes: HybridStore) -> None:
    plain = notes.search(QUESTION, explain=True)
    for also in ([], [""], ["  "], [QUESTION]):
        assert notes.search(QUESTION, also=also, explain=True) == plain
    assert notes.search(QUESTION, also=[ALSO[0], ALSO[0]]) == notes.search(QUESTION, also=ALSO[:1])


def test_filters_days_and_operators_are_those_of_the_question(notes: HybridStore) -> None:
    asked = notes.search("tag:ops who keeps the warmth?", also=ALSO)
    assert set(ids(asked)) <= {"ops"}
    # An operator of a phrasing is a word
    assert "garden" in ids(notes.search("noise", also=["tag:ops", "-hedge in:plumber"]))
    dated = notes.search("what leaked on 2026-01-05?", also=["radiator"], explain=True)
    assert dated[0]["doc_id"] == "2026-01-05"
    assert is_of_date(dated[0])
    undated = notes.search("radiator", also=["on 2026-01-05"], explain=True)
    assert not steps(undated[0], "date")


def test_a_name_keeps_its_place_and_other_phrasings_follow(notes: HybridStore) -> None:
    assert ids(notes.search("garden"))[0] == "garden"
    found = notes.search("garden", also=["plumber boiler invoice May", "plumber boiler"])
    own = ids(notes.search("garden"))
    assert ids(found)[: len(own)] == own
    scores = [result["score"] for result in found]
    assert scores == sorted(scores, reverse=True)


def test_a_larger_limit_adds_results_and_changes_none() -> None:
    with HybridStore(":memory:", {"provider": "builtin"}) as store:
        for number in range(200):
            store.store(
                f"n{number:03}", f"The server {number} has port {number}, says host{number % 7}."
            )
        also = ["host3 machine", "port of the server"]
        few = store.search("which server?", 10, also=also, per_doc=1)
        many = store.search("which server?", 190, also=also, per_doc=1)
        assert len(many) > 150
        assert ids(many)[:10] == ids(few)
        scores = [result["score"] for result in many]
        assert scores == sorted(scores, reverse=True)


def test_an_excerpt_has_the_words_of_its_phrasing() -> None:
    text = "Notes of a long day. " * 20 + "The plumber sent an invoice. " + "We went home. " * 20
    with HybridStore(":memory:", {"provider": "none", "chunk_size": 2000}) as store:
        store.store("day", text)
        [found] = store.search("warmth?", also=["plumber invoice"], budget=120)
    assert found["text"] == "… The plumber sent an invoice. …"


def test_an_expression_has_no_other_words(notes: HybridStore) -> None:
    with pytest.raises(QueryError, match="FTS5"):
        notes.search("a NOT b", also=["c"], fts_syntax=True)


def test_all_phrasings_are_one_request_to_a_server() -> None:
    with FakeOllama("all-minilm", dims=384) as server:
        embedder = OllamaEmbedder(server.url, "all-minilm")
        with HybridStore(":memory:", embedder=embedder) as store:
            store.store("a", "The plumber came.")
            before = len(server.embed_requests)
            for _ in range(2):  # the second time, all of them are cached
                store.search("who came?", also=["plumber", "visit"])
            store.search("who came?", also=["plumber", "guest"])
            asked = [request["input"] for request in server.embed_requests[before:]]
            assert asked == [["who came?", "plumber", "visit"], ["guest"]]


def test_a_phrasing_without_a_vector_is_searched_by_keyword() -> None:
    embedder = TopicEmbedder()
    with HybridStore(":memory:", embedder=embedder) as store:
        store.store("pets", "A dog and a cat.")
        store.store("other", "An unknown zebra.")
        found = store.search("zebra", also=["dog"])
        assert set(ids(found)) == {"pets", "other"}
        assert store.warnings == []


def test_a_budget_is_kept() -> None:
    with HybridStore(":memory:", {"provider": "builtin"}) as store:
        for doc_id, text in NOTES.items():
            store.store(doc_id, text)
        request = Request(also=ALSO, budget=Budget(100), limit=60)
        results = store.answer(QUESTION, request).results
        assert 0 < sum(len(result["text"]) for result in results) <= 100
