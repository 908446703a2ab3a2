"""Answers as JSON, with an ETag where the answer stays the same as long as the store does."""

import json
from hashlib import blake2b
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from ...text.characters import storable_name

PRIVATE = {"cache-control": "private, no-cache"}  # kept by the browser, but asked about every time


def as_json(value: Any) -> bytes:
    """JSON in UTF-8. Names that are not Unicode have escapes for what is not."""
    return storable_name(json.dumps(value, ensure_ascii=False, separators=(",", ":"))).encode()


def answer(value: Any, status: int = 200, headers: "dict[str, str] | None" = None) -> Response:
    """A JSON response."""
    return Response(as_json(value), status, {"cache-control": "no-store"} | (headers or {}), "application/json")


def etag(*parts: object) -> str:
    """A weak ETag made of whatever the answer depends on."""
    return f'W/"{blake2b(repr(parts).encode("utf-8", "backslashreplace"), digest_size=12).hexdigest()}"'


def tagged(value: Any, tag: str) -> Response:
    """A JSON response with its ETag."""
    return answer(value, headers={"etag": tag} | PRIVATE)


def not_modified(tag: str) -> Response:
    """The client has this already."""
    return Response(status_code=304, headers={"etag": tag} | PRIVATE)


def has(request: Request, tag: str) -> bool:
    """Whether the client has the answer with this ETag."""
    return knows(request.headers, tag)


def knows(headers: Headers, tag: str) -> bool:
    """Whether If-None-Match names this ETag; weak and strong ones are the same here (RFC 9110, 13.1.2)."""
    named = [each.strip().removeprefix("W/") for each in headers.get("if-none-match", "").split(",")]
    return tag.removeprefix("W/") in named or "*" in named
