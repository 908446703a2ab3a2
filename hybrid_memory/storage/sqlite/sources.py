"""The folders and files that were ingested, and how."""

import json
import sqlite3

from ..shared.sources import KnownSources, claimed
from ..source import Source
from .schema import path_from_column, path_to_column

CLAIMED = """
select path, collection from folders
where  collection = :collection and not is_file and path <> :path
and    exists (select 1 from documents where collection = :collection)
"""

SOURCES = """
select path, collection, is_file, patterns, exclude, follow_symlinks, keep_missing, chunk_size, chunk_overlap, doc_id, metadata
from   folders
where  collection = coalesce(:collection, collection) and path = coalesce(:path, path)
order  by collection, path
"""

REMEMBER = """
insert or replace into folders
       (collection, path, is_file, patterns, exclude, follow_symlinks, keep_missing, chunk_size, chunk_overlap, doc_id, metadata)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

FORGET = "delete from folders where collection = ? and path = ?"
FORGET_OTHERS = "delete from folders where collection = ? and not is_file and path <> ?"


class Sources(KnownSources):
    """Implements `protocol.Sources`."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    def all(self, collection: str | None = None, path: str | None = None) -> list[Source]:
        rows = self._conn.execute(SOURCES, {"collection": collection, "path": path_to_column(path)})
        return [
            Source(
                str(path_from_column(path)), collection or None, bool(is_file), patterns and tuple(json.loads(patterns)),
                tuple(json.loads(exclude)), bool(follow_symlinks), bool(keep_missing), size,
                overlap, own_id, tuple(json.loads(metadata).items()),
            )
            for path, collection, is_file, patterns, exclude, follow_symlinks, keep_missing, size, overlap, own_id, metadata
            in rows
        ]  # fmt: skip

    def check_claim(self, source: Source) -> None:
        if source.is_file:
            return
        row = self._conn.execute(CLAIMED, {"collection": source.collection, "path": path_to_column(source.path)}).fetchone()
        if row:
            raise claimed(source, path_from_column(row[0]), row[1])

    def remember(self, source: Source) -> None:
        if not source.is_file:
            self._conn.execute(FORGET_OTHERS, (source.collection, path_to_column(source.path)))
        patterns, exclude = json.dumps(source.patterns), json.dumps(source.exclude)
        row = (source.is_file, patterns, exclude, source.follow_symlinks, source.keep_missing)
        own = source.chunk_size, source.chunk_overlap, source.own_id, json.dumps(dict(source.metadata))
        self._conn.execute(REMEMBER, (source.collection or "", path_to_column(source.path), *row, *own))

    def forget(self, source: Source) -> None:
        self._conn.execute(FORGET, (source.collection or "", path_to_column(source.path)))
