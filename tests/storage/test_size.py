"""The size of the file, and what follows from a keyword index that has no copy of its texts."""

import gzip
import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from hybrid_memory import HybridStore, StoreError
from hybrid_memory.documents.chunker import Chunk
from hybrid_memory.documents.document import Document, chunk_row, prepare
from hybrid_memory.indexing.embedding import made
from hybrid_memory.storage.sqlite import connection, schema
from hybrid_memory.storage.sqlite.keyword import FTSIndex
from hybrid_memory.storage.sqlite.vectors import blocks
from hybrid_memory.views.doctor import examine
from tests.conftest import indexed_words
from tests.kills import killed_while_it_opens

WITHOUT, WITH = 2.5, 5.5  # times the notes: by keyword alone; with 256 dimensions, of which the floats alone are 2.4

INDEX_OF_4 = """
create virtual table chunks_fts using fts5(
    doc_id unindexed, chunk_id unindexed, heading, content, context,
    tokenize = 'porter unicode61 remove_diacritics 2'
)
"""


def notes(count: int) -> dict[str, str]:
    """Pages with headings, of words as frequent as in a language: the n-th most common one has a share of 1/n."""
    source = random.Random(17)
    words = ["".join(source.choices("etaoinshrdlucmfwypvbgk", k=source.randint(2, 10))) for _ in range(8000)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]

    def text(n: int) -> str:
        return " ".join(source.choices(words, weights, k=n))

    def section() -> str:
        return f"## {text(3)}\n\n" + "\n\n".join(text(60) for _ in range(4))

    return {f"notes/{number}.md": f"# {text(3)}\n\n" + "\n\n".join(section() for _ in range(8)) for number in range(count)}


@pytest.mark.parametrize(("provider", "most"), [("none", WITHOUT), ("builtin", WITH)])
def test_the_file_is_a_few_times_as_large_as_the_notes(tmp_path: Path, provider: str, most: float) -> None:
    pages = notes(60)
    for name, text in pages.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    db_path = tmp_path / "memory.db"
    command = [sys.executable, "-m", "hybrid_memory", "--db", str(db_path), "--provider", provider]
    subprocess.run([*command, "ingest", "--path", str(tmp_path / "notes")], check=True, capture_output=True)
    connection.connect(str(tmp_path / "empty.db"), create=True).close()
    assert os.path.getsize(db_path) - os.path.getsize(tmp_path / "empty.db") <= most * sum(map(len, pages.values()))


def test_a_chunk_that_comes_with_its_embedding_is_written_once(db_path: str) -> None:
    """A row that grows leaves room on the pages that it is moved from."""
    documents = [prepare(Document(doc_id, text, {}), 512, 50) for doc_id, text in notes(6).items()]
    documents.append(prepare(Document("notes/0.md", "# Another text\n\nin place of the first", {}), 512, 50))
    with HybridStore(db_path, {"provider": "builtin"}) as store:
        vectors = dict[bytes, tuple[bytes, bool]]()
        for document in documents:
            vectors |= made(store.embedder, document.texts).vectors
        conn = store.storage.connection
        written: list[str] = []
        for rows in (documents[:1], documents[1:]):
            conn.set_trace_callback(written.append)
            with store.storage.transaction():
                store.storage.documents.put_all(rows, vectors)
            conn.set_trace_callback(None)
        assert [statement for statement in written if "insert into chunks " in statement]
        assert not [statement for statement in written if "set slot" in statement]
        assert conn.execute("select count(*) from chunks where embedding is null").fetchone() == (0,)
        assert blocks.check(conn) == []
        assert {doc_id for (doc_id,) in conn.execute("select doc_id from chunks")} == set(notes(6))


def test_room_of_deleted_documents_is_given_back(db_path: str) -> None:
    for_ten = 0
    with HybridStore(db_path, {"provider": "none"}) as store:
        for number, (name, text) in enumerate(notes(30).items()):
            store.store(name, text)
            if number == 9:
                for_ten = sum(store.storage.connection.execute("pragma page_count").fetchone())  # type: ignore[attr-defined]
    with HybridStore(db_path, {"provider": "none"}) as store:
        for name in list(notes(30))[10:]:
            store.delete(name)
    assert os.path.getsize(db_path) <= 1.3 * for_ten * 16384


