"""What the benchmarks share: options, how a command is measured, how results are said, the
comparison with another revision.

A benchmark is a function from its options to rows. A row is a dict of labels, which say what was
measured, and figures; the unit is the end of a figure's name (ms, s, mb, times). `run` prints the
rows as a table, or with --json as

    {"benchmark", "command", "date", "revision", "machine", "labels": [names], "rows": [{label or
    figure: value}]}

With --against REV, other rows are measured with the package of that revision, and this program, in
turns; then "against" has the revision and the rows, and "ratios" its figures divided by those of
now: 2.0 is half the time, or half the size, now.
"""

import argparse
import json
import os
import platform
import shlex
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from typing import IO, Any, NamedTuple

CHECKOUT = Path(__file__).resolve().parents[1]
ROOT = Path(
    os.environ.get("BENCHMARK_ROOT", CHECKOUT)
)  # the package that is measured; another one with --against
COMMAND = [sys.executable, "-m", "hybrid_memory"]
RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes
sys.path.insert(0, str(ROOT))
os.environ.pop(
    "PYTHONDONTWRITEBYTECODE", None
)  # with it, every process would compile the package again

Row = dict[str, Any]


def environ(**settings: str) -> dict[str, str]:
    """The variables of a command: the measured package, and no settings but these, in capitals
    without the prefix.
    """
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("HYBRID_MEMORY_", "OLLAMA_"))
    }
    ours = {f"HYBRID_MEMORY_{key}": value for key, value in settings.items()}
    return kept | {"PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(ROOT / "none")} | ours


class Spent(NamedTuple):
    """What a process took."""

    wall: float  # seconds
    cpu: float  # seconds, of all its processes
    memory: float  # peak, MB
    output: bytes


def process(
    command: list[str],
    variables: dict[str, str],
    *,
    deep: bool = False,
    told: IO[str] | None = None,
) -> Spent:
    """Run a command. The memory is the peak of its resident set; if `deep`, that of all its
    processes together, shared pages counted once (PSS), looked at ten times a second; Linux only.
    `told` is its standard input.

    Raises subprocess.CalledProcessError if it fails.
    """
    began, peak = time.perf_counter(), 0
    running = subprocess.Popen(
        command, env=variables, cwd=tempfile.gettempdir(), stdin=told, stdout=subprocess.PIPE
    )
    ended = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(0.1):
            peak = max(peak, _shared_out(running.pid))

    watching = threading.Thread(target=watch)
    if deep:
        watching.start()
    assert running.stdout
    with running.stdout as stream:
        output = stream.read()
    _, status, usage = os.wait4(running.pid, 0)
    wall = time.perf_counter() - began
    running.returncode = os.waitstatus_to_exitcode(status)
    ended.set()
    if deep:
        watching.join()
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, command)
    return Spent(
        wall,
        usage.ru_utime + usage.ru_stime,
        (peak if deep else usage.ru_maxrss * RSS_UNIT) / 1e6,
        output,
    )


def _shared_out(pid: int) -> int:
    """The bytes of a process and its children, shared pages counted once; 0 where that cannot be
    seen.
    """
    found = 0
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                found = int(line.split()[1]) * 1024
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += sum(
                _shared_out(int(child)) for child in (task / "children").read_text().split()
            )
    except OSError:  # it has ended
        pass
    return found


def reported(failures: list[str]) -> int:
    """Print the first failures and their number; return the exit status of the benchmark."""
    for failure in failures[:20]:
        print(f"FAILED   {failure}")
    print(f"{len(failures)} failures")
    return 1 if failures else 0


def p95(values: Iterable[float]) -> float:
    """The value that 95 % do not exceed."""
    ordered = sorted(values)
    return ordered[ceil(0.95 * len(ordered)) - 1]


def spread_of(seconds: list[float], name: str = "") -> Row:
    """Median and 95th percentile, in ms."""
    prefix = name and f"{name}_"
    return {
        f"{prefix}median_ms": 1e3 * statistics.median(seconds),
        f"{prefix}p95_ms": 1e3 * p95(seconds),
    }


def size_of(database: Path) -> float:
    """The MB of a database with its -wal and -shm."""
    return sum(path.stat().st_size for path in database.parent.glob(f"{database.name}*")) / 1e6


def run(
    doc: str | None,
    labels: str,
    measure: Callable[[argparse.Namespace], Iterable[Row]],
    *options: tuple[str, dict[str, Any]],
) -> None:
    """The program of a benchmark. `labels` are names with blanks between them, options are those of
    add_argument.

    `measure` gets the options, `small` among them: tiny inputs, for seconds. Exits with 1 if a
    row's figure "failed" is not 0.
    """
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for flag, settings in options:
        parser.add_argument(flag, **settings)
    parser.add_argument(
        "--small", action="store_true", help="tiny inputs, only to see that it works"
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON, which benchmarks/report.py takes"
    )
    parser.add_argument("--against", metavar="REV", help="a revision to compare with")
    parser.add_argument(
        "--rounds",
        type=int,
        metavar="N",
        help="so often; medians count (default: 1, with --against 3)",
    )
    args = parser.parse_args()
    rounds = args.rounds or (3 if args.against and not args.small else 1)
    if args.against:
        now, other = compared(args.against, rounds)
        answer = now | {"against": {"revision": args.against, "rows": other}}
        answer["ratios"] = ratios(now["rows"], other, now["labels"])
    else:
        answer = said(labels.split(), middle([list(measure(args)) for _ in range(rounds)]))
    print(json.dumps(answer, indent=1, ensure_ascii=False) if args.json else table(answer))
    if any(row.get("failed") for row in answer["rows"]):
        sys.exit(1)


