"""Write documents and chunks to all tables, completely or only what was added at the end."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...text.links import DocumentLinks
from ...text.terms import Terms, terms
from ..documents import Documents
from ..growing import WRITTEN, GrowingDocument
from ..prepared import DocumentExport, Prepared, whole
from ..rows import Vectors
from . import vectors as blocks
from .chunks import chunk_terms, titles_and_aliases
from .connection import SQLiteDatabase, path_from_column, path_to_column
from .embeddings import SQLiteEmbeddings
from .keyword import FTSIndex, checksum
from .links import Links, put_links, remove_links

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
LAST_OF = "select coalesce(max(id), 0) from chunks where doc_id = ?"
ADDED_AFTER = "select id from chunks where doc_id = ? and id > ? order by id"

STORED = "select doc_id, source_path, file_mtime, file_size, content_hash, chunking from documents"
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


class SQLiteDocuments(Documents):
    """The documents of a database file."""

    OF_ID = f"{STORED} where doc_id = :doc_id"
    OF_IDS = f"{STORED} where doc_id in (select value from json_each(:doc_ids))"
    OF_COLLECTION = f"{STORED} where collection = :collection and source_path is not null"
    OF_FILES = f"{STORED} where source_path is not null"
    IDS_IN = (
        "select doc_id from documents where collection = :collection and source_path is not null"
    )
    TEXTS_CUT_OTHERWISE = """
    select doc_id, chunking from documents where source_path is null and chunking <> :chunking
    order by doc_id
    """
    INDEXED_AT = "select indexed_at from documents where doc_id = :doc_id"
    SET_INDEXED_AT = "update documents set indexed_at = :indexed_at where doc_id = :doc_id"
    TOUCH = "update documents set file_mtime = :mtime, file_size = :size where doc_id = :doc_id"

    def __init__(self, database: SQLiteDatabase, embeddings: SQLiteEmbeddings) -> None:
        super().__init__(database)
        self._database = database
        self._conn = database.connection
        self._embeddings = embeddings

    def whole(self, doc_id: str) -> DocumentExport | None:
        documents = self._db.dicts(WHOLE, (doc_id,))
        if not documents:
            return None
        row = documents[0] | {"source_path": path_from_column(documents[0]["source_path"])}
        chunks = self._db.dicts(WHOLE_CHUNKS, (doc_id,))
        return whole(row, chunks, Links(self._db).links_to_copy(doc_id))

    def put_all(self, documents: Iterable[Prepared], new_vectors: Vectors | None = None) -> None:
        """As in `Documents`. A chunk is written with its embedding: adding that later
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

    def growing(self, doc_id: str, collection: str | None) -> GrowingDocument:
        return GrowingRows(self._database, self._embeddings, doc_id, collection)


class GrowingRows(GrowingDocument):
    """A document that grows, in a database file."""

    FIRST_DATE = """
    select date from chunks where doc_id = :doc_id and date is not null order by id limit 1
    """
    FROM_LAST = """
    select chunk_id, start_line, end_line, heading, date from chunks where doc_id = :doc_id
    order  by id desc
    """
    CHUNK_BEFORE = (
        "select id from chunks where doc_id = :doc_id order by id limit 1 offset :first - 1"
    )
    CHUNKS_NOW = """
    select id, chunk_id, heading, start_line, end_line, content_hash, date, role
    from   chunks
    where  doc_id = :doc_id and id > :last
    order  by id
    """
    KEPT = "select count(*), max(id) from chunks where doc_id = :doc_id and id <= :last"
    AFTER = "select id from chunks where doc_id = :doc_id and id > :last order by id"
    # The first chunk is also indexed by the metadata and the titles.
    FIRST_KEPT = """
    select min(c.id), d.metadata
    from   chunks c join documents d using (doc_id)
    where  c.doc_id = :doc_id and c.id <= :last
    """
    TITLES = Links.TITLES

    def __init__(
        self,
        database: SQLiteDatabase,
        embeddings: SQLiteEmbeddings,
        doc_id: str,
        collection: str | None,
    ) -> None:
        super().__init__(database, embeddings, doc_id, collection)
        self._conn = database.connection

    def _replace(
        self, row: Mapping[str, Any], links: DocumentLinks, again: list[int], after: list[int]
    ) -> None:
        index = FTSIndex(self._conn)
        blocks.drop(self._conn, after)
        removed = index.remove(again + after)
        self._conn.execute(
            "delete from chunks where doc_id = ? and id > ?", (self._doc_id, self._last)
        )
        self._conn.execute(PUT_DOCUMENT, _columns(row))
        remove_links(self._conn, [self._doc_id])
        put_links(self._conn, row, links)
        index.add_again(chunk_terms(self._conn, again))
        names = titles_and_aliases(self._conn, self._doc_id)
        new = self._with_names(row, names)
        _put_chunks(self._conn, self._doc_id, new)
        index.purge(removed, (found for _, found in new))


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
    ids = (id for (id,) in conn.execute(ADDED_AFTER, (doc_id, last)).fetchall())
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
