"""Compare the two engines on a judged collection: ingest it into SQLite and PostgreSQL, ask both
every question.

    uv run benchmarks/engines.py COLLECTION... [--questions N] [--modes keyword,hybrid] [--settings
    JSON]

A collection has docs/, queries.jsonl ({"id", "text", "conv"?}) and qrels.tsv (query id, document
id, grade); with "conv", each folder below docs/ is a memory of its own. Printed for each mode:
nDCG@10 of both engines, the share of questions whose first ten results are the same passages in the
same order, and the median and 95th-percentile milliseconds of a search.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from common import p95  # it puts the package and the tests on the path, too

from hybrid_memory import HybridStore
from hybrid_memory.extras.evaluation.evaluation import ndcg
from hybrid_memory.sync.ingest import Ingest
from tests.extras.postgres_server import PostgresServer

DEPTH = 60  # results asked for, so that ten documents are among them


def main() -> None:
    """Print a line for each collection and mode."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("collections", type=Path, nargs="+")
    parser.add_argument("--questions", type=int, help="of each memory, at most")
    parser.add_argument("--modes", default="keyword,vector,hybrid")
    parser.add_argument(
        "--settings",
        type=json.loads,
        default={"provider": "builtin"},
        help="JSON, as in config.json",
    )
    parser.add_argument(
        "--differing",
        action="store_true",
        help="print the questions whose first ten results differ",
    )
    args = parser.parse_args()
    server = PostgresServer()
    try:
        for collection in args.collections:
            compare(collection, server, args)
    finally:
        server.stop()


def compare(collection: Path, server: PostgresServer, args: argparse.Namespace) -> None:
    """Ask both engines the questions of a collection."""
    qrels: dict[str, dict[str, float]] = defaultdict(dict)
    for line in (collection / "qrels.tsv").read_text("utf-8").strip().split("\n"):
        query, doc, grade = line.split("\t")[:3]
        if float(grade) > 0:
            qrels[query][doc] = float(grade)
    memories = defaultdict(list)
    for line in (collection / "queries.jsonl").read_text("utf-8").strip().split("\n"):
        query = json.loads(line)
        if query["id"] in qrels:
            memories[query.get("conv", "")].append(query)
    modes = args.modes.split(",")
    settings = {"provider": "none"} if modes == ["keyword"] else args.settings
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    same: dict[str, list[bool]] = defaultdict(list)
    loading = dict.fromkeys(("sqlite", "postgres"), 0.0)
    chunks = 0
    with tempfile.TemporaryDirectory() as scratch:
        for number, (conv, queries) in enumerate(memories.items()):
            stores = {}
            addresses = {
                "sqlite": f"{scratch}/{number}.db",
                "postgres": server.database(f"{collection.name}-{number}"),
            }
            for name, address in addresses.items():
                stores[name] = HybridStore(address, settings)
                started = time.perf_counter()
                chunks += Ingest(stores[name]).run([str(collection / "docs" / conv)]).chunks
                loading[name] += time.perf_counter() - started
            for query in queries[: args.questions]:
                for mode in modes:
                    found = {}
                    for name, store in stores.items():
                        started = time.perf_counter()
                        found[name] = store.search(query["text"], limit=DEPTH, mode=mode)
                        seconds[name, mode].append(time.perf_counter() - started)
                        ids = [
                            hit["doc_id"].removeprefix("docs/").removesuffix(".md")
                            for hit in found[name]
                        ]
                        scores[name, mode].append(
                            ndcg(list(dict.fromkeys(ids)), qrels[query["id"]])
                        )
                    tops = [[hit["chunk_id"] for hit in hits[:10]] for hits in found.values()]
                    same[mode].append(tops[0] == tops[1])
                    if tops[0] != tops[1] and args.differing:
                        print(
                            mode,
                            query["text"],
                            *(
                                list(zip(top, [hit["score"] for hit in hits], strict=False))
                                for top, hits in zip(tops, found.values(), strict=True)
                            ),
                            sep="\n  ",
                        )
            for store in stores.values():
                store.close()
    print(
        f"{collection.name}: {chunks // 2} chunks; loaded in",
        ", ".join(f"{n} {s:.1f} s" for n, s in loading.items()),
    )
    for mode in modes:
        a, b = (statistics.mean(scores[name, mode]) for name in ("sqlite", "postgres"))
        times = " | ".join(
            f"{name} {1000 * statistics.median(values):.1f} / {1000 * p95(values):.1f} ms"
            for name in ("sqlite", "postgres")
            for values in [seconds[name, mode]]
        )
        print(
            f"  {mode:8} nDCG@10 {a:.4f} {b:.4f} ({b - a:+.4f}), same ten "
            f"{statistics.mean(same[mode]):.1%}, {times}"
        )


if __name__ == "__main__":
    main()
