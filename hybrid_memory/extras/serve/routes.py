"""The endpoints of the API: search, documents, status, storing and deleting texts, updates."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ...browse.lists import broken, newest
from ...browse.lists import documents as listed
from ...browse.lists import links as links_of
from ...browse.passage import days_of, passage
from ...documents.formats import own_suffix
from ...errors import NotFoundError
from ...search.advice import ONLY_FILTERS
from ...search.result import match
from ...storage.targets import WHOLE, split_target
from ...store import HybridStore, retry_once
from ...surface.commands.upkeep import delete_by_id, store_text
from ...surface.output import AFTER, BEFORE, body_of, highlighters_of, shown, title_of, titled
from ...sync.refresh import search as refreshed_search
from ...text.characters import digest
from ...text.highlight import Highlighter
from ..doctor import examine
from . import images, parameters, responses
from .bounds import MOST, Bounds, counts_of, facets_of
from .memory import Memory, Update, Work, passages
from .responses import Problem
from .superseded import superseded

DOCUMENTS = b"/api/documents/"
SIMILAR = b"/similar"
LINKS = b"/links"
IMAGE = b"/image"
NO_BUFFER = {"cache-control": "no-store", "x-accel-buffering": "no"}
TEXT_BODY = (
    'the body must be {"text": "…", "metadata": {…}, "append": false}; only text is required'
)
DEEPEST = 100  # levels of nested objects and lists in metadata
NEWEST = 10  # documents listed in the overview
QUOTE = re.compile(r"^[ \t]*>[> \t]*")
DASHES = re.compile(r":?-+:?")
SIGNS = {r"[-*+] \[ \]": "☐", r"[-*+] \[[xX]\]": "☑", r"[-*+]": "•"}
UNBOUNDED = 1_000_000  # columns
MOST_LISTED = 200  # broken links, groups of copies and superseded notes listed in a review


async def search(request: Request) -> Response:
    """Answer GET /api/search."""
    memory = memory_of(request)
    values = parameters.read(request.query_params, parameters.SEARCH)
    refresh = values["refresh"]
    if refresh is None:
        refresh = memory.settings["refresh"]
    refresh = refresh and not memory.bounds.read_only
    wanted = parameters.search_request(values, memory.settings)

    def work(store: HybridStore) -> dict[str, Any]:
        filters = memory.bounds.filters(store, wanted.filters)
        search_request = wanted._replace(filters=filters)
        answer = vars(refreshed_search(store, values["query"], search_request, refreshed=refresh))
        filters_in_force = answer.pop("filters")
        if values["marks"] and ONLY_FILTERS in answer["warnings"]:
            answer["warnings"].remove(ONLY_FILTERS)
            answer["listing"] = listed(store, filters=filters_in_force, limit=wanted.limit)
        if memory.bounds.hide:
            answer["warnings"] = []  # the warnings of a refresh may name hidden files
        if values["marks"]:
            add_marks(answer["results"], values["query"], is_typed=values["typed"])
            answer["results"] = titled(store, answer["results"])
            for result in answer["results"]:
                result["match"] = match(result["confidence"])
        if "listing" in answer:
            answer["hint"] = None
        return answer

    tag = await memory.etag(request.url.query)
    if not refresh and responses.client_has(request, tag):
        return responses.not_modified(tag)
    answer = await memory.read(work)
    if refresh or answer["warnings"]:
        # A warning, e.g. about an unreachable server, may pass without a change of the store.
        return responses.answer(answer)
    return responses.tagged(answer, tag)


async def documents(request: Request) -> Response:
    """Answer GET /api/documents."""
    values = parameters.read(request.query_params, parameters.LISTING)
    filters = parameters.filters(values)
    bounds = memory_of(request).bounds
    limit = values["limit"]

    def work(store: HybridStore) -> dict[str, Any]:
        within = bounds.filters(store, filters)
        return listed(store, filters=within, limit=limit)

    return await respond_cached(request, work, request.url.query)


async def document(request: Request) -> Response:
    """Answer GET /api/documents/{id}."""
    raw_path = request.scope["raw_path"]
    doc_id = id_of(request)
    if raw_path.endswith(SIMILAR):
        return await similar(request, id_of(request, SIMILAR))
    if raw_path.endswith(LINKS):
        return await links(request, id_of(request, LINKS))
    if raw_path.endswith(IMAGE):
        return await image(request, id_of(request, IMAGE))
    values = parameters.read(request.query_params, parameters.DOCUMENT)
    bounds = memory_of(request).bounds

    def work(store: HybridStore) -> dict[str, Any]:
        bounds.check_shown(store, doc_id)
        answer = outlined(
            store,
            doc_id,
            values["lines"],
            max_lines=values["max_lines"],
            max_chars=values["max_chars"],
        )
        suffix = own_suffix(answer["path"] or "") or ".md"
        return answer | {
            "title": title_of(store, doc_id, answer["metadata"]),
            "format": suffix.removeprefix("."),
            "pages": store.storage.catalog.document(doc_id).pages,
        }

    answer = await memory_of(request).read(work)
    tag = responses.etag(answer)  # the file may change while the store does not
    if responses.client_has(request, tag):
        return responses.not_modified(tag)
    return responses.tagged(answer, tag)


@retry_once
def outlined(
    store: "HybridStore",
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
        if store.storage.catalog.by_id(doc_id) is None:
            raise NotFoundError(f"no document {doc_id!r} in this memory")
        row = store.storage.catalog.document(doc_id)
        outline = store.storage.catalog.outline(doc_id)
        days = days_of(store, doc_id, row)
    place = split_target(f"any#L{lines}")[1] if lines else WHOLE
    answer = passage(store, doc_id, row, days, place, max_lines, max_chars)
    rest = answer["next"] and answer["next"].removeprefix(f"{doc_id}#L").replace("-L", "-")
    return answer | outline | {"next_lines": rest}


async def similar(request: Request, doc_id: str) -> Response:
    """Answer GET /api/documents/{id}/similar."""
    values = parameters.read(request.query_params, parameters.SIMILAR)
    require_unbounded(request)

    def work(store: HybridStore) -> dict[str, Any]:
        found = passages(store, doc_id, values["lines"], limit=values["limit"])
        add_marks(found["results"], "")
        return found

    return await respond_cached(request, work, doc_id, request.url.query)


async def links(request: Request, doc_id: str) -> Response:
    """Answer GET /api/documents/{id}/links."""
    parameters.read(request.query_params, parameters.NOTHING)
    require_unbounded(request)

    def work(store: HybridStore) -> dict[str, Any]:
        if store.storage.catalog.by_id(doc_id) is None:
            raise NotFoundError(f"no document {doc_id!r} in this memory")
        return links_of(store, doc_id)

    return await respond_cached(request, work, doc_id)


async def image(request: Request, doc_id: str) -> Response:
    """Answer GET /api/documents/{id}/image."""
    values = parameters.read(request.query_params, parameters.IMAGE)
    memory = memory_of(request)
    shown = await memory.read(
        lambda store: images.image_of(store, memory.bounds, doc_id, values["target"])
    )
    tag = responses.etag(shown.state)
    if responses.client_has(request, tag):
        return responses.not_modified(tag)
    headers = responses.PRIVATE | {"etag": tag, "content-security-policy": images.POLICY}
    return Response(shown.data, headers=headers, media_type=shown.media_type)


async def review(request: Request) -> Response:
    """Answer GET /api/review."""
    parameters.read(request.query_params, parameters.NOTHING)
    require_unbounded(request)
    return await respond_cached(request, _review)


@retry_once
def _review(store: HybridStore) -> dict[str, Any]:
    """Return broken links, documents with the same text, and superseded documents."""
    links = broken(store)
    same = defaultdict[bytes, list[str]](list)
    catalog = store.storage.catalog
    for doc_id, document in store.storage.documents.several(catalog.ids()).items():
        text_hash = document.content_hash
        if not text_hash:  # no file
            text_hash = digest((catalog.document(doc_id).content or doc_id).encode())
        same[text_hash].append(doc_id)
    copies = sorted(sorted(doc_ids) for doc_ids in same.values() if len(doc_ids) > 1)
    old = [place._asdict() for place in superseded(store.storage)]
    return {
        "broken": {"total": links["total"], "links": links["broken"][:MOST_LISTED]},
        "copies": {"total": len(copies), "documents": copies[:MOST_LISTED]},
        "superseded": {"total": len(old), "documents": old[:MOST_LISTED]},
    }


async def status(request: Request) -> Response:
    """Answer GET /api/status."""
    parameters.read(request.query_params, parameters.NOTHING)
    bounds = memory_of(request).bounds
    return responses.answer(await memory_of(request).read(lambda store: _status(store, bounds)))


async def doctor(request: Request) -> Response:
    """Answer GET /api/doctor."""
    values = parameters.read(request.query_params, parameters.DOCTOR)
    require_unbounded(request)
    findings = await memory_of(request).slowly(
        lambda store: examine(store, thorough=values["thorough"])
    )
    return responses.answer([finding._asdict() for finding in findings])


async def overview(request: Request) -> Response:
    """Answer GET /api/overview."""
    parameters.read(request.query_params, parameters.NOTHING)
    server = memory_of(request).server()
    bounds = memory_of(request).bounds

    def work(store: HybridStore) -> dict[str, Any]:
        return _overview(store, bounds) | {"server": server}

    return await respond_cached(request, work, server)


@retry_once
def _overview(store: HybridStore, bounds: Bounds) -> dict[str, Any]:
    """Return the status, the number of documents per collection, folder, month and tag, and the
    newest documents.
    """
    catalog = store.storage.catalog
    within = bounds.filters(store, None)
    with store.storage.snapshot():
        if bounds.hide:
            facets = facets_of(store, bounds)
            ids = [document["doc_id"] for document in catalog.listing(within, MOST)[1]]
        else:
            facets = catalog.facets()
            ids = catalog.ids()
        latest = newest(store, within, NEWEST)
        status = _status(store, bounds)
    return {"status": status} | facets | {"newest": latest, "folders": folders(ids)}


def folders(ids: Iterable[str]) -> list[dict[str, Any]]:
    """Return all folders of these documents, by name, with the number of documents below each."""
    counts: Counter[str] = Counter()
    for doc_id in ids:
        parts = doc_id.split("/")[:-1]
        counts.update("/".join(parts[:number]) for number in range(1, len(parts) + 1))
    return [{"path": path, "documents": counts[path]} for path in sorted(counts)]


def _status(store: HybridStore, bounds: Bounds) -> dict[str, Any]:
    """Return the result of `stats`, with counts for the documents within the bounds."""
    status = store.stats()
    if bounds.hide:
        return status | counts_of(store, bounds)
    return status


async def respond_cached(request: Request, work: Work, *parts: object) -> Response:
    """Respond with the result of `work`, which depends on these parts and the store; or with 304 if
    the client already has it.
    """
    memory = memory_of(request)
    tag = await memory.etag(*parts)
    if responses.client_has(request, tag):
        return responses.not_modified(tag)
    return responses.tagged(await memory.read(work), tag)


def memory_of(request: Request) -> Memory:
    memory: Memory = request.state.memory
    return memory


def require_writable(request: Request) -> None:
    """Raise Problem if the server is read-only."""
    if memory_of(request).bounds.read_only:
        raise Problem(403, "this server is read-only")


def require_unbounded(request: Request) -> None:
    """Raise Problem if the server hides documents, for an answer that could reveal some."""
    if memory_of(request).bounds.hide:
        raise Problem(403, "not available: this server shows only a part of its memory")


def id_of(request: Request, after: bytes = b"") -> str:
    """Return the document id in the undecoded path, without the suffix `after`. Raises Problem."""
    segment = request.scope["raw_path"].removeprefix(DOCUMENTS).removesuffix(after)
    try:
        doc_id = unquote_to_bytes(segment).decode()
    except UnicodeDecodeError:
        raise Problem(400, "the document id is not valid UTF-8") from None
    if "\0" in doc_id:
        raise Problem(404, "no document id contains a NUL character")
    return doc_id


async def put(request: Request) -> Response:
    """Answer PUT /api/documents/{id}."""
    parameters.read(request.query_params, parameters.NOTHING)
    doc_id = id_of(request)
    require_writable(request)
    bounds = memory_of(request).bounds
    bounds.check_new(doc_id)
    body = await responses.json_body(request)
    text = body.pop("text", None)
    metadata = body.pop("metadata", None)
    append = body.pop("append", False)
    is_typed = isinstance(text, str) and isinstance(metadata, dict | None)
    if body or not is_typed or not isinstance(append, bool):
        raise Problem(422, TEXT_BODY)
    if is_nested_deeper(metadata or {}, DEEPEST):
        raise Problem(422, f"the metadata has more than {DEEPEST} nested levels")
    if not doc_id:
        raise Problem(405, "a document needs an id", headers={"allow": "GET"})

    def work(store: HybridStore) -> tuple[int, dict[str, Any]]:
        status = 201
        if stored_here(store, doc_id):
            status = 200
        answer = store_text(store, doc_id, text, metadata, append=append)
        return status, answer

    status, answer = await memory_of(request).write(work)
    return responses.answer(answer, status)


async def delete(request: Request) -> Response:
    """Answer DELETE /api/documents/{id}."""
    parameters.read(request.query_params, parameters.NOTHING)
    doc_id = id_of(request)
    require_writable(request)
    bounds = memory_of(request).bounds

    def work(store: HybridStore) -> dict[str, Any]:
        bounds.check_shown(store, doc_id)
        if not stored_here(store, doc_id):
            raise NotFoundError(f"no document {doc_id!r} in this memory")
        return delete_by_id(store, doc_id)

    return responses.answer(await memory_of(request).write(work))


async def update(request: Request) -> Response:
    """Answer POST /api/update."""
    values = parameters.read(request.query_params, parameters.UPDATE)
    require_writable(request)
    require_unbounded(request)
    memory = memory_of(request)
    if memory.update and memory.update.is_alive():
        raise Problem(409, "an update is running; /api/overview shows when it is done")
    memory.update = Update(memory.open_store, everything=values["all"])
    memory.update.start()
    return StreamingResponse(
        memory.update.events(), headers=NO_BUFFER, media_type="text/event-stream"
    )


def stored_here(store: HybridStore, doc_id: str) -> bool:
    """Whether a text without a file has this id. Raises Problem for the document of a file."""
    document = store.storage.documents.get(doc_id)
    if document and document.path:
        way_out = "change or delete the file, then update"
        raise Problem(409, f"{doc_id!r} is the document of {document.path}; {way_out}")
    return document is not None


def is_nested_deeper(value: Any, levels: int) -> bool:
    """Whether a value has more than this many levels of nested objects and lists."""
    layer = [value]
    for _ in range(levels + 1):
        containers = [item for item in layer if isinstance(item, dict | list)]
        if not containers:
            return False
        layer = []
        for container in containers:
            layer += container.values() if isinstance(container, dict) else container
    return True


def add_marks(results: Sequence[dict[str, Any]], query: str, *, is_typed: bool = False) -> None:
    """Add `marks` and `excerpt` to each result, so that clients need no stemming or markdown.

    `marks` are the distinct words of the text and headings that match the query, as written there.
    `excerpt` is the best part of the text, as shown in the terminal.
    """
    texts = [f"{result['heading_path']}\n{result['text']}" for result in results]
    bodies = [body_of(result["text"]) for result in results]
    highlighters = highlighters_of(results, query, [*texts, *bodies], is_typed=is_typed)
    for result, text, body, highlighter in zip(results, texts, bodies, highlighters, strict=True):
        words = [text[span.start : span.end] for span in highlighter.spans(text)]
        result["marks"] = list(dict.fromkeys(words))
        result["excerpt"] = excerpt(body, highlighter)


def excerpt(text: str, highlighter: Highlighter) -> list[str]:
    """Return the excerpt `shown` of a body for the page: pieces of text, every second one a word of
    the query. Table cells are separated by dots; list items and tasks start with a symbol.
    """
    lines = map(_for_page, shown(text, highlighter, UNBOUNDED))
    joined = "\n".join(line for line in lines if line)
    return [piece for part in joined.split(BEFORE) for piece in part.split(AFTER)]


def _for_page(line: str) -> str:
    """Convert markdown at the start of a line to symbols; "" for the rule below a table head."""
    line = QUOTE.sub("", line)
    if line.lstrip().startswith("|"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        return "" if all(DASHES.fullmatch(cell) for cell in cells) else " · ".join(cells)
    for sign, shown_as in SIGNS.items():
        line = re.sub(rf"^([ \t]*){sign}[ \t]+", rf"\1{shown_as} ", line)
    return line
