"""Where documents link to, what links to them, and which links are broken."""

from typing import TYPE_CHECKING, Any

from ..errors import NotFoundError
from ..text.citation import citation
from .target import find

if TYPE_CHECKING:
    from ..storage.filters import Filters
    from ..storage.marks import LinkRow
    from ..store import HybridStore


def links(store: "HybridStore", target: str) -> dict[str, Any]:
    """The links in a document, in its order, and those that lead to it; a target as `get` takes it, without its lines.

    Each link has its `target` as it is written, its `kind` ("wikilink", "embed", "markdown"), and the `line` and `citation` where
    it stands. In `links`, `doc_id` is the document that it leads to, or None, and `broken` says that there should be one; in
    `linked_from` it is the document that it stands in. Raises as views/target.py does.
    """
    with store.storage.snapshot():
        return _links(store, find(store.storage, target)[0])


def links_of_document(store: "HybridStore", doc_id: str) -> dict[str, Any]:
    """`links` of the document with exactly this id. Raises NotFoundError if there is none."""
    with store.storage.snapshot():
        if store.storage.catalog.by_id(doc_id) is None:
            raise NotFoundError(f"no document {doc_id!r} in this memory")
        return _links(store, doc_id)


def broken(store: "HybridStore") -> dict[str, Any]:
    """All broken links, each with the document that it stands in; `total` is their number."""
    with store.storage.snapshot():
        found = [_place(link) for link in store.storage.marks.broken()]
    return {"total": len(found), "broken": found}


def with_document(store: "HybridStore", filters: "Filters | None") -> "Filters | None":
    """The filters with the id of the document in place of what the user wrote for it in `linked_to`."""
    if filters is None or filters.linked_to is None:
        return filters
    with store.storage.snapshot():
        return filters._replace(linked_to=find(store.storage, filters.linked_to)[0])


def _links(store: "HybridStore", doc_id: str) -> dict[str, Any]:
    marks = store.storage.marks
    return {
        "doc_id": doc_id,
        "links": [{**_place(link), "doc_id": link.doc_id, "broken": link.broken} for link in marks.links_of(doc_id)],
        "linked_from": [_place(link) for link in marks.links_to(doc_id)],
    }


def _place(link: "LinkRow") -> dict[str, Any]:
    of_source = {"doc_id": link.source, "line": link.line, "citation": citation(link.source, link.line, link.line)}
    return {"target": link.target, "kind": link.kind} | of_source
