"""The tools over streamable HTTP, used by the SDK's own client over a real socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client

from tests.extras.run_async import run_async
from tests.extras.serve.test_security import TOKEN
from tests.extras.serving import Client, served


@asynccontextmanager
async def connected(base: str, **headers: str) -> AsyncIterator[McpClient]:
    with anyio.fail_after(120):
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http,
            McpClient(streamable_http_client(f"{base}/mcp", http_client=http)) as client,
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


def test_agents_at_once_have_a_session_each(client: Client) -> None:
    async def play() -> None:
        async with connected(client.base) as one, connected(client.base) as other:
            for agent in (one, other, one):
                assert not (await agent.call_tool("memory_status", {})).is_error

    run_async(play)


def test_an_agent_needs_the_token(folder: Any, environ: dict[str, str]) -> None:
    async def play(base: str, **headers: str) -> None:
        async with connected(base, **headers) as agent:
            assert not (await agent.call_tool("memory_status", {})).is_error

    with served(environ, "--token", TOKEN) as client:
        run_async(lambda: play(client.base, Authorization=f"Bearer {TOKEN}"))
        with pytest.raises(Exception):  # noqa: B017, PT011 - the client's groups of errors change with its version
            run_async(lambda: play(client.base))
