"""A document that grows at its end -> the store: its first chunks stay as they are, only what comes after them is written.

What is new is spooled into a temporary table while nobody is kept from writing, so that neither memory nor the write lock
depends on the document's size. But: a chunk's embedding is not looked up here; it is pending, as without a server.
"""

from collections.abc import Iterable
from typing import Any

from . import vector
from .fts import FTSIndex
from .store import PUT_DOCUMENT, HybridStore

STORED = """
select id, chunk_id, heading, start_line, end_line, content_hash
from   chunks
where  doc_id = ?
order  by id
"""
KEPT = "select count(*), max(id) from chunks where doc_id = ? and id <= ?"
AFTER = "select id from chunks where doc_id = ? and id > ?"

CREATE = """
create temp table spool (doc_id, chunk_id, heading, heading_path, content, start_line, end_line, content_hash)
"""
SPOOL = """
insert into temp.spool values (:doc_id, :chunk_id, :heading, :heading_path, :content, :start_line, :end_line, :content_hash)
"""
MOVE = """
insert into chunks (doc_id, chunk_id, heading, heading_path, content, start_line, end_line, content_hash)
select doc_id, chunk_id, heading, heading_path, content, start_line, end_line, content_hash from temp.spool order by rowid
"""


class Growing:
    """First `spool`, then, inside a transaction, `write`; `close` in any case."""

    def __init__(self, store: HybridStore, doc_id: str) -> None:
        self._conn, self._doc_id = store.connection, doc_id
        self._kept, self._last = 0, 0  # chunks that stay as they are, and the id of the last one
        self._new = 0
        self._conn.execute(CREATE)

    def spool(self, chunks: Iterable[dict[str, Any]]) -> int:
        """Rows of chunks, all of the document. Gives the number of them."""
        stored = self._conn.execute(STORED, (self._doc_id,))
        same = True
        self._conn.execute("savepoint spool")  # of the temporary database alone, as nothing else is written
        try:
            for chunk in chunks:
                row = stored.fetchone() if same else None
                same = row is not None and row[1:] == tuple(
                    chunk[key] for key in ("chunk_id", "heading", "start_line", "end_line", "content_hash")
                )
                if same and row:
                    self._kept, self._last = self._kept + 1, row[0]
                else:
                    self._conn.execute(SPOOL, chunk)
                    self._new += 1
        finally:
            stored.close()
            self._conn.execute("release spool")
        return self._kept + self._new

    def write(self, row: dict[str, Any]) -> int | None:
        """Gives the number of chunks written; None, and writes nothing, if another process changed the document meanwhile."""
        if self._conn.execute(KEPT, (self._doc_id, self._last)).fetchone() != (self._kept, self._last or None):
            return None
        ids = [id for (id,) in self._conn.execute(AFTER, (self._doc_id, self._last))]
        fts = FTSIndex(self._conn)
        vector.drop(self._conn, ids)
        fts.remove(ids)
        self._conn.execute("delete from chunks where doc_id = ? and id > ?", (self._doc_id, self._last))
        self._conn.execute(PUT_DOCUMENT, row)
        self._conn.execute(MOVE)
        fts.add_document(self._doc_id, after=self._last)
        return self._new

    def close(self) -> None:
        self._conn.execute("drop table temp.spool")
