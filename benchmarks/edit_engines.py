"""What it costs to take in edited and deleted files, on SQLite and PostgreSQL side by side.

    uv run benchmarks/edit_engines.py [--chunks 30000] [--rounds 20] [--share 0.2] [--json FILE]

Both engines ingest the same generated notes (benchmarks/notes.py), without embeddings. In each round
a share of the files gets another last paragraph, and an incremental ingest takes that in; in the end the
same share is deleted. The server writes safely, and its autovacuum is on.

Printed as JSON: of each ingest the seconds, the chunks written, and the bytes on disk afterwards, of
PostgreSQL also those of each table; the ratio of the seconds; and of the server the statements that
took longest, with how often they ran.
"""

import argparse
import json
import os
import random
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
EDITED = "\nEdited in round "
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
    statements = Statements()
    with statements.timed():
        for number in range(args.rounds):
            files = sorted(notes.rglob("*.md"))
            for path in chance.sample(files, round(len(files) * args.share)):
                text = path.read_text().partition(EDITED)[0]
                path.write_text(f"{text}{EDITED}{number}, with {chance.random()}.\n")
            results["edits"].append(of_both())
        files = sorted(notes.rglob("*.md"))
        for path in chance.sample(files, round(len(files) * args.share)):
            path.unlink()
        results["deletions"] = of_both()
    return results | {"statements": statements.longest()}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--share", type=float, default=0.2, help="of the files, edited in a round")
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
