"""A text as rows: its chunks with their lines and hashes, its metadata and its date. Pure."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from .embeddings import embedded_text

CHUNKER = 1  # version of chunker.py: raised when a text gives other chunks than before, so that stores chunk it again
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
    import hashlib

    from . import frontmatter
    from .chunker import chunk_text
    from .dates import document_date

    metadata = {**frontmatter.parse(document.text)[0], **document.metadata}
    rows, texts = [], {}
    for chunk in chunk_text(document.text, chunk_size, overlap):
        heading_path = _titled(chunk.heading_path, metadata.get("title"))
        embedded = embedded_text(heading_path, chunk.text)
        content_hash = hashlib.blake2b(embedded.encode(), digest_size=16).digest()
        texts[content_hash] = embedded
        rows.append(
            {
                "doc_id": document.doc_id,
                "chunk_id": f"{document.doc_id}-{chunk.index}",
                "heading": chunk.heading,
                "heading_path": heading_path,
                "content": chunk.text,
                "start_line": chunk.start_line,
                "end_line": chunk.end_line,
                "content_hash": content_hash,
            }
        )
    row = document._asdict() | {
        "metadata": json.dumps(metadata, ensure_ascii=False),
        "date": document_date(document.doc_id, metadata),
        "content": document.text if document.source_path is None else None,
        "chunking": chunking(chunk_size, overlap),
        "chunk_count": len(rows),
    }
    return Prepared(row, rows, texts)


def _titled(heading_path: str, title: object) -> str:
    """Below the title of the front matter, unless the document's first heading says the same."""
    top = heading_path.split(" > ")[0]
    if not isinstance(title, str) or not title.strip() or top.casefold() == title.strip().casefold():
        return heading_path
    return f"{title.strip()} > {heading_path}" if heading_path else title.strip()


def chunking(chunk_size: int, overlap: int) -> str:
    """The versions of the chunker and of what is made of its chunks, and its settings, as `documents.chunking` has them."""
    return f"{CHUNKER}.{CONTEXT}:{chunk_size}:{overlap}"
