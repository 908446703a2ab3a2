"""Lists of the documents, links and tags in a store."""

from typing import TYPE_CHECKING, Any

from ..storage.filter_values import resolved, unmet
from ..storage.targets import find
from ..store import retry_once
from ..text.characters import citation

if TYPE_CHECKING:
    from ..storage.filters import Filters
    from ..storage.rows import LinkRow
    from ..store import HybridStore
LATEST = 500  # documents to choose the newest from


@retry_once
def links(store: "HybridStore", target: str) -> dict[str, Any]:
    """List the links in a document, in order, and the links to it. The target is as in `read`,
    without lines.

    Each link has its `target` as written, its `kind` ("wikilink", "embed", "markdown"), its `line`
    and its `citation`. In `links`, `doc_id` is the linked document, or None, and `broken` tells
    whether one is missing; in `linked_from`, `doc_id` is the document with the link. Raises as
    `read` does.
    """
    with store.storage.snapshot():
        doc_id, _ = find(store.storage, target)
        links = store.storage.links
        return {
            "doc_id": doc_id,
            "links": [
                {**_link_entry(link), "doc_id": link.doc_id, "broken": link.broken}
                for link in links.links_of(doc_id)
            ],
            "linked_from": [_link_entry(link) for link in links.links_to(doc_id)],
        }


@retry_once
def broken(store: "HybridStore") -> dict[str, Any]:
    """All broken links, each with the document that contains it; `total` is their number."""
    with store.storage.snapshot():
        places = [_link_entry(link) for link in store.storage.links.broken()]
    return {"total": len(places), "broken": places}


@retry_once
def tags(store: "HybridStore", limit: int | None = None) -> dict[str, Any]:
    """`tags`, most frequent first, at most `limit`, each with the number of `documents` that a
    filter on it selects; `total` is the number of all tags.
    """
    with store.storage.snapshot():
        counts = store.storage.links.tags()
    return {
        "total": len(counts),
        "tags": [{"tag": tag, "documents": count} for tag, count in counts[:limit]],
    }


def _link_entry(link: "LinkRow") -> dict[str, Any]:
    return {
        "target": link.target,
        "kind": link.kind,
        "doc_id": link.source,
        "line": link.line,
        "citation": citation(link.source, link.line, link.line),
    }


@retry_once
def documents(
    store: "HybridStore",
    *,
    filters: "Filters | None" = None,
    limit: int = 100,
    by_change: bool = False,
) -> dict[str, Any]:
    """The first `limit` documents that match the filters; `total` is the number of all that match.

    Newest date first, or, `by_change`, last `modified` first: the time of the file, or of storing a
    text without a file. `size` is in bytes. `pending` counts the chunks without an embedding. If a
    filter matches nothing, `warnings` names it. Raises ValueError for an invalid date in the
    filters.
    """
    if limit < 1:
        raise ValueError(f"limit is {limit}; it must be at least 1")
    with store.storage.snapshot():
        filters = filters and resolved(store.storage, filters)
        total, rows = store.storage.catalog.listing(filters, limit, by_change=by_change)
        problem = None
        if filters and not total:
            problem = unmet(store.storage, filters)
    if problem:
        return {"total": total, "documents": rows, "warnings": [problem]}
    return {"total": total, "documents": rows}


def newest(
    store: "HybridStore", filters: "Filters | None" = None, limit: int = 10
) -> list[dict[str, Any]]:
    """The newest documents: by the day of the last change, then by date, then by time.

    All files of a copied vault changed on the same day, so their dates decide.
    """
    latest: list[dict[str, Any]] = documents(store, filters=filters, limit=LATEST, by_change=True)[
        "documents"
    ]
    latest.sort(key=_newness, reverse=True)
    return latest[:limit]


def _newness(document: dict[str, Any]) -> tuple[str, str, str]:
    return document["modified"][:10], document["date"] or "", document["modified"]
