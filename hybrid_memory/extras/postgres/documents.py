"""Write documents and chunks to all tables. Every method that writes needs a transaction.

If a document grows at its end, such as a transcript, only the new part is written.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...storage.documents import Documents
from ...storage.encoding import encode_embedding
from ...storage.growing import WRITTEN, GrowingDocument
from ...storage.links import FILE, names_of
from ...storage.prepared import DocumentExport, Prepared, whole
from ...storage.rows import Vectors
from ...text.equality import spelled
from ...text.links import DocumentLinks
from ...text.terms import Terms, terms
from .chunks import OF_DOCUMENT, Links, put_links, text_of_chunks
from .connection import LOCK
from .database import (
    SpaceDatabase,
    from_column,
    here,
    text,
    to_column,
)
from .embeddings import PostgresEmbeddings
from .postings import Postings


def _terms(prepared: Prepared) -> list[Terms]:
    """The terms of each chunk of a document for the keyword index."""
    if prepared.terms is not None:
        return prepared.terms
    row = prepared.row
    names = [name for _, kind, name in names_of(row, prepared.links) if kind != FILE]
    written = map(WRITTEN, prepared.chunks)
    return list(terms(row["doc_id"], row["collection"], row["metadata"], written, names))


PUT_DOCUMENTS = """
insert into documents (space, doc_id, spelled_id, source_path, host, file_mtime, file_size, content_hash,
                       collection, date, metadata, content, chunking, chunk_count)
select %(space)s, new.*
from   unnest(%(doc_id)s::text[], %(spelled_id)s::text[], %(source_path)s::bytea[], %(host)s::text[],
              %(file_mtime)s::float8[], %(file_size)s::bigint[], %(content_hash)s::bytea[],
              %(collection)s::text[], %(date)s::text[], %(metadata)s::text[], %(content)s::text[],
              %(chunking)s::text[], %(chunk_count)s::int[]) new
on conflict (space, doc_id) do update
set source_path = excluded.source_path, host = excluded.host, file_mtime = excluded.file_mtime,
    file_size = excluded.file_size, content_hash = excluded.content_hash, collection = excluded.collection,
    date = excluded.date, metadata = excluded.metadata, content = excluded.content,
    chunking = excluded.chunking, chunk_count = excluded.chunk_count,
    indexed_at = extract(epoch from clock_timestamp())
returning doc_id, number
"""
DOCUMENT_COLUMNS = (
    "doc_id",
    "spelled_id",
    "source_path",
    "host",
    "file_mtime",
    "file_size",
    "content_hash",
    "collection",
    "date",
    "metadata",
    "content",
    "chunking",
    "chunk_count",
)
PUT_EXTRACT = """
insert into extracts (document, space, pages, content) values (%(number)s, %(space)s, %(pages)s, %(content)s)
"""
DROP_EXTRACTS = "delete from extracts where space = %(space)s and document = any(%(numbers)s)"
PUT_CHUNKS = """
insert into chunks (id, space, document, chunk_id, heading, heading_path, content, items, start_line,
                    end_line, content_hash, date, role, embedding, truncated)
select %(first)s + row.place - 1, %(space)s, row.document, row.chunk_id, row.heading, row.heading_path,
       row.content, row.items, row.start_line, row.end_line, row.content_hash, row.date, row.role,
       row.embedding, row.truncated
from   unnest(%(documents)s::bigint[], %(chunk_id)s::text[], %(heading)s::text[], %(heading_path)s::text[],
              %(content)s::text[], %(items)s::text[], %(start_line)s::int[], %(end_line)s::int[],
              %(content_hash)s::bytea[], %(date)s::text[], %(role)s::text[], %(embeddings)s::vector[],
              %(truncated)s::boolean[])
       with ordinality row (document, chunk_id, heading, heading_path, content, items, start_line,
                            end_line, content_hash, date, role, embedding, truncated, place)
"""
# Writers to other spaces take ids, too; the lock keeps the ids of a document together.
TAKE_IDS = """
select pg_advisory_lock(%(lock)s, -1), setval('chunk_ids', nextval('chunk_ids') + %(count)s - 1),
       pg_advisory_unlock(%(lock)s, -1)
"""
COLUMNS = (
    "chunk_id",
    "heading",
    "heading_path",
    "content",
    "items",
    "start_line",
    "end_line",
    "content_hash",
    "date",
    "role",
)

# What `unchanged_start` compares. may_stay is false if the model refused the text and is asked
# again.
CHUNKS_BEFORE = """
select c.document, c.id, c.content_hash, c.embedding is not null as embedded, not c.unembeddable as may_stay,
       c.chunk_id, c.heading, c.heading_path, c.items, c.start_line, c.end_line, c.date, c.role,
       w.written[1:3]
