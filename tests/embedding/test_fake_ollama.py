"""The fake Ollama does what was seen of a real one (0.32.15), and other tests depend on."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests import real_ollama
from tests.fake_ollama import FakeOllama
from tests.real_ollama import MODEL, RealOllama

LONG = "word " * 300


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


def test_only_long_replies_are_chunked(either: FakeOllama | RealOllama) -> None:
    assert ask(either, "a" * 5, method="GET", path="/api/version")[2] is None
    status, reply, encoding = ask(either, *(f"text {number}" for number in range(10)))
    assert (status, len(reply["embeddings"]), encoding) == (200, 10, "chunked")
