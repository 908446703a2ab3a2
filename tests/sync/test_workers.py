"""Reading in several processes: the same store, whatever happens to them, and none of them left behind."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.sync import workers as pool
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.sync.refresh import refresh
from tests.sync.test_crash import damage

Notes = Callable[..., Path]

TABLES = (
    "select id, doc_id, chunk_id, heading_path, content, start_line, end_line, content_hash, slot, embedding from chunks order by id",
    "select rowid, heading, content, context from chunks_fts order by rowid",
    "select doc_id, source_path, file_mtime, content_hash, collection, date, metadata, chunking, chunk_count from documents order by rowid",
    "select block, live, center, planes from vector_blocks order by block",
    "select key, value from meta order by key",
)  # fmt: skip
WORDS = "server password getUserName() C++ 東京都 café port:8080 backup mirror garden. violin, ledger tide".split()
TRANSCRIPT = '{"type": "message", "message": {"role": "user", "content": "the backup server"}}\n'

NOTES = 40  # of the ingest that is ended

# The command with two processes for any work, on any machine. It writes often, and waits before the 20th file.
COMMAND = """
import signal
import sys
import time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has it ignored by what it runs in the background
from hybrid_memory.storage.sqlite.engine import SQLiteStorage
from hybrid_memory.sync import reading
from hybrid_memory.sync import workers as pool
reading.cores = lambda: 2
pool.ENOUGH = 1
SQLiteStorage.group = 20

outcomes = pool.Workers.outcomes

def waiting(*args):
    for number, outcome in enumerate(outcomes(*args), 1):
        if number == 20:
            print("waiting", file=sys.stderr, flush=True)
            time.sleep(60)
        yield outcome

pool.Workers.outcomes = waiting
from hybrid_memory.cli import entry_point
entry_point()
"""


@pytest.fixture
def many(notes: Notes) -> Path:
    chance = random.Random(5)
    files: dict[str, str | bytes] = {
        f"{number % 7}/{number}.md": "".join(
            f"# Part {part}\n\n{' '.join(chance.choices(WORDS, k=chance.randint(1, 150)))}\n\n"
            for part in range(chance.randint(0, 4))
        )
        for number in range(45)
    }
    files |= {
        "binary.md": b"a\0b",
        "latin.md": b"caf\xe9 server",
        "unknown.md": "東京都",  # the built-in model has no vector for it
        "meta.md": "---\ntags: [a, b]\n---\nDated",
        "log.jsonl": TRANSCRIPT,
    }
    return notes(files)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list["Popen[bytes]"]:
    """The processes that were started. Any work is enough for them, and they get little at a time."""
    processes: list[Popen[bytes]] = []
    start = pool.Workers._start

    def noted(self: pool.Workers) -> "Popen[bytes]":
        processes.append(start(self))
        return processes[-1]

    monkeypatch.setattr(pool.Workers, "_start", noted)
    monkeypatch.setattr(pool, "ENOUGH", 1)
    monkeypatch.setattr(pool, "AHEAD", 10_000)
    return processes


def ingested(
    db: Path, folder: Path, count: int, provider: str = "builtin", **options: Any
) -> tuple[list[Any], dict[str, Any]]:
    """What is in a new store, and the report."""
    with HybridStore(db, {"provider": provider, "max_file_bytes": 5000}) as store:
        report = (
            Ingest(store, patterns=["*.md", "*.jsonl"], workers=count, **options)
            .run([str(folder)], "memory")
            .as_dict()
        )
        assert damage(store) == []
    return rows(db), report


def rows(db: Path) -> list[Any]:
    with closing(sqlite3.connect(db)) as conn:
        return [conn.execute(select).fetchall() for select in TABLES]


@pytest.mark.parametrize(("provider", "count"), [("none", 2), ("builtin", 3)])
def test_store_and_report_are_the_same_whatever_the_number_of_processes(
    tmp_path: Path, many: Path, started: list["Popen[bytes]"], provider: str, count: int
) -> None:
    alone = ingested(tmp_path / "1.db", many, 1, provider)
    assert not started
    assert len(alone[1]["errors"]) == 1  # the binary file
    assert alone[1]["warnings"]
    assert ingested(tmp_path / f"{count}.db", many, count, provider) == alone
    assert len(started) == count
    assert all(process.returncode is not None for process in started)


def test_processes_that_are_killed_lose_nothing(
    tmp_path: Path, many: Path, started: list["Popen[bytes]"]
) -> None:
    def kill_one(progress: object) -> None:
        if len(killed) < len(started):
            killed.append(started[-1])
            started[-1].kill()

    killed: list[Popen[bytes]] = []
    found = ingested(tmp_path / "killed.db", many, 2, "none", progress=kill_one)
    assert killed
    assert found == ingested(tmp_path / "1.db", many, 1, "none")


def test_cores_get_as_many_processes_as_memory_has_room_for(
    tmp_path: Path, many: Path, started: list["Popen[bytes]"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "MOST_EMBEDDING", 2)
    monkeypatch.setattr(pool, "MOST", 3)
    ingested(tmp_path / "builtin.db", many, 64)
    assert 1 < len(started) <= pool.MOST_EMBEDDING
    started.clear()
    ingested(tmp_path / "none.db", many, 64, "none")
    assert 1 < len(started) <= pool.MOST


def test_processes_that_cannot_run_are_given_up(
    tmp_path: Path, many: Path, started: list["Popen[bytes]"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "MAIN", "import sys; sys.exit(1)")
    alone = ingested(tmp_path / "1.db", many, 1, "none")
    assert ingested(tmp_path / "2.db", many, 2, "none") == alone
    assert len(started) <= 2  # at the same time


def test_what_a_process_raises_is_raised_here(
    tmp_path: Path, many: Path, started: list["Popen[bytes]"], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of which the process says that nobody expected this is read again by the ingest."""
    raising = "from hybrid_memory.documents import document, markdown\nmarkdown.parse = 0\n"
    monkeypatch.setattr(
        pool, "MAIN", pool.MAIN.replace("from hybrid_memory", f"{raising}from hybrid_memory", 1)
    )
    alone = ingested(tmp_path / "1.db", many, 1, "none")
    assert ingested(tmp_path / "2.db", many, 2, "none") == alone
    assert started


