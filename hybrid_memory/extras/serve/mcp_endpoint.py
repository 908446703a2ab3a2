"""The path /mcp: the Model Context Protocol over streamable HTTP, with the same answers as over
standard output.

Every answer is JSON, without sessions and streams, which the protocol leaves to the server. In
revision 2026-07-28, headers repeat a part of the request for proxies and must agree with it.
https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
"""

from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from ..mcp import stdio
from ..mcp.tools import INVALID_PARAMS, Tools
from . import responses

VERSION = "mcp-protocol-version"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
HEADER_MISMATCH = -32020
STATUSES = {  # of errors, in revision 2026-07-28
    HEADER_MISMATCH: 400,
    stdio.INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    stdio.UNSUPPORTED_REVISION: 400,
    stdio.METHOD_NOT_FOUND: 404,
}


def endpoint(tools: Tools) -> Callable[[Request], Awaitable[Response]]:
    """Return the function that answers POST /mcp."""
    server = stdio.StdioServer(tools)

    async def respond(request: Request) -> Response:
        message = await responses.json_body(request)
        work = partial(reply, server, request.headers, message)
        status, answer = await to_thread.run_sync(work, abandon_on_cancel=True)
        if answer is None:
            return Response(status_code=202)
        return responses.answer(answer, status)

    return respond


def reply(
    server: stdio.StdioServer, headers: Mapping[str, str], message: stdio.Message
) -> tuple[int, stdio.Message | None]:
    """Return the status and the answer to a message; no answer if it needs none."""
    parameters = message.get("params")
    if not isinstance(parameters, dict):
        parameters = {}
    meta = parameters.get("_meta")
    revision = meta.get(stdio.REVISION) if isinstance(meta, dict) else None
    is_handshake = revision is None and headers.get(VERSION) in (None, *stdio.HANDSHAKES)
    if is_handshake or "id" not in message:
        return 200, server.reply(message)
    method = str(message.get("method"))
    expected = {
        VERSION: revision or "",
        "mcp-method": method,
        "mcp-name": parameters.get(NAMED.get(method, "")),
    }
    for name, value in expected.items():
        if isinstance(value, str) and headers.get(name) not in (value, encoded(value)):
            problem = f"the header {name} does not agree with the request"
            return 400, stdio.error_response(message["id"], HEADER_MISMATCH, problem)
    answer = server.reply(message) or {}
    return STATUSES.get(answer.get("error", {}).get("code"), 200), answer


def encoded(value: str) -> str:
    """Encode a value that a header cannot contain as it is."""
    return f"=?base64?{b64encode(value.encode('utf-8', 'backslashreplace')).decode()}?="
