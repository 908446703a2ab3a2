"""Put one document into the store with its embeddings: a text that came from no file, or a file that the user named."""

from shlex import quote

from ..documents.document import Prepared
from ..embedding.identity import MISFIT, NOT_MIXED
from ..embedding.protocol import Embedder
from ..errors import SourceError
from ..storage.protocol import Storage
from ..storage.source import Source
from .embedding import Made, accepts, is_another_model, mark_unembeddable, new_vectors


def put_document(storage: Storage, embedder: Embedder | None, prepared: Prepared, source: Source | None = None) -> list[str]:
    """Write a document with its embeddings, which are computed before the write lock is taken. Gives what went wrong.

    `source` is the file that it came from, which is remembered. Raises SourceError for the id of another file's document,
    which would no longer be searched, and for a file that is in the store already, with another id or as part of a folder.
    """
    made = new_vectors(storage, embedder, prepared.texts) if embedder else Made({}, [], None)
    fingerprint = embedder.fingerprint() if embedder and made.vectors else None
    if is_another_model(storage, fingerprint):
        made = Made({}, [], NOT_MIXED)
    problems = [made.problem] if made.problem else []
    with storage.transaction():
        _make_room(storage, prepared.row["doc_id"], source)
        fits = embedder is None or accepts(storage, embedder, made.vectors, fingerprint)
        storage.documents.put(prepared, made.vectors if fits else {})
        if source:
            storage.sources.remember(source)
        if embedder:
            mark_unembeddable(storage, embedder, made.without)
    return problems if fits else [*problems, MISFIT]


def _make_room(storage: Storage, doc_id: str, source: Source | None) -> None:
    """Forget the file that the document of this id came from until now. Raises SourceError if the document must stay."""
    known = storage.documents.get(doc_id)
    owner = None
    if known and known.path:
        owner = next((one for one in storage.sources.all(path=known.path) if one.is_file and one.has(doc_id, known.path)), None)
    if source:
        for other in storage.documents.from_path(source.path):
            if not owner or other.doc_id != doc_id:
                delete = f"`hybrid-memory delete --doc-id {quote(other.doc_id)}`"
                current = "`hybrid-memory update` keeps it current"
                raise SourceError(f"{source.path} is in the memory as {other.doc_id!r}; {current}, and {delete} frees it")
    if known and known.path and not (source and owner):
        raise SourceError(f"{doc_id!r} is the document of {known.path}; write to that file, or give the text another id")
    if owner:
        storage.sources.forget(owner)
