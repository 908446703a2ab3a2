"""The server: its routes, socket, connections and shutdown."""

import asyncio
import errno
import logging
import mimetypes
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from ...errors import ConfigError, HybridMemoryError
from ..mcp.tools import Tools
from . import openapi, responses, routes, security
from .mcp_endpoint import McpEndpoint
from .memory import BusyError, Memory

FINISHING = 5.0  # seconds after the signal to answer requests that have begun
ENDING = 3  # seconds after that for connections to send their last bytes
SHUTTING_DOWN = "the server is shutting down; try again when it is back"
CONNECTIONS = 512
HEADER_SECONDS = 10.0
KEPT = 30  # seconds that an idle connection stays open
ENDLESS = ("GET", "/mcp")  # a stream in which an agent waits for messages

FOLDER = Path(__file__).parent / "page"
TYPES = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket. Raises ConfigError if the address cannot be used."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.create_server(address[:2], family=family, backlog=CONNECTIONS)
    except (OSError, UnicodeError) as error:
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            raise ConfigError(
                f"port {port} of {host} is in use; choose another one with --port, "
                "or 0 for any free port"
            ) from error
        raise ConfigError(
            f"cannot listen on {host} port {port}: {getattr(error, 'strerror', None) or error}"
        ) from error
    # create_server names no protocol, and asyncio turns off Nagle's algorithm only for TCP sockets.
    return socket.socket(proto=socket.IPPROTO_TCP, fileno=listener.detach())


def server(app: ASGIApp, memory: Memory, on_start: Callable[[], None]) -> "Server":
    """Create the server of the application. `on_start` is called when it accepts requests."""
    logging.getLogger("mcp").setLevel(logging.ERROR)  # it warns about each unanswered call
    requests = Requests(app, memory)
    configuration = uvicorn.Config(
        requests,
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
    return Server(configuration, requests, on_start)


def run(server: "Server", listener: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), listener:
        server.run([listener])


class Server(uvicorn.Server):
    """A server that reports its start, and answers pending requests before it shuts down."""

    def __init__(
        self, configuration: uvicorn.Config, requests: "Requests", on_start: Callable[[], None]
    ) -> None:
        super().__init__(configuration)
        self._requests = requests
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._requests.finish(lambda: self.force_exit)
        # A second Ctrl-C only ends the wait; uvicorn would also skip the rest of the shutdown.
        self.force_exit = False
        await super().shutdown(sockets)


class Requests:
    """ASGI middleware that keeps track of requests, and ends them when the server shuts down."""

    def __init__(self, app: ASGIApp, memory: Memory) -> None:
        self._app = app
        self._memory = memory
        self._begun: set[asyncio.Future[None]] = set()
        self._endless: set[asyncio.Future[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif self._memory.ending.is_set():
            await security.skip_body(receive)
            await refuse(scope, receive, send)
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        sender = ResponseSender(send)
        answering = asyncio.ensure_future(self._app(scope, receive, sender))
        answers = self._begun
        if (scope["method"], scope["path"]) == ENDLESS:
            answers = self._endless
        answers.add(answering)
        try:
            await asyncio.wait([answering])
        finally:
            answering.cancel()
            answers.discard(answering)
        if not answering.cancelled():
            answering.result()  # or raise its error
        elif not sender.has_begun:
            await refuse(scope, receive, send)
        await sender.end()

    async def finish(self, is_urgent: Callable[[], bool]) -> None:
        """Refuse new requests, end streams, and wait for the answers to other requests: up to
        FINISHING seconds, or until `is_urgent` returns true. Then refuse the unanswered requests.
        """
        self._memory.begin_ending()
        for answering in self._endless:
            answering.cancel()
        deadline = time.monotonic() + FINISHING
        while self._begun and time.monotonic() < deadline and not is_urgent():
            await asyncio.sleep(0.02)
        for answering in self._begun:
            answering.cancel()


class ResponseSender:
    """Sends a response; `end` completes a stream that the application left open."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False
        self._is_open = False

    async def __call__(self, message: Message) -> None:
        """Send an ASGI message."""
        if message["type"] == "http.response.start":
            self.has_begun = True
            self._is_open = "content-length" not in Headers(scope=message)
        elif not message.get("more_body"):
            self._is_open = False
        await self._send(message)

    async def end(self) -> None:
        """Send the end of the stream, unless it was sent."""
        if self._is_open:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond that the server is shutting down."""
    response = responses.response(BusyError(SHUTTING_DOWN), scope["path"])
    response.headers.update(security.HEADERS | {"connection": "close"})
    await response(scope, receive, send)


class Connection(H11Protocol):
    """A connection that is closed if request line and headers do not arrive in time."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_headers(True)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait_for_headers(self._is_in_headers())

    def on_response_complete(self) -> None:
        super().on_response_complete()  # continues with data that arrived during the request
        self._wait_for_headers(self._is_in_headers())

    def connection_lost(self, exc: Exception | None) -> None:
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
    """The rest of a path, including line breaks: an id can contain any character."""

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


def application(memory: Memory, tools: Tools) -> Starlette:
    """Return the application for one memory. The memory's threads end with the application.

    The guard in security.py checks hosts and origins for the MCP route, too.
    """
    mcp = McpEndpoint(tools)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[Mapping[str, Any]]:
        try:
            yield {"memory": memory}
        finally:
            await mcp.close()
            memory.close()

    return Starlette(
        routes=[*ROUTES, Route("/mcp", mcp), Mount("/", Page())],
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )


class Page(StaticFiles):
    """The files of the page, with content types that do not depend on the machine."""

    def __init__(self) -> None:
        super().__init__(directory=FOLDER, html=True, check_dir=False)
        for suffix, media_type in TYPES.items():
            mimetypes.add_type(media_type, suffix)

    def file_response(self, *args: Any, **named: Any) -> Response:
        """Return the file, or 304. The browser caches files, but always revalidates them."""
        response = super().file_response(*args, **named)
        response.headers["cache-control"] = "no-cache"
        return response
