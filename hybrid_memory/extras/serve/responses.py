"""The responses of the API: JSON, with an ETag where the answer stays the same as long as the store
does, and errors as problem documents (RFC 9457), with the status that a client expects.
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

from ...errors import HybridMemoryError, NotFoundError, QueryError, SourceError, UsageError
from ...text.characters import storable_name

PRIVATE = {"cache-control": "private, no-cache"}  # kept by the browser, but asked about every time
MEDIA_TYPE = "application/problem+json"
RETRY = {"retry-after": "2"}
STATUSES: dict[type[Exception], int] = {  # the first that fits
    NotFoundError: 404,
    UsageError: 422,
    QueryError: 422,
    SourceError: 409,
    HybridMemoryError: 503,
}


def as_json(value: Any) -> bytes:
    """Return JSON in UTF-8. Names that are not Unicode have escapes for what is not."""
    return storable_name(json.dumps(value, ensure_ascii=False, separators=(",", ":"))).encode()


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON response."""
    all_headers = {"cache-control": "no-store", **(headers or {})}
    return Response(as_json(value), status, all_headers, "application/json")


def etag(*parts: object) -> str:
    """Return a weak ETag made of whatever the answer depends on."""
    parts_as_bytes = repr(parts).encode("utf-8", "backslashreplace")
    return f'W/"{blake2b(parts_as_bytes, digest_size=12).hexdigest()}"'


def tagged(value: Any, tag: str) -> Response:
    """Return a JSON response with its ETag."""
    return answer(value, headers={"etag": tag} | PRIVATE)


def not_modified(tag: str) -> Response:
    """Return the response to a client that has the answer already."""
    return Response(status_code=304, headers={"etag": tag} | PRIVATE)


def has(request: Request, tag: str) -> bool:
    """Tell whether the client has the answer with this ETag."""
    return knows(request.headers, tag)


def knows(headers: Headers, tag: str) -> bool:
    """Tell whether If-None-Match names this ETag; weak and strong ones are the same here (RFC 9110,
    13.1.2).
    """
    tags = headers.get("if-none-match", "").split(",")
    strong_tags = [named_tag.strip().removeprefix("W/") for named_tag in tags]
    return tag.removeprefix("W/") in strong_tags or "*" in strong_tags


class Problem(Exception):
    """An answer that is an error. `errors` says of each bad `parameter` what is wrong with it, in
    `detail`.
    """

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


def described(error: Exception, path: str) -> dict[str, Any]:
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
    return Response(as_json(described(problem, path)), problem.status, headers, MEDIA_TYPE)


async def handler(request: Request, error: Exception) -> Response:
    """Answer, for Starlette, every error that a request raises."""
    return response(error, request.url.path)


def as_problem(error: Exception) -> Problem:
    """Return the problem that an error is to a client. A bug is told without what it says."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        return Problem(error.status_code, error.detail, headers=error.headers)
    for kind, status in STATUSES.items():
        if isinstance(error, kind):
            return Problem(status, str(error))
    return Problem(500, "an error in the server; its standard error says more")


async def json_body(request: Request) -> dict[str, Any]:
    """Return the object in the body. Raises Problem."""
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
