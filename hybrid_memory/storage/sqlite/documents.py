"""Write documents and chunks to all tables, completely or only what was added at the end, and the
list of ingested folders and files, which determine document ids. Every method that writes needs a
transaction.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from ...paths import is_in
from ...text.characters import storable
from ...text.links import NO_LINKS, DocumentLinks
from ...text.terms import Terms, terms
from ..growing import WRITTEN, GrowingDocument, Resumption
from ..prepared import DocumentExport, Prepared, whole
from ..rows import StoredDocument, Vectors
from . import vectors as blocks
from .chunks import chunk_terms, titles_and_aliases
from .database import SQLiteDatabase
from .embeddings import SQLiteEmbeddings
from .keyword import FTSIndex, checksum
from .links import Links, put_links, remove_links
from .schema import path_from_column, path_to_column

PUT_DOCUMENT = """
insert or replace into documents
       (doc_id, source_path, file_mtime, file_size, content_hash, collection, date, metadata,
        content, chunking, chunk_count)
values (:doc_id, :source_path, :file_mtime, :file_size, :content_hash, :collection, :date, :metadata,
        :content, :chunking, :chunk_count)
"""

PUT_CHUNK = """
insert into chunks (
    doc_id, chunk_id, heading, heading_path, content, items, start_line, end_line, content_hash, date, role,
    indexed, slot, embedding, truncated
)
values (:doc_id, :chunk_id, :heading, :heading_path, :content, :items, :start_line, :end_line,
        :content_hash, :date, :role, :indexed, :slot, :embedding, :truncated)
"""

NOT_EMBEDDED: dict[str, Any] = {"slot": None, "embedding": None, "truncated": False}

PUT_EXTRACT = "insert into extracts (doc_id, pages, content) values (?, ?, ?)"

CHUNKS_OF = "select id from chunks where doc_id = ? order by id"
HASHES_OF = "select id, content_hash from chunks where doc_id = ?"
TOUCH = "update documents set file_mtime = ?, file_size = ? where doc_id = ?"

STORED = "select doc_id, source_path, file_mtime, file_size, content_hash, chunking from documents"
TEXTS_CUT_OTHERWISE = """
select doc_id, chunking from documents where source_path is null and chunking <> ? order by doc_id
"""
INDEXED_AT = "select indexed_at from documents where doc_id = ?"
SET_INDEXED_AT = "update documents set indexed_at = ? where doc_id = ?"
OF_COLLECTION = f"{STORED} where collection = ? and source_path is not null"
IDS_IN = "select doc_id from documents where collection = ? and source_path is not null"
OF_FILES = f"{STORED} where source_path is not null"
OF_ID = f"{STORED} where doc_id = ?"
OF_IDS = f"{STORED} where doc_id in (select value from json_each(?))"

WHOLE = """
select d.doc_id, d.source_path, d.file_mtime, d.file_size, d.content_hash, d.collection, d.date,
       d.metadata, d.content, d.chunking, d.chunk_count, e.pages, e.content as extracted
from   documents d left join extracts e using (doc_id)
where  d.doc_id = ?
"""
WHOLE_CHUNKS = """
select doc_id, chunk_id, heading, heading_path, content, items, start_line, end_line, content_hash, date,
       role, embedding, truncated
