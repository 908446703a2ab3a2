"""Errors as problem documents (RFC 9457), with the status that a client expects."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ...errors import HybridMemoryError, NotFoundError, QueryError, SourceError, UsageError
from ...text.characters import storable_name
from .answers import as_json

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
    """An answer that is an error. `errors` says of each bad `parameter` what is wrong with it, in `detail`."""

    def __init__(
        self, status: int, detail: str, *, headers: Mapping[str, str] | None = None, errors: list[dict[str, str]] | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.errors, self.headers = status, detail, errors, dict(headers or {})


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
