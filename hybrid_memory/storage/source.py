"""What a store records about ingested files: sources (folders and files) with their settings, and
refused files.
"""

import json
import os
from collections.abc import Mapping
from shlex import quote
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..errors import SourceError
from ..text.characters import storable_name

if TYPE_CHECKING:
    from .database import Database

READERS = 2  # raise this when a reader learns to read files that it refused before


class Refusal(NamedTuple):
    """Why a file was refused, and its state then. It is read again only if that state has
    changed.
    """

    mtime: float  # seconds since 1970
    size: int  # bytes
    limits: str  # from `refusal_limits`
    kind: str  # as in BadFileError
    reason: str
    seconds: float | None = None  # the time limit, if that was too short

    def holds(self, mtime: float, size: int, limits: str, seconds: float | None = None) -> bool:
        """Whether a file with this time and size would be refused again.

        `seconds` is the time limit for reading it; None means no limit.
        """
        if (self.mtime, self.size, self.limits) != (mtime, size, limits):
            return False
        return self.seconds is None or (seconds is not None and seconds <= self.seconds)


def refusal_limits(settings: Mapping[str, Any]) -> str:
    """The settings that, like the file itself, decide whether it is refused."""
    return f"readers={READERS} max_file_bytes={settings['max_file_bytes']}"


class Source(NamedTuple):
    """An ingested folder or file, and its settings. `path` has its symbolic links resolved;
    document ids begin with `collection`.
    """

    path: str
    collection: str | None
    is_file: bool
    patterns: tuple[str, ...] = ("*.md",)
    exclude: tuple[str, ...] = ()
    follow_symlinks: bool = False
    keep_missing: bool = False
    chunk_size: int | None = None  # set by the user for this source; None: as in the settings
    chunk_overlap: int | None = None
    own_id: str | None = None  # document id for a single file, if it is not the file's name
    metadata: tuple[tuple[str, Any], ...] = ()  # of a single file: overrides its front matter
    workspace: str | None = None  # of transcripts: read only sessions that began in it
    no_ignore: bool = False  # read what `.gitignore` and similar lists leave out, too

    def sizes(self, settings: Mapping[str, Any]) -> tuple[int, int]:
        """Chunk size and overlap, in characters."""
        if self.chunk_size is None or self.chunk_overlap is None:
            return settings["chunk_size"], settings["chunk_overlap"]
        return self.chunk_size, self.chunk_overlap

    def doc_id(self, relative: str) -> str:
        """The id of the document whose file has this path relative to the folder."""
        if self.own_id is not None:
            return self.own_id
        name = storable_name(relative.replace(os.sep, "/"))
        if self.collection is None:
            return name
        return f"{self.collection}/{name}"

    def id_of(self, path: str) -> str | None:
        """The id of the document whose file has this path; None for files of other folders."""
        if self.is_file:
            return self.doc_id(os.path.basename(path)) if path == self.path else None
        above = os.path.join(self.path, "")
        return self.doc_id(path[len(above) :]) if path.startswith(above) else None

    def has(self, doc_id: str, path: str) -> bool:
        """Whether the document with this id, from a file with this path, belongs to this source."""
        return doc_id == self.id_of(path)


def real_path(path: str) -> str:
    """The path without symbolic links, as stored. Raises SourceError for "", which would mean the
    working directory.
    """
    if not path:
        raise SourceError("the path is empty")
    return os.path.realpath(os.path.expanduser(path))


