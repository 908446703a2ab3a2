"""Requests that read: searches, documents, the state of the memory."""

from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.requests import Request
from starlette.responses import Response

from ....store import HybridStore
from ....views.hints import why_nothing
from ... import requests
from .. import answers
from ..memory import Memory
from ..problems import Problem
from . import parameters
from .marks import add_marks

DOCUMENTS = b"/api/documents/"
SIMILAR, LINKS = b"/similar", b"/links"


async def search(request: Request) -> Response:
    """GET /api/search"""
    memory = memory_of(request)
    values = parameters.read(request.query_params, parameters.SEARCH)
    refresh = memory.settings["refresh"] if values["refresh"] is None else values["refresh"]
    wanted = parameters.search_request(values, memory.settings)

    def work(store: HybridStore) -> dict[str, Any]:
        answer = requests.search(store, values["q"], wanted, refresh=refresh)
        if values["marks"]:
            add_marks(answer["results"], values["q"])
        return answer | {"hint": None if answer["results"] or answer["nearest_miss"] else why_nothing(store, wanted)}

    tag = await memory.etag(request.url.query)
    if not refresh and answers.has(request, tag):
        return answers.not_modified(tag)
    answer = await memory.read(work)
    # A warning, such as that the embedding server is away, may pass although the store stays as it is.
    return answers.answer(answer) if refresh or answer["warnings"] else answers.tagged(answer, tag)


async def documents(request: Request) -> Response:
    """GET /api/documents"""
    memory = memory_of(request)
    values = parameters.read(request.query_params, parameters.LISTING)
    filters = parameters.filters(values)
    tag = await memory.etag(request.url.query)
    if answers.has(request, tag):
        return answers.not_modified(tag)
    found = await memory.read(lambda store: requests.list_documents(store, filters=filters, limit=values["limit"]))
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
        return requests.document(store, doc_id, values["lines"], max_lines=values["max_lines"], max_chars=values["max_chars"])

    answer = await memory_of(request).read(work)
    tag = answers.etag(answer)  # of the answer itself, because the file may change without the store
    return answers.not_modified(tag) if answers.has(request, tag) else answers.tagged(answer, tag)


async def similar(request: Request, doc_id: str) -> Response:
    """GET /api/documents/{id}/similar"""
    memory = memory_of(request)
    values = parameters.read(request.query_params, parameters.SIMILAR)
    tag = await memory.etag(doc_id, request.url.query)
    if answers.has(request, tag):
        return answers.not_modified(tag)
    found = await memory.read(lambda store: requests.similar(store, doc_id, values["lines"], limit=values["limit"]))
    return answers.tagged(found, tag)


async def links(request: Request, doc_id: str) -> Response:
    """GET /api/documents/{id}/links"""
    memory = memory_of(request)
    parameters.read(request.query_params, ())
    tag = await memory.etag(doc_id)
    if answers.has(request, tag):
        return answers.not_modified(tag)
    return answers.tagged(await memory.read(lambda store: requests.links_of_document(store, doc_id)), tag)


async def status(request: Request) -> Response:
    """GET /api/status"""
    parameters.read(request.query_params, ())
    return answers.answer(await memory_of(request).read(requests.status))


async def doctor(request: Request) -> Response:
    """GET /api/doctor"""
    from ....views.doctor import examine

    values = parameters.read(request.query_params, parameters.DOCTOR)
    findings = await memory_of(request).slowly(lambda store: examine(store, thorough=values["thorough"]))
    return answers.answer([finding._asdict() for finding in findings])


async def overview(request: Request) -> Response:
    """GET /api/overview"""
    parameters.read(request.query_params, ())
    memory = memory_of(request)
    server = memory.server()
    tag = await memory.etag(server)
    if answers.has(request, tag):
        return answers.not_modified(tag)
    return answers.tagged(await memory.read(requests.overview) | {"server": server}, tag)


def memory_of(request: Request) -> Memory:
    """The memory that a request is about."""
    memory: Memory = request.state.memory
    return memory


def id_of(request: Request, after: bytes = b"") -> str:
    """The document's id, from the address as it was sent, without what comes `after` it. Raises Problem."""
    try:
        doc_id = unquote_to_bytes(request.scope["raw_path"].removeprefix(DOCUMENTS).removesuffix(after)).decode()
    except UnicodeDecodeError:
        raise Problem(400, "the id in the address is not UTF-8") from None
    if "\0" in doc_id:
        raise Problem(404, "no document has a NUL character in its id")
    return doc_id
