"""The application: which address is answered by which function."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Mount, Route

from ...errors import HybridMemoryError
from . import problems, tokens
from .api import openapi, reading, writing
from .memory import Memory
from .page import Page


class AnyConvertor(PathConvertor):
    """The rest of an address, line breaks included: an id may have any character."""

    regex = "(?s:.*)"


register_url_convertor("any", AnyConvertor())
HANDLERS: Mapping[Any, Any] = dict.fromkeys((Exception, HTTPException, problems.Problem, HybridMemoryError), problems.handler)
ROUTES: tuple[BaseRoute, ...] = (
    Route("/api/search", reading.search),
    Route("/api/documents", reading.documents),
    Route("/api/documents/{id:any}", reading.document),
    Route("/api/documents/{id:any}", writing.put, methods=["PUT"]),
    Route("/api/documents/{id:any}", writing.delete, methods=["DELETE"]),
    Route("/api/update", writing.update, methods=["POST"]),
    Route("/api/overview", reading.overview),
    Route("/api/status", reading.status),
    Route("/api/doctor", reading.doctor),
    Route("/api/session", tokens.exchange, methods=["POST"]),
    Route("/api/openapi.json", openapi.document),
)


def application(memory: Memory, tools: MCPServer[Any]) -> Starlette:
    """The whole server for one memory. The memory's threads end with the application.

    What stands before it, in security.py, also checks hosts and origins for the tools.
    """
    mcp = tools.streamable_http_app(transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[Mapping[str, Any]]:
        try:
            async with tools.session_manager.run():
                yield {"memory": memory}
        finally:
            memory.close()

    return Starlette(routes=[*ROUTES, *mcp.routes, Mount("/", Page())], exception_handlers=HANDLERS, lifespan=lifespan)
