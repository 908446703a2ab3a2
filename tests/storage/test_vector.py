import math
import random
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory.storage import encoding as vectors
from hybrid_memory.storage.sqlite import connection
from hybrid_memory.storage.sqlite import vectors as blocks
from hybrid_memory.storage.sqlite import vectors as index
from hybrid_memory.storage.sqlite.selection import Condition, Selection
from hybrid_memory.text.characters import digest
from hybrid_memory.vector import VectorSearch, cosine_similarity, decode_embedding, encode_embedding
from tests.conftest import TopicEmbedder

Vectors = Sequence[Sequence[float]]

ADD_CHUNK = """
insert into chunks (id, doc_id, chunk_id, heading, heading_path, content, start_line, end_line, content_hash)
values (?, 'd', ?, 'Notes', 'Notes', 'text ' || ?, 1, 1, ?)
"""


def fill(conn: sqlite3.Connection, vectors: Vectors, batch: int = 500) -> VectorSearch:
    """Store the vectors as chunks 1, 2, 3 and so on."""
    for start in range(0, len(vectors), batch):
        some = enumerate(vectors[start : start + batch], 1)
        rows = [(start + i, encode_embedding(v), False) for i, v in some]
        conn.executemany(
            ADD_CHUNK, [(id, str(id), id, digest(str(id).encode())) for id, _, _ in rows]
        )
        blocks.put(conn, rows)
    return VectorSearch(conn, TopicEmbedder())


