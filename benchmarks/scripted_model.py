"""A local model server with scripted answers, so that the programs of agents run without an account.

It speaks the APIs that these programs use (Anthropic Messages, OpenAI Responses and Chat Completions,
Gemini generateContent), each as a stream and as a whole, and keeps every request.
"""

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Json = dict[str, Any]
REPLY = "Noted."
USAGE = {"input_tokens": 9, "output_tokens": 9}
NUMBERS = itertools.count(1)


class Call(NamedTuple):
    """A call of a tool. The name of the tool ends with `name`."""

    name: str
    arguments: Json


class Tool(NamedTuple):
    namespace: str  # of Codex; "" elsewhere
    name: str


class Request(NamedTuple):
    """What a program sent: all of its texts, and the tools that it offers."""

    text: str
    tools: list[Tool]


class Model(ThreadingHTTPServer):
    """The server. `call` is made once, in answer to the next request that offers its tool."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[Request] = []
        self.call: Call | None = None
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def called(self, request: Request) -> tuple[Tool, Json] | None:
        """The tool that this request is answered with, and its arguments."""
        if self.call:
            for tool in request.tools:
                if tool.name.endswith(self.call.name):
                    arguments, self.call = self.call.arguments, None
                    return tool, arguments
        return None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Model

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send(200, "application/json", b'{"object": "list", "data": []}')

    def do_POST(self) -> None:
        body = json.loads(self._body() or b"{}")
        path = self.path.partition("?")[0]
        form = next((form for end, form in FORMS.items() if path.endswith(end)), None)
        if form is None:  # counts of tokens, telemetry
            self._send(200, "application/json", b'{"input_tokens": 9, "totalTokens": 9}')
            return
        request = Request("\n".join(texts(body)), list(offered(body.get("tools") or [])))
        self.server.requests.append(request)
        *events, (_, whole) = form(self.server.called(request))
        if body.get("stream") or "stream" in path:
            lines = [
                (f"event: {event}\n" if event else "") + f"data: {json.dumps(data)}\n\n"
                for event, data in events
            ]
            if form is chat:
                lines.append("data: [DONE]\n\n")
            self._send(200, "text/event-stream", "".join(lines).encode())
        else:
            self._send(200, "application/json", json.dumps(whole).encode())

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        blocks = []
        while size := int(self.rfile.readline(), 16):
            blocks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(blocks)

    def _send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def texts(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value but the keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)


def offered(tools: list[Json], namespace: str = "") -> Iterator[Tool]:
    """Yield the tools of a request."""
    for tool in tools:
        inner = tool.get("tools") or tool.get("functionDeclarations")
        if inner:
            yield from offered(inner, tool.get("name", ""))
        else:
            yield Tool(namespace, (tool.get("function") or tool).get("name", ""))


# Each form yields the events of a stream, as (name, data), and at last the whole answer.
Events = Iterator[tuple[str, Json]]
Called = tuple[Tool, Json] | None


def anthropic(called: Called) -> Events:
    whole: Json = {
        "id": f"msg_{next(NUMBERS)}",
        "type": "message",
        "role": "assistant",
        "model": "m",
    }
    whole |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": USAGE}
    yield "message_start", {"type": "message_start", "message": whole}
    start: Json = {"type": "text", "text": ""}
    delta: Json = {"type": "text_delta", "text": REPLY}
    block: Json = {"type": "text", "text": REPLY}
    if called:
        tool, arguments = called
        start = {"type": "tool_use", "id": f"toolu_{next(NUMBERS)}", "name": tool.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        block = start | {"input": arguments}
    at = {"index": 0}
    yield "content_block_start", {"type": "content_block_start", **at, "content_block": start}
    yield "content_block_delta", {"type": "content_block_delta", **at, "delta": delta}
    yield "content_block_stop", {"type": "content_block_stop", **at}
    end: Json = {"stop_reason": "tool_use" if called else "end_turn", "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": end, "usage": USAGE}
    yield "message_stop", {"type": "message_stop"}
    yield "", whole | {"content": [block]} | end


def responses(called: Called) -> Events:
    answer: Json = {"id": f"resp_{next(NUMBERS)}", "object": "response", "created_at": 0}
    answer |= {"model": "m", "status": "in_progress", "output": []}
    yield "response.created", {"type": "response.created", "response": answer}
    content = [{"type": "output_text", "text": REPLY, "annotations": []}]
    item: Json = {"type": "message", "role": "assistant", "content": content}
    if called:
        tool, arguments = called
        item = {"type": "function_call", "call_id": f"call_{next(NUMBERS)}", "name": tool.name}
        item |= {"arguments": json.dumps(arguments)}
        if tool.namespace:
            item["namespace"] = tool.namespace
    item |= {"id": f"item_{next(NUMBERS)}", "status": "completed"}
    for event in ("response.output_item.added", "response.output_item.done"):
        yield event, {"type": event, "output_index": 0, "item": item}
    usage = USAGE | {"total_tokens": 18}
    answer |= {"status": "completed", "output": [item], "usage": usage}
    yield "response.completed", {"type": "response.completed", "response": answer}
    yield "", answer


def chat(called: Called) -> Events:
    base = {"id": f"chat_{next(NUMBERS)}", "created": 0, "model": "m"}
    message: Json = {"role": "assistant", "content": REPLY}
    if called:
        tool, arguments = called
        function = {"name": tool.name, "arguments": json.dumps(arguments)}
        call = {"index": 0, "id": f"call_{next(NUMBERS)}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    end = {"index": 0, "finish_reason": "tool_calls" if called else "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    chunk = base | {"object": "chat.completion.chunk"}
    yield "", chunk | {"choices": [{"index": 0, "delta": message, "finish_reason": None}]}
    yield "", chunk | {"choices": [end | {"delta": {}}], "usage": usage}
    yield (
        "",
        base
        | {"object": "chat.completion", "choices": [end | {"message": message}], "usage": usage},
    )


def gemini(called: Called) -> Events:
    part: Json = {"text": REPLY}
    if called:
        tool, arguments = called
        part = {"functionCall": {"name": tool.name, "args": arguments}}
    content = {"role": "model", "parts": [part]}
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 9, "totalTokenCount": 18}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    answer = {"candidates": [candidate], "usageMetadata": usage}
    yield "", answer
    yield "", answer


FORMS: dict[str, Callable[[Called], Events]] = {  # by the end of the address
    "/messages": anthropic,
    "/responses": responses,
    "/chat/completions": chat,
    ":generateContent": gemini,
    ":streamGenerateContent": gemini,
}
