"""What a search reads of chunks and their documents."""

import json
import sqlite3
from collections.abc import Iterable, Sequence

from ..rows import ChunkRow, Neighbour
from .schema import END_OF_CHUNK_ID, path_from_column

CANDIDATES = (
    "select id, doc_id, chunk_id, content from chunks where id in (select value from json_each(?))"
)

LEADS = f"""
select c.id, lead.id
from   chunks c join (select id, doc_id, {END_OF_CHUNK_ID} as place from chunks) lead using (doc_id)
where  c.id in (select value from json_each(?)) and lead.place in (select '-' || value from json_each(?))
"""
CHUNK_ROWS = """
select c.id, c.doc_id, c.chunk_id, c.heading, c.heading_path, c.content, c.start_line, c.end_line,
       d.source_path, d.collection, coalesce(c.date, d.date), d.metadata, e.pages
from   chunks c join documents d using (doc_id) left join extracts e using (doc_id)
where  c.id in (select value from json_each(?))
"""
PLACES = """
select c.id, c.doc_id, c.start_line, c.end_line, e.pages
from   chunks c left join extracts e using (doc_id)
where  c.id in (select value from json_each(?))
"""
DATES = """
select c.id, coalesce(c.date, d.date)
from   chunks c join documents d using (doc_id)
where  c.id in (select value from json_each(?)) and coalesce(c.date, d.date) is not null
"""
OWN_DATES = """
select start_line, date from chunks where doc_id = ? and date is not null order by id
"""
AROUND = """
select   c.id, c.content, c.start_line, c.end_line, d.chunking
from     chunks c join documents d using (doc_id)
where    doc_id = :doc_id and id between :id - :count and :id + :count
order by id
"""

AT = "select id from chunks where doc_id = ? and end_line >= ? and start_line <= ? order by id"
COUNT = "select count(*) from chunks"


class Chunks:
    """Implements `protocol.Chunks`."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    def candidates(self, ids: Iterable[int]) -> list[tuple[int, str, str, str]]:
        return self._conn.execute(CANDIDATES, (json.dumps(list(ids)),)).fetchall()

    def leads(self, ids: Iterable[int], count: int) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for id, lead in self._conn.execute(
            LEADS, (json.dumps(list(ids)), json.dumps(list(range(count))))
        ):
            found.setdefault(id, []).append(lead)
        return found

    def rows(self, ids: Iterable[int]) -> dict[int, ChunkRow]:
        rows = self._conn.execute(CHUNK_ROWS, (json.dumps(list(ids)),))
        return {
            row[0]: ChunkRow._make(
                (
                    *row[1:8],
                    path_from_column(row[8]),
                    *row[9:11],
                    json.loads(row[11]),
                    json.loads(row[12] or "[]"),
                )
            )
            for row in rows
        }

    def places(self, ids: Iterable[int]) -> dict[int, tuple[str, int, int, Sequence[int]]]:
        return {
            id: (*place, json.loads(pages or "[]"))
            for id, *place, pages in self._conn.execute(PLACES, (json.dumps(list(ids)),))
        }

    def at(self, doc_id: str, start: int, end: int) -> list[int]:
        return [id for (id,) in self._conn.execute(AT, (doc_id, start, end))]

    def dates(self, ids: Iterable[int]) -> dict[int, str]:
        return dict(self._conn.execute(DATES, (json.dumps(list(ids)),)))

    def own_dates(self, doc_id: str) -> list[tuple[int, str]]:
        return self._conn.execute(OWN_DATES, (doc_id,)).fetchall()

    def around(self, doc_id: str, id: int, count: int) -> list[Neighbour]:
        return [
            Neighbour(*row)
            for row in self._conn.execute(AROUND, {"doc_id": doc_id, "id": id, "count": count})
        ]

    def count(self) -> int:
        return int(self._conn.execute(COUNT).fetchone()[0])
