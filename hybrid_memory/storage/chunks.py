"""Read chunks and their documents for a search."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from .database import Database
from .rows import LAST_LINE, Candidate, ChunkRow, Neighbour


class Chunks(ABC):
    """What a search reads about chunks and their documents. An engine adds the statements."""

    CANDIDATES: ClassVar[str]  # chunks.id, then the fields of Candidate
    CHUNK_ROWS: ClassVar[str]  # chunks.id, then the fields of ChunkRow
    PLACES: ClassVar[str]
    AT: ClassVar[str]
    DECLARING: ClassVar[str]
    OWN_DATES: ClassVar[str]
    AROUND: ClassVar[str]  # the fields of Neighbour
    COUNT: ClassVar[str]

    def __init__(self, database: Database) -> None:
        self._db = database

    def _of(self, ids: Iterable[int], statement: str, **given: Any) -> list[tuple[Any, ...]]:
        """The rows of a statement on these chunks."""
        wanted = list(ids)
        if not wanted:
            return []
        return self._db.all(statement, {"ids": self._db.encode_list(wanted), **given})

    def candidates(self, ids: Iterable[int]) -> list[Candidate]:
        """These chunks, without those deleted meanwhile."""
        return list(map(Candidate._make, self._of(ids, self.CANDIDATES)))

    @abstractmethod
    def opening_chunks(self, ids: Iterable[int], count: int) -> dict[int, list[int]]:
        """For each of these chunks, the ids of the first `count` chunks of its document."""

    def rows(self, ids: Iterable[int]) -> dict[int, ChunkRow]:
        """Chunks with their documents, by id."""
        return {row[0]: self._row(*row[1:]) for row in self._of(ids, self.CHUNK_ROWS)}

    def _row(self, *columns: Any) -> ChunkRow:
        path, collection, date, metadata, pages = columns[7:12]
        path = self._db.decode_path(path)
        decoded = (path, collection, date, json.loads(metadata), json.loads(pages or "[]"))
        return ChunkRow._make((*columns[:7], *decoded, *columns[12:]))

    def locations(self, ids: Iterable[int]) -> dict[int, tuple[str, int, int, Sequence[int]]]:
        """Document id, first and last line of each chunk, and the first line of each page of the
        document.
        """
        return {
            id: (doc_id, start, end, json.loads(pages or "[]"))
            for id, doc_id, start, end, pages in self._of(ids, self.PLACES)
        }

    def at(self, doc_id: str, start: int = 1, end: int = LAST_LINE) -> list[int]:
        """The ids of the document's chunks that overlap these lines, in document order."""
        return list(self._db.column(self.AT, {"doc_id": doc_id, "start": start, "end": end}))

    def declaring(self, ids: Iterable[int]) -> dict[int, dict[str, Any]]:
        """The metadata of these chunks' documents, where they may declare that one document
        supersedes or replaces another.
        """
        return {id: json.loads(metadata) for id, metadata in self._of(ids, self.DECLARING)}

    def own_dates(self, doc_id: str) -> list[tuple[Any, ...]]:
        """(first line, own date or None) of each chunk of a document, in document order."""
        return self._db.all(self.OWN_DATES, {"doc_id": doc_id})

    def around(self, doc_id: str, id: int, count: int) -> list[Neighbour]:
        """A chunk, with up to `count` chunks of its document on either side."""
        rows = self._db.all(self.AROUND, {"doc_id": doc_id, "id": id, "count": count})
        return [Neighbour(*row) for row in rows]

    def count(self) -> int:
        """The number of chunks."""
        return self._db.number(self.COUNT)
