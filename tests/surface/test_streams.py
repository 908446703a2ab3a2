"""Standard streams that are closed, as daemons and supervisors start commands, or that cannot be written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import Run, answer, in_process

REDIRECTIONS = ("<&-", ">&-", "2>&-")
ALL = " ".join(REDIRECTIONS)
# The command, with a note of what the three descriptors are while its store is open
NOTING = """
import os
from hybrid_memory import HybridStore
from hybrid_memory.cli import entry_point

close = HybridStore.close

def noting(store):
    places = [os.readlink(f"/proc/self/fd/{number}") for number in range(3)]
    with open(os.environ["NOTED"], "a") as file:
        print(*places, file=file)
    close(store)

HybridStore.close = noting
entry_point()
"""
CALL = {"name": "memory_search", "arguments": {"query": "gpu"}}
ASKED = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL}) + "\n"
STDIN = {"mcp": ASKED, "recall": "What is our gpu server?", "store": "A dog."}
STORE = "store --doc-id m --file -"
CLOSED = [
    ("search gpu", "2>&-"),
    ("search gpu", ALL),
    ("mcp", "<&-"),
    ("mcp", ">&-"),  # its standard output is for the protocol alone
    (STORE, ALL),
    ("update", ALL),
]


@pytest.fixture
def environ(environ: dict[str, str], tmp_path: Path) -> dict[str, str]:
    return environ | {"NOTED": str(tmp_path / "noted")}


@pytest.fixture
def stored(run: Run) -> None:
    answer(run("store", "--doc-id", "n", "--text", "Our gpu server is atlas."))


def ended(
    command: str, redirection: str, environ: dict[str, str], cwd: Path, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", NOTING, *command.split(), "--provider", "none"]
    return subprocess.run(
        ["bash", "-c", f'exec "$@" {redirection}', "bash", *words],
        env=environ, cwd=cwd, input=stdin, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no list of descriptors")
@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(("command", "closed"), CLOSED)
def test_a_closed_stream_is_the_null_device(
    environ: dict[str, str], tmp_path: Path, command: str, closed: str
) -> None:
    name = command.split()[0]
    done = ended(command, closed, environ, tmp_path, STDIN.get(name, ""))
    assert "Traceback" not in done.stdout + done.stderr
    noted = (tmp_path / "noted").read_text() if (tmp_path / "noted").exists() else ""
    assert noted or (name == "mcp" and "<&-" in closed)  # which was asked nothing
    for line in noted.splitlines():
        places = line.split()
        is_null = [place == "/dev/null" for place in places]
        assert is_null == expected_null(name, closed)
        assert all(place == "/dev/null" or "pipe:" in place for place in places)
    if ">&-" in closed.split():
        assert done.returncode in (0, 1)
    else:
        usual = ended(command, "", environ, tmp_path)
        assert (done.returncode, done.stdout) == (usual.returncode, usual.stdout)


def expected_null(command: str, closed: str) -> list[bool]:
    """Whether each descriptor is the null device."""
    expected = [redirection in closed.split() for redirection in REDIRECTIONS]
    if command == "mcp":  # it gives its standard output to nobody else
        expected[1] = expected[2]
    return expected


@pytest.mark.usefixtures("stored")
def test_with_all_streams_closed_a_text_is_stored(
    environ: dict[str, str], run: Run, tmp_path: Path
) -> None:
    assert ended("store --doc-id m --text gpu", ALL, environ, tmp_path).returncode == 1
    findings = answer(run("doctor", "--provider", "none"))
    assert all(finding["ok"] is not False for finding in findings)
    assert answer(run("stats"))["doc_count"] == 2


UNWRITTEN = "hybrid-memory: cannot write to standard output: "


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    "command",
    [
        "search gpu",
        "doctor",
        "--help",
    ],
)
def test_standard_output_that_cannot_be_written_is_a_line_and_exits_1(
    environ: dict[str, str], tmp_path: Path, command: str
) -> None:
    with open("/dev/full", "w") as full:
        done = in_process((*command.split(), "--provider", "none"), environ, tmp_path, out=full)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert done.stderr.startswith(UNWRITTEN)


@pytest.mark.usefixtures("stored")
def test_a_process_says_once_that_standard_output_cannot_be_written(
    environ: dict[str, str], tmp_path: Path
) -> None:
    done = ended("search gpu", ">/dev/full", environ, tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert done.stderr.startswith(UNWRITTEN)


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("command", "status", "redirection"),
    [
        ("search zqxvk", 0, "2>&-"),  # which says that nothing was found
        ("get absent", 1, "2>/dev/full"),
    ],
)
def test_messages_that_nobody_can_read_are_lost_and_change_nothing(
    environ: dict[str, str], tmp_path: Path, command: str, status: int, redirection: str
) -> None:
    done = ended(command, redirection, environ, tmp_path)
    assert (done.returncode, bool(done.stdout)) == (status, not status)


def test_closed_pipe_ends_quietly(environ: dict[str, str], run: Run) -> None:
    run("store", "--doc-id", "x", "--text", "# h\n\ngpu word\n\n" * 400)
    command = (
        f"{sys.executable} -m hybrid_memory search gpu --limit 400 --provider none | head -c 10"
    )
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], env=environ, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
