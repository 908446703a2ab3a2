"""What each command costs before it does its work: its own modules, and instructions beside those of
a Python that imports what every such program needs.

    uv run benchmarks/start.py [--modules]

Valgrind counts the instructions, which do not depend on the load of the machine. A memory of 50
made-up notes is asked by the command; the reference is

    python -c "import sqlite3, argparse, json"

`--modules` also lists the modules of the package that each command imports.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import notes
from common import COMMAND, Row, environ, process, run

NOTES = 50
REFERENCE = ["-c", "import sqlite3, argparse, json"]
BEGIN = "from hybrid_memory.cli import entry_point; entry_point()"  # as an installed command does
IMPORTED = re.compile(r"^import time:[^|]*\|[^|]*\|\s*(hybrid_memory\S*)$", re.MULTILINE)


def commands(question: str, note: str) -> dict[str, tuple[list[str], str]]:
    """By name, the arguments and the standard input of a command."""
    return {
        "--version": (["--version"], ""),
        "search --mode keyword": (["search", question, "--mode", "keyword"], ""),
        "search --mode keyword --since": (
            ["search", question, "--mode", "keyword", "--since", "2020-01-01"],
            "",
        ),
        "search": (["search", question], ""),
        "search --also": (["search", question, "--also", "another wording"], ""),
        "search --since": (["search", question, "--since", "2020-01-01"], ""),
        "search --in": (["search", question, "--in", "memory/*"], ""),
        "list": (["list"], ""),
        "get": (["get", note], ""),
        "recall": (["recall", "--timeout", "60"], json.dumps({"prompt": f"{question}?"})),
        "update": (["update"], ""),
    }


def measure(args: Namespace) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        count = 8 if args.small else NOTES
        notes.write(top / "memory", count)
        variables = environ(PROVIDER="builtin", DB_PATH=str(top / "memory.db")) | {"HOME": name}
        process([*COMMAND, "--quiet", "ingest", "--path", str(top / "memory")], variables)
        [question] = notes.queries(1, count)
        reference = instructions(REFERENCE, "", variables, top)
        measured = commands(question, notes.path(1)).items()
        for named, (arguments, given) in islice(measured, 1 if args.small else None):
            own = ["-c", BEGIN, *arguments]
            found = modules(own, given, variables)
            if args.modules:
                print(f"{named}: {' '.join(found)}", file=sys.stderr)
            counted = instructions(own, given, variables, top)
            row: Row = {"command": named, "modules": len(found)}
            if counted and reference:
                row |= {
                    "million_instructions": counted / 1e6,
                    "times_the_reference": counted / reference,
                }
            yield row


def modules(arguments: list[str], given: str, variables: dict[str, str]) -> list[str]:
    """The modules of the package that a command imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        input=given, env=variables, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return IMPORTED.findall(done.stderr)


def instructions(
    arguments: list[str], given: str, variables: dict[str, str], folder: Path
) -> int | None:
    """The instructions of a process; None where valgrind is not installed. The first run compiles
    modules, the second is counted.
    """
    if not shutil.which("valgrind"):
        return None
    counted = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    subprocess.run([sys.executable, *arguments], input=given, env=variables, capture_output=True,
                   text=True, check=True)  # fmt: skip
    done = subprocess.run(
        [*counted, sys.executable, *arguments],
        input=given, env=variables, capture_output=True, text=True, check=True, cwd=folder,
    )  # fmt: skip
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if found is None:
        raise SystemExit(f"valgrind counted nothing: {done.stderr[-500:]}")
    return int(found[1].replace(",", ""))


if __name__ == "__main__":
    run(
        __doc__,
        "command",
        measure,
        ("--modules", {"action": "store_true", "help": "also list the modules"}),
    )
