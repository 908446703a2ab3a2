"""Postings in blocks: written, merged and taken out of without a change of what they say."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import HybridStore
from hybrid_memory.documents.document import Document
from hybrid_memory.extras.doctor import examine
from hybrid_memory.extras.postgres import engine as engine_of_server
from hybrid_memory.extras.postgres import postings as blocks
from hybrid_memory.extras.postgres.postings import LOOSE, PAYLOAD, PLACE, SIZE, SMALL

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


def rows(store: HybridStore, statement: str) -> list[tuple[float, ...]]:
    return store.storage.connection.all(statement)  # type: ignore[attr-defined,no-any-return]


entries = st.dictionaries(
    st.integers(1, 2**31 - 2), st.integers(0, PAYLOAD), min_size=1, max_size=3 * SIZE
)


@given(entries)
def test_blocks_hold_all_entries_in_order(wanted: dict[int, int]) -> None:
    made = list(
        blocks.blocks(7, [chunk << PLACE | payload for chunk, payload in sorted(wanted.items())])
    )
    found = []
    for block in made:
        numbers = list(map(int, re.findall(r"\d+", block.entries)))
        of_block = [(block.first + (entry >> PLACE), entry & PAYLOAD) for entry in numbers]
        assert (block.term, block.first, block.last) == (7, of_block[0][0], of_block[-1][0])
        assert len(of_block) <= SIZE
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
    monkeypatch.setattr(blocks, "MOST_DEAD", 10)
    put_kettles(store, 2 * SIZE)
    before = rows(store, POSTINGS)
    with store.storage.transaction():
        store.storage.documents.remove(*(f"n{n}" for n in range(SIZE)))
    assert rows(store, POSTINGS) == before[SIZE:]
    assert rows(store, "select dead from spaces") == [(0,)]
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


def test_the_room_of_many_chunks_that_left_is_made_free(
    store: HybridStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    vacuums = "select vacuum_count from pg_stat_user_tables where relname = 'postings'"
    monkeypatch.setattr(engine_of_server, "LEFT", 10)
    put_kettles(store, 100)
    for count, expected in ((10, 0), (10, 1), (10, 1)):
        with store.storage.transaction():
            store.storage.documents.remove(*(f"n{n}" for n in range(count)))
        put_kettles(store, 10)
        assert rows(store, vacuums) == [(expected,)]
