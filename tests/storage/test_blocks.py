import random
import sqlite3
from contextlib import closing

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hybrid_memory.storage.encoding import decode_embedding, encode_embedding
from hybrid_memory.storage.sqlite import checks, connection
from hybrid_memory.storage.sqlite import vectors as blocks
from hybrid_memory.storage.sqlite.checks import check_vectors as check
from hybrid_memory.storage.sqlite.vectors import drop, put, rebuild

DIMS = 12
ADD_CHUNK = """
insert into chunks (id, doc_id, chunk_id, heading, heading_path, content, start_line, end_line, content_hash)
values (?, ?, ?, '', '', '', 1, 1, x'00')
"""
PLACES = 32  # in the tests that need many blocks


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)


def shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "PLACES", PLACES)
    monkeypatch.setattr(checks, "PLACES", PLACES)
    monkeypatch.setattr(blocks, "EVERY_PLACE", (1 << PLACES) - 1)


def vectors(n: int, seed: int = 1, dims: int = DIMS) -> list[list[float]]:
    rnd = random.Random(seed)
    return [[rnd.gauss(0, 1) for _ in range(dims)] for _ in range(n)]


def add(conn: sqlite3.Connection, ids: range | list[int], seed: int = 1, dims: int = DIMS) -> None:
    conn.executemany(ADD_CHUNK, [(id, "d", str(id)) for id in ids])
    put_vectors(conn, dict(zip(ids, vectors(len(ids), seed, dims), strict=True)))


def put_vectors(conn: sqlite3.Connection, vectors: dict[int, list[float]]) -> None:
    put(conn, [(id, encode_embedding(vector), False) for id, vector in vectors.items()])


def remove(conn: sqlite3.Connection, ids: range | list[int]) -> None:
    drop(conn, ids)
    conn.executemany("delete from chunks where id = ?", [(id,) for id in ids])


def slots(conn: sqlite3.Connection) -> dict[int, int]:
    return dict(conn.execute("select id, slot from chunks where slot is not null"))


def block_count(conn: sqlite3.Connection) -> int:
    return int(conn.execute("select count(*) from vector_blocks").fetchone()[0])


def dims_of(conn: sqlite3.Connection) -> int:
    return len(decode_embedding(blocks.read_center(conn)))


# Putting


def test_an_embedding_is_stored_as_a_unit_vector_with_a_slot(conn: sqlite3.Connection) -> None:
    conn.execute(ADD_CHUNK, (5, "d", "5"))
    put(conn, [(5, encode_embedding([3.0, 0.0, 4.0]), True)])
    embedding, slot, truncated = conn.execute(
        "select embedding, slot, truncated from chunks"
    ).fetchone()
    assert decode_embedding(embedding) == pytest.approx([0.6, 0.0, 0.8])
    assert (slot, truncated) == (0, 1)
    assert check(conn) == []


@pytest.mark.parametrize(
    "bad", [[], [0.0] * DIMS, [float("nan")] * DIMS, [float("inf")] + [0.0] * (DIMS - 1)]
)
def test_what_has_no_direction_is_refused_and_counts_as_not_embedded(
    conn: sqlite3.Connection, bad: list[float]
) -> None:
    add(conn, [1, 2])
    put(conn, [(2, encode_embedding(bad), True)])
    assert conn.execute(
        "select embedding, slot, truncated from chunks where id = 2"
    ).fetchone() == (None, None, 0)
    assert check(conn) == []


def test_another_dimension_is_an_error_and_nothing_is_written(conn: sqlite3.Connection) -> None:
    add(conn, [1, 2])
    before = list(conn.iterdump())
    with pytest.raises(ValueError, match="chunk 2 has 3 dimensions, the others have 12"):
        put_vectors(conn, {1: vectors(1)[0], 2: [1.0, 2.0, 3.0]})
    assert list(conn.iterdump()) == before


def test_the_dimension_is_open_again_when_the_last_embedding_is_dropped(
    conn: sqlite3.Connection,
) -> None:
    add(conn, [1, 2])
    remove(conn, [1, 2])
    assert (dims_of(conn), block_count(conn)) == (0, 0)
    add(conn, [3], dims=5)
    assert dims_of(conn) == 5


def test_the_center_is_taken_anew_until_the_store_has_grown_to_a_thousand(
    conn: sqlite3.Connection,
) -> None:
    changed, center = [], None
    for n in (1, 3, 4, 15, 16, 63, 64, 255, 256, 1023, 1024, 1400):
        add(conn, range(max(slots(conn), default=0) + 1, n + 1), seed=n)
        before, (center,) = center, conn.execute("select center from vector_blocks").fetchone()
        if center != before:
            changed.append(n)
    assert changed == [1, 4, 16, 64, 256, 1024]
    assert check(conn) == []


