"""The operations of the API, and how each is answered."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ...browse.lists import documents as listed
from ...browse.lists import links as links_of
from ...browse.passage import days_of, passage
from ...documents.suffixes import own_suffix
from ...search.advice import ONLY_FILTERS
from ...search.request import filters_of, request_of
from ...search.result import match
from ...storage.filters import FILTERS
from ...storage.targets import WHOLE, split_target
from ...store import HybridStore, retry_once
from ...surface.commands.upkeep import APPEND, METADATA, SUPERSEDED, delete_by_id, store_text
from ...surface.output import title_of, titled
from ...sync.refresh import search as refreshed_search
from ..doctor import examine
from . import images, openapi, parameters, responses, security
from .api import Call, Operation
from .bounds import Bounds
from .overview import overview as overview_of
from .overview import review as review_of
from .overview import status_of
from .passages import add_marks, passages
from .responses import Problem

NO_BUFFER = {"cache-control": "no-store", "x-accel-buffering": "no"}
TEXT_BODY = (
    'the body must be {"text": "…", "metadata": {…}, "append": false, "replaces": "…"}; '
    "only text is required"
)


async def search(call: Call) -> Response:
    """Find the passages that answer a query."""
    values, bounds = call.values, call.bounds
    refresh = values["refresh"]
    if refresh is None:
        refresh = call.memory.settings["refresh"]
    refresh = refresh and not bounds.read_only
    options = {field: values[field] for field in parameters.OPTIONS_AND_FILTERS}
    wanted = request_of(options, call.memory.settings)

    def work(store: HybridStore) -> dict[str, Any]:
        request = wanted._replace(filters=bounds.filters(store, wanted.filters))
        answer = vars(refreshed_search(store, values["query"], request, refreshed=refresh))
        filters_in_force = answer.pop("filters")
        if values["marks"]:
            if ONLY_FILTERS in answer["warnings"]:
                answer["warnings"].remove(ONLY_FILTERS)
                answer["listing"] = listed(store, filters=filters_in_force, limit=wanted.limit)
                answer["hint"] = None
            add_marks(answer["results"], values["query"], is_typed=values["typed"])
            answer["results"] = titled(store, answer["results"])
            for result in answer["results"]:
                result["match"] = match(result["confidence"])
        if bounds.hide:
            answer["warnings"] = []  # the warnings of a refresh may name hidden files
        return answer

    if refresh:
        return responses.answer(await call.memory.readers.do(work))
    return await call.cached(work)


async def documents(call: Call) -> Response:
    """List the documents."""
    filters = filters_of({field: call.values[field] for field in FILTERS})

    def work(store: HybridStore) -> dict[str, Any]:
        within = call.bounds.filters(store, filters)
        return listed(store, filters=within, limit=call.values["limit"])

    return await call.cached(work)


async def document(call: Call) -> Response:
    """Read a document."""

    def work(store: HybridStore) -> dict[str, Any]:
        answer = outlined(store, call.bounds, call.doc_id, **call.values)
        suffix = own_suffix(answer["path"] or "") or ".md"
        return answer | {
            "title": title_of(store, call.doc_id, answer["metadata"]),
            "format": suffix.removeprefix("."),
            "pages": store.storage.catalog.document(call.doc_id).pages,
        }

    answer = await call.memory.readers.do(work)
    tag = responses.etag(answer)  # the file may change while the store does not
    return responses.not_modified(call.request, tag) or responses.answer(answer, tag=tag)


@retry_once
def outlined(
    store: HybridStore,
    bounds: Bounds,
    doc_id: str,
    lines: str | None,
    *,
    max_lines: int = 200,
    max_chars: int = 20_000,
) -> dict[str, Any]:
    """Read the document with exactly this id, like `read`; add its metadata and the lines of its
    passages.

    `lines` is "12-30", "12", or "12C501-30" (from character 501 of line 12). `next_lines` is the
    value of `lines` to read on, or None. Raises as `read` does.
    """
    with store.storage.snapshot():
        bounds.check_known(store, doc_id)
        row = store.storage.catalog.document(doc_id)
        outline = store.storage.catalog.outline(doc_id)
        days = days_of(store, doc_id, row)
    place = split_target(f"any#L{lines}")[1] if lines else WHOLE
    answer = passage(store, doc_id, row, days, place, max_lines, max_chars)
    rest = answer["next"] and answer["next"].removeprefix(f"{doc_id}#L").replace("-L", "-")
    return answer | outline | {"next_lines": rest}


async def similar(call: Call) -> Response:
    """Find passages like one of this document."""

    def work(store: HybridStore) -> dict[str, Any]:
        found = passages(store, call.bounds, call.doc_id, **call.values)
        add_marks(found["results"], "")
        return found

    return await call.cached(work)


async def links(call: Call) -> Response:
    """List links from and to this document."""

    def work(store: HybridStore) -> dict[str, Any]:
        call.bounds.check_known(store, call.doc_id)
        return links_of(store, call.doc_id)

    return await call.cached(work)


async def image(call: Call) -> Response:
    """Get an image shown in this document, from its ingested folder."""
    shown = await call.memory.readers.do(
        lambda store: images.image_of(store, call.bounds, call.doc_id, call.values["target"])
    )
    tag = responses.etag(shown.state)
    headers = responses.PRIVATE | {"etag": tag, "content-security-policy": images.POLICY}
    return responses.not_modified(call.request, tag) or Response(
        shown.data, headers=headers, media_type=shown.media_type
    )


async def put(call: Call) -> Response:
    """Store a text."""
    call.bounds.check_new(call.doc_id)
    body = await responses.json_body(call.request)
    text = body.pop("text", None)
    try:
        metadata = METADATA.read(body.pop("metadata", None))
        append = bool(APPEND.read(body.pop("append", None)))
        replaces = SUPERSEDED.read(body.pop("replaces", None))
    except (TypeError, ValueError):
        raise Problem(422, TEXT_BODY) from None
    if body or not isinstance(text, str):
        raise Problem(422, TEXT_BODY)

    def work(store: HybridStore) -> tuple[dict[str, Any], int]:
        status = 200 if is_stored_here(store, call.doc_id) else 201
        if replaces and call.bounds.hide:
            call.bounds.check_shown(store, replaces)
        stored = store_text(store, call.doc_id, text, metadata, append=append, replaces=replaces)
        return stored, status

    return responses.answer(*await call.memory.writer.do(work))


async def delete(call: Call) -> Response:
    """Delete a stored text."""

    def work(store: HybridStore) -> dict[str, Any]:
        call.bounds.check_known(store, call.doc_id)
        is_stored_here(store, call.doc_id)
        return delete_by_id(store, call.doc_id)

    return responses.answer(await call.memory.writer.do(work))


def is_stored_here(store: HybridStore, doc_id: str) -> bool:
    """Whether a text without a file has this id. Raises Problem for the document of a file."""
    document = store.storage.documents.get(doc_id)
    if document and document.path:
        way_out = "change or delete the file, then update"
        raise Problem(409, f"{doc_id!r} is the document of {document.path}; {way_out}")
    return document is not None


async def update(call: Call) -> Response:
    """Read changed files of the ingested folders."""
    events = call.memory.update(everything=call.values["all"])
    return StreamingResponse(events, headers=NO_BUFFER, media_type="text/event-stream")


async def overview(call: Call) -> Response:
    """Get the status and the numbers of documents."""
    server = {"server": call.memory.server()}
    return await call.cached(lambda store: overview_of(store, call.bounds) | server)


async def review(call: Call) -> Response:
    """List broken links, copies and superseded notes."""
    return await call.cached(review_of)


async def status(call: Call) -> Response:
    """Count documents, chunks and embeddings."""
    work = call.memory.readers.do(lambda store: status_of(store, call.bounds))
    return responses.answer(await work)


async def doctor(call: Call) -> Response:
    """Check the memory."""
    findings = await call.memory.readers.do(lambda store: examine(store, **call.values))
    return responses.answer([finding._asdict() for finding in findings])


async def session(call: Call) -> Response:
    """Exchange the token for a cookie."""
    return await security.exchange(call.request)


async def description(request: Request) -> Response:
    """Describe the API."""
    return responses.answer(openapi.description(OPERATIONS))


EVENTS = {
    "200": {
        "description": "Server-sent events: progress, then report or problem.",
        "content": {"text/event-stream": {}},
    }
}
IMAGE = {
    "200": {
        "description": "The image.",
        "content": {media_type: {} for media_type in images.TYPES.values()},
    }
}
COOKIE = {
    "204": {"description": "The token is right; a cookie is set if the server needs a token."}
}
CREATED = {"201": {"description": "A new document."} | openapi.content("Stored")}
DOCUMENT = "/api/documents/{id}"
# The first row whose method and path match a request answers it
OPERATIONS = (
    Operation(
        "search",
        "GET",
        "/api/search",
        search,
        "Search",
        parameters.SEARCH,
        may=(304, 404),
    ),
    Operation(
        "list",
        "GET",
        "/api/documents",
        documents,
        "Listing",
        parameters.LISTING,
        may=(304, 404),
    ),
    Operation(
        "similar",
        "GET",
        f"{DOCUMENT}/similar",
        similar,
        "Similar",
        parameters.SIMILAR,
        may=(304, 400, 404),
        reveals=True,
    ),
    Operation(
        "links",
        "GET",
        f"{DOCUMENT}/links",
        links,
        "Links",
        may=(304, 400, 404),
        reveals=True,
    ),
    Operation(
        "image",
        "GET",
        f"{DOCUMENT}/image",
        image,
        parameters=parameters.IMAGE,
        may=(304, 400, 404),
        answers=IMAGE,
    ),
    Operation(
        "read",
        "GET",
        DOCUMENT,
        document,
        "Document",
        parameters.DOCUMENT,
        may=(304, 400, 404, 409),
    ),
    Operation(
        "store",
        "PUT",
        DOCUMENT,
        put,
        "Stored",
        may=(400, 404, 409, 413, 415),
        body="Text",
        answers=CREATED,
        writes=True,
    ),
    Operation(
        "delete",
        "DELETE",
        DOCUMENT,
        delete,
        "Deleted",
        may=(400, 404, 409),
        writes=True,
    ),
    Operation(
        "update",
        "POST",
        "/api/update",
        update,
        parameters=parameters.UPDATE,
        may=(409,),
        answers=EVENTS,
        writes=True,
        reveals=True,
    ),
    Operation(
        "overview",
        "GET",
        "/api/overview",
        overview,
        "Overview",
        may=(304,),
    ),
    Operation(
        "review",
        "GET",
        "/api/review",
        review,
        "Review",
        may=(304,),
        reveals=True,
    ),
    Operation(
        "status",
        "GET",
        "/api/status",
        status,
        "Status",
    ),
    Operation(
        "doctor",
        "GET",
        "/api/doctor",
        doctor,
        "Findings",
        parameters.DOCTOR,
        reveals=True,
    ),
    Operation(
        "session",
        "POST",
        "/api/session",
        session,
        may=(400, 413, 415),
        body="AccessToken",
        answers=COOKIE,
    ),
)
ROUTES = (*(row.route() for row in OPERATIONS), Route("/api/openapi.json", description))
