# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy", "requests", "sqlite-vec"]
# ///
"""Time a vector search in four ways, each search in its own process: `uv run benchmarks/vector.py`.

    bit planes     VectorSearch.nearest
    exact          the same with exact=True, and without numpy
    numpy          every embedding is read, then one matrix product and argpartition
    sqlite-vec     a scan of its vec0 table; this needs a Python that can load SQLite extensions (--vec-python)

The stores consist of clusters of random vectors (seeded), in a temporary folder. The four ways take turns, query by query, so
that a noisy machine affects all of them equally. The time is that from opening the database to the ten results, without imports,
with the file in the operating system's cache. The time and the peak of resident memory are medians. Recall is the share of the
ten results of the exact scan that were found.
"""

import argparse
import json
import resource
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 10
SEED = 7
CLUSTER = 100  # vectors in a cluster
SPREAD = 0.8  # size of a cluster, relative to the distance between clusters; it gives cosines of about 0.6 within a cluster
COMMON = 0.5  # size of the component that all vectors share
BATCH = 2000
TEXT = "What an agent noted, about as long as a chunk is. " * 9
RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes

INSERT_CHUNK = """
insert into chunks (id, doc_id, chunk_id, heading, heading_path, content, start_line, end_line, content_hash)
values (?, ?, ?, 'Notes', 'Notes', ?, 1, 1, x'00')
"""
VEC_TABLE = "create virtual table vectors using vec0 (embedding float[{dims}] distance_metric=cosine)"
VEC_SEARCH = "select rowid from vectors where embedding match ? and k = ? order by distance"

Search = Callable[[], list[int]]


def make(path: str, rows: int, dims: int, queries: int) -> None:
    """Make the store, and write the queries to a file next to it."""
    import numpy

    from hybrid_memory.storage.sqlite.connection import connect
    from hybrid_memory.storage.sqlite.vectors import blocks

    random = numpy.random.default_rng(SEED)
    clusters = random.standard_normal((max(1, rows // CLUSTER), dims)) + COMMON * random.standard_normal(dims)

    def vectors(n: int) -> Any:
        points = clusters[random.integers(len(clusters), size=n)] + SPREAD * random.standard_normal((n, dims))
        return (points / numpy.linalg.norm(points, axis=1, keepdims=True)).astype("<f4")

    conn = connect(path, create=True)
    for done in range(0, rows, BATCH):
        batch = [(done + i, v.tobytes(), False) for i, v in enumerate(vectors(min(BATCH, rows - done)), 1)]
        conn.execute("begin immediate")
        conn.executemany(INSERT_CHUNK, [(id, f"{id // 10}.md", str(id), TEXT) for id, _, _ in batch])
        blocks.put(conn, batch)
        conn.execute("commit")
    conn.execute("pragma wal_checkpoint(truncate)")
    conn.close()
    Path(f"{path}.queries").write_text(json.dumps(vectors(queries).tolist()))


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
    from hybrid_memory.storage.sqlite.vectors.index import VectorIndex

    def search() -> list[int]:
        return [id for id, _ in VectorIndex(connect(path)).nearest(query, LIMIT, exact=exact)]

    return search


def exact(path: str, query: list[float]) -> Search:
    sys.modules["numpy"] = None  # type: ignore[assignment]
    return bit_planes(path, query, exact=True)


def with_numpy(path: str, query: list[float]) -> Search:
    import numpy

    def search() -> list[int]:
        ids, blobs = zip(*sqlite3.connect(path).execute("select id, embedding from chunks"), strict=True)
        matrix = numpy.frombuffer(b"".join(blobs), "<f4").reshape(len(ids), -1)
        cosines = matrix @ numpy.array(query, "<f4")
        best = numpy.argpartition(cosines, -LIMIT)[-LIMIT:]
        return [ids[i] for i in sorted(best, key=lambda i: -cosines[i])]

    return search


def sqlite_vec(path: str, query: list[float], extension: str) -> Search:
    def search() -> list[int]:
        conn = with_extension(f"{path}.vec", extension)
        return [id for (id,) in conn.execute(VEC_SEARCH, (struct.pack(f"<{len(query)}f", *query), LIMIT))]

    return search


SIDES = {"bit planes": bit_planes, "exact": exact, "numpy": with_numpy, "sqlite-vec": sqlite_vec}


def measure(side: str, path: str, number: int, *extension: str) -> dict[str, Any]:
    query = json.loads(Path(f"{path}.queries").read_text())[number]
    search = SIDES[side](path, query, *extension)  # type: ignore[operator]
    wall, cpu = time.perf_counter(), time.process_time()
    ids = search()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT
    return {"ids": ids, "ms": 1000 * wall, "cpu": 1000 * cpu, "mb": peak / 2**20}


def in_process(python: str, function: str, *args: Any) -> Any:
    """The result of the function, called in its own process."""
    command = [python, __file__, "--call", json.dumps([function, *args])]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def vec_library() -> str:
    import sqlite_vec

    return str(sqlite_vec.loadable_path())


def vec_extension(python: str) -> str | None:
    """The path of sqlite-vec's library. If that Python cannot load it, a message goes to stderr and the result is None."""
    can_load = "import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)"
    if subprocess.run([python, "-c", can_load], stderr=subprocess.DEVNULL, check=False).returncode:
        print(f"no sqlite-vec: {python} cannot load SQLite extensions; give one that can: --vec-python", file=sys.stderr)
        return None
    return str(in_process(sys.executable, "vec_library"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--dims", type=int, default=768)
    parser.add_argument("--runs", type=int, default=7, help="number of queries; each way gets each query once")
    parser.add_argument("--vec-python", default=sys.executable, help="Python interpreter that can load SQLite extensions")
    parser.add_argument("--skip", nargs="*", default=[], choices=SIDES, help="ways to leave out")
    parser.add_argument("--folder", help="folder in which the stores are made (default: a temporary one)")
    parser.add_argument("--call", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.call:
        function, *arguments = json.loads(args.call)
        print(json.dumps(globals()[function](*arguments)))
        return
    extension = None if "sqlite-vec" in args.skip else vec_extension(args.vec_python)
    sides = {side: (sys.executable, []) for side in SIDES if side not in (*args.skip, "sqlite-vec")}
    if extension:
        sides["sqlite-vec"] = (args.vec_python, [extension])
    print(f"| rows x {args.dims} | | ms | of CPU | MB | recall@{LIMIT} |\n|---|---|---|---|---|---|")
    for rows in args.rows:
        with tempfile.TemporaryDirectory(dir=args.folder) as folder:
            path = f"{folder}/store.db"
            in_process(sys.executable, "make", path, rows, args.dims, args.runs)
            if extension:
                in_process(args.vec_python, "make_vec", path, args.dims, extension)
            results: dict[str, list[dict[str, Any]]] = {side: [] for side in sides}
            for number in range(args.runs):
                for side, (python, extra) in sides.items():
                    results[side].append(in_process(python, "measure", side, path, number, *extra))
        for side, runs in results.items():
            ms, cpu, mb = (statistics.median(run[key] for run in runs) for key in ("ms", "cpu", "mb"))
            truth = results.get("exact", runs)
            common = sum(len(set(a["ids"]) & set(b["ids"])) for a, b in zip(runs, truth, strict=True))
            recall = common / sum(len(run["ids"]) for run in truth)
            print(f"| {rows:,} | {side} | {ms:,.1f} | {cpu:,.1f} | {mb:.0f} | {recall:.3f} |", flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
