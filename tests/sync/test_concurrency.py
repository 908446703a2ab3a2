"""Processes that search, store and ingest at the same time."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from hybrid_memory import HybridStore, StoreError
from hybrid_memory.documents import markdown
from hybrid_memory.storage.sqlite import connection
from hybrid_memory.sync.ingest import Ingest
from tests.command import Run
from tests.conftest import TopicEmbedder
from tests.sync.test_crash import damage

WAITING = "waiting for another process that writes to {}"

CONTENTS = """
select d.doc_id, d.source_path, d.file_size, d.content_hash, d.chunk_count, c.chunk_id, c.heading_path, c.content, c.start_line
from   documents d left join chunks c using (doc_id)
order  by d.doc_id, c.id
"""


def start(db: str, *command: str) -> "subprocess.Popen[str]":
    environ = {
        k: v for k, v in os.environ.items() if not k.startswith(("HYBRID_MEMORY_", "OLLAMA_"))
    }
    options = ("--db", db, "--config", str(Path(db).with_name("config.json")))
    arguments = [sys.executable, "-m", "hybrid_memory", *command, *options]
    return subprocess.Popen(
        arguments, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run_on(db: str, *command: str) -> "subprocess.CompletedProcess[str]":
    """On a busy machine a writer may wait for more than a second; that it says so is no problem."""
    process = start(db, *command)
    out, err = process.communicate(timeout=120)
    problems = "".join(
        line for line in err.splitlines(keepends=True) if WAITING.format(db) not in line
    )
    return subprocess.CompletedProcess(command, process.returncode, out, problems)


def folder_of(tmp_path: Path, files: int) -> Path:
    folder = tmp_path / "memory"
    folder.mkdir()
    (tmp_path / "config.json").write_text('{"provider": "none"}')
    for number in range(files):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\n" + f"gpu server {number}. " * 60)
    return folder


def contents(db: str) -> list[tuple[object, ...]]:
    with HybridStore(db, {"provider": "none"}, create=False) as store:
        assert damage(store) == []
        return store.storage.connection.execute(CONTENTS).fetchall()


def test_reader_does_not_wait_for_a_writer(
    store: HybridStore, db_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.store("a", "gpu server")
    monkeypatch.setattr(connection, "BUSY_TIMEOUT", 0)
    with store.storage.transaction():
        store.storage.documents.remove("a")
        with HybridStore(
            db_path, embedder=TopicEmbedder(), create=False
        ) as reader:  # would fail, had it to wait
            assert reader.search("gpu")[0]["doc_id"] == "a"
            assert reader.stats()["doc_count"] == 1


@contextmanager
def being_written(db: str) -> Iterator[sqlite3.Connection]:
    """What another process that writes looks like, until it is rolled back."""
    with closing(sqlite3.connect(db, isolation_level=None, check_same_thread=False)) as other:
        other.execute("begin immediate")
        yield other


@pytest.mark.parametrize("option", [(), ("--quiet",)])
def test_a_command_waits_for_a_writer_with_one_line_or_in_silence(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: tuple[str, ...]
) -> None:
    monkeypatch.setattr(connection, "SILENCE", 0.05)
    command = ("store", "--doc-id", "a", "--text", "dog", "--provider", "none")
    assert run(*command).returncode == 0
    db = str(tmp_path / "cli.db")
    with being_written(db) as other:
        Timer(0.5, lambda: other.execute("rollback")).start()
        done = run(*command, *option)
    told = "" if option else f"hybrid-memory: {WAITING.format(db)}\n"
    assert (done.returncode, done.stderr) == (0, told)


def test_whoever_opens_a_store_is_told_what_a_writer_waits_for(
    db_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "SILENCE", 0.05)
    told: list[str] = []

    def note(line: str) -> None:
        told.append(line)
        other.execute("rollback")

    with (
        HybridStore(db_path, {"provider": "none"}, on_wait=note) as store,
        being_written(db_path) as other,
    ):
        store.store("a", "gpu server")
        assert told == [WAITING.format(db_path)]
        store.store("b", "gpu server")
        assert len(told) == 1


def test_a_lock_that_is_not_released_is_an_error_after_one_line(
    db_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "SILENCE", 0.05)
    monkeypatch.setattr(connection, "BUSY_TIMEOUT", 0.2)
    told: list[str] = []
    with (
        HybridStore(db_path, {"provider": "none"}, on_wait=told.append) as store,
        being_written(db_path),
    ):
        with pytest.raises(StoreError, match="being written by another process"):
            store.store("a", "gpu server")
        assert told == [WAITING.format(db_path)]
        assert store.storage.connection.execute("pragma busy_timeout").fetchone() == (200,)


def test_processes_that_make_a_database_at_once_all_succeed(tmp_path: Path) -> None:
    code = "import sys; from hybrid_memory.storage.sqlite import connection; connection.connect(sys.argv[1], create=True)"
    command = [sys.executable, "-c", code, str(tmp_path / "new.db")]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(6)]
    assert [process.communicate()[1] for process in processes] == [""] * 6


def test_two_ingests_of_one_folder_end_as_one_does(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, 60)
    db, alone = str(tmp_path / "memory.db"), str(tmp_path / "alone.db")
    with ThreadPoolExecutor() as pool:
        runs = list(
            pool.map(
                lambda _: run_on(db, "ingest", "--path", str(folder), "--incremental"), range(2)
            )
        )
    assert [(done.returncode, done.stderr) for done in runs] == [(0, "")] * 2
    assert run_on(alone, "ingest", "--path", str(folder)).returncode == 0
    assert contents(db) == contents(alone)


def test_searches_beside_an_ingest_and_a_loop_of_store_never_fail(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, 60)
    db = str(tmp_path / "memory.db")
    assert run_on(db, "store", "--doc-id", "first", "--text", "gpu server").returncode == 0
    problems: list[str] = []

    def repeat(*commands: tuple[str, ...]) -> None:
        for command in commands:
            done = run_on(db, *command)
            if done.returncode or done.stderr:
                problems.append(done.stderr)
            if command[0] == "search" and not json.loads(done.stdout or "[]"):
                problems.append("found nothing")

    search = ("search", "gpu server", "--also", "machine")
    ingest = ("ingest", "--path", str(folder))
    texts = [("store", "--doc-id", f"d{i % 3}", "--text", f"gpu {i}") for i in range(4)]
    with ThreadPoolExecutor(4) as pool:
        each = ([search] * 5, [search] * 5, [ingest] * 2, texts)
        for future in [pool.submit(repeat, *commands) for commands in each]:
            future.result()
    assert problems == []
    assert len({row[0] for row in contents(db)}) == 64
    assert sorted(os.listdir(tmp_path)) == ["config.json", "memory", "memory.db"]  # no lock files


def test_ingest_gives_way_between_groups(
    store: HybridStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(tmp_path, 130)
    in_transaction = []
    read = markdown.read

    def watched(*args: Any) -> Any:
        in_transaction.append(store.storage.connection.in_transaction)
        return read(*args)

    monkeypatch.setattr(markdown, "read", watched)
    Ingest(store).run([str(folder)])
    assert in_transaction == [False] * 130  # reading and chunking hold no lock
