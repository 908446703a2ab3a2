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


def test_database_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot create the database .*file/x.db"):
        connection.connect(str(tmp_path / "file/x.db"), create=True)


OURS = "pragma application_id"
REFUSED = {  # what is in the file: a text, or statements for a new file or, with an id, for one of ours
    "a text": ("# Not a database\n" * 100, "cannot open .*memory.db: file is not a database"),
    "a few bytes": ("x", "not a database|is empty"),
    "tables of another program": ("create table theirs (x)", "of another program"),
    "a version of another program": ("pragma user_version = 1", "of another program"),
    "a newer version": (f"{OURS}; pragma user_version = {schema.VERSION + 1}", "by a newer hybrid"),
    "an earlier version": (
        f"{OURS}; pragma user_version = {schema.VERSION - 1}",
        "made by a development version",
    ),
    "the first version": (
        f"{OURS} = {schema.DEVELOPMENT_ID}; pragma user_version = 8",
        "made by a development version.*make a new memory",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_file_that_is_not_of_this_version_is_named_and_left_alone(
    db_path: str, kind: str
) -> None:
    content, message = REFUSED[kind]
    if content.startswith(OURS):
        connection.connect(db_path, create=True).close()
    if content.startswith(("pragma", "create")):
        with closing(sqlite3.connect(db_path)) as conn:
            conn.executescript(content)
    else:
        Path(db_path).write_text(content)
    before = Path(db_path).read_bytes()
    for options in ({}, {"create": True}, {"read_only": True}):
        with pytest.raises(StoreError, match=message):
            connection.connect(db_path, **options)
    assert Path(db_path).read_bytes() == before


@pytest.mark.parametrize("kept", [50, 0.5, -16384])
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


def test_strange_file_names_are_just_names(tmp_path: Path) -> None:
    names = {"per%20cent.db", "what?.db", "a#b.db", "file:x.db"}
    for name in names:
        connection.connect(str(tmp_path / "new" / name), create=True).close()
    assert set(os.listdir(tmp_path / "new")) == names


def test_opening_an_up_to_date_database_writes_nothing(db_path: str) -> None:
    connection.connect(db_path, create=True).close()
    before = Path(db_path).read_bytes(), os.stat(db_path).st_mtime_ns
    connection.connect(db_path, create=True).close()
    assert (Path(db_path).read_bytes(), os.stat(db_path).st_mtime_ns) == before


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


def test_tables_that_an_interrupted_command_left_do_not_stop_the_next(db_path: str) -> None:
    with HybridStore(db_path, {"provider": "none"}) as store:
        store.store("a", "gpu", {"tags": "x"})
        store.store("b", "gpu")
        store.storage.connection.execute("create temp table chosen (id integer primary key)")
        assert [hit["doc_id"] for hit in store.search("gpu", filters=Filters(tags=["x"]))] == ["a"]
