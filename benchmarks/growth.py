"""Time ingest and searches as a memory grows tenfold: `uv run benchmarks/growth.py`.

The notes are made up (benchmarks/notes.py) and embedded by the built-in model. For each size: the
ingest by the command, with the CPU time and the memory of all its processes; the size of the notes
and of the database; and for keyword, vector and hybrid searches with questions of which no two are
the same

    cold    each search is a process of its own
    warm    in one process with an open store, after searches that do not count

in ms, and the peak of the warm process's resident set (Linux). The files are in the operating
system's cache. With --folder the databases stay there, with the figures of their ingest, and are
not made a second time.
"""

import json
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import notes
from common import COMMAND, Row, environ, process, run, size_of, spread_of

PER_NOTE = 9.9  # chunks, about
MODES = "keyword", "vector", "hybrid"
COLD, WARM, BEFORE = 30, 200, 20  # searches; those before the warm ones do not count

IN_PROCESS = """
import json, sys, time
from hybrid_memory import HybridStore
database, mode, uncounted, queries = json.loads(sys.stdin.readline())
taken = []
with HybridStore(database, {"provider": "builtin"}) as store:
    for query in queries:
        wall, cpu = time.perf_counter(), time.process_time()
        found = store.search(query, mode=mode)
        taken.append((time.perf_counter() - wall, time.process_time() - cpu, len(found)))
status = open("/proc/self/status")  # rusage counts the parent in
[peak] = [line.split()[1] for line in status if line.startswith("VmHWM")]
print(json.dumps([int(peak) / 1024, taken[uncounted:]]))
"""


def ingested(folder: Path, chunks: int) -> tuple[Path, Row]:
    """A database with so many chunks, about, and what it took to make it."""
    count = round(chunks / PER_NOTE)
    database, kept = folder / f"{chunks}.db", folder / f"{chunks}.json"
    if not kept.exists():
        database.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as top:
            # In its own process, because the peak of memory of a child process begins with that of
            # its parent.
            written = process(
                [sys.executable, notes.__file__, top, "--notes", str(count)], environ()
            )
            variables = environ(PROVIDER="builtin", DB_PATH=str(database))
            spent = process(
                [*COMMAND, "--quiet", "ingest", "--path", top, "--collection", "memory"],
                variables,
                deep=True,
            )
        made = json.loads(spent.output)["chunks"]
        row = {
            "notes_mb": int(written.output) / 1e6,
            "chunks_stored": made,
            "ingest_s": spent.wall,
            "ingest_cpu_s": spent.cpu,
        }
        row |= {
            "chunks_a_second": round(made / spent.wall),
            "ingest_mb": spent.memory,
            "database_mb": size_of(database),
        }
        row["times_the_notes"] = row["database_mb"] / row["notes_mb"]
        kept.write_text(json.dumps(row))
    return database, json.loads(kept.read_text())


def measure(args: Namespace) -> Iterator[Row]:
    cold, before, warm = (1, 1, 3) if args.small else (COLD, BEFORE, WARM)
    with tempfile.TemporaryDirectory() as scratch:
        for chunks in [100, 200] if args.small else args.chunks:
            database, row = ingested(args.folder or Path(scratch), chunks)
            yield {"chunks": chunks, "measured": "ingest", **row}
            for mode in MODES:
                questions = notes.queries(cold + before + warm, round(chunks / PER_NOTE), mode)
                yield (
                    {"chunks": chunks, "measured": mode}
                    | as_processes(database, mode, questions[:cold])
                    | warmed(database, mode, before, questions[cold:])
                )


def as_processes(database: Path, mode: str, questions: list[str]) -> Row:
    variables = environ(PROVIDER="builtin", DB_PATH=str(database))
    spent = [process([*COMMAND, "search", query, "--mode", mode], variables) for query in questions]
    cpu = spread_of([each.cpu for each in spent], "cold_cpu")
    return spread_of([each.wall for each in spent], "cold") | cpu


def warmed(database: Path, mode: str, before: int, questions: list[str]) -> Row:
    with tempfile.TemporaryFile("w+") as told:
        told.write(json.dumps([str(database), mode, before, questions]))
        told.seek(0)
        spent = process([sys.executable, "-c", IN_PROCESS], environ(), told=told)
    memory, taken = json.loads(spent.output)
    walls, cpus, found = zip(*taken, strict=True)
    row = spread_of(list(walls), "warm") | spread_of(list(cpus), "warm_cpu")
    return row | {"memory_mb": memory, "unanswered": sum(not each for each in found)}


if __name__ == "__main__":
    run(
        __doc__,
        "chunks measured",
        measure,
        (
            "--chunks",
            {"type": int, "nargs": "+", "default": [10_000, 100_000, 1_000_000], "help": "sizes"},
        ),
        (
            "--folder",
            {"type": Path, "help": "keep the databases here, or measure those that are here"},
        ),
    )
