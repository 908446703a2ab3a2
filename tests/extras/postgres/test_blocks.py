"""Postings in blocks: written, merged and removed without changing their content."""

import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import HybridStore
from hybrid_memory.documents.document import Document
from hybrid_memory.extras.doctor import examine
from hybrid_memory.extras.postgres import engine as engine_of_server
from hybrid_memory.extras.postgres import fts5
from hybrid_memory.extras.postgres import postings as blocks
from hybrid_memory.extras.postgres.postings import LOOSE, PAYLOAD, PLACE, SIZE, SLICES, SMALL
from hybrid_memory.storage import keyword
from hybrid_memory.text.query import Term
from tests.conftest import NUMBERS, TEMPLATE, TopicEmbedder
from tests.extras.postgres_server import PostgresServer

pytestmark = pytest.mark.large

OF_KETTLE = "postings where term = (select id from terms where term = 'kettl')"
POSTINGS = f"select chunk, weight, length from ({blocks.decoded(OF_KETTLE)}) p order by chunk"
SIZES = f"select cardinality(entries) from {OF_KETTLE} order by first"


@pytest.fixture
def engine() -> str:
    return "postgres"


@pytest.fixture
def store(db_path: str) -> Iterator[HybridStore]:
    with HybridStore(db_path, {"provider": "none"}) as opened:
        yield opened


def rows(
    store: HybridStore, statement: str, parameters: dict[str, Any] | None = None
) -> list[tuple[float, ...]]:
    return store.storage.connection.all(statement, parameters)  # type: ignore[attr-defined,no-any-return]


entries = st.dictionaries(
    st.integers(1, 2**31 - 2), st.integers(0, PAYLOAD), min_size=1, max_size=3 * SIZE
)


@given(entries)
def test_blocks_hold_all_entries_in_order(wanted: dict[int, int]) -> None:
    whole = [chunk << PLACE | payload for chunk, payload in sorted(wanted.items())]
    made = list(blocks.blocks(7, whole))
    found = []
    for block in made:
        of_block = [(block.first + (entry >> PLACE), entry & PAYLOAD) for entry in block.entries]
        assert (block.term, block.first, block.last) == (7, of_block[0][0], of_block[-1][0])
        assert len(of_block) <= SIZE
        assert of_block == sorted(of_block)
        found += of_block
    assert found == sorted(wanted.items())


def test_an_entry_has_the_weight_of_a_word_and_the_length_of_its_chunk(store: HybridStore) -> None:
    store.store("a", "The kettle is beside a kettle.")
    [(chunk, weight, length)] = rows(store, POSTINGS)
    assert weight == 2
    assert rows(store, "select chunk, cardinality(array_remove(sequence, 0)) from words") == [
        (chunk, length)
    ]


def test_small_blocks_of_a_term_are_merged(store: HybridStore) -> None:
    for number in range(3 * LOOSE):
        store.store(f"n{number}", f"kettle {number}")
        assert len(rows(store, SIZES)) <= LOOSE
    found = rows(store, POSTINGS)
    assert len(found) == 3 * LOOSE
    store.reindex()
    assert rows(store, POSTINGS) == found
    assert all(finding.ok for finding in examine(store, thorough=True))


def test_full_blocks_are_left_as_they_are(store: HybridStore) -> None:
    def put(start: int, count: int) -> None:
        with store.storage.transaction():
            prepared = [
                store.prepare(Document(f"n{n}", f"kettle {n}", {}))
                for n in range(start, start + count)
            ]
            store.storage.documents.put_all(prepared)

    put(0, SIZE + SMALL)
    for number in range(LOOSE):
        put(1000 + number, 1)
    sizes = [size for (size,) in rows(store, SIZES)]
    assert sizes[:2] == [SIZE, SMALL]
    assert sum(sizes) == SIZE + SMALL + LOOSE


def put_kettles(store: HybridStore, count: int) -> None:
    with store.storage.transaction():
        store.storage.documents.put_all(
            store.prepare(Document(f"n{n}", f"kettle {n}", {})) for n in range(count)
        )


def test_chunks_that_leave_are_found_no_more_and_write_no_blocks(store: HybridStore) -> None:
    put_kettles(store, 2 * SIZE)
    before = rows(store, POSTINGS)
    with store.storage.transaction():
        store.storage.documents.remove("n0", f"n{SIZE}", f"n{2 * SIZE - 1}")
    assert rows(store, POSTINGS) == before
    assert rows(store, "select frequency from terms where term = 'kettl'") == [(2 * SIZE - 3,)]
    assert not rows(store, f"select from terms where term = '{SIZE}'")
    for query in ("kettle", "kett*", f"{SIZE} kettle"):
        found = store.search(query, mode="keyword", limit=2 * SIZE)
        left = {f"n{n}" for n in range(2 * SIZE) if n not in (0, SIZE, 2 * SIZE - 1)}
        assert {hit["doc_id"] for hit in found} == left, query
    assert all(finding.ok for finding in examine(store, thorough=True))


