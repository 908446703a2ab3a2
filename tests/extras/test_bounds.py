"""The bounds of a server: what no argument of a call widens, over MCP and HTTP."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from hybrid_memory import HybridStore
from hybrid_memory.config import merge_layers
from hybrid_memory.extras.mcp.tools import ProtocolError, Tools
from hybrid_memory.extras.serve.bounds import Bounds
from hybrid_memory.sync.ingest import Ingest
from tests.extras.run_async import connection, run_async
from tests.extras.serving import served

SETTINGS = {"provider": "builtin"}
WRITING = {"memory_store", "memory_note", "memory_delete", "memory_update"}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Notes of two agents, and a text that each stored."""
    for agent, animal in (("ann", "otter"), ("bob", "badger")):
        folder = tmp_path / agent
        folder.mkdir()
        (folder / "secret.md").write_text(f"# Secret\n\nThe password of {agent} is {animal}.\n")
        (folder / "index.md").write_text("# Index\n\nSee [[secret]].\n")
    path = tmp_path / "memory.db"
    with HybridStore(path, SETTINGS) as store:
        Ingest(store).run([str(tmp_path / "ann"), str(tmp_path / "bob")])
        store.store("ann/stored", "The password of the safe of ann is heron.")
        store.store("bob/stored", "The password of the safe of bob is magpie.")
    return path


def calls(database: Path, bounds: Bounds, *wanted: tuple[str, dict[str, Any]]) -> list[str]:
    """What a server with these bounds answers to calls, errors included; first the names of its tools."""
    answers: list[str] = []

    def opened() -> HybridStore:
        return HybridStore(database, SETTINGS)

    async def play() -> None:
        tools = Tools(opened, opened, merge_layers(("test", SETTINGS)), lambda path: {}, bounds)
        with anyio.fail_after(60):
            async with Client(connection(tools)) as client:
                listed = await client.list_tools()
                answers.append(" ".join(tool.name for tool in listed.tools))
                for name, arguments in wanted:
                    called = await client.call_tool(name, arguments)
                    answers.append(called.content[0].text)  # type: ignore[union-attr]

    run_async(play)
    return answers


ATTEMPTS: list[tuple[str, dict[str, Any]]] = [
    ("memory_search", {"query": "password of bob"}),
    ("memory_search", {"query": "password of bob", "collection": "bob"}),
    ("memory_search", {"query": "password of bob", "in": "bob/*"}),
    ("memory_search", {"query": "password of bob", "in": "*"}),
    ("memory_search", {"query": "password of bob", "linked_to": "bob/secret.md"}),
    ("memory_search", {"query": "badger magpie", "mode": "keyword"}),
    ("memory_get", {"target": "bob/secret.md"}),
    ("memory_get", {"target": "bob/secret.md#L1-L9"}),
    ("memory_get", {"target": "bob/stored"}),
    ("memory_get", {"target": "secret"}),
    ("memory_get", {"target": "secre"}),
    ("memory_list", {}),
    ("memory_list", {"collection": "bob"}),
    ("memory_list", {"in": "bob*"}),
    ("memory_list", {"linked_to": "bob/secret.md"}),
    ("memory_store", {"doc_id": "bob/new", "text": "x"}),
    ("memory_store", {"doc_id": "ann/copy", "text": "The password of the safe of bob is magpie."}),
    ("memory_search", {"query": "password", "tag": "nix"}),
    ("memory_list", {"where": {"nix": "x"}}),
    ("memory_delete", {"doc_id": "bob/stored"}),
    ("memory_update", {}),
    ("memory_status", {}),
]


@pytest.mark.parametrize(
    "bounds",
    [Bounds(collection="ann"), Bounds(inside="ann"), Bounds(inside="ann/*"), Bounds("ann", "ann*")],
)
def test_no_argument_of_a_tool_leads_out_of_the_bounds(database: Path, bounds: Bounds) -> None:
    _, *answers = calls(database, bounds, *ATTEMPTS)
    for (name, arguments), answered in zip(ATTEMPTS, answers, strict=True):
        told = answered
        for value in arguments.values():
            told = told.replace(str(value), "")  # what the caller wrote is no news to it
        assert not {"badger", "magpie", "bob/", "'bob'"} & set(told.split()), (name, arguments)
        assert "badger" not in told
        assert "magpie" not in told
        assert "bob/" not in told
    with HybridStore(database, SETTINGS) as store:
        ids = store.storage.catalog.ids()
    assert "bob/stored" in ids
    assert "bob/new" not in ids


