import sqlite3
from collections.abc import Iterator

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.storage import query_cache as cache_module
from hybrid_memory.storage.sqlite import connection
from hybrid_memory.storage.sqlite.connection import SQLiteDatabase
from hybrid_memory.storage.sqlite.embeddings import SQLiteQueryCache
from tests.conftest import TopicEmbedder


@pytest.fixture
def conn(db_path: str) -> Iterator[sqlite3.Connection]:
    opened = connection.connect(db_path, create=True)
    yield opened
    opened.close()


def test_repeated_query_of_another_process_asks_no_server(store: HybridStore, db_path: str) -> None:
    store.store("a", "gpu server")
    first = store.search("gpu")
    other = TopicEmbedder()
    with HybridStore(db_path, embedder=other) as second:
        assert second.search("gpu") == first
        assert other.queries == []
        second.search("dog")
        assert other.queries == ["dog"]


def cache_of(conn: sqlite3.Connection, size: int) -> SQLiteQueryCache:
    return SQLiteQueryCache(SQLiteDatabase(conn), size)


class Counting:
    """Embeds any query as one number, and counts the calls."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.calls = 0

    def __call__(self, queries: list[str]) -> list[list[float]]:
        self.asked += queries
        self.calls += 1
        return [[float(ord(query[0]))] for query in queries]


@pytest.fixture
def embed() -> Counting:
    return Counting()


IDENTITY = {"model": "toy"}


def test_only_the_queries_used_last_are_kept(
    conn: sqlite3.Connection, embed: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1e9
    monkeypatch.setattr(cache_module.time, "time", lambda: now)
    cache = cache_of(conn, 2)
    for query in ("a", "b", "a"):
        now += cache_module.FRESH + 1
        cache.vectors(IDENTITY, [query], embed)
    now += 1
    cache.vectors(IDENTITY, ["c"], embed)
    assert embed.asked == ["a", "b", "c"]
    assert cache.vectors(IDENTITY, ["a"], embed) == [[97.0]]
    assert embed.asked == ["a", "b", "c"]
    cache.vectors(IDENTITY, ["b"], embed)
    assert embed.asked == ["a", "b", "c", "b"]


def test_what_is_not_cached_is_one_call(conn: sqlite3.Connection, embed: Counting) -> None:
    cache = cache_of(conn, 10)
    cache.vectors(IDENTITY, ["b"], embed)
    assert cache.vectors(IDENTITY, ["a", "b", "c"], embed) == [[97.0], [98.0], [99.0]]
    assert embed.asked == ["b", "a", "c"]
    assert embed.calls == 2


def test_fresh_hit_writes_nothing(conn: sqlite3.Connection, embed: Counting) -> None:
    cache = cache_of(conn, 10)
    cache.vectors(IDENTITY, ["a"], embed)
    before = conn.total_changes
    assert cache.vectors(IDENTITY, ["a"], embed) == [[97.0]]
    assert conn.total_changes == before


def test_another_identity_is_another_entry(conn: sqlite3.Connection, embed: Counting) -> None:
    cache = cache_of(conn, 10)
    cache.vectors(IDENTITY, ["a"], embed)
    cache.vectors({"model": "other"}, ["a"], embed)
    assert embed.asked == ["a", "a"]


def test_a_query_that_could_not_be_embedded_is_not_kept(
    conn: sqlite3.Connection, embed: Counting
) -> None:
    cache = cache_of(conn, 10)
    assert cache.vectors(IDENTITY, ["a"], lambda queries: [[]]) == [[]]
    assert cache.vectors(IDENTITY, ["a"], embed) == [[97.0]]


def test_locked_database_is_not_waited_for(
    conn: sqlite3.Connection, db_path: str, embed: Counting
) -> None:
    writer = sqlite3.connect(db_path, isolation_level=None)
    writer.execute("begin immediate")
    assert cache_of(conn, 10).vectors(IDENTITY, ["a"], embed) == [[97.0]]
    writer.close()
    cache_of(conn, 10).vectors(IDENTITY, ["a"], embed)
    assert embed.asked == ["a", "a"]
    assert conn.execute("pragma busy_timeout").fetchone() == (int(connection.BUSY_TIMEOUT * 1000),)


def test_a_query_inside_a_transaction_leaves_it_open(
    conn: sqlite3.Connection, embed: Counting
) -> None:
    conn.execute("begin")
    assert cache_of(conn, 10).vectors(IDENTITY, ["a"], embed) == [[97.0]]
    assert conn.in_transaction


def test_size_zero_keeps_nothing(conn: sqlite3.Connection, embed: Counting) -> None:
    for _ in range(2):
        cache_of(conn, 0).vectors(IDENTITY, ["a"], embed)
    assert embed.asked == ["a", "a"]


def test_queries_are_not_readable_in_the_database(store: HybridStore) -> None:
    store.store("a", "gpu server")
    store.search("where is my secret diary")
    [(stored,)] = store.storage.connection.execute("select key from query_embeddings")
    assert len(stored) == 16
    assert b"diary" not in stored
