from datetime import date
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import HybridStore
from hybrid_memory.fts import FTSIndex
from hybrid_memory.search.fusion import OPENING_CHUNKS, OPENING_SHARE, normalize_scores
from hybrid_memory.search.result import lean, rounded_score
from hybrid_memory.search.stages import matching_texts
from hybrid_memory.storage.rows import KeywordLeg
from hybrid_memory.text.query import Query
from tests.conftest import TopicEmbedder
from tests.traces import step

QUERY = Query("words")
HALF = (0.5, 0.5)
SAMPLE = {7: 0.8, 8: 0.8}  # of a model that gives 0.8 to any two texts


def test_each_leg_gives_its_part_on_one_scale() -> None:
    """The best hit has half of the BM25 that is enough, so keywords count by 0.5 cubed; a cosine of 0.9 is halfway from 0.8."""
    legs = normalize_scores(
        KeywordLeg([(1, 4.0), (2, 2.0)], QUERY, full_score=8.0),
        [(3, 0.9)],
        {1: 0.8, 2: 0.85, 3: 0.9},
        SAMPLE,
        {},
        HALF,
    )
    assert legs.strength == 0.125
    assert legs.bm25 == pytest.approx({1: 0.125, 2: 0.0625})
    assert legs.vector_parts == pytest.approx({1: 0.0, 2: 0.25, 3: 0.5})
    assert legs.keyword_part(2, coverage=0.8) == pytest.approx(0.8 * (2 * 0.0625 + 1) / 3)


def test_a_looked_up_name_counts_without_coverage() -> None:
    leg = KeywordLeg([(1, 4.0), (2, 2.0)], QUERY, is_name=True)
    legs = normalize_scores(leg, [(3, 0.9)], {3: 0.9}, SAMPLE, {}, HALF, is_lookup=True)
    assert [legs.keyword_part(id, coverage=0.5) for id in (1, 2, 3)] == [1.0, 0.5, 0.0]


def test_a_chunk_that_only_the_vector_leg_retrieved_has_its_own_bm25() -> None:
    leg = KeywordLeg([(1, 4.0)], QUERY, further_scores={2: 3.0})
    legs = normalize_scores(leg, [(2, 0.9)], {1: 0.8, 2: 0.9}, SAMPLE, {}, HALF)
    assert legs.bm25 == {1: 1.0, 2: 0.75}
    assert legs.source(2) == "vector"


@pytest.mark.parametrize(
    ("full_score", "strength"), [(2.0, 1.0), (4.0, 1.0), (0.0, 1.0), (40.0, 0.001)]
)
def test_keywords_count_in_full_where_the_best_hit_has_enough(
    full_score: float, strength: float
) -> None:
    assert normalize_scores(
        KeywordLeg([(1, 4.0)], QUERY, full_score=full_score), [], {1: 0.5}, {}, {}, HALF
    ).strength == pytest.approx(strength)


def test_a_hit_without_an_embedding_is_as_near_as_its_words_say() -> None:
    legs = normalize_scores(
        KeywordLeg([(1, 4.0), (2, 2.0)], QUERY, full_score=8.0),
        [(3, 0.9)],
        {3: 0.9},
        SAMPLE,
        {},
        HALF,
    )
    assert legs.vector_parts == pytest.approx({1: 0.5, 2: 0.25, 3: 0.5})
    assert legs.nearness.keys() == {3}


def test_a_third_of_the_vector_part_is_the_mean_nearness_of_the_first_chunks_of_the_document() -> (
    None
):
    """Chunk 3 begins with 7 and 8, nearnesses 0.5 and 0; 4 begins with 9, which has no embedding; 5 has none, but leads."""
    cosine = {3: 0.9, 4: 0.9, 7: 0.9, 8: 0.8}
    legs = normalize_scores(
        KeywordLeg([(5, 4.0)], QUERY),
        [(3, 0.9), (4, 0.9)],
        cosine,
        {1: 0.8, 2: 0.8},
        {3: [7, 8], 4: [9], 5: [7, 8]},
        HALF,
    )
    assert {id: legs.vector_parts[id] for id in (3, 4, 5)} == pytest.approx(
        {3: (2 * 0.5 + 0.25) / 3, 4: 0.5, 5: (2 * 0.5 + 0.25) / 3}
    )
    assert legs.nearness[3] == pytest.approx(0.5)


def test_leads_and_their_share_are_those_of_the_documentation() -> None:
    assert (OPENING_CHUNKS, OPENING_SHARE) == (2, 1 / 3)


def test_a_leg_alone_is_divided_by_its_best() -> None:
    assert normalize_scores(
        KeywordLeg([(1, 4.0), (2, 1.0)], QUERY, full_score=8.0), None, {}, {}, {}, (1.0, 0.0)
    ).bm25 == {
        1: 1.0,
        2: 0.25,
    }
    assert normalize_scores(
        None, [(1, 0.9), (2, 0.45)], {1: 0.9, 2: 0.45}, SAMPLE, {}, (0.0, 1.0)
    ).vector_parts == {
        1: 1.0,
        2: 0.5,
    }


scores = st.dictionaries(st.integers(1, 20), st.floats(1e-6, 30)).map(
    lambda d: sorted(d.items(), key=lambda hit: -hit[1])
)
cosines = st.dictionaries(st.integers(1, 20), st.floats(-1, 1))


