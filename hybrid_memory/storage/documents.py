"""Read and write whole documents, for every engine."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from ..paths import is_in
from .database import Database
from .growing import GrowingDocument
from .prepared import DocumentExport, Prepared
from .rows import StoredDocument, Vectors


class Documents(ABC):
    """Documents with their chunks, completely or only what was added at the end. Methods that write
    need a transaction. An engine adds the statements.

    STORED, with a condition after it, returns doc_id, path, mtime, size, content hash and chunking.
    """

    OF_ID: ClassVar[str]  # as STORED
    OF_IDS: ClassVar[str]  # as STORED
    OF_COLLECTION: ClassVar[str]  # as STORED, of documents from files
    OF_FILES: ClassVar[str]  # as STORED
    IDS_IN: ClassVar[str]
    TEXTS_CUT_OTHERWISE: ClassVar[str]  # doc_id and chunking
    INDEXED_AT: ClassVar[str]
    SET_INDEXED_AT: ClassVar[str]
    TOUCH: ClassVar[str]

    def __init__(self, database: Database) -> None:
        self._db = database

    def get(self, doc_id: str) -> StoredDocument | None:
        """The document with this id, or None."""
        row = self._db.first(self.OF_ID, {"doc_id": doc_id})
        return self._stored(*row) if row else None

    def several(self, doc_ids: Sequence[str]) -> dict[str, StoredDocument]:
        """The documents with these ids, by id; missing ones are left out."""
        return self._by_id(self.OF_IDS, {"doc_ids": self._db.encode_list(doc_ids)})

    def of_collection(self, collection: str) -> dict[str, StoredDocument]:
        """The documents of a collection that came from files, by id."""
        return self._by_id(self.OF_COLLECTION, {"collection": collection})

    def ids_in(self, collection: str) -> Iterable[str]:
        """The ids of the documents of a collection that came from files."""
        return self._db.column(self.IDS_IN, {"collection": collection})

    def from_path(self, path: str) -> list[StoredDocument]:
        """The documents that came from this file, or from files below this folder."""
        documents = self._by_id(self.OF_FILES, {}).values()
        return [document for document in documents if document.path and is_in(document.path, path)]

    def _by_id(self, statement: str, parameters: Any) -> dict[str, StoredDocument]:
        return {row[0]: self._stored(*row) for row in self._db.all(statement, parameters)}

    def _stored(self, doc_id: str, path: Any, *state: Any) -> StoredDocument:
        """The document with these columns."""
        return StoredDocument(doc_id, self._db.decode_path(path), *state)

    @abstractmethod
    def whole(self, doc_id: str) -> DocumentExport | None:
        """The complete document with this id, or None."""

    def texts_cut_otherwise(self, chunking: str) -> dict[str, str]:
        """The texts without a file that were read and split otherwise: the chunking of each, by id."""
        return dict(self._db.all(self.TEXTS_CUT_OTHERWISE, {"chunking": chunking}))

    def put(self, prepared: Prepared, new_vectors: Vectors | None = None) -> None:
        """Write a document with its chunks, replacing any with the same id. Unchanged texts keep
        their embeddings; the embeddings of removed texts become spare.
        """
        self.put_all([prepared], new_vectors)

    def put_again(self, prepared: Prepared) -> None:
        """`put` a document that is only read and split again, without changing the time at which it
        was stored.
        """
        given = {"doc_id": prepared.row["doc_id"]}
        [(indexed_at,)] = self._db.all(self.INDEXED_AT, given)
        self.put(prepared)
        self._db.run(self.SET_INDEXED_AT, given | {"indexed_at": indexed_at})

    @abstractmethod
    def put_all(self, documents: Iterable[Prepared], new_vectors: Vectors | None = None) -> None:
        """`put` several documents in one transaction, in order, which is faster than separate
        calls.
        """

    @abstractmethod
    def remove(self, *doc_ids: str, keep: bool = False) -> int:
        """Delete documents. Returns the number of their chunks. With `keep`, their embeddings
        become spare.
        """

    def touch(self, doc_id: str, mtime: float, size: int) -> None:
        """Store the new time of a file whose content has not changed."""
        self._db.run(self.TOUCH, {"doc_id": doc_id, "mtime": mtime, "size": size})

    @abstractmethod
    def growing(self, doc_id: str, collection: str | None) -> GrowingDocument:
        """A writer for a document of this collection whose file grows."""
