# /// script
# requires-python = ">=3.11"
# dependencies = ["requests"]
# ///
"""Time four kinds of ingest of 5,000 files of 4 KB, each in its own process: `uv run benchmarks/sync.py`.

    first        into a new database
    nothing      --incremental, with no file changed
    one          --incremental, with one file changed
    again        all files once more, without --incremental

Nothing is embedded, because that would measure the model. The files are random markdown (seeded), or are cut from the markdown
files below --docs. Each figure is the median of --rounds. The last column is the ratio to the time of starting Python and
importing the command in the same round, so that a noisy machine affects both equally. Memory is the peak of the resident set.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SEED = 11
LENGTH = 4000  # characters of a file
FOLDERS = 50
RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes
START = [sys.executable, "-c", "import hybrid_memory.cli"]
COMMAND = [sys.executable, "-m", "hybrid_memory"]


def prose(chance: random.Random) -> Iterator[str]:
    """Paragraphs under headings, with lists, code and identifiers. The words are distributed as in a natural language."""
    letters = "etaoinshrdlucmfwypvbgk"
    words = ["".join(chance.choices(letters, range(len(letters), 0, -1), k=chance.randint(2, 9))) for _ in range(20_000)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    while True:
        line = " ".join(chance.choices(words, weights, k=chance.randint(5, 40)))
        kind = chance.random()
        name = "_".join(chance.choices(words, k=2))
        if kind < 0.12:
            yield f"\n{'#' * chance.randint(1, 4)} {line[:50].title()}\n\n"
        elif kind < 0.3:
            yield f"- `{name}.{chance.choice(words)}`: {line}\n"
        elif kind < 0.36:
            yield f"```bash\n{chance.choice(words)} --{name.replace('_', '-')} /{name}/{line[:40]}\n```\n"
        else:
            yield f"{line.capitalize()}.\n\n"


def text_of(docs: str | None) -> str:
    if docs:
        return "\n".join(path.read_text(errors="replace") for path in sorted(Path(docs).rglob("*.md")))
    parts, size = [], 0
    for part in prose(random.Random(SEED)):
        parts.append(part)
        size += len(part)
        if size > 4_000_000:
            return "".join(parts)
    raise AssertionError


def make(folder: Path, files: int, text: str) -> None:
    chance = random.Random(SEED)
    for number in range(files):
        path = folder / f"part{number % FOLDERS}" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        start = text.index("\n", chance.randrange(len(text) - LENGTH - 1000)) + 1
        path.write_text(f"# Note {number}\n\n{text[start : start + LENGTH]}")


def measured(command: list[str], environ: dict[str, str]) -> tuple[float, float]:
    """The seconds that a command takes, and its peak of memory in MB."""
    started = time.perf_counter()
    process = subprocess.Popen(command, env=environ, cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {process.returncode}")
    return time.perf_counter() - started, usage.ru_maxrss * RSS_UNIT / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--docs", help="folder of markdown files from which the files are cut")
    parser.add_argument("--make", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.make:
        make(Path(args.make), args.files, text_of(args.docs))
        return
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("HYBRID_MEMORY_", "OLLAMA_"))}
    environ |= {"HYBRID_MEMORY_PROVIDER": "none"}
    results: dict[str, list[tuple[float, float, float]]] = {}
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top) / "memory"
        # In its own process, because the peak of memory of a child process begins with that of its parent.
        making = [sys.executable, __file__, "--files", str(args.files), "--make", str(folder)]
        subprocess.run([*making, *(["--docs", args.docs] if args.docs else [])], check=True)
        (Path(top) / "config.json").write_text("{}")
        measured(START, environ)
        for number in range(args.rounds):
            db = f"{top}/{number}.db"
            ingest = [*COMMAND, "ingest", "--path", str(folder), "--db", db, "--config", f"{top}/config.json", "--quiet"]
            start = statistics.median(measured(START, environ)[0] for _ in range(5))
            for name in ("first", "nothing", "one", "again"):
                if name == "one":
                    with (folder / "part0" / "0.md").open("a") as file:
                        file.write(f"\nA line of round {number}.\n")
                seconds, memory = measured(ingest if name in ("first", "again") else [*ingest, "--incremental"], environ)
                results.setdefault(name, []).append((seconds, memory, start))
            size = os.path.getsize(db) / 1e6
    print(f"{args.files:,} files of {LENGTH / 1000:.0f} KB, database {size:.0f} MB")
    print(f"{'ingest':10}{'seconds':>10}{'more than start':>18}{'files/s':>10}{'MB':>8}{'x start':>10}")
    for name, rows in results.items():
        seconds, memory, start = (statistics.median(column) for column in zip(*rows, strict=True))
        rate = args.files / (seconds - start)
        print(f"{name:10}{seconds:10.2f}{seconds - start:18.2f}{rate:10,.0f}{memory:8.0f}{seconds / start:10.1f}")
    print(f"start: {start:.2f} s")


if __name__ == "__main__":
    main()
