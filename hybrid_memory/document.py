"""A text as rows: its chunks with their lines and hashes, its metadata and its date. Pure."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .embeddings import embedded_text

if TYPE_CHECKING:
    from .chunker import Chunk

# Version of chunker.py and transcripts.py: raised when a text gives other chunks than before, so that stores chunk it again.
CHUNKER = 1
LONGEST_TITLE = 200  # characters; it goes with every chunk
CONTEXT = 1  # of what a chunk is given besides its text: raised so that stores take their files in again


class Document(NamedTuple):
    """A text to be stored, and the file it was read from; without a file, the text itself is kept."""

    doc_id: str
    text: str
    metadata: Mapping[str, Any]
    source_path: str | bytes | None = None
    file_mtime: float | None = None
    file_size: int | None = None
    content_hash: bytes | None = None
    collection: str | None = None


class Prepared(NamedTuple):
    """A document cut into chunks: its row, its chunks' rows, and by content hash the texts to be embedded."""

    row: dict[str, Any]
    chunks: list[dict[str, Any]]
    texts: dict[bytes, str]


def prepare(document: Document, chunk_size: int, overlap: int) -> Prepared:
    """`metadata` wins over the text's own front matter. Raises ValueError for sizes that make no chunks."""
    from . import frontmatter
    from .chunker import chunk_text
    from .dates import document_date

    own, lines = frontmatter.parse(document.text)
    metadata = {**own, **document.metadata}
    title = metadata.get("title")
    chunks = chunk_text(document.text, chunk_size, overlap)
    if lines and not chunks:  # as a contact card is: what it says is its text
        card = "\n".join(document.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[1 : lines - 1])
        chunks = [
            chunk._replace(start_line=chunk.start_line + 1, end_line=chunk.end_line + 1)
            for chunk in chunk_text(card, chunk_size, overlap)
        ]
    rows = [chunk_row(document.doc_id, chunk._replace(heading_path=_titled(chunk.heading_path, title))) for chunk in chunks]
    texts = {row["content_hash"]: embedded_text(row["heading_path"], row["content"]) for row in rows}
    row = document_row(document, metadata, document_date(document.doc_id, metadata), chunking(chunk_size, overlap), len(rows))
    return Prepared(row, rows, texts)


def document_row(
    document: Document, metadata: Mapping[str, Any], date: str | None, chunking: str, chunk_count: int
) -> dict[str, Any]:
    return document._asdict() | {
        "metadata": json.dumps(metadata, ensure_ascii=False),
        "date": date,
        "content": document.text if document.source_path is None else None,
        "chunking": chunking,
        "chunk_count": chunk_count,
    }


def chunk_row(doc_id: str, chunk: "Chunk") -> dict[str, Any]:
    import hashlib

    embedded = embedded_text(chunk.heading_path, chunk.text)
    return {
        "doc_id": doc_id,
        "chunk_id": f"{doc_id}-{chunk.index}",
        "heading": chunk.heading,
        "heading_path": chunk.heading_path,
        "content": chunk.text,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "content_hash": hashlib.blake2b(embedded.encode(), digest_size=16).digest(),
    }


def _titled(heading_path: str, title: object) -> str:
    """Below the title of the front matter, unless the document's first heading says the same."""
    above = " ".join(title.split())[:LONGEST_TITLE] if isinstance(title, str) else ""
    if not above or f"{heading_path} > ".casefold().startswith(f"{above} > ".casefold()):
        return heading_path
    return f"{above} > {heading_path}" if heading_path else above


def chunking(chunk_size: int, overlap: int) -> str:
    """The versions of the chunker and of what is made of its chunks, and its settings, as `documents.chunking` has them."""
    return f"{CHUNKER}.{CONTEXT}:{chunk_size}:{overlap}"
