import sqlite3
from collections.abc import Iterator

import pytest

from hybrid_memory import HybridStore, schema
from hybrid_memory import query_cache as cache_module
from hybrid_memory.query_cache import QueryCache, key
from tests.conftest import TopicEmbedder


@pytest.fixture
def conn(db_path: str) -> Iterator[sqlite3.Connection]:
    opened = schema.connect(db_path, create=True)
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


def test_cached_query_is_answered_while_the_server_is_down(store: HybridStore, embedder: TopicEmbedder) -> None:
    store.store("a", "gpu server")
    store.search("gpu")
    embedder.problem = "down"
    assert store.search("gpu", mode="vector")[0]["doc_id"] == "a"
    assert store.warnings == []


def test_query_of_another_model_is_another_query(store: HybridStore, embedder: TopicEmbedder, db_path: str) -> None:
    store.store("a", "gpu server")
    store.search("gpu")
    other = TopicEmbedder()
    other.model = "animals"
    with HybridStore(db_path, embedder=other) as second:
        second.embed_pending()
        second.search("gpu")
        assert other.queries == ["gpu"]


def test_only_the_queries_used_last_are_kept(conn: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1e9
    monkeypatch.setattr(cache_module.time, "time", lambda: now)
    cache = QueryCache(conn, 2)
    for name in ("a", "b"):
        now += cache_module.FRESH + 1
        cache.put(key(name), name.encode())
    now += cache_module.FRESH + 1
    assert cache.get(key("a")) == b"a"
    now += 1
    cache.put(key("c"), b"c")
    assert [cache.get(key(name)) for name in "abc"] == [b"a", None, b"c"]


def test_fresh_hit_writes_nothing(conn: sqlite3.Connection) -> None:
    cache = QueryCache(conn, 10)
    cache.put(key("a"), b"a")
    before = conn.total_changes
    assert cache.get(key("a")) == b"a"
    assert conn.total_changes == before


def test_locked_database_is_not_waited_for(conn: sqlite3.Connection, db_path: str) -> None:
    writer = sqlite3.connect(db_path, isolation_level=None)
    writer.execute("begin immediate")
    QueryCache(conn, 10).put(key("a"), b"a")
    writer.close()
    assert QueryCache(conn, 10).get(key("a")) is None
    assert conn.execute("pragma busy_timeout").fetchone() == (int(schema.BUSY_TIMEOUT * 1000),)


def test_read_only_database_is_no_failure(conn: sqlite3.Connection) -> None:
    conn.execute("pragma query_only = on")
    QueryCache(conn, 10).put(key("a"), b"a")
    assert QueryCache(conn, 10).get(key("a")) is None


def test_size_zero_keeps_nothing(conn: sqlite3.Connection) -> None:
    QueryCache(conn, 0).put(key("a"), b"a")
    assert QueryCache(conn, 0).get(key("a")) is None


def test_queries_are_not_readable_in_the_database(store: HybridStore) -> None:
    store.store("a", "gpu server")
    store.search("where is my secret diary")
    [(stored,)] = store.connection.execute("select key from query_embeddings")
    assert len(stored) == 16
    assert b"diary" not in stored
