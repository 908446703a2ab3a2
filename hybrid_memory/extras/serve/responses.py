"""The responses of the API: JSON, with an ETag if the answer depends only on the state of the
store, and errors as problem documents (RFC 9457) with a matching status.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ...errors import (
    HybridMemoryError,
    NotFoundError,
    QueryError,
    SourceError,
    UsageError,
)
from ...text.characters import storable_name

PRIVATE = {"cache-control": "private, no-cache"}  # the browser stores and always revalidates it
MEDIA_TYPE = "application/problem+json"
RETRY = {"retry-after": "2"}
STATUSES: dict[type[Exception], int] = {  # the first match counts
    NotFoundError: 404,
    UsageError: 422,
    QueryError: 422,
    SourceError: 409,
    HybridMemoryError: 503,
}
MOST_BODY = 4 * 1024 * 1024  # bytes
TOO_LARGE = f"the body is larger than {MOST_BODY:,} bytes"
BODY_SECONDS = 20.0  # for the whole body


class BusyError(HybridMemoryError):
    """The server has too many waiting requests, or is shutting down."""


class Problem(HTTPException):
    """An error response. `errors` has a `parameter` and a `detail` for each invalid parameter."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        errors: Sequence[Mapping[str, str]] = (),
    ) -> None:
        super().__init__(status, detail, headers)
        self.errors = errors


def as_json(value: Any) -> bytes:
    """Encode a value as JSON in UTF-8. Bytes of names that are not valid Unicode are escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return storable_name(text).encode()


def answer(value: Any, status: int = 200, *, tag: str | None = None) -> Response:
    """Make a JSON response, with an ETag if clients may store it."""
    headers = {"etag": tag} | PRIVATE if tag else {"cache-control": "no-store"}
    return Response(as_json(value), status, headers, "application/json")


def etag(*parts: object) -> str:
    """Make a weak ETag from the parts that an answer depends on."""
    parts_as_bytes = repr(parts).encode("utf-8", "backslashreplace")
    return f'W/"{blake2b(parts_as_bytes, digest_size=12).hexdigest()}"'


def not_modified(request: Request, tag: str) -> Response | None:
    """Make the response 304 if the client already has the answer with this ETag: If-None-Match
    contains it, by weak comparison (RFC 9110, 13.1.2).
    """
    tags = request.headers.get("if-none-match", "").split(",")
    if {"*", tag.removeprefix("W/")}.isdisjoint(known.strip().removeprefix("W/") for known in tags):
        return None
    return Response(status_code=304, headers={"etag": tag} | PRIVATE)


def as_problem(error: Exception) -> HTTPException:
    """Convert an error to a problem. Bugs do not reveal their message."""
    if isinstance(error, HTTPException):
        return error
    for kind, status in STATUSES.items():
        if isinstance(error, kind):
            return Problem(status, str(error), headers=RETRY if status == 503 else None)
    return Problem(500, "internal server error; see the server's standard error for details")


def problem_document(error: Exception, path: str) -> dict[str, Any]:
    """Return the members of the problem document."""
    problem = as_problem(error)
    members: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(problem.status_code).phrase,
        "status": problem.status_code,
        "detail": storable_name(problem.detail),
        "instance": storable_name(path),
    }
    if isinstance(problem, Problem) and problem.errors:
        members["errors"] = problem.errors
    return members


def response(error: Exception, path: str) -> Response:
    """Return the problem document as a response."""
    problem = as_problem(error)
    document = as_json(problem_document(problem, path))
    return Response(document, problem.status_code, problem.headers, MEDIA_TYPE)


async def handler(request: Request, error: Exception) -> Response:
    """Starlette's handler for all errors of requests."""
    return response(error, request.url.path)


async def json_body(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body. Raises Problem."""
    media_type = request.headers.get("content-type", "").partition(";")[0]
    if media_type.strip().lower() != "application/json":
        raise Problem(415, "the body must be JSON, with Content-Type: application/json")
    text = await whole_body(request)
    try:
        body = json.loads(text)
        json.dumps(body, allow_nan=False)  # refuses NaN and numbers that are too large
    except (ValueError, RecursionError) as error:
        raise Problem(400, f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise Problem(422, "the body is not a JSON object")
    return body


async def whole_body(request: Request) -> bytes:
    """Read the body. Raises Problem if it is too large or too slow."""
    body = bytearray()
    # h11 lets only numbers through
    if int(request.headers.get("content-length", "0")[:20]) > MOST_BODY:
        raise Problem(413, TOO_LARGE)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > MOST_BODY:
                    raise Problem(413, TOO_LARGE)
    except TimeoutError:
        raise Problem(408, f"the body did not arrive within {BODY_SECONDS:g} seconds") from None
    return bytes(body)
