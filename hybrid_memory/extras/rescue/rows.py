"""Read the records of a damaged database as documents, chunks and sources. What can be checked by a
hash or a length is checked. Read the stored texts of a file of a development version.
"""

import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from math import hypot
from typing import Any

from ...documents.document import embedded_text
from ...errors import StoreError
from ...storage.rows import Identity
from ...storage.sqlite.schema import DEVELOPMENT_ID, path_from_column
from ...storage.vector import FLOAT_BYTES, UNIT, decode_embedding
from ...text.characters import digest
from .pages import LOST, DamageError, Pages, Place, Record, record, records, tree

DOCUMENT = (
    "doc_id", "source_path", "file_mtime", "file_size", "content_hash", "collection", "date",
    "metadata", "chunking", "chunk_count", "indexed_at", "content",
)  # fmt: skip
CHUNK = (
    "id", "doc_id", "chunk_id", "heading", "heading_path", "content", "start_line", "end_line",
    "content_hash", "slot", "truncated", "date", "created_at", "embedding", "unembeddable", "indexed",
)  # fmt: skip
CHUNK_COLUMNS = (
    "doc_id",
    "chunk_id",
    "heading",
    "heading_path",
    "content",
    "start_line",
    "end_line",
    "content_hash",
    "date",
)
FOLDER = (
    "collection", "path", "is_file", "patterns", "exclude", "follow_symlinks", "keep_missing",
    "chunk_size", "chunk_overlap", "doc_id", "metadata",
)  # fmt: skip
IDENTITY = {"provider", "model", "dims"}
CHUNKING = re.compile(r"\d+\.\d+:(\d{1,9}):(\d{1,9})(?::.*)?")

PUT_SOURCE = (
    f"insert or ignore into folders ({', '.join(FOLDER)}) values ({', '.join('?' * len(FOLDER))})"
)
DEVELOPMENT_TEXTS = """
select doc_id, content, metadata from documents where source_path is null and content is not null
"""
# Tables and an index, by name
DOCUMENTS = "documents"
IDS = "sqlite_autoindex_documents_1"
FOLDERS = "folders"


def development_texts(path: str) -> Iterator[tuple[str, str, str]]:
    """Yield id, text and metadata (JSON) of each stored text of a file that a development version
    made.

    Yields nothing for any other file.
    """
    if not os.path.exists(path):
        return
    name = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")  # sqlite.org/uri.html
    with (
        closing(sqlite3.connect(f"file:{name}?mode=ro", uri=True)) as conn,
        suppress(sqlite3.DatabaseError),
    ):
        if conn.execute("pragma application_id").fetchone() == (DEVELOPMENT_ID,):
            yield from conn.execute(DEVELOPMENT_TEXTS)


