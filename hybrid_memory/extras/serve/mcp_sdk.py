"""An MCP server of the official SDK, with the same answers as over standard output."""

import asyncio
from functools import partial
from typing import Any

import mcp_types
from anyio.to_thread import current_default_thread_limiter
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.types import ASGIApp

from ... import __version__
from ..mcp import stdio
from ..mcp.tools import ProtocolError, Tools
from .memory import in_thread

RESULTS = {  # MCP method -> the SDK's name for its handler, and the result type
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


def server(tools: Tools) -> Server[Any]:
    """Return an MCP server that answers with these tools."""
    answering = stdio.Server(tools)

    def handler(method: str, result_type: Any) -> Any:
        async def handle(context: Any, params: mcp_types.RequestParams | None) -> Any:
            arguments = {}
            if params:
                arguments = params.model_dump(by_alias=True, mode="json")
            try:
                async with current_default_thread_limiter():
                    job = in_thread(partial(answering.result, method, arguments))
                    result = await asyncio.wrap_future(job)
            except ProtocolError as error:
                raise MCPError(error.code, str(error), error.data) from error
            return result_type.model_validate(result)

        return handle

    handlers = {
        name: handler(method, result_type) for method, (name, result_type) in RESULTS.items()
    }
    hints: Any = {method: CacheHint(ttl_ms=kept) for method, kept in stdio.KEPT.items()}
    return Server(
        stdio.SERVER_INFO["name"],
        version=__version__,
        instructions=tools.instructions,
        cache_hints=hints,
        **handlers,
    )


def http_application(sdk: Server[Any]) -> ASGIApp:
    """Return the ASGI application of a server. It answers with JSON, because the SDK cuts off event
    streams as soon as the server shuts down.

    security.py has checked the host and origin of a request.
    """
    return sdk.streamable_http_app(
        json_response=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
