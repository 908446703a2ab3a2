import os
import sqlite3
from pathlib import Path

import pytest

from hybrid_memory import StoreError, schema


def test_missing_database_is_named_and_not_made(db_path: str) -> None:
    with pytest.raises(StoreError, match=f"no database at {db_path}; `hybrid-memory ingest"):
        schema.connect(db_path)
    assert not os.path.exists(db_path)


def test_folder_of_a_new_database_is_made(tmp_path: Path) -> None:
    schema.connect(str(tmp_path / "a/b/c.db"), create=True).close()
    assert (tmp_path / "a/b/c.db").exists()


def test_database_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot create the database .*file/x.db"):
        schema.connect(str(tmp_path / "file/x.db"), create=True)


def test_file_that_is_no_database_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("# Not a database\n" * 100)
    with pytest.raises(StoreError, match="cannot open .*notes.md: file is not a database"):
        schema.connect(str(path), create=True)
    assert path.read_text() == "# Not a database\n" * 100


def test_database_of_another_program_is_refused_and_left_alone(db_path: str) -> None:
    conn = sqlite3.connect(db_path)
    conn.execute("create table theirs (x)")
    conn.close()
    before = Path(db_path).read_bytes()
    with pytest.raises(StoreError, match="of another program"):
        schema.connect(db_path, create=True)
    assert Path(db_path).read_bytes() == before


def test_database_of_a_newer_version_is_refused(db_path: str) -> None:
    conn = schema.connect(db_path, create=True)
    conn.execute(f"pragma user_version = {schema.VERSION + 1}")
    conn.close()
    with pytest.raises(StoreError, match="written by a newer hybrid-memory"):
        schema.connect(db_path)


def test_opening_an_up_to_date_database_writes_nothing(db_path: str) -> None:
    schema.connect(db_path, create=True).close()
    before = Path(db_path).read_bytes(), os.stat(db_path).st_mtime_ns
    schema.connect(db_path, create=True).close()
    assert (Path(db_path).read_bytes(), os.stat(db_path).st_mtime_ns) == before


def test_database_is_in_wal_mode(db_path: str) -> None:
    conn = schema.connect(db_path, create=True)
    assert conn.execute("pragma journal_mode").fetchone() == ("wal",)
    conn.close()


def test_every_version_but_the_first_has_a_migration() -> None:
    assert set(schema.MIGRATIONS) == set(range(1, schema.VERSION))
