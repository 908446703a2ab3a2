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

PUT_DOCUMENT = """
insert into documents (space, doc_id, source_path, host, file_mtime, file_size, content_hash, collection, date, metadata, content,
                       chunking, chunk_count)
values (%(space)s, %(doc_id)s, %(source_path)s, %(host)s, %(file_mtime)s, %(file_size)s, %(content_hash)s, %(collection)s,
        %(date)s, %(metadata)s, %(content)s, %(chunking)s, %(chunk_count)s)
on conflict (space, doc_id) do update
set source_path = excluded.source_path, host = excluded.host, file_mtime = excluded.file_mtime, file_size = excluded.file_size,
    content_hash = excluded.content_hash, collection = excluded.collection, date = excluded.date, metadata = excluded.metadata,
    content = excluded.content, chunking = excluded.chunking, chunk_count = excluded.chunk_count,
    indexed_at = extract(epoch from clock_timestamp())
returning number
"""
PUT_EXTRACT = """
insert into extracts (document, space, pages, content) values (%(number)s, %(space)s, %(pages)s, %(content)s)
on conflict (document) do update set pages = excluded.pages, content = excluded.content
"""
DROP_EXTRACT = "delete from extracts where document = %(number)s"
PUT_CHUNKS = """
insert into chunks (id, document, space, chunk_id, heading, heading_path, content, start_line, end_line, content_hash)
select %(first)s + row.place - 1, %(number)s, %(space)s, row.chunk_id, row.heading, row.heading_path, row.content, row.start_line,
       row.end_line, row.content_hash
from   unnest(%(chunk_id)s::text[], %(heading)s::text[], %(heading_path)s::text[], %(content)s::text[], %(start_line)s::int[],
              %(end_line)s::int[], %(content_hash)s::bytea[]) with ordinality
       row (chunk_id, heading, heading_path, content, start_line, end_line, content_hash, place)
"""
# Others take ids, too, for other spaces: the lock keeps those of a document together.
TAKE_IDS = """
select pg_advisory_lock(%(lock)s, -1), setval('chunk_ids', nextval('chunk_ids') + %(count)s - 1), pg_advisory_unlock(%(lock)s, -1)
"""
COLUMNS = ("chunk_id", "heading", "heading_path", "content", "start_line", "end_line", "content_hash")

HASHES_OF = """
select c.id, c.content_hash from chunks c join documents d on d.number = c.document
where  d.space = %(space)s and d.doc_id = %(doc_id)s
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
        """As in `protocol.Documents`."""
        vectors = dict(new_vectors or {})  # what a document loses here may be the embedding of a later one
        items: list[tuple[int, bytes, bool]] = []
        for prepared in documents:
            vectors |= self._embeddings.known(key for key in prepared.texts if key not in vectors)
            ids = self._put(prepared)
            hashes = (chunk["content_hash"] for chunk in prepared.chunks)
            items += [(id, *vectors[key]) for id, key in zip(ids, hashes, strict=True) if key in vectors]
        if items:
            self._embeddings.put(items)

    def _put(self, prepared: Prepared) -> Sequence[int]:
        """Write a document and its chunks without their embeddings. Gives the ids of the chunks."""
        row, doc_id = prepared.row, prepared.row["doc_id"]
        before = self._conn.all(HASHES_OF, {"space": self._space, "doc_id": text(doc_id)})
        self._embeddings.keep(id for id, content_hash in before if bytes(content_hash) not in prepared.texts)
        self.remove_chunks([id for id, _ in before])
        number = self.put_row(row)
        marks.put(self._conn, self._space, number, row, prepared.marks)
        found: Iterable[Terms] | None = prepared.terms
        if found is None:
            found = terms(doc_id, row["collection"], row["metadata"], texts_in(prepared.chunks), self._postings.called(number))
        return self.put_chunks(number, prepared.chunks, found)

    def put_row(self, row: Mapping[str, Any]) -> int:
        """Write the row of a document, and its extract. Gives its number."""
        values = {
            key: text(value) if isinstance(value, str) and key != "source_path" else value for key, value in _columns(row).items()
        }
        number = int(self._conn.one(PUT_DOCUMENT, values | {"space": self._space})[0])
        extract = row.get("extract")
        if extract is None:
            self._conn.execute(DROP_EXTRACT, {"number": number})
        else:
            pages = json.dumps(extract.pages) if extract.pages else None
            given = {"number": number, "space": self._space, "pages": pages, "content": text(extract.text)}
            self._conn.execute(PUT_EXTRACT, given)
        return number

    def put_chunks(self, number: int, chunks: Sequence[Mapping[str, Any]], found: Iterable[Terms]) -> Sequence[int]:
        """Write chunks of the document that has this number, behind those that it has, and index them. Gives their ids."""
        values = {
            column: [text(each) if isinstance(each := chunk[column], str) else each for chunk in chunks] for column in COLUMNS
        }
        ids: Sequence[int] = ()
        if chunks:
            last = self._conn.one(TAKE_IDS, {"lock": LOCK, "count": len(chunks)})[1]
            ids = range(last - len(chunks) + 1, last + 1)
            self._conn.execute(PUT_CHUNKS, values | {"first": ids[0], "number": number, "space": self._space})
        self._postings.add(zip(ids, found, values["content"], strict=True))
        return ids

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
    return {**row, "source_path": path, "file_size": size, "host": None if path is None else here()}


def _stored(row: tuple[Any, ...]) -> StoredDocument:
    """The path of a file on another host begins with the name of that host, and so is that of no file here."""
    doc_id, path, mtime, size, content_hash, chunking, host = row
    name = from_column(path)
    if host is not None and host != here():
        name = f"{host}:{name}"
    return StoredDocument(doc_id, name, mtime, size, content_hash and bytes(content_hash), chunking)