def said(labels: list[str], rows: list[Row]) -> dict[str, Any]:
    """The results, with where they are from."""
    revision = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
    )
    name = Path(sys.argv[0]).stem
    options = [each for each in sys.argv[1:] if each != "--json"]
    return {
        "benchmark": name,
        "command": shlex.join(["uv", "run", f"benchmarks/{name}.py", *options]),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "revision": revision.stdout.strip() or None,
        "machine": {
            "processor": processor(),
            "cores": len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count(),
            "python": platform.python_version(),
            "sqlite": sqlite3.sqlite_version,
        },
        "labels": labels,
        "rows": [{key: rounded(value) for key, value in row.items()} for row in rows],
    }


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next(
        (line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine()
    )


def rounded(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def compared(revision: str, rounds: int) -> tuple[dict[str, Any], list[Row]]:
    """What this program says with --json, and the rows of another revision; medians of so many
    turns.
    """
    command = [sys.executable, *_without("--against", _without("--rounds", sys.argv)), "--json"]
    answers: dict[str, list[dict[str, Any]]] = {"now": [], "against": []}
    with worktree(revision) as other:
        for _ in range(rounds):
            for side, root in (("now", CHECKOUT), ("against", other)):
                done = subprocess.run(
                    command,
                    env=os.environ | {"BENCHMARK_ROOT": str(root)},
                    stdout=subprocess.PIPE,
                    check=False,
                )
                if done.returncode:
                    sys.exit(
                        f"{revision}: cannot be measured by this program"
                        if side == "against"
                        else 1
                    )
                answers[side].append(json.loads(done.stdout))
    now, against = answers["now"][0], answers["against"][0]
    for answer, all_of_them in ((now, answers["now"]), (against, answers["against"])):
        answer["rows"] = middle([each["rows"] for each in all_of_them])
    now["command"] += f" --against {revision}"
    return now, against["rows"]


def _without(flag: str, arguments: list[str]) -> list[str]:
    """The arguments without this option and its value."""
    place = next(
        (place for place, each in enumerate(arguments) if each.partition("=")[0] == flag),
        len(arguments),
    )
    return (
        arguments[:place]
        + arguments[place + (1 if "=" in "".join(arguments[place : place + 1]) else 2) :]
    )


@contextmanager
def worktree(revision: str) -> Iterator[Path]:
    """Another revision of the repository, in a temporary folder."""
    git = ["git", "-C", str(CHECKOUT), "worktree"]
    with tempfile.TemporaryDirectory() as top:
        place = Path(top) / "against"
        subprocess.run([*git, "add", "--quiet", "--detach", str(place), revision], check=True)
        try:
            yield place
        finally:
            subprocess.run([*git, "remove", "--force", str(place)], check=True)


def is_figure(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def middle(rounds: list[list[Row]]) -> list[Row]:
    """The rows of a round, each figure the median over all rounds."""
    return [
        {
            key: statistics.median([row[key] for row in same]) if is_figure(value) else value
            for key, value in same[0].items()
        }
        for same in zip(*rounds, strict=True)
    ]


def ratios(rows: list[Row], others: list[Row], labels: list[str]) -> list[Row]:
    """For each row that both have: its labels, and each figure of the others divided by that of
    now.
    """
    known = {tuple(row[label] for label in labels): row for row in others}
    found = []
    for row in rows:
        key = tuple(row[label] for label in labels)
        other = known.get(key, {})
        both = [
            name
            for name, value in row.items()
            if name not in labels and is_figure(value) and value and name in other
        ]
        found.append(
            dict(zip(labels, key, strict=True))
            | {name: round(other[name] / row[name], 2) for name in both}
        )
    return found


def table(answer: dict[str, Any]) -> str:
    """The rows as a table of markdown; below it the ratios, if there are any."""
    parts = [markdown(answer["rows"])]
    if "against" in answer:
        revision = answer["against"]["revision"]
        parts += [
            f"{revision}:\n\n{markdown(answer['against']['rows'])}",
            f"{revision} / now:\n\n{markdown(answer['ratios'])}",
        ]
    return "\n\n".join(parts)


def markdown(rows: list[Row]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [" | ".join(name.replace("_", " ") for name in names), "|".join(["---"] * len(names))]
    lines += [" | ".join(shown(row.get(name, "")) for name in names) for row in rows]
    return "\n".join(f"| {line} |" if line[:3] != "---" else f"|{line}|" for line in lines)


def shown(value: Any) -> str:
    """A figure as a page shows it."""
    if isinstance(value, float):
        value = rounded(value)
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}"
    return f"{value:,}" if is_figure(value) else str(value)
