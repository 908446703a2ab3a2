"""Which chunk has which embedding: the one identity they share, what is known, what is pending."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from functools import cached_property

from ...typed.names import TYPE_CHECKING

if TYPE_CHECKING:
    from ..document_rows import Pending
    from ..rows import Identity, Vectors
    from .vectors.spare import SpareEmbeddings

IDENTITY = "select value from meta where key = 'embeddings'"
SET_IDENTITY = "insert or replace into meta (key, value) values ('embeddings', ?)"

KNOWN = "select embedding, truncated from chunks where content_hash = ? and embedding is not null limit 1"

PENDING = """
select id, content_hash, heading_path, content
from   chunks
where  embedding is null and unembeddable <= :tried and id < :before
order  by id desc
limit  :batch
"""
STILL_PENDING = """
select id, content_hash from chunks where id in (select value from json_each(?)) and embedding is null
"""
ANY_WITHOUT = "select 1 from chunks where embedding is null limit 1"
COUNT_PENDING = "select count(*) from chunks where embedding is null and not unembeddable"
MARK_UNEMBEDDABLE = """
update chunks set unembeddable = 1 where content_hash in ({}) and embedding is null and not unembeddable
"""


class Embeddings:
    """Implements `storage.embeddings.Embeddings`."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    def identity(self) -> "Identity | None":
        row = self._conn.execute(IDENTITY).fetchone()
        return json.loads(row[0]) if row else None

    def set_identity(self, identity: "Identity") -> None:
        self._conn.execute(SET_IDENTITY, (json.dumps(identity),))

    def known(self, hashes: Iterable[bytes]) -> "Vectors":
        identity, wanted = self.identity(), list(hashes)
        if identity is None:
            return {}
        rows = ((h, self._conn.execute(KNOWN, (h,)).fetchone()) for h in wanted)
        found = {h: row for h, row in rows if row}
        return found | self.spare.known(identity, (h for h in wanted if h not in found))

    def pending(self, before: int, batch: int, *, tried: bool) -> "list[Pending]":
        from ...documents.document import embedded_text  # imports like these are not for every search to pay
        from ..document_rows import Pending

        rows = self._conn.execute(PENDING, {"before": before, "batch": batch, "tried": tried})
        return [Pending(id, content_hash, embedded_text(path, content)) for id, content_hash, path, content in rows]

    def still_pending(self, batch: "Sequence[Pending]") -> "list[Pending]":
        rows = set(self._conn.execute(STILL_PENDING, (json.dumps([chunk.id for chunk in batch]),)))
        return [chunk for chunk in batch if (chunk.id, chunk.content_hash) in rows]

    def count_pending(self) -> int:
        return int(self._conn.execute(COUNT_PENDING).fetchone()[0]) if self._conn.execute(ANY_WITHOUT).fetchone() else 0

    def put(self, rows: Iterable[tuple[int, bytes, bool]]) -> None:
        from .vectors import blocks

        blocks.put(self._conn, rows)

    def mark_unembeddable(self, hashes: Iterable[bytes]) -> None:
        marked = list(hashes)
        if marked:  # one statement for all, because it goes through all that is pending
            self._conn.execute(MARK_UNEMBEDDABLE.format(", ".join("?" * len(marked))), marked)

    @cached_property
    def spare(self) -> "SpareEmbeddings":
        from .vectors.spare import SpareEmbeddings

        return SpareEmbeddings(self._conn)

    def keep(self, ids: Iterable[int]) -> None:
        if identity := self.identity():
            self.spare.keep(identity, ids)

    def restore(self) -> None:
        identity = self.identity()
        while identity and (rows := self.spare.wanted(identity)):
            self.put(rows)

    def take_over(self, identity: "Identity") -> None:
        self.spare.take_over(identity)
        self.set_identity({key: value for key, value in identity.items() if key != "anew"})
