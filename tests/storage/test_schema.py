import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hybrid_memory import HybridStore, StoreError
from hybrid_memory.storage.filters import Filters
from hybrid_memory.storage.sqlite import connection, schema


def test_missing_database_is_named_and_not_made(db_path: str) -> None:
    with pytest.raises(StoreError, match=f"no database at {db_path}; `hybrid-memory ingest"):
        connection.connect(db_path)
    assert not os.path.exists(db_path)


def test_folder_of_a_new_database_is_made(tmp_path: Path) -> None:
    connection.connect(str(tmp_path / "a/b/c.db"), create=True).close()
    assert (tmp_path / "a/b/c.db").exists()


def test_database_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot create the database .*file/x.db"):
        connection.connect(str(tmp_path / "file/x.db"), create=True)


def test_file_that_is_no_database_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("# Not a database\n" * 100)
    with pytest.raises(StoreError, match="cannot open .*notes.md: file is not a database"):
        connection.connect(str(path), create=True)
    assert path.read_text() == "# Not a database\n" * 100


def test_database_of_another_program_is_refused_and_left_alone(db_path: str) -> None:
    conn = sqlite3.connect(db_path)
    conn.execute("create table theirs (x)")
    conn.close()
    before = Path(db_path).read_bytes()
    with pytest.raises(StoreError, match="of another program"):
        connection.connect(db_path, create=True)
    assert Path(db_path).read_bytes() == before


@pytest.mark.parametrize("version", [1, 99])
def test_another_programs_version_is_not_taken_for_ours(db_path: str, version: int) -> None:
    conn = sqlite3.connect(db_path)
    conn.execute(f"pragma user_version = {version}")
    conn.close()
    before = Path(db_path).read_bytes()
    for create in (False, True):
        with pytest.raises(StoreError, match="of another program"):
            connection.connect(db_path, create=create)
    assert Path(db_path).read_bytes() == before


def test_database_of_a_newer_version_is_refused_and_left_alone(db_path: str) -> None:
    conn = connection.connect(db_path, create=True)
    conn.execute(f"pragma user_version = {schema.VERSION + 1}")
    conn.close()
    before = Path(db_path).read_bytes()
    for create in (False, True):
        with pytest.raises(StoreError, match="written by a newer hybrid-memory"):
            connection.connect(db_path, create=create)
    assert Path(db_path).read_bytes() == before


@pytest.mark.parametrize("kept", [50, 4096, 0.5, -16384])
def test_truncated_database_is_named_and_left_alone(db_path: str, kept: float) -> None:
    conn = connection.connect(db_path, create=True)
    conn.execute("insert into meta values ('big', ?)", ("x" * 100_000,))
    conn.close()
    whole = Path(db_path).read_bytes()
    part = whole[: int(kept * len(whole)) if isinstance(kept, float) else kept]
    Path(db_path).write_bytes(part)
    for create in (False, True):
        with pytest.raises(
            StoreError, match="cannot open .*memory.db: .*`hybrid-memory copy OLD NEW`"
        ):
            connection.connect(db_path, create=create)
    assert Path(db_path).read_bytes() == part
    assert os.listdir(os.path.dirname(db_path)) == ["memory.db"]


def test_empty_file_is_filled_only_by_what_creates(db_path: str) -> None:
    Path(db_path).touch()
    with pytest.raises(StoreError, match="is empty; `hybrid-memory ingest"):
        connection.connect(db_path)
    assert os.path.getsize(db_path) == 0
    connection.connect(db_path, create=True).close()
    connection.connect(db_path).close()


def test_file_of_a_few_bytes_is_no_database_and_left_alone(db_path: str) -> None:
    Path(db_path).write_text("x")
    with pytest.raises(StoreError, match="not a database"):
        connection.connect(db_path, create=True)
    assert Path(db_path).read_text() == "x"


def test_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="unable to open database file; it must be a file"):
        connection.connect(str(tmp_path))


def test_bug_of_ours_is_no_store_error(db_path: str) -> None:
    conn = connection.connect(db_path, create=True)
    with pytest.raises(sqlite3.OperationalError) as caught:
        conn.execute("select nothing from nowhere")
    assert connection.failure(caught.value, db_path) is None
    conn.close()


def test_creation_is_all_or_nothing(db_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "VECTORS", schema.VECTORS + "create table broken (;\n")
    with pytest.raises(sqlite3.OperationalError):
        connection.connect(db_path, create=True)
    monkeypatch.undo()
    connection.connect(db_path, create=True).close()
    connection.connect(db_path).close()


def test_sqlite_without_fts5_is_named(db_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        schema, "KEYWORD_INDEX", schema.KEYWORD_INDEX.replace("using fts5(", "using fts5_missing(")
    )
    with pytest.raises(StoreError, match="built without FTS5"):
        connection.connect(db_path, create=True)


@pytest.fixture
def read_only(tmp_path: Path, db_path: str) -> Iterator[Path]:
    """A database in a folder that is mounted a second time, read-only, because permissions do not
    stop root.
    """
    connection.connect(db_path, create=True).close()
    mount = tmp_path.with_name(tmp_path.name + "-ro")
    mount.mkdir()
    script = f"mount --bind '{tmp_path}' '{mount}' && mount -o remount,ro,bind '{mount}'"
    if subprocess.run(["sh", "-c", script], capture_output=True, check=False).returncode:
        subprocess.run(["umount", str(mount)], capture_output=True, check=False)
        pytest.skip("no mounting here")
    yield mount / "memory.db"
    subprocess.run(["umount", str(mount)], check=True)


