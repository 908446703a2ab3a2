"""The documents of a store. Those with the newest date come first, those without a date last. No text is read."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..storage.filters import Filters
    from ..store import HybridStore


def documents(store: "HybridStore", *, filters: "Filters | None" = None, limit: int = 100) -> dict[str, Any]:
    """The first `limit` documents that pass the filters, and in `total` the number of all that pass them.

    `size` is in bytes. `pending` counts the chunks that have no embedding yet. Raises ValueError for a bad date in the filters.
    """
    if limit < 1:
        raise ValueError(f"limit is {limit}; it must be at least 1")
    with store.storage.snapshot():
        total, found = store.storage.catalog.listing(filters, limit)
    return {"total": total, "documents": found}
