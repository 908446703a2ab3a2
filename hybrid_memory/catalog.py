"""Which documents the store has from which file, and what was ingested, and how. Never commits."""

import json
import os
import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from .errors import SourceError

TRANSCRIPT, SESSIONS = ".jsonl", "sessions"  # a file of this suffix is one of a session; their collection by default

OF_COLLECTION = """
select doc_id, source_path, file_mtime, file_size, content_hash, chunking
from   documents
where  collection = ? and source_path is not null
"""

OF_FILES = """
select doc_id, source_path, file_mtime, file_size, content_hash, chunking
from   documents
where  source_path is not null
"""

OF_ID = """
select doc_id, source_path, file_mtime, file_size, content_hash, chunking
from   documents
where  doc_id = ?
"""

CLAIMED = """
select path, collection from folders
where  collection = :collection and not is_file and path <> :path
and    exists (select 1 from documents where collection = :collection)
"""

SOURCES = """
select path, collection, is_file, patterns, exclude, follow_symlinks, keep_missing
from   folders
where  collection = coalesce(:collection, collection) and path = coalesce(:path, path)
order  by collection, path
"""

REMEMBER = """
insert or replace into folders (collection, path, is_file, patterns, exclude, follow_symlinks, keep_missing)
values (?, ?, ?, ?, ?, ?, ?)
"""


class Known(NamedTuple):
    """What a document's file was when it was read: `mtime` in seconds, `size` in bytes."""

    doc_id: str
    path: str | None
    mtime: float
    size: int
    content_hash: bytes
    chunking: str


class Source(NamedTuple):
    """A folder or a file that is ingested, and how: `path` is resolved, `collection` what its documents' ids begin with."""

    path: str
    collection: str | None
    is_file: bool
    patterns: tuple[str, ...] | None = ("*.md",)  # None: not known
    exclude: tuple[str, ...] = ()
    follow_symlinks: bool = False
    keep_missing: bool = False

    def doc_id(self, relative: str) -> str:
        text = as_text(relative.replace(os.sep, "/"))
        return text if self.collection is None else f"{self.collection}/{text}"

    def command(self) -> str:
        """What ingests it again, as it was."""
        from shlex import join

        transcripts = (
            self.path.endswith(TRANSCRIPT) if self.is_file else all(p.endswith(TRANSCRIPT) for p in self.patterns or ["*"])
        )
        words = ["hybrid-memory", "ingest", "--path", self.path]
        for pattern in () if self.patterns == ("*.md",) else self.patterns or ():
            words += ["--pattern", pattern]
        for glob in self.exclude:
            words += ["--exclude", glob]
        if self.collection != default_collection(self.path, self.is_file, transcripts):
            words += ["--collection", str(self.collection)]
        return join(
            [*words, *["--follow-symlinks"] * self.follow_symlinks, *["--keep-missing"] * self.keep_missing, "--incremental"]
        )


def default_collection(path: str, is_file: bool, transcripts: bool) -> str | None:
    if transcripts:
        return SESSIONS
    return None if is_file else as_text(os.path.basename(path) or "root")


def as_text(name: str) -> str:
    """A name that is not UTF-8 comes with surrogates, which SQLite cannot hold."""
    return name.encode("utf-8", "backslashreplace").decode()


def of_collection(conn: sqlite3.Connection, collection: str) -> dict[str, Known]:
    """The documents of a collection that came from files, by id."""
    return {row[0]: _known(row) for row in conn.execute(OF_COLLECTION, (collection,))}


def of_id(conn: sqlite3.Connection, doc_id: str) -> dict[str, Known]:
    """The document of this id, if there is one: its `path` is None if it did not come from a file."""
    return {row[0]: _known(row) for row in conn.execute(OF_ID, (doc_id,))}


def check_is_no_file(conn: sqlite3.Connection, doc_id: str) -> None:
    """Raises SourceError if the document of this id came from a file, which would no longer be searched."""
    known = of_id(conn, doc_id).get(doc_id)
    if known and known.path:
        raise SourceError(f"{doc_id!r} is the document of {known.path}; write to that file, or give the text another id")


