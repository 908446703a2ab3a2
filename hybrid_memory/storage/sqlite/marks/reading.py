"""Read names, links and tags, and look up where links lead."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from ....documents.marks.found import Marks as Found
from ....documents.marks.links import Link, folded, is_attachment, key_of
from ....documents.marks.tags import above
from ...marks import LinkRow
from ...resolution import ALIAS, TITLE, Named, Resolver, by_name, by_path, named

NAMED = "select doc_id, collection, kind, name from names join documents using (doc_id) where key = ? order by doc_id"
TITLES = "select name from names where doc_id = ? and kind = 'title'"
LINKS = """
select l.doc_id, l.line, l.target, l.kind, d.collection
from   links l join documents d using (doc_id)
where  {condition}
order by l.doc_id, l.line, l.rowid
"""
OF = "l.doc_id = ?"
TO = "l.key in (select key from names where doc_id = ? and kind <> 'title')"
# A link with a path may be broken although there is a document of the name.
MAYBE_BROKEN = "instr(l.target, '/') or l.key not in (select key from names where kind <> 'title')"
TAGS = "select tag, doc_id from tags"
TAGS_OF = "select tag from tags where doc_id = ? order by tag"


class Marks:
    """Implements `protocol.Marks`, for one state of the store."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn
        self._documents: dict[str, Sequence[Named]] = {}
        self._resolver = Resolver(self._lookup)

    def named(self, name: str) -> list[str]:
        documents, wanted = self._lookup(key_of(name)), folded(name)
        found = by_path(documents, wanted) or by_name(documents, ALIAS, wanted) or by_name(documents, TITLE, wanted)
        return list(dict.fromkeys(each.doc_id for each in found))

    def titles(self, doc_id: str) -> list[str]:
        return [title for (title,) in self._conn.execute(TITLES, (doc_id,))]

    def links_of(self, doc_id: str) -> list[LinkRow]:
        return [self._row(*row) for row in self._links(OF, (doc_id,))]

    def links_to(self, doc_id: str) -> list[LinkRow]:
        return [found for row in self._links(TO, (doc_id,)) if (found := self._row(*row)).doc_id == doc_id]

    def broken(self) -> list[LinkRow]:
        return [found for row in self._links(MAYBE_BROKEN) if (found := self._row(*row)).broken]

    def tags(self) -> list[tuple[str, int]]:
        documents = defaultdict[str, set[str]](set)
        for tag, doc_id in self._conn.execute(TAGS):
            for each in above(tag):
                documents[each].add(doc_id)
        return sorted(((tag, len(ids)) for tag, ids in documents.items()), key=lambda item: (-item[1], item[0]))

    def found(self, doc_id: str) -> Found:
        """All marks of a document, as they are written to another store."""
        links = tuple(Link(line, target, kind) for _, line, target, kind, _ in self._links(OF, (doc_id,)))
        tags = tuple(tag for (tag,) in self._conn.execute(TAGS_OF, (doc_id,)))
        return Found(tuple(self.titles(doc_id)), links, tags)

    def _links(self, condition: str, parameters: Iterable[Any] = ()) -> list[tuple[str, int, str, str, str | None]]:
        return self._conn.execute(LINKS.format(condition=condition), tuple(parameters)).fetchall()

    def _row(self, source: str, line: int, target: str, kind: str, collection: str | None) -> LinkRow:
        doc_id = self._resolver.document(target, kind, source, collection)
        return LinkRow(source, line, target, kind, doc_id, doc_id is None and not is_attachment(target, kind))

    def _lookup(self, key: str) -> Sequence[Named]:
        if key not in self._documents:
            self._documents[key] = [named(*row) for row in self._conn.execute(NAMED, (key,))]
        return self._documents[key]