def candidates(conn: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows by the number of embeddings compared, with each statement that reads some."""
    read: list[int] = []
    original = index._hits

    def counting(query: vectors.UnitVector, rows: Iterator[index.Row]) -> list[index.Scored]:
        hits = original(query, rows)
        read.append(len(hits))
        return hits

    monkeypatch.setattr(index, "_hits", counting)
    return read


# Floats, bytes, cosine


def test_encoding_is_little_endian_float32() -> None:
    assert encode_embedding([1.0, -2.0]) == bytes.fromhex("0000803f000000c0")
    assert encode_embedding([]) == b""


@given(st.lists(st.floats(width=32, allow_nan=False)))
def test_decoding_gives_back_what_was_encoded(floats: list[float]) -> None:
    assert decode_embedding(encode_embedding(floats)) == floats


def test_decoding_part_of_a_float_is_an_error() -> None:
    with pytest.raises(ValueError, match="7 bytes"):
        decode_embedding(b"\0" * 7)


@pytest.mark.parametrize(
    ("a", "b", "cosine"),
    [
        ([1, 0], [1, 1], math.sqrt(0.5)),
        ([1, 2], [0, 0], 0.0),
        ([], [], 0.0),
        ([1e200, 0], [1e-200, 0], 1.0),
    ],
)
def test_cosine_similarity(a: list[float], b: list[float], cosine: float) -> None:
    assert cosine_similarity(a, b) == pytest.approx(cosine, abs=1e-12)


components = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(st.lists(components, min_size=1, max_size=8).filter(lambda v: math.hypot(*v) > 1e-6))
def test_cosine_of_equal_opposite_and_orthogonal_vectors_is_exact(vector: list[float]) -> None:
    turned = [c for x, y in zip(vector[::2], vector[1::2], strict=False) for c in (-y, x)] + [
        0.0
    ] * (len(vector) % 2)
    assert cosine_similarity(vector, vector) == 1.0
    assert cosine_similarity(vector, [-x for x in vector]) == -1.0
    assert cosine_similarity(vector, [4 * x for x in vector]) == 1.0
    assert cosine_similarity(vector, turned) == 0.0


def test_cosine_of_different_lengths_is_an_error_that_tells_both() -> None:
    with pytest.raises(ValueError, match=r"3 and 2"):
        cosine_similarity([1, 2, 3], [1, 2])


# Nearest


def test_the_nearest_come_best_first_with_their_cosines(conn: sqlite3.Connection) -> None:
    search = fill(conn, [[0, 1], [1, 1], [1, 0], [-1, 0]])
    assert search.nearest([2.0, 0.0]) == [
        (3, pytest.approx(1.0)),
        (2, pytest.approx(math.sqrt(0.5))),
    ]


def test_no_more_than_the_limit(conn: sqlite3.Connection) -> None:
    search = fill(conn, [[1, i] for i in range(30)])
    assert [len(search.nearest([1, 1], limit)) for limit in (0, 1, 7, 100)] == [0, 1, 7, 30]
    assert search.nearest([1, 1], -1) == []


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("query", [[], [0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0]])
def test_nothing_is_near_a_vector_without_a_direction(
    conn: sqlite3.Connection, query: list[float], exact: bool
) -> None:
    search = fill(conn, [[1, 0], [0, 1]])
    assert search.nearest(query, exact=exact) == []
    assert search.cosines(query, [1, 2]) == {}


def test_a_query_of_another_dimension_is_an_error_that_tells_both(conn: sqlite3.Connection) -> None:
    search = fill(conn, [[1, 0], [0, 1]])
    for ask in (
        search.nearest,
        lambda v: search.nearest(v, exact=True),
        lambda v: search.cosines(v, [1]),
    ):
        with pytest.raises(ValueError, match="3 dimensions, the store's embeddings have 2"):
            ask([1.0, 2.0, 3.0])


def test_scores_are_the_cosines_of_the_chunks_that_have_embeddings(
    conn: sqlite3.Connection,
) -> None:
    search = fill(conn, [[1, 0], [-1, 1], [0, 1]])
    conn.execute(ADD_CHUNK, (9, "9", 9, b"9"))
    assert search.cosines([1.0, 0.0], [1, 2, 9, 77]) == {
        1: pytest.approx(1.0),
        2: pytest.approx(-math.sqrt(0.5)),
    }
    assert search.cosines([1.0, 0.0], []) == {}


def test_search_embeds_the_query_and_tells_about_the_chunks(conn: sqlite3.Connection) -> None:
    embedder = TopicEmbedder()
    fill(conn, embedder.embed_batch(["dog", "server password", "cat host"]))
    results = VectorSearch(conn, embedder).search("puppy", limit=1)
    assert results == [
        {
            "doc_id": "d",
            "chunk_id": "1",
            "heading": "Notes",
            "text": "text 1",
            "score": pytest.approx(1.0),
            "source": "vector",
        }
    ]
    assert embedder.queries == ["puppy"]


# Against the exact scan, on vectors that make it hard

DIMS, ROWS = 64, 1200


def gauss(rnd: random.Random, n: int, dims: int = DIMS, spread: float = 1.0) -> list[list[float]]:
    return [[rnd.gauss(0, spread) for _ in range(dims)] for _ in range(n)]


def plus(a: Sequence[float], b: Sequence[float]) -> list[float]:
    return [x + y for x, y in zip(a, b, strict=True)]


def clustered(
    rnd: random.Random, n: int, clusters: int, spread: float, dims: int = DIMS
) -> list[list[float]]:
    centers = gauss(random.Random(5), clusters, dims)
    return [plus(rnd.choice(centers), noise) for noise in gauss(rnd, n, dims, spread)]


def with_duplicates(rnd: random.Random, n: int) -> list[list[float]]:
    same = gauss(random.Random(5), 1)[0]
    return gauss(rnd, n - n // 3) + [same] * (n // 3)


COMMON = [3 * x for x in gauss(random.Random(6), 1)[0]]
FAMILIES: dict[str, Callable[[random.Random, int], list[list[float]]]] = {
    "clusters": lambda rnd, n: clustered(rnd, n, 60, 0.7),
    "a large common component": lambda rnd, n: [
        plus(COMMON, v) for v in clustered(rnd, n, 60, 0.7)
    ],
    "duplicates": with_duplicates,
    "one dimension": lambda rnd, n: [[rnd.gauss(0, 1)] for _ in range(n)],
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.large
def test_recall_at_10_is_at_least_98_percent(conn: sqlite3.Connection, family: str) -> None:
    rnd = random.Random(7)
    search = fill(conn, FAMILIES[family](rnd, ROWS))
    found = wanted = 0
    for query in FAMILIES[family](rnd, 20):
        exact = search.nearest(query, 10, exact=True)
        ids = {id for id, _ in search.nearest(query, 10)}
        wanted += len(exact)
        found += sum(id in ids for id, _ in exact)
    assert found >= 0.98 * wanted


def test_duplicates_come_by_id_whatever_their_slots(conn: sqlite3.Connection) -> None:
    search = fill(conn, with_duplicates(random.Random(7), ROWS))
    query = gauss(random.Random(5), 1)[0]
    assert search.nearest(query, 100) == search.nearest(query, 100, exact=True)


def test_many_blocks_are_ranked_as_one(
    conn: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (blocks, index):
        monkeypatch.setattr(module, "PLACES", 64)
    monkeypatch.setattr(blocks, "EVERY_PLACE", (1 << 64) - 1)
    rnd = random.Random(7)
    search = fill(conn, FAMILIES["clusters"](rnd, ROWS))
    read = candidates(conn, monkeypatch)
    for query in FAMILIES["clusters"](rnd, 10):
        read.clear()
        found = search.nearest(query, 10)
        assert 1.5 * index.FIRST <= sum(read) < 3 * index.FIRST  # of all blocks, not of each
        assert found == search.nearest(query, 10, exact=True)
    assert conn.execute("select count(*) from vector_blocks").fetchone()[0] >= ROWS // 64


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 100), st.integers(1, 20), st.integers(1, 150), st.randoms(use_true_random=False)
)
def test_a_store_of_few_vectors_is_searched_exactly(
    n: int, dims: int, limit: int, rnd: random.Random
) -> None:
    with closing(connection.connect(":memory:", create=True)) as conn:
        search = fill(
            conn,
            [[rnd.choice([-1.0, 0.0, 1.0, 2.0]) for _ in range(dims)] for _ in range(n)],
            batch=7,
        )
        query = [rnd.gauss(0, 1) for _ in range(dims)]
        assert search.nearest(query, limit) == search.nearest(query, limit, exact=True)


# How many candidates


def test_clear_results_take_few_candidates(
    conn: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    rnd = random.Random(7)
    search = fill(conn, FAMILIES["clusters"](rnd, ROWS))
    read = candidates(conn, monkeypatch)
    for query in FAMILIES["clusters"](rnd, 10):
        read.clear()
        search.nearest(query, 10)
        assert len(read) == 2  # the first lot, and one that brought no news
        assert 1.5 * index.FIRST <= sum(read) < 3 * index.FIRST  # with those that tie
    read.clear()
    search.nearest(FAMILIES["clusters"](rnd, 1)[0], 300)
    assert read[0] >= 600  # they grow with the limit


def test_a_search_sees_one_state_while_another_connection_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "memory.db")
    reader = connection.connect(path, create=True)
    search = fill(reader, [[1, i] for i in range(300)])
    expected = search.nearest([1.0, 0.0], exact=True)
    read_planes = index.read_planes

    def slow(conn: sqlite3.Connection, block: int) -> bytes:
        writer = connection.connect(path)
        blocks.drop(writer, range(1, 200))
        writer.close()
        return read_planes(conn, block)

    monkeypatch.setattr(index, "read_planes", slow)
    assert search.nearest([1.0, 0.0]) == expected
    assert not reader.in_transaction
    monkeypatch.undo()
    assert [id for id, _ in search.nearest([1.0, 0.0], 2)] == [200, 201]
    reader.close()


# Filters


def among(conn: sqlite3.Connection, slots: Iterable[int]) -> index.VectorIndex:
    """The index over the chunks with these slots, each in its own document."""
    conn.execute("update chunks set doc_id = 'd' || id")
    conn.execute(
        "insert or ignore into documents (doc_id, chunking, chunk_count) select doc_id, '', 1 from chunks"
    )
    conn.execute("drop table if exists temp.picked")
    conn.execute("create temp table picked (doc_id)")
    conn.executemany(
        "insert into temp.picked select doc_id from chunks where slot = ?",
        [(slot,) for slot in slots],
    )
    is_picked = "d.doc_id in (select doc_id from temp.picked)"
    return index.VectorIndex(conn, Selection(conn, Condition(is_picked, []), []))


def test_only_the_slots_of_a_filter_are_searched(conn: sqlite3.Connection) -> None:
    rnd = random.Random(7)
    search = fill(conn, FAMILIES["clusters"](rnd, ROWS))
    query = FAMILIES["clusters"](rnd, 1)[0]
    for share in (0.0, 0.01, 0.3, 1.0):
        slots = {
            id: slot
            for id, slot in conn.execute("select id, slot from chunks")
            if rnd.random() < share
        }
        expected = sorted(
            ((id, cosine) for id, cosine in search.cosines(query, slots).items() if cosine > 0),
            key=lambda hit: (-hit[1], hit[0]),
        )
        for exact in (False, True):
            found = among(conn, slots.values()).nearest(query, 10, exact=exact)
            assert found == expected[:10], (share, exact)
    assert among(conn, [99_999]).nearest(query) == []


# A sample of what is stored


def test_a_sample_is_of_texts_whatever_their_order(conn: sqlite3.Connection) -> None:
    rnd = random.Random(7)
    search = fill(conn, FAMILIES["clusters"](rnd, ROWS))
    query = FAMILIES["clusters"](rnd, 1)[0]
    sample = search.sample(query)
    assert len(sample) == index.SAMPLE
    assert sample == search.cosines(query, sample)
    assert set(sample) == set(
        sorted(range(1, ROWS + 1), key=lambda id: digest(str(id).encode()))[: index.SAMPLE]
    )


def test_a_text_in_many_places_is_in_a_sample_once(conn: sqlite3.Connection) -> None:
    search = fill(conn, [[1, 0]] * 50 + [[0, 1]])
    conn.execute("update chunks set content_hash = x'00' where id <= 50")
    assert search.sample([1.0, 0.0]) == search.cosines([1.0, 0.0], [1, 51])


@pytest.mark.parametrize("query", [[], [0.0, 0.0]])
def test_a_sample_of_nothing_is_empty(conn: sqlite3.Connection, query: list[float]) -> None:
    assert VectorSearch(conn, TopicEmbedder()).sample([1.0, 0.0]) == {}
    assert fill(conn, [[1, 0]]).sample(query) == {}
