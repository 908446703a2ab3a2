"""Lists of what a store holds: documents, links between them, broken links, tags; and why a search
found nothing.
"""

from typing import TYPE_CHECKING, Any

from ..errors import NotFoundError
from ..search.hit import Request
from ..storage.target import find, resolved
from ..store import HybridStore, tried_again
from ..text.lines import citation

if TYPE_CHECKING:
    from ..storage.filters import Filters
    from ..storage.protocol import LinkRow


@tried_again
def links(store: HybridStore, target: str) -> dict[str, Any]:
    """The links in a document, in its order, and those that lead to it; a target as `get` takes it,
    without its lines.

    Each link has its `target` as it is written, its `kind` ("wikilink", "embed", "markdown"), and
    the `line` and `citation` where it stands. In `links`, `doc_id` is the document that it leads
    to, or None, and `broken` says that there should be one; in `linked_from` it is the document
    that it stands in. Raises as views/get.py does.
    """
    with store.storage.snapshot():
        return _links(store, find(store.storage, target)[0])


@tried_again
def links_of_document(store: HybridStore, doc_id: str) -> dict[str, Any]:
    """`links` of the document with exactly this id. Raises NotFoundError if there is none."""
    with store.storage.snapshot():
        if store.storage.catalog.by_id(doc_id) is None:
            raise NotFoundError(f"no document {doc_id!r} in this memory")
        return _links(store, doc_id)


@tried_again
def broken(store: HybridStore) -> dict[str, Any]:
    """All broken links, each with the document that it stands in; `total` is their number."""
    with store.storage.snapshot():
        found = [_place(link) for link in store.storage.links.broken()]
    return {"total": len(found), "broken": found}


@tried_again
def tags(store: HybridStore) -> dict[str, Any]:
    """`tags`, each with how many `documents` a filter on it leaves, the most frequent first;
    `total` is their number.
    """
    with store.storage.snapshot():
        counts = store.storage.links.tags()
    return {
        "total": len(counts),
        "tags": [{"tag": tag, "documents": count} for tag, count in counts],
    }


def _links(store: HybridStore, doc_id: str) -> dict[str, Any]:
    links = store.storage.links
    return {
        "doc_id": doc_id,
        "links": [
            {**_place(link), "doc_id": link.doc_id, "broken": link.broken}
            for link in links.links_of(doc_id)
        ],
        "linked_from": [_place(link) for link in links.links_to(doc_id)],
    }


def _place(link: "LinkRow") -> dict[str, Any]:
    of_source = {
        "doc_id": link.source,
        "line": link.line,
        "citation": citation(link.source, link.line, link.line),
    }
    return {"target": link.target, "kind": link.kind} | of_source


@tried_again
def documents(
    store: HybridStore,
    *,
    filters: "Filters | None" = None,
    limit: int = 100,
    by_change: bool = False,
) -> dict[str, Any]:
    """The first `limit` documents that pass the filters, and in `total` the number of all that pass
    them.

    Those with the newest date stand first, or, `by_change`, those that were `modified` last: the
    time of the file, or at which a text without a file was stored. `size` is in bytes. `pending` counts the chunks that have no embedding yet. Raises ValueError
    for a bad date in the filters.
    """
    if limit < 1:
        raise ValueError(f"limit is {limit}; it must be at least 1")
    with store.storage.snapshot():
        total, found = store.storage.catalog.listing(
            resolved(store.storage, filters), limit, by_change=by_change
        )
    return {"total": total, "documents": found}


def why_nothing(store: HybridStore, request: Request, *, refreshed: bool) -> str:
    """Return the most likely reason, and what to try next."""
    if not store.stats()["doc_count"]:
        return "the memory is empty; `hybrid-memory ingest --path DIR` fills it"
    if request.min_score:
        return f"nothing found with a score of {request.min_score:g} or more; a lower --min-score shows more"
    if request.filters:
        return "nothing found under these filters; `hybrid-memory search` without them looks everywhere"
    if refreshed:
        return "nothing found; try other words, or fewer"
    return "nothing found; try other words, or fewer; `--refresh` reads what was written lately"
