"""What an agent pays, and gets, for one call of this program and of others that search markdown.

    uv run benchmarks/peers.py COLLECTION [--qmd COMMAND] [--memsearch COMMAND]
        [--basic-memory COMMAND] [--ollama-url URL]

A collection is a folder with docs/ and queries.jsonl: {"id", "text", "conv" (the folder of docs/ that
is asked), "current": [[document, line], ...]}, such as tests/quality/updates. Where it has an
expect.json ({id: {"current": [patterns]}}), the sentence of the line that matches is the answer,
elsewhere the whole line.

A call is what an agent makes: a process of its own, or a call of the program's MCP server. All that it
prints counts. Of `questions`, so many have their answer in what is printed (`found`), in the first three
results, in the first 1,200 and 4,800 characters; and so many answers name a note that has it.
Nobody downloads a model: qmd searches by BM25, once for the whole question and once for its keywords;
basic-memory for its keywords, joined by OR; memsearch takes all-minilm of the Ollama at --ollama-url, as
hybrid-memory does in rows of its own. What is not named is left out. Each program has a home of its own.
"""

import argparse
import json
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from common import COMMAND, Row, environ, process, run

from hybrid_memory.extras.agent_text import OPTIONS
from hybrid_memory.text.languages import function_words

BUDGETS = (1200, 4800)
FIRST = 3
PASSAGES = "5"  # that qmd and memsearch print if nobody says a number
MODEL = "all-minilm"


class Asked(NamedTuple):
    """What a call printed, and its time."""

    text: str
    ms: float


class Question(NamedTuple):
    """A question, and texts of which each is an answer."""

    text: str
    folder: str
    answers: list[str]
    notes: list[str]

    @property
    def keywords(self) -> list[str]:
        """Return its words but those that every text has."""
        words = re.findall(r"\w[\w.-]*\w|\w", self.text)
        return [word for word in words if word.lower() not in function_words()["en"]]


class Tool(NamedTuple):
    """A program as an agent uses it: what takes a folder in, what asks, how a result begins."""

    name: str
    take_in: Callable[[Path], None]
    ask: Callable[[Question], Asked]
    result: str


