"""What it costs to take in edited and deleted files, on SQLite and PostgreSQL side by side.

    uv run benchmarks/edit_engines.py [--chunks 30000] [--rounds 20] [--share 0.2]
        [--place beginning|anywhere|end] [--json FILE]

Both engines ingest the same generated notes (benchmarks/notes.py), without embeddings. In each round
a share of the files gets another paragraph, in place of the one that an earlier round put in, and an
incremental ingest takes that in; in the end the same share is deleted. What stands behind the paragraph
has other lines afterwards. The server writes safely, and its autovacuum is on.

Printed as JSON: of each ingest the seconds, the chunks written, and the bytes on disk afterwards, of
PostgreSQL also those of each table; the ratio of the seconds; by how much the tables have grown; and of
the server the statements that took longest, in the edits and in the deletions, with how often they ran.
"""

import argparse
import json
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import common  # noqa: F401  # it puts the package and the tests on the path
import notes as generated
from growth import PER_NOTE
from growth_engines import size

from hybrid_memory import HybridStore
from hybrid_memory.extras.postgres.connection import Connection
from hybrid_memory.sync.ingest import Ingest
from tests.extras.postgres_server import PostgresServer

SETTINGS = (
    "shared_buffers=1GB",
    "max_wal_size=4GB",
    "dynamic_shared_memory_type=mmap",
    "autovacuum_naptime=10s",
)
LONGEST = 12  # statements
EDITED = "\nEdited in round {}, with {}.\n"
EARLIER = re.compile(r"\nEdited in round .*\n")
FRONT_MATTER = re.compile(r"---\n.*?\n---\n", re.DOTALL)
PLACES = ("beginning", "anywhere", "end")
BEGINNING = 100  # characters of a statement


class Statements:
    """Adds up the seconds of every statement."""

    def __init__(self) -> None:
        self._seconds: Counter[str] = Counter()
        self._runs: Counter[str] = Counter()

    @contextmanager
    def timed(self) -> Iterator[None]:
        execute = Connection.execute

        def timed(connection: Connection, statement: str, parameters: Any = None) -> Any:
            started = time.perf_counter()
            try:
                return execute(connection, statement, parameters)
            finally:
                name = " ".join(statement.split())[:BEGINNING]
                self._seconds[name] += time.perf_counter() - started
                self._runs[name] += 1

        with patch.object(Connection, "execute", timed):
            yield

    def longest(self) -> list[dict[str, Any]]:
        """Return the statements that took longest."""
        return [
            {"seconds": round(seconds, 2), "runs": self._runs[name], "statement": name}
            for name, seconds in self._seconds.most_common(LONGEST)
        ]


def edited(text: str, place: str, number: int, chance: random.Random) -> str:
    """Return a note with the paragraph of a round."""
    text = EARLIER.sub("", text)
    front = FRONT_MATTER.match(text)
    start = front.end() if front else 0
    places = [found.start() + 1 for found in re.finditer("\n\n", text[start:])]
    if place == "end" or not places:
        at = len(text)
    elif place == "beginning":
        at = start + places[0]
    else:
        at = start + chance.choice(places)
    return text[:at] + EDITED.format(number, chance.random()) + text[at:]


def ingest(address: str, notes: Path) -> dict[str, Any]:
    """Take in what changed, and return what that cost."""
    started = time.perf_counter()
    with HybridStore(address, {"provider": "none"}) as store:
        report = Ingest(store, incremental=True, workers=1).run([str(notes)])
        seconds = time.perf_counter() - started
        sizes = size(store)
    return {"seconds": round(seconds, 2), "chunks": report.chunks, "bytes": sizes}


def measure(folder: Path, server: PostgresServer, args: argparse.Namespace) -> dict[str, Any]:
    """Ingest, edit and delete."""
    addresses = {"sqlite": str(folder / "memory.db"), "postgres": server.database("memory")}
    notes = folder / "notes"
    chance = random.Random(32)

    def of_both() -> dict[str, Any]:
        row = {name: ingest(address, notes) for name, address in addresses.items()}
        ratio = row["postgres"]["seconds"] / row["sqlite"]["seconds"]
        print(json.dumps(row | {"ratio": round(ratio, 2)}), file=sys.stderr, flush=True)
        return row | {"ratio": round(ratio, 2)}

    generated.write(notes, round(args.chunks / PER_NOTE), 0)
    results: dict[str, Any] = {"load": of_both(), "edits": []}
    of_edits, of_deletions = Statements(), Statements()
    with of_edits.timed():
        for number in range(args.rounds):
            files = sorted(notes.rglob("*.md"))
            for path in chance.sample(files, round(len(files) * args.share)):
                path.write_text(edited(path.read_text(), args.place, number, chance))
            results["edits"].append(of_both())
    sizes = [row["postgres"]["bytes"]["all"] for row in (results["load"], *results["edits"])]
    results["growth"] = round(max(sizes) / sizes[0], 2)
    files = sorted(notes.rglob("*.md"))
    for path in chance.sample(files, round(len(files) * args.share)):
        path.unlink()
    with of_deletions.timed():
        results["deletions"] = of_both()
    statements = {"edits": of_edits.longest(), "deletions": of_deletions.longest()}
    return results | {"statements": statements}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--share", type=float, default=0.2, help="of the files, edited in a round")
    parser.add_argument("--place", choices=PLACES, default="anywhere", help="of the new paragraph")
    parser.add_argument("--json", type=Path, help="a file that gets the figures")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hm") as scratch:
        os.chmod(scratch, 0o755)  # the server runs as another user where this one is root
        folder = Path(scratch)
        server = PostgresServer(folder / "server", SETTINGS)
        try:
            results = measure(folder, server, args)
        finally:
            server.stop()
    text = json.dumps(results, indent=2) + "\n"
    if args.json:
        args.json.write_text(text)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
