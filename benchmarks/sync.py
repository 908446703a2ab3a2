"""Time what a heartbeat does: `uv run benchmarks/sync.py` ingests 5,000 made-up notes, then again,
each time in its own process.

    nothing      --incremental, with no file changed
    one          --incremental, with one file changed
    again        all files once more, without --incremental
    search       one keyword search
    refresh      the same with --refresh, which looks at every file
    start        Python, and importing the command

Nothing is embedded, because that would measure the model. The first ingest is what
benchmarks/ingest.py measures. `times_the_start` is the CPU time in proportion to that of the start.
"""

import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import notes
from common import COMMAND, Row, environ, process, run

NOTES = 5000
REPEATED = 3


def measure(args: Namespace) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top) / "memory"
        notes.write(folder, 20 if args.small else args.notes)
        variables = environ(PROVIDER="none", DB_PATH=f"{top}/memory.db")
        ingest = [*COMMAND, "--quiet", "ingest", "--path", str(folder)]
        process(ingest, variables)
        search = [*COMMAND, "search", notes.queries(1, 20)[0], "--mode", "keyword"]
        commands = {
            "start": [sys.executable, "-c", "import hybrid_memory.cli"],
            "nothing": [*ingest, "--incremental"],
            "one": [*ingest, "--incremental"],
            "again": ingest,
            "search": search,
            "refresh": [*search, "--refresh"],
        }
        start = 0.0
        for name, command in commands.items():
            if name == "one":
                with (folder / notes.path(0)).open("a") as file:
                    file.write("\nOne more line.\n")
            spent = min(
                (
                    process(command, variables)
                    for _ in range(1 if name in ("one", "again") else REPEATED)
                ),
                key=lambda s: s.cpu,
            )
            start = start or spent.cpu
            yield {
                "command": name,
                "wall_s": spent.wall,
                "cpu_s": spent.cpu,
                "times_the_start": spent.cpu / start,
            }


if __name__ == "__main__":
    run(
        __doc__,
        "command",
        measure,
        ("--notes", {"type": int, "default": NOTES, "help": "(default: %(default)s)"}),
    )
