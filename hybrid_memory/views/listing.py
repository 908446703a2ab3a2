"""The documents of a store, newest date first, those without a date last. Reads no text."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..storage.filters import Filters
    from ..store import HybridStore


def documents(store: "HybridStore", *, filters: "Filters | None" = None, limit: int = 100) -> dict[str, Any]:
    """The `total` number of documents that fulfil the filters, and the first `limit` of them.

    `size` is in bytes, `pending` counts chunks that wait for an embedding. Raises ValueError for a bad date in the filters.
    """
    if limit < 1:
        raise ValueError(f"limit is {limit}; it must be at least 1")
    with store.storage.snapshot():
        total, found = store.storage.catalog.listing(filters, limit)
    return {"total": total, "documents": found}
