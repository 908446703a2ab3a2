"""Put a text into the store that came from no file."""

from ..documents.document import Prepared
from ..embedding.identity import MISFIT, NOT_MIXED
from ..embedding.protocol import Embedder
from ..errors import SourceError
from ..storage.protocol import Storage
from .embedding import Made, accepts, is_another_model, mark_unembeddable, new_vectors


def put_text(storage: Storage, embedder: Embedder | None, prepared: Prepared) -> list[str]:
    """Write a document with its embeddings, which are computed before the write lock is taken. Gives what went wrong.

    Raises SourceError for the id of a document that came from a file, which would no longer be searched.
    """
    made = new_vectors(storage, embedder, prepared.texts) if embedder else Made({}, [], None)
    fingerprint = embedder.fingerprint() if embedder and made.vectors else None
    if is_another_model(storage, fingerprint):
        made = Made({}, [], NOT_MIXED)
    problems = [made.problem] if made.problem else []
    doc_id = prepared.row["doc_id"]
    with storage.transaction():
        known = storage.documents.get(doc_id)
        if known and known.path:
            raise SourceError(f"{doc_id!r} is the document of {known.path}; write to that file, or give the text another id")
        fits = embedder is None or accepts(storage, embedder, made.vectors, fingerprint)
        storage.documents.put(prepared, made.vectors if fits else {})
        if embedder:
            mark_unembeddable(storage, embedder, made.without)
    return problems if fits else [*problems, MISFIT]
