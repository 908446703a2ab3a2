"""Turn a document into rows for the store: its own row, and those of its chunks with their lines
and hashes.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..text.characters import digest, storable
from ..text.dates import DATE_KEYS, document_date, heading_day
from .links import NO_LINKS, DocumentLinks, aliases
from .terms import SEPARATOR, Terms, plain, terms

if TYPE_CHECKING:
    from .chunker import Chunk

# Both are part of `chunking`: when one is raised, stores read all their files again.
CHUNKER = 5  # raised by a change that makes other chunks of the same text
CONTEXT = 9  # raised by a change to what a document has besides them: terms, links, tags and date


class Document(NamedTuple):
    """A text to be stored. A document from a file has the path of the file; the text of any other
    is kept in the store.
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


class Prepared(NamedTuple):
    """A document cut into chunks: its row, the rows of its chunks, the texts to be embedded by
    their content hash, and what goes into the keyword index of each chunk, if that is made already.
    `warnings` name what could not be read of the front matter.
    """

    row: dict[str, Any]
    chunks: list[dict[str, Any]]
    texts: dict[bytes, str]
    terms: "list[Terms] | None" = None
    links: DocumentLinks = NO_LINKS
    warnings: Sequence[str] = ()


def prepare(
    document: Document, chunk_size: int, overlap: int, date_keys: Sequence[str] = DATE_KEYS
) -> Prepared:
    """Cut a document's markdown into chunks. Its `metadata` takes precedence over the front matter
    of the text.

    Raises ValueError for sizes that make no chunks.
    """
    from . import markdown  # a refresh that finds no change needs no parser

    parsed = markdown.parse(document.text, document.metadata)
    chunks = markdown.chunks(parsed, chunk_size, overlap)
    date = document_date(document.doc_id, parsed.metadata, parsed.links.titles, date_keys)
    how = chunking(chunk_size, overlap, date_keys)
    known = document._replace(metadata=parsed.metadata)
    prepared = assemble(known, chunks, date, how, parsed.links)
    return prepared._replace(warnings=parsed.warnings)


def assemble(
    document: Document,
    chunks: Iterable["Chunk"],
    date: str | None,
    chunking: str,
    links: DocumentLinks = NO_LINKS,
) -> Prepared:
    """Make the rows of a document whose chunks, metadata and date (YYYY-MM-DD or YYYY-MM) are known."""
    rows = [chunk_row(document.doc_id, chunk) for chunk in chunks]
    _date_by_headings(rows, date)
    row = document_row(document, date, chunking, len(rows))
    written = ((chunk["heading_path"], chunk["content"]) for chunk in rows)
    called = [storable(name) for name in (*aliases(json.loads(row["metadata"])), *links.titles)]
    index = terms(document.doc_id, document.collection, row["metadata"], written, called)
    return Prepared(row, rows, texts_of(rows), list(index), links)


def _date_by_headings(rows: Iterable[dict[str, Any]], of_document: str | None) -> None:
    """Give the rows of chunks below a heading that is a day this day, if it is not the document's."""
    days: dict[str, str | None] = {}
    for row in rows:
        path = row["heading_path"]
        if path not in days:
            days[path] = heading_day(path.split(SEPARATOR), of_document)
        if days[path] != of_document:
            row["date"] = row["date"] or days[path]


def texts_of(chunks: Iterable[Mapping[str, Any]]) -> dict[bytes, str]:
    """Return the texts of rows of chunks as they are embedded, by their content hash."""
    return {
        chunk["content_hash"]: embedded_text(chunk["heading_path"], chunk["content"])
        for chunk in chunks
    }


def document_row(
    document: Document, date: str | None, chunking: str, chunk_count: int
) -> dict[str, Any]:
    """Return the row of the table `documents`."""
    return document._asdict() | {
        "metadata": storable(json.dumps(document.metadata, ensure_ascii=False)),
        "date": date,
        "content": document.text if document.source_path is None else None,
        "chunking": chunking,
        "chunk_count": chunk_count,
    }


def chunk_row(doc_id: str, chunk: "Chunk") -> dict[str, Any]:
    """Return the row of the table `chunks`."""
    return {
        "doc_id": doc_id,
        "chunk_id": f"{doc_id}-{chunk.index}",
        "heading": chunk.heading,
        "heading_path": chunk.heading_path,
        "content": chunk.text,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "content_hash": digest(embedded_text(chunk.heading_path, chunk.text).encode()),
        "date": chunk.date,
    }


def embedded_text(heading_path: str, content: str) -> str:
    """Return what the model reads of a chunk: the words of links without their brackets, and the heading
    path, because the text alone may not tell what it is about.
    """
    return plain(f"{heading_path}\n\n{content}" if heading_path else content)


def chunking(chunk_size: int, overlap: int, date_keys: Sequence[str] = DATE_KEYS) -> str:
    """Return all that decides how a text is read and cut, as in `documents.chunking`. A document that
    was cut otherwise is due again.
    """
    keys = "" if tuple(date_keys) == DATE_KEYS else f":{','.join(date_keys)}"
    return f"{CHUNKER}.{CONTEXT}:{chunk_size}:{overlap}{keys}"


def date_keys_of(chunking: str) -> Sequence[str]:
    """Return the keys of the metadata that could date a document which was read in this way."""
    parts = chunking.split(":", 3)
    return parts[3].split(",") if len(parts) > 3 else DATE_KEYS


class Extract(NamedTuple):
    """A text in markdown. `pages` has the line, from 1, with which each page begins; it is empty if
    the format has no pages. A warning is a reason and its kind, as in `formats.Reading`.
    """

    text: str
    pages: list[int]
    metadata: dict[str, Any]
    warnings: Sequence[tuple[str, str]] = ()
