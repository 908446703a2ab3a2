"""The numbers that the page shows without a query."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from ...browse.lists import newest
from ...store import HybridStore, retry_once
from .bounds import MOST, Bounds, counts_of, facets_of

NEWEST = 10  # documents


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
