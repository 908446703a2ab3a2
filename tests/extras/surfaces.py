"""One search on all surfaces: the command line, HTTP, MCP, Python and `why`, with random queries and any options of the table.

`serve/test_one_answer.py` tries a few, `benchmarks/one_answer.py` any number.
"""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st

from hybrid_memory import HybridStore, config
from hybrid_memory.errors import HybridMemoryError
from hybrid_memory.extras.mcp.tools import Tools
from hybrid_memory.options import COMMAND_LINE, HTTP, MCP, PAIR, PYTHON, SWITCH, Option
from hybrid_memory.search.request import OPTIONS
from hybrid_memory.storage.filters import FILTERS
from tests.command import in_process
from tests.extras.serving import Client, served, variables

NOTES = {
    "memory/2026-01-05.md": "---\ntags: [ops]\nowner: ann\nstatus: done\n---\n# Hosts\n\n## SSH\n\nThe ssh port of heron is 22.\n\n## Keys\n\nThe ssh keys of heron are with Ann.\n",
    "memory/2026-02-11.md": "# Hosts\n\nThe ssh port of heron is 222 now.\n\n- [ ] tell Jonas #ops\n",
    "memory/2026-03-09.md": "# Hosts\n\nThe ssh port of heron is 2222 now, see [[heron]].\n",
    "memory/heron.md": "---\naliases: [Fischreiher]\nowner: bob\n---\n# Heron\n\nThe host heron stands in the rack. Its ssh port is open. Lunch is at noon.\n",
    "memory/copy-a.md": "# Same\n\nThe gate code is 5512 and the spare key hangs in the garage.\n",
    "memory/copy-b.md": "# Same\n\nThe gate code is 5512 and the spare key hangs in the garage.\n",
    "work/lunch.md": "# Lunch\n\nSoup and bread, and on Fridays fish. The heron eats fish as well. Server läuft. 日本語のメモ。\n",
    "work/long.md": "# Ports\n\n"
    + "".join(
        f"## Part {n}\n\nThe harbour of part {n} has a port and a crane, a canoe, and no ssh.\n\n"
        for n in range(40)
    ),
    "work/table.md": "# Costs > 5\n\n| item | euro |\n|---|---|\n| disk | 40 |\n| fan | 9 |\n\n```\nERR_STOCK_MISMATCH in src/store.ts\n```\n",
}
WORDS = "ssh port heron host keys lunch fish harbour crane canoe part gate code spare key garage disk fan euro soup läuft 日本語 2222 which is the now".split()
OPERATORS = "tag:ops -tag:ops in:work path:memory date:2026-02 before:2026-03-01 after:2026-02 modified:7d status:done owner:ann -ssh OR".split()
WHOLE = ("", "  ", "-", "OR", '"', "ERR_STOCK_MISMATCH", "src/store.ts", '"spare key"', "kyes of hreon", "what happened last week", "'; drop table chunks", "port " * 100)  # fmt: skip
QUERIES = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join),
    st.lists(st.sampled_from([*WORDS, *OPERATORS]), min_size=1, max_size=4).map(" ".join),
    st.sampled_from(WHOLE),
)

# Texts to choose from, by the name of the option
TEXTS = {
    "collection": ("memory", "work", "decisions", "nosuch"),
    "in": ("memory", "work/*", "*2026-0*", "nosuch*"),
    "tag": ("ops", "#OPS", "nosuch"),
    "where": ("owner=ann", "owner=BOB", "status=done", "nosuch=x"),
    "heading": ("Costs > 5", "SSH", "nosuch"),
    "role": ("user", "nosuch"),
    "linked_to": ("heron", "nosuch"),
    "since": ("2026", "2026-02", "2026-02-11", "30d", "soon"),
    "until": ("2026-01", "2026-02", "2026-02-11", "1d", "2026-13"),
    "modified_since": ("7d", "2026-01-01", "2027"),
    "today": ("2026-02-12", "2026-03-10", "tomorrow"),
    "mode": ("hybrid", "keyword", "vector", "fuzzy"),
}
EVERY_OPTION = {option.name: option for option in (*OPTIONS.values(), *FILTERS.values())}
ELSEWHERE = {"typed", "rerank", "fts_syntax"}  # other queries, a server, and another syntax
MOST_ANSWERS = 60


