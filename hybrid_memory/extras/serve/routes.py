"""Requests that read: searches, documents, the state of the memory.

MERGED Requests that write: a text is stored or deleted, the memory is updated.

MERGED An update that runs in a thread of its own, and whoever follows it.

MERGED Which words of the results are words of the query, so that a client can mark them without
knowing how words are stemmed.
"""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ...errors import NotFoundError
from ...storage.keyword import stems
from ...store import HybridStore, tried_again
from ...surface.commands.upkeep import delete_by_id
from ...sync.refresh import search as refreshed_search
from ...text.highlight import Highlighter
from ...text.query import Query
from ...views.get import outlined
from ...views.links import documents as listed
from ...views.links import links_of_document, why_nothing
from . import parameters
from . import responses as answers
from .memory import Memory
from .responses import Problem
from .similar import passages
from .updates import Update

DOCUMENTS = b"/api/documents/"
SIMILAR, LINKS = b"/similar", b"/links"


async def search(request: Request) -> Response:
    """GET /api/search"""
    memory = memory_of(request)
    values = parameters.read(request.query_params, parameters.SEARCH)
    refresh = memory.settings["refresh"] if values["refresh"] is None else values["refresh"]
    wanted = parameters.search_request(values, memory.settings)

    def work(store: HybridStore) -> dict[str, Any]:
        answer = vars(refreshed_search(store, values["q"], wanted, refreshed=refresh))
        if values["marks"]:
            add_marks(answer["results"], values["q"])
        return answer | {
            "hint": None
            if answer["results"] or answer["nearest_miss"]
            else why_nothing(store, wanted)
        }

    tag = await memory.etag(request.url.query)
    if not refresh and answers.has(request, tag):
        return answers.not_modified(tag)
    answer = await memory.read(work)
    # A warning, such as that the embedding server is away, may pass although the store stays as it
    # is.
    return answers.answer(answer) if refresh or answer["warnings"] else answers.tagged(answer, tag)


async def documents(request: Request) -> Response:
    """GET /api/documents"""
    memory = memory_of(request)
    values = parameters.read(request.query_params, parameters.LISTING)
    filters = parameters.filters(values)
    tag = await memory.etag(request.url.query)
    if answers.has(request, tag):
        return answers.not_modified(tag)
    found = await memory.read(lambda store: listed(store, filters=filters, limit=values["limit"]))
    return answers.tagged(found, tag)


async def document(request: Request) -> Response:
    """GET /api/documents/{id}"""
    raw, doc_id = request.scope["raw_path"], id_of(request)
    if raw.endswith(SIMILAR):
        return await similar(request, id_of(request, SIMILAR))
    if raw.endswith(LINKS):
        return await links(request, id_of(request, LINKS))
    values = parameters.read(request.query_params, parameters.DOCUMENT)

    def work(store: HybridStore) -> dict[str, Any]:
        return outlined(
            store,
            doc_id,
            values["lines"],
            max_lines=values["max_lines"],
            max_chars=values["max_chars"],
        )

    answer = await memory_of(request).read(work)
    tag = answers.etag(
        answer
    )  # of the answer itself, because the file may change without the store
    return answers.not_modified(tag) if answers.has(request, tag) else answers.tagged(answer, tag)


async def similar(request: Request, doc_id: str) -> Response:
    """GET /api/documents/{id}/similar"""
    memory = memory_of(request)
    values = parameters.read(request.query_params, parameters.SIMILAR)
    tag = await memory.etag(doc_id, request.url.query)
    if answers.has(request, tag):
        return answers.not_modified(tag)
    found = await memory.read(
        lambda store: passages(store, doc_id, values["lines"], limit=values["limit"])
    )
    return answers.tagged(found, tag)


async def links(request: Request, doc_id: str) -> Response:
    """GET /api/documents/{id}/links"""
    memory = memory_of(request)
    parameters.read(request.query_params, ())
    tag = await memory.etag(doc_id)
    if answers.has(request, tag):
        return answers.not_modified(tag)
    return answers.tagged(await memory.read(lambda store: links_of_document(store, doc_id)), tag)


async def status(request: Request) -> Response:
    """GET /api/status"""
    parameters.read(request.query_params, ())
    return answers.answer(await memory_of(request).read(lambda store: store.stats()))


async def doctor(request: Request) -> Response:
    """GET /api/doctor"""
    from ...views.doctor import examine

    values = parameters.read(request.query_params, parameters.DOCTOR)
    findings = await memory_of(request).slowly(
        lambda store: examine(store, thorough=values["thorough"])
    )
    return answers.answer([finding._asdict() for finding in findings])


