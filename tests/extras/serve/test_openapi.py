"""The OpenAPI document is valid, its examples work, and the server keeps what it promises."""

from pathlib import Path
from typing import Any

import pytest
import requests
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hybrid_memory.extras.serve import openapi
from hybrid_memory.extras.serve.openapi import SCHEMAS
from hybrid_memory.extras.serve.routes import OPERATIONS as ROWS
from tests.command import Run
from tests.extras.serving import Client, served

DESCRIPTION = openapi.description(ROWS)
PATHS = DESCRIPTION["paths"]
OPERATIONS = [(method, path) for path, item in PATHS.items() for method in item]


def test_the_document_is_valid_and_served(reader: Client) -> None:
    from openapi_spec_validator import OpenAPIV31SpecValidator

    found = reader.json("/api/openapi.json")
    assert list(OpenAPIV31SpecValidator(found).iter_errors()) == []
    assert found["openapi"] == "3.1.0"


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_its_examples_work(client: Client, method: str, path: str) -> None:
    operation = PATHS[path][method]
    parameters: dict[str, Any] = {
        each["name"]: each["example"]
        for each in operation["parameters"]
        if each["in"] == "query" and "example" in each
    }
    assert client.put_text("example", "# Atlas\n\nThe GPU server.").status_code == 201
    body = operation.get("requestBody", {"content": {"application/json": {"schema": {}}}})[
        "content"
    ]["application/json"]["schema"]
    example = SCHEMAS[body["$ref"].rpartition("/")[2]].get("example", {}) if body else None
    address = path.replace("{id}", "example")
    answer = client.request(method.upper(), address, params=parameters, json=example)
    assert str(answer.status_code) in operation["responses"]
    if path.endswith("/image"):
        assert answer.status_code == 404  # a stored text has no folder
    else:
        assert answer.status_code < 300, answer.text


@pytest.fixture(scope="module")
def generator() -> Any:
    """It is imported where it is used only: that takes longer than these tests, in every worker."""
    import schemathesis

    return schemathesis


@pytest.fixture(scope="module")
def schema(generator: Any) -> Any:
    return generator.openapi.from_dict(DESCRIPTION)


CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
]


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
@settings(
    max_examples=8, deadline=None, database=None, phases=[Phase.generate],
    suppress_health_check=[*HealthCheck],
)  # fmt: skip
@given(data=st.data())
def test_whatever_fits_or_does_not_fit_gets_a_described_answer(
    generator: Any, schema: Any, reader: Client, method: str, path: str, data: st.DataObject
) -> None:
    case = data.draw(schema[path][method].as_strategy())
    answer = case.call(base_url=reader.base)
    case.validate_response(answer, checks=generator.checks.CHECKS.get_by_names(CHECKS))


def closed(schema: Any) -> Any:
    """The schema where an object has no other keys than those described."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: closed(part) for key, part in schema.items()}
    return {"additionalProperties": False} | parts if "properties" in parts else parts


def assert_described(answer: requests.Response, method: str, path: str) -> None:
    """The answer has all that its schema requires, and nothing that the schema does not name."""
    described = PATHS[path][method]["responses"][str(answer.status_code)]
    [media] = described["content"].values()
    components = {"schemas": closed(dict(SCHEMAS))}
    validator = Draft202012Validator({"components": components, **media["schema"]})
    assert [error.message for error in validator.iter_errors(answer.json())] == []


def test_answers_have_the_keys_that_are_described_and_no_others(
    client: Client, run: Run, folder: Path
) -> None:
    (folder / "linking.md").write_text("The server of [[meeting]] and of [[nothing]].\n")
    assert run("ingest", "--path", str(folder)).returncode == 0
    one = "/api/documents/{id}"
    for path, parameters in (
        ("/api/search", {"q": "server costs", "explain": "true", "marks": "true"}),
        ("/api/search", {"q": "server", "min_confidence": 1}),
        ("/api/search", {"q": "zebra", "collection": "nix", "mode": "vector"}),
        ("/api/search", {}),
        ("/api/documents", {}),
        ("/api/documents", {"limit": 0, "nix": 1}),
        ("/api/overview", {}),
        ("/api/status", {}),
        ("/api/doctor", {"thorough": "true"}),
    ):
        assert_described(client.get(path, params=parameters), "get", path)
    for kind in ("", "/similar", "/links"):
        answer = client.get(f"/api/documents/memory/linking.md{kind}")
        assert answer.status_code == 200
        assert_described(answer, "get", one + kind)
    assert_described(client.get("/api/documents/nix"), "get", one)
    assert_described(client.put_text("a", "A text."), "put", one)
    assert_described(client.put_text("a", "Another text."), "put", one)
    assert_described(client.put("/api/documents/a", json=[]), "put", one)
    assert_described(client.delete("/api/documents/a"), "delete", one)


def test_a_search_by_meaning_without_a_model_is_described(
    folder: Path, environ: dict[str, str]
) -> None:
    with served(environ | {"HYBRID_MEMORY_PROVIDER": "none"}) as client:
        answer = client.get("/api/search", params={"q": "server", "mode": "vector"})
        assert "no search by meaning" in answer.json()["unanswered"]
        assert_described(answer, "get", "/api/search")
        assert_described(client.get("/api/status"), "get", "/api/status")
