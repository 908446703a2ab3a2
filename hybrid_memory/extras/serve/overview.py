"""What the page shows without a query: the numbers, and what to review in the memory: broken links,
copies, and documents that no longer hold.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from ...browse.lists import broken, newest
from ...search.revisions import SUPERSEDED_BY, SUPERSEDES, is_named, named_documents
from ...storage.interface import Storage
from ...store import HybridStore, retry_once
from ...text.characters import citation, digest
from .bounds import MOST, Bounds, counts_of, facets_of

NEWEST = 10  # documents
MOST_LISTED = 200  # broken links, groups of copies and superseded notes
STATUSES = ("superseded", "obsolete", "deprecated", "replaced", "outdated")
# A status line for the whole note, as in decision records
STATUS_LINE = re.compile(
    r"^[\W_]*(?:status[\W_]+)?(?:superseded|obsoleted) by\b"
    r"|^[\W_]*status[\W_]+(?:superseded|obsolete|deprecated|outdated)\b",
    re.IGNORECASE | re.MULTILINE,
)


@retry_once
def overview(store: HybridStore, bounds: Bounds) -> dict[str, Any]:
    """Return the status, the number of documents per collection, folder, month and tag, and the
    newest documents.
    """
    catalog = store.storage.catalog
    within = bounds.filters(store, None)
    with store.storage.snapshot():
        if bounds.hide:
            facets = facets_of(store, bounds)
            ids = [document["doc_id"] for document in catalog.listing(within, MOST)[1]]
        else:
            facets = catalog.facets()
            ids = catalog.ids()
        latest = newest(store, within, NEWEST)
        status = status_of(store, bounds)
    return {"status": status} | facets | {"newest": latest, "folders": folders(ids)}


def folders(ids: Iterable[str]) -> list[dict[str, Any]]:
    """Return all folders of these documents, by name, with the number of documents below each."""
    counts: Counter[str] = Counter()
    for doc_id in ids:
        parts = doc_id.split("/")[:-1]
        counts.update("/".join(parts[:number]) for number in range(1, len(parts) + 1))
    return [{"path": path, "documents": counts[path]} for path in sorted(counts)]


def status_of(store: HybridStore, bounds: Bounds) -> dict[str, Any]:
    """Return the result of `stats`, with counts for the documents within the bounds."""
    status = store.stats()
    if bounds.hide:
        return status | counts_of(store, bounds)
    return status


@retry_once
def review(store: HybridStore) -> dict[str, Any]:
    """Return broken links, documents with the same text, and superseded documents."""
    links = broken(store)
    same = defaultdict[bytes, list[str]](list)
    catalog = store.storage.catalog
    for doc_id, document in store.storage.documents.several(catalog.ids()).items():
        text_hash = document.content_hash
        if not text_hash:  # no file
            text_hash = digest((catalog.document(doc_id).content or doc_id).encode())
        same[text_hash].append(doc_id)
    copies = sorted(sorted(doc_ids) for doc_ids in same.values() if len(doc_ids) > 1)
    old = [{"citation": place, "note": note} for place, note in superseded(store.storage)]
    return {
        "broken": {"total": links["total"], "links": links["broken"][:MOST_LISTED]},
        "copies": {"total": len(copies), "documents": copies[:MOST_LISTED]},
        "superseded": {"total": len(old), "documents": old[:MOST_LISTED]},
    }


def superseded(storage: Storage) -> Iterator[tuple[str, str]]:
    """Yield the documents that are marked as no longer valid: by their metadata, by another
    document's metadata, or by a status line in their first passage. Each is the id or citation, and
    how it is marked.
    """
    chunks = storage.chunks
    ids = [chunks.at(doc_id)[:1] for doc_id in sorted(storage.catalog.ids())]
    rows = [row for first in ids for row in chunks.rows(first).values()]
    by_others: dict[str, str] = {}
    for row in rows:
        for name in named_documents(row.metadata, SUPERSEDES):
            by_others[name] = row.doc_id
    for row in rows:
        successors = named_documents(row.metadata, SUPERSEDED_BY)
        others = [other for name, other in by_others.items() if is_named(row.doc_id, [name])]
        status = str(row.metadata.get("status", ""))
        if successors:
            yield (row.doc_id, f"its metadata name a successor: {', '.join(successors)}")
        elif status.lower().startswith(STATUSES):
            yield (row.doc_id, f"its status is {status!r}")
        elif others:
            yield (row.doc_id, f"{others[0]} supersedes it")
        elif STATUS_LINE.search(row.text):
            place = citation(row.doc_id, row.start_line, row.end_line, row.pages)
            yield (place, "its text says so")