def test_little_work_starts_no_process(
    tmp_path: Path, many: Path, started: list["Popen[bytes]"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "ENOUGH", 2_000_000)
    ingested(tmp_path / "a.db", many, 2, "none")
    monkeypatch.setattr(pool, "ENOUGH", 1)
    ingested(tmp_path / "a.db", many, 2, "none", incremental=True)  # nothing is due
    with HybridStore(tmp_path / "a.db", {"provider": "none"}) as store:
        (many / "new.md").write_text("new " * 9000)
        refresh(store)
        Ingest(store).run([str(many)])  # a library starts none unless it says so
    assert not started


@pytest.fixture
def running(tmp_path: Path, environ: dict[str, str], notes: Notes) -> Iterator["Popen[str]"]:
    """An ingest that has written some notes."""
    chance = random.Random(6)
    folder = notes(
        {
            f"{number}.md": f"# {number}\n\n{' '.join(chance.choices(WORDS, k=300))}\n"
            for number in range(NOTES)
        }
    )
    ingest = ("ingest", "--path", str(folder), "--provider", "builtin")
    with Popen(
        [sys.executable, "-c", COMMAND, *ingest],
        env=environ,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr
            assert process.stderr.readline() == "waiting\n"
            assert children(process.pid)
            yield process
        finally:
            process.kill()


def written(db: Path) -> int:
    with closing(sqlite3.connect(db)) as conn:
        return int(conn.execute("select count(*) from documents").fetchone()[0])


def children(pid: int) -> list[int]:
    return [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]


def has_ended(pid: int) -> bool:
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        )  # nobody has asked how it ended
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 50
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


linux = pytest.mark.skipif(
    not os.path.exists(f"/proc/self/task/{os.getpid()}/children"),
    reason="/proc tells of child processes",
)


@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_ingest_leaves_what_is_whole_and_no_process(
    running: "Popen[str]", tmp_path: Path, environ: dict[str, str], number: int
) -> None:
    left = children(running.pid)
    running.send_signal(number)
    running.wait()
    wait_until(lambda: all(map(has_ended, left)))
    before = written(tmp_path / "cli.db")
    with HybridStore(tmp_path / "cli.db", {"provider": "builtin"}) as store:
        assert 0 < before < NOTES
        assert damage(store) == []
        report = Ingest(store, incremental=True).run([str(tmp_path / "memory")])
        assert (report.files, report.skipped, report.pending) == (NOTES - before, before, 0)


@linux
def test_an_interrupted_ingest_says_so_in_a_line_and_leaves_no_process(
    running: "Popen[str]", tmp_path: Path
) -> None:
    left = children(running.pid)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate()
    assert running.returncode == 130
    assert told.splitlines()[-1].startswith("hybrid-memory: interrupted; ")
    assert "Traceback" not in told
    assert all(map(has_ended, left))
    assert 0 < written(tmp_path / "cli.db") < NOTES
