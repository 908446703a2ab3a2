"""What a user can ask for: functions from a typed request to a dict. The command line and MCP call these.

Every answer that can have them holds `warnings`, a list of lines: what went wrong without stopping the work.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..store import HybridStore

if TYPE_CHECKING:
    from ..indexing.deletion import Deleted
    from ..search.hit import Request
    from ..storage.filters import Filters

EMBED_SECONDS = 2.0  # of a search that refreshes the store first

Answer = dict[str, Any]


def search(store: HybridStore, query: str, request: "Request", *, refresh: bool = False) -> Answer:
    """`results`, best first; `timings` in seconds; `nearest_miss` as in search/hit.py. Raises as HybridStore.search does.

    With `refresh`, what changed in the ingested folders is taken in first.
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
    """A document or lines of it; see views/get.py."""
    from ..views.get import read

    return read(store, target, max_lines=max_lines, max_chars=max_chars)


def list_documents(store: HybridStore, *, filters: "Filters | None" = None, limit: int = 100) -> Answer:
    """The documents that fulfil the filters; see views/listing.py."""
    from ..views.listing import documents

    return documents(store, filters=filters, limit=limit)


def store_text(store: HybridStore, doc_id: str, text: str, metadata: Mapping[str, Any] | None = None) -> Answer:
    """`chunks` is the number of passages that can now be found."""
    chunks = store.store(doc_id, text, metadata)
    return {"doc_id": doc_id, "chunks": chunks, "warnings": store.warnings}


def delete_document(store: HybridStore, doc_id: str) -> Answer:
    """`chunks_deleted`: 0 if there was no such document."""
    from ..indexing import deletion
    from ..text.characters import storable

    deleted = deletion.delete_document(store.storage, storable(doc_id))
    missing = None if deleted.documents else f"there is no document {doc_id!r}; nothing was deleted"
    return {"doc_id": doc_id, "chunks_deleted": deleted.chunks, "warnings": _told(deleted.warning, missing)}


def delete_collection(store: HybridStore, collection: str) -> Answer:
    """`documents_deleted` and `chunks_deleted`."""
    from ..indexing import deletion

    known = {source.collection for source in store.storage.sources.all() if source.collection}
    return _deleted("collection", collection, deletion.delete_collection(store.storage, collection), sorted(known))


def delete_path(store: HybridStore, path: str) -> Answer:
    """`documents_deleted` and `chunks_deleted`. Raises SourceError for an empty path."""
    from ..indexing import deletion
    from ..storage.source import real_path

    known = [source.path for source in store.storage.sources.all()]
    return _deleted("path", real_path(path), deletion.delete_path(store.storage, path), known)


def status(store: HybridStore) -> Answer:
    """What `stats` prints."""
    return store.stats()


def _deleted(key: str, name: str, deleted: "Deleted", known: list[str]) -> Answer:
    there = ", ".join(known) or "none at all"
    nothing = f"there is nothing of {key} {name!r}, so nothing was deleted; there is {there}"
    warnings = _told(deleted.warning, None if deleted.documents else nothing)
    return {key: name, "documents_deleted": deleted.documents, "chunks_deleted": deleted.chunks, "warnings": warnings}


def _told(*warnings: str | None) -> list[str]:
    return [warning for warning in warnings if warning]
