"""The command `demo`: a memory of a few notes and one session in a temporary folder, three searches,
and what `recall` adds to two prompts. It needs no server and leaves nothing behind.
"""

import json
import os
from argparse import Namespace
from collections.abc import Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import Any, TextIO

from ..search.request import request_of
from ..search.result import Result
from ..store import HybridStore
from ..surface.arguments import Parser, add_json, examples
from ..surface.quotes import markdown
from ..surface.streams import print_answer
from ..sync.ingest import Ingest
from .recall.passages import recalled
from .recall.state import RecallSession

NOTES = {
    "memory/2026-01-05.md": """\
# 2026-01-05

## Bakery
- The oven's service contract is with Halvorsen, 0800 555 010; the customer number is K-2291.
- Tove starts on Monday. She has the early shift from 4:30.

## Server
- The shop's server `atlas` has a new disk. SSH listens on port 2222.
""",
    "memory/2026-02-10.md": """\
# 2026-02-10

- The flour now comes from Berg Mill, every Tuesday before 6; the old mill closed.
- Decided: no deliveries on Sundays until summer.
""",
    "MEMORY.md": """\
# Memory

- I like short answers.
- The accountant is Priya; she wants the receipts by the third of each month.
""",
}
SAID = (
    ("user", "The rye bread was too dense again. What shall we change?"),
    (
        "assistant",
        "Let the dough rest for 90 minutes, at 26 degrees, and use 3 percent more water.",
    ),
)
QUERIES = ("Who repairs the oven?", "flour supplier", "why was the rye bread so heavy?")
PROMPTS = (
    "Write to our accountant that the receipts come later",
    "Rename the variable and run the tests again",
)
LIMIT = 2


def demo_options(parser: Parser) -> None:
    add_json(parser)
    examples(parser, "demo", "demo --json")


def run_demo(args: Namespace) -> int:
    with TemporaryDirectory() as folder:
        answer = _answer(folder)
    print_answer(args, answer, lambda stream: _show(answer, stream))
    return 0


def _answer(folder: str) -> dict[str, Any]:
    for name, text in NOTES.items():
        _write(os.path.join(folder, name), text)
    messages = [
        {"type": "message", "message": {"role": role, "content": text}} for role, text in SAID
    ]
    lines = [{"type": "session", "version": 3, "id": "demo"}, *messages]
    session = os.path.join(folder, "sessions", "demo.jsonl")
    _write(session, "".join(json.dumps(line) + "\n" for line in lines))
    with HybridStore(os.path.join(folder, "demo.db"), {"provider": "builtin"}) as store:
        Ingest(store).run([os.path.join(folder, "memory"), os.path.join(folder, "MEMORY.md")])
        Ingest(store, patterns=["*.jsonl"]).run([os.path.join(folder, "sessions")])
        request = request_of({"limit": LIMIT, "per_doc": 1}, store.config)
        searches = [
            {"query": query, "results": _plain(store.answer(query, request).results)}
            for query in QUERIES
        ]
        prompts = [
            {"prompt": prompt, "added": _plain(recalled(store, prompt, RecallSession("")))}
            for prompt in PROMPTS
        ]
        counts = store.stats()
    return {
        "documents": counts["doc_count"],
        "chunks": counts["chunk_count"],
        "searches": searches,
        "recall": prompts,
    }


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _plain(results: Sequence[Result]) -> list[dict[str, Any]]:
    """The results without the paths of files that are gone when they are printed."""
    return [{**result, "path": None} for result in results]


def _show(answer: Mapping[str, Any], stream: TextIO) -> None:
    print(
        f"A memory of {answer['documents']} documents, one of them a session with an agent, in a "
        "temporary folder.",
        file=stream,
    )
    for search in answer["searches"]:
        print(f'\n$ hybrid-memory search "{search["query"]}"\n', file=stream)
        markdown(search["results"], "", stream)
    print("\nWhat `recall` adds before an agent reads a prompt:", file=stream)
    for prompt in answer["recall"]:
        print(f'\n$ hybrid-memory recall "{prompt["prompt"]}"\n', file=stream)
        if prompt["added"]:
            markdown(prompt["added"], "", stream)
        else:
            print("(nothing: the notes say nothing about this)", file=stream)
    print("\nThe memory is gone again. For your own notes: hybrid-memory init", file=stream)
