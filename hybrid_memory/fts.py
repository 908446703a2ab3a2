"""Keyword search over a connection; the module is storage/sqlite/keyword.py."""

import sqlite3

from .storage.sqlite import keyword, schema


class FTSIndex(keyword.FTSIndex):
    """The FTS5 index behind any connection: what it needs of the tables is made if it is missing.
    Never commits.

    Raises StoreError if SQLite has no FTS5.
    """

    def __init__(self, conn: sqlite3.Connection) -> None:
        schema.complete(conn)
        super().__init__(conn)


__all__ = ["FTSIndex"]
