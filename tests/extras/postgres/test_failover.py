"""A server that is stopped and restarted: running processes go on, and report in a line what
failed.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.command import answer, in_process
from tests.extras.postgres_server import PostgresServer
from tests.extras.test_mcp import Called, citations

pytestmark = pytest.mark.large


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    request.getfixturevalue("postgres")  # which is skipped where there is none
    started = PostgresServer()
    yield started
    started.stop()


@pytest.fixture
def environ(environ: dict[str, str], server: PostgresServer) -> dict[str, str]:
    address = server.database("m").replace("?", "?password=hunter2&")
    kept = {key: value for key, value in environ.items() if key != "PYTHONWARNINGS"}
    return kept | {"HYBRID_MEMORY_DB_PATH": address, "HYBRID_MEMORY_PROVIDER": "builtin"}


def test_mcp_answers_again_and_says_in_a_line_what_it_could_not(
    environ: dict[str, str], folder: Path, server: PostgresServer
) -> None:
    answer(in_process(("ingest", "--path", str(folder)), environ, folder))

    with patch.dict(os.environ, environ, clear=True):
        tools = Called(environ).tools()

        def told(tool: str, *, is_error: bool = False, **arguments: Any) -> str:
            answered = tools.call(tool, arguments)
            [content] = answered["content"]
            assert answered["isError"] == is_error
            return str(content["text"])

        before = told("memory_search", query="192.168.1.5", limit=1)
        assert citations(before) == ["memory/pi.md#L1-L3"]
        server.halt()
        for tool, arguments in (
            ("memory_search", {"query": "gpu"}),
            ("memory_store", {"doc_id": "a", "text": "b"}),
        ):
            refused = told(tool, is_error=True, **arguments)
            assert "cannot open postgresql://postgres@/m: " in refused
            assert "\n" not in refused and "hunter2" not in refused
        server.start()
        assert told("memory_search", query="192.168.1.5", limit=1) == before
        assert "1 chunk" in told("memory_store", doc_id="a", text="The dog is called Rex.")
        assert citations(told("memory_search", query="rex", limit=1)) == ["a#L1-L1"]
