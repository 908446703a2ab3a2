# /// script
# requires-python = ">=3.11"
# dependencies = ["requests", "hypothesis"]
# ///
"""Random sequences of what can happen to a memory: `uv run benchmarks/sequences.py [--count 1000]
[--steps 40] [--seed 1]`.

The rules are in tests/sequences.py. After each step the database must equal a model; at the end it
must equal a new database of the same files and texts. A failure is printed as the shortest sequence
that still fails, and the exit status is 1. The same seed gives the same sequences; each 25 have a
seed of their own.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.sequences import Memory, Sequences

PART = 25  # sequences of one seed
COUNTS: Counter[str] = Counter()


class CountedMemory(Memory):
    """Counts the commands and the kills that hit a running command."""

    def run(self, *args, **options):  # type: ignore[no-untyped-def]
        COUNTS["commands"] += 1
        return super().run(*args, **options)

    def killed(self, moment: int, *args: str) -> bool:
        killed = super().killed(moment, *args)
        COUNTS["kills"] += killed
        return killed


class CountedSequences(Sequences):
    """Counts sequences and steps."""

    memory_class = CountedMemory

    def teardown(self) -> None:
        super().teardown()
        COUNTS["sequences"] += 1
        COUNTS["steps"] += self.steps


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1000, help="sequences (default: 1000)")
    parser.add_argument("--steps", type=int, default=40, help="most steps of each (default: 40)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--no-shrink", action="store_true", help="print the first failure as it was found"
    )
    parser.add_argument("--small", action="store_true", help="two sequences of ten steps")
    args = parser.parse_args()
    if args.small:
        args.count, args.steps = 2, 10
    phases = [Phase.generate, Phase.shrink]
    if args.no_shrink:
        phases.remove(Phase.shrink)
    began = time.monotonic()
    for number, first in enumerate(range(0, args.count, PART)):
        chosen = settings(
            max_examples=min(PART, args.count - first),
            stateful_step_count=args.steps,
            deadline=None,
            database=None,
            phases=phases,
            suppress_health_check=list(HealthCheck),
        )
        run_state_machine_as_test(seed(args.seed + number)(CountedSequences), settings=chosen)
        counts = ", ".join(f"{count:,} {name}" for name, count in COUNTS.items())
        print(f"{counts}, {time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
