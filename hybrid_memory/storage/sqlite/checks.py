"""What may be inconsistent in a database: integrity, indexes against tables. For the doctor; changes nothing."""

import sqlite3

from .connection import waiting
from .vectors import blocks

OLDEST_SQLITE = (3, 38)

INTEGRITY = "pragma integrity_check(10)"
FTS_INTEGRITY = "insert into chunks_fts (chunks_fts) values ('integrity-check')"
# FTS5 has a row in this small table for each row of the index; those of the index itself have the texts.
NOT_INDEXED = "select count(*) from (select id from chunks except select id from chunks_fts_docsize)"
NOT_STORED = "select count(*) from (select id from chunks_fts_docsize except select id from chunks)"
WITHOUT_DOCUMENT = "select distinct doc_id from chunks where doc_id not in (select doc_id from documents)"
MISCOUNTED = """
select doc_id from documents d
where  chunk_count <> (select count(*) from chunks c where c.doc_id = d.doc_id)
"""


class Checks:
    """Implements `protocol.Checks`."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    def engine(self) -> tuple[str, str]:
        version = f"SQLite {sqlite3.sqlite_version} with FTS5"
        oldest = ".".join(map(str, OLDEST_SQLITE))
        return version, "" if sqlite3.sqlite_version_info >= OLDEST_SQLITE else f"use a Python whose SQLite is {oldest} or later"

    def integrity(self) -> list[str]:
        lines = (line for (text,) in self._conn.execute(INTEGRITY) for line in text.splitlines())
        # "*** in database main ***" is a title; new versions of SQLite also check the keyword index, which is a check of its own.
        return [line for line in lines if line != "ok" and not line.startswith("***") and "inverted index" not in line]

    def keyword_index(self) -> tuple[bool, str]:
        try:
            with waiting(self._conn, 1.0):
                self._conn.execute(FTS_INTEGRITY)
        except sqlite3.OperationalError as error:  # SQLite takes the check for a write, which may not be possible
            return True, f"not checked: {error}"
        except sqlite3.DatabaseError as error:
            return False, str(error)
        return True, "FTS5's own check passes"

    def keyword_index_differences(self) -> tuple[int, int]:
        return self._count(NOT_INDEXED), self._count(NOT_STORED)

    def without_document(self) -> list[str]:
        return [doc_id for (doc_id,) in self._conn.execute(WITHOUT_DOCUMENT)]

    def miscounted(self) -> list[str]:
        return [doc_id for (doc_id,) in self._conn.execute(MISCOUNTED)]

    def vectors(self, *, thorough: bool) -> list[str]:
        return blocks.check(self._conn, thorough=thorough)

    def _count(self, statement: str) -> int:
        return int(self._conn.execute(statement).fetchone()[0])
