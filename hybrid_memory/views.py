"""Read a document, or some of its lines, as its file is now, and list documents, links and tags.

A file that was not indexed is never read.

A target is the id of a document, the end of an id, the path of a file, an alias, a title, or a link
to any of them: [[Note]]. Case matters only if two documents differ by it. Lines may follow,
`#L10-L40` or `:10-40`, or a part: `#Heading` for the lines below a heading, `#^block` for a block
with this name.
"""

import os
import re
from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from .documents.files import BadFileError, open_regular
from .documents.formats import format_of
from .documents.noise import without_code
from .documents.terms import plain
from .errors import QueryError, SourceError, WayOut
from .storage.target import WHOLE, Place, find, resolved, unmet
from .store import retry_once
from .text.characters import Lines, citation, page, plural, storable
from .text.characters import digest as of_bytes
from .text.dates import origin_of_date
from .text.query import Query

if TYPE_CHECKING:
    from .storage.filters import Filters
    from .storage.protocol import LinkRow, Storage
    from .storage.rows import ChunkRow
    from .storage.source import DocumentRow
    from .store import HybridStore

NAMED_HEADINGS = 8  # in an error message
LATEST = 500  # documents to choose the newest from
HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*\Z")
ITEM = re.compile(r"[ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]")
NO_LETTER = re.compile(r"[^\w\s-]")
TWIN = 0.8  # share of a text's shingles that one other document has
SHINGLE = 9  # characters
TWIN_LEAST = 20  # shingles; a shorter text is never a twin
TWIN_START = 2000  # characters of a text to compare
TWIN_WORDS = 8  # the rarest words, which are searched
TWIN_PASSAGES = 16


def lines_of(doc_id: str, part: str, lines: Sequence[str]) -> tuple[int, int]:
    """Return the first and last line of a part, counted from 1.

    The part is a heading's text or its GitHub anchor, "Plan#Next" for the heading Next below Plan,
    or "^name" for the block of this name. Raises QueryError if there is no such part.
    """
    if part.startswith("^"):
        return _block(doc_id, part[1:], lines)
    return _section(doc_id, part, lines)


def _section(doc_id: str, part: str, lines: Sequence[str]) -> tuple[int, int]:
    bare = without_code("\n" + "\n".join(lines)).split("\n")[1:]
    headings = []  # (number of the line, level, title)
    for number, line in enumerate(bare, 1):
        heading = HEADING.match(line)
        if heading:
            headings.append((number, len(heading[1]), _title(lines[number - 1])))
    remaining = headings
    for title in part.split("#"):
        slugs = [_slug(heading) for _, _, heading in remaining]
        if _slug(title) not in slugs:
            titles = ", ".join(heading for _, _, heading in headings[:NAMED_HEADINGS]) or "none"
            raise QueryError(f"{doc_id} has no heading {title!r}; its headings: {titles}")
        place = slugs.index(_slug(title))
        start, level, _ = remaining[place]
        remaining = remaining[place + 1 :]
    for number, other_level, _ in remaining:
        if other_level <= level:
            return start, number - 1
    return start, len(lines)


def _title(line: str) -> str:
    heading = HEADING.match(line)
    if not heading:
        return ""
    return plain(heading[2])


def _slug(title: str) -> str:
    """The anchor of a title: 'The GPU server: Log in!' -> 'the-gpu-server-log-in'"""
    return "-".join(NO_LETTER.sub("", plain(title)).casefold().split())


def _block(doc_id: str, name: str, lines: Sequence[str]) -> tuple[int, int]:
    """Return the first and last line of a block: the line of a list item, or the lines between
    blank lines; if the name is alone on its line, the block above.
    """
    named = re.compile(rf"(?:.*\s)?\^{re.escape(name)}\s*\Z", re.IGNORECASE)
    at = next((number for number, line in enumerate(lines) if named.match(line)), None)
    if at is None:
        raise QueryError(f"{doc_id} has no block ^{name}")
    if ITEM.match(lines[at]):
        return at + 1, at + 1
    if not lines[at].strip().removeprefix(f"^{name}"):
        at = next((number for number in range(at - 1, -1, -1) if lines[number].strip()), at)
    first = next((number + 1 for number in range(at, -1, -1) if not lines[number].strip()), 0)
    last = next(
        (number for number in range(at, len(lines)) if not lines[number].strip()), len(lines)
    )
    return first + 1, last


