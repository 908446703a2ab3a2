"""A server that is stopped and restarted: running processes go on, and report in a line what
failed.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client

from tests.command import answer, in_process
from tests.extras.postgres_server import PostgresServer
from tests.extras.test_mcp import ask, citations, refusal, with_server_processes

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

    async def play(client: Client) -> None:
        before = await ask(client, "memory_search", query="192.168.1.5", limit=1)
        assert citations(before) == ["memory/pi.md#L1-L3"]
        server.halt()
        for tool, arguments in (
            ("memory_search", {"query": "gpu"}),
            ("memory_store", {"doc_id": "a", "text": "b"}),
        ):
            told = await refusal(client, tool, **arguments)
            assert "cannot open postgresql://postgres@/m: " in told
            assert "\n" not in told and "hunter2" not in told
        server.start()
        assert await ask(client, "memory_search", query="192.168.1.5", limit=1) == before
        assert "1 chunk" in await ask(
            client, "memory_store", doc_id="a", text="The dog is called Rex."
        )
        assert citations(await ask(client, "memory_search", query="rex", limit=1)) == ["a#L1-L1"]

    with_server_processes(environ, play)
