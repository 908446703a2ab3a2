"""CPU time of kinds of questions in a real memory: `uv run benchmarks/questions.py DATABASE`.

The questions are made of the memory's own words, drawn with a seed. They are searched in one open
store, except "known" and "unknown", which are searched as by a command, in a store that has just
been opened, because a store remembers the list of words. "compared" is the mean number of
embeddings that a search compares exactly.

    words        one to five words of a chunk
    headings, sentences, paragraphs, common words
                 as people paste and type them (real_questions.py)
    long         30 words of a chunk, side by side
    known        a word of a chunk
    unknown      a word that no chunk has, none is spelled like, and none contains

The database is copied. With --against REV, it must be one that the other revision can open, too:
made by that revision, for example. The copy first gets what a command that writes adds to it.
"""

import random
import re
import shutil
import statistics
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common import CHECKOUT, COMMAND, Row, environ, process, run
from real_questions import drawn

SEED = 7
NOTES = CHECKOUT / "tests/quality/notes"  # for --small
WORD = re.compile(r"[a-zA-Z]{3,}")
RANDOM_CHUNK = "select content from chunks where id >= ? order by id limit 1"
LAST = "select max(id) from chunks"
KINDS = [
    ("words", "keyword"),
    ("words", "vector"),
    ("words", "hybrid"),
    ("headings", "hybrid"),
    ("sentences", "hybrid"),
    ("paragraphs", "hybrid"),
    ("common words", "hybrid"),
    ("long", "keyword"),
    ("known", "keyword"),
    ("unknown", "keyword"),
]


def questions(conn: Any, count: int) -> dict[str, list[str]]:
    chance = random.Random(SEED)
    (last,) = conn.execute(LAST).fetchone()

    def words(least: int) -> list[str]:
        while True:
            (text,) = conn.execute(RANDOM_CHUNK, (chance.randint(1, last),)).fetchone()
            found = WORD.findall(text)
            if len(found) >= least:
                return found

    def unknown() -> str:
        return "".join(chance.choices("bcdfghjklmnpqrstvwxz", k=9))

    return {
        "words": [" ".join(chance.sample(words(8), chance.randint(1, 5))) for _ in range(count)],
        "long": [" ".join(words(30)[:30]) for _ in range(count)],
        "known": [chance.choice(words(1)) for _ in range(count)],
        "unknown": [unknown() for _ in range(count)],
    }


def measure(args: Namespace) -> Iterator[Row]:
    from hybrid_memory import HybridStore
    from hybrid_memory.storage.sqlite import vectors

    compared = 0
    original = vectors._hits

    def counting(query: Any, rows: Any) -> Any:
        nonlocal compared
        hits = original(query, rows)
        compared += len(hits)
        return hits

    settings = {"provider": args.provider}
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        path = Path(folder) / "memory.db"
        if args.small:
            process([*COMMAND, "--db", str(path), "ingest", "--path", str(NOTES)], environ())
        else:
            shutil.copy(args.database, path)
        is_left = True
        while is_left:  # each close adds a part
            before = path.stat().st_mtime_ns
            with HybridStore(path, settings) as store, store.storage.transaction():
                pass
            is_left = path.stat().st_mtime_ns != before
        with HybridStore(path, settings) as store:
            count = 5 if args.small else args.count
            texts = questions(store.storage.connection, count)
            for kind, found in drawn(store, count).items():
                texts[kind] = [text for text, _ in found]
            vectors._hits = counting
            for kind, mode in KINDS:
                if kind not in texts or (mode != "keyword" and args.provider == "none"):
                    continue
                compared = 0
                spent = []
                for text in texts[kind]:
                    if kind.endswith("known"):
                        with HybridStore(path, settings) as fresh:
                            spent.append(search(fresh, text, mode))
                    else:
                        spent.append(search(store, text, mode))
                yield {
                    "question": kind,
                    "mode": mode,
                    "cpu_ms": statistics.mean(spent[1:]),
                    "p95_ms": sorted(spent[1:])[int(0.95 * (len(spent) - 1))],
                    "compared": compared / len(spent),
                }


def search(store: Any, text: str, mode: str) -> float:
    """The CPU time of a search, in ms."""
    before = time.process_time()
    store.search(text, mode=mode)
    return 1000 * (time.process_time() - before)


if __name__ == "__main__":
    run(
        __doc__,
        "question mode",
        measure,
        ("database", {"metavar": "DATABASE", "nargs": "?"}),
        ("--provider", {"default": "builtin", "help": "of the embeddings, or none"}),
        ("--count", {"type": int, "default": 60, "help": "questions of each kind"}),
        ("--folder", {"help": "folder for the copy (default: a temporary one)"}),
    )
