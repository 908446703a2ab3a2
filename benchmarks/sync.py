"""Time what a heartbeat does: `uv run benchmarks/sync.py` ingests 5,000 made-up notes, then again,
each time in its own process.

    floor        no more than the state of every file and a dictionary of the stored ones
    nothing      --incremental, with no file changed
    one          --incremental, with one file changed
    again        all files once more, without --incremental
    search       one keyword search
    refresh      the same with --refresh, which looks at every file
    session      a session of 30 MB, made of the same text
    line         the session with one more line
    start        Python, and importing the command

Nothing is embedded, because that would measure the model. The first ingest is what
benchmarks/ingest.py measures. `times_the_start` is the CPU time in proportion to that of the start.
"""

import json
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import notes
from common import COMMAND, Row, environ, process, run

NOTES = 5000
REPEATED = 3
ONCE = "one", "again", "session", "line"
SESSION = 30_000_000  # bytes
FLOOR = """
import os, sqlite3, sys
stored = "select source_path, file_mtime, file_size from documents"
known = {path: state for path, *state in sqlite3.connect(sys.argv[1]).execute(stored)}
folders = [sys.argv[2]]
for folder in folders:
    for entry in os.scandir(folder):
        if entry.is_dir():
            folders.append(entry.path)
        else:
            status = entry.stat()
            assert known[entry.path] == [status.st_mtime, status.st_size]
"""


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
            "floor": [sys.executable, "-c", FLOOR, f"{top}/memory.db", str(folder)],
            "nothing": [*ingest, "--incremental"],
            "one": [*ingest, "--incremental"],
            "again": ingest,
            "search": search,
            "refresh": [*search, "--refresh"],
        }
        session = Path(top) / "session.jsonl"
        commands["session"] = [*COMMAND, "--quiet", "ingest", "--path", str(session), "--all"]
        commands["line"] = [*commands["session"], "--incremental"]
        start = 0.0
        for name, command in commands.items():
            if name == "session":
                write_session(session, folder, 100_000 if args.small else SESSION)
            if name == "line":
                with session.open("a") as file:
                    file.write(message("user", "One more line."))
            if name == "one":
                with (folder / notes.path(0)).open("a") as file:
                    file.write("\nOne more line.\n")
            spent = min(
                (process(command, variables) for _ in range(1 if name in ONCE else REPEATED)),
                key=lambda s: s.cpu,
            )
            start = start or spent.cpu
            yield {
                "command": name,
                "wall_s": spent.wall,
                "cpu_s": spent.cpu,
                "memory_mb": spent.memory,
                "times_the_start": spent.cpu / start,
            }


def write_session(path: Path, folder: Path, size: int) -> None:
    """Write a conversation whose messages are the paragraphs of notes."""
    texts = [text for note in folder.rglob("*.md") for text in note.read_text().split("\n\n")]
    speakers = cycle(["user", "assistant"])
    with path.open("w") as file:
        for text, role in zip(cycle(texts), speakers, strict=False):
            size -= file.write(message(role, text))
            if size < 0:
                return


def message(role: str, text: str) -> str:
    """A line of a session."""
    time = "2026-03-05T10:00:00.000Z"
    said = {"role": role, "content": text}
    return json.dumps({"type": "message", "timestamp": time, "message": said}) + "\n"


if __name__ == "__main__":
    run(
        __doc__,
        "command",
        measure,
        ("--notes", {"type": int, "default": NOTES, "help": "(default: %(default)s)"}),
    )
