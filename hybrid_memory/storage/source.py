"""What a store records about ingested files: sources (folders and files) with their settings,
refused files, documents with the state of their files, and whole documents for copying.
"""

import json
import os
from collections.abc import Mapping, Sequence
from shlex import join, quote
from typing import Any, NamedTuple

from ..documents.document import Extract, Prepared, chunking, texts_of
from ..documents.files import Walk
from ..documents.formats import format_of, grows
from ..documents.links import DocumentLinks
from ..errors import SourceError
from ..text.characters import storable_name
from .rows import Vectors


class StoredDocument(NamedTuple):
    """A document in the store, with the state of its file when it was indexed; `path` is None for a
    text without a file.
    """

    doc_id: str
    path: str | None
    mtime: float  # seconds since 1970
    size: int  # bytes
    content_hash: bytes
    chunking: str


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


def refusals_to_json(refusals: Mapping[str, Refusal]) -> str:
    """Encode refusals, by path, for storage."""
    return json.dumps(refusals)


def refusals_from_json(value: str | None) -> dict[str, Refusal]:
    """Decode `refusals_to_json`. None is decoded as no refusals."""
    return {path: Refusal(*row) for path, row in json.loads(value or "{}").items()}


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

    @property
    def outlives_files(self) -> bool:
        """Whether its documents stay, without an error, when their files are gone. Agents delete
        transcripts after some weeks.
        """
        names = [self.path] if self.is_file else self.patterns
        return (self.is_file or self.keep_missing) and all(map(grows, names))

    def walk(self) -> Walk:
        """The walk over its files."""
        return Walk(self.path, self.patterns, self.exclude, self.follow_symlinks, self.workspace)

    def sizes(self, settings: Mapping[str, Any]) -> tuple[int, int]:
        """Chunk size and overlap, in characters."""
        if self.chunk_size is None or self.chunk_overlap is None:
            return settings["chunk_size"], settings["chunk_overlap"]
        return self.chunk_size, self.chunk_overlap

    def chunking(self, settings: Mapping[str, Any]) -> str:
        """How its texts are read and split, as in `documents.chunking`."""
        return chunking(*self.sizes(settings), settings["date_keys"])

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

    def command(self, *, incremental: bool = True) -> str:
        """The command that ingests it again with the same settings; if not `incremental`, one that
        reads every file.
        """
        words = ["hybrid-memory", "ingest", "--path", self.path]
        if self.patterns != ("*.md",):
            for pattern in self.patterns:
                words += ["--pattern", pattern]
        for glob in self.exclude:
            words += ["--exclude", glob]
        if self.collection != default_collection(self.path, self.is_file, self.patterns):
            words += ["--collection", str(self.collection)]
        return join(
            [
                *words,
                *["--follow-symlinks"] * self.follow_symlinks,
                *["--keep-missing"] * self.keep_missing,
                *["--incremental"] * incremental,
            ]
        )


def default_collection(path: str, is_file: bool, patterns: tuple[str, ...]) -> str | None:
    """What ids begin with if the user names no collection: the folder's name, or what the format of
    all its files prescribes.
    """
    names = {format_of(name).collection for name in ([path] if is_file else patterns)}
    if len(names) == 1:
        of_format = names.pop()
        if of_format:
            return of_format
    if is_file:
        return None
    return storable_name(os.path.basename(path) or "root")


def real_path(path: str) -> str:
    """The path without symbolic links, as stored. Raises SourceError for "", which would mean the
    working directory.
    """
    if not path:
        raise SourceError("the path is empty")
    return os.path.realpath(os.path.expanduser(path))


def is_in(path: str, top: str) -> bool:
    """Whether a path is `top` or below it."""
    return path == top or path.startswith(os.path.join(top, ""))


class KnownSources:
    """The part of `interface.Sources` that needs only `all`, which each engine implements."""

    def all(self, collection: str | None = None, path: str | None = None) -> list[Source]:
        """As in `interface.Sources`."""
        raise NotImplementedError

    def of_own_name(self, source: Source) -> Source:
        """As in `interface.Sources`, for a store that one host uses."""
        return source

    def news(self, source: Source) -> Source | None:
        """As in `interface.Sources`."""
        known = self._known(source)
        if known:
            patterns = tuple(dict.fromkeys((*known.patterns, *source.patterns)))
            source = source._replace(patterns=patterns)
        source = self.with_earlier_choices(source)
        if source == known:
            return None
        return source

    def with_earlier_choices(self, source: Source) -> Source:
        """As in `interface.Sources`."""
        known = self._known(source)
        if known is None:
            return source
        if source.chunk_size is None:
            source = source._replace(chunk_size=known.chunk_size, chunk_overlap=known.chunk_overlap)
        return source._replace(workspace=source.workspace or known.workspace)

    def _known(self, source: Source) -> Source | None:
        return next(iter(self.all(source.collection or "", source.path)), None)


def claim_error(source: Source, path: str | None, collection: str) -> SourceError:
    """The error for a source whose collection holds the documents of another path."""
    return SourceError(
        f"collection {source.collection!r} holds the documents of {path}; give {source.path} another "
        f"name with --collection NAME, or free this one: "
        f"`hybrid-memory delete --collection {quote(collection)}`"
    )


class Whole(NamedTuple):
    """A document as `interface.Documents.put` takes it, with the known embeddings of its texts."""

    prepared: Prepared
    vectors: Vectors


def whole(
    row: Mapping[str, Any], chunks: Sequence[Mapping[str, Any]], links: DocumentLinks
) -> Whole:
    """Make a Whole from rows.

    `row` is the row of the document with `pages` and `extracted` from the table of extracts.
    `chunks` are the rows of its chunks, in order, with `embedding` (encoded, or None) and
    `truncated`. `links` are the document's links; their tags may include those of its metadata.
    """
    own = {key: value for key, value in row.items() if key not in ("pages", "extracted")}
    own["extract"] = None
    if row["extracted"] is not None:
        own["extract"] = Extract(row["extracted"], json.loads(row["pages"] or "[]"), {})
    vectors = {
        each["content_hash"]: (each["embedding"], bool(each["truncated"]))
        for each in chunks
        if each["embedding"]
    }
    plain = [
        {key: value for key, value in each.items() if key not in ("embedding", "truncated")}
        for each in chunks
    ]
    return Whole(Prepared(own, plain, texts_of(plain), links=links), vectors)


class DocumentRow(NamedTuple):
    """A document. `content` is the text of a document without a file, or with a file that is not
    text or is on another `host`.
    """

    path: str | None
    content_hash: bytes | None
    content: str | None
    collection: str | None
    date: str | None
    pages: Sequence[int]  # the first line of each page
    host: str | None = None  # where the file is, if it cannot be read here


class SourceFile(NamedTuple):
    """A document's file as it was when indexed, and the folder that owns the document's
    collection.
    """

    doc_id: str
    path: str
    mtime: float
    size: int
    chunking: str
    collection: str | None
    folder: str | None


class Pending(NamedTuple):
    """A chunk without an embedding."""

    id: int
    content_hash: bytes
    text: str  # the text to embed
