"""A store in several threads, a closed store, and the errors that make SQLite look for damage."""

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hybrid_memory import HybridStore, StoreError

THREADS = 4
BUILTIN = {"provider": "builtin"}


def in_threads(jobs: list) -> list:
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(lambda job: job(), jobs))


@pytest.mark.both_engines
def test_searches_from_other_threads_find_the_same(db_path: str) -> None:
    with HybridStore(db_path, BUILTIN) as store:
        for number in range(20):
            store.store(f"note{number}", f"# Server {number}\n\nport {2000 + number} of ssh")
        expected = store.search("ssh port of server 7")
        assert expected
        found = in_threads([lambda: store.search("ssh port of server 7")] * 40)
        assert all(hits == expected for hits in found)


def test_a_store_in_memory_is_the_same_one_in_every_thread() -> None:
    with HybridStore(":memory:", BUILTIN) as store:
        in_threads([lambda n=n: store.store(f"note{n}", f"kettle {n}") for n in range(20)])
        assert store.stats()["doc_count"] == 20
        assert len(in_threads([lambda: store.search("kettle", 20)])[0]) == 20


@pytest.mark.both_engines
def test_what_threads_write_at_the_same_time_is_all_there(db_path: str) -> None:
    def write(number: int) -> None:
        for part in range(5):
            store.store(f"note{number}-{part}", f"garden {number}")
            assert store.search("garden")
            store.delete(f"note{number}-{part}") if part % 2 else None

    with HybridStore(db_path, BUILTIN) as store:
        in_threads([lambda n=n: write(n) for n in range(THREADS)])
        stats = store.stats()
        assert (stats["doc_count"], stats["chunk_count"]) == (3 * THREADS, 3 * THREADS)
        assert stats["embedded_count"] == 3 * THREADS
        assert store.storage.checks.keyword_index_differences() == (0, 0)


def test_an_interrupt_while_a_selection_is_listed_is_told_as_one() -> None:
    with HybridStore(":memory:", {"provider": "none"}) as store:
        store.store("a", "kettle")
        connection = store.storage.connection
        connection.create_function("stop", 0, store.storage.interrupt)
        with (
            pytest.raises(sqlite3.OperationalError, match="^interrupted$"),
            store.storage.snapshot(),
        ):
            connection.execute("create temp table listed (id integer primary key)")
            connection.execute("insert into listed select stop() from json_each('[1, 2, 3]')")
        assert [hit["doc_id"] for hit in store.search("kettle")] == ["a"]


@pytest.mark.both_engines
def test_another_thread_sees_no_half_of_a_transaction(db_path: str) -> None:
    is_written, counts = threading.Event(), []

    with HybridStore(db_path, {"provider": "none"}) as store:
        reader = threading.Thread(
            target=lambda: (is_written.wait(), counts.append(store.stats()["doc_count"]))
        )
        reader.start()
        with pytest.raises(KeyError), store.storage.transaction():
            store.storage.documents.put(store.prepare(document("half")))
            is_written.set()
            raise KeyError
        reader.join()
    assert counts == [0]


@pytest.mark.both_engines
def test_a_closed_store_says_that_it_is_closed(db_path: str) -> None:
    store = HybridStore(db_path, BUILTIN)
    store.store("a", "ssh")
    store.close()
    store.close()
    for call in (
        lambda: store.search("ssh"), lambda: store.store("b", "text"), lambda: store.delete("a"),
        store.stats, store.reindex, store.embed, lambda: store.may_switch_model, lambda: store.fitting_embedder,
    ):  # fmt: skip
        with pytest.raises(StoreError) as raised:
            call()
        told = str(raised.value)
        assert "is closed" in told and "damaged" not in told and "\n" not in told


def document(doc_id: str):
    from hybrid_memory.documents.document import Document

    return Document(doc_id, "half a text", {})
