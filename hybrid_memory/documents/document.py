"""Turn a document into rows for the store: one for the document, one for each chunk."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..storage.prepared import Extract, Prepared, texts_of
from ..text.characters import digest, storable
from ..text.dates import DATE_KEYS, document_date, heading_day
from ..text.links import NO_LINKS, DocumentLinks, aliases
from ..text.terms import SEPARATOR, embedded_text, terms

if TYPE_CHECKING:
    from .chunker import Chunk

# Both are part of `chunking`: raise one, and stores read all their files again.
CHUNKER = 11  # raise it with a change that gives the same text other chunks
CONTEXT = 16  # raise it with a change to terms, links, tags, date or roles of the same text


class Document(NamedTuple):
    """A text to store.

    A document from a file has the path of the file; otherwise the store keeps the text.
    """

    doc_id: str
    text: str
    metadata: Mapping[str, Any]
    source_path: str | bytes | None = None
    file_mtime: float | None = None
    file_size: int | None = None
    content_hash: bytes | None = None
    collection: str | None = None
    extract: "Extract | None" = None  # of a file that is not text


def prepare(
    document: Document, chunk_size: int, overlap: int, date_keys: Sequence[str] = DATE_KEYS
) -> Prepared:
    """Chunk a markdown document. Its `metadata` takes precedence over the front matter of the text.

    Raises ValueError for invalid sizes.
    """
    from . import markdown  # a refresh that finds no change needs no parser

    parsed = markdown.parse(document.text, document.metadata)
    chunks = markdown.chunks(parsed, chunk_size, overlap)
    links = markdown.FORMAT.links(parsed)
    date = document_date(document.doc_id, parsed.metadata, links.titles, date_keys, parsed.head)
    how = chunking(chunk_size, overlap, date_keys)
    known = document._replace(metadata=parsed.metadata)
    prepared = assemble(known, chunks, date, how, links)
    return prepared._replace(warnings=parsed.warnings)


def assemble(
    document: Document,
    chunks: Iterable["Chunk"],
    date: str | None,
    chunking: str,
    links: DocumentLinks = NO_LINKS,
) -> Prepared:
    """Build the rows of a document from its chunks, its metadata and its date (YYYY-MM-DD or
    YYYY-MM).
    """
    undated = (chunk_row(document.doc_id, chunk) for chunk in chunks)
    rows = list(dated_by_headings(undated, date))
    row = document_row(document, date, chunking, len(rows))
    written = ((chunk["heading_path"], chunk["content"], chunk["items"]) for chunk in rows)
    names = [storable(name) for name in (*aliases(json.loads(row["metadata"])), *links.titles)]
    index = terms(document.doc_id, document.collection, row["metadata"], written, names)
    return Prepared(row, rows, texts_of(rows), list(index), links)


def dated_by_headings(
    rows: Iterable[dict[str, Any]], of_document: str | None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of chunks. Those below a heading that names a day get its date, unless it is the
    document's.
    """
    for row in rows:
        day = heading_day(row["heading_path"].split(SEPARATOR), of_document)
        if day != of_document:
            row["date"] = row["date"] or day
        yield row


def document_row(
    document: Document, date: str | None, chunking: str, chunk_count: int
) -> dict[str, Any]:
    """The row of the table `documents`."""
    return document._asdict() | {
        "metadata": storable(json.dumps(document.metadata, ensure_ascii=False)),
        "date": date,
        "content": document.text if document.source_path is None else None,
        "chunking": chunking,
        "chunk_count": chunk_count,
    }


def chunk_row(doc_id: str, chunk: "Chunk") -> dict[str, Any]:
    """The row of the table `chunks`."""
    text = embedded_text(chunk.heading_path, chunk.text, chunk.items)
    return {
        "doc_id": doc_id,
        "chunk_id": f"{doc_id}-{chunk.index}",
        "heading": chunk.heading,
        "heading_path": chunk.heading_path,
        "content": chunk.text,
        "items": chunk.items,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "content_hash": digest(text.encode()),
        "date": chunk.date,
        "role": chunk.role,
    }


def chunking(
    chunk_size: int, overlap: int, date_keys: Sequence[str] = DATE_KEYS, mark: str = ""
) -> str:
    """All settings that decide how a text is read and chunked, as in `documents.chunking`.

    A document with another value, but for the `mark` of its date, is due again.
    """
    keys = "" if tuple(date_keys) == DATE_KEYS else f":{','.join(date_keys)}"
    return f"{CHUNKER}.{CONTEXT}{mark}:{chunk_size}:{overlap}{keys}"


def mark_of(chunking: str) -> str:
    """The mark of the document's date, as in `dates.Dated`."""
    return chunking.partition(":")[0].lstrip("0123456789.")


def without_mark(chunking: str) -> str:
    """What `chunking` is without the mark of the date."""
    return chunking.replace(f"{mark_of(chunking)}:", ":", 1)


OTHER_SETTINGS = "cut with other settings"
OTHER_VERSION = "cut by another version of hybrid-memory"


def why_cut_again(known: str, wanted: str) -> str | None:
    """Why an unchanged document that was cut as `known` is to be cut as `wanted`, both as in
    `chunking`, of which the mark of a date does not count. None if it may stay: an older version
    leaves what a newer one has cut.
    """
    known = without_mark(known)
    wanted = without_mark(wanted)
    if known == wanted:
        return None
    version, _, settings = known.partition(":")
    wanted_version, _, wanted_settings = wanted.partition(":")
    if settings != wanted_settings:
        return OTHER_SETTINGS
    is_older = _numbers(version) < _numbers(wanted_version)
    return OTHER_VERSION if is_older else None


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".") if number.isdecimal()]


def date_keys_of(chunking: str) -> Sequence[str]:
    """The metadata keys that could date a document, read back from its `chunking`."""
    parts = chunking.split(":", 3)
    return parts[3].split(",") if len(parts) > 3 else DATE_KEYS
