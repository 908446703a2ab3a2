"""What it costs to start: a search as a process of its own, beside a Python that imports what every
such program needs.

    uv run benchmarks/cold.py

A memory of 1,000 chunks (made-up notes, the built-in model) is searched by the command. Each search
is followed by

    python -c "import sqlite3, argparse, json"

and the figure is the median, over --pairs, of the ratio of their CPU times. All of Python and of
the package is compiled, except in the row "no bytecode": there the package is a copy that has
none, as a wheel that was just unpacked, and PYTHONDONTWRITEBYTECODE is set.
"""

import shutil
import statistics
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import notes
from common import COMMAND, ROOT, Row, Spent, environ, process, run

NOTES, PAIRS = 84, 60
REFERENCE = [sys.executable, "-c", "import sqlite3, argparse, json"]
SCRIPT = [
    sys.executable,
    "-c",
    "from hybrid_memory.cli import entry_point; entry_point()",
]  # as an installed command begins


def measure(args: Namespace) -> Iterator[Row]:
    pairs = 3 if args.small else args.pairs
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        notes.write(top / "memory", 8 if args.small else NOTES)
        variables = environ(PROVIDER="builtin", DB_PATH=str(top / "memory.db"))
        process([*COMMAND, "--quiet", "ingest", "--path", str(top / "memory")], variables)
        questions = notes.queries(pairs + 1, 8 if args.small else NOTES)
        for mode in ("keyword", "hybrid"):
            yield compare("compiled", mode, questions, variables)
        shutil.copytree(
            ROOT / "hybrid_memory",
            top / "site" / "hybrid_memory",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        bare = variables | {
            "PYTHONPATH": str(top / "site"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        yield compare("no bytecode", "keyword", questions, bare)


def compare(state: str, mode: str, questions: list[str], variables: dict[str, str]) -> Row:
    """The first pair does not count."""
    return row(state, mode, [pair(query, mode, variables) for query in questions][1:])


def pair(query: str, mode: str, variables: dict[str, str]) -> tuple[Spent, Spent]:
    return process([*SCRIPT, "search", query, "--mode", mode], variables), process(
        REFERENCE, variables
    )


def row(state: str, mode: str, pairs: list[tuple[Spent, Spent]]) -> Row:
    ours, theirs = zip(*pairs, strict=True)
    return {
        "state": state,
        "mode": mode,
        "cpu_ms": 1e3 * statistics.median(each.cpu for each in ours),
        "reference_cpu_ms": 1e3 * statistics.median(each.cpu for each in theirs),
        "times_the_reference": statistics.median(a.cpu / b.cpu for a, b in pairs),
    }


if __name__ == "__main__":
    run(
        __doc__,
        "state mode",
        measure,
        ("--pairs", {"type": int, "default": PAIRS, "help": "(default: %(default)s)"}),
    )