def test_the_best_of_many_are_found_after_better_ones_left(store: HybridStore) -> None:
    put_kettles(store, 200)
    with store.storage.transaction():
        store.storage.documents.put_all(
            store.prepare(Document(f"best{n}", "kettle kettle", {})) for n in range(100)
        )
    with store.storage.transaction():
        store.storage.documents.remove(*(f"best{n}" for n in range(99)))
    found = store.search("kettle", mode="keyword", limit=5)
    assert (len(found), found[0]["doc_id"]) == (5, "best99")


def test_entries_of_chunks_that_left_go_when_they_are_many(
    store: HybridStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "LEAST_DEAD", 10)
    put_kettles(store, 2 * SIZE)
    before = rows(store, POSTINGS)
    with store.storage.transaction():
        store.storage.documents.remove(*(f"n{n}" for n in range(SIZE)))
    assert rows(store, POSTINGS) == before[SIZE:]
    assert all(finding.ok for finding in examine(store, thorough=True))


def test_every_slice_is_written_anew_in_its_turn(
    store: HybridStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "LEAST_DEAD", 0)
    text = " ".join(f"common{n}x" for n in range(3 * SLICES))
    with store.storage.transaction():
        store.storage.documents.put_all(
            store.prepare(Document(f"n{n}", text, {})) for n in range(320)
        )
    places = f"select term % {SLICES}, ctid::text from postings"
    written = []
    for start in range(0, 160, 10):  # half of the chunks, in as many steps as there are slices
        before = set(rows(store, places))
        with store.storage.transaction():
            store.storage.documents.remove(*(f"n{n}" for n in range(start, start + 10)))
        written.append({slice for slice, _ in set(rows(store, places)) - before})
    assert {len(slices) for slices in written} <= {1, 2}  # two, as the memory gets smaller
    assert set.union(*written) == set(range(SLICES))
    assert all(finding.ok for finding in examine(store, thorough=True))


def test_a_chunk_that_comes_again_under_its_id_is_indexed_once(store: HybridStore) -> None:
    put_kettles(store, 20)
    before = rows(store, POSTINGS)
    postings = store.storage._postings  # type: ignore[attr-defined]
    with store.storage.transaction():
        postings.take_out(before[3][0])
        assert rows(store, POSTINGS) == [*before[:3], *before[4:]]
        postings.add_again([before[3][0]])
    assert rows(store, POSTINGS) == before
    assert all(finding.ok for finding in examine(store, thorough=True))


SECTIONS = "# One\n\nalpha kettle\n\n# Two\n\nbeta kettle\n\n# Three\n\n{} kettle\n"
CHUNKS_OF_ALL = "select id, heading from chunks order by id"


def test_an_edit_leaves_the_chunks_before_it_as_they_are(store: HybridStore) -> None:
    store.store("a", SECTIONS.format("gamma"))
    before = rows(store, CHUNKS_OF_ALL)
    terms = rows(store, "select term, id from terms order by term")
    store.store("a", SECTIONS.format("delta"))
    after = rows(store, CHUNKS_OF_ALL)
    assert [heading for _, heading in after] == ["One", "Two", "Three"]
    assert after[:2] == before[:2]
    assert after[2][0] > before[2][0]
    now = rows(store, "select term, id from terms order by term")
    assert {term for term, _ in set(now) ^ set(terms)} == {
        "gamma",
        "delta",
    }  # no other got a new id
    assert [hit["heading"] for hit in store.search("delta", mode="keyword")] == ["Three"]
    assert store.search("gamma", mode="keyword") == []
    assert all(finding.ok for finding in examine(store, thorough=True))


def test_an_edit_of_the_beginning_writes_all_chunks_anew(store: HybridStore) -> None:
    store.store("a", SECTIONS.format("gamma"))
    before = rows(store, CHUNKS_OF_ALL)
    terms = rows(store, "select term, id from terms order by term")
    store.store("a", "A line.\n\n" + SECTIONS.format("gamma"))
    assert not {id for id, _ in rows(store, CHUNKS_OF_ALL)} & {id for id, _ in before}
    assert set(terms) <= set(rows(store, "select term, id from terms order by term"))
    assert store.search("gamma", mode="keyword")[0]["start_line"] == 11
    assert all(finding.ok for finding in examine(store, thorough=True))


