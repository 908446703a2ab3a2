"""Store the ingested folders and files, and the files that were refused."""

import json
from collections.abc import Mapping

from ...storage.source import (
    KnownSources,
    Refusal,
    Source,
    claim_error,
    refusals_from_json,
    refusals_to_json,
)
from .connection import Connection, from_column, here, text, to_column

CLAIMED = """
select path, collection from folders
where  space = %(space)s and host = %(host)s and collection = %(collection)s and not is_file
and    path <> %(path)s
and    exists (select from documents where space = %(space)s and host = %(host)s
        and    collection = %(collection)s)
"""
OF_ANOTHER_HOST = """
select path from folders where space = %(space)s and host <> %(host)s and collection = %(collection)s
and    not is_file
"""
SOURCES = """
select path, collection, is_file, patterns, exclude, follow_symlinks, keep_missing, chunk_size,
       chunk_overlap, doc_id, metadata, workspace, no_ignore
from   folders
where  space = %(space)s and host = %(host)s and collection = coalesce(%(collection)s, collection)
and    path = coalesce(%(path)s::bytea, path)
order  by collection, path
"""
REMEMBER = """
insert into folders (space, host, path, collection, is_file, patterns, exclude, follow_symlinks,
                     keep_missing, chunk_size, chunk_overlap, doc_id, metadata, workspace,
                     no_ignore)
values (%(space)s, %(host)s, %(path)s, %(collection)s, %(is_file)s, %(patterns)s, %(exclude)s,
        %(follow_symlinks)s, %(keep_missing)s, %(chunk_size)s, %(chunk_overlap)s, %(own_id)s, %(metadata)s,
        %(workspace)s, %(no_ignore)s)
"""
FORGET = """
delete from folders where space = %(space)s and host = %(host)s and collection = %(collection)s
and    path = %(path)s
"""
FORGET_OTHERS = """
delete from folders where space = %(space)s and host = %(host)s and collection = %(collection)s
and    not is_file
"""


REFUSALS = "select value from meta where space = %(space)s and key = 'refusals@' || %(host)s"
FORGET_REFUSALS = "delete from meta where space = %(space)s and key = 'refusals@' || %(host)s"
REMEMBER_REFUSALS = """
insert into meta (space, key, value) values (%(space)s, 'refusals@' || %(host)s, %(value)s)
"""


class Sources(KnownSources):
    """Implements `KnownSources`."""

    def __init__(self, conn: Connection, space: int) -> None:
        self._conn, self._owner = conn, {"space": space, "host": here()}

    def all(self, collection: str | None = None, path: str | None = None) -> list[Source]:
        wanted = {
            "collection": None if collection is None else text(collection),
            "path": to_column(path),
        }
        return [_source(*row) for row in self._conn.all(SOURCES, self._owner | wanted)]

    def of_own_name(self, source: Source) -> Source:
        own = source._replace(collection=f"{source.collection}@{here()}")
        if source.is_file or self._known(source):
            return source
        if self._known(own) or self._conn.first(OF_ANOTHER_HOST, self._key(source)):
            return own
        return source

    def check_claim(self, source: Source) -> None:
        if source.is_file:
            return
        if row := self._conn.first(CLAIMED, self._key(source)):
            raise claim_error(source, from_column(row[0]), row[1])

    def remember(self, source: Source) -> None:
        if not source.is_file:
            self._conn.execute(FORGET_OTHERS, self._key(source))
        self.forget(source)
        values = source._asdict() | {
            "patterns": json.dumps(source.patterns),
            "exclude": json.dumps(source.exclude),
            "metadata": json.dumps(dict(source.metadata)),
            "own_id": source.own_id and text(source.own_id),
            "workspace": to_column(source.workspace),
        }
        self._conn.execute(REMEMBER, values | self._key(source))

    def forget(self, source: Source) -> None:
        self._conn.execute(FORGET, self._key(source))

    def refusals(self) -> dict[str, Refusal]:
        row = self._conn.first(REFUSALS, self._owner)
        return refusals_from_json(row[0] if row else None)

    def remember_refusals(self, refusals: Mapping[str, Refusal]) -> None:
        self._conn.execute(FORGET_REFUSALS, self._owner)
        if refusals:
            self._conn.execute(
                REMEMBER_REFUSALS, self._owner | {"value": refusals_to_json(refusals)}
            )

    def _key(self, source: Source) -> dict[str, object]:
        return self._owner | {
            "collection": text(source.collection or ""),
            "path": to_column(source.path),
        }


def _source(
    path: bytes,
    collection: str,
    is_file: bool,
    patterns: str | None,
    exclude: str,
    follow_symlinks: bool,
    keep_missing: bool,
    chunk_size: int | None,
    chunk_overlap: int | None,
    own_id: str | None,
    metadata: str,
    workspace: bytes | None,
    no_ignore: bool,
) -> Source:
    return Source(
        str(from_column(path)),
        collection or None,
        is_file,
        tuple(json.loads(patterns or "[]")),
        tuple(json.loads(exclude)),
        follow_symlinks,
        keep_missing,
        chunk_size,
        chunk_overlap,
        own_id,
        tuple(json.loads(metadata).items()),
        from_column(workspace),
        no_ignore,
    )