@pytest.mark.parametrize("bounds", [Bounds(collection="ann"), Bounds(inside="ann")])
def test_all_within_the_bounds_is_there(database: Path, bounds: Bounds) -> None:
    _, found, stored, read, listed, written, removed = calls(
        database,
        bounds,
        ("memory_search", {"query": "password of ann"}),
        ("memory_search", {"query": "safe", "collection": "ann"}),
        ("memory_get", {"target": "ann/secret.md"}),
        ("memory_list", {}),
        ("memory_store", {"doc_id": "ann/new", "text": "The key is under the mat."}),
        ("memory_delete", {"doc_id": "ann/new"}),
    )
    assert "otter" in found
    assert "heron" in stored
    assert "otter" in read
    assert "[3 of 3 documents]" in listed
    assert "stored ann/new" in written
    assert "deleted ann/new" in removed


@pytest.mark.parametrize("bounds", [Bounds(collection="ann"), Bounds(inside="ann")])
def test_resources_and_the_prompt_are_within_the_bounds(database: Path, bounds: Bounds) -> None:
    def opened() -> HybridStore:
        return HybridStore(database, SETTINGS)

    tools = Tools(opened, opened, merge_layers(("test", SETTINGS)), lambda path: {}, bounds)
    listed = {resource["name"] for resource in tools.resources()["resources"]}
    assert listed == {"ann/secret.md", "ann/index.md", "ann/stored"}
    [content] = tools.resource("memory:///ann/secret.md")["contents"]
    assert "otter" in content["text"]
    with pytest.raises(ProtocolError, match="no document 'bob/secret.md'"):
        tools.resource("memory:///bob/secret.md")
    [message] = tools.prompt("recall", {"about": "password of bob"})["messages"]
    assert "badger" not in message["content"]["text"]
    names = {definition["name"] for definition in tools.definitions}
    assert "memory_note" not in names


def test_a_server_that_is_read_only_has_no_tool_that_writes(database: Path) -> None:
    names, found = calls(
        database, Bounds(read_only=True), ("memory_search", {"query": "password of bob"})
    )
    assert not WRITING & set(names.split())
    assert "badger" in found


def test_without_bounds_a_stored_text_is_of_the_collection_of_its_id(database: Path) -> None:
    _, listed = calls(database, Bounds(), ("memory_list", {"collection": "bob"}))
    assert "bob/stored" in listed
    assert "ann/" not in listed


@pytest.fixture
def environ(database: Path, tmp_path: Path) -> dict[str, str]:
    return {
        "HOME": str(tmp_path),
        "HYBRID_MEMORY_DB_PATH": str(database),
        "HYBRID_MEMORY_PROVIDER": "builtin",
    }


@pytest.mark.parametrize("options", [("--collection", "ann"), ("--in", "ann"), ("--in", "ann/*")])
def test_no_request_leads_out_of_the_bounds(
    environ: dict[str, str], options: tuple[str, str]
) -> None:
    with served(environ, *options) as client:
        for url in (
            "/api/search?q=password",
            "/api/search?q=badger&in=bob/*",
            "/api/search?q=badger&in=*&refresh=true",
            "/api/search?q=badger&collection=bob",
            "/api/search?q=badger&linked_to=secret",
            "/api/search?q=badger&linked_to=bob/secret.md",
            "/api/documents",
            "/api/documents?in=*",
            "/api/documents?collection=bob",
            "/api/documents/bob/secret.md",
            "/api/documents/bob/stored",
            "/api/documents/ann/secret.md/similar",
            "/api/documents/bob/secret.md/similar",
            "/api/documents/ann/secret.md/links",
            "/api/documents/bob/secret.md/links",
            "/api/overview",
            "/api/status",
            "/api/doctor",
        ):
            told = client.get(url).text.replace(url.partition("?")[0], "")
            told = told.replace("no document 'bob/", "").replace("collection 'bob'", "")
            assert "magpie" not in told, url
            assert "badger" not in told.replace("=badger", ""), url
            assert "bob/" not in told, url
        assert client.put_text("bob/new", "x").status_code == 409
        assert client.delete("/api/documents/bob/stored").status_code == 404
        assert client.post("/api/update").status_code == 403
        assert client.json("/api/documents")["total"] == 3
        assert client.json("/api/overview")["status"]["doc_count"] == 3
        assert client.json("/api/documents/ann/secret.md")["doc_id"] == "ann/secret.md"
        assert client.put_text("ann/new", "x").status_code == 201


def test_a_read_only_server_writes_nothing(environ: dict[str, str], database: Path) -> None:
    with served(environ, "--read-only") as client:
        assert client.put_text("bob/new", "x").status_code == 403
        assert client.delete("/api/documents/bob/stored").status_code == 403
        assert client.post("/api/update").status_code == 403
        assert client.json("/api/documents/bob/stored")["doc_id"] == "bob/stored"
    with HybridStore(database, SETTINGS) as store:
        assert store.stats()["doc_count"] == 6
