"""What is due: the files of a source beside what the store has of them. Reads names and times, no file."""

import os
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from ..documents.formats import format_of
from ..documents.walk import Found, Walk
from ..storage.protocol import Documents
from ..storage.source import Source, StoredDocument
from .report import LITTLE_NEW, UNCHANGED, Report


class Rules(NamedTuple):
    """When a file is due. `chunking` is how its text must have been cut; None: in any way."""

    incremental: bool  # files whose time and size are as they were are not read
    everything: bool  # files of growing formats are read however little is new
    chunking: str | None = None

    def is_current(self, known: StoredDocument) -> bool:
        """Whether a document may stay as it is if its file is as it was."""
        return self.incremental and self.chunking in (None, known.chunking)


class Listing(NamedTuple):
    """The files that a source has now, and the documents that the store has of it, by id."""

    source: Source
    walk: Walk
    found: list[Found]
    known: dict[str, StoredDocument]
    others: tuple[tuple[Source, int], ...] = ()  # sources that have files of this one as their documents, and how many

    def ours(self) -> list[StoredDocument]:
        """The documents from below this folder whose file name its patterns match."""
        above = os.path.join(self.source.path, "")
        return [
            document
            for document in self.known.values()
            if document.path and document.path.startswith(above) and self.walk.wanted.matches(os.path.basename(document.path))
        ]

    def vanished(self) -> list[str]:
        """The ids of `ours` that the walk did not find, except below folders that could not be listed."""
        present = {self.source.doc_id(file.relative) for file in self.found}
        unread = tuple(os.path.join(path, "") for path, _ in self.walk.unread)
        return [
            document.doc_id
            for document in self.ours()
            if document.doc_id not in present and not os.path.join(str(document.path), "").startswith(unread)
        ]

    def leaving(self) -> list[str]:
        """The ids of the documents that an ingest removes. If a folder has no file any more, its disk may not be mounted."""
        if self.source.is_file or self.source.keep_missing or not (self.found or self.others):
            return []
        return self.vanished()


def listed(source: Source, documents: Documents, report: Report) -> Listing:
    """Look at a source. What could not be listed is an error in the report."""
    walk = Walk(source.path, source.patterns or (), source.exclude, source.follow_symlinks)
    if source.is_file:
        name = os.path.basename(source.path)
        found = [file._replace(relative=name) for file in walk.file(source.path)]
        known = documents.get(source.doc_id(name))
        return Listing(source, walk, found, {known.doc_id: known} if known else {})
    found = list(walk)
    for path, reason in walk.unread:
        report.error(path, reason, "unreadable")
    return Listing(source, walk, found, documents.of_collection(str(source.collection)))


def left_out(listings: Collection[Listing]) -> Counter[str]:
    """How many entries of the folders were left out by each rule. What one of the listings has counts for none."""
    entries: dict[str, str] = {}
    for listing in listings:
        entries |= listing.walk.left_out
    for listing in listings:
        for file in listing.found:
            entries.pop(file.path, None)
    return Counter(entries.values())


def is_recut(known: StoredDocument, content_hash: bytes, chunking: str) -> bool:
    """Whether a document that was read again has the text that is indexed, cut in another way."""
    return known.content_hash == content_hash and known.chunking != chunking


def is_due(file: Found, known: StoredDocument | None, rules: Rules, report: Report, follow_symlinks: bool) -> bool:
    """Whether a file is to be read. One that is not is counted as skipped; one that cannot be looked at is an error."""
    if known is None:
        return True
    if rules.is_current(known) and (known.mtime, known.size) == (file.mtime, file.size):
        report.skip(UNCHANGED)
        return False
    due = None
    with report.reading(file.path):
        due = rules.everything or format_of(file.path).is_due(file.path, known.size, file.mtime, file.size, follow_symlinks)
    if due is False:
        report.skip(LITTLE_NEW)
    return bool(due)
