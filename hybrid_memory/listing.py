"""The documents of a store, newest date first, those without a date last. Reads no text."""

from typing import TYPE_CHECKING, Any

from . import catalog

if TYPE_CHECKING:
    from .store import HybridStore

# What is pending comes from its own small index (+ keeps another out); counting what is embedded would read every chunk.
DOCUMENTS = """
with waiting as (select doc_id, count(*) as pending from chunks where embedding is null group by +doc_id)
select   doc_id, collection, date, source_path as path, chunk_count as chunks, coalesce(pending, 0) as pending,
         coalesce(file_size, length(cast(content as blob))) as size,
         strftime('%Y-%m-%dT%H:%M:%SZ', indexed_at, 'unixepoch') as indexed_at
from     documents left join waiting using (doc_id)
order by date desc nulls last, doc_id
limit    :limit
"""

TOTAL = "select count(*) from documents"


def documents(store: "HybridStore", *, limit: int = 100) -> dict[str, Any]:
    """The first `limit` documents, and the `total` there is. `size` is in bytes, `pending` counts chunks without embedding."""
    if limit < 1:
        raise ValueError(f"limit is {limit}; it must be at least 1")
    with store._snapshot():
        cursor = store.connection.execute(DOCUMENTS, {"limit": limit})
        names = [column[0] for column in cursor.description]
        found = [dict(zip(names, row, strict=True)) for row in cursor]
        (total,) = store.connection.execute(TOTAL).fetchone()
    for document in found:
        document["path"] = catalog.path_from_column(document["path"])
    return {"total": total, "documents": found}
