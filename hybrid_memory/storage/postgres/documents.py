"""Write documents and chunks over all tables. Every method that writes needs a transaction."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...documents.document import Prepared
from ...documents.terms import Terms, terms
from ..rows import Vectors
from ..source import StoredDocument, is_in
from ..vector import encode_embedding
from ..whole import Whole, whole
from .chunks import text_of_chunks
from .connection import Connection
from .embeddings import Embeddings
from .here import from_column, here, to_column
from .keyword.postings import Postings
from .marks import writing as marks
from .marks.reading import Marks
from .schema import LOCK
from .selection import text

if TYPE_CHECKING:
    from .growing import GrowingDocument

PUT_DOCUMENTS = """
insert into documents (space, doc_id, source_path, host, file_mtime, file_size, content_hash, collection, date, metadata, content,
                       chunking, chunk_count)
select %(space)s, new.*
from   unnest(%(doc_id)s::text[], %(source_path)s::bytea[], %(host)s::text[], %(file_mtime)s::float8[], %(file_size)s::bigint[],
              %(content_hash)s::bytea[], %(collection)s::text[], %(date)s::text[], %(metadata)s::text[], %(content)s::text[],
              %(chunking)s::text[], %(chunk_count)s::int[]) new
on conflict (space, doc_id) do update
set source_path = excluded.source_path, host = excluded.host, file_mtime = excluded.file_mtime, file_size = excluded.file_size,
    content_hash = excluded.content_hash, collection = excluded.collection, date = excluded.date, metadata = excluded.metadata,
    content = excluded.content, chunking = excluded.chunking, chunk_count = excluded.chunk_count,
    indexed_at = extract(epoch from clock_timestamp())
returning doc_id, number
"""
DOCUMENT_COLUMNS = (
    "doc_id", "source_path", "host", "file_mtime", "file_size", "content_hash", "collection", "date", "metadata", "content",
    "chunking", "chunk_count",
)  # fmt: skip
PUT_EXTRACT = """
insert into extracts (document, space, pages, content) values (%(number)s, %(space)s, %(pages)s, %(content)s)
"""
DROP_EXTRACTS = "delete from extracts where document = any(%(numbers)s)"
PUT_CHUNKS = """
insert into chunks (id, space, document, chunk_id, heading, heading_path, content, start_line, end_line, content_hash, embedding,
                    truncated)
select %(first)s + row.place - 1, %(space)s, row.document, row.chunk_id, row.heading, row.heading_path, row.content,
       row.start_line, row.end_line, row.content_hash, row.embedding::vector, row.truncated
from   unnest(%(documents)s::bigint[], %(chunk_id)s::text[], %(heading)s::text[], %(heading_path)s::text[], %(content)s::text[],
              %(start_line)s::int[], %(end_line)s::int[], %(content_hash)s::bytea[], %(embeddings)s::text[],
              %(truncated)s::boolean[]) with ordinality
       row (document, chunk_id, heading, heading_path, content, start_line, end_line, content_hash, embedding, truncated, place)
"""
# Others take ids, too, for other spaces: the lock keeps those of a document together.
TAKE_IDS = """
select pg_advisory_lock(%(lock)s, -1), setval('chunk_ids', nextval('chunk_ids') + %(count)s - 1), pg_advisory_unlock(%(lock)s, -1)
"""
COLUMNS = ("chunk_id", "heading", "heading_path", "content", "start_line", "end_line", "content_hash")

HASHES_OF = """
select c.id, c.content_hash, d.doc_id from chunks c join documents d on d.number = c.document
where  d.space = %(space)s and d.doc_id = any(%(doc_ids)s)
"""
CHUNKS_OF = """
select c.id from chunks c join documents d on d.number = c.document where d.space = %(space)s and d.doc_id = any(%(doc_ids)s)
"""
DELETE_CHUNKS = "delete from chunks where id = any(%(ids)s)"
DELETE_DOCUMENTS = "delete from documents where space = %(space)s and doc_id = any(%(doc_ids)s)"
TOUCH = "update documents set file_mtime = %(mtime)s, file_size = %(size)s where space = %(space)s and doc_id = %(doc_id)s"

STORED = """
select doc_id, source_path, coalesce(file_mtime, 0), coalesce(file_size, 0), content_hash, chunking, host from documents
where  space = %(space)s
"""
OF_ID = f"{STORED} and doc_id = %(doc_id)s"
OF_IDS = f"{STORED} and doc_id = any(%(doc_ids)s)"
OF_COLLECTION = f"{STORED} and collection = %(collection)s and source_path is not null and host = %(host)s"
OF_FILES = f"{STORED} and source_path is not null and host = %(host)s"

WHOLE = """
select d.number, d.doc_id, case when d.host = %(host)s then d.source_path end as source_path, d.file_mtime, d.file_size,
       d.content_hash, d.collection, d.date, d.metadata, d.content, d.chunking, d.chunk_count, e.pages, e.content as extracted
