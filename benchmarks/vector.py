"""Time a vector search in four ways, each search in its own process: `uv run benchmarks/vector.py`.

    bit planes     VectorSearch.nearest exact          the same with exact=True, and without numpy
    numpy          every embedding is read, then one matrix product and argpartition sqlite-vec
    a scan of its vec0 table; this needs a Python that can load SQLite extensions (--vec-python)

The stores consist of clusters of random vectors (seeded), in a temporary folder. The four ways take
turns, query by query, so that a noisy machine affects all of them equally. The time is that from
opening the database to the ten results, without imports, with the file in the operating system's
cache. The time and the peak of resident memory are medians. Recall is the share of the ten results
of the exact scan that were found.
"""

import json
import random
import resource
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from math import hypot
from operator import add
from pathlib import Path
from typing import Any

from common import RSS_UNIT, Row, run

LIMIT = 10
SEED = 7
CLUSTER = 100  # vectors in a cluster
# Size of a cluster, relative to the distance between clusters; it gives cosines of about 0.6 within
# a cluster
SPREAD = 0.8
COMMON = 0.5  # size of the component that all vectors share
BATCH = 2000
NOISE = 1_000_003  # random numbers, of which each vector takes some that follow each other
TEXT = "What an agent noted, about as long as a chunk is. " * 9

INSERT_CHUNK = """
insert into chunks (id, doc_id, chunk_id, heading, heading_path, content, start_line, end_line, content_hash)
values (?, ?, ?, 'Notes', 'Notes', ?, 1, 1, x'00')
"""
VEC_TABLE = (
    "create virtual table vectors using vec0 (embedding float[{dims}] distance_metric=cosine)"
)
VEC_SEARCH = "select rowid from vectors where embedding match ? and k = ? order by distance"

Search = Callable[[], list[int]]


