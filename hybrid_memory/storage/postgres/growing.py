"""A document that grows at its end, such as a transcript: only what was added is written."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from ...documents.document import embedded_text
from ...documents.marks.found import NONE
from ...documents.terms import terms
from .connection import Connection
from .documents import Documents, texts_in
from .embeddings import Embeddings
from .keyword.postings import Postings
from .marks import writing as marks
from .selection import text

# What is stored, compared with the chunks as they are now.
CHUNKS_NOW = """
select c.id, c.chunk_id, c.heading, c.start_line, c.end_line, c.content_hash
from   chunks c join documents d on d.number = c.document
where  d.space = %(space)s and d.doc_id = %(doc_id)s
order  by c.id
"""
COMPARED = ("chunk_id", "heading", "start_line", "end_line", "content_hash")
AFTER = """
select c.id from chunks c join documents d on d.number = c.document
where  d.space = %(space)s and d.doc_id = %(doc_id)s and c.id > %(last)s
"""
KEPT = """
select count(*), max(c.id) from chunks c join documents d on d.number = c.document
where  d.space = %(space)s and d.doc_id = %(doc_id)s and c.id <= %(last)s
"""
TELLING_FIRST = """
select min(c.id) from chunks c join documents d on d.number = c.document
where  d.space = %(space)s and d.doc_id = %(doc_id)s and c.id <= %(last)s and d.metadata <> %(metadata)s
"""  # the first chunk, which the keyword index also finds by the metadata, if these change while it stays
BATCH = 500  # chunks of a growing document in memory


class GrowingDocument:
    """Implements `protocol.GrowingDocument`. New chunks are spooled into a temporary file, so that memory does not grow."""

    def __init__(
        self, conn: Connection, space: int, embeddings: Embeddings, postings: Postings, documents: Documents, doc_id: str
    ) -> None:
        from tempfile import TemporaryFile

        self._conn, self._embeddings, self._postings, self._documents = conn, embeddings, postings, documents
        self._id: dict[str, Any] = {"space": space, "doc_id": text(doc_id)}
        self._kept, self._last = 0, 0  # how many chunks stay as they are, and the chunks.id of the last of them
        self._new = 0
        self._spool = TemporaryFile()  # noqa: SIM115  # `close` closes it

    def spool(self, chunks: Iterable[Mapping[str, Any]]) -> int:
        import pickle

        stored = iter(self._conn.all(CHUNKS_NOW, self._id))
        same = True
        for chunk in chunks:
            row = next(stored, None) if same else None
            same = row is not None and (*row[1:5], bytes(row[5])) == tuple(
                text(value) if isinstance(value, str) else value for value in (chunk[key] for key in COMPARED)
            )
            if same and row:
                self._kept, self._last = self._kept + 1, row[0]
            else:
                pickle.dump(dict(chunk), self._spool)
                self._new += 1
        return self._kept + self._new

    def _spooled(self, batch: int) -> Iterator[list[dict[str, Any]]]:
        import pickle

        self._spool.seek(0)
        for start in range(0, self._new, batch):
            yield [pickle.load(self._spool) for _ in range(min(batch, self._new - start))]

    def texts(self, batch: int) -> Iterator[dict[bytes, str]]:
        for some in self._spooled(batch):
            yield {chunk["content_hash"]: embedded_text(chunk["heading_path"], chunk["content"]) for chunk in some}

    def write(self, row: Mapping[str, Any]) -> int | None:
        given = self._id | {"last": self._last}
        if self._conn.one(KEPT, given) != (self._kept, self._last or None):
            return None
        ids = [id for (id,) in self._conn.all(AFTER, given)]
        self._embeddings.keep(ids)
        again = [first] if (first := self._conn.one(TELLING_FIRST, given | {"metadata": text(row["metadata"])})[0]) else []
        self._postings.remove(again)
        self._documents.remove_chunks(ids)
        [number] = self._documents.put_rows([row])
        marks.put(self._conn, self._id["space"], [(number, row, NONE)])
        self._postings.add_again(again)
        called = None if self._kept else self._postings.called(number)
        for some in self._spooled(BATCH):
            found = terms(row["doc_id"], row["collection"], row["metadata"], texts_in(some), called)
            self._documents.put_chunks([number] * len(some), some, found, {})
            called = None
        self._embeddings.restore()
        return self._new

    def close(self) -> None:
        with suppress(OSError):
            self._spool.close()