def test_closed_database_in_a_read_only_folder_can_be_read(read_only: Path) -> None:
    conn = connection.connect(str(read_only))
    assert conn.execute("select count(*) from chunks").fetchone() == (0,)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        conn.execute("delete from chunks")
    conn.close()
    assert os.listdir(read_only.parent) == ["memory.db"]


def test_database_being_written_can_be_read_from_a_read_only_folder(
    read_only: Path, db_path: str
) -> None:
    writer = connection.connect(db_path)
    writer.execute("insert into meta values ('fresh', '1')")
    reader = connection.connect(str(read_only))
    assert reader.execute("select value from meta where key = 'fresh'").fetchone() == ("1",)
    reader.close()
    writer.close()


def test_wal_that_cannot_be_read_is_not_passed_over(read_only: Path, db_path: str) -> None:
    kill = "import os, sys; from hybrid_memory.storage.sqlite import connection; connection.connect(sys.argv[1]).execute(sys.argv[2]); os.kill(os.getpid(), 9)"
    subprocess.run(
        [sys.executable, "-c", kill, db_path, "insert into meta values ('fresh', '1')"], check=False
    )
    os.remove(db_path + "-shm")
    with pytest.raises(
        StoreError, match="unable to open"
    ):  # immutable would miss what is in the -wal
        connection.connect(str(read_only))


def test_empty_wal_does_not_keep_a_read_only_folder_closed(read_only: Path, db_path: str) -> None:
    Path(db_path + "-wal").touch()
    connection.connect(str(read_only)).close()


@pytest.mark.parametrize("name", ["per%20cent.db", "what?.db", "a#b.db", "file:x.db"])
def test_strange_file_names_are_just_names(tmp_path: Path, name: str) -> None:
    connection.connect(str(tmp_path / name), create=True).close()
    assert os.listdir(tmp_path) == [name]


def test_opening_an_up_to_date_database_writes_nothing(db_path: str) -> None:
    connection.connect(db_path, create=True).close()
    before = Path(db_path).read_bytes(), os.stat(db_path).st_mtime_ns
    connection.connect(db_path, create=True).close()
    assert (Path(db_path).read_bytes(), os.stat(db_path).st_mtime_ns) == before


def test_database_is_in_wal_mode(db_path: str) -> None:
    conn = connection.connect(db_path, create=True)
    assert conn.execute("pragma journal_mode").fetchone() == ("wal",)
    conn.close()


def test_a_copy_that_is_opened_to_be_read_stays_as_it_is(db_path: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with HybridStore(db_path, {"provider": "none"}) as store:
        store.store("a", "gpu")
        store.storage.connection.execute("vacuum into ?", (str(copy),))  # type: ignore[attr-defined]
    before = copy.read_bytes()
    with HybridStore(copy, {"provider": "none"}, create=False, read_only=True) as reader:
        assert [hit["doc_id"] for hit in reader.search("gpu")] == ["a"]
    assert copy.read_bytes() == before
    with HybridStore(copy, {"provider": "none"}) as store:
        assert store.storage.connection.execute("pragma journal_mode").fetchone() == ("wal",)  # type: ignore[attr-defined]


def test_a_database_of_an_earlier_development_version_is_refused(db_path: str) -> None:
    HybridStore(db_path, {"provider": "none"}).close()
    conn = sqlite3.connect(db_path)
    conn.execute(f"pragma user_version = {schema.VERSION - 1}")
    conn.close()
    before = Path(db_path).read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreError, match="made by a development version"):
            connection.connect(db_path, read_only=read_only)
    assert Path(db_path).read_bytes() == before


def test_a_process_does_not_write_to_tables_that_a_newer_version_upgraded(db_path: str) -> None:
    with HybridStore(db_path, {"provider": "none"}) as store:
        store.store("a", "gpu")
        with closing(sqlite3.connect(db_path)) as newer:
            newer.execute(f"pragma user_version = {schema.VERSION + 1}")
        with pytest.raises(StoreError, match="upgraded by a newer version; start this process"):
            store.store("b", "gpu")
        with pytest.raises(StoreError, match="start this process again"):
            store.delete("a")
        assert [hit["doc_id"] for hit in store.search("gpu")] == ["a"]


def test_a_database_of_the_first_development_version_is_refused(db_path: str) -> None:
    HybridStore(db_path, {"provider": "none"}).close()
    conn = sqlite3.connect(db_path)
    conn.execute(f"pragma application_id = {schema.DEVELOPMENT_ID}")
    conn.execute("pragma user_version = 8")
    conn.close()
    for create in (False, True):
        with pytest.raises(StoreError, match="made by a development version.*make a new memory"):
            connection.connect(db_path, create=create)


@pytest.mark.parametrize("version", [-3, 0])
def test_a_schema_version_that_nobody_wrote_is_damage(db_path: str, version: int) -> None:
    conn = connection.connect(db_path, create=True)
    conn.execute(f"pragma user_version = {version}")
    conn.close()
    with pytest.raises(
        StoreError, match=f"is damaged: it has schema version {version}; restore a copy"
    ):
        connection.connect(db_path, create=True)


def test_tables_that_an_interrupted_command_left_do_not_stop_the_next(db_path: str) -> None:
    with HybridStore(db_path, {"provider": "none"}) as store:
        store.store("a", "gpu", {"tags": "x"})
        store.store("b", "gpu")
        store.storage.connection.execute("create temp table chosen (id integer primary key)")
        assert [hit["doc_id"] for hit in store.search("gpu", filters=Filters(tags=["x"]))] == ["a"]