@given(
    scores,
    cosines,
    cosines,
    st.dictionaries(st.integers(1, 20), st.lists(st.integers(1, 20))),
    st.floats(0, 40),
)
def test_parts_are_between_0_and_1_and_keep_the_order_of_the_words(
    ranked: list[tuple[int, float]],
    cosine: dict[int, float],
    sample: dict[int, float],
    leads: dict[int, list[int]],
    full_score: float,
) -> None:
    by_vector = sorted(((id, x) for id, x in cosine.items() if x > 0), key=lambda hit: -hit[1])
    legs = normalize_scores(
        KeywordLeg(ranked, QUERY, full_score=full_score), by_vector, cosine, sample, leads, HALF
    )
    assert all(0 <= part <= 1 for part in [*legs.bm25.values(), *legs.vector_parts.values()])
    assert [id for id, _ in sorted(ranked, key=lambda hit: -legs.bm25[hit[0]])] == [
        id for id, _ in ranked
    ]


@pytest.fixture
def many(store: HybridStore) -> FTSIndex:
    """60 chunks: "common" is in 20 of them, "rare" in one, which has both."""
    for number in range(60):
        store.store(
            f"d{number}",
            f"text {number} {'common' if number % 3 == 0 else 'other'} {'rare' if number == 30 else 'more'}",
        )
    return FTSIndex(store.storage.connection)


def test_enough_is_what_all_words_are_worth_or_twice_the_logarithm_of_the_size(
    many: FTSIndex,
) -> None:
    rare, common, nowhere = log(59.5 / 1.5), log(40.5 / 20.5), log(60.5 / 0.5)
    assert many.ranked(Query("rare"), 10).full_score == pytest.approx(rare)
    assert many.ranked(Query("common rare"), 10).full_score == pytest.approx(rare + common)
    assert rare + nowhere > 2 * log(61)
    assert many.ranked(Query("rare zeppelin"), 10).full_score == pytest.approx(2 * log(61))


def test_enough_of_a_name_and_of_fragments_is_reached_by_what_has_them(many: FTSIndex) -> None:
    assert many.ranked(Query("d30"), 10).full_score == 0
    assert many.ranked(Query("ommo"), 10).full_score == many.ranked(Query("common"), 10).full_score
    assert many.ranked(Query("→"), 10).full_score == 1


def test_one_common_word_of_a_long_question_does_not_outweigh_what_is_near(
    store: HybridStore, embedder: TopicEmbedder
) -> None:
    for number in range(30):
        store.store(f"d{number}", f"house {number} in the street")
    store.store("wanted", "the dog sleeps")
    store.store("shares a word", "the evening of house zero")
    found = store.search("where does our puppy spend quiet evening hours?", explain=True)
    assert found[0]["doc_id"] == "wanted"
    assert step(found[0], "keyword")["strength"] < 0.2


def test_of_equal_passages_the_one_whose_document_begins_with_the_subject_comes_first(
    store: HybridStore,
) -> None:
    passage = "## Notes\n\nrestart it at night"
    store.store("a/others", f"# Soup\n\n## Recipe\n\nsalt and pepper\n\n{passage} when it is cold")
    store.store(
        "b/subject", f"# Servers\n\n## Rack\n\nthe server in the rack\n\n{passage} when it is slow"
    )
    found = [
        hit["doc_id"] for hit in store.search("restart server at night") if "restart" in hit["text"]
    ]
    assert found == ["b/subject", "a/others"]
    [_, others] = (
        hit
        for hit in store.search("restart server at night", explain=True)
        if "restart" in hit["text"]
    )
    assert step(others, "vector")["normalised"] == pytest.approx(
        2 / 3 * others["explain"]["nearness"], abs=0.2
    )


OFFICE = {
    "people/marek": ("Runs the migration with me. Prefers calls before ten.", {"role": "site reliability engineer"}),
    "people/aoife": ("Decides what goes into the harbour. Works from Cork.", {"role": "product manager"}),
    "projects/harbour": ("Booking of berths in small marinas.", {"status": "waiting"}),
    "notes/wireguard": ("The server listens on UDP; peers keep alive.", {}),
    "notes/meeting": ("Cancellations are free until two days before arrival. The launch moves to March.", {}),
    "notes/coffee": ("Descale the machine every two months with citric acid.", {}),
    "notes/badge": ("The badge office is in building C, ask for Renate.", {}),
    "notes/move": ("Cancel the contract, photograph the meters.", {}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("site reliability engineer", "people/marek"),
        ("who is the product manager", "people/aoife"),
        ("waiting", "projects/harbour"),
        ("engineers", "people/marek"),
    ],
)
def test_what_only_the_front_matter_says_is_found_first(query: str, first: str) -> None:
    with HybridStore(":memory:", {"provider": "builtin"}) as store:
        for name, (text, metadata) in OFFICE.items():
            store.store(name, text, metadata)
        assert store.search(query)[0]["doc_id"] == first


def test_a_text_has_a_word_in_any_form() -> None:
    texts = ["We are waiting.", "We stand here.", ""]
    assert matching_texts(texts, Query("wait for it")) == {"We are waiting."}
    assert matching_texts(["Über Bäder"], Query("bader")) == {"Über Bäder"}
    assert not matching_texts([], Query("wait"))


@pytest.mark.parametrize(
    ("score", "six", "three"),
    [
        (0.5, 0.5, 0.5),
        (0.1234567, 0.123457, 0.123),
        (4.2e-4, 4.2e-4, 4e-4),
        (4.2e-9, 4e-9, 4e-9),
        (0.0, 0.0, 0.0),
    ],
)
def test_a_positive_score_is_never_rounded_to_0(score: float, six: float, three: float) -> None:
    assert rounded_score(score, 6) == six
    assert rounded_score(score, 3) == three


def test_an_old_passage_keeps_a_positive_score_in_every_form(store: HybridStore) -> None:
    store.store("2001-01-01", "house in the street")
    [result] = store.search("house", half_life=100, today=date(2026, 1, 1))
    assert 0 < result["score"] < 1e-6
    assert lean(result)["score"] == result["score"]
