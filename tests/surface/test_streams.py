"""Commands whose standard streams are closed, as daemons and supervisors start them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import Run

REDIRECTIONS = ("<&-", ">&-", "2>&-")
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
COMMANDS = (  # with what stands on standard input
    (("search", "gpu"), ""),
    (("search", "gpu", "--json", "--refresh"), ""),
    (("get", "n"), ""),
    (("init", "."), ""),
    (("mcp",), ASKED),
    (("recall",), "What is our gpu server?"),
    (("store", "--doc-id", "m", "--file", "-"), "A dog."),
    (("update",), ""),
    (("doctor",), ""),
)


def ended(
    command: tuple[str, ...], closed: str, environ: dict[str, str], cwd: Path, stdin: str
) -> subprocess.CompletedProcess[str]:
    words = ["bash", "-c", f'exec "$@" {closed}', "bash", sys.executable, "-c", NOTING, *command]
    return subprocess.run(
        words, env=environ, cwd=cwd, input=stdin, capture_output=True, text=True, timeout=60
    )


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no list of descriptors")
@pytest.mark.parametrize(
    "closed",
    [*REDIRECTIONS, " ".join(REDIRECTIONS[1:]), " ".join(REDIRECTIONS)],
)
def test_no_command_minds_closed_streams(
    run: Run, environ: dict[str, str], tmp_path: Path, closed: str
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.md").write_text("# gpu\n\nThe server.")
    environ |= {"NOTED": str(tmp_path / "noted"), "HYBRID_MEMORY_PROVIDER": "none"}
    run("store", "--doc-id", "n", "--text", "Our gpu server is atlas.")
    run("ingest", "--path", str(tmp_path / "notes"))
    for command, stdin in COMMANDS:
        usual = ended(command, "", environ, tmp_path, "" if "<&-" in closed else stdin)
        (tmp_path / "noted").unlink(missing_ok=True)
        done = ended(command, closed, environ, tmp_path, stdin)
        assert "Traceback" not in done.stdout + done.stderr, (command, done.stderr)
        if ">&-" not in closed.split():
            assert (done.returncode, done.stdout) == (usual.returncode, usual.stdout), command
        else:
            assert done.returncode in (0, 1), command
        noted = (tmp_path / "noted").read_text() if (tmp_path / "noted").exists() else ""
        assert noted or (command[0] == "mcp" and "<&-" in closed)  # which was asked nothing
        for line in noted.splitlines():
            is_null = [place == "/dev/null" for place in line.split()]
            assert is_null == expected_null(command, closed), (command, line)
            assert all(place == "/dev/null" or "pipe:" in place for place in line.split())


def expected_null(command: tuple[str, ...], closed: str) -> list[bool]:
    """Whether each descriptor is the null device."""
    expected = [redirection in closed.split() for redirection in REDIRECTIONS]
    if command == ("mcp",):  # it gives its standard output to nobody else
        expected[1] = expected[2]
    return expected
