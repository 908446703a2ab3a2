"""The path /mcp. Importing the SDK takes longer than starting the rest of the server, so it waits
for the first request.
"""

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Receive, Scope, Send

from ..mcp.tools import Tools

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server


class McpEndpoint:
    """An ASGI application that starts the SDK's server at its first request."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._application: ASGIApp | None = None
        self._sessions: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._ending = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._starting:
            if self._application is None:
                self._application = await self._start()
        await self._application(scope, receive, send)

    async def _start(self) -> ASGIApp:
        sdk, application = await asyncio.to_thread(self._load)
        running = asyncio.Event()
        self._sessions = asyncio.create_task(self._run_sessions(sdk, running))
        self._sessions.add_done_callback(lambda _: running.set())
        await running.wait()
        if self._sessions.done():
            self._sessions.result()  # raises what ended them
        return application

    def _load(self) -> "tuple[Server[Any], ASGIApp]":
        from .mcp_sdk import http_application, server

        sdk = server(self._tools)
        return sdk, http_application(sdk)

    async def _run_sessions(self, sdk: "Server[Any]", running: asyncio.Event) -> None:
        """Keep the SDK's sessions until the end. They must begin and end in one task."""
        async with sdk.session_manager.run():
            running.set()
            await self._ending.wait()

    async def close(self) -> None:
        """End all sessions."""
        self._ending.set()
        if self._sessions:
            await self._sessions
