"""A folder or file that was ingested, and how; and what the store remembers of the file of a document."""

import os
from collections.abc import Mapping

from ..documents.document import chunking
from ..documents.formats import format_of
from ..errors import SourceError
from ..text.characters import storable_name
from ..typed.names import Any, NamedTuple


class StoredDocument(NamedTuple):
    """A document in the store, with its file as it was when it was indexed; `path` is None for a text that had no file."""

    doc_id: str
    path: str | None
    mtime: float  # seconds since 1970
    size: int  # bytes
    content_hash: bytes
    chunking: str


class Source(NamedTuple):
    """A folder or a file that is ingested, and how. `path` has no links; `collection` is what its documents' ids begin with."""

    path: str
    collection: str | None
    is_file: bool
    patterns: tuple[str, ...] | None = ("*.md",)  # None: not known, noted by version 1
    exclude: tuple[str, ...] = ()
    follow_symlinks: bool = False
    keep_missing: bool = False
    chunk_size: int | None = None  # where the user named it for this source; else the settings say
    chunk_overlap: int | None = None
    own_id: str | None = None  # of the document of a single file, if it is not the file's name
    metadata: tuple[tuple[str, str], ...] = ()  # of a single file: what wins over its front matter

    def sizes(self, settings: Mapping[str, Any]) -> tuple[int, int]:
        """How its texts are cut: chunk size and overlap, in characters."""
        if self.chunk_size is None or self.chunk_overlap is None:
            return settings["chunk_size"], settings["chunk_overlap"]
        return self.chunk_size, self.chunk_overlap

    def chunking(self, settings: Mapping[str, Any]) -> str:
        """How its texts are read and cut, as in `documents.chunking`."""
        return chunking(*self.sizes(settings), settings["date_keys"])

    def doc_id(self, relative: str) -> str:
        """The id of the document whose file has this path relative to the folder."""
        if self.own_id is not None:
            return self.own_id
        name = storable_name(relative.replace(os.sep, "/"))
        return name if self.collection is None else f"{self.collection}/{name}"

    def has(self, doc_id: str, path: str) -> bool:
        """Whether the document that has this id, and came from this path, is one of this source."""
        if not is_in(path, self.path) or (self.is_file and path != self.path):
            return False
        return doc_id == self.doc_id(os.path.basename(path) if self.is_file else path[len(os.path.join(self.path, "")) :])

    def command(self) -> str:
        """The command that ingests it again in the same way."""
        from shlex import join

        words = ["hybrid-memory", "ingest", "--path", self.path]
        for pattern in () if self.patterns == ("*.md",) else self.patterns or ():
            words += ["--pattern", pattern]
        for glob in self.exclude:
            words += ["--exclude", glob]
        if self.collection != default_collection(self.path, self.is_file, self.patterns or ("*",)):
            words += ["--collection", str(self.collection)]
        return join(
            [*words, *["--follow-symlinks"] * self.follow_symlinks, *["--keep-missing"] * self.keep_missing, "--incremental"]
        )


def default_collection(path: str, is_file: bool, patterns: tuple[str, ...]) -> str | None:
    """What ids begin with if the user names nothing: the name of a folder, or what the format of all its files prescribes."""
    names = {format_of(name).collection for name in ([path] if is_file else patterns)}
    of_format = names.pop() if len(names) == 1 else None
    return of_format or (None if is_file else storable_name(os.path.basename(path) or "root"))


def real_path(path: str) -> str:
    """The path without links, as the store keeps it. Raises SourceError for "", which would be the working directory."""
    if not path:
        raise SourceError("the path is empty")
    return os.path.realpath(os.path.expanduser(path))


def is_in(path: str, top: str) -> bool:
    """Whether a path is `top` or below it."""
    return path == top or path.startswith(os.path.join(top, ""))
