"""The OpenAPI document is valid, its examples work, and the server keeps what it promises."""

import re
from typing import Any
from urllib.parse import quote

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from openapi_spec_validator import OpenAPIV31SpecValidator

from hybrid_memory.extras.serve import openapi
from hybrid_memory.extras.serve.server import ROUTES
from tests.extras.serving import Client

METHODS = ("get", "put", "post", "delete")
OPERATIONS = [
    (method, path) for path, item in openapi.PATHS.items() for method in METHODS if method in item
]
SCHEMA = schemathesis.openapi.from_dict(openapi.DESCRIPTION)  # type: ignore[arg-type]


def test_the_document_is_valid_and_served(client: Client) -> None:
    found = client.json("/api/openapi.json")
    assert list(OpenAPIV31SpecValidator(found).iter_errors()) == []
    assert found["openapi"] == "3.1.0"


def test_every_address_of_the_api_is_described() -> None:
    routes = {
        (method.lower(), re.sub(r":any", "", route.path))
        for route in ROUTES
        for method in route.methods - {"HEAD"}
    }  # type: ignore[attr-defined]
    described = {*OPERATIONS, ("get", "/api/openapi.json")} - {
        ("get", f"/api/documents/{{id}}/{kind}") for kind in ("similar", "links")
    }  # kinds of document
    assert routes == described


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_its_examples_work(client: Client, method: str, path: str) -> None:
    operation = openapi.PATHS[path][method]
    parameters: dict[str, Any] = {
        each["name"]: each["example"] for each in operation["parameters"] if "example" in each
    }
    assert client.put_text("example", "# Atlas\n\nThe GPU server.").status_code == 201
    body = operation.get("requestBody", {"content": {"application/json": {"schema": {}}}})[
        "content"
    ]["application/json"]["schema"]
    example = openapi.SCHEMAS[body["$ref"].rpartition("/")[2]].get("example", {}) if body else None
    address = path.replace("{id}", "example")
    answer = client.request(method.upper(), address, params=parameters, json=example)
    assert str(answer.status_code) in operation["responses"]
    assert answer.status_code < 300, answer.text


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
@settings(
    max_examples=8, deadline=None, database=None, phases=[Phase.generate],
    suppress_health_check=[*HealthCheck],
)  # fmt: skip
@given(data=st.data())
def test_whatever_fits_or_does_not_fit_gets_a_described_answer(
    client: Client, method: str, path: str, data: st.DataObject
) -> None:
    case = data.draw(SCHEMA[path][method].as_strategy())
    answer = case.call(base_url=client.base)
    case.validate_response(answer, checks=CHECKS)


CHECKS = [
    schemathesis.checks.not_a_server_error,
    *schemathesis.checks.CHECKS.get_by_names(
        [
            "status_code_conformance",
            "content_type_conformance",
            "response_schema_conformance",
            "response_headers_conformance",
        ]
    ),
]


def test_an_id_may_have_line_breaks(client: Client) -> None:
    address = "/api/documents/a%0Ab"
    assert client.put(address, json={"text": "The GPU server."}).status_code == 201
    assert client.json(address)["doc_id"] == "a\nb"
    assert client.delete(address).status_code == 200


@given(doc_id=st.text(min_size=1, max_size=20))
@settings(max_examples=10, deadline=None, database=None, suppress_health_check=[*HealthCheck])
def test_any_id_gets_an_answer(client: Client, doc_id: str) -> None:
    answer = client.get(f"/api/documents/{quote(doc_id.encode('utf-8', 'replace'), safe='')}")
    assert answer.status_code in (200, 404)