class Rows:
    """Read every page of a damaged database once, and note where the rows are; long values
    are read when asked for.
    """

    def __init__(self, path: str, conn: sqlite3.Connection) -> None:
        """`conn` is the new store's. Raises StoreError if nothing can be read, or if somebody
        writes to the file.
        """
        self._path = path
        self._conn = conn
        try:
            self._pages = Pages(path)
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror}") from error
        try:
            self._read()
        except BaseException:
            self._pages.__exit__()
            raise

    def __enter__(self) -> "Rows":
        return self

    def __exit__(self, *_: object) -> None:
        self._pages.__exit__()

    def _read(self) -> None:
        before = self._pages.state()
        layouts = dict.fromkeys(self._pages.layouts())
        counts = {layout: self._look(layout) for layout in layouts}
        best = max(counts, key=lambda layout: counts[layout])
        if best != list(layouts)[-1]:
            self._look(best)
        self.knows_all_ids = self._is_whole(DOCUMENTS, _is_document) or self._is_whole(IDS, _is_id)
        self.knows_all_sources = self._is_whole(FOLDERS, _is_folder)
        if self._pages.state() != before:
            raise StoreError(
                f"{self._path} is being written by another process; try again when that is done"
            )
        if not (counts[best] or (self.knows_all_ids and self.knows_all_sources)):
            raise StoreError(
                f"nothing can be read of {self._path}; `hybrid-memory ingest --path DIR` makes a new memory"
            )

    def _look(self, layout: tuple[int, int]) -> int:
        """Read every page. Return the number of rows of ours."""
        self._pages.use(*layout)
        self.problems: list[str] = []
        if self._pages.wal_problem:
            self.problems.append(f"the newest changes: {self._pages.wal_problem}")
        self._roots: dict[str, int] = {}  # table or index -> its first page
        self._documents: dict[str, Place] = {}
        # Document -> number of the chunk -> where it is
        self._chunks: dict[str, dict[int, Place]] = {}
        self._counts: dict[str, int] = {}  # document -> how many chunks it has at least
        self._embeddings: dict[bytes, Place] = {}
        self._folders: dict[Place, list[Any]] = {}
        identities: list[Identity] = []
        for number in range(1, self._pages.count + 1):
            for row in records(self._pages, number):
                if row:
                    self._note(row, identities)
        self.identity: Identity | None = next(iter(identities), None)
        self._named = {str(row.values[0]) for row in self._tree(IDS) if row and _is_id(row)}
        self.embeddings = len(self._embeddings)
        return len(self._documents) + len(self._chunks) + len(self._folders)

    def _note(self, found: Record, identities: list[Identity]) -> None:
        place, values = found
        if (
            len(values) == 5
            and values[0] in ("table", "index")
            and isinstance(values[1], str)
            and isinstance(values[3], int)
        ):
            self._roots[values[1]] = values[3]
        elif _is_document(found):
            self._documents[str(values[0])] = place
            self._counts[str(values[0])] = max(
                self._counts.get(str(values[0]), 0), int(str(values[9]))
            )
        elif _is_chunk(found):
            self._note_chunk(place, dict(zip(CHUNK, values, strict=False)))
        elif (
            len(values) == 3
            and isinstance(values[2], int)
            and (number := _number_in_index(values[0], values[1])) is not None
        ):
            doc_id = str(values[0])
            self._counts[doc_id] = max(self._counts.get(doc_id, 0), number + 1)
        elif _is_folder(found):
            self._folders[place] = values
        elif len(values) == 2 and values[0] == "embeddings":
            with suppress(ValueError, TypeError):
                identity = json.loads(values[1])  # type: ignore[arg-type]
                if isinstance(identity, dict) and identity.keys() >= IDENTITY:
                    identities.append(identity)

    def _note_chunk(self, place: Place, row: dict[str, Any]) -> None:
        number = _number(row["doc_id"], row["chunk_id"])
        assert number is not None
        self._counts[row["doc_id"]] = max(self._counts.get(row["doc_id"], 0), number + 1)
        text = embedded_text(row["heading_path"], row["content"])
        if row["content_hash"] == digest(text.encode()):
            self._chunks.setdefault(row["doc_id"], {})[number] = place
        if _is_unit(row["embedding"]):
            self._embeddings[row["content_hash"]] = place

    def _tree(self, name: str) -> Iterator[Record | None]:
        if name not in self._roots:
            return iter([None])
        return tree(self._pages, self._roots[name])

    def _is_whole(self, name: str, is_row: Callable[[Record], bool]) -> bool:
        return all(row and is_row(row) for row in self._tree(name))

    def ids(self) -> list[str]:
        return sorted({*self._documents, *self._chunks, *self._counts, *self._named})

    def document(self, doc_id: str) -> dict[str, Any] | None:
        if doc_id not in self._documents:
            return None
        values = self._again(self._documents[doc_id])
        row: dict[str, Any] = dict(zip(DOCUMENT, values, strict=True))
        row["source_path"] = path_from_column(row["source_path"])
        if row["content"] is LOST:
            row["content"] = None
        return row

    def chunks(self, doc_id: str) -> list[dict[str, Any]]:
        rows = (
            dict(zip(CHUNK, self._again(place), strict=False))
            for _, place in sorted(self._chunks.get(doc_id, {}).items())
        )
        return [{key: row[key] for key in CHUNK_COLUMNS} for row in rows]

    def chunk_count(self, doc_id: str) -> int:
        return self._counts.get(doc_id, 0)

    def embedding(self, content_hash: bytes) -> tuple[bytes, bool] | None:
        if self.identity is None or content_hash not in self._embeddings:
            return None
        row = dict(zip(CHUNK, self._again(self._embeddings[content_hash]), strict=False))
        if _dims(row["embedding"]) != self.identity["dims"]:
            return None
        return row["embedding"], bool(row["truncated"])

    def put_sources(self) -> int:
        for values in self._folders.values():
            self._conn.execute(PUT_SOURCE, values)
        return len(self._folders)

    def _again(self, place: Place) -> list[Any]:
        try:
            return record(self._pages, place).values
        except (DamageError, IndexError) as error:
            raise StoreError(f"{self._path} has changed while it was read; try again") from error


