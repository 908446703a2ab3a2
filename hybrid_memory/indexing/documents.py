"""Storing single documents, and deleting documents, apart from an ingest."""

import json
import os
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from shlex import quote
from typing import Any, NamedTuple

from ..documents.document import Document, date_keys_of
from ..documents.files import Wanted
from ..documents.metadata import metadata_of
from ..embedding.identity import MISFIT, NOT_MIXED
from ..embedding.interface import Embedder
from ..errors import SourceError
from ..paths import is_in
from ..storage.interface import Storage
from ..storage.prepared import Prepared
from ..storage.rows import StoredDocument
from ..storage.source import Source, real_path
from ..text.dates import document_date
from .pending import NewVectors, accepts, is_another_model, mark_unembeddable, new_vectors

# Seconds that storing a document waits for each answer of the model. Many MCP clients give up a
# call after 60 seconds, and the text is written after the embedding
EMBED_SECONDS = 45.0


class StoredText(NamedTuple):
    """A text that was stored without a file, and the metadata given with it."""

    content: str
    metadata: Mapping[str, Any]


class ConcurrentUpdateError(Exception):
    """Another process has stored the same document since it was read."""


def stored_text(storage: Storage, doc_id: str) -> StoredText | None:
    """The text with this id; None for an unknown id, or if the document has a file."""
    # A refresh that finds no change needs no parser.
    if storage.catalog.by_id(doc_id) is None:
        return None
    row = storage.catalog.document(doc_id)
    if row.path is not None or row.content is None:
        return None
    text_metadata = metadata_of(row.content).metadata
    metadata = storage.catalog.outline(doc_id)["metadata"]
    given = {key: value for key, value in metadata.items() if text_metadata.get(key) != value}
    return StoredText(row.content, given)


def revised(
    document: Document, before: StoredText | None, *, append: bool, keeps_metadata: bool
) -> Document:
    """Combine a document with the text stored before it, if any."""
    if before is None:
        return document
    if keeps_metadata:
        document = document._replace(metadata={**before.metadata, **document.metadata})
    if append and before.content.strip():
        document = document._replace(text=f"{before.content.rstrip()}\n\n{document.text}")
    return document


def put_document(
    storage: Storage,
    embedder: Embedder | None,
    prepared: Prepared,
    source: Source | None = None,
    *,
    follows: StoredText | None = None,
) -> list[str]:
    """Write a document with its embeddings, which are computed before the write lock is taken.
    Chunks without an embedding stay pending. Returns the problems.

    `source` is the document's file, which is remembered as a source; without it, the document
    replaces the text that it `follows`. Raises ConcurrentUpdateError if another text is stored by now, and
    SourceError for the id of another file's document, which could no longer be found, or for a file
    that is already in the store, with another id or as part of a folder.
    """
    new = NewVectors({}, [], None)
    fingerprint = None
    if embedder:
        new = new_vectors(storage, embedder, prepared.texts, EMBED_SECONDS)
        fingerprint = embedder.fingerprint() if new.vectors else None
    if is_another_model(storage, fingerprint):
        new = NewVectors({}, [], NOT_MIXED)
    problems = []
    if new.problem:
        problems.append(new.problem)
    with storage.transaction():
        _make_room(storage, prepared.row["doc_id"], source)
        if source is None and stored_text(storage, prepared.row["doc_id"]) != follows:
            raise ConcurrentUpdateError
        if source is None and prepared.row["date"] is None:
            day = _stored_on(storage, prepared.row)
            prepared = prepared._replace(row=prepared.row | {"date": day})
        vectors = new.vectors
        if embedder and not accepts(storage, embedder, vectors, fingerprint):
            vectors = {}
            problems.append(MISFIT)
        storage.documents.put(prepared, vectors)
        if source:
            storage.sources.remember(source)
        if embedder:
            mark_unembeddable(storage, embedder, new.not_embedded)
    return problems


def put_again(storage: Storage, prepared: Prepared, *, follows: StoredText) -> None:
    """Store a text without a file that was only parsed and cut again, with the known embeddings of
    its chunks. Its time of storing does not change.

    Raises ConcurrentUpdateError if another process has changed or removed the text meanwhile.
    """
    doc_id = prepared.row["doc_id"]
    with storage.transaction():
        if stored_text(storage, doc_id) != follows:
            raise ConcurrentUpdateError
        if prepared.row["date"] is None:
            day = _stored_before(storage, prepared)
            prepared = prepared._replace(row=prepared.row | {"date": day})
        storage.documents.put_again(prepared)


