"""How load, search and size grow with the memory, on SQLite and PostgreSQL side by side.

    uv run benchmarks/growth_engines.py [--chunks 10000 66000 1000000] [--texts DIR]
                                        [--questions 100] [--folder DIR] [--json FILE]
                                        [--provider builtin|none]

Both engines ingest the same notes, embedded by the built-in model, into memories that grow from one
size to the next: those below --texts, in an order that is drawn once, as far as they go; otherwise
made-up ones (benchmarks/notes.py), so that nothing need be fetched. At each size, questions of six
kinds (benchmarks/real_questions.py) are asked by keyword, the sentences among them in every mode, the
engines taking turns, by this process, which stays; a first round is not counted. The server has
the settings below, writes safely, and makes its HNSW index once the notes of a size are in; how
long that takes is told apart from the load. Without embeddings (--provider none), keywords alone
are asked. With --folder, what was loaded stays, and another run goes on from there. Times are
seconds of the clock and, as a machine may be shared, of the processor: of this process with those
that it started, and of the server.

Printed as JSON: per size and engine the load, the bytes on disk, and of searches the median and
95th percentile in ms, and the mean ms of the processor; the share of questions whose first ten
passages are the same in both, and how many of the ten nearest of all the index finds.
"""

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import notes as generated
import real_questions
from common import p95  # it puts the package and the tests on the path, too
from growth import PER_NOTE

from hybrid_memory import HybridStore
from hybrid_memory.extras.postgres import vectors as index
from hybrid_memory.sync.ingest import Ingest
from tests.extras.postgres_server import PostgresServer

SETTINGS = (
    "shared_buffers=2GB", "maintenance_work_mem=2GB", "max_wal_size=8GB",
    "dynamic_shared_memory_type=mmap", "max_connections=80",
)  # fmt: skip
MODES = ("keyword", "vector", "hybrid")
PLAIN = "plain"  # the size at which the load without embeddings is measured, too
DIMS = 256
PER_CHUNK = 384  # bytes of a text, about


def processor(server: PostgresServer) -> tuple[float, float]:
    """Seconds of the processor so far: of this process and those it has waited for, and of the
    server's that are there.
    """
    own = sum(
        resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime
        for who in (0, resource.RUSAGE_CHILDREN)
    )
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(")")
        except OSError:
            continue
        fields = rest.split()
        if int(fields[1]) == server.process_id:
            ticks += int(fields[11]) + int(fields[12])
        elif int(name.split()[0]) == server.process_id:
            ticks += sum(map(int, fields[11:15]))
    return own, ticks / os.sysconf("SC_CLK_TCK")


class Clock:
    """Seconds since it was made."""

    def __init__(self, server: PostgresServer) -> None:
        self._server, self._at, self._processor = server, time.perf_counter(), processor(server)

    def seconds(self) -> dict[str, float]:
        """Of the clock, of the processor here, and of the server's."""
        own, servers = (
            now - before
            for now, before in zip(processor(self._server), self._processor, strict=True)
        )
        return {
            "clock": round(time.perf_counter() - self._at, 1),
            "own": round(own, 1),
            "server": round(servers, 1),
        }


def load(address: str, notes: Path, provider: str, server: PostgresServer) -> dict[str, Any]:
    """Ingest what is new below the folder."""
    with HybridStore(address, {"provider": provider}) as store:
        if is_server := store.path.startswith("postgres"):
            store.storage.connection.execute(
                f"drop index if exists {index.INDEX.format(dims=DIMS)}"
            )  # type: ignore[attr-defined]
        clock = Clock(server)
        with patch.object(index, "WORTH_AN_INDEX", 2**40):
            report = Ingest(store, incremental=True, workers=2).run([str(notes)])
        seconds = clock.seconds()
        work = max(seconds["own"] + seconds["server"], 0.01)
        told = {
            "chunks": report.chunks,
            "seconds": seconds,
            "chunks_a_second_of_processor": round(report.chunks / work),
        }
        if is_server and provider != "none":
            clock = Clock(server)
            with store.storage.transaction():
                store.storage.embeddings.ensure_index()  # type: ignore[attr-defined]
            told["hnsw_seconds"] = clock.seconds()
        return told


def size(store: HybridStore) -> dict[str, int]:
    """Bytes on disk: of all, and of each large table with its indexes."""
    found = {"all": store.stats()["db_size_bytes"]}
    if store.path.startswith("postgres"):
        sizes = """
            select c.relname, pg_total_relation_size(c.oid)::bigint from pg_class c
            where  c.relnamespace = 'hybrid_memory'::regnamespace and c.relkind = 'r'
            and    pg_total_relation_size(c.oid) > 1000000
            union all
            select c.relname, pg_relation_size(c.oid)::bigint from pg_class c
            where  c.relname like 'chunks_near%' order by 2 desc
        """
        found |= dict(store.storage.connection.all(sizes))  # type: ignore[attr-defined]
    return found


