"""Read names, links and tags, and look up where links lead."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ....documents.marks.found import Marks as Found
from ....documents.marks.links import Link, folded, is_attachment, key_of
from ....documents.marks.tags import above
from ...marks import LinkRow
from ...resolution import ALIAS, TITLE, Named, Resolver, by_name, by_path, named
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


class Marks:
    """Implements `protocol.Marks`, for one state of the store."""

    def __init__(self, conn: Connection, space: int) -> None:
        self._conn, self._space = conn, space
        self._documents: dict[str, Sequence[Named]] = {}
        self._resolver = Resolver(self._lookup)

    def named(self, name: str) -> list[str]:
        documents, wanted = self._lookup(key_of(name)), folded(name)
        found = by_path(documents, wanted) or by_name(documents, ALIAS, wanted) or by_name(documents, TITLE, wanted)
        return list(dict.fromkeys(each.doc_id for each in found))

    def titles(self, doc_id: str) -> list[str]:
        return [title for (title,) in self._conn.all(TITLES, self._given(doc_id=text(doc_id)))]

    def links_of(self, doc_id: str) -> list[LinkRow]:
        return [self._row(*row) for row in self._links(OF, doc_id=text(doc_id))]

    def links_to(self, doc_id: str) -> list[LinkRow]:
        return [found for row in self._links(TO, doc_id=text(doc_id)) if (found := self._row(*row)).doc_id == doc_id]

    def broken(self) -> list[LinkRow]:
        return [found for row in self._links(MAYBE_BROKEN) if (found := self._row(*row)).broken]

    def tags(self) -> list[tuple[str, int]]:
        documents = defaultdict[str, set[int]](set)
        for tag, number in self._conn.all(TAGS, self._given()):
            for each in above(tag):
                documents[each].add(number)
        return sorted(((tag, len(ids)) for tag, ids in documents.items()), key=lambda item: (-item[1], item[0]))

    def found(self, doc_id: str) -> Found:
        """All marks of a document, as they are written to another store."""
        links = tuple(Link(line, target, kind) for _, line, target, kind, _ in self._links(OF, doc_id=text(doc_id)))
        tags = tuple(tag for (tag,) in self._conn.all(TAGS_OF, self._given(doc_id=text(doc_id))))
        return Found(tuple(self.titles(doc_id)), links, tags)

    def _given(self, **values: Any) -> dict[str, Any]:
        return {"space": self._space} | values

    def _links(self, condition: str, **given: Any) -> list[tuple[Any, ...]]:
        return self._conn.all(LINKS.format(condition=condition), self._given(**given))

    def _row(self, source: str, line: int, target: str, kind: str, collection: str | None) -> LinkRow:
        doc_id = self._resolver.document(target, kind, source, collection)
        return LinkRow(source, line, target, kind, doc_id, doc_id is None and not is_attachment(target, kind))

    def _lookup(self, key: str) -> Sequence[Named]:
        if key not in self._documents:
            self._documents[key] = [named(*row) for row in self._conn.all(NAMED, self._given(key=text(key)))]
        return self._documents[key]
