"""Which documents the store has from which file: what an ingest compares a folder with. Never commits."""

import os
import sqlite3
from typing import NamedTuple

from .errors import SourceError

OF_COLLECTION = """
select doc_id, source_path, file_mtime, file_size, content_hash, chunking
from   documents
where  collection = ? and source_path is not null
"""

OF_ID = """
select doc_id, source_path, file_mtime, file_size, content_hash, chunking
from   documents
where  doc_id = ?
"""

FOLDER = """
select path from folders
where  collection = :collection and exists (select 1 from documents where collection = :collection)
"""


class Known(NamedTuple):
    """What a document's file was when it was read: `mtime` in seconds, `size` in bytes."""

    doc_id: str
    path: str | None
    mtime: float
    size: int
    content_hash: bytes
    chunking: str


def of_collection(conn: sqlite3.Connection, collection: str) -> dict[str, Known]:
    """The documents of a collection that came from files, by id."""
    return {row[0]: _known(row) for row in conn.execute(OF_COLLECTION, (collection,))}


def of_id(conn: sqlite3.Connection, doc_id: str) -> dict[str, Known]:
    """The document of this id, if there is one: its `path` is None if it did not come from a file."""
    return {row[0]: _known(row) for row in conn.execute(OF_ID, (doc_id,))}


def _known(row: tuple[str, str | bytes | None, float, int, bytes, str]) -> Known:
    return Known(row[0], path_from_column(row[1]), *row[2:])


def touch(conn: sqlite3.Connection, doc_id: str, mtime: float, size: int) -> None:
    """Note a file's new time, its content being what it was."""
    conn.execute("update documents set file_mtime = ?, file_size = ? where doc_id = ?", (mtime, size, doc_id))


def is_claimed(conn: sqlite3.Connection, collection: str, folder: str) -> bool:
    """Is the collection this folder's already? Raises SourceError if it is another's, whose documents have the same ids."""
    row = conn.execute(FOLDER, {"collection": collection}).fetchone()
    if row and path_from_column(row[0]) != folder:
        raise SourceError(
            f"collection {collection!r} holds the documents of {path_from_column(row[0])}; give {folder} another name with "
            "--collection NAME"
        )
    return row is not None


def claim(conn: sqlite3.Connection, collection: str, folder: str) -> None:
    conn.execute("insert or replace into folders (collection, path) values (?, ?)", (collection, path_to_column(folder)))


def path_to_column(path: str) -> str | bytes:
    """Text where it is Unicode, else the bytes that the file system has."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path


def path_from_column(value: str | bytes | None) -> str | None:
    return os.fsdecode(value) if isinstance(value, bytes) else value
