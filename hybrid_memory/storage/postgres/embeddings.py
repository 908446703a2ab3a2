"""Which chunk has which embedding: the one identity they share, what is known, what is pending."""

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from .connection import Connection

if TYPE_CHECKING:
    from ..document_rows import Pending
    from ..rows import Identity, Vectors
    from .vectors.spare import SpareEmbeddings

IDENTITY = "select value from meta where space = %(space)s and key = 'embeddings'"
SET_IDENTITY = """
insert into meta (space, key, value) values (%(space)s, 'embeddings', %(value)s)
on conflict (space, key) do update set value = excluded.value
"""

KNOWN = """
select distinct on (content_hash) content_hash, embedding::real[], truncated
from   chunks where space = %(space)s and content_hash = any(%(hashes)s) and embedding is not null
"""
PENDING = """
select id, content_hash, heading_path, content
from   chunks
where  space = %(space)s and embedding is null and (%(tried)s or not unembeddable) and id < %(before)s
order  by id desc
limit  %(batch)s
"""
STILL_PENDING = "select id, content_hash from chunks where id = any(%(ids)s) and embedding is null"
COUNT_PENDING = "select count(*) from chunks where space = %(space)s and embedding is null and not unembeddable"
MARK_UNEMBEDDABLE = """
update chunks set unembeddable = true
where  space = %(space)s and content_hash = any(%(hashes)s) and embedding is null and not unembeddable
"""
DIMS = "select vector_dims(embedding) from chunks where space = %(space)s and embedding is not null limit 1"
CLEAR = "update chunks set embedding = null, truncated = false where id = any(%(ids)s) and embedding is not null"
PUT = """
update chunks c set embedding = new.embedding::vector, truncated = new.truncated
from   unnest(%(ids)s::bigint[], %(embeddings)s::text[], %(truncated)s::boolean[]) new (id, embedding, truncated)
where  c.id = new.id
"""


MANY = 1000  # embeddings that are written at once: more are coming, and an index is made faster when all are there


class Embeddings:
    """Implements `storage.embeddings.Embeddings`."""

    def __init__(self, conn: Connection, space: int) -> None:
        self._conn, self._space = conn, space

    def identity(self) -> "Identity | None":
        row = self._conn.once(IDENTITY, {"space": self._space})
        return json.loads(row[0]) if row else None

    def set_identity(self, identity: "Identity") -> None:
        self._conn.execute(SET_IDENTITY, {"space": self._space, "value": json.dumps(identity)})

    def known(self, hashes: Iterable[bytes]) -> "Vectors":
        identity, wanted = self.identity(), list(hashes)
        if identity is None or not wanted:
            return {}
        from ..vector import encode_embedding

        rows = self._conn.all(KNOWN, {"space": self._space, "hashes": wanted})
        found = {bytes(content_hash): (encode_embedding(vector), cut) for content_hash, vector, cut in rows}
        return found | self.spare.known(identity, [h for h in wanted if h not in found])

    def pending(self, before: int, batch: int, *, tried: bool) -> "list[Pending]":
        from ...documents.document import embedded_text
        from ..document_rows import Pending

        rows = self._conn.all(PENDING, {"space": self._space, "before": before, "batch": batch, "tried": tried})
        return [Pending(id, bytes(content_hash), embedded_text(path, content)) for id, content_hash, path, content in rows]

    def still_pending(self, batch: "Sequence[Pending]") -> "list[Pending]":
        rows = self._conn.all(STILL_PENDING, {"ids": [chunk.id for chunk in batch]})
        left = {(id, bytes(content_hash)) for id, content_hash in rows}
        return [chunk for chunk in batch if (chunk.id, chunk.content_hash) in left]

    def count_pending(self) -> int:
        return int(self._conn.one(COUNT_PENDING, {"space": self._space})[0])

    def put(self, rows: Iterable[tuple[int, bytes, bool]]) -> None:
        given = list(rows)
        embeddings = self.written([embedding for _, embedding, _ in given])
        units = [(id, each, cut) for (id, _, cut), each in zip(given, embeddings, strict=True) if each]
        if refused := [id for (id, *_), each in zip(given, embeddings, strict=True) if not each]:
            self._conn.execute(CLEAR, {"ids": refused})
        if units:
            ids, texts, cuts = map(list, zip(*units, strict=True))
            self._conn.execute(PUT, {"ids": ids, "embeddings": texts, "truncated": cuts})
        self.put_in(len(units))

    def written(self, embeddings: Sequence[bytes]) -> list[str | None]:
        """Embeddings of length 1 as pgvector reads them; None for one that has no direction.

        Raises ValueError for one whose dimension is not that of the others.
        """
        if not any(embeddings):
            return [None] * len(embeddings)
        from ..vector import decode_embedding, unit

        row = self._conn.first(DIMS, {"space": self._space})
        dims = row[0] if row else 0
        found: list[str | None] = []
        for data in embeddings:
            vector = unit(decode_embedding(data)) if data else None
            if vector is not None:
                dims = dims or len(vector)
                if len(vector) != dims:
                    raise ValueError(f"an embedding has {len(vector)} dimensions, the others have {dims}")
            found.append(None if vector is None else f"[{','.join([f'{value:.9g}' for value in vector])}]")
        return found

    def put_in(self, count: int) -> None:
        """Make the index if there are now enough embeddings. Not while many come in: `restore` follows."""
        if 0 < count < MANY:
            self.ensure_index()

    def ensure_index(self) -> None:
        """Make the HNSW index if there are enough embeddings."""
        if row := self._conn.first(DIMS, {"space": self._space}):
            from .vectors.index import ensure_index

            ensure_index(self._conn, row[0])

    def mark_unembeddable(self, hashes: Iterable[bytes]) -> None:
        if wanted := list(hashes):
            self._conn.execute(MARK_UNEMBEDDABLE, {"space": self._space, "hashes": wanted})

    @cached_property
    def spare(self) -> "SpareEmbeddings":
        from .vectors.spare import SpareEmbeddings

        return SpareEmbeddings(self._conn, self._space)

    def keep(self, ids: Iterable[int]) -> None:
        if identity := self.identity():
            self.spare.keep(identity, ids)

    def restore(self) -> None:
        if identity := self.identity():
            self.spare.restore(identity)
            self.ensure_index()

    def take_over(self, identity: "Identity") -> None:
        self.spare.take_over(identity)
        self.set_identity({key: value for key, value in identity.items() if key != "anew"})
