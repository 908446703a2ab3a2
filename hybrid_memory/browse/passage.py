"""Read a document, or some of its lines, as its file is now. A file that was not indexed is never
read.

A target is the id of a document, the end of an id, the path of a file, an alias, a title, or a link
to any of them: [[Note]]. Case matters only if two documents differ by it. Lines may follow,
`#L10-L40` or `:10-40`, or a part: `#Heading` for the lines below a heading, `#^block` for a block
with this name.
"""

import os
from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple, NotRequired, TypedDict

from ..documents.files import BadFileError, open_regular
from ..documents.formats import format_at, line_reader
from ..documents.parts import lines_of
from ..errors import QueryError, SourceError, WayOut
from ..storage.targets import WHOLE, Location, find
from ..store import retry_once
from ..text.characters import citation, page, plural, split_lines
from ..text.characters import digest as of_bytes
from ..text.dates import origin_of_date

if TYPE_CHECKING:
    from ..storage.rows import DocumentRow
    from ..store import HybridStore


class DocumentPart(TypedDict):
    """Lines of a document. A line of a transcript is the message in that line of the file, with its
    secrets masked as in the index, or empty without a message.
    """

    doc_id: str
    path: str | None
    text: str
    start_line: int
    end_line: int
    total_lines: int
    citation: str
    collection: str | None
    date: str | None  # of the passage with the first line, else of the document
    # "path", a metadata key, "title", "stored" (a text without a file has the day on which it was
    # stored), or "text" (the file's format found it there)
    date_from: str | None
    modified: str  # the time of the file when it was indexed, or of storing a text without a file
    changed: bool  # the file has changed since it was indexed
    next: str | None  # the target for reading on; None at the end
    page: NotRequired[int]  # where the document has pages
    host: NotRequired[str]  # if the file is on another host: then this is the indexed text


@retry_once
def read(
    store: "HybridStore", target: str, *, max_lines: int = 200, max_chars: int = 20_000
) -> DocumentPart:
    """Read the lines of a target, described at the head of this module.

    Raises QueryError if the target does not name exactly one document, or names lines that it does
    not have. Raises SourceError if the file is gone or was replaced.
    """
    with store.storage.snapshot():
        doc_id, place = find(store.storage, target)
        row = store.storage.catalog.document(doc_id)
        days = days_of(store, doc_id, row)
    return passage(store, doc_id, row, days, place, max_lines, max_chars)


class Days(NamedTuple):
    """The dates of a document: its date, the origin of that date, the time of its file's last
    change, and for each passage, in order, the first line and the passage's own date.
    """

    of_document: str | None
    origin: str | None
    modified: str
    of_passages: list[tuple[int, str | None]]

    def at(self, line: int) -> tuple[str | None, str | None]:
        """The date at a line, or of the document for line 0, and the origin of that date."""
        before = [day for start, day in self.of_passages if start <= line]
        if before and before[-1]:
            return before[-1], "text"
        return self.of_document, self.origin


def days_of(store: "HybridStore", doc_id: str, row: "DocumentRow") -> Days:
    """The dates of a document and of its passages, by the current settings."""
    if row.date is None:
        origin = None
    else:
        metadata = store.storage.catalog.outline(doc_id)["metadata"]
        titles = store.storage.links.titles(doc_id)
        origin = origin_of_date(row.date, doc_id, metadata, titles, store.config["date_keys"])
    if origin == "text" and row.path is None and row.host is None:
        origin = "stored"
    modified = store.storage.catalog.entry(doc_id)["modified"]
    return Days(row.date, origin, modified, store.storage.chunks.own_dates(doc_id))


