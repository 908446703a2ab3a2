"""The tools over streamable HTTP, used by the SDK's own client over a real socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client as McpClient
from mcp import MCPError
from mcp.client.streamable_http import streamable_http_client

from tests.extras.run_async import run_async
from tests.extras.serve.test_security import TOKEN
from tests.extras.serving import Client, served


@asynccontextmanager
async def connected(base: str, mode: Any = "auto", **headers: str) -> AsyncIterator[McpClient]:
    with anyio.fail_after(120):
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http,
            McpClient(streamable_http_client(f"{base}/mcp", http_client=http), mode=mode) as client,
        ):
            yield client


def test_an_agent_searches_reads_and_stores(client: Client) -> None:
    async def play() -> None:
        async with connected(client.base) as agent:
            tools = {tool.name for tool in (await agent.list_tools()).tools}
            assert tools >= {
                "memory_search",
                "memory_get",
                "memory_store",
                "memory_list",
                "memory_status",
            }
            told = await agent.call_tool("memory_search", {"query": "GPU server password"})
            assert told.content[0].text.startswith("**memory/2026-01-05.md#L")  # type: ignore[union-attr]
            stored = await agent.call_tool("memory_store", {"doc_id": "zoo", "text": "The zebra."})
            assert not stored.is_error

    run_async(play)
    assert client.json("/api/search", q="zebra")["results"][0]["doc_id"] == "zoo"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_documents_and_the_prompt_are_those_of_standard_output(reader: Client, mode: Any) -> None:
    async def play() -> None:
        async with connected(reader.base, mode=mode) as agent:
            listed = (await agent.list_resources()).resources
            assert "memory/pi.md" in {resource.name for resource in listed}
            [content] = (await agent.read_resource("memory:///memory/pi.md")).contents
            assert "192.168.1.5" in content.text  # type: ignore[union-attr]
            [prompt] = (await agent.list_prompts()).prompts
            [message] = (await agent.get_prompt(prompt.name, {"about": "GPU server"})).messages
            assert "From my notes" in message.content.text  # type: ignore[union-attr]
            with pytest.raises(MCPError, match="no document 'nix'"):
                await agent.read_resource("memory:///nix")
            refused = await agent.call_tool("memory_search", {"query": "x", "limt": 1})
            assert refused.is_error

    run_async(play)


def test_an_agent_needs_the_token(folder: Any, environ: dict[str, str]) -> None:
    async def play(base: str, **headers: str) -> None:
        async with connected(base, **headers) as agent:
            assert not (await agent.call_tool("memory_status", {})).is_error

    with served(environ, "--token", TOKEN) as client:
        run_async(lambda: play(client.base, Authorization=f"Bearer {TOKEN}"))
        with pytest.raises(Exception):  # noqa: B017, PT011 - the client's groups of errors change with its version
            run_async(lambda: play(client.base))


REVISION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
READ = {"name": "memory_get", "arguments": {"target": "memory/pi.md"}, "_meta": META}
HEADERS = {
    "MCP-Protocol-Version": REVISION,
    "Mcp-Method": "tools/call",
    "Mcp-Name": "memory_get",
}


@pytest.mark.parametrize(
    ("headers", "method", "params", "status", "code"),
    [
        (HEADERS, "tools/call", READ, 200, None),
        (HEADERS | {"Mcp-Name": "=?base64?bWVtb3J5X2dldA==?="}, "tools/call", READ, 200, None),
        (HEADERS | {"Mcp-Name": "memory_delete"}, "tools/call", READ, 400, -32020),
        (HEADERS | {"Mcp-Method": "tools/list"}, "tools/call", READ, 400, -32020),
        (HEADERS | {"MCP-Protocol-Version": "2025-06-18"}, "tools/call", READ, 400, -32020),
        ({}, "tools/call", READ, 400, -32020),
        (HEADERS, "tools/call", {"name": "memory_get"}, 400, -32020),
        (HEADERS, "tools/call", [], 400, -32020),
        (
            {"MCP-Protocol-Version": "2027-01-01", "Mcp-Method": "ping"},
            "ping",
            {"_meta": META | {"io.modelcontextprotocol/protocolVersion": "2027-01-01"}},
            400,
            -32022,
        ),
        (HEADERS | {"Mcp-Method": "nosuch"}, "nosuch", {"_meta": META}, 404, -32601),
        ({"MCP-Protocol-Version": "2025-06-18"}, "nosuch", {}, 200, -32601),
        ({"MCP-Protocol-Version": "1999-01-01"}, "ping", {}, 400, -32020),
        ({}, "ping", {}, 200, None),
    ],
)
def test_headers_must_agree_with_a_request(
    reader: Client, headers: dict[str, str], method: str, params: Any, status: int, code: int | None
) -> None:
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    answer = reader.post("/mcp", json=message, headers=headers)
    assert (answer.status_code, answer.json()["id"]) == (status, 7)
    assert answer.json().get("error", {}).get("code") == code


def test_a_notification_has_no_answer_and_there_are_no_streams(reader: Client) -> None:
    told = reader.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (told.status_code, told.content) == (202, b"")
    assert reader.get("/mcp").status_code == reader.delete("/mcp").status_code == 405
    assert reader.post("/mcp", data="{}").status_code == 415
    assert reader.post("/mcp", json=[]).status_code == 422
