"""A connection that is lost at any statement of any command: reads still answer; writes are done,
or undone and reported.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hybrid_memory.extras.postgres.connection import Connection
from tests.command import Run

pytestmark = pytest.mark.large

READS = (
    ("search", "gpu password"),
    ("search", "password", "--tag", "ops", "--heading", "ssh", "--since", "2025-01"),
    ("get", "memory/pi.md"),
    ("why", "memory/pi.md", "address"),
    ("list", "--in", "memory/*"),
    ("doctor", "--thorough"),
)
WRITES = (
    ("store", "--doc-id", "told", "--text", "The dog is called Max."),
    ("delete", "--doc-id", "told"),
    ("update",),
    ("reindex",),
    ("delete", "--collection", "memory"),
)


WHOLE = (
    "integrity",
    "keyword index",
    "indexed",
    "documents",
    "vector index",
)  # findings that no lost connection changes


class Cutter:
    """Ends the connection before the statement of this number, counted from 0."""

    def __init__(self, address: str) -> None:
        self._address, self.at, self.count = address, -1, 0

    def cut(self) -> None:
        if self.count == self.at:
            with psycopg.connect(self._address, autocommit=True) as other:
                other.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = "
                    "current_database()"
                )
        self.count += 1


@pytest.fixture
def cutter(postgres_path: str, monkeypatch: pytest.MonkeyPatch) -> Cutter:
    cutter, execute = Cutter(postgres_path), Connection.execute

    def cut_before(self: Connection, *args: Any) -> Any:
        cutter.cut()
        return execute(self, *args)

    monkeypatch.setattr(Connection, "execute", cut_before)
    return cutter


@pytest.fixture
def command(run: Run, postgres_path: str, folder: Path, cutter: Cutter) -> Callable[..., Any]:
    def told(*args: str, at: int = -1) -> Any:
        cutter.at, cutter.count = at, 0
        return run(
            "--db", postgres_path.replace("?", "?password=hunter2&"), "--provider", "builtin", *args
        )

    assert told("ingest", "--path", str(folder)).returncode == 0
    assert (
        told(
            "store",
            "--doc-id",
            "told",
            "--text",
            "---\ntags: ops\n---\n# SSH\n\nThe password, see [[pi]].",
        ).returncode
        == 0
    )
    return told


def statements(cutter: Cutter, most: int = 6) -> Iterator[int]:
    """Some statements of a command: the first ones, the last one, and others at equal distances."""
    count = cutter.count
    return iter(sorted({0, 1, count - 1, *range(0, count, max(1, count // most))}))


@pytest.mark.parametrize("args", READS, ids=" ".join)
def test_a_read_answers_all_the_same(
    command: Callable[..., Any], cutter: Cutter, args: tuple[str, ...]
) -> None:
    expected = command(*args)
    assert expected.returncode == 0
    for at in statements(cutter):
        done = command(*args, at=at)
        assert cutter.count > at
        assert (done.returncode, done.stdout, done.stderr) == (
            0,
            expected.stdout,
            expected.stderr,
        ), at


@pytest.mark.parametrize("args", WRITES, ids=" ".join)
def test_a_write_is_done_or_undone_and_told_in_a_line(
    command: Callable[..., Any], cutter: Cutter, folder: Path, args: tuple[str, ...]
) -> None:
    def documents() -> list[str]:
        return [document["doc_id"] for document in json.loads(command("list").stdout)["documents"]]

    (folder / "new.md").write_text("# Parrot\n\nIt is called Polly.\n")
    before, at, count = documents(), 0, 1
    states = []
    while at < count:
        done = command(*args, at=at)
        at, count = at + max(1, cutter.count // 6), max(count, cutter.count)
        states.append(documents())
        if done.returncode:
            [line] = done.stderr.splitlines()
            assert line.startswith("hybrid-memory: ")
            assert "postgresql://postgres@/" in line and "hunter2" not in line
        findings = {
            finding["check"]: finding["ok"]
            for finding in json.loads(command("doctor", "--thorough").stdout)
        }
        assert all(findings[check] for check in WHOLE), findings
    assert command(*args).returncode == 0
    assert all(state in (before, documents()) for state in states)
