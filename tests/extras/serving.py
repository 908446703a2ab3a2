"""The server, answering on a real socket from a thread of this process."""

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import requests

from hybrid_memory.extras.serve.command import start
from hybrid_memory.extras.serve.server import PageServer
from hybrid_memory.surface.arguments import parse
from tests.command import NO_SERVER


class Client(requests.Session):
    """Asks the server at `base`. `server` is set where it runs in this process."""

    server: PageServer

    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = base
        self.trust_env = False

    def request(self, method: str, url: str, **options: Any) -> requests.Response:  # type: ignore[override]
        return super().request(method, self.base + url, timeout=60, **options)

    def json(self, url: str, **parameters: Any) -> Any:
        """The JSON of an answer that is not an error."""
        answer = self.get(url, params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def put_text(self, doc_id: str, text: str, **body: Any) -> requests.Response:
        return self.put(f"/api/documents/{doc_id}", json={"text": text, **body})


def variables(top: Path) -> dict[str, str]:
    """Variables of a memory in this folder with the built-in model, and nothing of the person who runs the tests."""
    (top / "config.json").write_text("{}")
    others = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HYBRID_MEMORY_", "OLLAMA_", "NO_COLOR", "FORCE_COLOR"))
    }
    return others | {
        "HYBRID_MEMORY_CONFIG": str(top / "config.json"),
        "HYBRID_MEMORY_DB_PATH": str(top / "memory.db"),
        "HYBRID_MEMORY_OLLAMA_URL": NO_SERVER,
        "HYBRID_MEMORY_PROVIDER": "builtin",
    }


@contextmanager
def served(environ: Mapping[str, str], *args: str) -> Iterator[Client]:
    """A client of a server with these arguments."""
    with (
        patch.dict(os.environ, environ, clear=True),
        patch("hybrid_memory.extras.serve.command.output"),
    ):
        server, listener = start(parse(["serve", "--port", "0", *args]))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            with Client(f"http://127.0.0.1:{listener.getsockname()[1]}") as client:
                client.server = server
                yield client
        finally:
            server.should_exit = True
            thread.join()
            listener.close()


def events(answer: requests.Response) -> list[tuple[str, Any]]:
    """The server-sent events of an answer."""
    found = []
    for block in answer.text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found
