import random
import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.documents.document import Document
from hybrid_memory.storage.sqlite import word_list

pytestmark = pytest.mark.sqlite

WORDS = (
    "heron gull crane servers serving tundra lake boats tides café src/boats.ts 東京 naïve".split()
)
Open = Callable[[], HybridStore]


@pytest.fixture
def open_store(db_path: str) -> Open:
    return lambda: HybridStore(db_path, {"provider": "none"})


def listed(path: str) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as conn:
        return dict(conn.execute("select term, chunks from terms"))


def indexed(path: str) -> dict[str, int]:
    """The terms of the keyword index that are listed, counted by FTS5."""
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("create virtual table temp.words using fts5vocab (main, chunks_fts, row)")
        return dict(conn.execute(f"select term, doc from words where {word_list.LISTED}"))


def test_the_list_has_the_words_of_the_index_after_every_change(
    db_path: str, open_store: Open
) -> None:
    rnd = random.Random(7)
    with open_store() as store:
        store.store("first", "heron")
    for number in range(30):
        doc_id = f"note-{rnd.randrange(12)}"
        with open_store() as store:
            if rnd.random() < 0.3:
                store.delete(doc_id)
            else:
                store.store(
                    doc_id, "# Day\n\n" + " ".join(rnd.choices(WORDS, k=rnd.randrange(400)))
                )
            if number % 10 == 0:
                store.reindex()
            assert listed(db_path) == (indexed(db_path) if number % 10 else {})
        assert listed(db_path) == indexed(db_path)
    assert "server" in listed(db_path)


def test_a_word_that_only_a_deleted_note_had_leaves_the_list(
    db_path: str, open_store: Open
) -> None:
    with open_store() as store:
        store.store("a", "the password is heron")
        store.store("b", "the gull")
    assert "heron" in listed(db_path)
    with open_store() as store:
        store.delete("a")
        assert set(listed(db_path)) == {"b", "gull", "the"}


def test_a_change_that_is_rolled_back_does_not_change_the_list(
    db_path: str, open_store: Open
) -> None:
    with open_store() as store:
        store.store("a", "heron")
    before = listed(db_path)
    with open_store() as store, pytest.raises(RuntimeError), store.storage.transaction():
        store.storage.documents.put(store.prepare(Document("b", "gull", {})), {})
        store.storage.documents.remove("a")
        raise RuntimeError
    assert listed(db_path) == before


def test_much_growth_empties_the_list_until_the_store_is_closed(
    db_path: str, open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_list, "FEW", 3)
    with open_store() as store:
        store.store("a", "heron")
    with open_store() as store:
        for number in range(5):
            store.store(f"b{number}", f"gull crane{number}")
        assert listed(db_path) == {}
        assert store.search("herno")[0]["doc_id"] == "a"
        assert store.search("gulll")
    assert listed(db_path) == indexed(db_path)


def test_replacing_many_chunks_empties_the_list_until_the_store_is_closed(
    db_path: str, open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_list, "FEW", 3)
    names = [f"a{number}" for number in range(10)]
    with open_store() as store:
        for name in names:
            store.store(name, f"gull {name}")
    with open_store() as store:
        for name in names:
            assert bool(listed(db_path)) == (name in names[:4])
            store.store(name, f"crane {name}")
    assert listed(db_path) == indexed(db_path)
    assert listed(db_path)["crane"] == 10


def test_a_misspelt_word_is_corrected_by_the_list_without_reading_postings(
    open_store: Open,
) -> None:
    with open_store() as store:
        store.store("a", "the heron is here")
    statements: list[str] = []
    with open_store() as store:
        store.storage.connection.set_trace_callback(statements.append)  # type: ignore[attr-defined]
        for query in ("herno", "jeron", "xyzzyplugh"):
            store.search(query)
    assert not [statement for statement in statements if "from temp.vocabulary" in statement]
    assert [statement for statement in statements if "from terms" in statement]


def test_a_search_does_not_fill_the_list(db_path: str, open_store: Open) -> None:
    with open_store() as store:
        store.store("a", "the heron is here")
    with closing(sqlite3.connect(db_path)) as conn:
        conn.execute("delete from terms")
        conn.commit()
    with open_store() as store:
        assert store.search("herno")[0]["doc_id"] == "a"
    assert listed(db_path) == {}
