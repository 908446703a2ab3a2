"""The command `serve` as a process: its one line, its end, and what keeps it from starting."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest
import requests

from tests.command import Run, in_process
from tests.extras.serving import Client, events

COMMAND = [sys.executable, "-m", "hybrid_memory", "serve", "--port", "0"]
# It waits for requests as long as they take, however slow the machine is.
PATIENT = [
    sys.executable,
    "-c",
    "import sys; from hybrid_memory.cli import main; from hybrid_memory.extras.serve import server; "
    "server.FINISHING = 3600; sys.exit(main(sys.argv[1:]))",
    *COMMAND[3:],
]
Start = Callable[..., "tuple[subprocess.Popen[str], Client]"]


@pytest.fixture
def start(folder: Path, environ: dict[str, str]) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def start(*args: str, command: Sequence[str] = COMMAND) -> tuple[subprocess.Popen[str], Client]:
        process = subprocess.Popen(
            [*command, *args],
            env=environ,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        started.append(process)
        assert process.stdout
        return process, Client(process.stdout.readline().strip().removesuffix("/"))

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_a_url_and_ends_although_a_stream_is_open(
    start: Start, number: signal.Signals, folder: Path
) -> None:
    process, client = start("--watch")
    (folder / "more.md").write_text("# More\n\nMore.\n")
    stream = client.post("/api/update", stream=True)
    idle = socket.create_connection(("127.0.0.1", int(client.base.rpartition(":")[2])))
    assert stream.status_code == 200
    process.send_signal(number)
    assert events(stream)[-1][0] in ("report", "problem")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert "Traceback" not in err and "ERROR" not in err
    idle.close()
    client.close()


def test_a_second_interrupt_waits_for_no_request(start: Start, environ: dict[str, str]) -> None:
    process, client = start(command=PATIENT)
    with (
        closing(sqlite3.connect(environ["HYBRID_MEMORY_DB_PATH"])) as writer,
        ThreadPoolExecutor(1) as thread,
    ):
        writer.execute("BEGIN IMMEDIATE")
        stored = thread.submit(client.put_text, "a", "The zebra.")
        assert process.stderr
        assert "waiting for another process" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        with Client(client.base) as other, suppress(requests.ConnectionError):
            while True:  # each time on a new connection: one that is kept may outlive the socket
                other.get("/robots.txt", headers={"Connection": "close"})
        process.send_signal(signal.SIGINT)
        assert stored.result().status_code == 503
        assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 0


def test_a_file_that_changes_is_found_while_it_watches(start: Start, folder: Path) -> None:
    process, client = start("--watch")
    assert client.json("/api/overview")["server"]["watching"] is True
    (folder / "zebra.md").write_text("# Zebra\n\nThe zebra crossing is closed.\n")
    assert process.stderr
    assert any("indexed 1 file (1 chunk)" in line for line in process.stderr)
    assert (
        client.json("/api/search", q="zebra crossing")["results"][0]["doc_id"] == "memory/zebra.md"
    )
    client.close()


def test_a_port_that_is_taken_is_named(folder: Path, environ: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = in_process(("serve", "--port", port), environ, folder)
    assert done.returncode == 1
    assert (
        done.stderr
        == f"hybrid-memory: port {port} of 127.0.0.1 is in use; choose another one with --port, or 0 for any free port\n"
    )


def test_without_a_database_it_does_not_start(run: Run, environ: dict[str, str]) -> None:
    done = run("serve", "--port", "0")
    assert done.returncode == 1
    assert "no database at" in done.stderr
    assert not os.path.exists(environ["HYBRID_MEMORY_DB_PATH"])


def test_answers_on_a_kept_connection_are_sent_at_once(client: Client) -> None:
    for _ in range(2):
        client.json("/api/status")
    [kept] = client.server.server_state.connections
    connection = kept.transport.get_extra_info("socket")
    assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def test_a_port_that_is_none_is_wrong_usage(run: Run) -> None:
    assert run("serve", "--port", "65536").returncode == 2


def test_a_host_that_is_none_is_told(folder: Path, environ: dict[str, str]) -> None:
    done = in_process(("serve", "--host", "no.such.host.invalid", "--port", "0"), environ, folder)
    assert done.returncode == 1
    assert "cannot listen on no.such.host.invalid" in done.stderr


def test_without_its_packages_it_says_what_to_install(environ: dict[str, str]) -> None:
    code = "import sys; sys.modules['uvicorn'] = None; from hybrid_memory.cli import main; sys.exit(main(['serve']))"
    done = subprocess.run([sys.executable, "-c", code], env=environ, text=True, capture_output=True)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "hybrid-memory: `hybrid-memory serve` needs the Python package starlette and uvicorn"
    )
