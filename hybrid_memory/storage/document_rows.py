"""The values that other readers than a search get from a store. Apart from rows.py because defining them takes start-up time."""

from collections.abc import Sequence

from ..typed.names import NamedTuple


class Neighbour(NamedTuple):
    """A chunk among those around another one; `chunking` tells how its document was cut."""

    id: int
    text: str
    start_line: int
    end_line: int
    chunking: str


class DocumentRow(NamedTuple):
    """A document; `content` is the text of one that has no file, or whose file is not text or on another `host`."""

    path: str | None
    content_hash: bytes | None
    content: str | None
    collection: str | None
    date: str | None
    pages: Sequence[int]  # the line with which each page begins
    host: str | None = None  # of a file that cannot be read here


class SourceFile(NamedTuple):
    """A document's file as it was when it was indexed, and the folder that its collection belongs to."""

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
