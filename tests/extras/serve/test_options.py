"""Every option of a search on every surface that has it: it changes the answer, and everywhere alike."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore, config
from hybrid_memory.extras.mcp.definitions import TOOLS
from hybrid_memory.extras.mcp.tools import Tools
from hybrid_memory.extras.serve import parameters
from hybrid_memory.extras.serve.api import Operation
from hybrid_memory.extras.serve.routes import OPERATIONS
from hybrid_memory.options import COMMAND_LINE, HTTP, MCP, PYTHON, Option
from hybrid_memory.storage.filters import FILTERS
from hybrid_memory.surface.arguments import command_parser
from tests.command import Run
from tests.extras.serving import Client
from tests.extras.surfaces import EVERY_OPTION, Surfaces, surfaces

Chosen = dict[str, list[str]]

NOTES = {
    "2026-01-05.md": "---\ntags: [ops]\nowner: ann\n---\n# Hosts\n\n## SSH\n\nThe ssh port of heron is 22.\n\n"
    "## Keys\n\nThe ssh keys of heron are with Ann.\n",
    "2026-03-09.md": "# Hosts\n\nThe ssh port of heron is 2222 now, see [[heron]].\n",
    "heron.md": "# Heron\n\nThe host heron stands in the rack. Its ssh port is open. Lunch is at noon.\n",
    "boiler-old.md": "---\nsuperseded_by: boiler-new\n---\nThe boiler is serviced in May.\n",
    "boiler-new.md": "The boiler is serviced in September.\n",
    "lunch.md": "# Lunch\n\nSoup and bread, and on Fridays fish. The heron eats fish as well.\n",
    "talk.md": "User: What is the ssh port of heron?\n\nAssistant: It is closed.\n",
    "long.md": "# Ports\n\n" + "The harbour has a port and a crane, a canoe, and no ssh. " * 30,
}
QUERY = "ssh port of heron"

# For each option, a value as people type it, and a query whose answer it changes
CASES: dict[str, tuple[list[str], str]] = {
    "limit": (["1"], QUERY),
    "mode": (["keyword"], QUERY),
    "also": (["soup with bread", "what is for lunch"], QUERY),
    "context": (["1"], QUERY),
    "per_doc": (["1"], QUERY),
    "min_score": (["0.5"], QUERY),
    "min_confidence": (["0.4"], QUERY),
    "floor": (["0.9"], "heron bread crane rack zebra"),
    "stop": (["0.9"], QUERY),
    "half_life": (["3"], QUERY),
    "sort": (["date"], QUERY),
    "in_force": (["true"], "when is the boiler serviced"),
    "today": (["2026-01-06"], "what happened yesterday with heron?"),
    "budget": (["400"], QUERY),
    "explain": (["true"], QUERY),
    "exact": (["true"], QUERY),
    "fts_syntax": (["true"], "ssh NOT port"),
    "rerank": (["false"], QUERY),
    "typed": (["true"], "crane heron li"),
    "collection": (["decisions"], QUERY),
    "in": (["notes/2026-*"], QUERY),
    "tag": (["ops"], QUERY),
    "where": (["owner=ann"], QUERY),
    "since": (["2026-02"], QUERY),
    "until": (["2026-02"], QUERY),
    "modified_since": (["2026-01-01"], QUERY),
    "heading": (["Keys"], QUERY),
    "role": (["assistant"], QUERY),
    "linked_to": (["heron"], QUERY),
}
SAME_RESULTS = {
    "explain",  # says more of the same results
    "exact",  # gives what the index gives
    "rerank",  # there is no reranker here
}


@pytest.fixture
def folder(tmp_path: Path, run: Run) -> Path:
    """The notes, ingested: for what changes them."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    assert run("ingest", "--path", str(folder)).returncode == 0
    return folder


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surfaces]:
    """The notes and a stored text: for what only searches."""
    notes = {f"notes/{name}": text for name, text in NOTES.items()}
    with surfaces(tmp_path_factory.mktemp("options"), notes) as memory:
        yield memory


# As many results as elsewhere, whatever their confidence, and room for all of them
BY_AGENT = {"floor": ["0"], "budget": ["100000"], "limit": ["10"], "in_force": ["false"]}


def citations(memory: Surfaces, surface: str, query: str, chosen: Chosen) -> list[str]:
    if surface == MCP:
        passages = memory.by_mcp(query, BY_AGENT | chosen).results.split("\n")
        return [line.split("**")[1] for line in passages if line.startswith("**")]
    ask = {
        COMMAND_LINE: memory.by_command_as_json, HTTP: memory.by_http, PYTHON: memory.by_python
    }[surface]  # fmt: skip
    return [hit["citation"] for hit in ask(query, chosen).results]


