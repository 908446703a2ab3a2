from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridStore
from hybrid_memory.documents.document import Document
from hybrid_memory.fts import FTSIndex
from hybrid_memory.indexing.pending import new_vectors
from hybrid_memory.search.advice import OTHER_WORDS
from hybrid_memory.search.coverage import Coverage, of_chunks
from hybrid_memory.search.fusion import measure_nearness
from hybrid_memory.search.request import Request
from hybrid_memory.search.result import match
from hybrid_memory.search.stages import confidence
from hybrid_memory.storage.filters import Filters
from hybrid_memory.text.query import Query
from tests.command import Run, answer
from tests.conftest import TopicEmbedder

ANSWER = "The gpu server password is hunter2."
QUESTION = "what is the gpu server password?"
NONSENSE = "zeppelin karaoke tournament"


def surest(store: HybridStore, query: str, mode: str = "hybrid", **options: Any) -> float:
    return max((hit["confidence"] for hit in store.search(query, 10, mode, **options)), default=0.0)


def covered(store: HybridStore, query: str) -> dict[str, Coverage]:
    """The coverage of the only chunk of each document."""
    with store.storage.snapshot():
        ids = [id for (id,) in store.storage.connection.execute("select id from chunks")]  # type: ignore[attr-defined]
        keyword = store.storage.keyword()
        leg = keyword.ranked(Query(query), 10)
        words = leg.searched
        chunks = store.storage.chunks.candidates(ids)
        found = of_chunks(store.storage, words, keyword.rarities(words), chunks)
    return {chunk.doc_id: found[chunk.id] for chunk in chunks}


def fill(store: HybridStore, others: int) -> None:
    """The answer, and as many other texts; of two topics that the embedder knows, and words of their own."""
    store.store("it", ANSWER)
    with store.storage.transaction():
        for number in range(others):
            text = f"A {('dog', 'cat')[number % 2]} named n{number} sleeps in the garden of house {number}."
            prepared = store.prepare(Document(f"d{number}", text, {}))
            vectors = (
                new_vectors(store.storage, store.embedder, prepared.texts).vectors
                if store.embedder
                else {}
            )
            store.storage.documents.put(prepared, vectors)


@pytest.mark.parametrize("others", [0, 3, 200])
@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_answers_get_much_and_nonsense_little_in_a_store_of_any_size(
    store: HybridStore, others: int, mode: str
) -> None:
    fill(store, others)
    assert surest(store, QUESTION, mode) > 0.9
    assert surest(store, "server karaoke tournament", mode) < 0.6
    assert surest(store, NONSENSE, mode) < 0.2


@pytest.mark.parametrize("others", [0, 3, 200])
def test_a_store_without_embeddings_counts_words_alone(others: int) -> None:
    with HybridStore(":memory:", {"provider": "none"}) as store:
        fill(store, others)
        assert surest(store, QUESTION) == 1.0
        assert surest(store, f"password {NONSENSE}") < 0.5
        assert surest(store, NONSENSE) == 0.0


def test_a_word_that_is_nowhere_weighs_most(store: HybridStore) -> None:
    fill(store, 100)
    whole = covered(store, "gpu password")["it"]
    assert whole.share == 1.0
    assert whole.parts == {"gpu": 1.0, "password": 1.0}
    assert whole.terms == ["gpu", "password"]
    assert covered(store, "dog password")["it"].share > 0.8  # of two known words the rarer
    assert covered(store, "password karaoke")["it"].share < 0.5
    assert (
        covered(store, "dog karaoke")["d1"].share < covered(store, "n1 karaoke")["d1"].share < 0.5
    )
    none = covered(store, "gpu")["d1"]
    assert (none.share, none.parts, none.terms) == (0.0, {}, [])


@pytest.mark.parametrize(
    ("query", "coverage"),
    [
        ("what did I do on 3 May 2026?", 1.0),
        ("was habe ich am 3. Mai gemacht?", 2 / 3),
        ("what did Jonas do yesterday?", 1.0),
        ("what did Petra do yesterday?", 2 / 3),
        ("what did Petra pay the plumber last week?", 0.4),
        ("what did Petra do since last week?", 0.0),
    ],
)
def test_a_passage_of_the_day_that_is_asked_for_need_not_name_it(
    store: HybridStore, query: str, coverage: float
) -> None:
    store.store("journal/2026-05-03", "Hiked up the hill with Jonas.")
    store.store("journal/2026-05-20", "Petra paid the plumber.")
    request = Request(10, today=date(2026, 5, 4), explain=True)
    found = {hit["doc_id"]: hit["explain"] for hit in store.answer(query, request).results}
    assert found["journal/2026-05-03"]["coverage"] == pytest.approx(coverage, abs=0.01)


