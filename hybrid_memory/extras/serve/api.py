"""An operation of the API: one row describes its route, its parameters and its answers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from . import responses
from .memory import Memory, Work
from .parameters import NOTHING, Table, read
from .responses import Problem


class Call:
    """A request to an operation. `values` has the value of each of its parameters, `doc_id` the id
    in its path.
    """

    def __init__(self, request: Request, values: Mapping[str, Any]) -> None:
        """Raises Problem for an id that no document can have."""
        self.request = request
        self.values = values
        self.memory: Memory = request.app.state.memory
        self.bounds = self.memory.bounds
        try:
            self.doc_id = unquote_to_bytes(request.path_params.get("id", "")).decode()
        except UnicodeDecodeError:
            raise Problem(400, "the document id is not valid UTF-8") from None
        if "\0" in self.doc_id:
            raise Problem(404, "no document id contains a NUL character")

    async def cached(self, work: Work[dict[str, Any]]) -> Response:
        """Respond with the result of `work`, which depends on the address, the store and the state
        of the server; or with 304 if the client already has it.
        """
        url = self.request.url
        tag = await self.memory.etag(url.path, url.query)
        known = responses.not_modified(self.request, tag)
        if known:
            return known
        answer = await self.memory.readers.do(work)
        # A warning, e.g. about an unreachable server, may pass without a change of the store
        return responses.answer(answer, tag=None if answer.get("warnings") else tag)


class Operation(NamedTuple):
    """An operation. The docstring of `respond` is its summary.

    `schema` is the name of the schema of the answer 200, and `answers` describes other answers.
    `may` lists the possible statuses of problems. `writes` is refused by a read-only server, and
    `reveals` by one that hides documents, as the answer could reveal some.
    """

    name: str
    method: str
    path: str
    respond: Callable[[Call], Awaitable[Response]]
    schema: str | None = None
    parameters: Table = NOTHING
    may: Sequence[int] = ()
    body: str | None = None  # the name of its schema
    answers: Mapping[str, Any] = {}
    writes: bool = False
    reveals: bool = False

    def route(self) -> Route:
        """Return the route, which checks a request before `respond` answers it."""

        async def endpoint(request: Request) -> Response:
            call = Call(request, read(request.query_params, self.parameters))
            if self.writes and call.bounds.read_only:
                raise Problem(403, "this server is read-only")
            if self.reveals and call.bounds.hide:
                raise Problem(403, "not available: this server shows only a part of its memory")
            return await self.respond(call)

        return Route(self.path.replace("{id}", "{id:path}"), endpoint, methods=[self.method])