async def overview(request: Request) -> Response:
    """GET /api/overview"""
    parameters.read(request.query_params, ())
    memory = memory_of(request)
    server = memory.server()
    tag = await memory.etag(server)
    if answers.has(request, tag):
        return answers.not_modified(tag)
    return answers.tagged(await memory.read(_overview) | {"server": server}, tag)


@tried_again
def _overview(store: HybridStore) -> dict[str, Any]:
    """The status, and how many documents each collection, month and tag has."""
    with store.storage.snapshot():
        return {"status": store.stats()} | store.storage.catalog.facets()


def _stored(store: HybridStore, doc_id: str, text: str, metadata: dict[str, Any]) -> dict[str, Any]:
    return {
        "doc_id": doc_id,
        "chunks": store.store(doc_id, text, metadata),
        "warnings": store.warnings,
    }


def memory_of(request: Request) -> Memory:
    """The memory that a request is about."""
    memory: Memory = request.state.memory
    return memory


def id_of(request: Request, after: bytes = b"") -> str:
    """The document's id, from the address as it was sent, without what comes `after` it. Raises
    Problem.
    """
    try:
        doc_id = unquote_to_bytes(
            request.scope["raw_path"].removeprefix(DOCUMENTS).removesuffix(after)
        ).decode()
    except UnicodeDecodeError:
        raise Problem(400, "the id in the address is not UTF-8") from None
    if "\0" in doc_id:
        raise Problem(404, "no document has a NUL character in its id")
    return doc_id


NO_BUFFER = {"cache-control": "no-store", "x-accel-buffering": "no"}


async def put(request: Request) -> Response:
    """PUT /api/documents/{id}"""
    parameters.read(request.query_params, ())
    doc_id, body = id_of(request), await json_body(request)
    text, metadata = body.pop("text", None), body.pop("metadata", {})
    if body or not isinstance(text, str) or not isinstance(metadata, dict):
        raise Problem(
            422, 'the body is {"text": "…", "metadata": {…}}, where metadata may be left out'
        )
    if not doc_id:
        raise Problem(405, "a document needs an id", headers={"allow": "GET"})

    def work(store: HybridStore) -> tuple[int, dict[str, Any]]:
        return 200 if stored_here(store, doc_id) else 201, _stored(store, doc_id, text, metadata)

    status, answer = await memory_of(request).write(work)
    return answers.answer(answer, status)


async def delete(request: Request) -> Response:
    """DELETE /api/documents/{id}"""
    parameters.read(request.query_params, ())
    doc_id = id_of(request)

    def work(store: HybridStore) -> dict[str, Any]:
        if not stored_here(store, doc_id):
            raise NotFoundError(f"no document {doc_id!r} in this memory")
        return delete_by_id(store, doc_id)

    return answers.answer(await memory_of(request).write(work))


async def update(request: Request) -> Response:
    """POST /api/update"""
    values = parameters.read(request.query_params, parameters.UPDATE)
    memory = memory_of(request)
    if memory.update and memory.update.is_alive():
        raise Problem(409, "an update is running; /api/overview tells when it is done")
    memory.update = Update(memory.open_store, everything=values["all"])
    memory.update.start()
    return StreamingResponse(
        memory.update.events(), headers=NO_BUFFER, media_type="text/event-stream"
    )


def stored_here(store: HybridStore, doc_id: str) -> bool:
    """Whether there is a document of this id that came from no file. Raises Problem for a file's
    document.
    """
    found = store.storage.documents.get(doc_id)
    if found and found.path:
        raise Problem(
            409,
            f"{doc_id!r} is the document of {found.path}; change or delete that file, and update",
        )
    return found is not None


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


async def json_body(request: Request) -> dict[str, Any]:
    """The object in the body. Raises Problem."""
    if (
        request.headers.get("content-type", "").partition(";")[0].strip().lower()
        != "application/json"
    ):
        raise Problem(415, "the body must be JSON, with Content-Type: application/json")
    try:
        body = json.loads((await request.body()).decode(), parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise Problem(400, f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise Problem(422, "the body is not a JSON object")
    return body


Event = tuple[str, dict[str, Any]]  # its name and its data
PAUSE = 0.1  # seconds between two events of progress
# Seconds after which a sign of life is sent, so that nothing on the way closes the connection
SILENCE = 15.0


def add_marks(results: Sequence[dict[str, Any]], query: str) -> None:
    """Give each result `marks`: the words of its text and headings that match the query, as they
    are written, each once.
    """
    texts = [f"{result['heading_path']}\n{result['text']}" for result in results]
    highlighter = Highlighter(Query(query), texts, stems)
    for result, text in zip(results, texts, strict=True):
        result["marks"] = list(
            dict.fromkeys(text[span.start : span.end] for span in highlighter.spans(text))
        )
