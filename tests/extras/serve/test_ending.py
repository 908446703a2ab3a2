"""The end of a server: requests that have begun are answered, new ones refused, and it takes no longer than it may."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import requests

from hybrid_memory.extras.mcp import stdio
from hybrid_memory.extras.serve.memory import STOPPED, StoreThreads
from hybrid_memory.extras.serve.security import SHUTTING_DOWN
from hybrid_memory.extras.serve.server import PageServer
from hybrid_memory.sync.ingest import Ingest
from tests.command import Run, answer
from tests.extras.serving import Client, events

FOREVER = 3600
ASKED: dict[str, tuple[str, str, Any]] = {
    "search": ("GET", "/api/search?q=raspberry", None),
    "store": ("PUT", "/api/documents/new", {"text": "The zebra."}),
    "tool": (
        "POST",
        "/mcp",
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "memory_search", "arguments": {"query": "raspberry"}},
        },
    ),
}


class Gate:
    """Holds work up, from when it begins until it may go on."""

    def __init__(self) -> None:
        self.begun, self.go_on = Event(), Event()

    def before(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def held(*arguments: Any) -> Any:
            self.begun.set()
            assert self.go_on.wait(600)
            return work(*arguments)

        return held


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.go_on.set()


@pytest.fixture
def ask(
    client: Client, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], "Future[requests.Response]"]]:
    """Ask for something of ASKED from another thread, and return when the work for it has begun."""
    monkeypatch.setattr(StoreThreads, "_run", gate.before(StoreThreads._run))
    monkeypatch.setattr(stdio.StdioServer, "reply", gate.before(stdio.StdioServer.reply))
    with Client(client.base) as other, ThreadPoolExecutor(1) as thread:

        def ask(name: str) -> "Future[requests.Response]":
            method, url, body = ASKED[name]
            answering = thread.submit(partial(other.request, method, url, json=body))
            assert gate.begun.wait(60)
            return answering

        yield ask
        gate.go_on.set()


def end(running: PageServer, seconds: int) -> None:
    """Send the server a signal that lets it finish requests for so long."""
    running.config.timeout_graceful_shutdown = seconds
    running.should_exit = True


def wait_until_gone(client: Client) -> None:
    with pytest.raises(requests.ConnectionError):
        while True:  # each time on a new connection: one that is kept may outlive the closed socket
            client.get("/robots.txt", headers={"Connection": "close"})


@pytest.mark.parametrize("name", ASKED)
def test_what_has_begun_is_answered_while_what_is_new_is_refused(
    client: Client, ask: Callable[[str], "Future[requests.Response]"], gate: Gate, name: str
) -> None:
    answering = ask(name)
    end(client.server, FOREVER)
    wait_until_gone(client)
    assert not answering.done()
    gate.go_on.set()
    answered = answering.result()
    assert answered.status_code in (200, 201), answered.text
    assert SHUTTING_DOWN not in answered.text


def end_of_patience(running: PageServer) -> None:
    end(running, 0)


def second_interrupt(running: PageServer) -> None:
    running.force_exit = True
    end(running, FOREVER)


@pytest.mark.parametrize("end", [end_of_patience, second_interrupt])
@pytest.mark.parametrize("name", ASKED)
def test_what_takes_too_long_is_told_so_and_does_not_keep_the_server(
    client: Client,
    ask: Callable[[str], "Future[requests.Response]"],
    capfd: pytest.CaptureFixture[str],
    name: str,
    end: Callable[[PageServer], None],
) -> None:
    answering = ask(name)
    end(client.server)
    answered = answering.result()
    assert (answered.status_code, answered.json()["detail"]) == (503, SHUTTING_DOWN)
    assert answered.headers["retry-after"] == "2"
    assert answered.headers["x-content-type-options"] == "nosniff"
    wait_until_gone(client)
    assert capfd.readouterr().err == ""


def test_a_body_that_does_not_come_does_not_keep_the_server(
    client: Client, capfd: pytest.CaptureFixture[str]
) -> None:
    host, port = client.base.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        declared = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 9"
        connection.sendall(f"POST /mcp HTTP/1.1\r\n{declared}\r\n\r\n{{".encode())
        client.json("/api/status")
        end(client.server, 0)
        assert connection.makefile("rb").readline().split()[1] == b"503"
    wait_until_gone(client)
    assert capfd.readouterr().err == ""


def test_an_update_ends_with_a_problem_and_the_next_one_continues(
    client: Client, folder: Path, run: Run, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "new.md").write_text("# Zebra\n\nThe zebra crossing is closed.\n")
    monkeypatch.setattr(Ingest, "update", gate.before(Ingest.update))
    streamed = client.post("/api/update", stream=True)
    assert gate.begun.wait(60)
    client.server.should_exit = True
    [(name, problem)] = events(streamed)
    assert (name, problem["status"], problem["detail"]) == ("problem", 503, STOPPED)
    gate.go_on.set()
    wait_until_gone(client)
    assert answer(run("update"))["files"] == 1
