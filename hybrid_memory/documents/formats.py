"""Choose the format of a file that is to be indexed, and say what a format offers. A new format is a
module and a row in FORMATS.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from ..seams import FORMATS, MARKDOWN, load
from ..text.dates import DATE_KEYS
from .files import BadFileError

if TYPE_CHECKING:
    from .chunker import Chunk
    from .document import Extract
    from .links import DocumentLinks

LONGEST_SUFFIX = max(map(len, FORMATS))


class Reading(Protocol):
    """A file that is being read. Only `mtime` and `size` are certain to be complete before the last
    chunk has been taken.
    """

    mtime: float  # seconds since 1970
    size: int  # bytes

    @property
    def digest(self) -> bytes:
        """Return the hash of the bytes that were read."""

    @property
    def extract(self) -> "Extract | None":
        """Return the text whose lines count, of a file that is not text. This and all below may raise
        BadFileError for such a file.
        """

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Return JSON values by key."""

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """Return what the user should know of this file: a line for each warning, and its kind in a
        word, such as "encoding".
        """

    @property
    def links(self) -> "DocumentLinks":
        """Return titles, links and tags of the text; `links.NO_LINKS` if it can have none."""

    def date(self, doc_id: str, keys: Sequence[str] = DATE_KEYS) -> str | None:
        """Return the document's date, YYYY-MM-DD or YYYY-MM. `keys` are those of the metadata that may
        have it, the best first.
        """

    def chunks(self, chunk_size: int, overlap: int) -> "Iterable[Chunk]":
        """Return the file's text in pieces of at most `chunk_size` characters, with the lines of the file
        they stand on.
        """

    def close(self) -> None:
        """Close the file."""


class Format(Protocol):
    """A file format, as the rest of the program uses it."""

    @property
    def collection(self) -> str | None:
        """Return what the ids of its documents begin with if the user gives no name. None means the name
        of the folder.
        """

    @property
    def grows(self) -> bool:
        """Return whether its files grow at their end and may be larger than memory, so that only what is
        new is written.

        Each line of such a file is a record. A passage made of several chunks has blank lines
        between them.
        """

    @property
    def is_text(self) -> bool:
        """Return whether an editor shows its files with the lines that citations count."""

    def is_due(
        self, path: str, indexed_size: int, mtime: float, size: int, follow_symlinks: bool
    ) -> bool:
        """Return whether a file should be read again now, after its first `indexed_size` bytes were
        indexed and it has changed since.

        Raises OSError and BadFileError.
        """

    def open(
        self, path: str, max_bytes: int, follow_symlinks: bool, metadata: Mapping[str, Any]
    ) -> Reading:
        """Begin to read a file. The given `metadata` takes precedence over the file's own.

        Raises OSError, and BadFileError for a file that cannot be indexed.
        """

    def lines(self, stream: BinaryIO, max_bytes: int) -> tuple[Sequence[str], bytes]:
        """Return the text of each line of the file, and the hash of its bytes. Raises BadFileError for a
        file that is too large.
        """

    def joined(self, lines: Sequence[str]) -> str:
        """Return lines as one text."""


def format_of(name: str) -> Format:
    """Return the format of the file with this name, path or document id, or of the files that a glob
    matches.
    """
    suffix = own_suffix(name)
    chosen: Format = load(FORMATS[suffix] if suffix else MARKDOWN)
    return chosen


def grows(name: str) -> bool:
    """Return whether a file of this name grows at its end. Markdown does not, and is not loaded to say
    so: a search that joins passages has no other use for it.
    """
    suffix = own_suffix(name)
    return suffix is not None and load(FORMATS[suffix]).grows is True


def own_suffix(name: str) -> str | None:
    """Return the ending of a name that has a format of its own: "Report.PDF" -> ".pdf", "a.md" -> None"""
    ending = name[-LONGEST_SUFFIX:].lower()
    return next((suffix for suffix in FORMATS if ending.endswith(suffix)), None)


def refusal(path: str, max_bytes: int, follow_symlinks: bool) -> tuple[str, str] | None:
    """Return why a file cannot be indexed, as the kind of files.py and a sentence; None if it can. Reads
    as much as that takes.
    """
    try:
        with closing(format_of(path).open(path, max_bytes, follow_symlinks, {})) as reading:
            _ = reading.extract
    except BadFileError as error:
        return error.kind, str(error)
    except OSError as error:
        return "unreadable", error.strerror or str(error)
    return None
