"""The OpenAPI 3.1 description of the API, from the rows of its operations."""

from collections.abc import Iterable

from ... import __version__
from ...options import Option
from .api import Operation
from .parameters import schema_of
from .schemas import SCHEMAS, Json, ref

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
    403: "This server is read-only, or it shows only a part of its memory.",
    404: "There is no such document.",
    409: "The document belongs to a file, or an update is running.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "A parameter, the query or the body is not valid.",
    503: "The database cannot be used now, or the server is busy or shutting down.",
}
ALWAYS = (401, 422, 503)
BASE: Json = {
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
    "components": {
        "schemas": SCHEMAS,
        "securitySchemes": {
            "token": {"type": "http", "scheme": "bearer"},
            "cookie": {"type": "apiKey", "in": "cookie", "name": "hybrid-memory"},
        },
    },
}


def description(operations: Iterable[Operation]) -> Json:
    """Describe these operations."""
    paths: Json = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = described(operation)
    return BASE | {"paths": paths}


def described(operation: Operation) -> Json:
    """Describe an operation."""
    parameters = [parameter(option) for option in operation.parameters.values()]
    if "{id}" in operation.path:
        parameters.insert(0, DOC_ID)
    may = {*ALWAYS, *operation.may} | ({403} if operation.writes or operation.reveals else set())
    answers: Json = {str(status): problem(status) for status in sorted(may)}
    if operation.schema:
        answers["200"] = {"description": "The answer."} | content(operation.schema)
    description: Json = {
        "operationId": operation.name,
        "summary": operation.respond.__doc__,
        "parameters": parameters,
        "responses": answers | dict(operation.answers),
    }
    if operation.body:
        description["requestBody"] = {"required": True} | content(operation.body)
    return description


def parameter(option: Option) -> Json:
    """Describe a parameter of the query string."""
    description: Json = {
        "name": option.name,
        "in": "query",
        "description": option.sentence(),
        "required": option.required,
        "schema": schema_of(option),
    }
    if option.name in EXAMPLES:
        description["example"] = EXAMPLES[option.name]
    return description


def problem(status: int) -> Json:
    """Describe the answer with this status, which has no body if it is 304."""
    if status == 304:
        return {"description": WHEN[status]}
    return {"description": WHEN[status]} | content("Problem", "application/problem+json")


def content(schema: str, media_type: str = "application/json") -> Json:
    return {"content": {media_type: {"schema": ref(schema)}}}
