"""Run every benchmark: `uv run benchmarks/all.py [--small] [--against REV] [--into
docs/measurements]`.

--small gives them tiny inputs, three at a time, which takes less than a minute and tells only
whether they still work: what they print must have the form that benchmarks/common.py describes. CI
runs this. In full it takes an hour or more. With --against, every benchmark compares with that
revision. --into writes a file of JSON for each into a folder; benchmarks/report.py makes tables and
plots of these. Exit status 1 if one failed. What compares with PostgreSQL (engines, growth_engines,
edit_engines, torture_postgres) and the trials run in small only.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import notes

HERE = Path(__file__).parent
QUALITY = HERE.parent / "tests" / "quality"
PROMPTS = QUALITY / "coding.txt"
BENCHMARKS = (
    "start", "growth", "ingest", "sync", "size", "keyword_search", "vector", "filters", "embedding",
    "serve", "typed", "chunks",
)  # fmt: skip
TRIALS = {  # programs that try whether something holds: their arguments in small
    "fuzz files": ["fuzz.py", "files", "--count", "40"],
    "fuzz queries": ["fuzz.py", "queries", "--count", "40"],
    "fuzz databases": ["fuzz.py", "databases", "--count", "2"],
    "sequences": ["sequences.py", "--small"],
    "one_answer": ["one_answer.py", "--small"],
    "parallel": ["parallel.py", "--small"],
    "torture": ["torture.py", "--kills", "2", "--searchers", "2", "--seconds", "1"],
    "answers": ["answers.py", "{collection}", "--queries", "4", "--tools"],
    "confidence": ["confidence.py", "{collection}", "--prompts", "{prompts}"],
    "cut": ["cut.py", "--small"],
    "parts": ["parts.py", "--small"],
    "precision_mem_bench": ["precision_mem_bench.py", "--small"],
    "longmemeval": ["longmemeval.py", "--small"],
    "weeks": ["weeks.py", "--small"],
    "questions": ["questions.py", "--small", "--provider", "none"],
    "peers": ["peers.py", "{updates}", "--questions", "4"],
    "heartbeat": ["heartbeat.py", "--small"],
    "real_notes": ["real_notes.py", "--small"],
    "engines": ["engines.py", "{collection}", "--questions", "4"],
    "growth_engines": [
        "growth_engines.py",
        "--chunks",
        "100",
        "200",
        "--plain",
        "100",
        "--questions",
        "4",
    ],
    "edit_engines": ["edit_engines.py", "--chunks", "200", "--rounds", "2"],
    "torture_postgres": ["torture_postgres.py", "--seconds", "2"],
}


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)


def problem(answer: dict[str, Any]) -> str | None:
    """What is wrong with the results of a benchmark; None if nothing is."""
    labels, rows = answer["labels"], answer["rows"]
    if not rows:
        return "it has no rows"
    if any(label not in row for row in rows for label in labels):
        return f"a row has not all of the labels {labels}"
    if len({tuple(row[label] for label in labels) for row in rows}) < len(rows):
        return f"two rows have the same {labels}"
    figures = [
        value
        for row in rows
        for name, value in row.items()
        if name not in labels and not isinstance(value, str)
    ]
    if not figures or not all(math.isfinite(value) and value >= 0 for value in figures):
        return "a figure is no number from 0 up"
    return None


def collection(folder: Path) -> Path:
    """Made-up notes with questions about them, in the form of a judged collection."""
    notes.write(folder / "docs", 10)
    queries = [
        json.dumps({"id": str(number), "text": text})
        for number, text in enumerate(notes.queries(4, 10))
    ]
    (folder / "queries.jsonl").write_text("\n".join(queries))
    (folder / "qrels.tsv").write_text(
        "\n".join(f"{number}\t{notes.path(number)}\t1" for number in range(4))
    )
    return folder


def command_of(name: str, args: argparse.Namespace, judged: Path) -> list[str]:
    """The program of a benchmark or a trial with its arguments."""
    if name in TRIALS:
        places = {
            "{collection}": str(judged),
            "{prompts}": str(PROMPTS),
            "{updates}": str(QUALITY / "updates"),
        }
        script, *arguments = (places.get(word, word) for word in TRIALS[name])
        return [str(HERE / script), *arguments]
    against = ["--against", args.against] if args.against else []
    return [str(HERE / f"{name}.py"), "--json", *["--small"] * args.small, *against]


def tried(name: str, args: argparse.Namespace, judged: Path) -> str | None:
    """Run one, print how it went, and keep or print its results; what is wrong, None if nothing
    is.
    """
    began = time.monotonic()
    done = run(command_of(name, args, judged))
    wrong = None
    if done.returncode:
        wrong = done.stderr.strip()[-2000:] or f"exit status {done.returncode}"
    elif name not in TRIALS:
        answer = json.loads(done.stdout)
        wrong = problem(answer)
        if args.into:
            args.into.mkdir(parents=True, exist_ok=True)
            (args.into / f"{name}.json").write_text(done.stdout)
        elif not args.small:
            print(json.dumps(answer.get("ratios", answer["rows"]), indent=1))
    took = time.monotonic() - began
    print(f"{name}: {wrong or 'ok'}, {took:.1f} s", file=sys.stderr, flush=True)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"only these of {', '.join([*BENCHMARKS, *TRIALS])}",
    )
    parser.add_argument("--small", action="store_true", help="tiny inputs; the trials, too")
    parser.add_argument("--against", metavar="REV", help="a revision to compare with")
    parser.add_argument(
        "--into", type=Path, metavar="DIR", help="write the results as JSON into this folder"
    )
    args = parser.parse_args()
    names = args.names or [*BENCHMARKS, *(TRIALS if args.small else ())]
    # In small nothing is measured, and many wait for servers: more than there are cores.
    at_once = 3 if args.small else 1
    with tempfile.TemporaryDirectory() as top, ThreadPoolExecutor(at_once) as pool:
        judged = collection(Path(top))
        wrong = list(pool.map(lambda name: tried(name, args, judged), names))
    return 1 if any(wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