def word_of(option: Option) -> st.SearchStrategy[str]:
    """A value of the option as it is written, and now and then one that is refused."""
    if option.name in TEXTS:
        return st.sampled_from(TEXTS[option.name])
    if option.kind is SWITCH:
        return st.just("true")
    if option.kind.json_type == "integer":
        most = 6000 if option.name == "budget" else MOST_ANSWERS
        return st.integers(int(option.least) - 1, most).map(str)
    if option.most == 1:
        return st.integers(0, 11).map(lambda tenths: str(tenths / 10))
    return st.sampled_from(("0", "1", "30", "365", "-1"))


def choices() -> st.SearchStrategy[dict[str, list[str]]]:
    """Up to three options, each with the words of its values."""
    names = st.sampled_from([name for name in EVERY_OPTION if name not in ELSEWHERE])
    return st.lists(names, max_size=3, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries(
            {name: words_of(EVERY_OPTION[name]) for name in chosen}
        )
    )


def words_of(option: Option) -> st.SearchStrategy[list[str]]:
    return st.lists(word_of(option), min_size=1, max_size=2 if option.repeated else 1)


def flags(option: Option, words: Sequence[str]) -> list[str]:
    """The option with its values on the command line."""
    flag = f"--{option.name.replace('_', '-')}"
    return [flag] if option.kind is SWITCH else [f"{flag}={word}" for word in words]


def value_of(option: Option, words: Sequence[str]) -> Any:
    """The value for Python and for MCP: a wrong word stays a text or becomes a number out of bounds."""
    if option.kind is PAIR:
        pairs = [word.split("=", 1) for word in words]
        return {key: [value for other, value in pairs if other == key] for key, _ in pairs}
    if option.repeated:
        return [*words]
    if option.kind.json_type == "boolean":
        return words[0] == "true"
    if option.kind.json_type in ("integer", "number"):
        return json.loads(words[0])
    return words[0]


class Answer(NamedTuple):
    """The results of one surface, or None if it refused the request."""

    results: Any
    told: str  # the reason of a refusal


