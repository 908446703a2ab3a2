"""The responses of the API: JSON, with an ETag if the answer depends only on the state of the
store, and errors as problem documents (RFC 9457) with a matching status.
"""

import json
import math
from collections.abc import Mapping
from hashlib import blake2b
from http import HTTPStatus
from typing import Any

from starlette.datastructures import Headers
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


def as_json(value: Any) -> bytes:
    """Encode a value as JSON in UTF-8. Bytes of names that are not valid Unicode are escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return storable_name(text).encode()


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Make a JSON response."""
    all_headers = {"cache-control": "no-store", **(headers or {})}
    return Response(as_json(value), status, all_headers, "application/json")


def etag(*parts: object) -> str:
    """Make a weak ETag from the parts that an answer depends on."""
    parts_as_bytes = repr(parts).encode("utf-8", "backslashreplace")
    return f'W/"{blake2b(parts_as_bytes, digest_size=12).hexdigest()}"'


def tagged(value: Any, tag: str) -> Response:
    """Make a JSON response with an ETag."""
    return answer(value, headers={"etag": tag} | PRIVATE)


def not_modified(tag: str) -> Response:
    """Make the response for a client that already has the answer."""
    return Response(status_code=304, headers={"etag": tag} | PRIVATE)


def client_has(request: Request, tag: str) -> bool:
    """Whether the client already has the answer with this ETag."""
    return matches_tag(request.headers, tag)


def matches_tag(headers: Headers, tag: str) -> bool:
    """Whether If-None-Match contains this ETag, by weak comparison (RFC 9110, 13.1.2)."""
    tags = headers.get("if-none-match", "").split(",")
    strong_tags = [named_tag.strip().removeprefix("W/") for named_tag in tags]
    return tag.removeprefix("W/") in strong_tags or "*" in strong_tags


class Problem(Exception):
    """An error response. `errors` has a `parameter` and a `detail` for each invalid parameter."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        errors: list[dict[str, str]] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.errors = errors
        self.headers = dict(headers or {})


def problem_document(error: Exception, path: str) -> dict[str, Any]:
    """Return the members of the problem document."""
    problem = as_problem(error)
    members: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": storable_name(problem.detail),
        "instance": storable_name(path),
    }
    if problem.errors:
        members["errors"] = problem.errors
    return members


def response(error: Exception, path: str) -> Response:
    """Return the problem document as a response."""
    problem = as_problem(error)
    headers = problem.headers
    if problem.status == 503:
        headers = headers | RETRY
    return Response(as_json(problem_document(problem, path)), problem.status, headers, MEDIA_TYPE)


async def handler(request: Request, error: Exception) -> Response:
    """Starlette's handler for all errors of requests."""
    return response(error, request.url.path)


def as_problem(error: Exception) -> Problem:
    """Convert an error to a problem response. Bugs do not reveal their message."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        return Problem(error.status_code, error.detail, headers=error.headers)
    for kind, status in STATUSES.items():
        if isinstance(error, kind):
            return Problem(status, str(error))
    return Problem(500, "internal server error; see the server's standard error for details")


async def json_body(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body. Raises Problem."""
    media_type = request.headers.get("content-type", "").partition(";")[0]
    if media_type.strip().lower() != "application/json":
        raise Problem(415, "the body must be JSON, with Content-Type: application/json")
    text = await request.body()
    try:
        body = json.loads(text.decode(), parse_constant=_refused, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise Problem(400, f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise Problem(422, "the body is not a JSON object")
    return body


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"the number {text} is too large")
    return number
