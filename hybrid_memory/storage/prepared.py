"""A document as a store takes it: rows for the document and its chunks, made in documents/document.py."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..text.links import NO_LINKS, DocumentLinks
from ..text.terms import Terms, embedded_text
from .rows import Vectors


class Extract(NamedTuple):
    """A text in markdown, extracted from a file that is not text.

    `pages` has the first line of each page, counted from 1; it is empty if the format has no pages.
    A warning is a reason and its kind, as in `formats.Reading`.
    """

    text: str
    pages: list[int]
    metadata: dict[str, Any]
    warnings: Sequence[tuple[str, str]] = ()


class Prepared(NamedTuple):
    """A chunked document: its row, the rows of its chunks, the texts to embed by content hash, and,
    if already made, the keyword index terms of each chunk. `warnings` name unreadable front matter.
    `left_out` is the rule by which it has no text, if any.
    """

    row: dict[str, Any]
    chunks: list[dict[str, Any]]
    texts: dict[bytes, str]
    terms: "list[Terms] | None" = None
    links: DocumentLinks = NO_LINKS
    warnings: Sequence[str] = ()
    left_out: str | None = None


def texts_of(chunks: Iterable[Mapping[str, Any]]) -> dict[bytes, str]:
    """The texts to embed for these chunk rows, by content hash."""
    return {
        chunk["content_hash"]: embedded_text(
            chunk["heading_path"], chunk["content"], chunk["items"]
        )
        for chunk in chunks
    }


class DocumentExport(NamedTuple):
    """A document as `interface.Documents.put` takes it, with the known embeddings of its texts."""

    prepared: Prepared
    vectors: Vectors


def whole(
    row: Mapping[str, Any], chunks: Sequence[Mapping[str, Any]], links: DocumentLinks
) -> DocumentExport:
    """Make a Whole from rows.

    `row` is the row of the document with `pages` and `extracted` from the table of extracts.
    `chunks` are the rows of its chunks, in order, with `embedding` (encoded, or None) and
    `truncated`. `links` are the document's links; their tags may include those of its metadata.
    """
    own = {key: value for key, value in row.items() if key not in ("pages", "extracted")}
    own["extract"] = None
    if row["extracted"] is not None:
        own["extract"] = Extract(row["extracted"], json.loads(row["pages"] or "[]"), {})
    vectors = {
        each["content_hash"]: (each["embedding"], bool(each["truncated"]))
        for each in chunks
        if each["embedding"]
    }
    plain = [
        {key: value for key, value in each.items() if key not in ("embedding", "truncated")}
        for each in chunks
    ]
    return DocumentExport(Prepared(own, plain, texts_of(plain), links=links), vectors)