@pytest.fixture(scope="module")
def plain(memory: Surfaces) -> Callable[[str], dict[str, list[str]]]:
    """What the surfaces find without an option."""
    return cache(
        lambda query: {
            surface: citations(memory, surface, query, {})
            for surface in (COMMAND_LINE, HTTP, PYTHON, MCP)
        }
    )


def starts(citations: list[str]) -> list[str]:
    """The places that were found: under a budget neighbours are joined, so that lines differ."""
    return [citation.partition("-L")[0] for citation in citations]


@pytest.mark.parametrize("option", EVERY_OPTION.values(), ids=EVERY_OPTION)
def test_an_option_changes_the_answer_and_on_every_surface_alike(
    option: Option, memory: Surfaces, plain: Callable[[str], dict[str, list[str]]]
) -> None:
    words, query = CASES[option.name]
    without = plain(query)
    found = {
        surface: citations(memory, surface, query, {option.name: words})
        for surface in option.surfaces
    }
    assert without[COMMAND_LINE] == without[HTTP] == without[PYTHON]
    for surface, cited in found.items():
        if option.name in SAME_RESULTS:
            assert cited == without[surface], surface
        else:
            assert cited != without[surface], surface
    # They count what is printed
    printed = {COMMAND_LINE, MCP} if option.name == "budget" else set()
    alike = [cited for surface, cited in found.items() if surface not in {*printed, MCP}]
    assert all(cited == alike[0] for cited in alike)
    if MCP in found and not printed:
        assert starts(found[MCP])[:1] == starts(alike[0])[:1]
        assert set(starts(found[MCP])) <= set(starts(alike[0]))


def test_every_option_has_a_case() -> None:
    assert CASES.keys() == EVERY_OPTION.keys()


def test_the_surfaces_have_the_options_of_the_table() -> None:
    def names(surface: str) -> set[str]:
        return {name for name, option in EVERY_OPTION.items() if surface in option.surfaces}

    flags = {flag.removeprefix("--").replace("-", "_") for flag in command_parser("search").flags()}
    assert names(COMMAND_LINE) <= flags
    of_http = {option.name for option in parameters.SEARCH.values()}
    assert of_http == names(HTTP) | {"query", "marks", "refresh"}
    assert set(TOOLS["memory_search"].takes) == names(MCP) | {"query"}
    assert set(TOOLS["memory_list"].takes) == {each.name for each in FILTERS.values()} | {"limit"}
    assert names(PYTHON) == EVERY_OPTION.keys()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"tags": "gpu"}, "tags: 'gpu' is not a list of texts"),
        ({"limt": 3}, "a search has no option 'limt'; did you mean limit?"),
        ({"tag": ["a"], "tags": ["b"]}, "tag is given twice, once as tags"),
    ],
)
def test_a_value_of_another_type_is_a_type_error(given: Mapping[str, Any], problem: str) -> None:
    with HybridStore(":memory:", {"provider": "none"}) as store:
        with pytest.raises(TypeError) as caught:
            store.search("x", **given)
        assert str(caught.value) == problem


def wrong(option: Option) -> str | None:
    """A word that is no value of the option; None if every word is one."""
    words = ("nosuch", "-1", "=", "a\0b", "0C")
    for word in words:
        try:
            option.parse(word)
        except ValueError:
            return word
    return None


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_parameter_is_described_and_checked_by_its_option(
    memory: Surfaces, operation: Operation
) -> None:
    client = memory.client
    path = operation.path.replace("{id}", "memory%2Fpi.md")
    described = client.json("/api/openapi.json")["paths"][operation.path][operation.method.lower()]
    for option in operation.parameters.values():
        [parameter] = [each for each in described["parameters"] if each["name"] == option.name]
        assert parameter["description"] == option.sentence()
        assert parameter["required"] is option.required
        of_word = parameter["schema"].get("items", parameter["schema"])
        assert of_word["type"] == option.kind.json_type
        word = wrong(option)
        assert word is not None
        with pytest.raises(ValueError, match=".") as caught:
            option.parse(word)
        required = [
            (other.name, "a.png")
            for other in operation.parameters.values()
            if other.required and other is not option
        ]
        for name in (option.name, *option.aliases):
            answer = client.request(operation.method, path, params=[*required, (name, word)])
            assert answer.status_code == 422
            assert answer.json()["errors"] == [
                {"parameter": option.name, "detail": str(caught.value)}
            ]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_unknown_and_repeated_parameters_are_refused(
    memory: Surfaces, operation: Operation
) -> None:
    path = operation.path.replace("{id}", "memory%2Fpi.md")
    given = [("nosuch", "1")]
    errors = {"nosuch": "unknown parameter"}
    for option in operation.parameters.values():
        if option.required:
            errors[option.name] = "missing"
        elif not option.repeated:
            given += [(option.name, "1"), (option.name, "1")]
            errors[option.name] = "given more than once"
    answer = memory.client.request(operation.method, path, params=given)
    assert answer.status_code == 422
    assert {each["parameter"]: each["detail"] for each in answer.json()["errors"]} == errors


