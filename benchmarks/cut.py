"""Where an answer should end: what is left of ten results, by the share `stop` of the best score.

    uv run benchmarks/cut.py COLLECTION... [--queries 150]

A collection is as for benchmarks/answers.py; where queries have "current" and "outdated" lines
([document, line]), these are the judged ones. For each share: the *results* that are left and their
*characters*; *kept*, the share of the questions with a right passage among the ten that still have
one; and *bearing*, the share of the results that are right. A result is right if it has a judged
line, or, without judged lines, if its document is judged right.

`AGENT_STOP` in hybrid_memory/search/result.py keeps a right passage for every question that is also
asked in two other wordings, and for 98 % of the others.
"""

import argparse
import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import common

from hybrid_memory import HybridStore
from hybrid_memory.search.request import Request
from hybrid_memory.storage.filters import Filters
from hybrid_memory.sync.ingest import Ingest

STOPS = (0.0, 0.2, 0.25, 0.3, 0.4, 0.5)
Json = dict[str, Any]
Place = tuple[str, int | None]  # a document, and a line or None


def judged(collection: Path) -> tuple[list[Json], dict[str, set[Place]]]:
    """The queries, and the places that are right for each of them."""
    queries = [json.loads(line) for line in lines(collection / "queries.jsonl")]
    right: dict[str, set[Place]] = defaultdict(set)
    for query in queries:
        places = query.get("current", []) + query.get("outdated", [])
        right[query["id"]] |= {(document(name), line) for name, line in places}
    if (collection / "turns.jsonl").exists():
        turns = {turn["id"]: turn for turn in map(json.loads, lines(collection / "turns.jsonl"))}
        for line in lines(collection / "qrels_turns.tsv"):
            query_id, turn_id = line.split("\t")[:2]
            if turn_id in turns:
                turn = turns[turn_id]
                right[query_id].add((document(turn["doc"]), turn["line"]))
    elif not any(right.values()):
        for line in lines(collection / "qrels.tsv"):
            query_id, name, grade = line.split("\t")
            if float(grade) > 0:
                right[query_id].add((document(name), None))
    return [query for query in queries if right[query["id"]]], right


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").strip("\n").split("\n")


def document(name: str) -> str:
    return name.removeprefix("docs/").removesuffix(".md")


def is_right(result: Any, right: set[Place]) -> bool:
    name = document(result["doc_id"])
    return any(
        place == name and (line is None or result["start_line"] <= line <= result["end_line"])
        for place, line in right
    )


def measure(args: argparse.Namespace) -> Iterator[common.Row]:
    collections = args.collections or [common.CHECKOUT / "tests/quality/updates"]
    for collection in collections:
        yield from measured(collection, 10 if args.small else args.queries, args.provider)


def measured(collection: Path, count: int, provider: str) -> Iterator[common.Row]:
    queries, right = judged(collection)
    random.Random(1).shuffle(queries)
    queries = queries[:count]
    sums: dict[float, list[int]] = {stop: [0, 0, 0, 0] for stop in STOPS}
    with tempfile.TemporaryDirectory() as scratch:
        for conv in sorted({query.get("conv", "") for query in queries}):
            with HybridStore(f"{scratch}/{conv}.db", {"provider": provider}) as store:
                docs = collection / "docs"
                folder = (docs if docs.exists() else collection / "notes") / conv
                Ingest(store).run([str(folder)], conv or "docs")
                for query in queries:
                    if query.get("conv", "") == conv:
                        count_answers(store, query, right[query["id"]], sums)
    answered = sums[0.0][2] or 1
    for stop, (results, characters, kept, bearing) in sums.items():
        yield {
            "collection": collection.name,
            "stop": f"{stop:g}",
            "results": results / len(queries),
            "characters": characters / len(queries),
            "kept": kept / answered,
            "bearing": bearing / max(results, 1),
        }


def count_answers(
    store: HybridStore, query: Json, right: set[Place], sums: dict[float, list[int]]
) -> None:
    """Add the results, characters, questions with a right passage and right passages of a query."""
    filters = None
    if own := query.get("own"):
        day = date.fromisoformat(own.split("/")[-1][:10])
        filters = Filters(until=str(day - timedelta(days=1)))
    for stop, counts in sums.items():
        results = store.answer(query["text"], Request(10, stop=stop, filters=filters)).results
        found = sum(is_right(result, right) for result in results)
        characters = sum(len(result["text"]) for result in results)
        for place, value in enumerate((len(results), characters, bool(found), found)):
            counts[place] += value


if __name__ == "__main__":
    common.run(
        __doc__,
        "collection stop",
        measure,
        ("collections", {"nargs": "*", "type": Path}),
        ("--queries", {"type": int, "default": 150, "help": "drawn at random (seeded)"}),
        ("--provider", {"default": "builtin"}),
    )