from   chunks c left join words w on w.space = c.space and w.chunk = c.id
where  c.space = %(space)s and c.document = any(%(numbers)s)
order by c.document, c.id
"""
STAYING = ("chunk_id", "heading", "heading_path", "items", "start_line", "end_line", "date", "role")
CHUNKS_OF = """
select c.id from chunks c join documents d on d.space = c.space and d.number = c.document
where  d.space = %(space)s and d.doc_id = any(%(doc_ids)s)
"""
DELETE_CHUNKS = "delete from chunks where space = %(space)s and id = any(%(ids)s)"
DELETE_DOCUMENTS = "delete from documents where space = %(space)s and doc_id = any(%(doc_ids)s)"
# A path on another host gets the host's name in front, so that it does not match any file here
STORED = """
select doc_id,
       case when host <> %(host)s then convert_to(host || ':', 'utf8') || source_path else source_path end,
       coalesce(file_mtime, 0), coalesce(file_size, 0), content_hash, chunking
from   documents
where  space = %(space)s
"""
WHOLE = """
select d.doc_id, case when d.host = %(host)s then d.source_path end as source_path, d.file_mtime,
       d.file_size, d.content_hash, d.collection, d.date, d.metadata, d.content, d.chunking, d.chunk_count,
       e.pages, e.content as extracted
from   documents d left join extracts e on e.space = d.space and e.document = d.number
where  d.space = %(space)s and d.doc_id = %(doc_id)s
"""
WHOLE_CHUNKS = f"""
select %(doc_id)s as doc_id, chunk_id, heading, heading_path, content, items, start_line, end_line,
       content_hash, date, role, embedding::real[] as embedding, truncated