def passage(
    store: "HybridStore",
    doc_id: str,
    row: "DocumentRow",
    days: Days,
    place: Location,
    max_lines: int,
    max_chars: int,
) -> DocumentPart:
    """Read lines of a document with this row and these dates. Raises as `read` does."""
    if max_lines < 1 or max_chars < 1:
        raise ValueError(f"max_lines ({max_lines}) and max_chars ({max_chars}) must be at least 1")
    path, content_hash, content, collection, _, pages, host = row
    lines: Sequence[str]
    if path:
        lines, changed = _lines_of_file(
            doc_id, path, content, content_hash, store.config["max_file_bytes"]
        )
    else:
        lines = split_lines(content or "")
        changed = False
    start, column, end = _range(doc_id, path or "", place, lines, changed)
    shown, rest = _limited(lines, start, column, end, max_lines, max_chars)
    last = start + len(shown) - 1
    date, date_from = days.at(0 if place == WHOLE else start)
    answer: DocumentPart = {
        "doc_id": doc_id,
        "path": path,
        "text": line_reader(path or "").joined(shown),
        "start_line": start,
        "end_line": last,
        "total_lines": len(lines),
        "citation": citation(doc_id, start, last, pages),
        "collection": collection,
        "date": date,
        "date_from": date_from,
        "modified": days.modified,
        "changed": changed,
        "next": f"{doc_id}{rest}" if rest else None,
    }
    if pages:
        answer["page"] = page(pages, start)
    if host:
        answer["host"] = host
    return answer


def _limited(
    lines: Sequence[str], start: int, column: int, end: int, max_lines: int, max_chars: int
) -> tuple[list[str], str | None]:
    """The lines from `start` to `end` that both limits allow, and the rest as the end of a target,
    "#L41-L90".
    """
    shown = [lines[start - 1][column - 1 :], *lines[start : min(end, start - 1 + max_lines)]]
    if len(shown[0]) > max_chars:
        return [shown[0][:max_chars]], f"#L{start}C{column + max_chars}-L{end}"
    shown = shown[: _fitting(shown, max_chars)]
    if start + len(shown) <= end:
        return shown, f"#L{start + len(shown)}-L{end}"
    return shown, None


def _lines_of_file(
    doc_id: str, path: str, extract: str | None, indexed: bytes | None, max_bytes: int
) -> tuple[Sequence[str], bool]:
    """Return the lines of a file, or of its extract if it is not text, and whether the file has
    changed since it was indexed.
    """
    try:
        with open_regular(path, follow_symlinks=True) as stream:
            status = os.fstat(stream.fileno())
            lines: Sequence[str]
            if extract is None:
                lines, digest = line_reader(path).lines(stream, max_bytes)
            else:
                lines = split_lines(extract)
                digest = of_bytes(stream.read(max_bytes + 1))
        # A link in place of the file may lead anywhere. Its text is shown only if it is the
        # indexed text.
        if digest != indexed and not (
            os.path.realpath(path) == path and os.path.samestat(os.lstat(path), status)
        ):
            raise SourceError(
                f"{path} is reached by a symbolic link and is not the indexed file",
                WayOut("read again", "", "ingest it again to read it"),
            )
    except (FileNotFoundError, NotADirectoryError) as error:
        delete = f"delete --doc-id {quote(doc_id)}"
        way_out = WayOut("forget", delete, "removes it from the memory")
        raise SourceError(f"{path} is gone", way_out) from error
    except (OSError, BadFileError) as error:
        raise SourceError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}"
        ) from error
    return lines, digest != indexed


def _range(
    doc_id: str, path: str, place: Location, lines: Sequence[str], changed: bool
) -> tuple[int, int, int]:
    """Return first line, first column and last line, counted from 1. A last line after the end of
    the text means the end.
    """
    if place.part:
        start, end = lines_of(doc_id, place.part, lines, format_at(path).headings)
        return start, 1, end
    total = len(lines)
    if place.end is not None and place.end < place.start:
        raise QueryError(
            f"{doc_id}: line {place.start} is after line {place.end}; write the first line first"
        )
    if place.start > total:
        size = plural(total, "line")
        if changed:
            size += " now, changed since it was indexed"
        raise QueryError(f"{doc_id} has {size}; there is no line {place.start}")
    if place.end is None:
        return place.start, place.column, total
    return place.start, place.column, min(place.end, total)


def _fitting(lines: list[str], max_chars: int) -> int:
    """The number of whole lines that fit into `max_chars` characters."""
    size = -1
    for number, line in enumerate(lines):
        size += len(line) + 1
        if size > max_chars:
            return number
    return len(lines)