class Server:
    """An MCP server on standard input and output, as the specification of 2025-06-18 has it."""

    def __init__(self, command: list[str], variables: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        client = {"name": "peers", "version": "1"}
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self._call("initialize", about)
        self._send({"method": "notifications/initialized"})

    def ask(self, tool: str, arguments: dict[str, Any]) -> Asked:
        """Call a tool."""
        began = time.perf_counter()
        answer = self._call("tools/call", {"name": tool, "arguments": arguments})
        spent = 1e3 * (time.perf_counter() - began)
        text = "".join(part.get("text", "") for part in answer["result"]["content"])
        return Asked(text, spent)

    def stop(self) -> None:
        """End the server."""
        self._process.kill()
        self._process.wait()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
        self._process.stdin.flush()

    def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdout
        self._send({"id": method, "method": method, "params": params})
        for line in self._process.stdout:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == method:
                return answer
        sys.exit("an MCP server ended")


def questions_of(collection: Path, most: int | None) -> Iterator[Question]:
    expected = collection / "expect.json"
    patterns = json.loads(expected.read_text("utf-8")) if expected.exists() else {}
    for line in (collection / "queries.jsonl").read_text("utf-8").splitlines()[:most]:
        query = json.loads(line)
        answers = []
        for name, number in query["current"]:
            text = (collection / "docs" / f"{name}.md").read_text("utf-8")
            wanted = patterns.get(query["id"], {}).get("current", [])
            answers.append(answer_in(text.split("\n")[number - 1], wanted))
        notes = [name for name, _ in query["current"]]
        yield Question(query["text"], query["conv"], answers, notes)


def answer_in(line: str, patterns: list[str]) -> str:
    """Return the sentence of a line that has an expected value, or all of it."""
    sentences = re.split(r"(?<=[.!?;])\s", line)
    for sentence in sentences:
        if any(re.search(pattern, sentence) for pattern in patterns):
            return plain(sentence)
    return plain(line)


def plain(text: str) -> str:
    """Return a text without quotation marks of markdown, escapes of JSON and line breaks."""
    text = text.replace("\\n", "\n").replace('\\"', '"')
    return " ".join(re.sub(r"(?m)^\s*>", "", text).split())


def judged(asked: Asked, question: Question, result: str) -> Row:
    """Return where in an answer the question is answered."""
    begins = [match.start() for match in re.finditer(result, asked.text, re.MULTILINE)]
    end_of_first = len(asked.text)
    if len(begins) > FIRST:
        end_of_first = begins[FIRST]
    ends = {"found": len(asked.text), "first_three": end_of_first}
    ends |= {f"first_{budget}": budget for budget in BUDGETS}
    row: Row = {"characters": len(asked.text), "ms": asked.ms}
    for name, end in ends.items():
        printed = plain(asked.text[:end])
        row[name] = any(answer in printed for answer in question.answers)
    row["named"] = any(note in asked.text for note in question.notes)
    return row


class Shell:
    """A program that is a process for each call, with a home of its own."""

    def __init__(self, command: str, home: Path, **variables: str) -> None:
        self.command = shlex.split(command)
        home.mkdir(exist_ok=True)
        self.variables = environ() | {"HOME": str(home)} | variables
        for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            self.variables.pop(name, None)

    def do(self, *arguments: str) -> None:
        """Run it for what it does."""
        subprocess.run(
            [*self.command, *arguments], env=self.variables, capture_output=True, check=True
        )

    def ask(self, *arguments: str) -> Asked:
        """Run it for what it prints."""
        spent = process([*self.command, *arguments], self.variables)
        return Asked(spent.output.decode(errors="replace"), 1e3 * spent.wall)


def ours(home: Path, name: str, *settings: str) -> Iterator[Tool]:
    database = str(home / f"{name}.db")
    shell = Shell(shlex.join(COMMAND), home)
    options = ["--quiet", "--db", database, *settings]
    within = ["--refresh", "--format", "md", "--floor", "0.25", "--budget"]

    def take_in(folder: Path) -> None:
        shell.do(*options, "ingest", "--path", str(folder))

    def ask(bounds: Sequence[str], question: Question) -> Asked:
        return shell.ask(*options, "search", question.text, *bounds)

    yield Tool(name, take_in, partial(ask, OPTIONS), r"^\*\*")
    for budget in (4000, 1200):
        bounds = [*within, f"{budget}"]
        yield Tool(f"{name}, {budget:,}", lambda folder: None, partial(ask, bounds), r"^\*\*")
    if name != "hybrid-memory":
        return
    server = Server([*shell.command, *options, "mcp"], shell.variables)

    def ask_server(question: Question) -> Asked:
        return server.ask("memory_search", {"query": question.text})

    yield Tool(f"{name}, MCP", lambda folder: None, ask_server, r"^\*\*")
    server.stop()


def qmd(command: str, home: Path) -> Iterator[Tool]:
    shell = Shell(command, home)

    def take_in(folder: Path) -> None:
        shell.do("collection", "add", str(folder), "--name", folder.name)

    def ask(words: str, question: Question) -> Asked:
        return shell.ask("search", words, "-n", PASSAGES, "-c", question.folder)

    yield Tool("qmd search", take_in, lambda each: ask(each.text, each), "^qmd://")
    yield Tool(
        "qmd search, keywords",
        lambda folder: None,
        lambda each: ask(" ".join(each.keywords), each),
        "^qmd://",
    )


def memsearch(command: str, home: Path, url: str) -> Iterator[Tool]:
    shell = Shell(command, home, OLLAMA_HOST=url)
    options = ["-p", "ollama", "-m", MODEL, "--milvus-uri", str(home / "milvus.db"), "-c", "notes"]

    def take_in(folder: Path) -> None:
        shell.do("index", str(folder), *options)

    def ask(question: Question) -> Asked:
        return shell.ask("search", question.text, "-k", PASSAGES, "--json-output", *options)

    yield Tool(f"memsearch, {MODEL}", take_in, ask, '^ *"chunk_hash"')


def basic_memory(command: str, home: Path) -> Iterator[Tool]:
    shell = Shell(command, home, BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED="false")

    def take_in(folder: Path) -> None:
        own = home / "docs" / folder.name  # it writes into the notes
        shutil.copytree(folder, own)
        shell.do("project", "add", folder.name, str(own))
        shell.do("reindex", "--search", "-p", folder.name)

    yield Tool("", take_in, lambda question: Asked("", 0.0), "")
    server = Server([*shell.command, "mcp"], shell.variables)

    def ask(question: Question) -> Asked:
        words = " OR ".join(f'"{word}"' for word in question.keywords)
        return server.ask("search_notes", {"query": words, "project": question.folder})

    yield Tool("basic-memory, keywords, MCP", lambda folder: None, ask, "^### |^[0-9]+[.] ")
    server.stop()


def tools(args: argparse.Namespace, home: Path) -> Iterator[Tool]:
    yield from ours(home, "hybrid-memory", "--provider", "builtin")
    if args.ollama_url:
        model = ["--provider", "ollama", "--ollama-url", args.ollama_url, "--model", MODEL]
        yield from ours(home, f"hybrid-memory, {MODEL}", *model)
    if args.qmd:
        yield from qmd(args.qmd, home / "qmd")
    if args.memsearch and args.ollama_url:
        yield from memsearch(args.memsearch, home / "memsearch", args.ollama_url)
    if args.basic_memory:
        yield from basic_memory(args.basic_memory, home / "basic-memory")


def measure(args: argparse.Namespace) -> Iterator[Row]:
    collection: Path = args.collection
    questions = list(questions_of(collection.resolve(), args.questions))
    folders = sorted({question.folder for question in questions})
    with tempfile.TemporaryDirectory() as top:
        for tool in tools(args, Path(top)):
            for folder in folders:
                tool.take_in(collection.resolve() / "docs" / folder)
            figures: dict[str, list[float]] = defaultdict(list)
            for question in questions if tool.name else ():
                for name, value in judged(tool.ask(question), question, tool.result).items():
                    figures[name].append(value)
            if figures:
                row: Row = {"tool": tool.name, "questions": len(questions)}
                row["characters"] = round(statistics.fmean(figures.pop("characters")))
                row["ms"] = round(statistics.median(figures.pop("ms")))
                yield row | {name: round(sum(values)) for name, values in figures.items()}


if __name__ == "__main__":
    run(
        __doc__,
        "tool",
        measure,
        ("collection", {"type": Path}),
        ("--qmd", {"metavar": "COMMAND"}),
        ("--memsearch", {"metavar": "COMMAND"}),
        ("--basic-memory", {"metavar": "COMMAND"}),
        ("--ollama-url", {"metavar": "URL"}),
        ("--questions", {"type": int, "metavar": "N", "help": "only the first N"}),
    )
