"""Commands, each a process of its own, while Ollama is slow: they answer, and the model gets loaded."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from tests.command import answer, in_process
from tests.fake_ollama import FakeOllama
from tests.real_ollama import MODEL, RealOllama

# Of each command and situation; more: HYBRID_MEMORY_TEST_RUNS=20
RUNS = int(os.environ.get("HYBRID_MEMORY_TEST_RUNS", "2"))
LOADING = 3.0  # seconds; a recall waits for less, and so does a search here
PATIENCE = 60.0  # seconds until a test gives up
QUESTION = "Does the regatta start at noon at the old pier, as {} told?"
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def command(tmp_path: Path, ollama: FakeOllama) -> Command:
    return with_notes(tmp_path, ollama.url, "nomic-embed-text")


def with_notes(tmp_path: Path, url: str, model: str) -> Command:
    """Return what runs a command on a memory whose embeddings are Ollama's, in a folder with a
    module that ends each process which imports it.
    """
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "json.py").write_text("raise SystemExit(1)\n")
    environ = {name: value for name, value in os.environ.items() if name[:6] != "HYBRID"}
    environ |= {
        "HOME": str(tmp_path),
        "HYBRID_MEMORY_DB_PATH": str(tmp_path / "memory.db"),
        "HYBRID_MEMORY_OLLAMA_URL": url,
        "HYBRID_MEMORY_MODEL": model,
        "HYBRID_MEMORY_QUERY_TIMEOUT": "1.5",
    }

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-P", "-m", "hybrid_memory", *args]
        return subprocess.run(
            line,
            env=environ,
            cwd=workspace,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )

    run.environ = environ  # type: ignore[attr-defined]
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "regatta.md").write_text("# Regatta\n\nThe regatta starts at noon at the old pier.\n")
    (notes / "login.md").write_text("# Login\n\nThe sign-in service issues short-lived tokens.\n")
    answer(in_process(("ingest", "--path", str(notes)), environ, tmp_path))
    return run


@contextmanager
def _slow_load(ollama: FakeOllama, command: Command) -> Iterator[None]:
    ollama.cold = 3 * LOADING
    yield


@contextmanager
def _ingesting(command: Command) -> Iterator[None]:
    folder = Path(command.environ["HOME"]) / "many"  # type: ignore[attr-defined]
    folder.mkdir()
    for number in range(50 * RUNS):
        (folder / f"{number}.md").write_text(f"The ledger of day {number} lists {number**3}.\n")
    line = [sys.executable, "-m", "hybrid_memory", "ingest", "--path", str(folder)]
    with subprocess.Popen(
        line,
        env=command.environ,  # type: ignore[attr-defined]
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as ingest:
        yield
        ingest.terminate()


@contextmanager
def _ingest_running(ollama: FakeOllama, command: Command) -> Iterator[None]:
    ollama.per_text = 0.05
    with _ingesting(command):
        _wait_until(lambda: any("ledger" in text for text in ollama.computed))
        yield
    ollama.per_text = 0.0


@contextmanager
def _chat_model_busy(ollama: FakeOllama, command: Command) -> Iterator[None]:
    with ollama.slot:
        yield


@contextmanager
def _hangs(ollama: FakeOllama, command: Command) -> Iterator[None]:
    ollama.hangs = True
    yield
    ollama.hangs = False


@contextmanager
def _stopped(ollama: FakeOllama, command: Command) -> Iterator[None]:
    ollama.stop()
    yield
    ollama.start()


@pytest.mark.parametrize(
    "situation", [_slow_load, _ingest_running, _chat_model_busy, _hangs, _stopped]
)
def test_recall_and_search_answer_and_the_model_gets_loaded(
    ollama: FakeOllama, command: Command, situation: Callable[..., Iterator[None]]
) -> None:
    with situation(ollama, command):  # type: ignore[attr-defined]
        check_answers(command)
    _wait_until(lambda: ollama.cold == 0.0)
    check_search_by_meaning(command)


def check_answers(command: Command) -> None:
    """Each recall and each search has the passage."""
    for number in range(RUNS):
        question = QUESTION.format(number)
        recalled = command("recall", "--explain", question)
        assert "old pier" in recalled.stdout, recalled.stderr
        results = json.loads(command("search", question).stdout)
        assert "old pier" in results[0]["text"]


def check_search_by_meaning(command: Command) -> None:
    environ: dict[str, str] = command.environ  # type: ignore[attr-defined]
    args = ("search", "--mode", "vector", "boat race regatta")
    found = answer(in_process(args, environ, Path(environ["HOME"])))
    assert "old pier" in found[0]["text"]


@pytest.mark.ollama
@pytest.mark.parametrize("is_busy", [False, True], ids=["unloaded", "ingest running"])
def test_recall_and_search_answer_while_a_real_server_is_late(
    tmp_path: Path, *, is_busy: bool
) -> None:
    real = RealOllama()
    command = with_notes(tmp_path, real.url, MODEL)
    with _ingesting(command) if is_busy else nullcontext():
        real.unload()
        check_answers(command)
    _wait_until(real.is_loaded)
    check_search_by_meaning(command)


def test_a_server_that_is_late_is_asked_to_load_the_model_once(
    ollama: FakeOllama, command: Command
) -> None:
    ollama.cold = 2 * LOADING
    for number in range(3):
        command("search", QUESTION.format(number))
    _wait_until(lambda: ollama.cold == 0.0)
    probes = [body for body in ollama.embed_requests if body["input"] == ["search_document: load"]]
    assert len(probes) == 1


def test_after_a_late_answer_the_next_process_waits_for_less(
    ollama: FakeOllama, command: Command
) -> None:
    with ollama.slot:
        first, second = (command("search", QUESTION.format(number)) for number in range(2))
    assert "did not answer within 1.5 s" in first.stderr
    assert "did not answer within 0.5 s" in second.stderr


def _wait_until(is_so: Callable[[], bool]) -> None:
    started = time.monotonic()
    while not is_so():
        assert time.monotonic() - started < PATIENCE
        time.sleep(0.02)