@pytest.mark.parametrize(
    ("name", "word"), [("limit", "-1"), ("mode", "fuzzy"), ("half_life", "-1")]
)
def test_a_wrong_value_is_refused_with_the_same_words_everywhere(
    name: str, word: str, memory: Surfaces
) -> None:
    refusals = [
        ask("x", {name: [word]})
        for ask in (memory.by_python, memory.by_command_as_json, memory.by_http)
    ]
    assert [refusal.results for refusal in refusals] == [None] * 3
    by_python, *others = (refusal.told.replace("-1.0", "-1") for refusal in refusals)
    problem = by_python.partition(": ")[2]
    assert problem
    assert all(problem in told for told in others)


def test_the_page_filters_by_filters() -> None:
    script = Path(parameters.__file__).with_name("page") / "js" / "state.js"
    text = script.read_text("utf-8").partition("export const FILTERS = {")[2].partition("};")[0]
    keys = {line.partition(":")[0].strip(' \t"') for line in text.split("\n") if ":" in line}
    assert keys <= {option.name for option in FILTERS.values()}


# A value of each other parameter of HTTP and argument of MCP that changes the answer
OTHERS: dict[tuple[str, str], Any] = {
    ("search", "marks"): "true",
    ("search", "refresh"): "true",
    ("list", "limit"): 1,
    ("similar", "lines"): "13",
    ("similar", "limit"): 1,
    ("image", "target"): "b.png",
    ("read", "lines"): "3-4",
    ("read", "max_lines"): 1,
    ("read", "max_chars"): 10,
    ("doctor", "thorough"): "true",
    ("memory_get", "max_lines"): 1,
    ("memory_get", "budget"): 200,
    ("memory_list", "limit"): 1,
}
ELSEWHERE = {
    ("update", "all"),  # as of the command; see tests/sync/test_update.py
    ("memory_store", "metadata"),  # see test_arguments.py
    ("memory_store", "append"),
    ("memory_store", "replaces"),  # see ../test_mcp.py
    ("memory_note", "replaces"),
}


def taken() -> set[tuple[str, str]]:
    """The options of all operations and tools that are not those of a search or a list."""
    shared = {id(option) for option in EVERY_OPTION.values()}
    operations = {operation.name: operation.parameters for operation in OPERATIONS}
    tools = {name: tool.takes for name, tool in TOOLS.items()}
    return {
        (name, argument)
        for name, table in (operations | tools).items()
        for argument, option in table.items()
        if id(option) not in shared and (not option.required or name == "image")
    }


def test_every_parameter_and_argument_has_a_case() -> None:
    assert taken() == OTHERS.keys() | ELSEWHERE


PICTURE = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(("name", "argument"), OTHERS)
def test_no_parameter_is_accepted_and_ignored(
    folder: Path, run: Run, client: Client, environ: dict[str, str], name: str, argument: str
) -> None:
    for picture in ("a.png", "b.png"):
        (folder / picture).write_bytes(PICTURE + picture.encode())
    (folder / "heron.md").write_text(NOTES["heron.md"] + "\n![](a.png) ![](b.png)\n" * 20)
    assert run("update").returncode == 0
    (folder / "2026-03-09.md").write_text("The ssh port of heron is 2022.")  # for refresh
    value = OTHERS[name, argument]
    if name in TOOLS:

        def opened() -> HybridStore:
            return HybridStore(environ["HYBRID_MEMORY_DB_PATH"], {"provider": "builtin"})

        tools = Tools(opened, opened, config.merge_layers((config.LIBRARY, {})), lambda path: {})
        given = {"target": "notes/heron.md"} if name == "memory_get" else {}
        answers = [tools.call(name, given), tools.call(name, given | {argument: value})]
    else:
        [operation] = [operation for operation in OPERATIONS if operation.name == name]
        path = operation.path.replace("{id}", "notes%2Fheron.md")
        if name == "similar" and argument == "lines":
            path = path.replace("heron", "2026-01-05")
        required = {"query": QUERY} if name == "search" else {}
        plain = required | ({"target": "a.png"} if name == "image" else {})
        replies = [
            client.request(operation.method, path, params=params)
            for params in (plain, required | {argument: value})
        ]
        assert {reply.status_code for reply in replies} == {200}
        answers = [reply.content for reply in replies]
        if name != "image":
            answers = [
                {**reply.json(), "timings": None} if name != "doctor" else reply.json()
                for reply in replies
            ]
    assert answers[0] != answers[1]