def test_how_sure_does_not_hang_on_how_often_documents_were_replaced(store: HybridStore) -> None:
    fill(store, 30)
    before = surest(store, "dog named karaoke", "keyword")
    for _ in range(20):
        store.store("d0", "A dog named n0 sleeps in the garden of house 0.")
        store.store("last", "replaced")
        store.delete("last")
    for number in range(30):
        store.store(f"x{number}", "a text")
        store.store(
            f"d{number}",
            f"A {('dog', 'cat')[number % 2]} named n{number} sleeps in the garden of house {number}.",
        )
        store.delete(f"x{number}")
    assert store.storage.connection.execute("select max(id) from chunks").fetchone()[0] > 50
    assert FTSIndex(store.storage.connection).size() == 31
    assert surest(store, "dog named karaoke", "keyword") == before


@pytest.mark.parametrize(
    ("text", "query", "share"),
    [
        ("the scary movie", "scar", 1.0),
        ("the scary movie", "scar karaok", None),
        ("a → b", "→", 1.0),
        ("a → b", "→ ⇒", 0.5),
        ("ΑΘΗΝΑ", "θην", 0.9),
        ("东京都的服务器", "服务器", 1.0),
        ("东京都的服务器", "都的 天气", None),
        ("东京都的服务器", "天气", 0.0),
        ("サーバーのパスワード", "パスワード", 1.0),
        ("ภาษาไทยง่าย", "ไทย", 1.0),
        ("naïve Café", "naive cafe", 1.0),
        ("servers running", "server run", 0.9),
        ("see src/store.ts", "src/store.ts", 1.0),
        ("see src/store.ts", "src/index.ts", None),
    ],
)
def test_share_of_the_words_grams_or_fragments(text: str, query: str, share: float | None) -> None:
    with HybridStore(":memory:", {"provider": "none"}) as store:
        store.store("it", text)
        found = covered(store, query)["it"].share
        assert found == pytest.approx(share) if share is not None else 0 < found < 1


def test_a_chunk_is_as_sure_among_others_as_alone_and_under_a_filter(store: HybridStore) -> None:
    store.store("word", "hunter likes dogs")
    store.store("fragment", "the headhunters")
    assert {id: each.share for id, each in covered(store, "hunter").items()} == {
        "word": 1.0,
        "fragment": 0.0,
    }
    assert surest(store, "hunter", "keyword", filters=Filters(inside="fragment")) == 0.0


def test_an_expression_of_fts5_is_met_by_all_it_finds(store: HybridStore) -> None:
    store.store("it", ANSWER)
    [hit] = store.search("pass* NOT karaoke", fts_syntax=True, explain=True)
    assert hit["confidence"] == 1.0
    assert hit["explain"]["terms"] == ["pass* NOT karaoke"]


def test_a_pasted_page_asks_for_no_more_words_than_are_searched(store: HybridStore) -> None:
    fill(store, 3)
    statements: list[str] = []
    store.storage.connection.set_trace_callback(statements.append)
    store.search(" ".join(f"word{i}" for i in range(400)) + " " + QUESTION)
    assert max(statement.count("word") for statement in statements) <= 2 * 96


# So near to 1 that a mean is as near, the way that is left is as short as rounding
numbers = st.floats(-1, 0.999) | st.just(1.0)


@given(st.floats(0, 1), st.none() | numbers)
def test_confidence_is_between_0_and_1(share: float, cosine: float | None) -> None:
    near = None if cosine is None else measure_nearness({1: cosine}, {1: cosine, 2: 0.2})[1]
    assert 0 <= confidence(share, near) <= 1


@given(numbers, st.dictionaries(st.integers(1, 9), numbers))
def test_nearness_is_between_0_and_1_and_does_not_count_the_chunk_itself(
    cosine: float, sample: dict[int, float]
) -> None:
    near = measure_nearness({1: cosine}, sample)[1]
    assert 0 <= near <= 1
    assert near == pytest.approx(measure_nearness({1: cosine}, {**sample, 1: 0.123})[1], abs=1e-9)