def _stored_before(storage: Storage, prepared: Prepared) -> str:
    """The day on which a text without a date in it was stored.

    This is the date that it has, unless that came from a key that no longer counts.
    """
    row = prepared.row
    known = storage.documents.several([row["doc_id"]])[row["doc_id"]]
    day = storage.catalog.document(row["doc_id"]).date
    keys = date_keys_of(known.chunking)
    day_in_text = document_date(
        row["doc_id"], json.loads(row["metadata"]), prepared.links.titles, keys
    )
    if day is None or day_in_text is not None:
        stored = datetime.fromisoformat(storage.catalog.entry(row["doc_id"])["modified"])
        day = stored.astimezone().date().isoformat()
    return day


def _stored_on(storage: Storage, row: Mapping[str, Any]) -> str:
    """The day on which this text was first stored: today, unless the store has the same text already."""
    if storage.catalog.by_id(row["doc_id"]):
        before = storage.catalog.document(row["doc_id"])
        if before.path is None and before.content == row["content"] and before.date:
            return before.date
    return date.today().isoformat()


def _make_room(storage: Storage, doc_id: str, source: Source | None) -> None:
    """Forget the file that this id's document came from. Raises SourceError if the document must
    stay.
    """
    known = storage.documents.get(doc_id)
    owner = None
    if known and known.path:
        owner = next(iter(_files_of(storage, doc_id, known.path)), None)
    if source:
        for other in storage.documents.from_path(source.path):
            if not owner or other.doc_id != doc_id:
                delete = f"`hybrid-memory delete --doc-id {quote(other.doc_id)}`"
                current = "`hybrid-memory update` keeps it current"
                raise SourceError(
                    f"{source.path} is in the memory as {other.doc_id!r}; {current}, and {delete} removes it"
                )
    if known and known.path and not (source and owner):
        raise SourceError(
            f"{doc_id!r} is the document of {known.path}; write to that file, or use another id"
        )
    if owner:
        storage.sources.forget(owner)


class Deleted(NamedTuple):
    """The numbers of deleted documents and chunks. `remaining_file` is a file that still exists, so
    the next ingest of its folder will add it again.
    """

    documents: int
    chunks: int
    remaining_file: str | None = None
    sources: int = 0  # that an ingest no longer reads

    @property
    def warning(self) -> str | None:
        """A warning for the user, in one line."""
        if self.remaining_file is None:
            return None
        return (
            f"{self.remaining_file} still exists, and the next ingest of its folder adds it again "
            "unless you --exclude it"
        )


def delete_document(storage: Storage, doc_id: str) -> Deleted:
    """Remove a document. Does nothing if no document has this id."""
    with storage.transaction():
        document = storage.documents.get(doc_id)
        if document is None:
            return Deleted(0, 0)
        files = []
        if document.path:
            files = _files_of(storage, doc_id, document.path)
        return _delete(storage, [document], files)


def _files_of(storage: Storage, doc_id: str, path: str) -> list[Source]:
    """The sources that are a single file whose document has this id and path."""
    return [
        source
        for source in storage.sources.all(path=path)
        if source.is_file and source.has(doc_id, path)
    ]


def delete_collection(storage: Storage, collection: str) -> Deleted:
    """Remove all documents of a collection that came from files, and forget its folders and files."""
    with storage.transaction():
        documents = storage.documents.of_collection(collection).values()
        return _delete(storage, list(documents), storage.sources.all(collection))


def delete_path(storage: Storage, path: str) -> Deleted:
    """Remove all documents that came from this file or folder, even if it no longer exists.

    Raises SourceError for an empty path.
    """
    path = real_path(path)
    with storage.transaction():
        sources = [source for source in storage.sources.all() if is_in(source.path, path)]
        return _delete(storage, storage.documents.from_path(path), sources)


def _delete(
    storage: Storage, documents: Sequence[StoredDocument], forgotten: Sequence[Source]
) -> Deleted:
    paths = {document.path for document in documents}
    for source in forgotten:
        storage.sources.forget(source)
    wanted = [
        (source.path, Wanted(source.path, source.patterns)) for source in storage.sources.all()
    ]
    remaining_file = (
        path
        for path in paths
        if path
        and any(is_in(path, top) and rules.matches(os.path.basename(path)) for top, rules in wanted)
        and os.path.exists(path)
    )
    chunks = storage.documents.remove(*(document.doc_id for document in documents))
    if documents:
        storage.embeddings.spare.drop_unused()
    return Deleted(len(documents), chunks, next(remaining_file, None), len(forgotten))
