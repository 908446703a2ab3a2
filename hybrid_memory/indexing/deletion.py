"""Take documents out of the store, with what is remembered of where they came from."""

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..storage.protocol import Storage
from ..storage.source import Source, StoredDocument, is_in, real_path


class Deleted(NamedTuple):
    """What was deleted. `coming_back` is a file that still exists, so that the next ingest of its folder takes it in again."""

    documents: int
    chunks: int
    coming_back: str | None = None

    @property
    def warning(self) -> str | None:
        """What the user should know, in a line."""
        if self.coming_back is None:
            return None
        return f"{self.coming_back} is still there, and the next ingest of its folder takes it in again unless you --exclude it"


def delete_document(storage: Storage, doc_id: str) -> Deleted:
    """Remove a document. Nothing happens if there is none of this id."""
    with storage.transaction():
        document = storage.documents.get(doc_id)
        path = document and document.path
        files = [one for one in storage.sources.all(path=path) if path and one.is_file and one.has(doc_id, path)]
        return _delete(storage, [document] if document else [], files)


def delete_collection(storage: Storage, collection: str) -> Deleted:
    """Remove all documents of a collection that came from files, and forget the folder that has its name."""
    with storage.transaction():
        documents = storage.documents.of_collection(collection).values()
        return _delete(storage, list(documents), storage.sources.all(collection))


def delete_path(storage: Storage, path: str) -> Deleted:
    """Remove all documents that came from this file or from below this folder, even if it no longer exists.

    Raises SourceError for an empty path.
    """
    path = real_path(path)
    with storage.transaction():
        sources = [source for source in storage.sources.all() if is_in(source.path, path)]
        return _delete(storage, storage.documents.from_path(path), sources)


def _delete(storage: Storage, documents: Sequence[StoredDocument], forgotten: Iterable[Source]) -> Deleted:
    paths = {document.path for document in documents}
    for source in forgotten:
        if source.path in paths or not source.is_file:
            storage.sources.forget(source)
    folders = [source.path for source in storage.sources.all()]
    coming_back = (path for path in paths if path and any(is_in(path, top) for top in folders) and os.path.exists(path))
    chunks = storage.documents.remove(*(document.doc_id for document in documents))
    if documents:
        storage.documents.purge()
        storage.embeddings.spare.drop_unused()
    return Deleted(len(documents), chunks, next(coming_back, None))