def make(path: str, rows: int, dims: int, queries: int) -> None:
    """Make the store, and write the queries to a file next to it."""
    from hybrid_memory.storage.encoding import encode_embedding
    from hybrid_memory.storage.sqlite import vectors as blocks
    from hybrid_memory.storage.sqlite.connection import connect

    chance = random.Random(SEED)
    common = [COMMON * chance.gauss(0, 1) for _ in range(dims)]
    noise = [SPREAD * chance.gauss(0, 1) for _ in range(NOISE)]
    clusters = [[chance.gauss(0, 1) + c for c in common] for _ in range(max(1, rows // CLUSTER))]

    def vector() -> list[float]:
        start = chance.randrange(NOISE - dims)
        point = list(map(add, chance.choice(clusters), noise[start : start + dims]))
        length = hypot(*point)
        return [x / length for x in point]

    conn = connect(path, create=True)
    for done in range(0, rows, BATCH):
        batch = [
            (done + i, encode_embedding(vector()), False)
            for i in range(1, min(BATCH, rows - done) + 1)
        ]
        conn.execute("begin immediate")
        conn.executemany(
            INSERT_CHUNK, [(id, f"{id // 10}.md", str(id), TEXT) for id, _, _ in batch]
        )
        blocks.put(conn, batch)
        conn.execute("commit")
    conn.execute("pragma wal_checkpoint(truncate)")
    conn.close()
    Path(f"{path}.queries").write_text(json.dumps([vector() for _ in range(queries)]))


def make_vec(path: str, dims: int, extension: str) -> None:
    """Put the vectors of the store into a vec0 table in another file."""
    conn = with_extension(f"{path}.vec", extension)
    conn.execute(VEC_TABLE.format(dims=dims))
    rows = sqlite3.connect(path).execute("select id, embedding from chunks")
    conn.executemany("insert into vectors (rowid, embedding) values (?, ?)", rows)
    conn.commit()


def with_extension(path: str, extension: str) -> sqlite3.Connection:
    conn = sqlite3.connect(path)
    conn.enable_load_extension(True)
    conn.load_extension(extension)
    return conn


def bit_planes(path: str, query: list[float], exact: bool = False) -> Search:
    from hybrid_memory.storage.sqlite.connection import connect
    from hybrid_memory.storage.sqlite.vectors import VectorIndex

    def search() -> list[int]:
        return [id for id, _ in VectorIndex(connect(path)).nearest(query, LIMIT, exact=exact)]

    return search


def exact(path: str, query: list[float]) -> Search:
    sys.modules["numpy"] = None  # type: ignore[assignment]
    return bit_planes(path, query, exact=True)


def with_numpy(path: str, query: list[float]) -> Search:
    import numpy

    def search() -> list[int]:
        ids, blobs = zip(
            *sqlite3.connect(path).execute("select id, embedding from chunks"), strict=True
        )
        matrix = numpy.frombuffer(b"".join(blobs), "<f4").reshape(len(ids), -1)
        cosines = matrix @ numpy.array(query, "<f4")
        best = numpy.argpartition(cosines, -LIMIT)[-LIMIT:]
        return [ids[i] for i in sorted(best, key=lambda i: -cosines[i])]

    return search


def sqlite_vec(path: str, query: list[float], extension: str) -> Search:
    def search() -> list[int]:
        conn = with_extension(f"{path}.vec", extension)
        return [
            id
            for (id,) in conn.execute(VEC_SEARCH, (struct.pack(f"<{len(query)}f", *query), LIMIT))
        ]

    return search


SIDES = {"bit planes": bit_planes, "exact": exact, "numpy": with_numpy, "sqlite-vec": sqlite_vec}
MODULES = {
    "numpy": "numpy",
    "sqlite-vec": "sqlite_vec",
}  # ways that are left out where these are not installed


def measure(side: str, path: str, number: int, *extension: str) -> dict[str, Any]:
    query = json.loads(Path(f"{path}.queries").read_text())[number]
    search = SIDES[side](path, query, *extension)  # type: ignore[operator]
    wall, cpu = time.perf_counter(), time.process_time()
    ids = search()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT
    return {"ids": ids, "median_ms": 1000 * wall, "cpu_ms": 1000 * cpu, "memory_mb": peak / 2**20}


def in_process(python: str, function: str, *args: Any) -> Any:
    """The result of the function, called in its own process."""
    command = [python, __file__, "--call", json.dumps([function, *args])]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def vec_library() -> str:
    import sqlite_vec

    return str(sqlite_vec.loadable_path())


def vec_extension(python: str) -> str | None:
    """The path of sqlite-vec's library. If that Python cannot load it, a message goes to stderr and
    the result is None.
    """
    can_load = "import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)"
    if subprocess.run([python, "-c", can_load], stderr=subprocess.DEVNULL, check=False).returncode:
        print(
            f"no sqlite-vec: {python} cannot load SQLite extensions; give one that can: --vec-python",
            file=sys.stderr,
        )
        return None
    return str(in_process(sys.executable, "vec_library"))


def compare(args: Namespace) -> Iterator[Row]:
    sizes, dims, runs = ([500], 64, 2) if args.small else (args.rows, args.dims, args.runs)
    has = {side for side, module in MODULES.items() if find_spec(module)}
    extension = vec_extension(args.vec_python) if "sqlite-vec" in has - {*args.skip} else None
    skipped = {*args.skip, *MODULES} - (has - {*args.skip, "sqlite-vec"})
    sides = {side: (sys.executable, []) for side in SIDES if side not in skipped}
    if extension:
        sides["sqlite-vec"] = (args.vec_python, [extension])
    for rows in sizes:
        with tempfile.TemporaryDirectory(dir=args.folder) as folder:
            path = f"{folder}/store.db"
            in_process(sys.executable, "make", path, rows, dims, runs)
            if extension:
                in_process(args.vec_python, "make_vec", path, dims, extension)
            results: dict[str, list[dict[str, Any]]] = {side: [] for side in sides}
            for number in range(runs):
                for side, (python, extra) in sides.items():
                    results[side].append(in_process(python, "measure", side, path, number, *extra))
        for side, found in results.items():
            figures = {
                key: statistics.median(run[key] for run in found)
                for key in ("median_ms", "cpu_ms", "memory_mb")
            }
            truth = results.get("exact", found)
            common = sum(
                len(set(a["ids"]) & set(b["ids"])) for a, b in zip(found, truth, strict=True)
            )
            yield {
                "rows": rows,
                "side": side,
                **figures,
                "recall": common / sum(len(each["ids"]) for each in truth),
            }


if __name__ == "__main__":
    if sys.argv[1:2] == ["--call"]:
        function, *arguments = json.loads(sys.argv[2])
        print(json.dumps(globals()[function](*arguments)))
    else:
        run(
            __doc__,
            "rows side",
            compare,
            ("--rows", {"type": int, "nargs": "+", "default": [1_000, 10_000, 100_000]}),
            ("--dims", {"type": int, "default": 768}),
            (
                "--runs",
                {
                    "type": int,
                    "default": 7,
                    "help": "number of queries; each way gets each query once",
                },
            ),
            (
                "--vec-python",
                {
                    "default": sys.executable,
                    "help": "Python interpreter that can load SQLite extensions",
                },
            ),
            (
                "--skip",
                {"nargs": "*", "default": [], "choices": SIDES, "help": "ways to leave out"},
            ),
            (
                "--folder",
                {"help": "folder in which the stores are made (default: a temporary one)"},
            ),
        )
