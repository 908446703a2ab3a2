"""Time a keyword search three ways: `uv run benchmarks/keyword_search.py DOCS --queries
questions.jsonl`.

    all words     every word of the query, OR, ranked by bm25 no pruning    the terms that
    hybrid-memory searches for; every row that matches gets a score ranked        FTSIndex.ranked,
    which scores the rows of rare terms first, and those of common terms only if they may matter

DOCS is a folder of markdown or text files; without it, notes are made up (benchmarks/notes.py). The
table in docs/measurements.md was made with a collection of documentation. The files are put into a
store in a temporary folder again and again, until it has --rows chunks. In the copies, one word in
seven is replaced by another word of the same files (seeded), so that no two chunks are equal and
words stay as frequent as they are. Each question is the "text" of a line of JSON. Without
--queries, the questions are headings of the files.

The three ways take turns, query by query, in one process, so that a noisy machine affects all of
them equally. The time is that of one search for 100 rows. "same" is the share of queries whose
first ten rows are those of the search without pruning.
"""

import json
import random
import re
import statistics
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path

import notes
from common import Row, run, spread_of

from hybrid_memory import HybridStore
from hybrid_memory.documents.document import Document
from hybrid_memory.storage.fts_expressions import match_expression
from hybrid_memory.storage.sqlite.keyword import SEARCH, FTSIndex
from hybrid_memory.text.analyzer import searchable
from hybrid_memory.text.query import Query

LIMIT = 100  # rows that a search of the store asks for
SEED = 7
NOTES = 2000  # made-up ones
VARIED = 1 / 7  # share of the words of a copy that are replaced
PATTERNS = ("*.md", "*.rst", "*.txt")
WORD = re.compile(r"\w+")
HEADING = re.compile(r"^#{1,3} +(\S.*)$", re.MULTILINE)

Search = Callable[[str], list[tuple[int, float]]]


def documents(folder: Path) -> list[tuple[str, str]]:
    """The files as (path below the folder, text)."""
    paths = sorted(path for pattern in PATTERNS for path in folder.rglob(pattern) if path.is_file())
    return [
        (path.relative_to(folder).as_posix(), path.read_text("utf-8", errors="replace"))
        for path in paths
    ]


def copies(originals: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The documents, followed by copies of them without end."""
    yield from ((f"0/{path}", text) for path, text in originals)
    rng = random.Random(SEED)
    words = [word for _, text in originals for word in WORD.findall(text)]

    def vary(match: re.Match[str]) -> str:
        return rng.choice(words) if rng.random() < VARIED else match[0]

    number = 1
    while words:
        yield from ((f"{number}/{path}", WORD.sub(vary, text)) for path, text in originals)
        number += 1


def fill(store: HybridStore, originals: list[tuple[str, str]], rows: int) -> int:
    count = 0
    for doc_id, text in copies(originals):
        prepared = store.prepare(Document(doc_id, text, {}))
        with store.storage.transaction():
            store.storage.documents.put(prepared)
        count += len(prepared.chunks)
        if count >= rows:
            break
    return count


def questions(path: Path | None, originals: list[tuple[str, str]], count: int) -> list[str]:
    if path:
        found = [json.loads(line)["text"] for line in path.read_text("utf-8").splitlines()]
    else:
        found = sorted({heading for _, text in originals for heading in HEADING.findall(text)})
    return random.Random(SEED).sample(found, min(count, len(found)))


def sides(store: HybridStore) -> dict[str, Search]:
    index = FTSIndex(store.storage.connection)

    def scored(expression: str) -> list[tuple[int, float]]:
        return (
            store.storage.connection.execute(
                SEARCH.format(rows=""), {"expression": expression, "also": "[]", "limit": LIMIT}
            ).fetchall()
            if expression
            else []
        )

    return {
        "all words": lambda query: scored(
            " OR ".join(f'"{word}"' for word in dict.fromkeys(searchable(query).split()))
        ),
        "no pruning": lambda query: scored(match_expression(Query(query).limited_terms)),
        "ranked": lambda query: index.ranked(Query(query), LIMIT).ranking,
    }


def compare(searches: dict[str, Search], asked: list[str]) -> Iterator[Row]:
    seconds: dict[str, list[float]] = {side: [] for side in searches}
    first: dict[str, list[list[int]]] = {side: [] for side in searches}
    for query in asked:
        for side, search in searches.items():
            began = time.perf_counter()
            found = search(query)
            seconds[side].append(time.perf_counter() - began)
            first[side].append([id for id, _ in found[:10]])
    slowest = statistics.median(seconds["all words"])
    for side, taken in seconds.items():
        same = statistics.fmean(
            a == b for a, b in zip(first[side], first["no pruning"], strict=True)
        )
        yield {
            "side": side,
            **spread_of(taken),
            "times_as_fast": slowest / statistics.median(taken),
            "same_share": same,
        }


def measure(args: Namespace) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        if args.docs is None:
            args.docs = Path(folder) / "notes"
            notes.write(args.docs, 20 if args.small else NOTES)
        originals = documents(args.docs)
        asked = questions(args.queries, originals, 10 if args.small else args.count)
        path = args.db or f"{folder}/store.db"
        made = Path(path).exists()
        with HybridStore(path, {"provider": "none"}) as store:
            if not made:
                fill(store, originals, 300 if args.small else args.rows)
            yield from compare(sides(store), asked)


if __name__ == "__main__":
    run(
        __doc__,
        "side",
        measure,
        (
            "docs",
            {"nargs": "?", "type": Path, "metavar": "DOCS", "help": "(default: made-up notes)"},
        ),
        (
            "--queries",
            {
                "type": Path,
                "metavar": "FILE",
                "help": 'JSON lines with "text" (default: headings of the files)',
            },
        ),
        (
            "--count",
            {"type": int, "default": 150, "help": "number of questions to ask (default: 150)"},
        ),
        (
            "--rows",
            {"type": int, "default": 100_000, "help": "minimum number of chunks (default: 100000)"},
        ),
        ("--db", {"help": "keep the store here, or measure the one that is here"}),
    )
