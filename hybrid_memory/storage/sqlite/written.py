"""What the keyword index was given of chunks, made once more from the chunks and their documents.

To take a chunk out of an index that has no copy of its texts, FTS5 must be given them exactly as they were put in. So
`chunks.indexed` has a checksum of them; if it differs, as after a change of the analyzer, the index has to be built anew.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from operator import itemgetter
from zlib import crc32

from ...typed.names import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...documents.terms import Terms

ROWS = """
select   c.id, c.doc_id, c.heading_path, c.content, d.collection, d.metadata,
         not exists (select 1 from chunks where doc_id = c.doc_id and id < c.id)
from     chunks c join documents d using (doc_id)
where    {}
order by c.doc_id, c.id
"""
OF_DOCUMENT = ROWS.format("c.doc_id = ?")
OF_CHUNKS = ROWS.format("c.id in (select value from json_each(?))")
CALLED = "select name from names where doc_id = ? and kind <> 'file'"


def checksum(terms: "Terms") -> int:
    """As in `chunks.indexed`."""
    return crc32("\0".join(terms).encode())


def of_document(conn: sqlite3.Connection, doc_id: str) -> "Iterator[tuple[int, Terms]]":
    """chunks.id and terms of the document's chunks."""
    return _of_rows(conn, conn.execute(OF_DOCUMENT, (doc_id,)))


def of_chunks(conn: sqlite3.Connection, ids: Iterable[int]) -> "Iterator[tuple[int, Terms]]":
    """chunks.id and terms of these chunks."""
    return _of_rows(conn, conn.execute(OF_CHUNKS, (json.dumps(list(ids)),)))


def called(conn: sqlite3.Connection, doc_id: str) -> list[str]:
    """Titles and aliases of a document."""
    return [name for (name,) in conn.execute(CALLED, (doc_id,))]


def _of_rows(conn: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> "Iterator[tuple[int, Terms]]":
    from ...documents.terms import terms

    for doc_id, group in groupby(rows, itemgetter(1)):
        first = next(group)
        *_, collection, metadata, is_first = first
        ids: list[int] = []

        def texts(chunks: Iterable[tuple[Any, ...]], ids: list[int] = ids) -> Iterator[tuple[str, str]]:
            for id, _, heading_path, content, *_ in chunks:
                ids.append(id)
                yield heading_path, content

        names = called(conn, doc_id) if is_first else None
        for found in terms(doc_id, collection, metadata, texts(chain([first], group)), names):
            yield ids.pop(), found
