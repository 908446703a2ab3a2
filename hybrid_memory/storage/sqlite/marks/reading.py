"""Read names, links and tags: the statements of SQLite."""

import sqlite3
from typing import Any

from ...shared.marks import LinkColumns, ReadsMarks

NAMED = "select doc_id, collection, kind, name from names join documents using (doc_id) where key = ? order by doc_id"
TITLES = "select name from names where doc_id = :doc_id and kind = 'title'"
LINKS = """
select l.doc_id, l.line, l.target, l.kind, d.collection
from   links l join documents d using (doc_id)
where  {condition}
order by l.doc_id, l.line, l.rowid
"""
OF = "l.doc_id = :doc_id"
TO = "l.key in (select key from names where doc_id = :doc_id and kind <> 'title')"
# A link with a path may be broken although there is a document of the name.
MAYBE_BROKEN = "instr(l.target, '/') or l.key not in (select key from names where kind <> 'title')"
TAGS = "select tag, doc_id from tags"
TAGS_OF = "select tag from tags where doc_id = :doc_id order by tag"


class Marks(ReadsMarks):
    """Implements `protocol.Marks`, for one state of the store."""

    OF, TO, MAYBE_BROKEN = OF, TO, MAYBE_BROKEN

    def __init__(self, conn: sqlite3.Connection) -> None:
        super().__init__()
        self._conn = conn

    def titles(self, doc_id: str) -> list[str]:
        return [title for (title,) in self._conn.execute(TITLES, {"doc_id": doc_id})]

    def _links(self, condition: str, doc_id: str = "") -> list[LinkColumns]:
        return self._conn.execute(LINKS.format(condition=condition), {"doc_id": doc_id}).fetchall()

    def _tagged(self) -> list[tuple[str, Any]]:
        return self._conn.execute(TAGS).fetchall()

    def _tags_of(self, doc_id: str) -> list[str]:
        return [tag for (tag,) in self._conn.execute(TAGS_OF, {"doc_id": doc_id})]

    def _having(self, key: str) -> list[tuple[Any, ...]]:
        return self._conn.execute(NAMED, (key,)).fetchall()