def from_path(conn: sqlite3.Connection, path: str) -> dict[str, Known]:
    """The documents that came from this file, or from below this folder."""
    documents = (_known(row) for row in conn.execute(OF_FILES))
    return {document.doc_id: document for document in documents if document.path and is_in(document.path, path)}


def _known(row: tuple[str, str | bytes | None, float, int, bytes, str]) -> Known:
    return Known(row[0], path_from_column(row[1]), *row[2:])


def touch(conn: sqlite3.Connection, doc_id: str, mtime: float, size: int) -> None:
    """Note a file's new time, its content being what it was."""
    conn.execute("update documents set file_mtime = ?, file_size = ? where doc_id = ?", (mtime, size, doc_id))


def check_claim(conn: sqlite3.Connection, source: Source) -> None:
    """Raises SourceError if the collection is another folder's, whose documents have the same ids."""
    if source.is_file:
        return
    row = conn.execute(CLAIMED, {"collection": source.collection, "path": path_to_column(source.path)}).fetchone()
    if row:
        import shlex

        raise SourceError(
            f"collection {source.collection!r} holds the documents of {path_from_column(row[0])}; give {source.path} another "
            f"name with --collection NAME, or free this one: `hybrid-memory delete --collection {shlex.quote(row[1])}`"
        )


def sources(conn: sqlite3.Connection, collection: str | None = None, path: str | None = None) -> list[Source]:
    """What was ingested, and how: all, or what is of this collection and path."""
    rows = conn.execute(SOURCES, {"collection": collection, "path": path and path_to_column(path)})
    return [
        Source(
            str(path_from_column(path)), collection or None, bool(is_file), patterns and tuple(json.loads(patterns)),
            tuple(json.loads(exclude)), bool(follow_symlinks), bool(keep_missing),
        )
        for path, collection, is_file, patterns, exclude, follow_symlinks, keep_missing in rows
    ]  # fmt: skip


def remember(conn: sqlite3.Connection, source: Source) -> None:
    """Note how it was ingested, inside a transaction. Gives the folder its collection."""
    if not source.is_file:
        conn.execute(
            "delete from folders where collection = ? and not is_file and path <> ?",
            (source.collection, path_to_column(source.path)),
        )
    patterns, exclude = json.dumps(source.patterns), json.dumps(source.exclude)
    row = (source.is_file, patterns, exclude, source.follow_symlinks, source.keep_missing)
    conn.execute(REMEMBER, (source.collection or "", path_to_column(source.path), *row))


def forget(conn: sqlite3.Connection, source: Source) -> None:
    conn.execute("delete from folders where collection = ? and path = ?", (source.collection or "", path_to_column(source.path)))


def coming_back(conn: sqlite3.Connection, paths: Iterable[str | None]) -> str | None:
    """One of these files that is still there, in a folder that is ingested."""
    folders = [source.path for source in sources(conn)]
    return next((path for path in paths if path and any(is_in(path, top) for top in folders) and os.path.exists(path)), None)


def to_remember(conn: sqlite3.Connection, source: Source) -> Source | None:
    """What there is to note of this ingest; None if it is known. Patterns of before stay: their documents do, too."""
    known = next(iter(sources(conn, source.collection or "", source.path)), None)
    if known and known.patterns:
        source = source._replace(patterns=tuple(dict.fromkeys((*known.patterns, *(source.patterns or ())))))
    return None if source == known else source


def real_path(path: str) -> str:
    """As documents and folders have it. Raises SourceError for an empty one, which would be the working directory."""
    if not path:
        raise SourceError("the path is empty")
    return os.path.realpath(os.path.expanduser(path))


def is_in(path: str, top: str) -> bool:
    return path == top or path.startswith(os.path.join(top, ""))


def path_to_column(path: str) -> str | bytes:
    """Text where it is Unicode, else the bytes that the file system has."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path


def path_from_column(value: str | bytes | None) -> str | None:
    return os.fsdecode(value) if isinstance(value, bytes) else value
