from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import HybridStore
from hybrid_memory.search.coverage import SAME_STEM, Coverage, of_chunks
from hybrid_memory.text.query import Query


def coverage_of(store: HybridStore, query: str, doc_id: str) -> Coverage:
    """The coverage of the first chunk of a document."""
    storage = store.storage
    with storage.snapshot():
        keyword = storage.keyword()
        leg = keyword.ranked(Query(query), 20)
        words = leg.searched
        chunks = storage.chunks.candidates(storage.chunks.at(doc_id, 0, 10_000)[:1])
        [covered] = of_chunks(storage, words, keyword.rarities(words), chunks).values()
    return covered


@pytest.fixture
def english() -> Iterator[HybridStore]:
    """Notes with embeddings of the built-in English model."""
    with HybridStore(":memory:", {"provider": "builtin"}) as store:
        store.store("visits", "The physician comes at nine.")
        store.store(
            "network/Router.md", "# Router\n\nIt listens on port 2222.", {"owner": "Renate Vogel"}
        )
        for number in range(5):
            store.store(f"filler {number}", f"Soup number {number} needs salt.")
        yield store


@pytest.mark.parametrize(
    ("text", "word", "part"),
    [
        ("a server in the rack", "server", 1.0),
        ("two servers", "server", SAME_STEM),
        ("call getUserName()", "name", 1.0),
        ("call getUserName()", "getUserName", 1.0),
        ("the NAÏVE café", "naive", 1.0),
        ("“quoted”—dash", "quoted", 1.0),
        ("Настройки сервера", "настройка", SAME_STEM),
        ("الكتاب على الطاولة", "كتاب", SAME_STEM),
        ("用Docker部署服务器", "docker", 1.0),
        ("东京都的服务器", "服务", 1.0),
        ("ภาษาไทยง่าย", "ไทย", 1.0),
        ("snake_case and a/b.c", "case", 1.0),
        ("it runs on port 2222", "2222", 1.0),
        ("the Wi-Fi in the hall", "wifi", 1.0),
        ("wifi in the hall", "wi fi", 1.0),
    ],
)
def test_a_word_counts_in_any_spelling_and_form(
    store: HybridStore, text: str, word: str, part: float
) -> None:
    store.store("it", text)
    store.store("other", "Something else entirely, 其他, другое, آخر, อื่น")
    covered = coverage_of(store, word, "it")
    assert covered.share == pytest.approx(part)
    assert set(covered.parts.values()) == {part}
    assert covered.terms


@pytest.mark.parametrize("word", ["router", "network", "renate", "vogel"])
def test_headings_path_and_front_matter_count_like_the_text(store: HybridStore, word: str) -> None:
    store.store(
        "network/Router.md",
        "# Router\n\n" + "It has a lamp for each port. " * 30 + "\n\n## Ports\n\nPort 2222.",
        {"owner": "Renate Vogel"},
    )
    storage = store.storage
    with storage.snapshot():
        *_, last = storage.chunks.at("network/Router.md", 0, 10_000)
        first, *_ = storage.chunks.at("network/Router.md", 0, 10_000)
        chunks = storage.chunks.candidates([last if word == "router" else first])
        rarities = storage.keyword().rarities(Query(word))
        [covered] = of_chunks(storage, Query(word), rarities, chunks).values()
    assert covered.share == pytest.approx(1.0)


def test_near_words_count_in_part_and_are_not_terms(english: HybridStore) -> None:
    covered = coverage_of(english, "doctor salt", "visits")
    assert 0.3 < covered.parts["doctor"] < SAME_STEM
    assert covered.terms == []
    assert "doctor" not in coverage_of(english, "doctor salt", "filler 1").parts


def test_near_words_are_for_the_english_model_alone(store: HybridStore) -> None:
    store.store("visits", "The physician comes at nine.")
    store.store("doctor", "A doctor.")
    assert coverage_of(store, "doctor", "visits").share == 0


def test_words_that_say_little_weigh_less(english: HybridStore) -> None:
    english.store("both", "We try the soup.")
    wanted, soup = (
        coverage_of(english, query, "both").share for query in ("try zeppelin", "soup zeppelin")
    )
    assert coverage_of(english, "want port", "network/Router.md").share > 0.5
    assert 0 < wanted < 0.5
    assert 0 < soup < 0.5


def test_a_repeated_rare_word_does_not_outweigh_all_words(english: HybridStore) -> None:
    english.store("repeats", "Telemetry, telemetry and telemetry: " + "telemetry " * 5)
    english.store("answers", "The telemetry of the greenhouse pump is sent to Renate every night.")
    query = "who gets the telemetry of the greenhouse pump at night?"
    assert english.search(query)[0]["doc_id"] == "answers"
    best = english.search(query, mode="keyword", explain=True)
    assert {hit["doc_id"] for hit in best} >= {"repeats", "answers"}


def test_a_note_of_tags_and_links_is_still_found(english: HybridStore) -> None:
    english.store("stub", "#shield [[Copper Kettle]]")
    [first, *_] = english.search("copper kettle")
    assert first["doc_id"] == "stub"


words = st.text(max_size=20)


@given(st.lists(st.text(max_size=60), min_size=1, max_size=4), words)
def test_coverage_is_between_0_and_1(texts: list[str], query: str) -> None:
    with HybridStore(":memory:", {"provider": "none"}) as store:
        for number, text in enumerate(texts):
            store.store(f"d{number}", f"word {text}")
        for number in range(len(texts)):
            if store.storage.chunks.at(f"d{number}", 0, 10_000):
                covered = coverage_of(store, query, f"d{number}")
                assert 0 <= covered.share <= 1
                assert all(0 < part <= 1 for part in covered.parts.values())
                assert set(covered.terms) <= covered.parts.keys()
