"""The connection to a server on this machine; test_embedder.py tests what its failures mean to a user."""

import select
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

from hybrid_memory.embedding.loopback import LoopbackSession
from tests.fake_ollama import FakeOllama

TIMEOUT = (3.0, 10.0)


@pytest.fixture
def server():
    with FakeOllama("all-minilm", dims=32) as running:
        yield running


def get(session, url):
    return session.request("GET", url, data=None, headers={}, timeout=TIMEOUT, most=10**6)


def test_one_connection_serves_many_requests(server):
    session = LoopbackSession(server.url, "127.0.0.1", server.port, {})
    ports = set()
    for _ in range(3):
        assert get(session, f"{server.url}/api/version").status_code == 200
        ports.add(session._idle.sock.getsockname()[1])
    assert len(ports) == 1
    session.close()


@contextmanager
def hanging_up(reply, connections):
    """The port of a server that answers each connection with these bytes and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            for _ in range(connections):
                connection, _ = listener.accept()
                connection.recv(65536)
                connection.sendall(reply)
                connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def test_connection_that_the_server_has_closed_is_opened_anew():
    with hanging_up(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", connections=2) as port:
        session = LoopbackSession(f"http://127.0.0.1:{port}", "127.0.0.1", port, {})
        for _ in range(2):
            assert get(session, f"http://127.0.0.1:{port}/x").content == b"ok"
            select.select(
                [session._idle.sock], [], [], 10
            )  # until the end of the connection has arrived
        session.close()


@pytest.mark.parametrize(
    "reply",
    [
        b"+OK ready\r\n",
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{"embeddings":[[\r\n10\r\n0.1',
    ],
)
def test_reply_that_is_not_http_or_breaks_off_is_a_broken_connection(reply):
    with hanging_up(reply, connections=1) as port:
        session = LoopbackSession(f"http://127.0.0.1:{port}", "127.0.0.1", port, {})
        with pytest.raises(ConnectionError):
            get(session, f"http://127.0.0.1:{port}/")


def test_local_server_is_asked_without_importing_requests(server):
    code = (
        "import sys\n"
        "from hybrid_memory.embedder import OllamaEmbedder\n"
        f"embedder = OllamaEmbedder('http://localhost:{server.port}', 'all-minilm')\n"
        "assert len(embedder.embed('a')) == 32, embedder.problem\n"
        "print('requests' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "False"
