"""What answers cost and what is in them: `uv run python benchmarks/answers.py COLLECTION...
[--queries 50]`.

A collection is a folder with docs/, queries.jsonl ({"id", "text"}, perhaps "conv", "own") and,
where lines are judged, turns.jsonl ({"id", "doc", "line"}) and qrels_turns.tsv (query, turn,
grade). Queries with "conv" are asked in a memory of that folder alone. Those with "own" are turns
of that document, and only notes of earlier days are searched.

Everything that is printed counts: brackets, keys, citations, line breaks. For each form: its
characters, the share of them that are passages, and E@1000 and E@4000, the share of a query's
judged lines that stand in the results of which every character is among the first 1,000 or 4,000.
`json` and `md` have --limit results; `budget` forms are asked for as many characters. A line counts
as found if a result has it; in a result with ellipses a part of the line must be there.

With --tools the sizes of the texts that an agent reads once are printed, too: the list of MCP
tools, SKILL.md.
"""

import argparse
import io
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from hybrid_memory import HybridStore
from hybrid_memory.search.request import Request
from hybrid_memory.search.result import lean
from hybrid_memory.storage.filters import Filters
from hybrid_memory.surface import output

ROOT = Path(__file__).resolve().parents[1]
BUDGETS = (1000, 4000)
FORMS = ("full", "json", "md", "json --budget", "md --budget", "mcp")
Turn = tuple[str, int]  # document, line
Result = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collections", nargs="*", type=Path)
    parser.add_argument("--queries", type=int, default=50, help="drawn at random (seeded); 0: all")
    parser.add_argument("--limit", type=int, default=5, help="of the forms without a budget")
    parser.add_argument("--provider", default="builtin")
    parser.add_argument("--databases", type=Path, help="keep the databases in this folder")
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--tools", action="store_true")
    args = parser.parse_args()
    if args.tools:
        tools()
    with tempfile.TemporaryDirectory() as scratch:
        for collection in args.collections:
            measure(collection, args, args.databases or Path(scratch))


def measure(collection: Path, args: argparse.Namespace, databases: Path) -> None:
    queries = [
        json.loads(line) for line in (collection / "queries.jsonl").read_text("utf-8").splitlines()
    ]
    wanted = judged_lines(collection)
    if wanted:
        queries = [query for query in queries if query["id"] in wanted]
    random.Random(1).shuffle(queries)
    queries = queries[: args.queries or None]
    rows: dict[str, list[tuple[int, int, list[float]]]] = defaultdict(list)
    for conv in sorted({query.get("conv", "") for query in queries}):
        database = databases / f"{collection.name}{conv and '-'}{conv}.db"
        if not database.exists():
            folder = collection / "docs" / conv
            command = [
                sys.executable,
                "-m",
                "hybrid_memory",
                "--quiet",
                "--db",
                str(database),
                "--provider",
                args.provider,
            ]
            subprocess.run(
                [*command, "ingest", "--path", str(folder)], check=True, stdout=subprocess.DEVNULL
            )
        with HybridStore(database, {"provider": args.provider}) as store:
            for query in (query for query in queries if query.get("conv", "") == conv):
                for form in args.forms.split(","):
                    rows[form].append(
                        answered(store, query, form, args.limit, wanted.get(query["id"], []))
                    )
    print(
        f"\n{collection.name}: {len(queries)} queries\n{'form':16}{'characters':>11}{'passages':>10}",
        end="",
    )
    print("".join(f"{f'E@{budget}':>9}" for budget in BUDGETS) if wanted else "")
    for form, figures in rows.items():
        size = statistics.fmean(row[0] for row in figures)
        share = statistics.fmean(row[1] / row[0] for row in figures if row[0])
        print(f"{form:16}{size:11.0f}{share:10.3f}", end="")
        print(
            "".join(
                f"{statistics.fmean(row[2][i] for row in figures):9.4f}"
                for i in range(len(BUDGETS))
            )
            if wanted
            else ""
        )


