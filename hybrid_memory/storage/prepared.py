"""A document as a store takes it: rows for the document and its chunks, made in documents/document.py."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
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
    """

    row: dict[str, Any]
    chunks: list[dict[str, Any]]
    texts: dict[bytes, str]
    terms: "list[Terms] | None" = None
    links: DocumentLinks = NO_LINKS
    warnings: Sequence[str] = ()


class Resumption(NamedTuple):
    """Where the reading of a file that has grown goes on: at the line with which a stored chunk
    begins. `title` and `date` are those of that chunk, and `first_date` is the first day of all
    chunks.
    """

    number: int  # of the chunk, from 0
    line: int  # from 1
    title: str
    date: str | None
    first_date: str

    @classmethod
    def after(
        cls, chunks: Iterable[tuple[str, int, int, str, str | None]], first_date: str
    ) -> "Resumption | None":
        """The last chunk with a line that no chunk before it has; None if there is no such chunk
        after the first.

        `chunks` are from the last to the first: id, first line, last line, heading and date.
        """
        later: tuple[str, int, str, str | None] | None = None
        for chunk_id, start_line, end_line, heading, date in chunks:
            if later and end_line < later[1]:
                number = int(later[0].rpartition("-")[2])
                return cls(number, *later[1:], first_date)
            later = chunk_id, start_line, heading, date
        return None


# The columns in which a stored chunk that stays and a new one are equal
COMPARED = ("chunk_id", "heading", "start_line", "end_line", "content_hash", "date", "role")


def divide_at_change(
    chunks: Iterable[Mapping[str, Any]],
    stored: Iterable[Sequence[Any]],
    as_stored: Callable[[Any], Any] = lambda value: value,
) -> tuple[int, int, Iterator[Mapping[str, Any]]]:
    """Compare new chunks with the stored ones, as rows of chunks.id and the COMPARED columns.

    Returns the number of chunks that stay, the chunks.id of the last of them (or 0), and the chunks
    from the first one that differs. `as_stored` converts a new value.
    """
    rows = iter(stored)
    rest = iter(chunks)
    count = last = 0
    for chunk in rest:
        id, *values = next(rows, (0,))
        if values != [as_stored(chunk[key]) for key in COMPARED]:
            return count, last, chain([chunk], rest)
        count += 1
        last = id
    return count, last, rest


def texts_of(chunks: Iterable[Mapping[str, Any]]) -> dict[bytes, str]:
    """The texts to embed for these chunk rows, by content hash."""
    return {
        chunk["content_hash"]: embedded_text(
            chunk["heading_path"], chunk["content"], chunk["items"]
        )
        for chunk in chunks
    }


class Whole(NamedTuple):
    """A document as `interface.Documents.put` takes it, with the known embeddings of its texts."""

    prepared: Prepared
    vectors: Vectors


def whole(
    row: Mapping[str, Any], chunks: Sequence[Mapping[str, Any]], links: DocumentLinks
) -> Whole:
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
    return Whole(Prepared(own, plain, texts_of(plain), links=links), vectors)
