"""Read documents: single ones, lists and counts."""

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from .database import Database
from .matching import keys_of
from .rows import DocumentRow, SourceFile

if TYPE_CHECKING:
    from .filters import Filters

MOST_TAGS = 200
NEWEST = 10


class Catalog(ABC):
    """Documents, one by one, as lists and as counts. An engine adds the statements."""

    BY_ID: ClassVar[str]
    BY_PATH: ClassVar[str]
    BY_TAIL: ClassVar[str]
    ALL_IDS: ClassVar[str]
    # Path, content hash, content, collection, date, pages, and the host if it is another one
    DOCUMENT: ClassVar[str]
    LIST: ClassVar[str]  # fields: condition, order, limit
    BY_DATE: ClassVar[str]
    BY_INDEXING: ClassVar[str]
    BY_CHANGE: ClassVar[str]
    TOTAL: ClassVar[str]  # field: condition
    ANY: ClassVar[str]  # field: condition
    NAMES: ClassVar[str]
    SOURCE_FILES: ClassVar[str]
    COUNTS: ClassVar[str]
    SIZE: ClassVar[str]  # bytes of the store
    WITH_METADATA: ClassVar[str]
    METADATA: ClassVar[str]
    PASSAGES: ClassVar[str]
    COLLECTIONS: ClassVar[str]
    MONTHS: ClassVar[str]
    UNDATED: ClassVar[str]

    def __init__(self, database: Database) -> None:
        self._db = database

    def by_id(self, doc_id: str) -> str | None:
        """The id, if a document has it."""
        return self._id(self.BY_ID, doc_id=doc_id)

    def by_path(self, path: str) -> str | None:
        """The id of the document whose file has this path."""
        return self._id(self.BY_PATH, path=self._db.encode_path(path))

    def _id(self, statement: str, **parameters: Any) -> str | None:
        return next(iter(self._db.column(statement, parameters)), None)

    def by_tail(self, tail: str) -> list[str]:
        """The document ids that end with this text."""
        return list(self._db.column(self.BY_TAIL, {"tail": tail}))

    def ids(self) -> list[str]:
        """The ids of all documents."""
        return list(self._db.column(self.ALL_IDS))

    def document(self, doc_id: str) -> DocumentRow:
        """An existing document."""
        [row] = self._db.all(self.DOCUMENT, {"doc_id": doc_id})
        path, content_hash, content, collection, date, pages, host = row
        return DocumentRow(
            self._db.decode_path(path),
            content_hash,
            content,
            collection,
            date,
            json.loads(pages or "[]"),
            host,
        )

    def outline(self, doc_id: str) -> dict[str, Any]:
        """`metadata`, `is_file` and `passages` (place and headings of each chunk) of an existing
        document.
        """
        [(metadata, is_file)] = self._db.all(self.METADATA, {"doc_id": doc_id})
        return {
            "metadata": json.loads(metadata),
            "is_file": bool(is_file),
            "passages": self._db.dicts(self.PASSAGES, {"doc_id": doc_id}),
        }

    def metadata_keys(self) -> list[tuple[str, int]]:
        """Each metadata key with the number of documents that have it, the most frequent first."""
        return keys_of(self._db.column(self.WITH_METADATA))

    def facets(self) -> dict[str, Any]:
        """The number of documents by collection, by month and by tag, and the documents indexed
        last.
        """
        return {
            "collections": self._db.dicts(self.COLLECTIONS),
            "months": self._db.dicts(self.MONTHS),
            "undated": self._db.number(self.UNDATED),
            "tags": [{"tag": tag, "documents": count} for tag, count in self._tags()[:MOST_TAGS]],
            "newest": self._listed(self._condition(None), self.BY_INDEXING, NEWEST),
        }

    def entry(self, doc_id: str) -> dict[str, Any]:
        """The entry of an existing document in a `listing`."""
        [entry] = self._listed(self._is(doc_id), self.BY_DATE, 1)
        return entry

    def listing(
        self, filters: "Filters | None", limit: int, *, by_change: bool = False
    ) -> tuple[int, list[dict[str, Any]]]:
        """The number of documents that match the filters, and the first of them: those with the
        newest dates, or with `by_change` those changed last. Raises ValueError for a bad date.
        """
        condition = self._condition(filters)
        order = self.BY_CHANGE if by_change else self.BY_DATE
        found = self._listed(condition, order, limit)
        sql, parameters = condition
        return self._db.number(self.TOTAL.format(condition=sql), parameters), found

    def has_any(self, filters: "Filters") -> bool:
        """Whether any document matches the filters. Raises ValueError for a bad date."""
        sql, parameters = self._condition(filters)
        return bool(self._db.number(self.ANY.format(condition=sql), parameters))

    def _listed(self, condition: tuple[str, Any], order: str, limit: int) -> list[dict[str, Any]]:
        sql, parameters = condition
        found = self._db.dicts(
            self.LIST.format(condition=sql, order=order, limit=limit), parameters
        )
        return [entry | {"path": self._db.decode_path(entry["path"])} for entry in found]

    def names(self) -> list[tuple[str, str | None, bool]]:
        """For every document: id, collection, and whether it came from a file."""
        rows = self._db.all(self.NAMES)
        return [(doc_id, collection, bool(is_file)) for doc_id, collection, is_file in rows]

    def source_files(self) -> list[SourceFile]:
        """The files of all documents that came from one."""
        decode = self._db.decode_path
        return [
            SourceFile._make((doc_id, str(decode(path)), *others))
            for doc_id, path, *others in self._db.all(self.SOURCE_FILES)
        ]

    def counts(self) -> dict[str, int]:
        """The counts that `stats` prints, and the size of the store in bytes."""
        [counts] = self._db.dicts(self.COUNTS)
        return counts | {"db_size_bytes": self._db.number(self.SIZE)}

    @abstractmethod
    def _condition(self, filters: "Filters | None") -> tuple[str, Any]:
        """The SQL for filters on a row `d` of documents, and its parameters."""

    @abstractmethod
    def _is(self, doc_id: str) -> tuple[str, Any]:
        """The condition that a row `d` has this id, and its parameters."""

    @abstractmethod
    def _tags(self) -> list[tuple[str, int]]:
        """Each tag with its number of documents, the most frequent first."""
