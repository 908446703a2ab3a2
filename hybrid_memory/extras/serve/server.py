"""The server: the table of its addresses, and the process with its socket, its connections and its
end.
"""

import asyncio
import errno
import mimetypes
import signal
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import h11
import mcp_types
import uvicorn
from anyio.to_thread import run_sync
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server as SdkServer
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from ... import __version__
from ...errors import ConfigError, HybridMemoryError
from ..mcp import protocol
from ..mcp.tools import ProtocolError, Tools
from . import openapi, responses, routes, security
from .memory import Memory

ENDING = 1  # seconds that open connections have after the signal
CONNECTIONS = 512
HEADER_SECONDS = 10.0
KEPT = 30  # seconds that a connection stays open for another request

FOLDER = Path(__file__).parent / "page"
TYPES = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises ConfigError if the address cannot be used."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.create_server(address[:2], family=family, backlog=CONNECTIONS)
    except (OSError, UnicodeError) as error:
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            raise ConfigError(
                f"port {port} of {host} is taken; name another one with --port, or 0 for any free one"
            ) from error
        raise ConfigError(
            f"cannot listen on {host} port {port}: {getattr(error, 'strerror', None) or error}"
        ) from error
    # create_server names no protocol, and asyncio turns off Nagle's algorithm only for TCP sockets.
    return socket.socket(proto=socket.IPPROTO_TCP, fileno=listener.detach())


def server(app: ASGIApp, on_start: Callable[[], None], on_end: Callable[[], None]) -> "Server":
    """Return what runs the application. `on_start` is called once requests are answered, `on_end`
    before connections are closed.
    """
    configuration = uvicorn.Config(
        app,
        access_log=False,
        log_level="error",
        server_header=False,
        proxy_headers=False,
        ws="none",
        http=Connection,
        loop="asyncio",
        timeout_keep_alive=KEPT,
        timeout_graceful_shutdown=ENDING,
        limit_concurrency=CONNECTIONS,
    )
    return Server(configuration, on_start, on_end)


def run(server: "Server", listener: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), listener:
        server.run([listener])


class Server(uvicorn.Server):
    """A server that tells when it has started, and when it begins to end."""

    def __init__(
        self,
        configuration: uvicorn.Config,
        on_start: Callable[[], None],
        on_end: Callable[[], None],
    ) -> None:
        super().__init__(configuration)
        self._on_start = on_start
        self._on_end = on_end

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, for uvicorn."""
        await super().startup(sockets)
        if self.started:
            self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End, for uvicorn."""
        self._on_end()
        await super().shutdown(sockets)


class Connection(H11Protocol):
    """A connection that is closed if its request line and headers do not come in time."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait, for asyncio."""
        super().connection_made(transport)
        self._wait_for_headers(True)

    def data_received(self, data: bytes) -> None:
        """Read, for asyncio."""
        super().data_received(data)
        self._wait_for_headers(self._is_in_headers())

    def on_response_complete(self) -> None:
        """Go on with what came during the request, for uvicorn."""
        super().on_response_complete()
        self._wait_for_headers(self._is_in_headers())

    def connection_lost(self, exc: Exception | None) -> None:
        """End, for asyncio."""
        self._wait_for_headers(False)
        super().connection_lost(exc)

    def _is_in_headers(self) -> bool:
        return self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])

    def _wait_for_headers(self, is_waiting: bool) -> None:
        if is_waiting and self._timer is None:
            self._timer = self.loop.call_later(HEADER_SECONDS, self.transport.close)
        elif not is_waiting and self._timer:
            self._timer.cancel()
            self._timer = None


class AnyConvertor(PathConvertor):
    """The rest of an address, line breaks included: an id may have any character."""

    regex = "(?s:.*)"


register_url_convertor("any", AnyConvertor())
HANDLERS: Mapping[Any, Any] = dict.fromkeys(
    (Exception, HTTPException, responses.Problem, HybridMemoryError), responses.handler
)
ROUTES: tuple[BaseRoute, ...] = (
    Route("/api/search", routes.search),
    Route("/api/documents", routes.documents),
    Route("/api/documents/{id:any}", routes.document),
    Route("/api/documents/{id:any}", routes.put, methods=["PUT"]),
    Route("/api/documents/{id:any}", routes.delete, methods=["DELETE"]),
    Route("/api/update", routes.update, methods=["POST"]),
    Route("/api/overview", routes.overview),
    Route("/api/review", routes.review),
    Route("/api/status", routes.status),
    Route("/api/doctor", routes.doctor),
    Route("/api/session", security.exchange, methods=["POST"]),
    Route("/api/openapi.json", openapi.document),
)


RESULTS = {  # of the methods that the memory answers, each with the SDK's name for its handler
    "tools/list": ("on_list_tools", mcp_types.ListToolsResult),
    "tools/call": ("on_call_tool", mcp_types.CallToolResult),
    "prompts/list": ("on_list_prompts", mcp_types.ListPromptsResult),
    "prompts/get": ("on_get_prompt", mcp_types.GetPromptResult),
    "resources/list": ("on_list_resources", mcp_types.ListResourcesResult),
    "resources/templates/list": (
        "on_list_resource_templates",
        mcp_types.ListResourceTemplatesResult,
    ),
    "resources/read": ("on_read_resource", mcp_types.ReadResourceResult),
}


def sdk_server(tools: Tools) -> SdkServer[Any]:
    """Return a server of the SDK, which knows HTTP, with the answers that standard output has."""
    answering = protocol.Server(tools)

    def handler(method: str, result_type: Any) -> Any:
        async def handle(context: Any, params: mcp_types.RequestParams | None) -> Any:
            asked = {}
            if params:
                asked = params.model_dump(by_alias=True, mode="json")
            try:
                result = await run_sync(answering.result, method, asked)
            except ProtocolError as error:
                raise MCPError(error.code, str(error), error.data) from error
            return result_type.model_validate(result)

        return handle

    handlers = {
        name: handler(method, result_type) for method, (name, result_type) in RESULTS.items()
    }
    hints: Any = {method: CacheHint(ttl_ms=kept) for method, kept in protocol.KEPT.items()}
    return SdkServer(
        protocol.SERVER_INFO["name"],
        version=__version__,
        instructions=protocol.INSTRUCTIONS,
        cache_hints=hints,
        **handlers,
    )


def application(memory: Memory, tools: Tools) -> Starlette:
    """Return the whole server for one memory. The memory's threads end with the application.

    What stands before it, in security.py, also checks hosts and origins for the tools.
    """
    sdk = sdk_server(tools)
    mcp = sdk.streamable_http_app(
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False)
    )

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[Mapping[str, Any]]:
        try:
            async with sdk.session_manager.run():
                yield {"memory": memory}
        finally:
            memory.close()

    return Starlette(
        routes=[*ROUTES, *mcp.routes, Mount("/", Page())],
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )


class Page(StaticFiles):
    """Everything in the page's folder, with content types that do not depend on the machine."""

    def __init__(self) -> None:
        super().__init__(directory=FOLDER, html=True, check_dir=False)
        for suffix, media_type in TYPES.items():
            mimetypes.add_type(media_type, suffix)

    def file_response(self, *args: Any, **named: Any) -> Response:
        """Return the file, or 304. The browser keeps it, but asks every time whether it is still the
        same.
        """
        response = super().file_response(*args, **named)
        response.headers["cache-control"] = "no-cache"
        return response
