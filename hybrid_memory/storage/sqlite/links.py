"""The tables of names, links and tags."""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from ...text.links import DocumentLinks
from ..links import LinkReader, links_of, names_of, tags_of

TABLES_OF_MARKS = ("names", "links", "tags")
PUT_NAME = "insert or ignore into names (key, doc_id, kind, name) values (?, ?, ?, ?)"
PUT_LINK = "insert into links (doc_id, line, target, kind, key) values (?, ?, ?, ?, ?)"
PUT_TAG = "insert into tags (tag, doc_id) values (?, ?)"


def put_links(conn: sqlite3.Connection, row: Mapping[str, Any], found: DocumentLinks) -> None:
    """Write the names, links and tags of a document that has none yet, from its row of `documents`
    and the links in its text.
    """
    doc_id = row["doc_id"]
    conn.executemany(
        PUT_NAME, ((key, doc_id, kind, name) for key, kind, name in names_of(row, found))
    )
    conn.executemany(PUT_LINK, ((doc_id, *link) for link in links_of(found)))
    conn.executemany(PUT_TAG, ((tag, doc_id) for tag in tags_of(row, found)))


def remove_links(conn: sqlite3.Connection, doc_ids: Iterable[str]) -> None:
    """Delete the names, links and tags of documents."""
    ids = [(doc_id,) for doc_id in doc_ids]
    for table in TABLES_OF_MARKS:
        conn.executemany(f"delete from {table} where doc_id = ?", ids)


class Links(LinkReader):
    """The links of a database file."""

    OF = "l.doc_id = :doc_id"
    TO = "l.key in (select key from names where doc_id = :doc_id)"
    # A link with a path may be broken even if a document has its name.
    MAYBE_BROKEN = "instr(l.target, '/') or l.key not in (select key from names)"
    LINKS = """
    select l.doc_id, l.line, l.target, l.kind, d.collection
    from   links l join documents d using (doc_id)
    where  {condition}
    order by l.doc_id, l.line, l.rowid
    """
    NAMED = """
    select doc_id, collection, kind, name from names join documents using (doc_id) where key = :key
    order by doc_id
    """
    TITLES = "select name from names where doc_id = :doc_id and kind = 'title'"
    TAGS = "select tag, doc_id from tags"
    TAGS_OF = "select tag from tags where doc_id = :doc_id order by tag"
