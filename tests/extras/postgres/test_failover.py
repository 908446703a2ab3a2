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
from tests.extras.test_watch import QUICK, Watching

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


def test_watch_goes_on_with_what_changed_meanwhile(
    environ: dict[str, str], folder: Path, server: PostgresServer
) -> None:
    answer(in_process(("ingest", "--path", str(folder)), environ, folder))
    watching = Watching(environ, pace=QUICK)
    try:
        watching.wait_for("watching")
        (folder / "first.md").write_text("# Parrot\n\nIt is called Polly.\n")
        watching.wait_for("1 file")
        server.halt()
        (folder / "second.md").write_text("# Dog\n\nIt is called Rex.\n")
        told = watching.wait_for("changes since the last ingest are missing")
        assert "postgresql://postgres@/m" in told
        (folder / "third.md").write_text("# Cat\n\nIt is called Tom.\n")
        at = len(watching.lines)
        server.start()
        watching.wait_for("2 files", after=at)
    finally:
        watching.process.terminate()
        watching._reader.join()
        watching.process.communicate()
    assert not any("Traceback" in line or "hunter2" in line for line in watching.lines)
    found = answer(in_process(("search", "rex tom", "--mode", "keyword"), environ, folder))
    assert {hit["doc_id"] for hit in found} == {"memory/second.md", "memory/third.md"}