def test_chunks_that_stay_keep_their_embeddings_and_new_ones_get_theirs(
    db_path: str, embedder: TopicEmbedder
) -> None:
    embeddings = "select heading, embedding::text from chunks order by id"
    with HybridStore(db_path, embedder=embedder) as store:
        store.store("a", SECTIONS.format("gpu"))
        before = rows(store, embeddings)
        store.store("a", SECTIONS.format("coffee"))
        after = rows(store, embeddings)
        assert after[:2] == before[:2]
        assert None not in after[2]
        assert after[2] != before[2]
        assert all(finding.ok for finding in examine(store, thorough=True))


def test_the_room_of_many_chunks_that_left_is_made_free(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    vacuums = "select vacuum_count from pg_stat_user_tables where relname = 'words'"
    monkeypatch.setattr(engine_of_server, "MANY_REMOVED", 5)
    monkeypatch.setattr(engine_of_server, "MANY_DEAD", 10)
    address = postgres.database(f"room{next(NUMBERS)}", TEMPLATE)  # without other dead rows
    with HybridStore(address, {"provider": "none"}) as store:
        put_kettles(store, 100)
        for count, expected in ((8, 0), (15, 1), (9, 1)):
            with store.storage.transaction():
                store.storage.documents.remove(*(f"n{n}" for n in range(count)))
            put_kettles(store, count)
            assert rows(store, vacuums) == [(expected,)]


WORDS = [f"word{n}x" for n in range(40)]
COUNTS = [1 / (n + 1) for n in range(40)]  # how often they come, as Zipf's law has it


def put_made_up(
    store: HybridStore, chance: random.Random, start: int, count: int, most: int
) -> None:
    """Write texts of at most this many words in one transaction."""
    texts = [
        " ".join(chance.choices(WORDS, COUNTS, k=chance.randint(1, most))) for _ in range(count)
    ]
    with store.storage.transaction():
        store.storage.documents.put_all(
            store.prepare(Document(f"m{start + n}", text, {})) for n, text in enumerate(texts)
        )


@pytest.fixture
def made_up(store: HybridStore) -> HybridStore:
    """Texts from several transactions, later ones longer, so that blocks have different averages;
    some were deleted.
    """
    chance = random.Random(7)
    for start, count, most in ((0, 900, 12), (900, 600, 40), (1500, 10, 60), (1510, 300, 90)):
        put_made_up(store, chance, start, count, most)
    with store.storage.transaction():
        store.storage.documents.remove(*(f"m{n}" for n in range(0, 1800, 7)))
    return store


def searched(store: HybridStore, words: list[str], limit: int) -> list[tuple[int, float]]:
    index = store.storage.keyword()
    return index._best([Term((word,)) for word in words], limit, ())  # type: ignore[attr-defined,no-any-return]


def test_the_best_are_the_same_whichever_words_choose_the_chunks(
    made_up: HybridStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(11)
    for _ in range(150):
        words = chance.sample(WORDS, chance.randint(1, 5))
        limit = chance.choice((1, 5, 10, 30))
        monkeypatch.setattr(keyword, "FIRST_ROWS", 10**9)  # every posting is read
        every = searched(made_up, words, limit)[: keyword.PROVEN]
        monkeypatch.setattr(keyword, "FIRST_ROWS", chance.choice((0, 100, 300)))
        some = searched(made_up, words, limit)[: keyword.PROVEN]
        assert [id for id, _ in some] == [id for id, _ in every], (words, limit)
        assert [score for _, score in some] == pytest.approx([score for _, score in every])


def test_words_that_are_several_terms_or_none_are_cut_as_fts5_cuts_them() -> None:
    texts = ["kettles boil", "a-b ... kettles", "", "..."]
    tokenizer = fts5.Tokenizer()
    for _ in range(2):
        assert tokenizer.terms(texts) == [["kettl", "boil"], ["a", "b", "kettl"], [], []]


def test_an_error_undoes_the_transaction(store: HybridStore) -> None:
    store.store("before", "an old kettle")
    with pytest.raises(psycopg.errors.NotNullViolation), store.storage.transaction():
        store.storage.documents.put(store.prepare(Document("a", "another kettle", {})))
        store.storage.connection.execute("insert into names (space) values (1)")  # type: ignore[attr-defined]
        store.storage.documents.put(store.prepare(Document("b", "a third kettle", {})))
    store.store("after", "a new kettle")
    assert store.stats()["doc_count"] == 2
    assert {hit["doc_id"] for hit in store.search("kettle")} == {"before", "after"}