from   documents d left join extracts e on e.document = d.number
where  d.space = %(space)s and d.doc_id = %(doc_id)s
"""
WHOLE_CHUNKS = """
select %(doc_id)s as doc_id, chunk_id, heading, heading_path, content, start_line, end_line, content_hash,
       embedding::real[] as embedding, truncated
from   chunks where document = %(number)s order by id
"""


class Documents:
    """Implements `protocol.Documents`."""

    def __init__(self, conn: Connection, space: int, embeddings: Embeddings, postings: Postings) -> None:
        self._conn, self._space, self._embeddings, self._postings = conn, space, embeddings, postings

    def get(self, doc_id: str) -> StoredDocument | None:
        row = self._conn.first(OF_ID, {"space": self._space, "doc_id": text(doc_id)})
        return _stored(row) if row else None

    def several(self, doc_ids: Sequence[str]) -> dict[str, StoredDocument]:
        stored = {text(doc_id): doc_id for doc_id in doc_ids}
        rows = self._conn.all(OF_IDS, {"space": self._space, "doc_ids": list(stored)})
        return {stored[row[0]]: _stored(row) for row in rows}

    def of_collection(self, collection: str) -> dict[str, StoredDocument]:
        rows = self._conn.all(OF_COLLECTION, {"space": self._space, "collection": text(collection), "host": here()})
        return {row[0]: _stored(row) for row in rows}

    def from_path(self, path: str) -> list[StoredDocument]:
        documents = map(_stored, self._conn.all(OF_FILES, {"space": self._space, "host": here()}))
        return [document for document in documents if document.path and is_in(document.path, path)]

    def whole(self, doc_id: str) -> Whole | None:
        documents = self._conn.dicts(WHOLE, {"space": self._space, "host": here(), "doc_id": text(doc_id)})
        if not documents:
            return None
        row = documents[0] | {"source_path": from_column(documents[0]["source_path"])}
        if row["source_path"] is None and row["content"] is None:  # its file is on another host
            known = row["extracted"]
            row["content"] = text_of_chunks(self._conn, row["number"]) if known is None else known
        chunks = self._conn.dicts(WHOLE_CHUNKS, {"number": row.pop("number"), "doc_id": row["doc_id"]})
        encoded = [each | {"embedding": encode_embedding(each["embedding"] or ())} for each in chunks]
        return whole(row, encoded, Marks(self._conn, self._space).found(doc_id))

    def put(self, prepared: Prepared, new_vectors: Vectors | None = None) -> None:
        """As in `protocol.Documents`."""
        self.put_all([prepared], new_vectors)

    def put_all(self, documents: Iterable[Prepared], new_vectors: Vectors | None = None) -> None:
        """As in `protocol.Documents`; documents of different ids are written together."""
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
        vectors = self._embeddings.known(key for each in documents for key in each.texts if key not in new_vectors) | new_vectors
        texts = {text(prepared.row["doc_id"]): prepared.texts for prepared in documents}
        before = self._conn.all(HASHES_OF, {"space": self._space, "doc_ids": list(texts)})
        self._embeddings.keep(id for id, content_hash, doc_id in before if bytes(content_hash) not in texts[doc_id])
        self.remove_chunks([id for id, *_ in before])
        numbers = self.put_rows([prepared.row for prepared in documents])
        of_rows = [(number, prepared.row, prepared.marks) for number, prepared in zip(numbers, documents, strict=True)]
        marks.put(self._conn, self._space, of_rows)
        found: list[Terms] = []
        for number, (row, chunks, _, of_document, _) in zip(numbers, documents, strict=True):
            if of_document is None:
                called = self._postings.called(number)
                of_document = list(terms(row["doc_id"], row["collection"], row["metadata"], texts_in(chunks), called))
            found += of_document
        of_chunks = [number for number, prepared in zip(numbers, documents, strict=True) for _ in prepared.chunks]
        self.put_chunks(of_chunks, [chunk for prepared in documents for chunk in prepared.chunks], found, vectors)

    def put_rows(self, rows: Sequence[Mapping[str, Any]]) -> list[int]:
        """Write the rows of documents, and their extracts. Gives their numbers."""
        written = [_columns(row) for row in rows]
        values: dict[str, Any] = {column: [row[column] for row in written] for column in DOCUMENT_COLUMNS}
        of_ids = dict(self._conn.all(PUT_DOCUMENTS, values | {"space": self._space}))
        numbers = [of_ids[row["doc_id"]] for row in written]
        self._conn.execute(DROP_EXTRACTS, {"numbers": numbers})
        for number, row in zip(numbers, rows, strict=True):
            if extract := row.get("extract"):
                pages = json.dumps(extract.pages) if extract.pages else None
                given = {"number": number, "space": self._space, "pages": pages, "content": text(extract.text)}
                self._conn.execute(PUT_EXTRACT, given)
        return numbers

    def put_chunks(
        self, numbers: Sequence[int], chunks: Sequence[Mapping[str, Any]], found: Iterable[Terms], vectors: Vectors
    ) -> None:
        """Write chunks of the documents that have these numbers, behind those that they have, and index them.

        `vectors` are the embeddings that are known of their texts, by content hash.
        """
        values = {
            column: [text(each) if isinstance(each := chunk[column], str) else each for chunk in chunks] for column in COLUMNS
        }
        ids: Sequence[int] = ()
        if chunks:
            last = self._conn.one(TAKE_IDS, {"lock": LOCK, "count": len(chunks)})[1]
            ids = range(last - len(chunks) + 1, last + 1)
            of_chunks = [vectors.get(chunk["content_hash"], (b"", False)) for chunk in chunks]
            with_embeddings = self._embeddings.written([data for data, _ in of_chunks])
            values |= {"documents": list(numbers), "embeddings": with_embeddings, "truncated": [cut for _, cut in of_chunks]}
            self._conn.execute(PUT_CHUNKS, values | {"first": ids[0], "space": self._space})
            self._embeddings.put_in(sum(each is not None for each in with_embeddings))
        self._postings.add(zip(ids, found, values["content"], strict=True))

    def remove(self, *doc_ids: str, keep: bool = False) -> int:
        parameters = {"space": self._space, "doc_ids": list(map(text, doc_ids))}
        ids = [id for (id,) in self._conn.all(CHUNKS_OF, parameters)]
        if keep:
            self._embeddings.keep(ids)
        self.remove_chunks(ids)
        self._conn.execute(DELETE_DOCUMENTS, parameters)
        return len(ids)

    def remove_chunks(self, ids: Sequence[int]) -> None:
        if ids:
            self._postings.remove(ids)
            self._conn.execute(DELETE_CHUNKS, {"ids": list(ids)})

    def purge(self) -> None:
        """Nothing to do: removed rows are gone from the index at once, and from the disk with the server's next vacuum."""

    def touch(self, doc_id: str, mtime: float, size: int) -> None:
        self._conn.execute(TOUCH, {"mtime": mtime, "size": size, "space": self._space, "doc_id": text(doc_id)})

    def growing(self, doc_id: str) -> "GrowingDocument":
        from .growing import GrowingDocument

        return GrowingDocument(self._conn, self._space, self._embeddings, self._postings, self, doc_id)


def texts_in(chunks: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Heading path and text of each."""
    return ((chunk["heading_path"], chunk["content"]) for chunk in chunks)


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as the table holds it; a text without a file has its size beside it, so that a list need not read the text."""
    size = row["file_size"] if row["content"] is None else len(row["content"].encode())
    path = to_column(row["source_path"])
    values = {**row, "source_path": path, "file_size": size, "host": None if path is None else here()}
    return {key: text(value) if isinstance(value, str) else value for key, value in values.items()}


def _stored(row: tuple[Any, ...]) -> StoredDocument:
    """The path of a file on another host begins with the name of that host, and so is that of no file here."""
    doc_id, path, mtime, size, content_hash, chunking, host = row
    name = from_column(path)
    if host is not None and host != here():
        name = f"{host}:{name}"
    return StoredDocument(doc_id, name, mtime, size, content_hash and bytes(content_hash), chunking)