from   chunks where {OF_DOCUMENT} order by id
"""


class PostgresDocuments(Documents):
    """The documents of a space."""

    OF_ID = f"{STORED} and doc_id = %(doc_id)s"
    OF_IDS = f"{STORED} and doc_id = any(%(doc_ids)s)"
    OF_FILES = f"{STORED} and source_path is not null and host = %(host)s"
    OF_COLLECTION = f"{OF_FILES} and collection = %(collection)s"
    IDS_IN = """
    select doc_id from documents
    where  space = %(space)s and collection = %(collection)s and source_path is not null and host = %(host)s
    """
    TEXTS_CUT_OTHERWISE = """
    select doc_id, chunking from documents
    where  space = %(space)s and source_path is null and chunking <> %(chunking)s order by doc_id
    """
    INDEXED_AT = """
    select indexed_at from documents where space = %(space)s and doc_id = %(doc_id)s
    """
    SET_INDEXED_AT = """
    update documents set indexed_at = %(indexed_at)s where space = %(space)s and doc_id = %(doc_id)s
    """
    TOUCH = """
    update documents set file_mtime = %(mtime)s, file_size = %(size)s where space = %(space)s
    and    doc_id = %(doc_id)s
    """

    def __init__(
        self, database: SpaceDatabase, embeddings: PostgresEmbeddings, postings: Postings
    ) -> None:
        super().__init__(database)
        self._database = database
        self._embeddings = embeddings
        self._postings = postings

    def whole(self, doc_id: str) -> DocumentExport | None:
        documents = self._db.dicts(WHOLE, {"doc_id": doc_id})
        if not documents:
            return None
        row = documents[0] | {"source_path": from_column(documents[0]["source_path"])}
        if row["source_path"] is None and row["content"] is None:  # its file is on another host
            known = row["extracted"]
            if known is None:
                known = text_of_chunks(self._database, doc_id)
            row["content"] = known
        encoded = [
            each | {"embedding": encode_embedding(each["embedding"] or ())}
            for each in self._db.dicts(WHOLE_CHUNKS, {"doc_id": doc_id})
        ]
        return whole(row, encoded, Links(self._db).links_to_copy(doc_id))

    def put_all(self, documents: Iterable[Prepared], new_vectors: Vectors | None = None) -> None:
        """As in `Documents`. Documents with different ids are written together."""
        together: dict[str, Prepared] = {}
        for prepared in documents:
            doc_id = text(prepared.row["doc_id"])
            if doc_id in together:
                self._put(list(together.values()), new_vectors or {})
                together = {}
            together[doc_id] = prepared
        if together:
            self._put(list(together.values()), new_vectors or {})

    def _put(self, documents: Sequence[Prepared], new_vectors: Vectors) -> None:
        known = self._embeddings.known(
            key for each in documents for key in each.texts if key not in new_vectors
        )
        numbers = self.put_rows([prepared.row for prepared in documents])
        stored: defaultdict[int, list[StoredChunk]] = defaultdict(list)
        for row in self._db.all(CHUNKS_BEFORE, {"numbers": numbers}):
            stored[row[0]].append(StoredChunk(*row[1:]))
        gone: list[int] = []
        leaving: list[int] = []
        of_chunks: list[int] = []
        chunks: list[dict[str, Any]] = []
        found: list[Terms] = []
        for number, prepared in zip(numbers, documents, strict=True):
            before = stored[number]
            of_document = _terms(prepared)
            kept = unchanged_start(before, prepared.chunks, of_document, known, new_vectors)
            gone += [chunk.id for chunk in before[kept:]]
            leaving += [
                chunk.id for chunk in before[kept:] if chunk.content_hash not in prepared.texts
            ]
            of_chunks += [number] * (len(prepared.chunks) - kept)
            chunks += prepared.chunks[kept:]
            found += of_document[kept:]
        self._embeddings.keep(leaving)
        self.remove_chunks(gone)
        ids = self.new_ids(len(chunks))
        of_rows = [
            (number, prepared.row, prepared.links)
            for number, prepared in zip(numbers, documents, strict=True)
        ]
        put_links(self._database, of_rows)
        self.put_chunks(ids, of_chunks, chunks, known | new_vectors)
        self.index(ids, found, chunks)

    def put_rows(self, rows: Sequence[Mapping[str, Any]]) -> list[int]:
        """Write the rows of documents, and their extracts. Returns their numbers."""
        written = [_columns(row) for row in rows]
        values: dict[str, Any] = {
            column: [row[column] for row in written] for column in DOCUMENT_COLUMNS
        }
        of_ids = dict(self._db.all(PUT_DOCUMENTS, values))
        numbers = [of_ids[row["doc_id"]] for row in written]
        self._db.run(DROP_EXTRACTS, {"numbers": numbers})
        for number, row in zip(numbers, rows, strict=True):
            if extract := row.get("extract"):
                pages = None
                if extract.pages:
                    pages = json.dumps(extract.pages)
                given = {"number": number, "pages": pages, "content": extract.text}
                self._db.run(PUT_EXTRACT, given)
        return numbers

    def new_ids(self, count: int) -> Sequence[int]:
        """Reserve consecutive ids for `count` chunks."""
        if not count:
            return ()
        [(_, last, _)] = self._db.all(TAKE_IDS, {"lock": LOCK, "count": count})
        return range(last - count + 1, last + 1)

    def put_chunks(
        self,
        ids: Sequence[int],
        numbers: Sequence[int],
        chunks: Sequence[Mapping[str, Any]],
        vectors: Vectors,
    ) -> None:
        """Write chunks with consecutive ids, after the chunks that the documents with these numbers
        have.

        `vectors` are the known embeddings of their texts, by content hash.
        """
        if not ids:
            return
        of_chunks = [vectors.get(chunk["content_hash"], (b"", False)) for chunk in chunks]
        embeddings = self._embeddings.as_vectors([data for data, _ in of_chunks])
        values: dict[str, Any] = {
            column: [_cleaned(chunk[column]) for chunk in chunks] for column in COLUMNS
        }
        values |= {
            "documents": list(numbers),
            "embeddings": embeddings,
            "truncated": [cut for _, cut in of_chunks],
        }
        self._db.run(PUT_CHUNKS, values | {"first": ids[0]})

    def index(
        self, ids: Sequence[int], found: Iterable[Terms], chunks: Iterable[Mapping[str, Any]]
    ) -> None:
        """Add chunks to the keyword index."""
        contents = (text(chunk["content"]) for chunk in chunks)
        self._postings.add(zip(ids, found, contents, strict=True))

    def remove(self, *doc_ids: str, keep: bool = False) -> int:
        parameters = {"doc_ids": self._db.encode_list(doc_ids)}
        ids = list(self._db.column(CHUNKS_OF, parameters))
        if keep:
            self._embeddings.keep(ids)
        self.remove_chunks(ids)
        self._db.run(DELETE_DOCUMENTS, parameters)
        return len(ids)

    def remove_chunks(self, ids: Sequence[int]) -> None:
        if ids:
            self._postings.remove(ids)
            self._db.run(DELETE_CHUNKS, {"ids": list(ids)})

    def growing(self, doc_id: str, collection: str | None) -> GrowingDocument:
        return GrowingRows(
            self._database, self._embeddings, self._postings, self, doc_id, collection
        )


OF_GROWING = """
from   chunks c join documents d on d.space = c.space and d.number = c.document
where  d.space = %(space)s and d.doc_id = %(doc_id)s
"""


class GrowingRows(GrowingDocument):
    """A document that grows, in these tables."""

    FIRST_DATE = f"select c.date {OF_GROWING} and c.date is not null order by c.id limit 1"
    FROM_LAST = f"""
    select c.chunk_id, c.start_line, c.end_line, c.heading, c.date {OF_GROWING} order by c.id desc
    """
    CHUNK_BEFORE = f"select c.id {OF_GROWING} order by c.id limit 1 offset %(first)s - 1"
    CHUNKS_NOW = f"""
    select c.id, c.chunk_id, c.heading, c.start_line, c.end_line, c.content_hash, c.date, c.role
    {OF_GROWING} and c.id > %(last)s order by c.id
    """
    KEPT = f"select count(*), max(c.id) {OF_GROWING} and c.id <= %(last)s"
    AFTER = f"select c.id {OF_GROWING} and c.id > %(last)s"
    # The first chunk is also indexed by the metadata and the titles.
    FIRST_KEPT = f"""
    select min(c.id), d.metadata {OF_GROWING} and c.id <= %(last)s group by d.metadata
    """
    TITLES = Links.TITLES

    def __init__(
        self,
        database: SpaceDatabase,
        embeddings: PostgresEmbeddings,
        postings: Postings,
        documents: PostgresDocuments,
        doc_id: str,
        collection: str | None,
    ) -> None:
        super().__init__(database, embeddings, doc_id, collection)
        self._database = database
        self._postings = postings
        self._documents = documents

    def _replace(
        self, row: Mapping[str, Any], links: DocumentLinks, again: list[int], after: list[int]
    ) -> None:
        for first in again:
            self._postings.take_out(first)
        self._documents.remove_chunks(after)
        [number] = self._documents.put_rows([row])
        put_links(self._database, [(number, row, links)])
        self._postings.add_again(again)
        new = self._with_names(row, self._postings.titles_and_aliases(number))
        chunks = [chunk for chunk, _ in new]
        ids = self._documents.new_ids(len(new))
        self._documents.put_chunks(ids, [number] * len(new), chunks, {})
        self._documents.index(ids, [found for _, found in new], chunks)


class StoredChunk(NamedTuple):
    """A row of CHUNKS_BEFORE."""

    id: int
    content_hash: bytes
    embedded: bool
    may_stay: bool
    chunk_id: str
    heading: str
    heading_path: str
    items: str
    start_line: int
    end_line: int
    date: str | None
    role: str | None
    indexed: list[str] | None  # heading, content and context


def unchanged_start(
    stored: Sequence[StoredChunk],
    chunks: Sequence[Mapping[str, Any]],
    found: Sequence[Terms],
    known: Vectors,
    new_vectors: Vectors,
) -> int:
    """The number of chunks at the beginning of a document that can stay as they are stored: in
    every column, in the index, and in the embedding, which must be known and not new.

    Chunks after the first change are written again, because ids follow the order of the text.
    """
    count = 0
    for before, chunk, of_chunk in zip(stored, chunks, found, strict=False):
        content_hash = chunk["content_hash"]
        same = (
            before.may_stay
            and content_hash not in new_vectors
            and before.embedded == (content_hash in known)
            and before.content_hash == content_hash
            and before.indexed == list(of_chunk)
            and all(getattr(before, column) == _cleaned(chunk[column]) for column in STAYING)
        )
        if not same:
            break
        count += 1
    return count


def _cleaned(value: Any) -> Any:
    """The value of a column without what the server cannot store."""
    if isinstance(value, str):
        return text(value)
    return value


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as the table stores it. A text without a file gets its size, so that lists need not
    read the text.
    """
    if row["content"] is None:
        size = row["file_size"]
    else:
        size = len(row["content"].encode())
    path = to_column(row["source_path"])
    values = {
        **row,
        "spelled_id": spelled(text(row["doc_id"])),
        "source_path": path,
        "file_size": size,
        "host": None if path is None else here(),
    }
    return {key: _cleaned(value) for key, value in values.items()}
