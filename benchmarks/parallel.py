# /// script
# requires-python = ">=3.11"
# dependencies = ["requests", "starlette", "uvicorn"]
# ///
"""Parallel calls of one memory, by commands and through one `hybrid-memory serve`: `uv run
benchmarks/parallel.py [--calls 10000] [--workers 8] [--commands .1]`.

Each worker stores, appends to, reads, searches and deletes texts, edits a file and updates, and writes
notes. The texts and the file are its own, so that each answer is known; the daily note, the index
and the database are shared. At the end every text, file and line must be in the memory, and
`doctor --thorough` must find no problem. A wrong answer, a traceback, a failed call or a lost
document is printed, and the exit status is 1.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests
from common import COMMAND, environ, reported

TOPICS = "boiler valve harbour tide ledger violin lamp fuse oak heron".split()
KINDS = {"search": 30, "get": 25, "store": 20, "append": 8, "delete": 4, "update": 5, "note": 3}
WHOLE = ("--max-lines", "100000", "--max-chars", "10000000")
BUSY = 409  # another update is running


class Memory:
    """A workspace, its database, and a server."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.folder = top / "memory"
        self.folder.mkdir()
        (top / "config.json").write_text("{}")
        self.variables = environ(
            CONFIG=str(top / "config.json"), DB_PATH=str(top / "memory.db"), PROVIDER="builtin"
        )
        (self.folder / "first.md").write_text("# First\n\nThe first note.\n")
        self.command("ingest", "--path", str(self.folder))
        self.errors = (top / "server.txt").open("w+")
        self.server = subprocess.Popen(
            [*COMMAND, "serve", "--port", "0"],
            env=self.variables,
            cwd=top,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        assert self.server.stdout
        self.url = self.server.stdout.readline().strip() + "api/"

    def command(self, *args: str) -> Any:
        """The answer of a command. Raises AssertionError for an error or a traceback."""
        done = subprocess.run(
            [*COMMAND, *args], env=self.variables, cwd=self.top, capture_output=True, text=True
        )
        assert done.returncode == 0, (args[0], done.returncode, done.stdout[-500:], done.stderr)
        assert "Traceback" not in done.stderr, done.stderr
        return json.loads(done.stdout)

    def stop(self) -> str:
        """Stop the server; return what it wrote to its standard error."""
        self.server.terminate()
        self.server.communicate()
        self.errors.seek(0)
        return self.errors.read()


class Worker:
    """Makes calls and compares each answer with what this worker has written."""

    def __init__(self, memory: Memory, number: int, share: float) -> None:
        self.texts: dict[str, str] = {}
        self.words: dict[str, str] = {}  # id -> a word that no other document has
        self.lines: list[str] = []  # of the daily note
        self.file = memory.folder / f"file{number}.md"
        self.done: Counter[str] = Counter()
        self.failures: list[str] = []
        self._memory = memory
        self._number = number
        self._share = share
        self._chance = random.Random(number)
        self._planted = 0
        self._http = requests.Session()

    def work(self, calls: int) -> None:
        for _ in range(calls):
            [kind] = self._chance.choices(list(KINDS), list(KINDS.values()))
            if kind in ("get", "append", "delete", "search") and not self.texts:
                kind = "store"
            way = "command" if self._chance.random() < self._share else "HTTP"
            if kind == "note":
                way = "command"
            try:
                getattr(self, kind)(way)
            except (AssertionError, requests.RequestException, ValueError) as error:
                self.failures.append(f"{kind} by {way}: {error!r}")
            self.done[f"{kind} by {way}"] += 1

    def store(self, way: str) -> None:
        doc_id = f"w{self._number}/{self._chance.randrange(12)}"
        text = f"# {self._chance.choice(TOPICS)}\n\n" + "\n\n".join(
            " ".join(self._chance.choices(TOPICS, k=40))
            for _ in range(self._chance.randrange(1, 6))
        )
        word = self._plant()
        self._put(way, doc_id, f"{text}\n\n{word}", append=False)
        self.texts[doc_id], self.words[doc_id] = f"{text}\n\n{word}", word

    def append(self, way: str) -> None:
        doc_id = self._pick()
        word = self._plant()
        self._put(way, doc_id, word, append=True)
        self.texts[doc_id], self.words[doc_id] = f"{self.texts[doc_id]}\n\n{word}", word

    def get(self, way: str) -> None:
        doc_id = self._pick()
        if way == "HTTP":
            answer = self._ask("GET", f"documents/{quote(doc_id, safe='')}")
        else:
            answer = self._memory.command("get", doc_id)
        assert answer["text"] == self.texts[doc_id], f"{doc_id} has another text"

    def search(self, way: str) -> None:
        doc_id = self._pick()
        found = self._found(way, self.words[doc_id])
        assert found[:1] == [doc_id], f"{self.words[doc_id]} of {doc_id} is not first: {found}"

    def delete(self, way: str) -> None:
        doc_id = self._pick()
        if way == "HTTP":
            self._ask("DELETE", f"documents/{quote(doc_id, safe='')}")
        else:
            self._memory.command("delete", "--doc-id", doc_id)
        del self.texts[doc_id]
        word = self.words.pop(doc_id)
        assert doc_id not in self._found(way, word), f"{doc_id} is found after its deletion"

    def update(self, way: str) -> None:
        word = self._plant()
        self.file.write_text(f"# File\n\n{' '.join(self._chance.choices(TOPICS, k=60))} {word}\n")
        if way == "HTTP":
            reply = self._http.post(self._memory.url + "update", stream=True)
            body = reply.text
            if reply.status_code == BUSY:
                return
            assert reply.status_code == 200, body
            assert "event: report" in body, body[-500:]
        else:
            self._memory.command("update")
        found = self._found(way, word)
        assert f"memory/{self.file.name}" in found, f"{word} of {self.file.name} is not found"

    def note(self, way: str) -> None:
        word = self._plant()
        self._memory.command("note", f"A note with {word}.", "--dir", str(self._memory.top))
        self.lines.append(word)

    def _pick(self) -> str:
        return self._chance.choice(sorted(self.texts))

    def _plant(self) -> str:
        self._planted += 1
        return f"planted{self._number}x{self._planted}x"

    def _put(self, way: str, doc_id: str, text: str, *, append: bool) -> None:
        if way == "HTTP":
            body = {"text": text, "append": append}
            self._ask("PUT", f"documents/{quote(doc_id, safe='')}", json=body)
        else:
            self._memory.command(
                "store", "--doc-id", doc_id, "--text", text, *["--append"] * append
            )

    def _found(self, way: str, word: str) -> list[str]:
        mode = self._chance.choice(("keyword", "hybrid"))
        if way == "HTTP":
            results = self._ask("GET", f"search?q={word}&mode={mode}")["results"]
        else:
            results = self._memory.command("search", word, "--mode", mode, "--json")
        return [result["doc_id"] for result in results if word in result["text"]]

    def _ask(self, method: str, path: str, **body: Any) -> Any:
        reply = self._http.request(method, self._memory.url + path, timeout=120, **body)
        assert reply.ok, (method, path, reply.status_code, reply.text[:300])
        return reply.json()


def lost(memory: Memory, workers: list[Worker]) -> list[str]:
    """What is not in the memory, or not as it was written, after a last update."""
    memory.command("update")
    problems = []
    expected: dict[str, str] = {}
    for worker in workers:
        expected |= worker.texts
        if worker.file.exists():
            expected[f"memory/{worker.file.name}"] = worker.file.read_text()
    todays_note = memory.folder / f"{date.today()}.md"
    noted = todays_note.read_text() if todays_note.exists() else ""
    if noted:
        expected[f"memory/{todays_note.name}"] = noted
    written = re.findall(r"planted\w+", noted)
    lines = [line for worker in workers for line in worker.lines]
    if sorted(written) != sorted(lines):
        problems.append(f"the daily note has {len(written)} lines instead of {len(lines)}")
    answer = memory.command("list", "--limit", "100000", "--json")
    listed = {row["doc_id"] for row in answer["documents"]} - {"memory/first.md"}
    if listed != expected.keys():
        problems.append(f"documents differ: {sorted(listed ^ expected.keys())}")
    found = memory.command("get", *sorted(listed & expected.keys()), *WHOLE)
    problems += [
        f"{document['doc_id']} has another text"
        for document in found
        if document["text"].rstrip() != expected[document["doc_id"]].rstrip()
    ]
    memory.command("doctor", "--thorough")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=8, help="calls at the same time")
    parser.add_argument(
        "--commands", type=float, default=0.1, help="the share of calls that are commands"
    )
    parser.add_argument("--small", action="store_true", help="24 calls by two workers")
    args = parser.parse_args()
    if args.small:
        args.calls, args.workers = 24, 2
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as top:
        memory = Memory(Path(top))
        workers = [Worker(memory, number, args.commands) for number in range(args.workers)]
        try:
            with ThreadPoolExecutor(args.workers) as threads:
                list(threads.map(lambda worker: worker.work(args.calls // args.workers), workers))
        finally:
            said = memory.stop()
        failures = [failure for worker in workers for failure in worker.failures]
        if "Traceback" in said:
            failures.append(f"the server: {said[-2000:]}")
        try:
            failures += lost(memory, workers)
        except AssertionError as error:
            failures.append(f"at the end: {error}")
    done = sum((worker.done for worker in workers), Counter[str]())
    counts = ", ".join(f"{count:,} {name}" for name, count in sorted(done.items()))
    print(f"{done.total():,} calls in {time.monotonic() - began:.0f} s: {counts}")
    return reported(failures)


if __name__ == "__main__":
    sys.exit(main())
