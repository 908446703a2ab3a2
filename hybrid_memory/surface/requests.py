"""Everything that a user can ask for, as functions from a typed request to a dict. The command line and MCP call them.

If something can go wrong without stopping the work, the answer has `warnings`, a list of lines.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..store import HybridStore

if TYPE_CHECKING:
    from ..indexing.deletion import Deleted
    from ..search.hit import Request
    from ..storage.filters import Filters

EMBED_SECONDS = 2.0  # a search that first refreshes the store spends at most this long on embeddings

Answer = dict[str, Any]


def search(store: HybridStore, query: str, request: "Request", *, refresh: bool = False) -> Answer:
    """`results`, best first; `timings` in seconds; `nearest_miss` as in search/hit.py.

    With `refresh`, changes in the ingested folders are read first. Raises what HybridStore.search raises.
    """
    warnings: list[str] = []
    if refresh:
        from ..sync.refresh import problems
        from ..sync.refresh import refresh as take_in

        report = take_in(store, embed_seconds=0.0 if request.mode == "keyword" else EMBED_SECONDS)
        warnings = problems(report) + report.embedding_problems
    answer = store.answer(query, request)
    return vars(answer) | {"warnings": list(dict.fromkeys(warnings + answer.warnings))}


def get(store: HybridStore, target: str, *, max_lines: int = 200, max_chars: int = 20_000) -> Answer:
    """A document, or some of its lines; see views/get.py."""
    from ..views.get import read

    return read(store, target, max_lines=max_lines, max_chars=max_chars)


def list_documents(store: HybridStore, *, filters: "Filters | None" = None, limit: int = 100) -> Answer:
    """The documents that pass the filters; see views/listing.py."""
    from ..views.listing import documents

    return documents(store, filters=filters, limit=limit)


def store_text(store: HybridStore, doc_id: str, text: str, metadata: Mapping[str, Any] | None = None) -> Answer:
    """Put a text into the store. `chunks` is the number of passages that can now be found."""
    chunks = store.store(doc_id, text, metadata)
    return {"doc_id": doc_id, "chunks": chunks, "warnings": store.warnings}


def delete_document(store: HybridStore, doc_id: str) -> Answer:
    """Remove a document. `chunks_deleted` is 0 if there was no such document."""
    from ..indexing import deletion
    from ..text.characters import storable

    deleted = deletion.delete_document(store.storage, storable(doc_id))
    missing = None if deleted.documents else f"there is no document {doc_id!r}; nothing was deleted"
    return {"doc_id": doc_id, "chunks_deleted": deleted.chunks, "warnings": _told(deleted.warning, missing)}


def delete_collection(store: HybridStore, collection: str) -> Answer:
    """Remove all documents of a collection. Gives `documents_deleted` and `chunks_deleted`."""
    from ..indexing import deletion

    known = {source.collection for source in store.storage.sources.all() if source.collection}
    return _deleted("collection", collection, deletion.delete_collection(store.storage, collection), sorted(known))


def delete_path(store: HybridStore, path: str) -> Answer:
    """Remove all documents of a path. Gives `documents_deleted` and `chunks_deleted`. Raises SourceError for an empty path."""
    from ..indexing import deletion
    from ..storage.source import real_path

    known = [source.path for source in store.storage.sources.all()]
    return _deleted("path", real_path(path), deletion.delete_path(store.storage, path), known)


def status(store: HybridStore) -> Answer:
    """The answer of the command `stats`."""
    return store.stats()


def _deleted(key: str, name: str, deleted: "Deleted", known: list[str]) -> Answer:
    nothing = f"nothing was deleted, because there is no {key} {name!r}; known: {', '.join(known) or 'none'}"
    warnings = _told(deleted.warning, None if deleted.documents else nothing)
    return {key: name, "documents_deleted": deleted.documents, "chunks_deleted": deleted.chunks, "warnings": warnings}


def _told(*warnings: str | None) -> list[str]:
    return [warning for warning in warnings if warning]
