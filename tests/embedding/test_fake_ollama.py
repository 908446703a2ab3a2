"""The fake Ollama does what was seen of a real one (0.32.15), and other tests depend on."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from hybrid_memory.embedding.loopback import LoopbackSession
from tests import real_ollama
from tests.fake_ollama import FakeOllama
from tests.real_ollama import MODEL, RealOllama

LONG = "word " * 300
GIVE_UP = 30.0  # seconds


@pytest.fixture
def ollama() -> Iterator[FakeOllama]:
    with FakeOllama(MODEL, dims=32, context=100) as server:
        yield server


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.ollama)])
def either(request: pytest.FixtureRequest) -> FakeOllama | RealOllama:
    """The fake, and if it is there, a real server, which must answer the same."""
    return RealOllama() if request.param == "real" else request.getfixturevalue("ollama")


def ask(
    ollama: FakeOllama | RealOllama,
    *texts: str,
    method: str = "POST",
    path: str = "/api/embed",
    **body: Any,
) -> tuple[int, Any, str | None]:
    """Status, JSON or text, and Transfer-Encoding of a reply."""
    payload = {"model": MODEL, "input": texts, "truncate": False} | body
    return real_ollama.ask(ollama.url, path, payload, method)


@pytest.mark.parametrize(
    ("request_", "status", "words"),
    [
        ({"method": "GET"}, 405, "405 method not allowed"),
        ({"path": "/api/tags"}, 405, "405 method not allowed"),
        ({"path": "/v1/api/embed"}, 404, "404 page not found"),
        ({"model": "all minilm"}, 400, {"error": "invalid model name"}),
        ({"model": "no"}, 404, {"error": 'model "no" not found, try pulling it first'}),
        ({"input": 5}, 400, {"error": "invalid input type"}),
        (
            {"input": ["a", LONG]},
            400,
            {"error": "the input length exceeds the context length"},
        ),
    ],
)
def test_refusals(either: FakeOllama | RealOllama, request_: Any, status: int, words: Any) -> None:
    assert ask(either, **request_)[:2] == (status, words)


def test_a_runner_that_cannot_start_is_an_error_of_the_server(ollama: FakeOllama) -> None:
    ollama.cannot_load = "exit status 137"
    words = "llama-server process has terminated: exit status 137"
    assert ask(ollama, "a")[:2] == (500, {"error": words})
    assert ask(ollama, method="GET", path="/api/tags")[0] == 200


def test_nan_becomes_a_vector_of_zeros(ollama: FakeOllama) -> None:
    ollama.nan = "poison"
    status, reply, _ = ask(ollama, "good", "poison")
    assert (status, [any(vector) for vector in reply["embeddings"]]) == (200, [True, False])


def test_the_texts_of_a_refused_batch_are_computed_except_the_long_one(ollama: FakeOllama) -> None:
    assert ask(ollama, "a", LONG, "b")[0] == 400
    assert (ollama.computed, ollama.embedded) == (["a", "b"], [])


def test_only_long_replies_are_chunked(either: FakeOllama | RealOllama) -> None:
    assert ask(either, "a" * 5, method="GET", path="/api/version")[2] is None
    status, reply, encoding = ask(either, *(f"text {number}" for number in range(10)))
    assert (status, len(reply["embeddings"]), encoding) == (200, 10, "chunked")


def test_a_chunked_reply_that_breaks_off_is_a_broken_connection() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def answer() -> None:
            connection, _ = listener.accept()
            connection.recv(65536)
            connection.sendall(head + b'10\r\n{"embeddings":[[\r\n10\r\n0.1')
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        url = f"http://127.0.0.1:{port}"
        session = LoopbackSession(url, "127.0.0.1", port, {})
        with pytest.raises(ConnectionError):
            session.request("GET", url, data=None, headers={}, timeout=(3.0, GIVE_UP), most=10**6)
        thread.join()


def test_loading_stops_if_the_client_disconnects(ollama: FakeOllama) -> None:
    ollama.cold = GIVE_UP
    with pytest.raises(TimeoutError):
        _ask_briefly(ollama)
    _wait_until(lambda: ollama._loading.acquire(blocking=False))
    ollama._loading.release()
    assert (ollama.loads, ollama.cold) == (1, GIVE_UP)


def test_clients_that_wait_for_the_same_model_share_its_loading(ollama: FakeOllama) -> None:
    ollama.cold = 0.2
    threads = [threading.Thread(target=ask, args=(ollama, "a")) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (ollama.loads, len(ollama.embedded)) == (1, 3)


def test_a_request_waits_for_the_texts_of_another_client(ollama: FakeOllama) -> None:
    ollama.per_text = 0.02
    batch = threading.Thread(target=ask, args=(ollama, *(f"text {n}" for n in range(20))))
    batch.start()
    _wait_until(lambda: bool(ollama.computed))
    assert ask(ollama, "query")[0] == 200
    assert ollama.computed[-1] == "query"
    assert len(ollama.computed) == 21
    batch.join()


def _ask_briefly(ollama: FakeOllama) -> None:
    connection = HTTPConnection("127.0.0.1", ollama.port, timeout=0.1)
    try:
        connection.request("POST", "/api/embed", json.dumps({"model": MODEL, "input": "a"}))
        connection.getresponse()
    finally:
        connection.close()


def _wait_until(is_so: Any) -> None:
    started = time.monotonic()
    while not is_so():
        assert time.monotonic() - started < GIVE_UP
        time.sleep(0.01)
