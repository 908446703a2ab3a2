"""The server, spoken to by the SDK's own client: in this process, or as agents start it where that is the point."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import anyio
import pytest
from mcp import Client, StdioServerParameters

from hybrid_memory import __version__, cli
from hybrid_memory.surface.arguments import build_parser
from hybrid_memory.surface.mcp import build
from tests.command import answer, in_process
from tests.fake_ollama import FakeOllama

COMMAND = [sys.executable, "-m", "hybrid_memory"]


@pytest.fixture
def environ(environ: dict[str, str]) -> dict[str, str]:
    kept = {key: value for key, value in environ.items() if key not in ("HYBRID_MEMORY_OLLAMA_URL", "PYTHONWARNINGS")}
    return kept | {"HYBRID_MEMORY_PROVIDER": "builtin"}


@pytest.fixture
def folder(folder: Path, environ: dict[str, str]) -> Path:
    command_line(environ, "ingest", "--path", str(folder))
    return folder


def command_line(environ: dict[str, str], *args: str) -> Any:
    return answer(in_process(args, environ, Path.cwd()))


def with_client(environ: dict[str, str], play: Callable[[Client], Awaitable[None]]) -> None:
    """Run `play` with a client of a server in this process."""
    args = build_parser().parse_args(["mcp"])
    server = build(lambda: cli._open(args), lambda: cli._open(args, create=True))

    async def connect() -> None:
        with anyio.fail_after(60):
            async with Client(server) as client:
                await play(client)

    with patch.dict(os.environ, environ, clear=True):
        anyio.run(connect)


def with_server_processes(environ: dict[str, str], play: Callable[..., Awaitable[None]], clients: int = 1) -> None:
    """Run `play` with clients that have a server process each, as agents start it."""

    async def connect(open_clients: list[Client]) -> None:
        if len(open_clients) == clients:
            with anyio.fail_after(60):
                await play(*open_clients)
        else:
            server = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], "mcp"], env=environ)
            async with Client(server) as client:
                await connect([*open_clients, client])

    anyio.run(connect, [])


async def ask(client: Client, tool: str, **arguments: Any) -> Any:
    told = await client.call_tool(tool, arguments)
    assert not told.is_error, told.content
    assert json.loads(told.content[0].text) == told.structured_content  # for clients that know only one of them
    return told.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    told = await client.call_tool(tool, arguments)
    assert told.is_error
    return str(told.content[0].text)


def test_tools_are_described_for_a_model(environ: dict[str, str]) -> None:
    async def play(client: Client) -> None:
        assert client.server_info.version == __version__
        assert "memory_search" in str(client.instructions)
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"memory_search", "memory_get", "memory_store", "memory_list", "memory_status"}
        for tool in tools.values():
            assert len(tool.description) > 100
            assert "\n  " not in tool.description
            assert all("description" in field for field in tool.input_schema["properties"].values()), tool.name
            assert tool.annotations.open_world_hint is False
        assert [name for name, tool in tools.items() if not tool.annotations.read_only_hint] == ["memory_store"]
        assert tools["memory_search"].input_schema["required"] == ["query"]

    with_client(environ, play)


def test_answers_are_those_of_the_command_line(environ: dict[str, str], folder: Path) -> None:
    async def play(client: Client) -> None:
        found = await ask(client, "memory_search", query="GPU password")
        assert found == {"results": command_line(environ, "search", "GPU password", "--limit", "5"), "warnings": []}
        citation = found["results"][0]["citation"]
        read = await ask(client, "memory_get", target=citation)
        assert "hunter2" in read["text"]
        assert read == command_line(environ, "get", citation)
        assert (await ask(client, "memory_get", target="pi.md", max_lines=1))["next"] == "memory/pi.md#L2-L3"
        assert await ask(client, "memory_list") == command_line(environ, "list")
        assert (await ask(client, "memory_list", limit=1))["total"] == 2
        assert await ask(client, "memory_status") == command_line(environ, "stats")

    with_server_processes(environ, play)


def test_filters_are_those_of_the_command_line(environ: dict[str, str], folder: Path) -> None:
    async def play(client: Client) -> None:
        for arguments, options in (
            ({"collection": "memory"}, ("--collection", "memory")),
            ({"inside": "memory/p*"}, ("--in", "memory/p*")),
            ({"tags": ["a", "b"]}, ("--tag", "a", "--tag", "b")),
            ({"where": {"project": "x"}}, ("--where", "project=x")),
            ({"since": "2026-01", "until": "2026-01-31"}, ("--since", "2026-01", "--until", "2026-01-31")),
        ):
            found = await ask(client, "memory_search", query="server", **arguments)
            assert found["results"] == command_line(environ, "search", "server", "--limit", "5", *options), options
            assert await ask(client, "memory_list", **arguments) == command_line(environ, "list", *options), options
        assert (await ask(client, "memory_search", query="zebra", min_confidence=0.9))["results"] == []
        assert "'yesterday' is not a date" in await refusal(client, "memory_search", query="x", since="yesterday")

    with_client(environ, play)


def test_search_takes_in_what_changed_before_it(environ: dict[str, str], folder: Path) -> None:
    async def play(client: Client) -> None:
        (folder / "new.md").write_text("# Parrot\n\nIt is called Polly.\n")
        [hit] = (await ask(client, "memory_search", query="Polly", limit=1))["results"]
        assert (hit["doc_id"], hit["source"]) == ("memory/new.md", "hybrid")
        shutil.rmtree(folder)
        found = await ask(client, "memory_search", query="Polly", limit=1)
        assert found["results"] == [hit]
        assert [str(folder) in warning for warning in found["warnings"]] == [True]

    with_client(environ, play)


def test_stored_text_is_found(environ: dict[str, str]) -> None:
    async def play(client: Client) -> None:
        assert "no database at" in await refusal(client, "memory_search", query="dog")
        stored = await ask(client, "memory_store", doc_id="pets", text="The dog is called Rex.", metadata={"owner": "ann"})
        assert stored == {"doc_id": "pets", "chunks": 1, "warnings": []}
        [hit] = (await ask(client, "memory_search", query="dog"))["results"]
        assert (hit["doc_id"], hit["metadata"]) == ("pets", {"owner": "ann"})

    with_client(environ, play)


def test_failures_are_tool_errors_in_our_words(environ: dict[str, str], folder: Path) -> None:
    async def play(client: Client) -> None:
        message = await refusal(client, "memory_get", target="memory/pie.md")
        assert message.endswith("no document 'memory/pie.md' in this memory; did you mean memory/pi.md?")
        (folder / "pi.md").unlink()
        message = await refusal(client, "memory_get", target="memory/pi.md")
        assert "is gone" in message
        assert "\n" not in message
        assert "limit" in await refusal(client, "memory_search", query="x", limit=0)
        assert "doc_id" in await refusal(client, "memory_store", doc_id="", text="x")
        assert "mode" in await refusal(client, "memory_search", query="x", mode="fuzzy")
        assert (await ask(client, "memory_search", query="hunter2"))["results"]  # and it goes on

    with_client(environ, play)


def test_names_that_are_not_unicode_are_told_as_text(environ: dict[str, str], folder: Path) -> None:
    (folder / os.fsdecode(b"caf\xe9.md")).write_text("espresso")
    command_line(environ, "ingest", "--path", str(folder))

    async def play(client: Client) -> None:
        [hit] = (await ask(client, "memory_search", query="espresso", limit=1))["results"]
        assert hit["path"] == f"{folder}/caf\\udce9.md"
        assert (await ask(client, "memory_get", target=hit["citation"]))["text"] == "espresso"

    with_client(environ, play)


def test_two_clients_write_and_search_at_once(environ: dict[str, str], folder: Path) -> None:
    async def work(client: Client, name: str) -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(store_and_find, client, f"{name}-{number}")

    async def store_and_find(client: Client, doc_id: str) -> None:
        await ask(client, "memory_store", doc_id=doc_id, text=f"The word of this note is {doc_id}.")
        assert (await ask(client, "memory_search", query=doc_id, limit=1))["results"][0]["doc_id"] == doc_id

    async def play(one: Client, two: Client) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work, one, "alpha")
            tasks.start_soon(work, two, "beta")
        assert (await ask(one, "memory_status"))["doc_count"] == 12
        assert await ask(one, "memory_list") == await ask(two, "memory_list")

    with_server_processes(environ, play, clients=2)


def test_a_search_that_waits_for_its_embedding_holds_up_no_other_call(environ: dict[str, str]) -> None:
    with FakeOllama() as ollama:
        environ |= {"HYBRID_MEMORY_PROVIDER": "ollama", "HYBRID_MEMORY_OLLAMA_URL": ollama.url}
        command_line(environ, "store", "--doc-id", "x", "--text", "gpu")
        ollama.cold = 3.0
        order = []

        async def play(client: Client) -> None:
            async def search() -> None:
                await ask(client, "memory_search", query="gpu")
                order.append("search")

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(search)
                while not ollama.loads:
                    await anyio.sleep(0.01)
                await ask(client, "memory_status")
                order.append("status")

        with_client(environ, play)
        assert order == ["status", "search"]


def test_a_server_that_is_down_is_told_as_a_warning(environ: dict[str, str], folder: Path) -> None:
    environ |= {"HYBRID_MEMORY_PROVIDER": "ollama", "HYBRID_MEMORY_OLLAMA_URL": "http://127.0.0.1:9"}

    async def play(client: Client) -> None:
        stored = await ask(client, "memory_store", doc_id="x", text="gpu")
        assert len(stored["warnings"]) == 1

    with_client(environ, play)


def test_standard_output_has_the_protocol_and_nothing_else(environ: dict[str, str], folder: Path) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "memory_search", "arguments": {"query": "gpu"}}},
        {"id": 3, "method": "tools/call", "params": {"name": "memory_get", "arguments": {"target": "none"}}},
    ]
    with subprocess.Popen(
        [*COMMAND, "mcp"], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        answers = []
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
            process.stdin.flush()
            if "id" in message:
                answers.append(json.loads(process.stdout.readline()))
        rest, errors = process.communicate(timeout=60)
    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert (rest, errors, process.returncode) == ("", "", 0)


def test_interrupt_ends_the_server_at_once(environ: dict[str, str], folder: Path) -> None:
    with subprocess.Popen([*COMMAND, "mcp"], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == -signal.SIGINT


def test_bad_settings_end_the_server_before_it_serves(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"chunksize": 1}')
    done = subprocess.run([*COMMAND, "mcp"], env=environ, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (1, "")
    assert "unknown key 'chunksize'" in done.stderr


def test_without_the_package_the_way_to_get_it_is_told(environ: dict[str, str], tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['mcp'] = None; from hybrid_memory.cli import entry_point; sys.argv[1:] = ['mcp']; entry_point()"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"`{sys.executable} -m pip install 'mcp>=2'`" in done.stderr
    assert "pip install 'hybrid-memory" not in done.stderr  # on the package index this name belongs to somebody else
    assert len(done.stderr.splitlines()) == 1