def _is_document(found: Record) -> bool:
    """Return whether all of a document can be read but, perhaps, its text."""
    row = dict(zip(DOCUMENT, found.values, strict=False))
    return (
        len(found.values) == len(DOCUMENT)
        and all(isinstance(row[key], str) for key in ("doc_id", "metadata", "chunking"))
        and all(isinstance(row[key], kinds) for key, kinds in NULLABLE.items())
        and isinstance(row["chunk_count"], int)
        and _is_chunking(str(row["chunking"]))
        and isinstance(_json(row["metadata"]), dict)
        and (
            row["content"] is LOST
            or isinstance(row["content"], str)
            or row["source_path"] is not None
        )
    )


NULLABLE: dict[str, tuple[type, ...]] = {
    "source_path": (str, bytes, type(None)),
    "file_mtime": (int, float, type(None)),
    "file_size": (int, type(None)),
    "content_hash": (bytes, type(None)),
    "collection": (str, type(None)),
    "date": (str, type(None)),
}


def _is_chunk(found: Record) -> bool:
    """Return whether all of a chunk can be read but, perhaps, its embedding."""
    values = found.values
    return (
        len(values) == len(CHUNK)
        and values[0] is None  # the id, which is the rowid
        and all(isinstance(value, str) for value in values[1:6])
        and all(isinstance(value, int) for value in values[6:8])
        and isinstance(values[8], bytes)
        and isinstance(values[CHUNK.index("date")], str | None)
        and _number(values[1], values[2]) is not None
    )


def _is_id(found: Record) -> bool:
    return (
        len(found.values) == 2
        and isinstance(found.values[0], str)
        and isinstance(found.values[1], int)
    )


def _is_folder(found: Record) -> bool:
    row = dict(zip(FOLDER, found.values, strict=False))
    return (
        len(found.values) == len(FOLDER)
        and isinstance(row["collection"], str)
        and isinstance(row["path"], str | bytes)
        and "\0" not in str(path_from_column(row["path"]))
        and row["is_file"] in (0, 1)
        and _is_list_of_texts(row["patterns"])
        and _is_list_of_texts(row["exclude"])
        and all(row[key] in (0, 1) for key in ("follow_symlinks", "keep_missing"))
        and all(isinstance(row[key], int | None) for key in ("chunk_size", "chunk_overlap"))
        and isinstance(row["doc_id"], str | None)
        and isinstance(_json(row["metadata"]), dict)
        and LOST not in found.values
    )


def _is_chunking(text: str) -> bool:
    """Return whether a text can be cut so."""
    sizes = CHUNKING.fullmatch(text)
    return sizes is not None and int(sizes[2]) < int(sizes[1])


def sizes_in(chunking: str) -> tuple[int, int]:
    """Return chunk size and overlap of what `documents.document.chunking` gave."""
    _, size, overlap, *_ = chunking.split(":")
    return int(size), int(overlap)


def _is_list_of_texts(text: object) -> bool:
    items = _json(text)
    return isinstance(items, list) and all(isinstance(item, str) for item in items)


def _number(doc_id: object, chunk_id: object) -> int | None:
    """Return the number in a chunk's id: "a.md", "a.md-3" -> 3"""
    if not (isinstance(doc_id, str) and isinstance(chunk_id, str)):
        return None
    if not chunk_id.startswith(f"{doc_id}-"):
        return None
    number = chunk_id[len(doc_id) + 1 :]
    if number.isdecimal() and len(number) < 10:
        return int(number)
    return None


def _number_in_index(doc_id: object, chunk_id: object) -> int | None:
    """Return the same of an entry of the index by document, where the chunk's id is without the
    document's: "a.md", "-3" -> 3
    """
    if isinstance(chunk_id, str) and chunk_id.startswith("-"):
        chunk_id = f"{doc_id}{chunk_id}"
    return _number(doc_id, chunk_id)


def _json(text: object) -> Any:
    if not isinstance(text, str):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def _dims(embedding: object) -> int:
    if not isinstance(embedding, bytes) or len(embedding) % FLOAT_BYTES:
        return 0
    return len(embedding) // FLOAT_BYTES


def _is_unit(embedding: object) -> bool:
    if not _dims(embedding):
        return False
    return abs(hypot(*decode_embedding(embedding)) - 1) <= 2 * UNIT  # type: ignore[arg-type]
