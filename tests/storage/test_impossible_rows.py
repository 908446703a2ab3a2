"""Rows that this program never writes: `doctor` names them, and no command ends in a traceback."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.errors import StoreError
from hybrid_memory.storage.sqlite.impossible import CHECKED
from tests.command import in_process

pytestmark = pytest.mark.sqlite

COMMANDS = [
    ("search", "gpu server"),
    ("search", "gpu", "--mode", "vector", "--context", "1", "--explain"),
    ("search", "gpu", "--in", "notes", "--tag", "ops", "--since", "2026-01"),
    ("get", "notes/a.md"),
    ("list",),
    ("links", "notes/a.md"),
    ("why", "a.md"),
    ("update",),
    ("ingest", "--path", "notes"),
    ("store", "--doc-id", "new", "--text", "a new gpu"),
    ("delete", "--doc-id", "notes/b.md"),
    ("reindex",),
    ("doctor",),
    ("doctor", "--thorough"),
]
WRONG = ["null", "''", "'x'", "x'00ff'", "7", "-1.5", "'[1]'", "'{}'", "'{\"a\": [1]}'"]
# What contradicts another row, in a way that no column shows alone
CONTRADICTIONS = [
    "delete from documents where doc_id = 'notes/a.md'",
    "delete from chunks where chunk_id = 'notes/a.md-1'",
    "delete from vector_blocks",
    "delete from folders",
    "delete from meta where key = 'embeddings'",
    "update chunks set chunk_id = doc_id where chunk_id like '%a.md-1'",
    "update chunks set chunk_id = 'elsewhere-1' where chunk_id like '%a.md-1'",
    "update chunks set embedding = null where chunk_id like '%a.md-1'",
    "update chunks set slot = null where chunk_id like '%a.md-1'",
    "update chunks set slot = 90000 where chunk_id like '%a.md-1'",
    "update chunks set start_line = 9, end_line = 2",
    "update documents set chunk_count = 99",
    "update meta set value = '{\"model\": 1}' where key = 'embeddings'",
    "insert into meta values ('next_embeddings', '{\"provider\": \"x\"}')",
    "update meta set value = '[]' where key = 'embeddings'",
    "update folders set patterns = '[1, 2]'",
    "insert into extracts values ('notes/a.md', '{\"a\": 1}', 'x')",
    "insert into extracts values ('notes/a.md', '[\"x\"]', 'x')",
]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory")
    (folder / "notes").mkdir()
    for name in "abc":
        text = f"---\ntags: [ops]\n---\n# {name}\n\nThe gpu server. See [[b]].\n\n## Two\n\nport {name}"
        (folder / "notes" / f"{name}.md").write_text(text)
    assert run(folder, "ingest", "--path", "notes").returncode == 0
    assert run(folder, "store", "--doc-id", "mine", "--text", "my gpu").returncode == 0
    with closing(sqlite3.connect(folder / "memory.db")) as conn:
        conn.execute("pragma wal_checkpoint(truncate)")
    return folder


def run(folder: Path, *command: str):
    environ = {
        "HYBRID_MEMORY_DB_PATH": str(folder / "memory.db"),
        "HYBRID_MEMORY_PROVIDER": "builtin",
        "HOME": str(folder),
    }
    return in_process(command, environ, folder)


def alterations(original: Path) -> Iterator[str]:
    with closing(sqlite3.connect(original / "memory.db")) as conn:
        for table in CHECKED:
            for column, value in _cells(conn, table):
                yield f"update {table} set {column} = {value}"
            yield f"delete from {table}"


def _cells(conn: sqlite3.Connection, table: str) -> Iterator[tuple[str, str]]:
    columns = [row[1] for row in conn.execute(f"pragma table_info({table})")]
    for number, column in enumerate(columns):
        for turn in range(2):
            yield column, WRONG[(2 * number + turn) % len(WRONG)]


@pytest.mark.large
def test_no_altered_row_is_a_traceback(original: Path, tmp_path: Path) -> None:
    shutil.copytree(original, tmp_path / "memory")
    folder = tmp_path / "memory"
    tried = 0
    for number, statement in enumerate([*CONTRADICTIONS, *alterations(original)]):
        commands = COMMANDS if statement in CONTRADICTIONS else COMMANDS[number % 8 :: 8]
        for command in (*commands, ("doctor",)):
            if not altered(original, folder, statement):
                break
            done = run(folder, *command)  # an exception that no command catches comes out here
            assert done.returncode in (0, 1), (statement, command, done.stderr)
            assert "Traceback" not in done.stderr
            tried += 1
    assert tried > 450


def altered(original: Path, folder: Path, statement: str) -> bool:
    """Make the alteration on a copy of the memory; false if SQLite does not allow it."""
    for file in folder.glob("memory.db*"):
        file.unlink()
    shutil.copy(original / "memory.db", folder)
    with closing(sqlite3.connect(folder / "memory.db")) as conn:
        try:
            conn.execute(f"{statement.replace('update ', 'update or ignore ', 1)}")
        except sqlite3.IntegrityError:
            return False
        conn.commit()
    return True


@pytest.mark.parametrize("statement", [*CONTRADICTIONS[:2], *CONTRADICTIONS[5:]])
def test_doctor_names_a_contradiction(statement: str, original: Path, tmp_path: Path) -> None:
    altered(original, tmp_path, statement)
    (tmp_path / "notes").symlink_to(original / "notes")
    done = run(tmp_path, "doctor", "--thorough")
    assert done.returncode == 1
    problems = [each["check"] for each in json.loads(done.stdout) if each["ok"] is False]
    assert {"documents", "vector index"} & set(problems), done.stdout


def test_an_impossible_row_is_an_error_with_a_way_out(original: Path, tmp_path: Path) -> None:
    altered(original, tmp_path, "update chunks set chunk_id = doc_id where chunk_id like '%a.md-1'")
    with (
        HybridStore(tmp_path / "memory.db", {"provider": "builtin"}) as store,
        pytest.raises(StoreError, match="damaged: the chunk .* has no number; restore a copy"),
    ):
        store.search("gpu server")


def test_bytes_in_place_of_a_text_are_never_printed(original: Path, tmp_path: Path) -> None:
    altered(original, tmp_path, "update documents set date = x'00ff'")
    done = run(tmp_path, "list")
    assert (done.returncode, done.stdout) == (1, "")
    assert "a text in it is stored as bytes; `hybrid-memory doctor --thorough`" in done.stderr
    assert "documents.date has a value of another type" in run(
        tmp_path, "doctor", "--thorough"
    ).stdout.replace("\\n", " ")
