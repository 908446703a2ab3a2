"""From a database of the first plan's schema, which has three tables and no number. Everything that it holds is kept.

    chunks(id, doc_id, chunk_id, heading, content, embedding, created_at)
    documents(doc_id, source_path, file_mtime, chunk_count, indexed_at)
    chunks_fts, an FTS5 table of these texts, which is built anew

`chunks` and `documents` may have a column `metadata`. A document without a file gets its text from its chunks. One with a file
counts as changed, so that the next ingest cuts it again and knows its lines; until then they are those of the joined chunks.
"""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from ....config import DEFAULTS
from ....documents.document import embedded_text
from ....embedding.prompts import templates
from ....text.characters import storable
from ....text.dates import document_date
from ....text.digest import digest
from ...vector import FLOAT_BYTES
from .. import schema
from ..embeddings import Embeddings
from ..keyword import FTSIndex
from ..marks.writing import fill
from ..written import of_document

CHUNKS = {"doc_id", "chunk_id", "heading", "content", "embedding"}  # columns that have to be there, and that may be
MAYBE_IN_CHUNKS = {"id", "created_at", "metadata"}
DOCUMENTS = {"doc_id"}
MAYBE_IN_DOCUMENTS = {"source_path", "file_mtime", "chunk_count", "indexed_at", "metadata"}

MODEL, DIMS = DEFAULTS["model"], DEFAULTS["dims"]  # of Ollama, as in the plan's configuration
CHUNKING = "0.0:512:50"  # the plan's sizes, and no cutter of this program
SHORTEST_OVERLAP, LONGEST_OVERLAP = 8, 500  # characters that end one chunk and begin the next
BATCH = 1000  # embeddings

TABLES = "select name, sql from sqlite_schema where type in ('table', 'view') and name not like 'sqlite_%'"
TRIGGERS = "select name from sqlite_schema where type = 'trigger'"
INDEXES = "select name from sqlite_schema where type = 'index' and sql is not null"
COLUMNS = "select lower(name) from pragma_table_info(?)"

IDS = "select doc_id from plan_documents union select doc_id from plan_chunks order by 1"
DOCUMENT = "select * from plan_documents where doc_id is ?"
PARTS = "select * from plan_chunks where doc_id is ? order by rowid"
EMBEDDING = "select embedding from plan_chunks where rowid = ?"
BY_DOCUMENT = "create index plan_by_document on plan_chunks (doc_id)"
PUT_DOCUMENT = """
insert into documents (doc_id, source_path, file_mtime, file_size, content_hash, date, metadata, chunking, chunk_count,
                       indexed_at, content)
values (:doc_id, :source_path, :file_mtime, :file_size, :content_hash, :date, :metadata, :chunking, :chunk_count,
        coalesce(:indexed_at, unixepoch('now')), :content)
"""
PUT_CHUNK = """
insert into chunks (doc_id, chunk_id, heading, heading_path, content, start_line, end_line, content_hash, created_at)
values (:doc_id, :chunk_id, :heading, :heading, :content, :start_line, :end_line, :content_hash,
        coalesce(:created_at, unixepoch('now')))
"""
EMBEDDED = """
select c.id, p.rowid
from   plan_chunks p join chunks c on c.doc_id = cast(p.doc_id as text) and c.chunk_id = cast(p.chunk_id as text)
where  typeof(p.embedding) = 'blob' and length(p.embedding) = ?
"""


def is_plans(conn: sqlite3.Connection) -> bool:
    """Whether the database has the plan's tables with the plan's columns, and no others."""
    tables = {name.lower(): sql or "" for name, sql in conn.execute(TABLES)}
    index = tables.pop("chunks_fts", "")
    if index and "fts5" not in index.lower():
        return False
    others = {name for name in tables if not (index and name.startswith("chunks_fts_"))}
    if others != {"chunks", "documents"}:
        return False
    chunks, documents = ({name for (name,) in conn.execute(COLUMNS, (table,))} for table in ("chunks", "documents"))
    return CHUNKS <= chunks <= CHUNKS | MAYBE_IN_CHUNKS and DOCUMENTS <= documents <= DOCUMENTS | MAYBE_IN_DOCUMENTS


def convert(conn: sqlite3.Connection) -> None:
    """Bring a database of the plan's to the tables of schema.py, inside a transaction."""
    for kind, found in (("trigger", TRIGGERS), ("index", INDEXES)):
        for (name,) in conn.execute(found).fetchall():
            conn.execute(f"drop {kind} {_quoted(name)}")
    conn.execute("drop table if exists chunks_fts")
    conn.execute("alter table chunks rename to plan_chunks")
    conn.execute("alter table documents rename to plan_documents")
    conn.execute(BY_DOCUMENT)
    schema.create_tables(conn)
    index = FTSIndex(conn)
    for (doc_id,) in conn.execute(IDS).fetchall():
        _convert_document(conn, doc_id)
    fill(conn)
    for (doc_id,) in conn.execute(IDS).fetchall():
        index.add_again(of_document(conn, _text(doc_id)))
    _convert_embeddings(conn)
    conn.execute("drop table plan_chunks")
    conn.execute("drop table plan_documents")


