"""The size of the file, and the effects of a keyword index without a copy of its texts."""

import os
import random
import sqlite3
from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.extras.doctor import examine
from hybrid_memory.storage.sqlite import connection
from hybrid_memory.sync.ingest import Ingest
from tests.conftest import indexed_words

WITHOUT, WITH = (
    2.5,
    5.5,
)  # times the notes: by keyword alone; with 256 dimensions, of which the floats alone are 2.4


def notes(count: int) -> dict[str, str]:
    """Pages with headings, whose words are as frequent as in a language: the n-th most common word
    has a share of 1/n.
    """
    source = random.Random(17)
    words = [
        "".join(source.choices("etaoinshrdlucmfwypvbgk", k=source.randint(2, 10)))
        for _ in range(8000)
    ]
    weights = [1 / rank for rank in range(1, len(words) + 1)]

    def text(n: int) -> str:
        return " ".join(source.choices(words, weights, k=n))

    def section() -> str:
        return f"## {text(3)}\n\n" + "\n\n".join(text(60) for _ in range(4))

    return {
        f"notes/{number}.md": f"# {text(3)}\n\n" + "\n\n".join(section() for _ in range(8))
        for number in range(count)
    }


@pytest.mark.parametrize(("provider", "most"), [("none", WITHOUT), ("builtin", WITH)])
def test_the_file_is_a_few_times_as_large_as_the_notes(
    tmp_path: Path, provider: str, most: float
) -> None:
    pages = notes(30)
    for name, text in pages.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    db_path = tmp_path / "memory.db"
    with HybridStore(db_path, {"provider": provider}) as store:
        Ingest(store).run([str(tmp_path / "notes")])
    connection.connect(str(tmp_path / "empty.db"), create=True).close()
    assert os.path.getsize(db_path) - os.path.getsize(tmp_path / "empty.db") <= most * sum(
        map(len, pages.values())
    )


def test_room_of_deleted_documents_is_given_back(db_path: str) -> None:
    for_seven = 0
    with HybridStore(db_path, {"provider": "none"}) as store:
        for number, (name, text) in enumerate(notes(20).items()):
            store.store(name, text)
            if number == 6:
                for_seven = sum(store.storage.connection.execute("pragma page_count").fetchone())  # type: ignore[attr-defined]
    with HybridStore(db_path, {"provider": "none"}) as store:
        for name in list(notes(20))[7:]:
            store.delete(name)
    assert os.path.getsize(db_path) <= 1.3 * for_seven * 16384


def words_after(path: str, change: str | None) -> tuple[list[tuple[int, str, str, int]], int]:
    """The words of the index after a removal, following a change by another program; and the number
    of its remaining rows.
    """
    with HybridStore(path, {"provider": "none"}) as store:
        store.store("kept", "# Café\n\nthe gpu server of boss-api.local", {"tag": "infra"})
        store.store("gone", "# Häuser\n\n東京都 and réglage of src/a.ts", {"tag": "home"})
        conn: sqlite3.Connection = store.storage.connection  # type: ignore[attr-defined]
        if change:
            conn.execute(change)
        assert store.delete("gone") == 1
        assert all(
            finding.ok
            for finding in examine(store)
            if finding.check in ("keyword index", "indexed")
        )
        assert [hit["doc_id"] for hit in store.search("gpu", mode="keyword")] == ["kept"]
        return indexed_words(conn), conn.execute(
            "select count(*) from chunks_fts_docsize"
        ).fetchone()[0]


@pytest.mark.parametrize(
    "change",
    [
        "update documents set metadata = '{\"tag\": \"other\"}' where doc_id = 'gone'",
        "update chunks set content = 'another text' where doc_id = 'gone'",
        "update chunks set indexed = 1",  # as if another analyzer had written it
    ],
)
def test_nothing_of_a_removed_chunk_stays_even_if_it_is_not_what_it_was(
    tmp_path: Path, change: str
) -> None:
    expected = words_after(str(tmp_path / "a.db"), None)
    assert words_after(str(tmp_path / "b.db"), change) == expected
    assert {word for _, _, word, _ in expected[0]} >= {"cafe", "gpu", "infra"}
    assert not {word for _, _, word, _ in expected[0]} & {"hauser", "reglag", "東京", "home"}


def test_chunk_that_is_missing_from_the_index_can_be_removed(db_path: str) -> None:
    with HybridStore(db_path, {"provider": "none"}) as store:
        store.store("a", "gpu server")
        conn: sqlite3.Connection = store.storage.connection  # type: ignore[attr-defined]
        conn.execute("insert into chunks_fts (chunks_fts) values ('delete-all')")
        store.delete("a")
        store.store("b", "gpu farm")
        assert [hit["doc_id"] for hit in store.search("farms", mode="keyword")] == ["b"]
