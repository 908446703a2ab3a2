# /// script
# requires-python = ">=3.11"
# dependencies = ["requests", "hypothesis", "starlette", "uvicorn"]
# ///
"""Random queries and options on every surface: `uv run benchmarks/one_answer.py [--count 10000]
[--seed 1]`.

The options are those of the table, so that a new one is tried without a change here. The command
line, HTTP and Python must give the same results in all fields, MCP the same passages as the command
line, and `why` the same ranks, or all must refuse the request. A failure is printed as the shortest
query and options that still fail, and the exit status is 1.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hypothesis import HealthCheck, given, seed, settings

from tests.extras.surfaces import QUERIES, choices, surfaces

COUNTS: Counter[str] = Counter()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000, help="searches (default: 10000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--small", action="store_true", help="ten searches")
    args = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as top, surfaces(Path(top)) as memory:

        @seed(args.seed)
        @settings(
            max_examples=10 if args.small else args.count,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(query=QUERIES, chosen=choices())
        def check(query: str, chosen: dict[str, list[str]]) -> None:
            COUNTS["searches"] += 1
            COUNTS[memory.check(query, chosen)] += 1

        check()
    counts = ", ".join(f"{count:,} {name}" for name, count in COUNTS.items())
    print(f"{counts}, {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