def ask(
    stores: dict[str, HybridStore],
    asked: dict[str, list[tuple[str, str | None]]],
    modes: Sequence[str],
    server: PostgresServer,
) -> dict[str, Any]:
    """Every question by keyword, and the sentences in the other modes."""
    rounds = [(kind, modes[0], of_kind) for kind, of_kind in asked.items()]
    rounds += [(mode, mode, asked["sentences"]) for mode in modes[1:]]
    for question, _ in asked["headings"][:10]:
        for store in stores.values():
            store.search(question)
    found: dict[str, Any] = {}
    for name, mode, of_kind in rounds:
        seconds: dict[str, list[float]] = defaultdict(list)
        work: dict[str, float] = defaultdict(float)
        same = []
        servers = processor(server)[1]
        for question, folder in of_kind:
            tops = []
            for engine, store in stores.items():
                started, work_before = time.perf_counter(), time.process_time()
                hits = store.search(question, mode=mode, inside=folder)
                seconds[engine].append(1000 * (time.perf_counter() - started))
                work[engine] += time.process_time() - work_before
                tops.append([hit["chunk_id"] for hit in hits])
            same.append(all(top == tops[0] for top in tops))
        work["server"] = processor(server)[1] - servers
        found[name] = {
            "questions": len(of_kind),
            "same": round(statistics.mean(same), 3),
            "processor": {
                part: round(1000 * spent / len(of_kind), 1) for part, spent in work.items()
            },
            "times of sqlite": round(
                (work["postgres"] + work["server"]) / max(work["sqlite"], 1e-9), 2
            ),
            "median": {
                engine: round(statistics.median(each), 1) for engine, each in seconds.items()
            },
            "p95": {engine: round(p95(each), 1) for engine, each in seconds.items()},
        }
    return found


def recall(store: HybridStore, asked: list[str]) -> float:
    """The share of the ten nearest of all chunks that the HNSW index finds."""
    found = []
    for question in asked:
        vector = store.embedder.embed(question) if store.embedder else []
        near = store.storage.vectors()
        exact = [id for id, _ in near.nearest(vector, 10, exact=True)]
        found.append(
            len({id for id, _ in near.nearest(vector, 10)} & set(exact)) / max(len(exact), 1)
        )
    return round(statistics.mean(found), 4)


def take(texts: Sequence[Path], notes: Path, size: int) -> None:
    """Copy the first texts into a folder until they have this many bytes."""
    for number, path in enumerate(texts):
        size -= path.stat().st_size
        if size < 0:
            return
        target = notes / str(number // generated.PER_FOLDER) / f"{number}-{path.name}"
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def measure(folder: Path, server: PostgresServer, args: argparse.Namespace) -> dict[str, Any]:
    """Load and ask at every size."""
    notes, out = folder / "notes", args.json
    modes = MODES[:1] if args.provider == "none" else MODES
    results: dict[str, Any] = json.loads(out.read_text()) if out and out.exists() else {}
    texts = sorted(args.texts.rglob("*.md")) if args.texts else []
    random.Random(real_questions.SEED).shuffle(texts)
    written = 0
    for chunks in args.chunks:
        number = round(chunks / PER_NOTE)
        if texts:
            take(texts, notes, chunks * PER_CHUNK)
        elif not (notes / generated.path(number - 1)).exists():
            generated.write(notes, number - written, written)
        written = number
        of_size = results.setdefault(str(chunks), {})
        if chunks == args.plain and "load without embeddings" not in of_size:
            plain_db = folder / "plain.db"
            of_size["load without embeddings"] = {
                "sqlite": load(str(plain_db), notes, "none", server),
                "postgres": load(server.database(PLAIN), notes, "none", server),
            }
            plain_db.unlink()
        addresses = {"sqlite": str(folder / "memory.db"), "postgres": server.address("memory")}
        of_size.setdefault("load", {})
        for name, address in addresses.items():
            if name not in of_size["load"]:
                of_size["load"][name] = load(address, notes, args.provider, server)
                keep(results, out)
        stores = {
            name: HybridStore(address, {"provider": args.provider})
            for name, address in addresses.items()
        }
        asked = real_questions.drawn(stores["sqlite"], args.questions)
        of_size["chunks"] = {name: store.stats()["chunk_count"] for name, store in stores.items()}
        of_size["search_ms"] = ask(stores, asked, modes, server)
        of_size["bytes"] = {name: size(store) for name, store in stores.items()}
        if len(modes) > 1:
            of_size["recall_at_10"] = recall(
                stores["postgres"], [question for question, _ in asked["sentences"][:50]]
            )
        for store in stores.values():
            store.close()
        keep(results, out)
    return results


def keep(results: dict[str, Any], out: Path | None) -> None:
    """Write what is known so far."""
    if out:
        out.write_text(json.dumps(results, indent=2) + "\n")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 66_000, 1_000_000])
    parser.add_argument("--texts", type=Path, help="a folder of notes to ingest (*.md)")
    parser.add_argument(
        "--plain",
        type=int,
        default=66_000,
        help="the size at which a load without embeddings is measured, too",
    )
    parser.add_argument("--provider", choices=("builtin", "none"), default="builtin")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument(
        "--folder", type=Path, help="where notes and memories stay; else in a temporary folder"
    )
    parser.add_argument(
        "--json",
        type=Path,
        help="a file that gets the figures as they come; what it has is not measured again",
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hm") as scratch:
        os.chmod(scratch, 0o755)  # the server runs as another user where this one is root
        folder = args.folder or Path(scratch)
        folder.mkdir(exist_ok=True)
        server = PostgresServer(folder / "server", SETTINGS)
        try:
            if not (folder / "memory.db").exists():
                server.database("memory")
            results = measure(folder, server, args)
        finally:
            server.stop()
    json.dump(results, sys.stdout, indent=2)


if __name__ == "__main__":
    main()
