"""Time the first ingest of a folder: `uv run benchmarks/ingest.py --docs DIR --against REV`.

    keyword      with `--provider none` builtin      with the built-in model floor        SQLite
    alone, writing the rows of that database into tables of the same form, in one process

Without --docs, the notes are made up (benchmarks/notes.py). The CPU time and the memory are those
of all processes together.
"""

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import notes
from common import COMMAND, Row, environ, process, run, size_of

SMALL_NOTES = 30
GROUP = 2000  # rows of the floor in one transaction
PROVIDERS = {"keyword": "none", "builtin": "builtin"}
WRITTEN = ("chunks", "chunks_fts", "documents", "vector_blocks", "meta", "folders")


def measure(args: Namespace) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        folder = top / "memory"
        folder.mkdir()
        if args.docs:
            for number in range(args.copies):
                subprocess.run(["cp", "-r", str(args.docs), str(folder / str(number))], check=True)
        else:  # in its own process: a child's peak of memory begins with that of its parent
            count = str(SMALL_NOTES if args.small else args.notes)
            process([sys.executable, notes.__file__, str(folder), "--notes", count], environ())
        sizes = [path.stat().st_size for path in folder.rglob("*.md")]
        for kind in args.kind or PROVIDERS:
            db = top / f"{kind}.db"
            variables = environ(PROVIDER=PROVIDERS[kind], DB_PATH=str(db))
            spent = process(
                [*COMMAND, "--quiet", "ingest", "--path", str(folder)], variables, deep=True
            )
            row = {
                "wall_s": spent.wall,
                "cpu_s": spent.cpu,
                "memory_mb": spent.memory,
                "database_mb": size_of(db),
            }
            for side, at in (("ingest", row), ("floor", floor(db, top / f"{kind}.floor.db"))):
                rate = {
                    "mb_a_second": sum(sizes) / 1e6 / at["wall_s"],
                    "times_the_notes": at["database_mb"] * 1e6 / sum(sizes),
                }
                yield (
                    {"kind": kind, "side": side, "files": len(sizes), "notes_mb": sum(sizes) / 1e6}
                    | at
                    | rate
                )


def floor(db: Path, copy: Path) -> Row:
    """Write the rows of a database into a new one, table by table, through nothing but sqlite3."""
    with closing(sqlite3.connect(db)) as source:
        schema = source.execute(
            "select sql from sqlite_schema where sql is not null and name not like 'chunks_fts_%'"
        ).fetchall()
        has_rows = {
            name
            for (name,) in source.execute("select name from sqlite_schema where type = 'table'")
        } & set(WRITTEN)
        rows = {
            table: source.execute(
                f"select {'rowid, ' * (table == 'chunks_fts')}* from {table}"
            ).fetchall()
            for table in has_rows
        }
        names = {table: columns(source, table) for table in has_rows}
        (page,) = source.execute("pragma page_size").fetchone()
    before, began = os.times(), time.perf_counter()
    with closing(sqlite3.connect(copy, isolation_level=None)) as conn:
        conn.execute(f"pragma page_size = {page}")
        conn.execute("pragma journal_mode = wal")
        for (statement,) in schema:
            if not statement.startswith("CREATE TABLE 'chunks_fts"):
                conn.execute(statement)
        for table, all_rows in rows.items():
            listed = ", ".join(names[table])
            values = ", ".join("?" * len(names[table]))
            insert = f"insert into {table} ({listed}) values ({values})"
            for start in range(0, len(all_rows), GROUP):
                conn.execute("begin immediate")
                conn.executemany(insert, all_rows[start : start + GROUP])
                conn.execute("commit")
    after = os.times()
    cpu = after.user + after.system - before.user - before.system
    return {
        "wall_s": time.perf_counter() - began,
        "cpu_s": cpu,
        "memory_mb": 0.0,
        "database_mb": size_of(copy),
    }


def columns(conn: sqlite3.Connection, table: str) -> list[str]:
    """The columns that a select of everything gives, with the rowid of the keyword index, which is
    that of the chunk.
    """
    names = [name for _, name, *_ in conn.execute(f"pragma table_info({table})")]
    return ["rowid", *names] if table == "chunks_fts" else names


if __name__ == "__main__":
    run(
        __doc__,
        "kind side",
        measure,
        (
            "--docs",
            {
                "type": Path,
                "metavar": "DIR",
                "help": "folder of markdown files (default: made-up notes)",
            },
        ),
        (
            "--copies",
            {
                "type": int,
                "default": 1,
                "help": "ingest the folder so many times over, each copy a subfolder",
            },
        ),
        (
            "--notes",
            {"type": int, "default": 5000, "help": "made-up notes of some 4 KB (default: 5000)"},
        ),
        (
            "--kind",
            {"choices": PROVIDERS, "action": "append", "help": "only this one (default: all)"},
        ),
    )