class Surfaces:
    """A memory of the notes, and every way to search it."""

    def __init__(
        self, environ: Mapping[str, str], top: Path, client: Client, store: HybridStore
    ) -> None:
        self._environ = environ
        self._top = top
        self.client = client
        self.store = store
        settings = config.merge_layers((config.LIBRARY, {"provider": "builtin"}))

        def opened() -> HybridStore:
            return HybridStore(environ["HYBRID_MEMORY_DB_PATH"], {"provider": "builtin"})

        self._tools = Tools(opened, opened, settings, lambda path: {})

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        return in_process(args, self._environ, self._top)

    def by_command(self, query: str, chosen: Mapping[str, list[str]], *more: str) -> Answer:
        options = [
            word for name, words in chosen.items() for word in flags(EVERY_OPTION[name], words)
        ]
        done = self.run("search", f"--query={query}", *options, *more)
        assert "Traceback" not in done.stderr, done.stderr
        if done.returncode == 2 or (done.returncode == 1 and not done.stdout.strip()):
            return Answer(None, done.stderr)
        return Answer(done.stdout, done.stderr)

    def by_command_as_json(self, query: str, chosen: Mapping[str, list[str]]) -> Answer:
        answer = self.by_command(query, chosen, "--json", "--full")
        return answer if answer.results is None else Answer(json.loads(answer.results), "")

    def by_http(self, query: str, chosen: Mapping[str, list[str]]) -> Answer:
        given = [
            ("query", query),
            *((name, word) for name, words in chosen.items() for word in words),
        ]
        response = self.client.get("/api/search", params=given)
        assert response.status_code < 500, response.text
        if response.status_code != 200:
            return Answer(None, response.json()["detail"])
        return Answer(response.json()["results"], "")

    def by_python(self, query: str, chosen: Mapping[str, list[str]]) -> Answer:
        try:
            results = self.store.search(query, **values(chosen))
        except (HybridMemoryError, ValueError, TypeError) as error:
            return Answer(None, str(error))
        return Answer(json.loads(json.dumps(results)), "")

    def by_mcp(self, query: str, chosen: Mapping[str, list[str]]) -> Answer:
        answer = self._tools.call("memory_search", {"query": query, **values(chosen)})
        text = answer["content"][0]["text"]
        return Answer(None, text) if answer["isError"] else Answer(text, "")

    def why(self, doc_id: str, query: str) -> Any:
        done = self.run("why", "--json", "--", doc_id, query)
        assert "Traceback" not in done.stderr, done.stderr
        return json.loads(done.stdout)["search"]

    def check(self, query: str, chosen: Mapping[str, list[str]]) -> str:
        """Assert that all surfaces give one answer, or that all refuse the request. Return which of
        them it is: "answered", "empty" or "refused".
        """
        answers = {
            PYTHON: self.by_python(query, within(chosen, PYTHON)),
            COMMAND_LINE: self.by_command_as_json(query, chosen),
            HTTP: self.by_http(query, chosen),
        }
        expected = answers[PYTHON].results
        for surface, answer in answers.items():
            if "budget" in chosen and surface is COMMAND_LINE:  # counts what it prints
                assert (answer.results is None) == (expected is None), (surface, answers)
            else:
                assert settled(answer.results) == settled(expected), (surface, answer.told)
        self.check_mcp(query, within(chosen, MCP))
        if expected and not chosen:
            self.check_why(query, expected)
        if expected is None:
            return "refused"
        return "answered" if expected else "empty"

    def check_mcp(self, query: str, chosen: Mapping[str, list[str]]) -> None:
        """Assert that an agent gets the passages that the command line prints as markdown."""
        if not query.strip():
            return
        chosen = {"limit": ["10"], "budget": ["6000"], "floor": ["0"]} | dict(chosen)
        agent = self.by_mcp(query, chosen)
        printed = self.by_command(query, chosen, "--format=md", "--quiet")
        if printed.results is None and not printed.told.strip():
            printed = Answer("", "")
        assert (agent.results is None) == (printed.results is None), (agent, printed)
        if agent.results is not None and printed.results:
            assert passages(agent.results) == passages(printed.results)

    def check_why(self, query: str, results: Sequence[Mapping[str, Any]]) -> None:
        """Assert that `why` shows the ranks of the search."""
        first: dict[str, int] = {}
        for rank, result in enumerate(results, 1):
            first.setdefault(result["doc_id"], rank)
        for doc_id, rank in [*first.items()][:2]:
            explained = self.why(doc_id, query)
            assert (explained["rank"], explained["is_shown"]) == (rank, True), (doc_id, explained)
            assert explained["score"] == results[rank - 1]["score"]


def values(chosen: Mapping[str, list[str]]) -> dict[str, Any]:
    return {name: value_of(EVERY_OPTION[name], words) for name, words in chosen.items()}


def within(chosen: Mapping[str, list[str]], surface: str) -> dict[str, list[str]]:
    """The options that a surface has."""
    return {name: words for name, words in chosen.items() if surface in EVERY_OPTION[name].surfaces}


def settled(results: Any) -> Any:
    """Results without what differs from one search to the next: the times of an explanation."""
    if isinstance(results, dict):
        return {
            key: settled(value) for key, value in results.items() if key not in ("timings", "ms")
        }
    return [settled(item) for item in results] if isinstance(results, list) else results


def passages(markdown: str) -> str:
    """The passages alone, without the remarks in brackets."""
    lines = [
        line for line in markdown.splitlines() if not (line.startswith("[") and line.endswith("]"))
    ]
    return "\n".join(lines).strip()


@contextmanager
def surfaces(top: Path, notes: Mapping[str, str] = NOTES) -> Iterator[Surfaces]:
    """A memory of these notes, whose paths begin with a folder each, and of a stored text."""
    environ = variables(top)
    for name, text in notes.items():
        path = top / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        if path.stem == "lunch":
            os.utime(path, (1.5e9, 1.5e9))
    commands = [
        ("ingest", *sorted({str(top / Path(name).parts[0]) for name in notes})),
        ("store", "--doc-id", "decisions/ssh", "--text", "The ssh port of heron was decided in the kitchen.", "--metadata", "owner=Ann", "tags=ops"),
    ]  # fmt: skip
    for command in commands:
        done = in_process(command, environ, top)
        assert done.returncode == 0, done.stderr
    with (
        served(environ) as client,
        HybridStore(environ["HYBRID_MEMORY_DB_PATH"], {"provider": "builtin"}) as store,
    ):
        yield Surfaces(environ, top, client, store)