def test_many_at_once_are_centered_on_their_own_mean_not_on_that_of_the_few_before(
    conn: sqlite3.Connection,
) -> None:
    add(conn, [1])
    add(conn, range(2, 102), seed=2)
    center = decode_embedding(blocks.read_center(conn))
    assert sum(x * x for x in center) < 0.1


# How much is written


# Dropping


def test_a_dropped_slot_is_used_again(conn: sqlite3.Connection) -> None:
    add(conn, range(1, 21))
    freed = {slots(conn)[id] for id in (3, 4, 5)}
    remove(conn, [3, 4, 5])
    add(conn, [30, 31, 32], seed=5)
    assert {slots(conn)[id] for id in (30, 31, 32)} == freed
    assert check(conn) == []


def test_a_block_without_a_live_place_is_deleted(
    conn: sqlite3.Connection, small_blocks: None
) -> None:
    add(conn, range(1, 3 * PLACES + 1))
    remove(conn, range(PLACES + 1, 2 * PLACES + 1))
    assert block_count(conn) == 2
    assert check(conn) == []


# All of it, at random

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "replace", "remove", "refuse", "rebuild", "crash"]),
        st.integers(0, 2**16),
    ),
    max_size=25,
)


@settings(max_examples=40, deadline=None)
@given(STEPS)
@example([("put", 175), ("put", 175)])  # a value that equals the center once it is rounded
def test_blocks_agree_with_the_chunks_after_any_sequence(steps: list[tuple[str, int]]) -> None:
    with (
        pytest.MonkeyPatch.context() as monkeypatch,
        closing(connection.connect(":memory:", create=True)) as conn,
    ):
        shrink(monkeypatch)
        expected: dict[int, list[float]] = {}
        fresh = 1
        for step, seed in steps:
            rnd = random.Random(seed)
            some = rnd.sample(sorted(expected), min(len(expected), rnd.choice([1, 10, 60])))
            conn.execute("begin")
            if step in ("put", "crash"):
                ids = range(fresh, fresh + rnd.choice([1, 10, 100]))
                fresh = ids.stop
                add(conn, ids, seed=seed)
                if step == "crash":
                    remove(conn, some)
                    conn.execute("rollback")
                    continue
                expected |= dict(zip(ids, vectors(len(ids), seed), strict=True))
            elif step == "replace":
                new = dict(zip(some, vectors(len(some), seed), strict=True))
                put_vectors(conn, new)
                expected |= new
            elif step in ("remove", "refuse"):
                if step == "remove":
                    remove(conn, some)
                else:
                    put_vectors(conn, {id: [0.0] * DIMS for id in some})
                expected = {id: v for id, v in expected.items() if id not in some}
            else:
                rebuild(conn)
            conn.execute("commit")
            assert check(conn) == []
        stored = dict(conn.execute("select id, embedding from chunks where embedding is not null"))
        assert stored.keys() == expected.keys()
        for id, vector in expected.items():
            assert decode_embedding(stored[id]) == pytest.approx(blocks.unit(vector), abs=1e-6)
        conn.close()


# Rebuilding and checking

DAMAGE = {
    "a flipped bit": (
        "update vector_blocks set planes = cast(x'ff' || substr(planes, 2) as blob)",
        "chunk 2 has a code that does not match",
    ),
    "a live place too many": (
        "update vector_blocks set live = cast(x'ffffff' || substr(live, 4) as blob)",
        "other live places",
    ),
    "no block": ("delete from vector_blocks", "chunk 1 has slot 0, but there is no such block"),
    "no slot": (
        "update chunks set slot = null where id = 3",
        "chunk 3 has an embedding or a slot, but not both",
    ),
    "a slot astray": ("update chunks set slot = 99999 where id = 3", "chunk 3 has slot 99999"),
    "two that changed places": (
        "update chunks set slot = null where id = 3; update chunks set slot = 2 where id = 4;"
        "update chunks set slot = 3 where id = 3",
        "chunk 4 has a code that does not match",
    ),
    "another dimension": (
        "update chunks set embedding = x'0000803f' where id = 3",
        "chunk 3 has an embedding of another",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_check_tells_the_damage_and_rebuild_mends_it(conn: sqlite3.Connection, damage: str) -> None:
    add(conn, range(1, 21))
    statements, told = DAMAGE[damage]
    for statement in statements.split(";"):
        conn.execute(statement)
    assert any(told in problem for problem in check(conn)), check(conn)
    rebuild(conn)
    assert check(conn) == []


def test_rebuild_drops_what_has_not_the_common_dimension(conn: sqlite3.Connection) -> None:
    add(conn, range(1, 6))
    conn.execute("update chunks set embedding = x'0000803f' where id = 2")
    rebuild(conn)
    assert sorted(slots(conn)) == [1, 3, 4, 5]
    assert check(conn) == []
