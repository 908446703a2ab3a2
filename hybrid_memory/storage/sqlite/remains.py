"""Read the texts that have no file from a database that does not open as a memory: a damaged one,
the output of SQLite's `.recover`, or one of a development version. The file is only read.

`.recover` puts rows whose table it cannot find into the table lost_and_found
(https://sqlite.org/recovery.html). Where a page of a long text is missing, it cuts the text without
a message, so the sizes are compared here.
"""

import json
import os
import re
import sqlite3
from collections.abc import Collection
from contextlib import closing, suppress
from typing import Any, NamedTuple

from ...errors import MissingStoreError, StoreError
from ..source import Source
from .connection import BROKEN, failure, uri
from .documents import Sources

TEXTS = """
select doc_id, content, metadata, date, file_size
from   documents
where  source_path is null and content is not null
order  by rowid
"""
# The same columns of a row of documents, by number
LOST_TEXTS = """
select c0, c11, c7, c6, c3 from lost_and_found where nfield = 12 and c1 is null and c11 is not null
"""
DAY = re.compile(rb"\d{4}-\d\d(-\d\d)?")
TABLES = "select name from sqlite_schema where name in ('documents', 'lost_and_found')"


class SavedText(NamedTuple):
    """A text without a file. `date` is its document's; `damage` describes what is missing, and is
    empty if the text is complete.
    """

    doc_id: str
    text: str
    metadata: dict[str, Any]
    date: str | None
    damage: str


class Remains(NamedTuple):
    """What can be read of a database: its texts, its sources, and the error that prevents reading
    the rest.
    """

    texts: list[SavedText]
    sources: list[Source]
    problem: str | None


def read_remains(path: str) -> Remains:
    """Read a database file as far as that is possible. Raises StoreError if it is missing, empty or
    another program's.
    """
    if not os.path.exists(path):
        raise MissingStoreError(f"no database at {path}")
    try:
        conn = sqlite3.connect(uri(path, "mode=ro"), uri=True)
    except sqlite3.OperationalError as error:
        raise failure(error, path, "cannot open") or error from error
    with closing(conn):
        try:
            tables = {name for (name,) in conn.execute(TABLES)}
        except BROKEN as error:
            return Remains([], [], str(error))
        if not tables:
            raise StoreError(f"{path} has no texts; is it a memory, or the output of `.recover`?")
        texts, problem = _texts(conn, tables)
        sources = []
        with suppress(*BROKEN, ValueError, TypeError):
            sources = Sources(conn).all()
    return Remains(texts, sources, problem)


def _texts(conn: sqlite3.Connection, tables: Collection[str]) -> tuple[list[SavedText], str | None]:
    """The texts in these tables, and SQLite's error if it could not read all of them."""
    texts: dict[str, SavedText] = {}
    problem = None
    conn.text_factory = bytes
    if "documents" in tables:
        problem = _read(conn, TEXTS, texts)
        if problem:  # go around the damaged page, from the other end
            _read(conn, f"{TEXTS} desc", texts)
    if "lost_and_found" in tables:
        _read(conn, LOST_TEXTS, texts)
    conn.text_factory = str
    return list(texts.values()), problem


def _read(conn: sqlite3.Connection, statement: str, texts: dict[str, SavedText]) -> str | None:
    """Add the texts that a statement finds. Returns SQLite's error if it stopped the reading."""
    try:
        for row in conn.execute(statement):
            saved = _saved(*row)
            if saved:
                texts.setdefault(saved.doc_id, saved)
    except BROKEN as error:
        return str(error)
    return None


def _saved(
    doc_id: object, content: object, metadata: object, date: object, size: object
) -> SavedText | None:
    """The text of a row; None if its id or its text has another type."""
    if not (isinstance(doc_id, bytes) and isinstance(content, bytes)):
        return None
    losses = []
    if isinstance(size, int) and size != len(content):
        losses.append(f"only {len(content):,} of {size:,} bytes are left")
    text = content.decode(errors="replace")
    if text.encode() != content:
        losses.append("some of its bytes are not UTF-8")
    found = _metadata(metadata)
    if found is None:
        losses.append("its metadata cannot be read")
    day = date.decode() if isinstance(date, bytes) and DAY.fullmatch(date) else None
    return SavedText(doc_id.decode(errors="replace"), text, found or {}, day, "; ".join(losses))


def _metadata(value: object) -> dict[str, Any] | None:
    if not isinstance(value, bytes):
        return None
    try:
        found = json.loads(value)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
