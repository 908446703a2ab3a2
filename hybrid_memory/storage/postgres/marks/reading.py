"""Read names, links and tags: the statements of PostgreSQL."""

from typing import Any

from ...shared.marks import LinkColumns, ReadsMarks
from ..connection import Connection
from ..selection import text

NAMED = """
select d.doc_id, d.collection, n.kind, n.name from names n join documents d on d.number = n.document
where  n.space = %(space)s and n.key = %(key)s
order  by d.doc_id, n.kind, n.name
"""
OF_DOCUMENT = "document = (select number from documents where space = %(space)s and doc_id = %(doc_id)s)"
TITLES = f"select name from names where {OF_DOCUMENT} and kind = 'title' order by name"
LINKS = """
select d.doc_id, l.line, l.target, l.kind, d.collection
from   links l join documents d on d.number = l.document
where  l.space = %(space)s and {condition}
order by d.doc_id, l.line, l.place
"""
OF = f"l.{OF_DOCUMENT}"
TO = f"(md5(l.key), l.key) in (select md5(key), key from names where {OF_DOCUMENT} and kind <> 'title')"
# A link with a path may be broken although there is a document of the name.
MAYBE_BROKEN = """
(position('/' in l.target) > 0
 or not exists (select from names n where n.space = l.space and n.key = l.key and n.kind <> 'title'))
"""
TAGS = "select tag, document from tags where space = %(space)s"
TAGS_OF = f"select tag from tags where {OF_DOCUMENT} order by tag"


class Marks(ReadsMarks):
    """Implements `protocol.Marks`, for one state of the store."""

    OF, TO, MAYBE_BROKEN = OF, TO, MAYBE_BROKEN

    def __init__(self, conn: Connection, space: int) -> None:
        super().__init__()
        self._conn, self._space = conn, space

    def titles(self, doc_id: str) -> list[str]:
        return [title for (title,) in self._all(TITLES, doc_id=text(doc_id))]

    def _links(self, condition: str, doc_id: str = "") -> list[LinkColumns]:
        return self._all(LINKS.format(condition=condition), doc_id=text(doc_id))

    def _tagged(self) -> list[tuple[str, Any]]:
        return self._all(TAGS)

    def _tags_of(self, doc_id: str) -> list[str]:
        return [tag for (tag,) in self._all(TAGS_OF, doc_id=text(doc_id))]

    def _having(self, key: str) -> list[tuple[Any, ...]]:
        return self._all(NAMED, key=text(key))

    def _all(self, statement: str, **values: str) -> list[Any]:
        return self._conn.all(statement, {"space": self._space, **values})
