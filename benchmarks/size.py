"""Where the bytes of a database are: each table and index, as times the size of the notes, and what
of their pages is unused.

    uv run benchmarks/size.py [--database FILE --folder DIR]

Without them, of made-up notes with the built-in model. Needs a SQLite that is built with the table
`dbstat`, as Debian's is.
"""

import sqlite3
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import notes
from common import COMMAND, Row, environ, process, run

TABLES = (
    "select name, sum(pgsize), sum(unused), sum(ncell) from dbstat group by name order by 2 desc"
)


def measure(args: Namespace) -> Iterator[Row]:
    if args.database:
        yield from tables(args.database, args.folder)
        return
    with tempfile.TemporaryDirectory() as top:
        folder, database = Path(top) / "memory", Path(top) / "memory.db"
        notes.write(folder, 30 if args.small else args.notes)
        process(
            [*COMMAND, "--quiet", "ingest", "--path", str(folder)],
            environ(PROVIDER="builtin", DB_PATH=str(database)),
        )
        yield from tables(database, folder)


def tables(database: Path, folder: Path) -> Iterator[Row]:
    size = sum(path.stat().st_size for path in folder.rglob("*.md"))
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as conn:
        page, pages, free = (
            conn.execute(f"pragma {name}").fetchone()[0]
            for name in ("page_size", "page_count", "freelist_count")
        )
        found = [("all of it", page * pages, page * free, pages), *conn.execute(TABLES)]
    for name, used, unused, cells in found:
        yield {
            "name": name,
            "mb": used / 1e6,
            "times_the_notes": used / size,
            "unused_mb": unused / 1e6,
            "cells": cells,
        }


if __name__ == "__main__":
    run(
        __doc__,
        "name",
        measure,
        ("--database", {"type": Path, "help": "of an ingest of --folder"}),
        ("--folder", {"type": Path}),
        ("--notes", {"type": int, "default": 1000, "help": "made-up notes (default: %(default)s)"}),
    )