class KnownSources:
    """The ingested folders and files, and the files that were refused. An engine adds the statements."""

    CLAIMED: ClassVar[str]  # path and collection of another folder whose documents have these ids
    SOURCES: ClassVar[str]  # the columns of a Source, in order, but path before collection
    REMEMBER: ClassVar[str]
    FORGET: ClassVar[str]
    FORGET_OTHERS: ClassVar[str]  # the other folders of a collection
    REFUSALS: ClassVar[str]
    FORGET_REFUSALS: ClassVar[str]
    REMEMBER_REFUSALS: ClassVar[str]

    def __init__(self, database: "Database") -> None:
        self._db = database

    def all(self, collection: str | None = None, path: str | None = None) -> list[Source]:
        """All sources, or those with this collection and path."""
        wanted = {"collection": collection, "path": self._db.encode_path(path)}
        return [self._source(*row) for row in self._db.all(self.SOURCES, wanted)]

    def _source(self, path: Any, collection: str, is_file: int, *rest: Any) -> Source:
        """The source with these columns."""
        patterns, exclude, follow, keep, size, overlap, own_id, metadata, workspace, no_ignore = (
            rest
        )
        return Source(
            str(self._db.decode_path(path)),
            collection or None,
            bool(is_file),
            tuple(json.loads(patterns or "[]")),
            tuple(json.loads(exclude)),
            bool(follow),
            bool(keep),
            size,
            overlap,
            own_id,
            tuple(json.loads(metadata).items()),
            self._db.decode_path(workspace),
            bool(no_ignore),
        )

    def _key(self, source: Source) -> dict[str, Any]:
        return {
            "collection": source.collection or "",
            "path": self._db.encode_path(source.path),
        }

    def of_own_name(self, source: Source) -> Source:
        """The source with the collection of its folder in this store, if the user named no
        collection.

        The collection is the folder's name, or NAME@HOST if several hosts share the store and
        another host uses the name already.
        """
        return source

    def news(self, source: Source) -> Source | None:
        """The source as `remember` should store it, or None if it is stored like that already.

        It gets the patterns of earlier ingests in addition to its own, and their chunk sizes and
        workspace if it has none.
        """
        known = self._known(source)
        if known:
            patterns = tuple(dict.fromkeys((*known.patterns, *source.patterns)))
            source = source._replace(patterns=patterns)
        source = self.with_earlier_choices(source)
        if source == known:
            return None
        return source

    def with_earlier_choices(self, source: Source) -> Source:
        """The source with the chunk sizes and the workspace of an earlier ingest, if it has none
        itself.
        """
        known = self._known(source)
        if known is None:
            return source
        if source.chunk_size is None:
            source = source._replace(chunk_size=known.chunk_size, chunk_overlap=known.chunk_overlap)
        return source._replace(workspace=source.workspace or known.workspace)

    def _known(self, source: Source) -> Source | None:
        return next(iter(self.all(source.collection or "", source.path)), None)

    def check_claim(self, source: Source) -> None:
        """Raise SourceError if the collection belongs to another folder, whose documents would have
        the same ids.
        """
        if source.is_file:
            return
        if row := self._db.first(self.CLAIMED, self._key(source)):
            path, collection = row
            raise SourceError(
                f"collection {source.collection!r} holds the documents of "
                f"{self._db.decode_path(path)}; give {source.path} another name with "
                f"--collection NAME, or free this one: "
                f"`hybrid-memory delete --collection {quote(collection)}`"
            )

    def remember(self, source: Source) -> None:
        """Store how a source was ingested. A folder becomes the owner of its collection."""
        if not source.is_file:
            self._db.run(self.FORGET_OTHERS, self._key(source))
        self.forget(source)
        values = source._asdict() | {
            "patterns": json.dumps(source.patterns),
            "exclude": json.dumps(source.exclude),
            "metadata": json.dumps(dict(source.metadata)),
            "workspace": self._db.encode_path(source.workspace),
        }
        self._db.run(self.REMEMBER, values | self._key(source))

    def forget(self, source: Source) -> None:
        """Delete a source from the list."""
        self._db.run(self.FORGET, self._key(source))

    def refusals(self) -> dict[str, Refusal]:
        """The refused files of this host, by path."""
        [value] = self._db.first(self.REFUSALS) or ("{}",)
        return {path: Refusal(*row) for path, row in json.loads(value).items()}

    def remember_refusals(self, refusals: Mapping[str, Refusal]) -> None:
        """Store the refused files of this host, replacing the earlier ones."""
        self._db.run(self.FORGET_REFUSALS)
        if refusals:
            self._db.run(self.REMEMBER_REFUSALS, {"value": json.dumps(refusals)})