@pytest.mark.parametrize(
    ("cosine", "others", "near"),
    [(1.0, [0.5], 1.0), (0.75, [0.5], 0.5), (0.5, [0.5], 0.0), (0.2, [0.5], 0.0), (0.6, [], 0.6), (0.6, [-0.4], 0.6), (1.0, [1.0], 0.0),
     (1.0, [1 - 1e-15] * 3, 0.0)],
)  # fmt: skip
def test_nearness_is_the_share_of_the_way_from_the_mean(
    cosine: float, others: list[float], near: float
) -> None:
    assert measure_nearness({0: cosine}, dict(enumerate(others, 1)))[0] == pytest.approx(near)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.text(max_size=30), min_size=1, max_size=5),
    st.text(max_size=30),
    st.sampled_from(["hybrid", "keyword", "vector"]),
)
def test_whatever_is_stored_and_asked_confidence_is_between_0_and_1(
    texts: list[str], query: str, mode: str
) -> None:
    with HybridStore(":memory:", {"chunk_overlap": 0}, embedder=TopicEmbedder()) as store:
        for number, text in enumerate(texts):
            store.store(f"d{number}", text)
        for hit in store.search(query, 50, mode, explain=True):
            assert 0 <= hit["confidence"] <= 1
            assert 0 <= hit["explain"]["coverage"] <= 1


def test_less_sure_results_are_kept_back_and_what_is_shown_reaches_the_bar(
    store: HybridStore,
) -> None:
    fill(store, 30)
    everything = store.search("server karaoke dog", 50)
    bar = sorted({hit["confidence"] for hit in everything})[1]
    assert store.search("server karaoke dog", 50, min_confidence=bar) == [
        hit for hit in everything if hit["confidence"] >= bar
    ]


def test_an_answer_that_is_not_sure_enough_still_tells_what_was_looked_for(run: Run) -> None:
    run("store", "--doc-id", "it", "--text", ANSWER)
    done = run("search", f"server pasword {NONSENSE}", "--provider", "none", "--floor", "1")
    assert answer(done) == []
    assert "searched for password for pasword" in done.stderr
    assert "no result with confidence 1 or more;" in done.stderr


def test_an_empty_answer_names_the_nearest_miss(run: Run) -> None:
    run("store", "--doc-id", "it", "--text", ANSWER)
    run("store", "--doc-id", "other", "--text", "The server is loud.")
    ask = ("search", f"server password {NONSENSE}", "--provider", "none", "--min-confidence", "0.9")
    done = run(*ask)
    assert answer(done) == []
    found = answer(run(*ask[:-2]))
    surest = max(hit["confidence"] for hit in found)
    assert done.stderr.splitlines() == [
        f"hybrid-memory: no result with confidence 0.9 or more; the best is it#L1-L1 ({surest:g})",
        f"hybrid-memory: {OTHER_WORDS}",
    ]
    assert run(*ask, "--quiet").stderr == ""
    assert len(answer(run(*ask[:-1], f"{surest}"))) == 1
    nothing = run("search", NONSENSE, "--provider", "none", "--min-confidence", "0.9")
    assert "nothing found; try other words" in nothing.stderr


@pytest.mark.parametrize("value", ["-0.1", "1.1", "nan", "much"])
@pytest.mark.parametrize("option", ["--min-confidence", "--min-score"])
def test_what_is_no_share_is_wrong_usage(run: Run, option: str, value: str) -> None:
    assert run("search", "x", f"{option}={value}").returncode == 2


@pytest.mark.parametrize(
    ("rival", "is_strong"),
    [
        ("The pump of the greenhouse is in the shed.", True),
        ("The telemetry of the greenhouse pump goes to Jonas every week.", False),
    ],
)
def test_a_strong_match_has_no_rival_in_another_note(rival: str, *, is_strong: bool) -> None:
    with HybridStore(":memory:", {"provider": "builtin"}) as store:
        store.store("answers", "The telemetry of the greenhouse pump goes to Renate every night.")
        store.store("rival", rival)
        for number in range(20):
            store.store(f"other {number}", f"Soup number {number} needs salt.")
        query = "who gets the telemetry of the greenhouse pump?"
        for limit in (1, 10):
            first, *others = store.search(query, limit)
            assert first["doc_id"] == "answers" or not is_strong
            assert (match(first["confidence"]) == "strong") is is_strong
            assert not any(match(other["confidence"]) == "strong" for other in others)
