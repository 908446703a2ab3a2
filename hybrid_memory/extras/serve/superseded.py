"""Documents that their authors mark as no longer valid, for the page's list of what to review."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ...search.revisions import SUPERSEDED_BY, SUPERSEDES, is_named, named_documents
from ...storage.interface import Storage
from ...text.characters import citation

STATUSES = ("superseded", "obsolete", "deprecated", "replaced", "outdated")
# A status line for the whole note, as in decision records
STATUS_LINE = re.compile(
    r"^[\W_]*(?:status[\W_]+)?(?:superseded|obsoleted) by\b"
    r"|^[\W_]*status[\W_]+(?:superseded|obsolete|deprecated|outdated)\b",
    re.IGNORECASE | re.MULTILINE,
)


class Superseded(NamedTuple):
    """The id or citation of a document, and how it is marked."""

    citation: str
    note: str


def superseded(storage: Storage) -> Iterator[Superseded]:
    """Yield the documents that are marked as no longer valid: by their metadata, by another
    document's metadata, or by a status line in their first passage.
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
            yield Superseded(row.doc_id, f"its metadata name a successor: {', '.join(successors)}")
        elif status.lower().startswith(STATUSES):
            yield Superseded(row.doc_id, f"its status is {status!r}")
        elif others:
            yield Superseded(row.doc_id, f"{others[0]} supersedes it")
        elif STATUS_LINE.search(row.text):
            place = citation(row.doc_id, row.start_line, row.end_line, row.pages)
            yield Superseded(place, "its text says so")
