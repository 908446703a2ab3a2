"""`watch` as a process, with real files, signals and locks."""

import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.command import Run, answer
from tests.fake_ollama import FakeOllama

# The command with clocks that run five times as fast, so that tests need not wait.
QUICK = """
from hybrid_memory.cli import entry_point
from hybrid_memory.extras import watch
watch.DEBOUNCE, watch.LOOK = 300, 400
entry_point()
"""


class Watching:
    """The command in the background, and what it said on stderr so far."""

    def __init__(self, environ: dict[str, str], *args: str, pace: str = QUICK) -> None:
        def heed_interrupts() -> (
            None
        ):  # which tests that run in the background ignore, and hand that down
            signal.signal(signal.SIGINT, signal.SIG_DFL)

        self.process = subprocess.Popen(
            [sys.executable, "-c", pace, "watch", *args],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heed_interrupts,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.lines.append(line)

    def wait_for(self, words: str, after: int = 0) -> str:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for line in self.lines[after:]:
                if words in line:
                    return line
            assert self.process.poll() is None, self.lines
            time.sleep(0.05)
        raise AssertionError(f"{words!r} did not come: {self.lines}")

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        status = self.process.wait(60)
        self._reader.join()
        return status


@pytest.fixture
def watching(environ: dict[str, str]) -> Iterator[Callable[..., Watching]]:
    started: list[Watching] = []

    def start(*args: str, pace: str = QUICK) -> Watching:
        started.append(Watching(environ, *args, pace=pace))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.communicate()
        one._reader.join()


REAL = "from hybrid_memory.cli import entry_point; entry_point()"


@pytest.mark.parametrize(("number", "pace"), [(signal.SIGINT, REAL), (signal.SIGTERM, QUICK)])
def test_changes_come_in_until_a_signal_ends_it(
    run: Run,
    folder: Path,
    tmp_path: Path,
    watching: Callable[..., Watching],
    number: int,
    pace: str,
) -> None:
    tools = tmp_path / "TOOLS.md"
    tools.write_text("printer")
    none = ("--provider", "none")
    run("ingest", "--path", str(folder), "--path", str(tools), *none)
    (folder / "meanwhile.md").write_text("The kettle is green.")
    watch = watching(*none, pace=pace)
    watch.wait_for("watching")
    watch.wait_for("indexed 1 file (1 chunk)")
    (folder / "sub").mkdir()
    (folder / "sub/new.md").write_text("The teapot is blue.")
    (folder / "pi.md").unlink()
    watch.wait_for("indexed 1 file (1 chunk), removed 1 note", after=2)
    new = tmp_path / "TOOLS.md.new"
    new.write_text("scanner")
    new.replace(tools)  # as editors do
    seen = len(watch.lines)
    watch.wait_for("indexed 1 file", after=seen)
    assert [hit["doc_id"] for hit in answer(run("search", "teapot scanner", *none))] == [
        "TOOLS.md",
        "memory/sub/new.md",
    ]
    assert watch.end(number) == 0
    assert len(watch.lines) == 4
    assert watch.process.stdout
    assert watch.process.stdout.read() == ""


def test_locked_database_and_dead_server_are_waited_for(
    run: Run,
    folder: Path,
    tmp_path: Path,
    watching: Callable[..., Watching],
) -> None:
    with FakeOllama() as ollama:
        url = ("--ollama-url", ollama.url)
        run("ingest", "--path", str(folder), *url)
        ollama.stop()
        watch = watching(*url)
        watch.wait_for("watching")
        other = sqlite3.connect(tmp_path / "cli.db", isolation_level=None)
        other.execute("begin immediate")
        (folder / "new.md").write_text("The kettle is green.")
        watch.wait_for("being written by another process")
        other.execute("rollback")
        other.close()
        assert "1 still to embed" in watch.wait_for("indexed 1 file (1 chunk)")
        watch.wait_for("cannot connect to Ollama")
        ollama.start()
        (folder / "newer.md").write_text("The teapot is blue.")
        watch.wait_for("indexed 1 file (1 chunk), embedded 2 chunks")
        assert watch.end(signal.SIGTERM) == 0
    assert all(line.startswith("hybrid-memory: ") for line in watch.lines)


def test_folder_that_goes_and_comes_back(
    run: Run, folder: Path, watching: Callable[..., Watching]
) -> None:
    none = ("--provider", "none")
    run("ingest", "--path", str(folder), *none)
    watch = watching("--path", str(folder), *none)
    watch.wait_for("watching")
    folder.rename(folder.with_name("elsewhere"))
    watch.wait_for("No such file or directory; if it is gone for good")
    folder.with_name("elsewhere").rename(folder)
    (folder / "new.md").write_text("The kettle is green.")
    watch.wait_for("indexed 1 file (1 chunk)")
    assert answer(run("stats"))["doc_count"] == 3
    assert watch.end(signal.SIGINT) == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ("--path", "elsewhere"),
            "elsewhere was never ingested; run `hybrid-memory ingest --path",
        ),
        (("--db", "missing.db"), "no database at"),
    ],
)
def test_what_was_never_ingested_cannot_be_watched(
    run: Run, folder: Path, args: tuple[str, ...], message: str
) -> None:
    run("ingest", "--path", str(folder), "--provider", "none")
    done = run("watch", *args)
    assert done.returncode == 1
    assert message in done.stderr
    run("delete", "--path", str(folder))
    assert "nothing to watch" in run("watch").stderr


def test_missing_package_is_named_with_the_command_that_installs_it(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("ingest", "--path", str(folder), "--provider", "none")
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    done = run("watch")
    assert done.returncode == 1
    assert "`hybrid-memory watch` needs the Python package watchfiles, which" in done.stderr