def words_after(path: str, change: str | None) -> tuple[list[tuple[int, str, str, int]], int]:
    """The index after a removal, with a change made before by somebody else; and the number of rows that remain in it."""
    with HybridStore(path, {"provider": "none"}) as store:
        store.store("kept", "# Café\n\nthe gpu server of boss-api.local", {"tag": "infra"})
        store.store("gone", "# Häuser\n\n東京都 and réglage of src/a.ts", {"tag": "home"})
        conn: sqlite3.Connection = store.storage.connection  # type: ignore[attr-defined]
        if change:
            conn.execute(change)
        assert store.delete("gone") == 1
        assert all(finding.ok for finding in examine(store) if finding.check in ("keyword index", "indexed"))
        assert [hit["doc_id"] for hit in store.search("gpu", mode="keyword")] == ["kept"]
        return indexed_words(conn), conn.execute("select count(*) from chunks_fts_docsize").fetchone()[0]


@pytest.mark.parametrize(
    "change",
    [
        "update documents set metadata = '{\"tag\": \"other\"}' where doc_id = 'gone'",
        "update chunks set content = 'another text' where doc_id = 'gone'",
        "update chunks set indexed = 1",  # as if another analyzer had written it
    ],
)
def test_nothing_of_a_removed_chunk_stays_even_if_it_is_not_what_it_was(tmp_path: Path, change: str) -> None:
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


def test_metadata_of_a_growing_document_is_found_as_it_is_now(db_path: str) -> None:
    with HybridStore(db_path, {"provider": "none"}) as store:
        store.store("a", "gpu server", {"tag": "infra"})
        storage = store.storage
        [row] = [
            dict(zip([column[0] for column in cursor.description], cursor.fetchone(), strict=True))
            for cursor in [storage.connection.execute("select * from documents")]  # type: ignore[attr-defined]
        ]
        document = storage.documents.growing("a")
        chunks = [chunk_row("a", Chunk("gpu server", "", 0, "", 1, 1)), chunk_row("a", Chunk("more", "", 1, "", 2, 2))]
        assert document.spool(chunks) == 2
        with storage.transaction():
            assert document.write({**row, "metadata": '{"tag": "kitchen"}', "chunk_count": 2}) == 1
        document.close()
        assert [hit["chunk_id"] for hit in store.search("kitchens", mode="keyword")] == ["a-0"]
        words = {word for _, _, word, _ in indexed_words(storage.connection)}  # type: ignore[attr-defined]
        assert "infra" not in words
        assert store.delete("a") == 2
        assert indexed_words(storage.connection) == []  # type: ignore[attr-defined]


# A database that version 4 wrote with the built-in model: /notes/memory/{gpu,dog,tokyo}.md, and "mine", put in by `store`


def of_version_4(path: str, copies: int = 1) -> None:
    Path(path).write_bytes(gzip.decompress((Path(__file__).parent / "version_4.db.gz").read_bytes()))
    conn = sqlite3.connect(path)
    columns = "heading, heading_path, content, start_line, end_line, content_hash, created_at"
    for n in range(1, copies):
        conn.execute(
            f"insert into chunks (doc_id, chunk_id, {columns}) select doc_id || {n}, doc_id || {n} || '-' || id, {columns} "
            "from chunks where id <= 5"
        )
        conn.execute(
            "insert into documents (doc_id, chunking, chunk_count) select doc_id, '2.1:512:50', count(*) from chunks "
            "where id > (select max(id) - 5 from chunks) group by doc_id"
        )
    conn.commit()
    conn.close()


def test_database_of_version_4_is_upgraded_and_loses_nothing(db_path: str, tmp_path: Path) -> None:
    of_version_4(db_path)
    columns = (
        "id, doc_id, chunk_id, heading, heading_path, content, start_line, end_line, content_hash, slot, embedding, created_at"
    )
    conn = sqlite3.connect(db_path)
    before = conn.execute(f"select {columns} from chunks order by id").fetchall()
    words = indexed_words(conn)
    conn.close()
    with HybridStore(db_path, {"provider": "builtin"}, create=False) as store:
        now: sqlite3.Connection = store.storage.connection  # type: ignore[attr-defined]
        assert now.execute(f"select {columns} from chunks order by id").fetchall() == before
        assert {word[:3] for word in words} <= {word[:3] for word in indexed_words(now)}  # titles are names, too, by now
        assert now.execute("select * from pragma_page_size, pragma_auto_vacuum").fetchone() == (16384, 2)
        assert now.execute("pragma journal_mode").fetchone() == ("wal",)
        assert store.search("puppy", limit=1)[0]["doc_id"] == "memory/dog.md"
        assert store.search("東京", limit=1, mode="keyword")[0]["doc_id"] == "memory/tokyo.md"
        shown = now.execute("select doc_id, chunk_id, heading, content from chunks_fts where chunks_fts match 'key'").fetchall()
        assert [row for row in before if tuple(row[1:3]) == shown[0][:2]] != [] and "Keys" in shown[0][3]
        for doc_id in ("memory/gpu.md", "memory/dog.md", "memory/tokyo.md", "mine"):
            assert store.delete(doc_id) >= 1
        assert indexed_words(now) == []


