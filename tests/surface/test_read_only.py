"""A memory that may only be read, made by this version or another: every command answers, or says why not."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hybrid_memory import StoreError
from hybrid_memory.config import LIBRARY, merge_layers
from hybrid_memory.extras.mcp.tools import Tools
from hybrid_memory.storage.sqlite import schema
from hybrid_memory.store import HybridStore
from tests.command import Run
from tests.extras.serving import served

NEWER = f"was written by a newer hybrid-memory (schema {schema.VERSION + 1}"
OLDER = "was made by a development version"
READ_ONLY = "attempt to write a readonly database"
QUERY = "ssh port of heron"
READING = {
    "search": (QUERY,),
    "get": ("heron",),
    "list": (),
    "stats": (),
    "recall": ("which", "ssh", "port", "has", "heron?", "--explain", "--timeout=0"),
    "tags": (),
    "links": ("heron",),
}
WRITING = {
    "update": (),
    "ingest": ("notes",),
    "store": ("--doc-id", "new", "--text", "A text."),
    "delete": ("notes/heron.md",),
    "reindex": (),
}
KILLED = """
import os, sqlite3, sys
conn = sqlite3.connect(sys.argv[1])
conn.execute("insert into meta values ('fresh', '1')")
conn.commit()
os.kill(os.getpid(), 9)
"""


def cut_by(conn: sqlite3.Connection, step: int) -> None:
    """Mark all documents as split by a version that is `step` versions newer."""
    [known] = {row[0] for row in conn.execute("select chunking from documents")}
    version, _, rest = known.partition(".")
    conn.execute("update documents set chunking = ?", (f"{int(version) + step}.{rest}",))


@pytest.fixture
def memory(tmp_path: Path, run: Run) -> Path:
    """A memory of a note that has changed since."""
    for folder in ("notes", "memory"):
        (tmp_path / folder).mkdir()
    (tmp_path / "notes" / "heron.md").write_text("# Heron\n\nThe ssh port of heron is 22.\n")
    path = tmp_path / "memory" / "cli.db"
    assert run("ingest", "notes", "--db", str(path), "--provider", "builtin").returncode == 0
    return path


@contextmanager
def mounted(path: Path) -> Iterator[None]:
    """Mount a file or a folder over itself, read-only, because permissions do not stop root."""
    script = f"mount --bind '{path}' '{path}' && mount -o remount,ro,bind '{path}'"
    if subprocess.run(["sh", "-c", script], capture_output=True, check=False).returncode:
        subprocess.run(["umount", str(path)], capture_output=True, check=False)
        pytest.skip("no mounting here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(path)], check=True)


@pytest.mark.parametrize(
    ("version", "refusal", "journal", "place"),
    [
        ("same", "", "wal", "file"),
        ("same", "", "wal in use", "folder"),
        ("older cut", "", "wal", "folder"),
        ("newer cut", "", "delete", "file"),
        ("older", OLDER, "wal", "file"),
        ("newer", NEWER, "wal in use", "folder"),
    ],
)
def test_a_read_only_memory_answers_or_tells_why_not(
    memory: Path,
    tmp_path: Path,
    run: Run,
    environ: dict[str, str],
    version: str,
    refusal: str,
    journal: str,
    place: str,
) -> None:
    conn = sqlite3.connect(memory, isolation_level=None)
    if version.endswith(" cut"):
        cut_by(conn, -1 if version == "older cut" else 1)
    step = {"older": -1, "newer": 1}.get(version, 0)
    conn.execute(f"pragma user_version = {schema.VERSION + step}")
    if journal == "delete":
        conn.execute("pragma journal_mode = delete")
    conn.close()
    if journal == "wal in use":
        subprocess.run([sys.executable, "-c", KILLED, str(memory)], check=False)
        assert Path(f"{memory}-wal").stat().st_size
    env = {"HYBRID_MEMORY_DB_PATH": str(memory), "HYBRID_MEMORY_PROVIDER": "builtin"}

    def opened() -> HybridStore:
        return HybridStore(str(memory), {"provider": "builtin"}, create=False)

    def by_mcp() -> str:
        tools = Tools(opened, opened, merge_layers((LIBRARY, {})), lambda path: {})
        return str(tools.call("memory_search", {"query": QUERY})["content"][0]["text"])

    with mounted(memory if place == "file" else memory.parent):
        for command, args in READING.items():
            done = run(command, *args, env=env)
            # A hook that fails would block the user
            status = int(bool(refusal) and command != "recall")
            assert (done.returncode, refusal in done.stderr) == (status, True), command
            assert READ_ONLY not in done.stderr, command
        if not refusal:
            assert "is 22" in run("search", QUERY, env=env).stdout
            assert ("was cut by another version" in run("doctor", env=env).stdout) == (
                version == "older cut"
            )
            assert ("cut by another version" in run("why", "heron", env=env).stdout) == (
                version == "older cut"
            )
        else:
            for command in (("doctor",), ("why", "heron")):
                assert refusal in run(*command, env=env).stderr
        (tmp_path / "notes" / "heron.md").write_text("# Heron\n\nThe ssh port of heron is 2222.\n")
        reason = refusal or READ_ONLY
        late = run("search", QUERY, "--refresh", env=env)
        assert (late.returncode, reason in late.stderr) == (int(bool(refusal)), True)
        assert reason in by_mcp()
        assert refusal or "is 22" in by_mcp()
        for command, args in WRITING.items():
            done = run(command, *args, env=env)
            assert (done.returncode, reason in done.stderr) == (1, True), command
        if journal == "wal":
            try:
                with served(environ | env) as client:
                    told = client.get("/api/search", params={"query": QUERY}).text
            except StoreError as error:  # before it listens
                told = str(error)
            assert (refusal or "is 22") in told
