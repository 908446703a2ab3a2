"""The statements that read chunks, and the terms of chunks for the keyword index."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ...text.terms import terms
from ..chunks import Chunks
from .schema import END_OF_CHUNK_ID

if TYPE_CHECKING:
    from ...text.terms import Terms

# The time of the file, or of storing a text without a file
MODIFIED = "strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(d.file_mtime, d.indexed_at), 'unixepoch')"
OPENING_CHUNKS = f"""
select c.id, lead.id
from   chunks c join (select id, doc_id, {END_OF_CHUNK_ID} as place from chunks) lead using (doc_id)
where  c.id in (select value from json_each(:ids))
and    lead.place in (select '-' || value from json_each(:places))
"""
# Also for tables of another program, whose rows have an order but perhaps no id
IN_ORDER = """
select rowid from chunks where rowid in (select value from json_each(?)) order by doc_id, rowid
"""


def in_order(conn: sqlite3.Connection, ids: Collection[int]) -> list[int]:
    """These chunks, ordered by document id, and by their place in the document."""
    return [id for (id,) in conn.execute(IN_ORDER, (json.dumps(list(ids)),))]


class SQLiteChunks(Chunks):
    """The chunks of a database file."""

    CANDIDATES = f"""
    select c.id, c.doc_id, c.chunk_id, c.content, c.heading_path, d.collection,
           iif({END_OF_CHUNK_ID} = '-0', nullif(d.metadata, '{{}}'), null), c.role, c.items,
           coalesce(c.date, d.date), {MODIFIED}
    from   chunks c join documents d using (doc_id)
    where  c.id in (select value from json_each(:ids))
    """
    CHUNK_ROWS = f"""
    select c.id, c.doc_id, c.chunk_id, c.heading, c.heading_path, c.content, c.start_line, c.end_line,
           d.source_path, d.collection, coalesce(c.date, d.date), d.metadata, e.pages, c.role, {MODIFIED}
    from   chunks c join documents d using (doc_id) left join extracts e using (doc_id)
    where  c.id in (select value from json_each(:ids))
    """
    PLACES = """
    select c.id, c.doc_id, c.start_line, c.end_line, e.pages
    from   chunks c left join extracts e using (doc_id)
    where  c.id in (select value from json_each(:ids))
    """
    DECLARING = """
    select c.id, d.metadata
    from   chunks c join documents d using (doc_id)
    where  c.id in (select value from json_each(:ids))
      and  (instr(lower(d.metadata), 'supersede') or instr(lower(d.metadata), 'replace'))
    """
    OWN_DATES = "select start_line, date from chunks where doc_id = :doc_id order by id"
    AT = """
    select id from chunks where doc_id = :doc_id and end_line >= :start and start_line <= :end
    order by id
    """
    AROUND = """
    select   c.id, c.content, c.start_line, c.end_line, d.chunking, c.role
    from     chunks c join documents d using (doc_id)
    where    c.id in (
                 select * from (select id from chunks where doc_id = :doc_id and id <= :id
                                order by id desc limit :count + 1)
                 union all
                 select * from (select id from chunks where doc_id = :doc_id and id > :id
                                order by id limit :count))
    order by c.id
    """
    COUNT = "select count(*) from chunks"

    def opening_chunks(self, ids: Iterable[int], count: int) -> dict[int, list[int]]:
        places = self._db.encode_list(range(count))
        found: dict[int, list[int]] = {}
        for id, opening in self._of(ids, OPENING_CHUNKS, places=places):
            found.setdefault(id, []).append(opening)
        return found


# The indexed terms of chunks, computed again from the chunks and their documents.
#
# To remove a chunk from an index without a copy of its texts, FTS5 needs exactly the terms that
# were indexed. `chunks.indexed` has a checksum of them; if it differs, for example after a change
# of the analyzer, the index has to be rebuilt.

ROWS = """
select   c.id, c.doc_id, c.heading_path, c.content, c.items, d.collection, d.metadata,
         not exists (select 1 from chunks where doc_id = c.doc_id and id < c.id)
from     chunks c join documents d using (doc_id)
where    {}
order by c.doc_id, c.id
"""
OF_DOCUMENT = ROWS.format("c.doc_id = ?")
OF_CHUNKS = ROWS.format("c.id in (select value from json_each(?))")
TITLES_AND_ALIASES = "select name from names where doc_id = ? and kind <> 'file'"


def document_terms(conn: sqlite3.Connection, doc_id: str) -> "Iterator[tuple[int, Terms]]":
    """Yield (chunks.id, terms) of the document's chunks."""
    return _terms_of_rows(conn, conn.execute(OF_DOCUMENT, (doc_id,)))


def chunk_terms(conn: sqlite3.Connection, ids: Iterable[int]) -> "Iterator[tuple[int, Terms]]":
    """Yield (chunks.id, terms) of these chunks."""
    return _terms_of_rows(conn, conn.execute(OF_CHUNKS, (json.dumps(list(ids)),)))


def titles_and_aliases(conn: sqlite3.Connection, doc_id: str) -> list[str]:
    return [name for (name,) in conn.execute(TITLES_AND_ALIASES, (doc_id,))]


def _terms_of_rows(
    conn: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]
) -> "Iterator[tuple[int, Terms]]":
    for doc_id, group in groupby(rows, itemgetter(1)):
        chunks = list(group)
        *_, collection, metadata, is_first = chunks[0]
        names = titles_and_aliases(conn, doc_id) if is_first else None
        texts = (chunk[2:5] for chunk in chunks)
        for (id, *_), of_chunk in zip(
            chunks, terms(doc_id, collection, metadata, texts, names), strict=True
        ):
            yield id, of_chunk