@pytest.mark.parametrize("share", [0.3, 0.6, 0.8, 0.9, 0.97])
def test_an_upgrade_that_is_killed_loses_nothing(db_path: str, share: float) -> None:
    of_version_4(db_path, copies=300)
    conn = sqlite3.connect(db_path)
    contents = "select id, doc_id, chunk_id, content, embedding from chunks order by id"
    before = conn.execute(contents).fetchall()
    conn.close()
    killed_while_it_opens(db_path, share)
    with HybridStore(db_path, {"provider": "none"}) as store:
        now: sqlite3.Connection = store.storage.connection  # type: ignore[attr-defined]
        assert now.execute(contents).fetchall() == before
        assert now.execute("pragma journal_mode").fetchone() == ("wal",)
        assert now.execute("pragma integrity_check").fetchone() == ("ok",)
        assert len(FTSIndex(now).search("printer")) == 10


# A database that version 7 wrote: /nowhere/notes/a.md, in Russian, and b.md, in English


def of_version_7(path: str) -> None:
    Path(path).write_bytes(gzip.decompress((Path(__file__).parent / "version_7.db.gz").read_bytes()))


def test_words_of_a_database_of_version_7_are_found_in_other_forms(db_path: str) -> None:
    of_version_7(db_path)
    with HybridStore(db_path, {"provider": "none"}, create=False) as store:
        for query in ("обновление", "сервер", "ночной", "настройка"):
            assert [hit["doc_id"] for hit in store.search(query)] == ["notes/a.md"], query
        assert [hit["doc_id"] for hit in store.search("servers")] == ["notes/b.md"]
        assert store.delete("notes/a.md") == 1
        assert store.search("обновление") == []


@pytest.mark.parametrize("share", [0.6, 0.8, 0.9])
def test_an_upgrade_from_version_7_that_is_killed_is_done_by_the_next_command(db_path: str, share: float) -> None:
    of_version_7(db_path)
    killed_while_it_opens(db_path, share)
    with HybridStore(db_path, {"provider": "none"}) as store:
        assert [hit["doc_id"] for hit in store.search("обновление")] == ["notes/a.md"]
        assert store.stats()["chunk_count"] == 2


def test_an_upgrade_on_a_full_disk_says_so_and_leaves_the_file_whole(db_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of_version_4(db_path, copies=100)
    before = Path(db_path).read_bytes()
    configured = connection._configured

    def on_a_full_disk(conn: sqlite3.Connection) -> sqlite3.Connection:
        (pages,) = conn.execute("pragma page_count").fetchone()
        conn.execute(f"pragma max_page_count = {pages + 4}")
        return configured(conn)

    monkeypatch.setattr(connection, "_configured", on_a_full_disk)
    with pytest.raises(
        StoreError, match="cannot open .*memory.db: database or disk is full; make room and run the command again"
    ):
        connection.connect(db_path)
    monkeypatch.undo()
    assert Path(db_path).read_bytes()[100:] == before[100:]
    connection.connect(db_path).close()


def test_an_upgrade_beside_a_reader_keeps_the_layout_and_reindex_changes_it(db_path: str) -> None:
    of_version_4(db_path)
    reader = sqlite3.connect(db_path)
    assert reader.execute("select count(*) from chunks").fetchone() == (5,)
    with HybridStore(db_path, {"provider": "none"}) as store:
        now: sqlite3.Connection = store.storage.connection  # type: ignore[attr-defined]
        assert now.execute("pragma user_version").fetchone() == (schema.VERSION,)
        assert now.execute("pragma page_size").fetchone() == (4096,)
        assert reader.execute("select count(*) from chunks").fetchone() == (5,)
        reader.close()
        store.reindex()
        assert now.execute("pragma page_size").fetchone() == (16384,)
        assert now.execute("pragma journal_mode").fetchone() == ("wal",)


def test_journal_of_a_compaction_that_was_killed_is_switched_back(db_path: str) -> None:
    connection.connect(db_path, create=True).close()
    conn = sqlite3.connect(db_path)
    conn.execute("pragma journal_mode = delete")
    conn.close()
    conn = connection.connect(db_path)
    assert conn.execute("pragma journal_mode").fetchone() == ("wal",)
    conn.close()
