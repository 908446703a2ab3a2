"""The formats of files that can be indexed, and which file has which. A new format is a module and a row in SUFFIXES."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

if TYPE_CHECKING:
    from .chunker import Chunk

# Ending of a file's name -> the module whose FORMAT reads it, imported when the first such file is met.
SUFFIXES = {".jsonl": "transcripts"}
DEFAULT = "markdown"


class Reading(Protocol):
    """A file that is being read. All but `mtime` and `size` may be complete only when the last chunk has been taken."""

    mtime: float  # seconds since 1970
    size: int  # bytes

    @property
    def digest(self) -> bytes:
        """The hash of the bytes that were read."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """JSON values by key."""

    @property
    def warnings(self) -> list[str]:
        """What the user should know of this file, a line each."""

    def date(self, doc_id: str) -> str | None:
        """The document's date, YYYY-MM-DD or YYYY-MM."""

    def chunks(self, chunk_size: int, overlap: int) -> "Iterable[Chunk]":
        """The file's text in pieces of at most `chunk_size` characters, with the lines of the file they stand on."""

    def close(self) -> None:
        """Close the file."""


class Format(Protocol):
    """What the rest of the program may ask of a file format."""

    @property
    def collection(self) -> str | None:
        """What the ids of its documents begin with if the user names nothing; None: the name of the folder."""

    @property
    def grows(self) -> bool:
        """Whether its files are records that grow at the end and may be larger than memory, so that only news is written.

        The lines of such a file are records: passages of several chunks are set apart by blank lines.
        """

    def is_due(self, path: str, indexed_size: int, mtime: float, size: int) -> bool:
        """Whether a file that changed since its first `indexed_size` bytes were indexed is to be read again now.

        Raises OSError and BadFileError.
        """

    def open(self, path: str, max_bytes: int, follow_symlinks: bool) -> Reading:
        """Begin to read a file. Raises OSError, and BadFileError for one that cannot be indexed."""

    def lines(self, stream: BinaryIO, max_bytes: int) -> tuple[list[str], bytes]:
        """What each line of the file says, and the hash of its bytes. Raises BadFileError for a file that is too large."""

    def joined(self, lines: list[str]) -> str:
        """Lines as one text."""


def format_of(name: str) -> Format:
    """The format of a file, by its name, path or document id, or of the files that a glob matches."""
    return _format(next((module for suffix, module in SUFFIXES.items() if name.endswith(suffix)), DEFAULT))


@cache
def _format(module: str) -> Format:
    found: Format = import_module(f"{__package__}.{module}").FORMAT
    return found
