"""The tables of ingested folders and of refused files."""

import json
import sqlite3
from collections.abc import Mapping

from ..source import (
    KnownSources,
    Refusal,
    Source,
    claim_error,
    refusals_from_json,
    refusals_to_json,
)
from .schema import path_from_column, path_to_column

CLAIMED = """
select path, collection from folders
where  collection = :collection and not is_file and path <> :path
and    exists (select 1 from documents where collection = :collection)
"""
SOURCES = """
select path, collection, is_file, patterns, exclude, follow_symlinks, keep_missing, chunk_size,
       chunk_overlap, doc_id, metadata, workspace, no_ignore
from   folders
where  collection = coalesce(:collection, collection) and path = coalesce(:path, path)
order  by collection, path
"""
REMEMBER = """
insert or replace into folders
       (collection, path, is_file, patterns, exclude, follow_symlinks, keep_missing, chunk_size,
        chunk_overlap, doc_id, metadata, workspace, no_ignore)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
FORGET = "delete from folders where collection = ? and path = ?"
FORGET_OTHERS = "delete from folders where collection = ? and not is_file and path <> ?"
REFUSALS = "select value from meta where key = 'refusals'"
FORGET_REFUSALS = "delete from meta where key = 'refusals'"
REMEMBER_REFUSALS = "insert into meta (key, value) values ('refusals', ?)"


class Sources(KnownSources):
    """Implements `KnownSources`."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    def all(self, collection: str | None = None, path: str | None = None) -> list[Source]:
        rows = self._conn.execute(SOURCES, {"collection": collection, "path": path_to_column(path)})
        return [_source(*row) for row in rows]

    def check_claim(self, source: Source) -> None:
        if source.is_file:
            return
        row = self._conn.execute(
            CLAIMED, {"collection": source.collection, "path": path_to_column(source.path)}
        ).fetchone()
        if row:
            raise claim_error(source, path_from_column(row[0]), row[1])

    def remember(self, source: Source) -> None:
        if not source.is_file:
            self._conn.execute(FORGET_OTHERS, (source.collection, path_to_column(source.path)))
        patterns = json.dumps(source.patterns)
        exclude = json.dumps(source.exclude)
        row = (source.is_file, patterns, exclude, source.follow_symlinks, source.keep_missing)
        own = (
            source.chunk_size,
            source.chunk_overlap,
            source.own_id,
            json.dumps(dict(source.metadata)),
            path_to_column(source.workspace),
            source.no_ignore,
        )
        self._conn.execute(
            REMEMBER, (source.collection or "", path_to_column(source.path), *row, *own)
        )

    def forget(self, source: Source) -> None:
        self._conn.execute(FORGET, (source.collection or "", path_to_column(source.path)))

    def refusals(self) -> dict[str, Refusal]:
        row = self._conn.execute(REFUSALS).fetchone()
        return refusals_from_json(row and row[0])

    def remember_refusals(self, refusals: Mapping[str, Refusal]) -> None:
        self._conn.execute(FORGET_REFUSALS)
        if refusals:
            self._conn.execute(REMEMBER_REFUSALS, [refusals_to_json(refusals)])


def _source(
    path: str | bytes,
    collection: str,
    is_file: int,
    patterns: str,
    exclude: str,
    follow_symlinks: int,
    keep_missing: int,
    chunk_size: int | None,
    chunk_overlap: int | None,
    own_id: str | None,
    metadata: str,
    workspace: str | bytes | None,
    no_ignore: int,
) -> Source:
    return Source(
        str(path_from_column(path)),
        collection or None,
        bool(is_file),
        tuple(json.loads(patterns or "[]")),
        tuple(json.loads(exclude)),
        bool(follow_symlinks),
        bool(keep_missing),
        chunk_size,
        chunk_overlap,
        own_id,
        tuple(json.loads(metadata).items()),
        path_from_column(workspace),
        bool(no_ignore),
    )
