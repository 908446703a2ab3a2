"""Requests that write: a text is stored or deleted, the memory is updated."""

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ....errors import NotFoundError
from ....store import HybridStore
from ... import requests
from .. import answers
from ..problems import Problem
from . import parameters
from .reading import id_of, memory_of
from .updates import Update

NO_BUFFER = {"cache-control": "no-store", "x-accel-buffering": "no"}


async def put(request: Request) -> Response:
    """PUT /api/documents/{id}"""
    parameters.read(request.query_params, ())
    doc_id, body = id_of(request), await json_body(request)
    text, metadata = body.pop("text", None), body.pop("metadata", {})
    if body or not isinstance(text, str) or not isinstance(metadata, dict):
        raise Problem(422, 'the body is {"text": "…", "metadata": {…}}, where metadata may be left out')
    if not doc_id:
        raise Problem(405, "a document needs an id", headers={"allow": "GET"})

    def work(store: HybridStore) -> tuple[int, dict[str, Any]]:
        return 200 if stored_here(store, doc_id) else 201, requests.store_text(store, doc_id, text, metadata)

    status, answer = await memory_of(request).write(work)
    return answers.answer(answer, status)


async def delete(request: Request) -> Response:
    """DELETE /api/documents/{id}"""
    parameters.read(request.query_params, ())
    doc_id = id_of(request)

    def work(store: HybridStore) -> dict[str, Any]:
        if not stored_here(store, doc_id):
            raise NotFoundError(f"no document {doc_id!r} in this memory")
        return requests.delete_document(store, doc_id)

    return answers.answer(await memory_of(request).write(work))


async def update(request: Request) -> Response:
    """POST /api/update"""
    values = parameters.read(request.query_params, parameters.UPDATE)
    memory = memory_of(request)
    if memory.update and memory.update.is_alive():
        raise Problem(409, "an update is running; /api/overview tells when it is done")
    memory.update = Update(memory.open_store, everything=values["all"])
    memory.update.start()
    return StreamingResponse(memory.update.events(), headers=NO_BUFFER, media_type="text/event-stream")


def stored_here(store: HybridStore, doc_id: str) -> bool:
    """Whether there is a document of this id that came from no file. Raises Problem for a file's document."""
    found = store.storage.documents.get(doc_id)
    if found and found.path:
        raise Problem(409, f"{doc_id!r} is the document of {found.path}; change or delete that file, and update")
    return found is not None


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


async def json_body(request: Request) -> dict[str, Any]:
    """The object in the body. Raises Problem."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Problem(415, "the body must be JSON, with Content-Type: application/json")
    try:
        body = json.loads((await request.body()).decode(), parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise Problem(400, f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise Problem(422, "the body is not a JSON object")
    return body
