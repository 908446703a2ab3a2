"""What may be inconsistent in a database: integrity, indexes against tables. For the doctor; changes nothing."""

import sqlite3

from .vectors import blocks

OLDEST_SQLITE = (3, 38)

INTEGRITY = "pragma integrity_check(10)"
FTS_INTEGRITY = "insert into chunks_fts (chunks_fts) values ('integrity-check')"
NOT_INDEXED = "select count(*) from (select id from chunks except select rowid from chunks_fts)"
NOT_STORED = "select count(*) from (select rowid from chunks_fts except select id from chunks)"
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
        return [line for (line,) in self._conn.execute(INTEGRITY) if line != "ok"]

    def keyword_index(self) -> tuple[bool, str]:
        try:
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

    def vectors(self) -> list[str]:
        return blocks.check(self._conn)

    def _count(self, statement: str) -> int:
        return int(self._conn.execute(statement).fetchone()[0])
