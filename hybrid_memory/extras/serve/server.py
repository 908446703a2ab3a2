"""The server: its socket, its application, its connections and its shutdown."""

import asyncio
import errno
import logging
import signal
import socket
from contextlib import suppress
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from ...errors import ConfigError, HybridMemoryError
from ..mcp.tools import Tools
from . import responses
from .mcp_endpoint import endpoint
from .memory import Memory
from .routes import ROUTES

FINISHING = 5  # seconds after the signal to answer requests that have begun
CONNECTIONS = 512
KEPT = 30  # seconds that a connection waits for its next request
PAGE = Path(__file__).parent / "page"


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


def application(memory: Memory, tools: Tools) -> Starlette:
    """Return the application for one memory, without the guard of security.py."""
    handled = (Exception, HTTPException, HybridMemoryError, ClientDisconnect)
    app = Starlette(
        routes=[*ROUTES, Route("/mcp", endpoint(tools), methods=["POST"])],
        exception_handlers=dict.fromkeys(handled, responses.handler),
    )
    app.router.redirect_slashes = False
    app.router.default = StaticFiles(directory=PAGE, html=True)
    app.state.memory = memory
    return app


def run(server: "PageServer", listener: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), listener:
        server.run([listener])


class PageServer(uvicorn.Server):
    """A server that ends the memory's work when it shuts down."""

    def __init__(self, app: ASGIApp, memory: Memory) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                access_log=False,
                log_level="error",
                server_header=False,
                proxy_headers=False,
                ws="none",
                http="h11",
                loop="asyncio",
                lifespan="off",
                timeout_keep_alive=KEPT,
                timeout_graceful_shutdown=FINISHING,
                limit_concurrency=CONNECTIONS,
            )
        )
        self._memory = memory

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._memory.begin_ending()
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # about cancelled requests
        await super().shutdown(sockets)
        self._memory.close()

    async def _wait_tasks_to_complete(self) -> None:
        """Wait for requests that have begun. Raises TimeoutError, which cancels them, at a second
        signal: uvicorn's own method waits for their connections then, since Python 3.12.
        """
        while self.server_state.connections or self.server_state.tasks:
            if self.force_exit:
                raise TimeoutError
            await asyncio.sleep(0.1)
