"""Everything that a user can ask for, as functions from a typed request to a dict. The command line and MCP call them.

If something can go wrong without stopping the work, the answer has `warnings`, a list of lines.
"""

import os
from collections.abc import Callable, Mapping

from ..store import HybridStore, tried_again
from ..typed.names import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..config import Settings
    from ..indexing.deletion import Deleted
    from ..progress import Progress
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
    if request.filters and request.filters.linked_to:
        from ..views.links import with_document

        request.filters = with_document(store, request.filters)
    answer = store.answer(query, request)
    return vars(answer) | {"warnings": list(dict.fromkeys(warnings + answer.warnings))}


@tried_again
def get(store: HybridStore, target: str, *, max_lines: int = 200, max_chars: int = 20_000) -> Answer:
    """A document, or some of its lines; see views/get.py."""
    from ..views.get import read

    return read(store, target, max_lines=max_lines, max_chars=max_chars)


@tried_again
def document(store: HybridStore, doc_id: str, lines: str | None, *, max_lines: int, max_chars: int) -> Answer:
    """The document with exactly this id, with its metadata and passages; see `outlined` in views/get.py."""
    from ..views.get import outlined

    return outlined(store, doc_id, lines, max_lines=max_lines, max_chars=max_chars)


@tried_again
def similar(store: HybridStore, doc_id: str, lines: str | None, *, limit: int) -> Answer:
    """Passages of other documents that are like one of this document; see views/similar.py."""
    from ..views.similar import passages

    return passages(store, doc_id, lines, limit=limit)


@tried_again
def why(store: HybridStore, note: str, query: str | None = None) -> Answer:
    """Whether a note is in the store, and what keeps it out; see views/why.py. With a query, also `search`; see views/rank.py."""
    from ..views.why import explain

    answer = explain(store, note)
    if query is None or not answer["in_memory"]:
        return answer
    from ..views.rank import rank

    return answer | {"search": rank(store, answer["doc_id"], query)}


@tried_again
def list_documents(store: HybridStore, *, filters: "Filters | None" = None, limit: int = 100) -> Answer:
    """The documents that pass the filters; see views/listing.py."""
    from ..views.links import with_document
    from ..views.listing import documents

    return documents(store, filters=with_document(store, filters), limit=limit)


@tried_again
def links(store: HybridStore, target: str) -> Answer:
    """Where a document links to, and what links to it; see views/links.py."""
    from ..views.links import links

    return links(store, target)


@tried_again
def links_of_document(store: HybridStore, doc_id: str) -> Answer:
    """The same for the document with exactly this id."""
    from ..views.links import links_of_document

    return links_of_document(store, doc_id)


@tried_again
def broken_links(store: HybridStore) -> Answer:
    """The links of all documents that lead nowhere; see views/links.py."""
    from ..views.links import broken

    return broken(store)


@tried_again
def tags(store: HybridStore) -> Answer:
    """`tags`, each with how many `documents` a filter on it leaves, the most frequent first; `total` is their number."""
    with store.storage.snapshot():
        found = [{"tag": tag, "documents": count} for tag, count in store.storage.marks.tags()]
    return {"total": len(found), "tags": found}


def store_text(store: HybridStore, doc_id: str, text: str, metadata: Mapping[str, Any] | None = None) -> Answer:
    """Put a text into the store. `chunks` is the number of passages that can now be found."""
    chunks = store.store(doc_id, text, metadata)
    return {"doc_id": doc_id, "chunks": chunks, "warnings": store.warnings}


def store_file(store: HybridStore, doc_id: str, path: str, metadata: Mapping[str, str]) -> Answer:
    """Put a file into the store, which from then on follows its changes. The answer is that of `store_text`."""
    from ..sync.stored import store_file as put

    chunks, warnings = put(store, doc_id, path, metadata)
    return {"doc_id": doc_id, "chunks": chunks, "warnings": warnings}


def delete_document(store: HybridStore, doc_id: str) -> Answer:
    """Remove a document. `chunks_deleted` is 0 if there was no such document."""
    from ..indexing import deletion
    from ..text.characters import storable

    deleted = deletion.delete_document(store.storage, storable(doc_id))
    missing = None if deleted.documents else f"there is no document {doc_id!r}; nothing was deleted"
    return {"doc_id": doc_id, "chunks_deleted": deleted.chunks, "warnings": _told(deleted.warning, missing)}


