# /// script
# requires-python = ">=3.11"
# dependencies = ["requests", "pypdfium2>=5"]
# ///
"""Try random and hostile inputs: `uv run benchmarks/fuzz.py files --count 20000 --seed 1`.

files    Notes and transcripts with broken, huge or nested content are read and cut into chunks.
         Nothing but the errors for files that cannot be indexed may be raised, every chunk must be
         found in its lines, and sizes and times must stay in bounds.
documents  DOCX and PDF files are extracted at two sizes. The cost must grow no faster than the file;
         200 cases are a good number.
queries  Words, syntax and characters of every kind are searched. Each query is answered, or refused
         with a reason.
databases  A database with changed bytes or pages is given to some commands. Each answers, or says in
         one line what is wrong.

Each case depends only on the seed and its number, so that `--only NUMBER` repeats one. The inputs
of the first failures are kept in a folder that is named at the end. Exit 1 if anything failed.
"""

import argparse
import importlib
import random
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

# Name on the command line -> module with make(rng) -> case, check(case, folder), and kept(case) ->
# (file name, bytes).
KINDS = {
    "files": "fuzz_files",
    "documents": "fuzz_documents",
    "queries": "fuzz_queries",
    "databases": "fuzz_databases",
}
SHOWN = 10  # failures


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--count", type=int, default=2000, help="cases (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only", type=int, metavar="NUMBER", help="run the case with this number and no other"
    )
    args = parser.parse_args()
    kind = importlib.import_module(KINDS[args.kind])
    numbers = range(args.count) if args.only is None else [args.only]
    failed = 0
    begun = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    for number in numbers:
        case = kind.make(random.Random(f"{args.seed}:{number}"))
        try:
            kind.check(case, folder)
        except Exception:
            failed += 1
            if failed <= SHOWN:
                name, data = kind.kept(case)
                (folder / f"{number}-{name}").write_bytes(data)
                print(f"case {number} failed:\n{traceback.format_exc()}")
    seconds = time.monotonic() - begun
    print(f"{len(numbers):,} cases in {seconds:.0f} s, {failed:,} failed")
    if failed:
        print(f"the first are in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
