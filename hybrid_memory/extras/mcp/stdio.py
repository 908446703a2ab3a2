"""The Model Context Protocol: JSON-RPC messages, one per line, over standard input and output.

This server supports revision 2026-07-28, in which every request names its revision, and the
handshake of earlier revisions. So does the official SDK, but importing it takes as long as ten
searches, and an agent starts this server in every session.
https://modelcontextprotocol.io/specification/2026-07-28
"""

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Lock
from typing import Any

from ... import __version__
from .tools import INVALID_PARAMS, ProtocolError, Tools

STATELESS = "2026-07-28"
HANDSHAKES = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # newest first

NAMESPACE = "io.modelcontextprotocol"
REVISION = f"{NAMESPACE}/protocolVersion"
CLIENT = f"{NAMESPACE}/clientCapabilities"

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603
UNSUPPORTED_REVISION = -32022

SERVER_INFO = {"name": "hybrid-memory", "version": __version__}
CAPABILITIES: dict[str, dict[str, Any]] = {"tools": {}, "prompts": {}, "resources": {}}

# Milliseconds for which a client may cache a result; 0 for results that depend on the notes
KEPT = {
    "server/discover": 3_600_000,
    "tools/list": 3_600_000,
    "prompts/list": 3_600_000,
    "resources/templates/list": 3_600_000,
    "resources/list": 0,
    "resources/read": 0,
}
SLOW = ("tools/call", "prompts/get", "resources/list", "resources/read")  # they open a store
CALLS = 16  # concurrent calls of these

Message = dict[str, Any]


class StdioServer:
    """Answers the messages of a client."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._write_lock = Lock()
        self._running: set[str | int] = set()  # ids of calls whose answers are awaited

    def serve(self, lines: Iterable[bytes], write: Callable[[bytes], object]) -> None:
        """Answer the messages in these lines until the input ends.

        `write` receives whole lines, one at a time, from several threads. Slow methods run in
        threads, so their answers may come in another order.
        """
        with ThreadPoolExecutor(CALLS) as threads:
            for line in lines:
                if not line.strip():
                    continue
                try:
                    message = json.loads(line)
                except ValueError as error:
                    self._send(error_response(None, PARSE_ERROR, f"not JSON: {error}"), write)
                    continue
                if not isinstance(message, dict) or message.get("method") not in SLOW:
                    self._send(self.reply(message), write)
                elif isinstance(message.get("id"), str | int):
                    self._running.add(message["id"])
                    threads.submit(self._call, message, write)

    def _call(self, message: Message, write: Callable[[bytes], object]) -> None:
        answer = self.reply(message)
        if message["id"] in self._running:  # it was not cancelled
            self._running.discard(message["id"])
            self._send(answer, write)

    def _send(self, message: Message | None, write: Callable[[bytes], object]) -> None:
        if message is None:
            return
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        line = text.encode("utf-8", "backslashreplace") + b"\n"
        with self._write_lock, suppress(OSError, ValueError):  # the client may have gone
            write(line)

    def reply(self, message: Any) -> Message | None:
        """Return the answer to a message; None if it needs no answer."""
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return error_response(None, INVALID_REQUEST, "not a JSON-RPC 2.0 message")
        if "method" not in message:
            return None  # a response, although this server sends no requests
        request_id = message.get("id")
        params = message.get("params") or {}
        if "id" not in message:
            self._handle_notification(message["method"], params)
            return None
        if not isinstance(request_id, str | int) or not isinstance(params, dict):
            return error_response(
                None, INVALID_REQUEST, "the id or the params are of the wrong type"
            )
        try:
            result = self._result(message["method"], params)
        except ProtocolError as error:
            return error_response(request_id, error.code, str(error), error.data)
        except Exception:
            traceback.print_exc()
            problem = "internal error; see the standard error of the server"
            return error_response(request_id, INTERNAL_ERROR, problem)
        return {"jsonrpc": "2.0", "id": request_id, "result": result}

    def _handle_notification(self, method: str, params: Any) -> None:
        if method == "notifications/cancelled" and isinstance(params, dict):
            request_id = params.get("requestId")
            if isinstance(request_id, str | int):
                self._running.discard(request_id)  # it continues, but its answer is not sent

    def _result(self, method: str, params: Message) -> Message:
        """Return the result of a request in the form of its protocol revision. Raises
        ProtocolError.
        """
        is_stateless = _is_stateless(params)
        if method == "initialize":
            return _handshake(params) | self._description()
        if method == "server/discover":
            if not is_stateless:
                raise ProtocolError(INVALID_PARAMS, f"_meta has no {REVISION}")
            result = {"supportedVersions": [STATELESS], **self._description()}
        else:
            result = self._of_all_revisions(method, params)
        if not is_stateless:
            return result
        if method in KEPT:
            result |= {"ttlMs": KEPT[method], "cacheScope": "private"}
        meta = {f"{NAMESPACE}/serverInfo": SERVER_INFO}
        return result | {"resultType": "complete", "_meta": meta}

    def _description(self) -> Message:
        return {"capabilities": CAPABILITIES, "instructions": self._tools.instructions}

    def _of_all_revisions(self, method: str, params: Message) -> Message:
        """Return the result of a method, in a form common to all revisions. Raises
        ProtocolError.
        """
        tools = self._tools
        arguments = params.get("arguments") or {}
        results: dict[str, Callable[[], Message]] = {
            "ping": dict,
            "tools/list": lambda: {"tools": tools.definitions},
            "tools/call": lambda: tools.call(_string_param(params, "name"), arguments),
            "prompts/list": lambda: {"prompts": tools.prompts},
            "prompts/get": lambda: tools.prompt(_string_param(params, "name"), arguments),
            "resources/list": lambda: tools.resources(params.get("cursor")),
            "resources/templates/list": lambda: {"resourceTemplates": tools.resource_templates},
            "resources/read": lambda: tools.resource(_string_param(params, "uri")),
        }
        if method not in results:
            raise ProtocolError(METHOD_NOT_FOUND, f"there is no method {method!r}")
        return results[method]()


def _is_stateless(params: Message) -> bool:
    """Whether a request uses the revision without a handshake. Raises ProtocolError for an
    unsupported revision.
    """
    meta = params.get("_meta")
    if not isinstance(meta, dict) or REVISION not in meta:
        return False
    requested = meta[REVISION]
    if requested != STATELESS:
        known = {"supported": [STATELESS], "requested": str(requested)}
        raise ProtocolError(UNSUPPORTED_REVISION, f"revision {requested} is not supported", known)
    if not isinstance(meta.get(CLIENT), dict):
        raise ProtocolError(INVALID_PARAMS, f"_meta has no {CLIENT}")
    return True


def _handshake(params: Message) -> Message:
    """Return the server's part of the handshake."""
    requested = params.get("protocolVersion")
    if requested in HANDSHAKES:
        revision = requested
    else:
        revision = HANDSHAKES[0]
    return {"protocolVersion": revision, "serverInfo": SERVER_INFO}


def _string_param(params: Message, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise ProtocolError(INVALID_PARAMS, f"{name}: must be a string")
    return value


def error_response(
    request_id: str | int | None, code: int, problem: str, data: Any = None
) -> Message:
    error = {"code": code, "message": problem}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


def serve(tools: Tools) -> None:
    """Serve until standard input ends. Stray prints are redirected to standard error."""
    with os.fdopen(os.dup(1), "wb", buffering=0) as out:
        sys.stdout.flush()
        os.dup2(2, 1)
        StdioServer(tools).serve(sys.stdin.buffer, out.write)
