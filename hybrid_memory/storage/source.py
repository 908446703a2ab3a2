"""What a store knows of what was ingested: folders and files as sources, a document's file, a whole
document to be copied.
"""

import json
import os
from collections.abc import Mapping, Sequence
from shlex import join, quote
from typing import Any, NamedTuple

from ..documents.document import Extract, Prepared, chunking, texts_of
from ..documents.files import Walk
from ..documents.formats import format_of
from ..documents.links import DocumentLinks
from ..errors import SourceError
from ..text.characters import storable_name
from .rows import Vectors


class StoredDocument(NamedTuple):
    """A document in the store, with its file as it was when it was indexed; `path` is None for a
    text that had no file.
    """

    doc_id: str
    path: str | None
    mtime: float  # seconds since 1970
    size: int  # bytes
    content_hash: bytes
    chunking: str


READERS = 1  # to be raised when a reader learns to read what it refused before


class Refusal(NamedTuple):
    """Why a file was refused, and what it was then: it is read again only if something of that has
    changed.
    """

    mtime: float  # seconds since 1970
    size: int  # bytes
    limits: str  # as `refusal_limits` gives them
    kind: str  # as in BadFileError
    reason: str
    seconds: float | None = None  # that it was given, if that was too little

    def holds(self, mtime: float, size: int, limits: str, seconds: float | None = None) -> bool:
        """Return whether a file with this time and size would be refused again.

        `seconds` are what there is for reading it; None: as many as it takes.
        """
        if (self.mtime, self.size, self.limits) != (mtime, size, limits):
            return False
        return self.seconds is None or (seconds is not None and seconds <= self.seconds)


def refusal_limits(settings: Mapping[str, Any]) -> str:
    """Return what, beside the file itself, decides whether it is refused."""
    return f"readers={READERS} max_file_bytes={settings['max_file_bytes']}"


def refusals_to_json(refusals: Mapping[str, Refusal]) -> str:
    """Return what a store keeps of refusals, by path."""
    return json.dumps(refusals)


def refusals_from_json(value: str | None) -> dict[str, Refusal]:
    """Return what `refusals_to_json` was given; nothing for None."""
    return {path: Refusal(*row) for path, row in json.loads(value or "{}").items()}


class Source(NamedTuple):
    """A folder or a file that is ingested, and how. `path` has no links; `collection` is what its
    documents' ids begin with.
    """

    path: str
    collection: str | None
    is_file: bool
    patterns: tuple[str, ...] = ("*.md",)
    exclude: tuple[str, ...] = ()
    follow_symlinks: bool = False
    keep_missing: bool = False
    chunk_size: int | None = None  # where the user named it for this source; else the settings say
    chunk_overlap: int | None = None
    own_id: str | None = None  # of the document of a single file, if it is not the file's name
    metadata: tuple[tuple[str, Any], ...] = ()  # of a single file: what wins over its front matter
    workspace: str | None = None  # of transcripts: only sessions that began in it are taken

    def walk(self) -> Walk:
        """Return the walk over its files."""
        return Walk(self.path, self.patterns, self.exclude, self.follow_symlinks, self.workspace)

    def sizes(self, settings: Mapping[str, Any]) -> tuple[int, int]:
        """Return how its texts are cut: chunk size and overlap, in characters."""
        if self.chunk_size is None or self.chunk_overlap is None:
            return settings["chunk_size"], settings["chunk_overlap"]
        return self.chunk_size, self.chunk_overlap

    def chunking(self, settings: Mapping[str, Any]) -> str:
        """Return how its texts are read and cut, as in `documents.chunking`."""
        return chunking(*self.sizes(settings), settings["date_keys"])

    def doc_id(self, relative: str) -> str:
        """Return the id of the document whose file has this path relative to the folder."""
        if self.own_id is not None:
            return self.own_id
        name = storable_name(relative.replace(os.sep, "/"))
        if self.collection is None:
            return name
        return f"{self.collection}/{name}"

    def has(self, doc_id: str, path: str) -> bool:
        """Return whether the document that has this id, and came from this path, is one of this
        source.
        """
        if not is_in(path, self.path) or (self.is_file and path != self.path):
            return False
        return doc_id == self.doc_id(
            os.path.basename(path) if self.is_file else path[len(os.path.join(self.path, "")) :]
        )

    def command(self, *, incremental: bool = True) -> str:
        """Return the command that ingests it again in the same way; if not `incremental`, one that
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
    """Return what ids begin with if the user names nothing: the name of a folder, or what the
    format of all its files prescribes.
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
    """Return the path without links, as the store keeps it. Raises SourceError for "", which would
    be the working directory.
    """
    if not path:
        raise SourceError("the path is empty")
    return os.path.realpath(os.path.expanduser(path))


def is_in(path: str, top: str) -> bool:
    """Return whether a path is `top` or below it."""
    return path == top or path.startswith(os.path.join(top, ""))


class KnownSources:
    """The part of `protocol.Sources` that needs nothing but `all`, which an engine has."""

    def all(self, collection: str | None = None, path: str | None = None) -> list[Source]:
        """As in `protocol.Sources`."""
        raise NotImplementedError

    def of_own_name(self, source: Source) -> Source:
        """As in `protocol.Sources`, for a store of one host."""
        return source

    def news(self, source: Source) -> Source | None:
        """As in `protocol.Sources`."""
        known = self._known(source)
        if known:
            patterns = tuple(dict.fromkeys((*known.patterns, *source.patterns)))
            source = source._replace(patterns=patterns)
        source = self.with_earlier_choices(source)
        if source == known:
            return None
        return source

    def with_earlier_choices(self, source: Source) -> Source:
        """As in `protocol.Sources`."""
        known = self._known(source)
        if known is None:
            return source
        if source.chunk_size is None:
            source = source._replace(chunk_size=known.chunk_size, chunk_overlap=known.chunk_overlap)
        return source._replace(workspace=source.workspace or known.workspace)

    def _known(self, source: Source) -> Source | None:
        return next(iter(self.all(source.collection or "", source.path)), None)


def claimed(source: Source, path: str | None, collection: str) -> SourceError:
    """Return the error for a source whose collection holds the documents of another path."""
    return SourceError(
        f"collection {source.collection!r} holds the documents of {path}; give {source.path} another "
        f"name with --collection NAME, or free this one: "
        f"`hybrid-memory delete --collection {quote(collection)}`"
    )


class Whole(NamedTuple):
    """A document as `protocol.Documents.put` takes it, with the embeddings of its texts as far as
    there are any.
    """

    prepared: Prepared
    vectors: Vectors


def whole(
    row: Mapping[str, Any], chunks: Sequence[Mapping[str, Any]], links: DocumentLinks
) -> Whole:
    """Make it from the row of a document with `pages` and `extracted` of the table of extracts, and those
    of its chunks, in order, with `embedding` (encoded, or None) and `truncated`. `links` are its
    own, and the tags may be those of its metadata, too.
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
    """A document; `content` is the text of one that has no file, or whose file is not text or on
    another `host`.
    """

    path: str | None
    content_hash: bytes | None
    content: str | None
    collection: str | None
    date: str | None
    pages: Sequence[int]  # the line with which each page begins
    host: str | None = None  # of a file that cannot be read here


class SourceFile(NamedTuple):
    """A document's file as it was when it was indexed, and the folder that its collection belongs
    to.
    """

    doc_id: str
    path: str
    mtime: float
    size: int
    chunking: str
    collection: str | None
    folder: str | None


class Pending(NamedTuple):
    """A chunk that has no embedding."""

    id: int
    content_hash: bytes
    text: str  # to be embedded
