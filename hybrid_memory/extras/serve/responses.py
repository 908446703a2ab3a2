"""Answers as JSON, with an ETag where the answer stays the same as long as the store does.

MERGED Errors as problem documents (RFC 9457), with the status that a client expects.
"""

import json
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


def as_json(value: Any) -> bytes:
    """JSON in UTF-8. Names that are not Unicode have escapes for what is not."""
    return storable_name(json.dumps(value, ensure_ascii=False, separators=(",", ":"))).encode()


def answer(value: Any, status: int = 200, headers: "dict[str, str] | None" = None) -> Response:
    """A JSON response."""
    return Response(
        as_json(value), status, {"cache-control": "no-store"} | (headers or {}), "application/json"
    )


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
    """Whether If-None-Match names this ETag; weak and strong ones are the same here (RFC 9110,
    13.1.2).
    """
    named = [
        each.strip().removeprefix("W/") for each in headers.get("if-none-match", "").split(",")
    ]
    return tag.removeprefix("W/") in named or "*" in named


MEDIA_TYPE = "application/problem+json"
RETRY = {"retry-after": "2"}
STATUSES: dict[type[Exception], int] = {  # the first that fits
    NotFoundError: 404,
    UsageError: 422,
    QueryError: 422,
    SourceError: 409,
    HybridMemoryError: 503,
}


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
        self.status, self.detail, self.errors, self.headers = (
            status,
            detail,
            errors,
            dict(headers or {}),
        )


def described(error: Exception, path: str) -> dict[str, Any]:
    """The members of the problem document."""
    problem = as_problem(error)
    found = {
        "type": "about:blank",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": storable_name(problem.detail),
        "instance": storable_name(path),
    }
    return found | ({"errors": problem.errors} if problem.errors else {})


def response(error: Exception, path: str) -> Response:
    """The problem document as a response."""
    problem = as_problem(error)
    headers = problem.headers | (RETRY if problem.status == 503 else {})
    return Response(as_json(described(problem, path)), problem.status, headers, MEDIA_TYPE)


async def handler(request: Request, error: Exception) -> Response:
    """For Starlette: every error that a request raises."""
    return response(error, request.url.path)


def as_problem(error: Exception) -> Problem:
    """The problem that an error is to a client. A bug is told without what it says."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        return Problem(error.status_code, error.detail, headers=error.headers)
    for kind, status in STATUSES.items():
        if isinstance(error, kind):
            return Problem(status, str(error))
    return Problem(500, "an error in the server; its standard error says more")
