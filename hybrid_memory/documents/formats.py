"""The formats of files that can be indexed, and which file has which. A new format is a module and
a row in FORMATS.
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
        """The hash of the bytes that were read."""

    @property
    def extract(self) -> "Extract | None":
        """The text whose lines count, of a file that is not text. This and all below may raise
        BadFileError for such a file.
        """

    @property
    def metadata(self) -> Mapping[str, Any]:
        """JSON values by key."""

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """What the user should know about this file: a line for each warning, and its kind in a
        word, such as "encoding".
        """

    @property
    def links(self) -> "DocumentLinks":
        """Titles, links and tags of the text; `links.NO_LINKS` if it can have none."""

    def date(self, doc_id: str, keys: Sequence[str] = DATE_KEYS) -> str | None:
        """The document's date, YYYY-MM-DD or YYYY-MM. `keys` are those of the metadata that may
        have it, the best first.
        """

    def chunks(self, chunk_size: int, overlap: int) -> "Iterable[Chunk]":
        """The file's text in pieces of at most `chunk_size` characters, with the lines of the file
        they stand on.
        """

    def close(self) -> None:
        """Close the file."""


class Format(Protocol):
    """What a file format offers to the rest of the program."""

    @property
    def collection(self) -> str | None:
        """What the ids of its documents begin with if the user gives no name. None means the name
        of the folder.
        """

    @property
    def grows(self) -> bool:
        """Whether its files grow at their end and may be larger than memory, so that only what is
        new is written.

        Each line of such a file is a record. A passage made of several chunks has blank lines
        between them.
        """

    @property
    def is_text(self) -> bool:
        """Whether an editor shows its files with the lines that citations count."""

    def is_due(
        self, path: str, indexed_size: int, mtime: float, size: int, follow_symlinks: bool
    ) -> bool:
        """Whether a file should be read again now, after its first `indexed_size` bytes were
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
        """The text of each line of the file, and the hash of its bytes. Raises BadFileError for a
        file that is too large.
        """

    def joined(self, lines: Sequence[str]) -> str:
        """Lines as one text."""


def format_of(name: str) -> Format:
    """The format of the file with this name, path or document id, or of the files that a glob
    matches.
    """
    suffix = own_suffix(name)
    found: Format = load(FORMATS[suffix] if suffix else MARKDOWN)
    return found


def own_suffix(name: str) -> str | None:
    """The ending of a name that has a format of its own: "Report.PDF" -> ".pdf", "a.md" -> None"""
    ending = name[-LONGEST_SUFFIX:].lower()
    return next((suffix for suffix in FORMATS if ending.endswith(suffix)), None)


def refusal(path: str, max_bytes: int, follow_symlinks: bool) -> tuple[str, str] | None:
    """Why a file cannot be indexed, as the kind of files.py and a sentence; None if it can. Reads
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