from   chunks where doc_id = ? order by id
"""

# The stored chunks of a growing document, to compare with its current ones.
CHUNKS_NOW = """
select id, chunk_id, heading, start_line, end_line, content_hash, date, role
from   chunks
where  doc_id = ? and id > ?
order  by id
"""
CHUNK_BEFORE = "select id from chunks where doc_id = ? order by id limit 1 offset ? - 1"
FROM_LAST = """
select chunk_id, start_line, end_line, heading, date from chunks where doc_id = ? order by id desc
"""
FIRST_DATE = "select date from chunks where doc_id = ? and date is not null order by id limit 1"
KEPT = "select count(*), max(id) from chunks where doc_id = ? and id <= ?"
LAST_OF = "select coalesce(max(id), 0) from chunks where doc_id = ?"
AFTER = "select id from chunks where doc_id = ? and id > ? order by id"
# The first chunk is also indexed by the metadata and the titles.
FIRST_KEPT = """
select min(c.id), d.metadata
from   chunks c join documents d using (doc_id)
where  c.doc_id = ? and c.id <= ?
"""


class Documents:
    """Implements `interface.Documents`."""

    def __init__(self, conn: sqlite3.Connection, embeddings: SQLiteEmbeddings) -> None:
        self._conn = conn
        self._embeddings = embeddings

    def get(self, doc_id: str) -> StoredDocument | None:
        return next((_stored(row) for row in self._conn.execute(OF_ID, (doc_id,))), None)

    def several(self, doc_ids: Sequence[str]) -> dict[str, StoredDocument]:
        return {row[0]: _stored(row) for row in self._conn.execute(OF_IDS, (json.dumps(doc_ids),))}

    def of_collection(self, collection: str) -> dict[str, StoredDocument]:
        return {row[0]: _stored(row) for row in self._conn.execute(OF_COLLECTION, (collection,))}

    def ids_in(self, collection: str) -> Iterator[str]:
        return (doc_id for (doc_id,) in self._conn.execute(IDS_IN, (collection,)))

    def from_path(self, path: str) -> list[StoredDocument]:
        documents = map(_stored, self._conn.execute(OF_FILES))
        return [document for document in documents if document.path and is_in(document.path, path)]

    def whole(self, doc_id: str) -> DocumentExport | None:
        database = SQLiteDatabase(self._conn)
        documents = database.dicts(WHOLE, (doc_id,))
        if not documents:
            return None
        row = documents[0] | {"source_path": path_from_column(documents[0]["source_path"])}
        return whole(
            row,
            database.dicts(WHOLE_CHUNKS, (doc_id,)),
            Links(self._conn).links_to_copy(doc_id),
        )

    def texts_cut_otherwise(self, chunking: str) -> dict[str, str]:
        return dict(self._conn.execute(TEXTS_CUT_OTHERWISE, (chunking,)))

    def put(self, prepared: Prepared, new_vectors: Vectors | None = None) -> None:
        """As in `interface.Documents`."""
        self.put_all([prepared], new_vectors)

    def put_again(self, prepared: Prepared) -> None:
        """As in `interface.Documents`."""
        doc_id = prepared.row["doc_id"]
        (indexed_at,) = self._conn.execute(INDEXED_AT, (doc_id,)).fetchone()
        self.put(prepared)
        self._conn.execute(SET_INDEXED_AT, (indexed_at, doc_id))

    def put_all(self, documents: Iterable[Prepared], new_vectors: Vectors | None = None) -> None:
        """As in `interface.Documents`. A chunk is written with its embedding: adding that later
        would make rows grow, which leaves pages half empty.
        """
        # A later document may need an embedding that an earlier one loses here
        vectors = dict(new_vectors or {})
        placing = blocks.SlotAllocator(self._conn)
        for prepared in documents:
            vectors |= self._embeddings.known(key for key in prepared.texts if key not in vectors)
            self._put_with(prepared, vectors, placing)
        placing.finish()

    def _put_with(
        self, prepared: Prepared, vectors: Vectors, placing: blocks.SlotAllocator
    ) -> None:
        doc_id = prepared.row["doc_id"]
        removed: set[str] = set()
        before = self._conn.execute(HASHES_OF, (doc_id,)).fetchall()
        if before:
            gone = [id for id, content_hash in before if content_hash not in prepared.texts]
            self._embeddings.keep(gone)
            placing.finish()
            _, removed = self._remove([doc_id])
        self._conn.execute(PUT_DOCUMENT, _columns(prepared.row))
        extract = prepared.row.get("extract")
        if extract:
            pages = json.dumps(extract.pages) if extract.pages else None
            self._conn.execute(PUT_EXTRACT, (doc_id, pages, extract.text))
        put_links(self._conn, prepared.row, prepared.links)
        terms_of_chunks: Iterable[Terms] | None = prepared.terms
        if terms_of_chunks is None:
            row = prepared.row
            written = map(WRITTEN, prepared.chunks)
            names = titles_and_aliases(self._conn, doc_id)
            terms_of_chunks = terms(doc_id, row["collection"], row["metadata"], written, names)
        chunks = [{**chunk, **_embedded(chunk, vectors, placing)} for chunk in prepared.chunks]
        added = list(terms_of_chunks)
        _put_chunks(self._conn, doc_id, zip(chunks, added, strict=True))
        FTSIndex(self._conn).purge(removed, added)

    def remove(self, *doc_ids: str, keep: bool = False) -> int:
        count, words = self._remove(doc_ids, keep=keep)
        FTSIndex(self._conn).purge(words)
        return count

    def _remove(self, doc_ids: Sequence[str], *, keep: bool = False) -> tuple[int, set[str]]:
        """Delete documents. Returns the number of their chunks, and their words in the index."""
        ids = [id for doc_id in doc_ids for (id,) in self._conn.execute(CHUNKS_OF, (doc_id,))]
        if keep:
            self._embeddings.keep(ids)
        blocks.drop(self._conn, ids)
        words = FTSIndex(self._conn).remove(ids)
        for table in ("chunks", "documents", "extracts"):
            self._conn.executemany(
                f"delete from {table} where doc_id = ?", [(doc_id,) for doc_id in doc_ids]
            )
        remove_links(self._conn, doc_ids)
        return len(ids), words

    def touch(self, doc_id: str, mtime: float, size: int) -> None:
        self._conn.execute(TOUCH, (mtime, size, doc_id))

    def growing(self, doc_id: str, collection: str | None) -> "GrowingDocument":
        return GrowingRows(self._conn, self._embeddings, doc_id, collection)


class GrowingRows(GrowingDocument):
    """A document that grows, in this file."""

    def __init__(
        self,
        conn: sqlite3.Connection,
        embeddings: SQLiteEmbeddings,
        doc_id: str,
        collection: str | None,
    ) -> None:
        super().__init__(doc_id, collection)
        self._conn = conn
        self._embeddings = embeddings

    def resumption(self) -> Resumption | None:
        first_date = self._conn.execute(FIRST_DATE, (self._doc_id,)).fetchone() or [""]
        return Resumption.after(self._conn.execute(FROM_LAST, (self._doc_id,)), *first_date)

    def _id_of_chunk(self, number: int) -> int:
        (id,) = self._conn.execute(CHUNK_BEFORE, (self._doc_id, number)).fetchone()
        return int(id)

    def _stored_after_last(self) -> Iterator[Sequence[Any]]:
        with closing(self._conn.execute(CHUNKS_NOW, (self._doc_id, self._last))) as stored:
            yield from stored

    def write(self, row: Mapping[str, Any], links: DocumentLinks = NO_LINKS) -> int | None:
        kept = self._conn.execute(KEPT, (self._doc_id, self._last)).fetchone()
        if kept != (self._kept, self._last or None):
            return None
        ids = [id for (id,) in self._conn.execute(AFTER, (self._doc_id, self._last))]
        self._embeddings.keep(ids)
        index = FTSIndex(self._conn)
        blocks.drop(self._conn, ids)
        first, metadata = self._conn.execute(FIRST_KEPT, (self._doc_id, self._last)).fetchone()
        titles = Links(self._conn).titles(self._doc_id)
        is_same = metadata == row["metadata"] and set(titles) == set(map(storable, links.titles))
        again = [first] if first and not is_same else []
        removed = index.remove(again + ids)
        self._conn.execute(
            "delete from chunks where doc_id = ? and id > ?", (self._doc_id, self._last)
        )
        self._conn.execute(PUT_DOCUMENT, _columns(row))
        remove_links(self._conn, [self._doc_id])
        put_links(self._conn, row, links)
        index.add_again(chunk_terms(self._conn, again))
        new = self._new
        if new and not self._last:
            names = titles_and_aliases(self._conn, self._doc_id)
            written = [WRITTEN(new[0][0])]
            [found] = terms(self._doc_id, self._collection, row["metadata"], written, names)
            new = [(new[0][0], found), *new[1:]]
        _put_chunks(self._conn, self._doc_id, new)
        index.purge(removed, (terms for _, terms in new))
        self._embeddings.restore()
        return len(new)


def _embedded(
    chunk: Mapping[str, Any], vectors: Vectors, placing: blocks.SlotAllocator
) -> dict[str, Any]:
    """The columns of a chunk's embedding; {} if it has none yet."""
    if chunk["content_hash"] not in vectors:
        return {}
    vector, truncated = vectors[chunk["content_hash"]]
    data = placing.normalized(chunk["chunk_id"], vector)
    if data is None:
        return {}
    return {"slot": placing.take(data), "embedding": data, "truncated": truncated}


def _put_chunks(
    conn: sqlite3.Connection, doc_id: str, chunks: Iterable[tuple[Mapping[str, Any], Terms]]
) -> None:
    """Write rows of `chunks` after those that the document has, and index them."""
    rows = list(chunks)
    (last,) = conn.execute(LAST_OF, (doc_id,)).fetchone()
    conn.executemany(
        PUT_CHUNK, ({**NOT_EMBEDDED, **chunk, "indexed": checksum(found)} for chunk, found in rows)
    )
    ids = (id for (id,) in conn.execute(AFTER, (doc_id, last)).fetchall())
    FTSIndex(conn).add(zip(ids, (found for _, found in rows), strict=True))


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as the table stores it. A text without a file gets its size, so that lists need not
    read the text.
    """
    if row["content"] is None:
        size = row["file_size"]
    else:
        size = len(row["content"].encode())
    row = {key: value for key, value in row.items() if key != "extract"}
    return {**row, "source_path": path_to_column(row["source_path"]), "file_size": size}


def _stored(row: tuple[str, str | bytes | None, float, int, bytes, str]) -> StoredDocument:
    if isinstance(row[1], bytes):
        row = (row[0], path_from_column(row[1]), *row[2:])
    return StoredDocument._make(row)
