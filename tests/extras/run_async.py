"""Coroutines in tests, and the SDK's client of a server in this process."""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from hybrid_memory.extras.mcp.stdio import StdioServer
from hybrid_memory.extras.mcp.tools import Tools


def run_async(play: Callable[[], Awaitable[None]]) -> None:
    """Run it in a thread of its own: the browser of the page's tests keeps an event loop in the one of the tests."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(anyio.run, play).result()


@asynccontextmanager
async def connection(tools: Tools) -> AsyncIterator[Any]:
    """The streams of a client whose server reads and writes lines in a thread of this process."""
    to_client, from_server = anyio.create_memory_object_stream[Any](math.inf)
    to_server, from_client = anyio.create_memory_object_stream[Any](0)
    lines: SimpleQueue[bytes | None] = SimpleQueue()
    loop = asyncio.get_running_loop()

    def write(line: bytes) -> None:
        message = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        loop.call_soon_threadsafe(to_client.send_nowait, message)

    async def send() -> None:
        async for sent in from_client:
            lines.put(sent.message.model_dump_json(by_alias=True, exclude_unset=True).encode())

    def serve() -> None:
        StdioServer(tools).serve(iter(lines.get, None), write)

    server = Thread(target=serve)
    server.start()
    async with (
        from_client,
        to_client,
        from_server,
        to_server,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(send)
        try:
            yield from_server, to_server
        finally:
            lines.put(None)
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(server.join)
            tasks.cancel_scope.cancel()
