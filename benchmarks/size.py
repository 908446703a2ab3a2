"""Where the bytes of a database are: each table and index, as times the size of the notes, and what of their pages is unused.

    uv run benchmarks/size.py DATABASE FOLDER

Prints JSON. Needs a SQLite that is built with the table `dbstat`, as Debian's is.
"""

import json
import sqlite3
import sys
from pathlib import Path

TABLES = "select name, sum(pgsize), sum(unused), sum(ncell) from dbstat group by name order by 2 desc"


def main(database: str, folder: str) -> None:
    notes = sum(path.stat().st_size for path in Path(folder).rglob("*.md"))
    conn = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    tables = [
        {"name": name, "bytes": size, "times_the_notes": round(size / notes, 3), "unused": unused, "cells": cells}
        for name, size, unused, cells in conn.execute(TABLES)
    ]
    page_size, pages, free = (
        conn.execute(f"pragma {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
    )
    conn.close()
    answer = {
        "notes": notes,
        "database": page_size * pages,
        "times_the_notes": round(page_size * pages / notes, 3),
        "page_size": page_size,
        "free_pages": free,
        "tables": tables,
    }
    print(json.dumps(answer, indent=2))


if __name__ == "__main__":
    main(*sys.argv[1:3])