def _convert_document(conn: sqlite3.Connection, doc_id: Any) -> None:
    document = next(_rows(conn, DOCUMENT, doc_id), {})
    parts = list(_rows(conn, PARTS, doc_id))
    texts = [_text(part["content"]) for part in parts]
    whole, lines = _joined(texts)
    path = _path(document.get("source_path"))
    metadata = _metadata([document, *parts])
    row = {
        "doc_id": _text(doc_id),
        "source_path": schema.path_to_column(path),
        "file_mtime": _number(document.get("file_mtime")) if path else None,
        "file_size": 0 if path else len(whole.encode()),
        "content_hash": b"" if path else None,
        "date": document_date(_text(doc_id), metadata),
        "metadata": storable(json.dumps(metadata, ensure_ascii=False)),
        "chunking": CHUNKING,
        "chunk_count": len(parts),
        "indexed_at": _number(document.get("indexed_at")),
        "content": None if path else whole,
    }
    conn.execute(PUT_DOCUMENT, row)
    for part, text, (start_line, end_line) in zip(parts, texts, lines, strict=True):
        heading = _text(part["heading"])
        # The plan's model read the text without its heading.
        read = text if _is_usable(part["embedding"]) else embedded_text(heading, text)
        values = {
            "doc_id": _text(doc_id),
            "chunk_id": _text(part["chunk_id"]),
            "heading": heading,
            "content": text,
            "start_line": start_line,
            "end_line": end_line,
            "content_hash": digest(read.encode()),
            "created_at": _number(part.get("created_at")),
        }
        conn.execute(PUT_CHUNK, values)


def _convert_embeddings(conn: sqlite3.Connection) -> None:
    """Take over the embeddings that are the default model's, by their dimension. The others are left pending."""
    embeddings = Embeddings(conn)
    found = conn.execute(EMBEDDED, (DIMS * FLOAT_BYTES,)).fetchall()
    for at in range(0, len(found), BATCH):
        embeddings.put((id, *conn.execute(EMBEDDING, (row,)).fetchone(), False) for id, row in found[at : at + BATCH])
    if found:
        query, document = templates(MODEL)
        identity = {"provider": "ollama", "model": MODEL, "query_prompt": query, "document_prompt": document, "dims": DIMS}
        embeddings.set_identity(identity)


def _is_usable(embedding: Any) -> bool:
    return isinstance(embedding, bytes) and len(embedding) == DIMS * FLOAT_BYTES


def _rows(conn: sqlite3.Connection, statement: str, doc_id: Any) -> Iterator[dict[str, Any]]:
    cursor = conn.execute(statement, (doc_id,))
    names = [column[0].lower() for column in cursor.description]
    return (dict(zip(names, row, strict=True)) for row in cursor)


def _joined(texts: Iterable[str]) -> tuple[str, list[tuple[int, int]]]:
    """The texts as one, what the end of one and the beginning of the next have in common once; and the lines of each in it."""
    pieces: list[str] = []
    lines: list[tuple[int, int]] = []
    tail, last = "", 1
    for text in texts:
        longest = min(len(tail), len(text), LONGEST_OVERLAP)
        shared = next((n for n in range(longest, SHORTEST_OVERLAP - 1, -1) if tail.endswith(text[:n])), 0)
        if tail and not shared:
            pieces.append("\n\n")
            last += 2
        start = last - text.count("\n", 0, shared)
        last = start + text.count("\n")
        lines.append((start, last))
        pieces.append(text[shared:])
        tail = (tail + text[shared:])[-LONGEST_OVERLAP:]
    return "".join(pieces), lines


def _metadata(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The metadata of the document and its chunks; what is no JSON object is kept as a text."""
    found: dict[str, Any] = {}
    for row in rows:
        if raw := row.get("metadata"):
            try:
                value = json.loads(_text(raw))
            except (ValueError, RecursionError):
                value = _text(raw)
            found = (value if isinstance(value, dict) else {"metadata": value}) | found
    return found


def _path(value: Any) -> str | None:
    """An absolute path; None for one that is relative to a folder which nobody noted."""
    path = os.fsdecode(value) if isinstance(value, str | bytes) else ""
    return os.path.realpath(path) if path and (os.path.isabs(path) or os.path.exists(path)) else None


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else "" if value is None else str(value)


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
