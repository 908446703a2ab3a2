"""Choose the format of a file, and define the interface of formats.

A new format is a module and a row in FORMATS, or in VAULTS for the markdown of a kind of vault.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, cast

from ..registry import FORMATS, MARKDOWN, VAULTS, load
from ..text.characters import digest, split_lines, text_of_bytes
from ..text.dates import DATE_KEYS, Dated
from .files import BadFileError
from .suffixes import grows, own_suffix

if TYPE_CHECKING:
    from ..storage.growing import Resumption
    from ..storage.prepared import Extract
    from ..text.links import DocumentLinks
    from .chunker import Chunk


class Reading(Protocol):
    """A file that is being read.

    Until the last chunk has been read, only `mtime` and `size` are sure to be complete.
    """

    mtime: float  # seconds since 1970

    @property
    def size(self) -> int:
        """The number of bytes."""

    @property
    def digest(self) -> bytes:
        """The hash of the bytes that were read."""

    @property
    def extract(self) -> "Extract | None":
        """The text whose lines are cited, if the file is not text.

        For such a file, this and all below may raise BadFileError.
        """

    @property
    def metadata(self) -> Mapping[str, Any]:
        """JSON values by key."""

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """Problems with this file for the user: each a line and its kind in a word, such as
        "encoding".
        """

    @property
    def left_out(self) -> str | None:
        """The rule by which the document has no text, such as "subagent"; None if no rule applies."""

    @property
    def links(self) -> "DocumentLinks":
        """Titles, links and tags of the text; `links.NO_LINKS` if the format has none."""

    def date(self, doc_id: str, keys: Sequence[str] = DATE_KEYS, order: str = "") -> "Dated":
        """The document's date, YYYY-MM-DD or YYYY-MM.

        `keys` are the metadata keys that may hold it, best first; `order` is that of day and month in
        the dates of its folder.
        """

    def chunks(self, chunk_size: int, overlap: int) -> "Iterable[Chunk]":
        """The text in chunks of at most `chunk_size` characters, with the lines of the file."""

    def close(self) -> None:
        """Close the file."""


class GrowingReading(Reading, Protocol):
    """A file of a format that grows. It need not fit into memory: its chunks are read one by one."""

    @property
    def has_more(self) -> bool:
        """Whether some of the file is still to be read, although what was read so far may be stored.
        `size` and `digest` are then of the bytes that were read so far.
        """

    def skip_to(self, place: "Resumption", size: int, digest: bytes) -> bool:
        """Leave out the lines above `place`, if the first `size` bytes of the file still have this
        hash. Returns whether they do; else all of the file will be read.
        """


class LineReader(Protocol):
    """Reads the lines of a file that citations count."""

    def lines(self, stream: BinaryIO, max_bytes: int) -> tuple[Sequence[str], bytes]:
        """The text of each line of the file, and the hash of its bytes.

        Raises BadFileError if the file is too large.
        """

    def joined(self, lines: Sequence[str]) -> str:
        """Join lines to one text."""


class PlainLines:
    """The lines of a text file; implements `LineReader`."""

    def lines(self, stream: BinaryIO, max_bytes: int) -> tuple[Sequence[str], bytes]:
        """As in `LineReader`."""
        data = stream.read(min(max_bytes, os.fstat(stream.fileno()).st_size) + 1)
        if len(data) > max_bytes:
            raise BadFileError(f"it has become larger than max_file_bytes ({max_bytes:,})", "size")
        return split_lines(text_of_bytes(data)), digest(data)

    def joined(self, lines: Sequence[str]) -> str:
        """As in `LineReader`."""
        return "\n".join(lines)


class Format(LineReader, Protocol):
    """The interface of a file format."""

    @property
    def collection(self) -> str | None:
        """The default collection of its documents, the first part of their ids; None: the folder's
        name.
        """

    @property
    def is_text(self) -> bool:
        """Whether the lines that citations count are those that an editor shows."""

    def open(
        self, path: str, max_bytes: int, follow_symlinks: bool, metadata: Mapping[str, Any]
    ) -> Reading:
        """Begin to read a file. The given `metadata` takes precedence over the file's own.

        Raises OSError, and BadFileError if the file cannot be indexed.
        """

    def headings(self, lines: Sequence[str]) -> Sequence[tuple[int, int, str]]:
        """The line, counted from 1, the level and the title of each heading."""


class GrowingFormat(Format, Protocol):
    """The format of files that grow; it opens a `GrowingReading`."""

    def has_enough_new(
        self, path: str, indexed_size: int, mtime: float, size: int, follow_symlinks: bool
    ) -> bool:
        """As the function `has_enough_new`."""


def format_of(name: str) -> Format:
    """The format for a file name, a path, a document id, or a glob."""
    suffix = own_suffix(name)
    chosen: Format = load(FORMATS[suffix] if suffix else MARKDOWN)
    return chosen


def has_enough_new(
    path: str, indexed_size: int, mtime: float, size: int, follow_symlinks: bool
) -> bool:
    """Whether to read a changed file again, when its first `indexed_size` bytes are indexed: unless
    it grows and has little new text. Raises OSError and BadFileError.
    """
    if not grows(path):
        return True
    reader = cast("GrowingFormat", format_of(path))
    return reader.has_enough_new(path, indexed_size, mtime, size, follow_symlinks)


def line_reader(name: str) -> LineReader:
    """How to read the lines of a file with this name. Markdown has plain lines, and reading them
    needs no parser.
    """
    return format_of(name) if own_suffix(name) else PlainLines()


def format_at(path: str) -> Format:
    """The format of the file at this path. Markdown in a vault has the format of the vault."""
    if own_suffix(path):
        return format_of(path)
    chosen: Format = load(vault_format(os.path.dirname(path)))
    return chosen


def open_file(
    path: str, max_bytes: int, follow_symlinks: bool, metadata: Mapping[str, Any]
) -> Reading:
    """Begin to read a file, as `Format.open`. A `GrowingReading` if its format grows."""
    return format_at(path).open(path, max_bytes, follow_symlinks, metadata)


@lru_cache(4096)
def vault_format(folder: str) -> str:
    """The row of VAULTS, or markdown's, for the innermost vault around a folder. An ingest clears the
    cache.
    """
    while True:
        for sign, row in VAULTS.items():
            if os.path.exists(os.path.join(folder, sign)):
                return row
        above = os.path.dirname(folder)
        if above == folder:
            return MARKDOWN
        folder = above


def refusal(path: str, max_bytes: int, follow_symlinks: bool) -> tuple[str, str] | None:
    """Why a file cannot be indexed, as a kind of files.py and a sentence; None if it can.

    Reads as much of the file as that takes.
    """
    try:
        with closing(open_file(path, max_bytes, follow_symlinks, {})) as reading:
            _ = reading.extract
    except BadFileError as error:
        return error.kind, str(error)
    except OSError as error:
        return "unreadable", error.strerror or str(error)
    return None