def delete_text(store: HybridStore, doc_id: str) -> Answer:
    """Remove a stored text. Raises QueryError if there is no such document, SourceError for one that came from a file."""
    from ..errors import QueryError, SourceError
    from ..text.characters import storable

    document = store.storage.documents.get(storable(doc_id))
    if document is None:
        raise QueryError(f"there is no document {doc_id!r}; `hybrid-memory list` names all documents")
    if document.path:
        raise SourceError(f"{doc_id!r} is the document of {document.path}, not a stored text; it goes when its file is deleted")
    return delete_document(store, doc_id)


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


def reindex(store: HybridStore, *, embeddings: bool, progress: "Callable[[Progress], None]") -> Answer:
    """Build the indexes anew; with `embeddings`, these too, and then `status` says whether all of them were made.

    Raises ConfigError if there is no model to make them.
    """
    from ..errors import ConfigError
    from ..progress import counted

    answer: Answer = {"status": "ok", "warnings": []}
    if embeddings:
        if store.embedder is None:
            raise ConfigError("there is no model that could embed; name one with --provider")
        try:
            embedded = store.embed(lambda total: counted("embeddings", total, progress), anew=True)
        except KeyboardInterrupt as error:
            raise KeyboardInterrupt("interrupted; the old embeddings answer, and `hybrid-memory update` goes on") from error
        pending = store.storage.embeddings.count_pending()
        status = "ok" if embedded.fits and not pending else "incomplete"
        answer = {"status": status, "embedded": embedded.chunks, "pending": pending, "warnings": embedded.problems}
    return answer | {"chunks": store.reindex()}


def rescue(settings: "Settings", out: str, on_wait: Callable[[str], None], progress: "Callable[[Progress], None]") -> Answer:
    """Write what can be read of the damaged store that the settings name to a new file; see sync/rescue.py."""
    from shlex import quote

    from ..config_file import is_server, without_password
    from ..errors import StoreError
    from ..sync.rescue import rescue

    if is_server(settings["db_path"]):
        raise StoreError(
            "rescue reads damaged SQLite files; of a server, restore a backup (pg_restore), or copy what it still gives: "
            f"`hybrid-memory copy {quote(without_password(settings['db_path']))} {quote(out)}`"
        )
    path = os.path.abspath(settings["db_path"])
    answer, warnings = rescue(path, out, settings, on_wait=on_wait, progress=progress)
    remove = f"rm -f {quote(path + '-wal')} {quote(path + '-shm')}"
    return answer | {"warnings": [*warnings, f"to put it in place: `{remove} && mv {quote(answer['path'])} {quote(path)}`"]}


def copy(settings: "Settings", source: str, target: str, progress: "Callable[[Progress], None]") -> Answer:
    """Copy a store into another one; see sync/copy.py. A space in the settings is that of a server, not of a file."""
    from ..config import DEFAULTS
    from ..config_file import is_server
    from ..sync.copy import copy

    def opened(path: str, *, create: bool) -> HybridStore:
        space = settings["space"] if is_server(path) else DEFAULTS["space"]
        return HybridStore(path, {"space": space, "provider": "none"}, create=create)

    with (
        opened(source, create=False) as first,
        opened(target, create=True) as second,
        first.storage.guarded(),
        second.storage.guarded("cannot write"),
    ):
        return {"from": first.path, "to": second.path, **copy(first, second, progress)}


def status(store: HybridStore) -> Answer:
    """The answer of the command `stats`."""
    return store.stats()


@tried_again
def overview(store: HybridStore) -> Answer:
    """`status`, and how many documents each collection, month and tag has."""
    with store.storage.snapshot():
        return {"status": status(store)} | store.storage.catalog.facets()


def _deleted(key: str, name: str, deleted: "Deleted", known: list[str]) -> Answer:
    nothing = f"nothing was deleted, because there is no {key} {name!r}; known: {', '.join(known) or 'none'}"
    warnings = _told(deleted.warning, None if deleted.documents else nothing)
    return {key: name, "documents_deleted": deleted.documents, "chunks_deleted": deleted.chunks, "warnings": warnings}


def _told(*warnings: str | None) -> list[str]:
    return [warning for warning in warnings if warning]
