"""Write a document that grows at its end: unchanged chunks at its start stay, and only the rest is
written.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

from ..text.characters import storable
from ..text.links import NO_LINKS, DocumentLinks
from ..text.terms import Terms, terms
from .database import Database
from .embeddings import Embeddings
from .prepared import texts_of


class Resumption(NamedTuple):
    """Where the reading of a file that has grown goes on: at the line with which a stored chunk
    begins. `title` and `date` are those of that chunk, and `first_date` is the first day of all
    chunks.
    """

    number: int  # of the chunk, from 0
    line: int  # from 1
    title: str
    date: str | None
    first_date: str

    @classmethod
    def after(
        cls, chunks: Iterable[tuple[str, int, int, str, str | None]], first_date: str
    ) -> "Resumption | None":
        """The last chunk with a line that no chunk before it has; None if there is no such chunk
        after the first.

        `chunks` are from the last to the first: id, first line, last line, heading and date.
        """
        later: tuple[str, int, str, str | None] | None = None
        for chunk_id, start_line, end_line, heading, date in chunks:
            if later and end_line < later[1]:
                number = int(later[0].rpartition("-")[2])
                return cls(number, *later[1:], first_date)
            later = chunk_id, start_line, heading, date
        return None


# The columns in which a stored chunk that stays and a new one are equal
COMPARED = ("chunk_id", "heading", "start_line", "end_line", "content_hash", "date", "role")


def divide_at_change(
    chunks: Iterable[Mapping[str, Any]], stored: Iterable[Sequence[Any]]
) -> tuple[int, int, Iterator[Mapping[str, Any]]]:
    """Compare new chunks with the stored ones, as rows of chunks.id and the COMPARED columns.

    Returns the number of chunks that stay, the chunks.id of the last of them (or 0), and the chunks
    from the first one that differs.
    """
    rows = iter(stored)
    rest = iter(chunks)
    count = last = 0
    for chunk in rest:
        id, *values = next(rows, (0,))
        if values != [chunk[key] for key in COMPARED]:
            return count, last, chain([chunk], rest)
        count += 1
        last = id
    return count, last, rest


WRITTEN = itemgetter("heading_path", "content", "items")  # the texts of a chunk that are indexed


class GrowingDocument(ABC):
    """A writer for a document that grows. An engine adds the statements.

    Call `compare` outside of a transaction, `write` inside one. New chunks get the spare embeddings
    of their texts; the others are pending.
    """

    FIRST_DATE: ClassVar[str]
    FROM_LAST: ClassVar[str]  # what `Resumption.after` takes
    CHUNK_BEFORE: ClassVar[str]  # the chunks.id of a chunk, counted from 1
    CHUNKS_NOW: ClassVar[str]  # chunks.id and the COMPARED columns
    KEPT: ClassVar[str]  # number of the chunks up to the last that stays, and its chunks.id
    AFTER: ClassVar[str]
    FIRST_KEPT: ClassVar[str]  # chunks.id of the first chunk that stays, and the metadata
    TITLES: ClassVar[str]

    def __init__(
        self, database: Database, embeddings: Embeddings, doc_id: str, collection: str | None
    ) -> None:
        self._db = database
        self._embeddings = embeddings
        self._doc_id = doc_id
        self._collection = collection
        self._kept = 0  # chunks that stay as they are
        self._last = 0  # the chunks.id of the last of them
        self._new: list[tuple[dict[str, Any], Terms]] = []

    @property
    def _given(self) -> dict[str, Any]:
        """The parameters of the statements."""
        return {"doc_id": self._doc_id, "last": self._last}

    def resumption(self) -> Resumption | None:
        """Where the reading of the file can go on: at the last chunk with a line that no chunk before
        it has; None if there is no such chunk after the first.
        """
        first_date = self._db.first(self.FIRST_DATE, self._given) or ("",)
        return Resumption.after(self._db.all(self.FROM_LAST, self._given), *first_date)

    def compare(self, chunks: Iterable[Mapping[str, Any]], first: int = 0) -> int:
        """Compare the rows of all chunks of the document, from the index `first`, with the stored
        ones, and keep the new ones. Returns the number of all chunks.
        """
        if first:
            self._kept = first
            self._last = self._db.number(self.CHUNK_BEFORE, self._given | {"first": first})
        stored = self._db.all(self.CHUNKS_NOW, self._given)
        kept, last, changed = divide_at_change(chunks, stored)
        self._kept += kept
        self._last = last or self._last
        rows = list(map(dict, changed))
        found = terms(self._doc_id, self._collection, "{}", map(WRITTEN, rows), None)
        self._new = list(zip(rows, found, strict=True))
        return self._kept + len(self._new)

    def texts(self) -> dict[bytes, str]:
        """The texts to embed of the new chunks, by content hash."""
        return texts_of(chunk for chunk, _ in self._new)

    def write(self, row: Mapping[str, Any], links: DocumentLinks = NO_LINKS) -> int | None:
        """Write the new chunks and these links. Returns the number of new chunks, or None if another
        process changed the document meanwhile.
        """
        if self._db.first(self.KEPT, self._given) != (self._kept, self._last or None):
            return None
        after = list(self._db.column(self.AFTER, self._given))
        self._embeddings.keep(after)
        first, metadata = self._db.first(self.FIRST_KEPT, self._given) or (None, "")
        titles = set(self._db.column(self.TITLES, self._given))
        is_same = metadata == row["metadata"] and titles == set(map(storable, links.titles))
        again = [first] if first and not is_same else []
        self._replace(row, links, again, after)
        self._embeddings.restore()
        return len(self._new)

    def _with_names(self, row: Mapping[str, Any], names: list[str]) -> list[tuple[Any, Terms]]:
        """The new chunks with their terms. The first one of a document is also indexed by its
        metadata, and by these titles and aliases.
        """
        if self._last or not self._new:
            return self._new
        chunk, _ = self._new[0]
        written = [WRITTEN(chunk)]
        [found] = terms(self._doc_id, self._collection, row["metadata"], written, names)
        return [(chunk, found), *self._new[1:]]

    @abstractmethod
    def _replace(
        self, row: Mapping[str, Any], links: DocumentLinks, again: list[int], after: list[int]
    ) -> None:
        """Write the document's row, its links and its new chunks in place of those in `after`.
        The chunks in `again` stay, but are indexed again.
        """