@retry_once
def read(
    store: "HybridStore", target: str, *, max_lines: int = 200, max_chars: int = 20_000
) -> dict[str, Any]:
    """Read the lines of a target, described at the head of this module.

    A line of a transcript is the message in that line of the file, with its secrets masked as in
    the index, or empty without a message. `date` is the date of the passage with the first line,
    else of the document. `date_from` is "path", a metadata key, "title", "stored" for the day on
    which a text without a file was stored, or "text" for a date that the file's format found in it.
    `modified` is the time of the file when it was indexed, or of storing a text without a file.

    If the file is on another host, the answer has the indexed text, and `host`.

    In the answer, `next` is the target for reading on, or None at the end. `changed`: the file has
    changed since it was indexed. Raises QueryError if the target does not name exactly one
    document, or names lines that it does not have. Raises SourceError if the file is gone or was
    replaced.
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
    place: Place,
    max_lines: int,
    max_chars: int,
) -> dict[str, Any]:
    if max_lines < 1 or max_chars < 1:
        raise ValueError(f"max_lines ({max_lines}) and max_chars ({max_chars}) must be at least 1")
    path, content_hash, content, collection, _, pages, host = row
    lines: Sequence[str]
    if path:
        lines, changed = _lines_of_file(
            doc_id, path, content, content_hash, store.config["max_file_bytes"]
        )
    else:
        lines = Lines(content or "")
        changed = False
    start, column, end = _range(doc_id, place, lines, changed)
    # Each line but the first takes at least one character, its line break
    most = min(max_lines, max_chars + 1)
    shown = [lines[start - 1][column - 1 :], *lines[start : min(end, start - 1 + most)]]
    rest = None
    if len(shown[0]) > max_chars:
        shown = [shown[0][:max_chars]]
        rest = f"#L{start}C{column + max_chars}-L{end}"
    else:
        shown = shown[: _fitting(shown, max_chars)]
        if start + len(shown) <= end:
            rest = f"#L{start + len(shown)}-L{end}"
    last = start + len(shown) - 1
    date, date_from = days.at(0 if place == WHOLE else start)
    return {
        "doc_id": doc_id,
        "path": path,
        "text": format_of(path or "").joined(shown),
        "start_line": start,
        "end_line": last,
        "total_lines": len(lines),
        "citation": citation(doc_id, start, last, pages),
        "collection": collection,
        "date": date,
        "date_from": date_from,
        "modified": days.modified,
        "changed": changed,
        "next": rest and doc_id + rest,
        **({"page": page(pages, start)} if pages else {}),
        **({"host": host} if host else {}),
    }


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
                lines, digest = format_of(path).lines(stream, max_bytes)
            else:
                lines = Lines(extract)
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


def _range(doc_id: str, place: Place, lines: Sequence[str], changed: bool) -> tuple[int, int, int]:
    """Return first line, first column and last line, counted from 1. A last line after the end of
    the text means the end.
    """
    if place.part:
        start, end = lines_of(doc_id, place.part, lines)
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


@retry_once
def links(store: "HybridStore", target: str) -> dict[str, Any]:
    """List the links in a document, in order, and the links to it. The target is as in `read`,
    without lines.

    Each link has its `target` as written, its `kind` ("wikilink", "embed", "markdown"), its `line`
    and its `citation`. In `links`, `doc_id` is the linked document, or None, and `broken` tells
    whether one is missing; in `linked_from`, `doc_id` is the document with the link. Raises as
    `read` does.
    """
    with store.storage.snapshot():
        doc_id, _ = find(store.storage, target)
        links = store.storage.links
        return {
            "doc_id": doc_id,
            "links": [
                {**_link_entry(link), "doc_id": link.doc_id, "broken": link.broken}
                for link in links.links_of(doc_id)
            ],
            "linked_from": [_link_entry(link) for link in links.links_to(doc_id)],
        }


@retry_once
def broken(store: "HybridStore") -> dict[str, Any]:
    """All broken links, each with the document that contains it; `total` is their number."""
    with store.storage.snapshot():
        places = [_link_entry(link) for link in store.storage.links.broken()]
    return {"total": len(places), "broken": places}


@retry_once
def tags(store: "HybridStore") -> dict[str, Any]:
    """`tags`, most frequent first, each with the number of `documents` that a filter on it selects;
    `total` is the number of tags.
    """
    with store.storage.snapshot():
        counts = store.storage.links.tags()
    return {
        "total": len(counts),
        "tags": [{"tag": tag, "documents": count} for tag, count in counts],
    }


def _link_entry(link: "LinkRow") -> dict[str, Any]:
    return {
        "target": link.target,
        "kind": link.kind,
        "doc_id": link.source,
        "line": link.line,
        "citation": citation(link.source, link.line, link.line),
    }


@retry_once
def documents(
    store: "HybridStore",
    *,
    filters: "Filters | None" = None,
    limit: int = 100,
    by_change: bool = False,
) -> dict[str, Any]:
    """The first `limit` documents that match the filters; `total` is the number of all that match.

    Newest date first, or, `by_change`, last `modified` first: the time of the file, or of storing a
    text without a file. `size` is in bytes. `pending` counts the chunks without an embedding. If a
    filter matches nothing, `warnings` names it. Raises ValueError for an invalid date in the
    filters.
    """
    if limit < 1:
        raise ValueError(f"limit is {limit}; it must be at least 1")
    with store.storage.snapshot():
        total, rows = store.storage.catalog.listing(
            filters and resolved(store.storage, filters), limit, by_change=by_change
        )
        problem = None
        if filters and not total:
            problem = unmet(store.storage, filters)
    if problem:
        return {"total": total, "documents": rows, "warnings": [problem]}
    return {"total": total, "documents": rows}


def newest(
    store: "HybridStore", filters: "Filters | None" = None, limit: int = 10
) -> list[dict[str, Any]]:
    """The newest documents: by the day of the last change, then by date, then by time.

    All files of a copied vault changed on the same day, so their dates decide.
    """
    latest: list[dict[str, Any]] = documents(store, filters=filters, limit=LATEST, by_change=True)[
        "documents"
    ]
    latest.sort(key=_newness, reverse=True)
    return latest[:limit]


def _newness(document: dict[str, Any]) -> tuple[str, str, str]:
    return document["modified"][:10], document["date"] or "", document["modified"]


@retry_once
def twin(store: "HybridStore", text: str, *, besides: str | None = None) -> str | None:
    """The citation of a passage with nearly the same text, in any document but `besides`; else
    None.

    Nearly the same: the text has 28 characters or more, and another document has four fifths of its
    shingles of nine characters, in the passages with most of its rarest words. The passage with the
    most shingles is cited.
    """
    text = storable(text[:TWIN_START])
    shingles = _shingles(text)
    with store.storage.snapshot():
        rows = []
        if len(shingles) >= TWIN_LEAST:
            rows = _with_rarest_words(store.storage, text)
    passages: dict[str, list[tuple[int, ChunkRow]]] = {}
    covered: dict[str, set[str]] = {}
    for row in rows:
        if row.doc_id != besides:
            shared = shingles & _shingles(row.text)
            covered.setdefault(row.doc_id, set()).update(shared)
            passages.setdefault(row.doc_id, []).append((len(shared), row))
    if not covered:
        return None
    nearest = max(covered, key=lambda doc_id: len(covered[doc_id]))
    if len(covered[nearest]) < TWIN * len(shingles):
        return None
    _, row = max(passages[nearest], key=lambda passage: passage[0])
    return citation(row.doc_id, row.start_line, row.end_line, row.pages)


def _with_rarest_words(storage: "Storage", text: str) -> list["ChunkRow"]:
    """The passages with most of the rarest words of a text."""
    index = storage.keyword()
    counts = index.counts(Query(text, is_literal=True))
    rarest = sorted((word for word in counts if counts[word]), key=lambda word: counts[word])
    if not rarest:
        return []
    words = Query(" ".join(rarest[:TWIN_WORDS]), is_literal=True)
    ranked = index.ranked(words, TWIN_PASSAGES)
    return list(storage.chunks.rows(id for id, _ in ranked.ranking).values())


def _shingles(text: str) -> set[str]:
    """Every run of nine characters of a text's words."""
    words = " ".join(re.findall(r"\w+", text.casefold()))
    return {words[start : start + SHINGLE] for start in range(len(words) - SHINGLE + 1)}
