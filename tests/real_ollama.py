"""A real Ollama, at the address in OLLAMA_HOST, with the model all-minilm: `pytest -m ollama`."""

import json
import os
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from hybrid_memory.embedding.ollama import parse_ollama_host

MODEL = "all-minilm"
SECONDS = 120.0  # for a reply; the model may be loaded first


def ask(
    url: str, path: str, body: Any = None, method: str = "POST", timeout: float = SECONDS
) -> tuple[int, Any, str | None]:
    """Status, JSON or text, and Transfer-Encoding of a reply of a real or a fake Ollama."""
    connection = HTTPConnection(urlsplit(url).netloc, timeout=timeout)
    connection.request(method, path, json.dumps(body))
    reply = connection.getresponse()
    content = reply.read().decode()
    connection.close()
    parsed = json.loads(content) if content.startswith("{") else content
    return reply.status, parsed, reply.headers["Transfer-Encoding"]


class RealOllama:
    """The server. Tests are skipped without it."""

    def __init__(self) -> None:
        host = os.environ.get("OLLAMA_HOST")
        if not host:
            pytest.skip("needs OLLAMA_HOST")
        self.url = parse_ollama_host(host)
        status, answer, _ = ask(self.url, "/api/embed", {"model": MODEL, "input": "word"})
        assert status == 200, answer

    def unload(self) -> None:
        ask(self.url, "/api/embed", {"model": MODEL, "input": "word", "keep_alive": 0})

    def is_loaded(self) -> bool:
        _, answer, _ = ask(self.url, "/api/ps", method="GET")
        return any(model["name"].startswith(MODEL) for model in answer["models"])
