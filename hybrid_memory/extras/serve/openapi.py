"""The OpenAPI 3.1 description of the API, from the parameter tables that also check requests."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ... import __version__
from ...options import Option
from ...text.roles import BOTH, ROLES
from . import images, parameters, responses
from .parameters import NOTHING, Table, schema_of

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
COUNT: Json = {"type": "integer"}
NUMBER: Json = {"type": "number"}
SWITCH: Json = {"type": "boolean"}
SWITCH_OR_NULL: Json = {"type": ["boolean", "null"]}
OBJECT: Json = {"type": "object"}
TEXT_OR_NULL: Json = {"type": ["string", "null"]}
COUNT_OR_NULL: Json = {"type": ["integer", "null"]}
NUMBER_OR_NULL: Json = {"type": ["number", "null"]}


def listed(schema: Json) -> Json:
    return {"type": "array", "items": schema}


def fields(**properties: Json) -> Json:
    """Return the schema of an object with these required properties."""
    return {"type": "object", "properties": properties, "required": [*properties]}


def and_perhaps(schema: Json, **properties: Json) -> Json:
    """Return the schema of an object with additional optional properties."""
    return schema | {"properties": schema["properties"] | properties}


def or_null(schema: Json) -> Json:
    return {"anyOf": [schema, {"type": "null"}]}


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


PASSAGE: Json = {
    "doc_id": TEXT,
    "chunk_id": TEXT,
    "heading": TEXT,
    "heading_path": TEXT,
    "text": TEXT,
    "score": NUMBER,
    "path": TEXT_OR_NULL,
    "start_line": COUNT,
    "end_line": COUNT,
    "citation": TEXT,
    "collection": TEXT_OR_NULL,
    "date": TEXT_OR_NULL,
    "metadata": OBJECT,
}
LINK: Json = {
    "target": TEXT,
    "kind": {"enum": ["wikilink", "embed", "markdown"]},
    "line": COUNT,
    "citation": TEXT,
}
RESULT = fields(
    **PASSAGE,
    confidence=NUMBER,
    source={"enum": ["keyword", "vector", "hybrid"]},
    also=listed(TEXT),
    newer=TEXT_OR_NULL,
    role={"enum": [*ROLES, BOTH, None]},
    scores=fields(keyword=NUMBER_OR_NULL, vector=NUMBER_OR_NULL),
)
ENTRY = fields(
    doc_id=TEXT,
    collection=TEXT_OR_NULL,
    date=TEXT_OR_NULL,
    path=TEXT_OR_NULL,
    chunks=COUNT,
    pending=COUNT,
    size=COUNT_OR_NULL,
    modified=TEXT,
    indexed_at=TEXT,
)
DOCUMENT = fields(
    doc_id=TEXT,
    path=TEXT_OR_NULL,
    text=TEXT,
    start_line=COUNT,
    end_line=COUNT,
    total_lines=COUNT,
    citation=TEXT,
    collection=TEXT_OR_NULL,
    date=TEXT_OR_NULL,
    date_from=TEXT_OR_NULL,
    modified=TEXT,
    changed=SWITCH,
    next=TEXT_OR_NULL,
    next_lines=TEXT_OR_NULL,
    metadata=OBJECT,
    title=TEXT_OR_NULL,
    format=TEXT,
    pages=listed(COUNT),  # the first line of each page
    is_file=SWITCH,
    passages=listed(
        fields(chunk_id=TEXT, heading=TEXT, heading_path=TEXT, start_line=COUNT, end_line=COUNT)
    ),
)
PROBLEM = fields(type=TEXT, title=TEXT, status=COUNT, detail=TEXT, instance=TEXT)
WORDS: Json = {"type": "object", "additionalProperties": listed(TEXT)}
# Parts of the query as it writes them: what it filters by and leaves out, and why others are words
OPERATORS = fields(
    filters=listed(TEXT),
    without=listed(TEXT),
    words={"type": "object", "additionalProperties": TEXT},
)
SCHEMAS: Mapping[str, Json] = {
    "Problem": and_perhaps(PROBLEM, errors=listed(fields(parameter=TEXT, detail=TEXT))),
    "Passage": fields(**PASSAGE, marks=listed(TEXT), excerpt=listed(TEXT)),
    "Result": and_perhaps(
        RESULT,
        page=COUNT,  # if the document has pages
        instead=WORDS,  # query word that no passage has -> words searched for in its place
        operators=OPERATORS,  # if the query has such parts
        marks=listed(TEXT),  # the next four only on request (`marks`)
        excerpt=listed(TEXT),  # pieces; every second one is a matching word
        match={"enum": ["strong", "some", "faint"]},
        title=TEXT_OR_NULL,
        explain=OBJECT,  # on request (`explain`)
    ),
    "Search": and_perhaps(
        fields(
            results=listed(ref("Result")),
            nearest_miss=or_null(ref("Result")),
            timings={"type": "object", "additionalProperties": NUMBER},
            warnings=listed(TEXT),
            unanswered=TEXT_OR_NULL,
            instead=WORDS,
            hint=TEXT_OR_NULL,
            cut=COUNT,
            more=TEXT_OR_NULL,
            operators=OPERATORS,
        ),
        listing=ref("Listing"),  # on request (`marks`), if the query consists of filters only
    ),
    "Entry": and_perhaps(ENTRY, host=TEXT),  # for a file on another host
    "Listing": and_perhaps(
        fields(total=COUNT, documents=listed(ref("Entry"))), warnings=listed(TEXT)
    ),
    "Document": and_perhaps(DOCUMENT, page=COUNT, host=TEXT),
    "Similar": fields(by={"enum": ["vector", "keyword"]}, results=listed(ref("Passage"))),
    "Links": fields(
        doc_id=TEXT,
        links=listed(fields(**LINK, doc_id=TEXT_OR_NULL, broken=SWITCH)),
        linked_from=listed(fields(**LINK, doc_id=TEXT)),
    ),
    "Review": fields(
        broken=fields(total=COUNT, links=listed(fields(**LINK, doc_id=TEXT))),
        copies=fields(total=COUNT, documents=listed(listed(TEXT))),
        superseded=fields(total=COUNT, documents=listed(fields(citation=TEXT, note=TEXT))),
    ),
    "Text": {
        "type": "object",
        "properties": {"text": TEXT, "metadata": OBJECT, "append": {"type": "boolean"}},
        "required": ["text"],
        "additionalProperties": False,
        "example": {"text": "# Deploys\n\nOn Tuesdays.", "metadata": {"project": "boss-api"}},
    },
    "Stored": fields(doc_id=TEXT, chunks=COUNT, warnings=listed(TEXT)),
    "Deleted": fields(doc_id=TEXT, chunks_deleted=COUNT, warnings=listed(TEXT)),
    "Status": fields(
        doc_count=COUNT,
        chunk_count=COUNT,
        embedded_count=COUNT,
        pending_count=COUNT,
        unembeddable_count=COUNT,
        truncated_count=COUNT,
        db_size_bytes=COUNT,
        db_path=TEXT,
        embeddings={"type": ["object", "null"]},
        building=or_null(fields(model=TEXT, done=COUNT, of=COUNT)),
        advice=TEXT_OR_NULL,
        reranker=TEXT_OR_NULL,
    ),
    "Overview": fields(
        status=ref("Status"),
        collections=listed(fields(name=TEXT_OR_NULL, documents=COUNT, chunks=COUNT)),
        folders=listed(fields(path=TEXT, documents=COUNT)),
        months=listed(fields(month=TEXT, documents=COUNT)),
        undated=COUNT,
        tags=listed(fields(tag=TEXT, documents=COUNT)),
        newest=listed(ref("Entry")),
        server=fields(version=TEXT, watching=SWITCH, updating=SWITCH, token=SWITCH),
    ),
    "Findings": listed(fields(check=TEXT, ok=SWITCH_OR_NULL, text=TEXT)),
    "Token": {"type": "object", "properties": {"token": TEXT}},
}

DOC_ID: Json = {
    "name": "id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "minLength": 1},
    "example": "memory/hosts/atlas.md",
    "description": "The document's exact id, as one percent-encoded segment.",
}
EXAMPLES = {
    "target": "images/rack.png",
    "query": "how do I log in to the GPU server?",
    "lines": "1-20",
}
WHEN = {
    304: "The client already has the current answer.",
    400: "The request cannot be read.",
    401: "The token is missing or wrong.",
    404: "There is no such document.",
    409: "The document belongs to a file, or an update is running.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "A parameter, the query or the body is not valid.",
    503: "The database cannot be used now, or the server is busy or shutting down.",
}
ALWAYS = (401, 422, 503)


def described(option: Option) -> Json:
    """Return the description of a parameter of the query string."""
    description: Json = {
        "name": option.name,
        "in": "query",
        "description": option.sentence(),
        "schema": schema_of(option),
    }
    if option.required:
        description["required"] = True
    if option.name in EXAMPLES:
        description["example"] = EXAMPLES[option.name]
    return description


def operation(
    name: str,
    about: str,
    schema: str | None,
    table: Table = NOTHING,
    *,
    may: Sequence[int] = (),
    responses: Json | None = None,
    **more: Any,
) -> Json:
    """Return an operation that answers 200 with a schema, or with `responses`; `may` lists its
    other possible statuses.
    """
    answers: Json = {str(status): _problem(status) for status in sorted((*ALWAYS, *may))}
    if schema:
        answers["200"] = answer("The answer.", schema)
    return {
        "operationId": name,
        "summary": about,
        "parameters": [described(option) for option in table.values()],
        "responses": answers | (responses or {}),
        **more,
    }


def answer(about: str, schema: str) -> Json:
    return {"description": about, "content": {"application/json": {"schema": ref(schema)}}}


def _problem(status: int) -> Json:
    description: Json = {"description": WHEN[status]}
    if status != 304:
        description["content"] = {"application/problem+json": {"schema": ref("Problem")}}
    return description


def body(schema: str) -> Json:
    return {"required": True, "content": {"application/json": {"schema": ref(schema)}}}


CREATED = {"201": answer("A new document.", "Stored")}
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

PATHS: Json = {
    "/api/search": {
        "get": operation(
            "search",
            "Find the passages that answer a query.",
            "Search",
            parameters.SEARCH,
            may=(304, 404),
        )
    },
    "/api/documents": {
        "get": operation(
            "list", "List the documents.", "Listing", parameters.LISTING, may=(304, 404)
        )
    },
    "/api/documents/{id}": {
        "parameters": [DOC_ID],
        "get": operation(
            "read", "Read a document.", "Document", parameters.DOCUMENT, may=(304, 400, 404, 409)
        ),
        "put": operation(
            "store",
            "Store a text.",
            "Stored",
            may=(400, 409, 413, 415),
            requestBody=body("Text"),
            responses=CREATED,
        ),
        "delete": operation("delete", "Delete a stored text.", "Deleted", may=(400, 404, 409)),
    },
    "/api/documents/{id}/similar": {
        "parameters": [DOC_ID],
        "get": operation(
            "similar",
            "Find passages like one of this document.",
            "Similar",
            parameters.SIMILAR,
            may=(304, 400, 404),
        ),
    },
    "/api/documents/{id}/links": {
        "parameters": [DOC_ID],
        "get": operation(
            "links", "List links from and to this document.", "Links", may=(304, 400, 404)
        ),
    },
    "/api/documents/{id}/image": {
        "parameters": [DOC_ID],
        "get": operation(
            "image",
            "Get an image shown in this document, from its ingested folder.",
            None,
            parameters.IMAGE,
            may=(304, 400, 404),
            responses=IMAGE,
        ),
    },
    "/api/update": {
        "post": operation(
            "update",
            "Read changed files of the ingested folders.",
            None,
            parameters.UPDATE,
            may=(409,),
            responses=EVENTS,
        )
    },
    "/api/overview": {
        "get": operation(
            "overview", "Get the status and the numbers of documents.", "Overview", may=(304,)
        )
    },
    "/api/review": {
        "get": operation(
            "review", "List broken links, copies and superseded notes.", "Review", may=(304,)
        )
    },
    "/api/status": {
        "get": operation("status", "Count documents, chunks and embeddings.", "Status")
    },
    "/api/doctor": {"get": operation("doctor", "Check the memory.", "Findings", parameters.DOCTOR)},
    "/api/session": {
        "post": operation(
            "session",
            "Exchange the token for a cookie.",
            None,
            may=(400, 413, 415),
            requestBody=body("Token"),
            responses=COOKIE,
        )
    },
}
DESCRIPTION: Json = {
    "openapi": "3.1.0",
    "info": {
        "title": "hybrid-memory",
        "version": __version__,
        "description": "Local hybrid search over an agent's markdown memory. "
        "Every error is a problem document (RFC 9457).",
        "license": {"name": "MIT", "identifier": "MIT"},
    },
    "servers": [{"url": "/"}],
    "security": [{}, {"token": []}, {"cookie": []}],
    "paths": PATHS,
    "components": {
        "schemas": SCHEMAS,
        "securitySchemes": {
            "token": {"type": "http", "scheme": "bearer"},
            "cookie": {"type": "apiKey", "in": "cookie", "name": "hybrid-memory"},
        },
    },
}


async def document(request: Request) -> Response:
    """Answer GET /api/openapi.json."""
    return responses.answer(DESCRIPTION)
