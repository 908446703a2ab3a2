"""Arguments as models and forms write them, and schemas that all hosts accept."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from hybrid_memory import HybridStore, config
from hybrid_memory.extras.mcp.definitions import TOOLS
from hybrid_memory.extras.mcp.tools import Tools
from hybrid_memory.extras.serve import parameters
from hybrid_memory.options import COUNT, DATE, NUMBER, PAIR, SWITCH, TEXT, Option
from tests.extras.serving import Client

QUERY = "heron port"
BOTH = {"ops/heron", "lunch/heron"}
OPS = {"ops/heron"}

# What a model writes for memory_search, and the documents that it means
SEARCHES: list[tuple[dict[str, Any], set[str]]] = [
    ({"tag": "[]"}, BOTH),
    ({"where": {}}, BOTH),
    ({"limit": "null"}, BOTH),
    ({"limit": "", "collection": "", "in": "", "tag": [], "where": {}, "since": "", "until": "", "role": ""}, BOTH),
    ({"tag": ["host"]}, OPS),
    ({"tag": '["host"]'}, OPS),
    ({"tag": ['["host"]']}, OPS),
    ({"tags": '["host", ""]'}, OPS),
    ({"where": '{"status": "open"}'}, OPS),
    ({"where": "status=open"}, OPS),
    ({"where": '["status=open"]'}, OPS),
    ({"where": [{"status": "open"}, {"year": 2026}]}, OPS),
    ({"where": {"year": 2026}}, OPS),
    ({"collection": ["ops"]}, OPS),
    ({"since": 2026, "collection": "ops"}, OPS),
    ({"limit": 1.0}, {"lunch/heron"}),
    ({"limit": [1]}, {"lunch/heron"}),
    ({"floor": "0", "budget": "250t"}, BOTH),
    ({"also": '["lunch bird", "bird at noon"]'}, BOTH),
    ({"mode": ["keyword"]}, BOTH),
    ({"query": 2222}, OPS),
]  # fmt: skip


@pytest.fixture
def tools(environ: dict[str, str]) -> Tools:
    settings = config.merge_layers((config.LIBRARY, {"provider": "builtin"}))

    def opened() -> AbstractContextManager[HybridStore]:
        return HybridStore(environ["HYBRID_MEMORY_DB_PATH"], {"provider": "builtin"})

    with opened() as store:
        metadata = {"tags": ["host"], "status": "open", "year": 2026, "date": "2026-02-03"}
        store.store("ops/heron", "The port of the host heron is 2222.", metadata)
        store.store("lunch/heron", "The heron eats fish at the port.", {"date": "2025-01-01"})
    return Tools(opened, opened, settings, lambda path: {})


def said(tools: Tools, name: str, arguments: dict[str, Any]) -> str:
    answer = tools.call(name, arguments)
    assert not answer["isError"], answer["content"][0]["text"]
    return str(answer["content"][0]["text"])


def found(text: str) -> set[str]:
    return {line.split("**")[1].partition("#")[0] for line in text.split("\n") if line[:2] == "**"}


def test_a_search_is_read_as_the_model_means_it(tools: Tools) -> None:
    for name in TOOLS["memory_search"].takes.keys() - {"query"}:
        for empty in ("", None, []):
            given = {"query": QUERY, "floor": 0, "stop": 0} | {name: empty}
            assert found(said(tools, "memory_search", given)) == BOTH, (name, empty)
    for arguments, expected in SEARCHES:
        given = {"query": QUERY, "floor": 0, "stop": 0} | arguments
        assert found(said(tools, "memory_search", given)) == expected, arguments


TEXT_OF_ALL = {"doc_id": "a", "text": "The crane."}
# Arguments of the other tools, and a part of the answer
CALLS: list[tuple[str, dict[str, Any], str]] = [
    *(
        ("memory_get", {"target": "ops/heron", name: value}, "2222")
        for name in ("max_lines", "budget")
        for value in ("", None, [], "1000.0", [1000], "null")
    ),
    *(
        ("memory_list", {name: empty}, "[2 of 2 documents]")
        for name in ("limit", "collection", "in", "tag", "where", "since", "role", "linked_to")
        for empty in ("", None, [])
    ),
    ("memory_list", {"limit": "1"}, "[1 of 2 documents]"),
    ("memory_list", {"tag": '["host"]'}, "[1 of 1 documents]"),
    ("memory_list", {"where": '{"status": "open"}'}, "[1 of 1 documents]"),
    ("memory_list", {"where": "status=open"}, "[1 of 1 documents]"),
    ("memory_list", {"since": 2026}, "[1 of 1 documents]"),
    ("memory_delete", {"doc_id": ["ops/heron"]}, "deleted ops/heron"),
    *(
        ("memory_store", TEXT_OF_ALL | {"append": value}, "stored a")
        for value in ("", None, "True", "false", True, [])
    ),
    *(("memory_store", TEXT_OF_ALL | {"metadata": value}, "stored a") for value in ("", None, [])),
    ("memory_store", {"doc_id": 7, "text": "The crane."}, "stored 7"),
]  # fmt: skip


def test_a_call_is_read_as_the_model_means_it(tools: Tools) -> None:
    for name, arguments, part in CALLS:
        assert part in said(tools, name, arguments), (name, arguments)


def test_metadata_are_stored_as_the_model_means_them(
    tools: Tools, client: Client, environ: dict[str, str]
) -> None:
    for metadata in (
        {"owner": "ann", "ports": [80, 443]},
        '{"owner": "ann", "ports": [80, 443]}',
        '["owner=ann", "ports=[80, 443]"]',
        [{"owner": "ann"}, {"ports": [80, 443]}],
    ):
        said(tools, "memory_store", TEXT_OF_ALL | {"metadata": metadata})
        with HybridStore(environ["HYBRID_MEMORY_DB_PATH"], {"provider": "builtin"}) as store:
            [hit] = store.search("crane", limit=1)
        assert hit["metadata"] == {"owner": "ann", "ports": [80, 443]}, metadata
        assert client.put_text("b", "The otter.", metadata=metadata).status_code < 300
        assert client.json("/api/documents/b")["metadata"] == hit["metadata"], metadata


def test_empty_metadata_keep_the_present_ones(tools: Tools) -> None:
    for empty in ("", None, []):
        said(tools, "memory_store", {"doc_id": "ops/heron", "text": "New.", "metadata": empty})
        assert "1 of 1" in said(tools, "memory_list", {"where": {"status": "open"}})
    said(tools, "memory_store", {"doc_id": "ops/heron", "text": "New.", "metadata": {}})
    assert "0 of 0" in said(tools, "memory_list", {"where": {"status": "open"}})


@pytest.mark.parametrize(
    ("option", "value", "problem"),
    [
        (Option(COUNT, "", most=5), "6", "6 is more than 5"),
        (Option(COUNT, ""), [1, 2], r"\[1, 2\] is not a whole number"),
        (Option(NUMBER, ""), "NaN", "nan is not a number"),
        (Option(SWITCH, ""), "yes", "'yes' is not true or false"),
        (Option(SWITCH, ""), "1", "1 is not True or False"),
        (Option(DATE, ""), "soon", "soon"),
        (Option(TEXT, "", choices=("a", "b")), "c", "'c' is not one of a, b"),
        (Option(TEXT, "", repeated=True, most=1), '["a", "b"]', "2 values are more than 1"),
        (Option(TEXT, "", repeated=True), {"a": 1}, "is not a text"),
        (Option(PAIR, "", repeated=True), "open", "'open' is not KEY=VALUE"),
        (Option(PAIR, "", repeated=True), [5], "5 is not KEY=VALUE"),
        (Option(PAIR, "", repeated=True), '{"a": {"b": 1}}', "must be a text, a number or a list"),
    ],
)  # fmt: skip
def test_a_value_that_means_nothing_is_refused(option: Option, value: Any, problem: str) -> None:
    with pytest.raises((TypeError, ValueError), match=problem):
        option.read(value)


def test_an_empty_field_of_a_form_is_no_filter(client: Client) -> None:
    def citations(*more: tuple[str, str]) -> list[str]:
        answer = client.get("/api/search", params=[("query", "circumference"), *more])
        assert answer.status_code == 200
        return [hit["citation"] for hit in answer.json()["results"]]

    expected = citations()
    assert expected
    for option in parameters.SEARCH.values():
        if option.kind is not SWITCH and option.name != "query":
            assert citations((option.name, "")) == expected, option.name


# A filter that no document meets, and what is said of it
UNMET = [
    ("collection", "nosuch", "there is no collection 'nosuch'"),
    ("in", "nosuch/*", "no id is like 'nosuch/*'"),
    ("tag", "nosuch", "no document has the tag 'nosuch'"),
    ("where", "nosuch=1", "no document has 'nosuch' in its metadata"),
    ("where", "status=shut", "no document has 'shut' as its 'status'"),
    ("heading", "nosuch", "no passage is below the heading 'nosuch'"),
    ("role", "assistant", "no conversation has a passage of the assistant"),
    ("linked_to", "ops/heron", "no document links to 'ops/heron'"),
    ("since", "2099", "no document has a date of 2099 or later"),
    ("until", "1999", "no document has a date of 1999 or earlier"),
    ("modified_since", "2099", "no file changed on 2099 or later"),
]


def test_a_filter_that_no_document_meets_is_named(
    tools: Tools, client: Client, environ: dict[str, str]
) -> None:
    with HybridStore(environ["HYBRID_MEMORY_DB_PATH"], {"provider": "builtin"}) as store:
        for name, value, problem in UNMET:
            for tool, arguments in (("memory_search", {"query": QUERY}), ("memory_list", {})):
                text = said(tools, tool, arguments | {name: value})
                assert f"[warning: {problem}" in text
                assert "Nothing found" not in text
            for path, query in (("/api/search", [("query", QUERY)]), ("/api/documents", [])):
                answer = client.get(path, params=[*query, (name, value)]).json()
                assert [line for line in answer["warnings"] if line.startswith(problem)]
                assert answer.get("hint") is None
            given: Any = [value] if name == "tag" else value
            if name == "where":
                given = dict([value.split("=")])
            assert store.search(QUERY, **{name: given}) == []
            assert [line for line in store.warnings if line.startswith(problem)]


def test_every_filter_that_may_be_unmet_has_a_case() -> None:
    names = set(TOOLS["memory_list"].takes) - {"limit"}
    assert {name for name, _, _ in UNMET} == names


# --- the published rules of the strictest hosts

# Gemini: the fields of the object Schema of a function declaration, a subset of OpenAPI 3.0
GEMINI = {
    "type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required",
    "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf", "propertyOrdering",
    "default", "items", "minimum", "maximum",
}  # fmt: skip
TYPES = {"string", "number", "integer", "boolean", "array", "object"}
# OpenAI: the keywords of a schema in strict mode
OPENAI = {
    "type", "description", "enum", "const", "anyOf", "properties", "required", "additionalProperties", "items",
    "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems",
    "maxItems",
}  # fmt: skip


def parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for part in (*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])):
        yield from parts(part)


SCHEMAS = [
    pytest.param(tool.definition(name)["inputSchema"], id=name) for name, tool in TOOLS.items()
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_schemas_are_function_declarations_of_gemini(schema: dict[str, Any]) -> None:
    for part in parts(schema):
        assert part.keys() <= GEMINI
        assert part["type"] in TYPES
        assert ("items" in part) == (part["type"] == "array")
        assert part.get("properties", {"": {}}), "not empty for an object"
        assert part is schema or part["type"] != "object", "an object would need properties"
        assert set(part.get("required", ())) <= part.get("properties", {}).keys()
        assert "enum" not in part or part["type"] == "string"
        assert all(part.get("enum", ["a"]))


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_schemas_fit_the_strict_mode_of_openai(tools: Tools, schema: dict[str, Any]) -> None:
    """OpenAI closes the objects of a schema and requires all properties; a model then fills in all."""
    assert all(part.keys() <= OPENAI for part in parts(schema))
    assert all(part is schema or part["type"] != "object" for part in parts(schema))
    assert len(json.dumps(schema)) < 120_000
    assert sum(len(part.get("enum", ())) for part in parts(schema)) <= 1000
