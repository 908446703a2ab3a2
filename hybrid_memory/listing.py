"""The documents of a store, newest date first, those without a date last. Reads no text."""

from typing import TYPE_CHECKING, Any

from . import catalog

if TYPE_CHECKING:
    from .filters import Filters
    from .store import HybridStore

# What is pending comes from its own small index (+ keeps another out); counting what is embedded would read every chunk.
DOCUMENTS = """
with waiting as (select doc_id, count(*) as pending from chunks where embedding is null and not unembeddable group by +doc_id)
select   doc_id, collection, date, source_path as path, chunk_count as chunks, coalesce(pending, 0) as pending,
         coalesce(file_size, length(cast(content as blob))) as size,
         strftime('%Y-%m-%dT%H:%M:%SZ', indexed_at, 'unixepoch') as indexed_at
from     documents d left join waiting using (doc_id)
where    {condition}
order by date desc nulls last, doc_id
limit    ?
"""

TOTAL = "select count(*) from documents d where {condition}"


def documents(store: "HybridStore", *, filters: "Filters | None" = None, limit: int = 100) -> dict[str, Any]:
    """The first `limit` documents, and the `total` there is. `size` is in bytes, `pending` counts chunks without embedding.

    Raises ValueError for a date in the filters that is none.
    """
    if limit < 1:
        raise ValueError(f"limit is {limit}; it must be at least 1")
    condition, values = filters.condition(store.connection) if filters else ("true", [])
    with store.snapshot():
        cursor = store.connection.execute(DOCUMENTS.format(condition=condition), (*values, limit))
        names = [column[0] for column in cursor.description]
        found = [dict(zip(names, row, strict=True)) for row in cursor]
        (total,) = store.connection.execute(TOTAL.format(condition=condition), values).fetchone()
    for document in found:
        document["path"] = catalog.path_from_column(document["path"])
    return {"total": total, "documents": found}
