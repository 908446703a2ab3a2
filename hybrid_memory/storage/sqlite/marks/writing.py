"""Write the names, links and tags of documents. The only writer of these tables; never commits."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from ....documents.marks.found import NONE, Marks, marks
from ....documents.marks.links import key_of, path_of
from ....documents.marks.names import aliases
from ....documents.marks.tags import all_of
from ....text.characters import storable
from ...resolution import ALIAS, FILE, TITLE

TABLES = ("names", "links", "tags")
PUT_NAME = "insert or ignore into names (key, doc_id, kind, name) values (?, ?, ?, ?)"
PUT_LINK = "insert into links (doc_id, line, target, kind, key) values (?, ?, ?, ?, ?)"
PUT_TAG = "insert into tags (tag, doc_id) values (?, ?)"
DOCUMENTS = "select doc_id, metadata, content from documents"


def put(conn: sqlite3.Connection, row: Mapping[str, Any], found: Marks) -> None:
    """Write the marks of a document, of which there are none yet, from its row of `documents` and what its text has."""
    doc_id, metadata = row["doc_id"], row["metadata"]
    names = [(FILE, doc_id.rpartition("/")[2])]
    names += [(ALIAS, storable(name)) for name in aliases(json.loads(metadata))]
    names += [(TITLE, storable(name)) for name in found.titles]
    conn.executemany(PUT_NAME, ((key_of(name), doc_id, kind, name) for kind, name in names))
    links = ((line, storable(target), kind) for line, target, kind in found.links)
    conn.executemany(PUT_LINK, ((doc_id, line, target, kind, key_of(path_of(target, kind))) for line, target, kind in links))
    conn.executemany(PUT_TAG, ((tag, doc_id) for tag in all_of(metadata, map(storable, found.tags))))


def remove(conn: sqlite3.Connection, doc_ids: Iterable[str]) -> None:
    """Remove the marks of documents."""
    ids = [(doc_id,) for doc_id in doc_ids]
    for table in TABLES:
        conn.executemany(f"delete from {table} where doc_id = ?", ids)


def fill(conn: sqlite3.Connection) -> None:
    """Write the marks of all documents, of which there are none yet, as far as the database tells without their files."""
    for doc_id, metadata, content in conn.execute(DOCUMENTS).fetchall():
        row = {"doc_id": doc_id, "metadata": metadata}
        put(conn, row, NONE if content is None else _of_text(content, json.loads(metadata)))


def _of_text(text: str, metadata: Mapping[str, Any]) -> Marks:
    from ....documents import markdown

    parsed = markdown.parse(text, metadata)
    return marks(parsed.text, parsed.skipped, parsed.metadata)
