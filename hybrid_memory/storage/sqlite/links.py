"""The tables of names, links and tags."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from ...text.characters import storable
from ...text.links import DocumentLinks, aliases, filterable_tags, key_of, path_of
from ..links import ALIAS, FILE, TITLE, LinkColumns, LinkReader

TABLES_OF_MARKS = ("names", "links", "tags")
PUT_NAME = "insert or ignore into names (key, doc_id, kind, name) values (?, ?, ?, ?)"
PUT_LINK = "insert into links (doc_id, line, target, kind, key) values (?, ?, ?, ?, ?)"
PUT_TAG = "insert into tags (tag, doc_id) values (?, ?)"


def put_links(conn: sqlite3.Connection, row: Mapping[str, Any], found: DocumentLinks) -> None:
    """Write the names, links and tags of a document that has none yet, from its row of `documents`
    and the links in its text.
    """
    doc_id = row["doc_id"]
    metadata = row["metadata"]
    names = [(FILE, doc_id.rpartition("/")[2])]
    names += [(ALIAS, storable(name)) for name in aliases(json.loads(metadata))]
    names += [(TITLE, storable(name)) for name in found.titles]
    conn.executemany(PUT_NAME, ((key_of(name), doc_id, kind, name) for kind, name in names))
    links = ((line, storable(target), kind) for line, target, kind in found.links)
    conn.executemany(
        PUT_LINK,
        (
            (doc_id, line, target, kind, key_of(path_of(target, kind)))
            for line, target, kind in links
        ),
    )
    conn.executemany(
        PUT_TAG, ((tag, doc_id) for tag in filterable_tags(metadata, map(storable, found.tags)))
    )


def remove_links(conn: sqlite3.Connection, doc_ids: Iterable[str]) -> None:
    """Delete the names, links and tags of documents."""
    ids = [(doc_id,) for doc_id in doc_ids]
    for table in TABLES_OF_MARKS:
        conn.executemany(f"delete from {table} where doc_id = ?", ids)


NAMED = """
select doc_id, collection, kind, name from names join documents using (doc_id) where key = ? order by doc_id
"""
TITLES = "select name from names where doc_id = :doc_id and kind = 'title'"
LINKS = """
select l.doc_id, l.line, l.target, l.kind, d.collection
from   links l join documents d using (doc_id)
where  {condition}
order by l.doc_id, l.line, l.rowid
"""
TAGS = "select tag, doc_id from tags"
TAGS_OF = "select tag from tags where doc_id = :doc_id order by tag"


class Links(LinkReader):
    """Implements `LinkReader`, for one state of the store."""

    OF = "l.doc_id = :doc_id"
    TO = "l.key in (select key from names where doc_id = :doc_id)"
    # A link with a path may be broken even if a document has its name.
    MAYBE_BROKEN = "instr(l.target, '/') or l.key not in (select key from names)"

    def __init__(self, conn: sqlite3.Connection) -> None:
        super().__init__()
        self._conn = conn

    def titles(self, doc_id: str) -> list[str]:
        return [title for (title,) in self._conn.execute(TITLES, {"doc_id": doc_id})]

    def _links(self, condition: str, doc_id: str = "") -> list[LinkColumns]:
        return self._conn.execute(LINKS.format(condition=condition), {"doc_id": doc_id}).fetchall()

    def _tags_with_documents(self) -> list[tuple[str, Any]]:
        return self._conn.execute(TAGS).fetchall()

    def _tags_of(self, doc_id: str) -> list[str]:
        return [tag for (tag,) in self._conn.execute(TAGS_OF, {"doc_id": doc_id})]

    def _names_with(self, key: str) -> list[tuple[Any, ...]]:
        return self._conn.execute(NAMED, (key,)).fetchall()