def answered(
    store: HybridStore, query: Result, form: str, limit: int, turns: list[Turn]
) -> tuple[int, int, list[float]]:
    """Characters of the answer, those that are of passages, and the share of the turns within each
    budget.
    """
    filters = None
    if own := query.get("own"):
        day = date.fromisoformat(own.split("/")[-1][:10])
        filters = Filters(until=str(day - timedelta(days=1)))
    name, _, is_budget = form.partition(" --")
    if not is_budget and form != "mcp":
        results = store.answer(query["text"], Request(limit, filters=filters)).results
        deep = store.answer(query["text"], Request(60, filters=filters)).results if turns else []
        found = (
            [evidence(within(deep, name, query["text"], budget), turns) for budget in BUDGETS]
            if turns
            else []
        )
        return len(printed(name, results, query["text"])), passages(results), found
    found = []
    for budget in BUDGETS if turns else BUDGETS[-1:]:
        wanted = output.budget(budget, "md" if form == "mcp" else name, query["text"])
        results = store.answer(
            query["text"], Request(wanted.pool, filters=filters, budget=wanted)
        ).results
        text = printed("md" if form == "mcp" else name, results, query["text"])
        assert len(text) <= budget, (form, budget, query["id"])
        found.append(evidence(results, turns) if turns else 0.0)
    size = (
        len(
            json.dumps(
                {"content": [{"type": "text", "text": text}], "isError": False}, ensure_ascii=False
            )
        )
        if form == "mcp"
        else len(text)
    )
    return size, passages(results), found


def passages(results: list[Result]) -> int:
    return sum(len(result["text"]) for result in results)


def printed(name: str, results: list[Result], query: str) -> str:
    paper = io.StringIO()
    form = "json" if name == "full" else name
    output.FORMATS[form](
        list(map(lean, results)) if name in ("json", "jsonl") else results, query, paper
    )
    return paper.getvalue()


def within(results: list[Result], name: str, query: str, budget: int) -> list[Result]:
    """The results of which everything that is printed, up to their end, is among the first
    characters.
    """
    count, used = 0, 0
    for count, result in enumerate(results):
        used += len(printed(name, [result], query)) - (3 if name in ("full", "json") else 0)
        if used + (2 if name in ("full", "json") else 0) > budget:
            return results[:count]
    return results


def evidence(results: list[Result], turns: list[Turn]) -> float:
    found = {turn for turn in turns for result in results if has(result, turn)}
    return len(found) / len(turns)


def has(result: Result, turn: Turn) -> bool:
    name, line = turn
    if (
        document(result["doc_id"]) != document(name)
        or not result["start_line"] <= line <= result["end_line"]
    ):
        return False
    if "…" not in result["text"] or not result["path"]:
        return True
    whole = Path(result["path"]).read_text("utf-8").split("\n")[line - 1]
    parts = (part.strip() for piece in result["text"].split("…") for part in piece.split("\n"))
    return any(len(part) > 10 and part in whole for part in parts)


def document(name: str) -> str:
    return name.removeprefix("docs/").removesuffix(".md")


def judged_lines(collection: Path) -> dict[str, list[Turn]]:
    if not (collection / "turns.jsonl").exists():
        return {}
    turns = {
        turn["id"]: (turn["doc"], turn["line"])
        for turn in map(json.loads, lines_of(collection / "turns.jsonl"))
    }
    wanted: dict[str, list[Turn]] = defaultdict(list)
    for line in lines_of(collection / "qrels_turns.tsv"):
        query, turn = line.split("\t")[:2]
        if turn in turns:
            wanted[query].append(turns[turn])
    return wanted


def lines_of(path: Path) -> Iterator[str]:
    yield from path.read_text("utf-8").strip("\n").split("\n")


def tools() -> None:
    """Sizes of what an agent reads once."""
    from hybrid_memory.extras.agent_text import mcp_instructions
    from hybrid_memory.extras.mcp.definitions import TOOLS

    listed = [tool.definition(name) for name, tool in TOOLS.items()]
    sizes = {
        "SKILL.md": len((ROOT / "SKILL.md").read_text("utf-8")),
        "MCP tool list": len(json.dumps(listed, separators=(",", ":"), ensure_ascii=False)),
        "MCP instructions": len(mcp_instructions(writes_notes=True)),
    }
    for name, size in sizes.items():
        print(f"{name:20}{size:6}")


if __name__ == "__main__":
    main()
