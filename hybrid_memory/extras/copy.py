"""The command `copy`: copy a store to another one, also between engines: documents, chunks,
embeddings, and the settings of ingested folders.

Documents that the target already has are skipped, so an interrupted copy resumes where it stopped.
At the end every document is read from both stores and compared.

From a damaged database, the texts without a file can be copied alone: everything else can be
ingested again from the files.
"""

import os
from argparse import Namespace
from collections.abc import Callable
from shlex import quote
from typing import Any

from ..addresses import address_fault, is_server
from ..config import DEFAULTS
from ..documents.document import Document
from ..errors import StoreError, UsageError
from ..indexing.documents import put_document, stored_text
from ..messages import Progress
from ..storage.interface import Storage
from ..storage.rows import Vectors
from ..storage.source import Whole
from ..storage.sqlite.remains import Remains, SavedText, read_remains
from ..store import HybridStore
from ..surface import opening
from ..surface.arguments import Parser, examples
from ..surface.streams import print_answer, print_with_warnings
from ..surface.terminal import progress_line
from ..text.characters import storable
from .environment import without_password

GROUP = 64  # documents per transaction
CHUNKING = ("chunk_size", "chunk_overlap", "date_keys")  # settings for chunking and dates


def copy(
    source: HybridStore,
    target: HybridStore,
    progress: Callable[[Progress], None] = lambda progress: None,
) -> dict[str, Any]:
    """Copy all documents. Return the numbers of `documents`, `chunks` and `embeddings` compared,
    and of documents `written` by this call.

    Raises StoreError for a target with embeddings of another model, and if a copied document
    differs from its source.
    """
    identity = source.storage.embeddings.identity()
    identity_of_target = target.storage.embeddings.identity()
    if identity and identity_of_target and identity != identity_of_target:
        raise StoreError(
            f"{target.path} and {source.path} have embeddings of different models; "
            "copy to a new store"
        )
    with source.storage.snapshot():
        ids = sorted(source.storage.catalog.ids())
        written = 0
        for start in range(0, len(ids), GROUP):
            group = ids[start : start + GROUP]
            missing = _find_missing(source.storage, target.storage, group)
            if missing:
                _write(target.storage, missing, identity)
            written += len(missing)
            progress(Progress("documents", start + len(group), len(ids)))
        with target.storage.transaction():
            for folder in source.storage.sources.all():
                news = target.storage.sources.news(folder)
                if news:
                    target.storage.sources.remember(news)
            target.storage.embeddings.restore()  # builds the vector index once, for all embeddings
        return _compare(source, target, ids, progress) | {"written": written}


def _find_missing(storage: Storage, target: Storage, ids: list[str]) -> list[Whole]:
    """Return the documents that the target lacks, or has with other content."""
    documents = [storage.documents.whole(doc_id) for doc_id in ids]
    return [document for document in documents if document and not _has_equal(target, document)]


def _compare(
    source: HybridStore,
    target: HybridStore,
    ids: list[str],
    progress: Callable[[Progress], None],
) -> dict[str, int]:
    """Compare the documents of both stores and count them. Raises StoreError if one differs."""
    counts = {"documents": 0, "chunks": 0, "embeddings": 0}
    for number, doc_id in enumerate(ids, 1):
        document = source.storage.documents.whole(doc_id)
        if document is None or not _has_equal(target.storage, document):
            raise StoreError(f"the copy of {doc_id!r} differs; run the command again")
        hashes = [chunk["content_hash"] for chunk in document.prepared.chunks]
        counts["documents"] += 1
        counts["chunks"] += len(hashes)
        counts["embeddings"] += sum(digest in document.vectors for digest in hashes)
        progress(Progress("documents compared", number, len(ids)))
    return counts


def _write(storage: Storage, documents: list[Whole], identity: Any) -> None:
    with storage.transaction():
        has_vectors = any(document.vectors for document in documents)
        if identity and has_vectors and storage.embeddings.identity() is None:
            storage.embeddings.set_identity(identity)
        vectors: Vectors = {}
        for document in documents:
            vectors |= document.vectors
        storage.documents.put_all((document.prepared for document in documents), vectors)


def _has_equal(storage: Storage, document: Whole) -> bool:
    """Whether the store has this document with the same chunks and embeddings."""
    existing = storage.documents.whole(document.prepared.row["doc_id"])
    return existing is not None and _content(existing) == _content(document)


def _content(document: Whole) -> tuple[Any, ...]:
    row = document.prepared.row
    chunks = document.prepared.chunks
    links = document.prepared.links
    keys = ("content_hash", "collection", "date", "metadata", "chunking", "extract")
    return (
        [row[key] for key in keys],
        (sorted(links.titles), links.links, sorted(links.tags)),
        [
            (chunk["content_hash"], chunk["start_line"], chunk["end_line"], chunk["date"])
            for chunk in chunks
        ],
        document.vectors,
    )


def copy_texts(path: str, remains: Remains, target: HybridStore) -> dict[str, Any]:
    """Copy the texts recovered from the database at `path`. A text keeps its date; a damaged text
    does not replace one that the target has.

    Return the number of `documents`, the `damaged` ones with their `damage`, the `ingest` commands
    for the files, and `warnings`.
    """
    find = target.storage.catalog.by_id
    texts = [saved for saved in remains.texts if not (saved.damage and find(saved.doc_id))]
    for saved in texts:
        _put_text(target, saved)
    damaged = [saved for saved in texts if saved.damage]
    warnings = [f"{saved.doc_id} is damaged: {saved.damage}" for saved in damaged]
    if remains.problem:
        warnings.append(
            f"not all texts of {path} can be read: {remains.problem}; SQLite's shell may recover "
            f"more: `sqlite3 {quote(path)} .recover | (umask 077; sqlite3 recovered.db)`, then "
            f"`hybrid-memory copy --texts recovered.db {quote(without_password(target.path))}`"
        )
    return {
        "from": path,
        "to": target.path,
        "documents": len(texts),
        "damaged": [{"doc_id": saved.doc_id, "damage": saved.damage} for saved in damaged],
        "ingest": [source.command() for source in remains.sources],
        "warnings": warnings,
    }


def _put_text(target: HybridStore, saved: SavedText) -> None:
    document = Document(storable(saved.doc_id), storable(saved.text), saved.metadata)
    prepared = target.prepare(document)
    if not prepared.row["date"]:
        prepared = prepared._replace(row=prepared.row | {"date": saved.date})
    before = stored_text(target.storage, document.doc_id)
    put_document(target.storage, None, prepared, follows=before)


def copy_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] FROM TO"
    parser.add_argument("source", metavar="FROM", help="the database to copy")
    parser.add_argument(
        "target", metavar="TO", help="the database to copy to; it may contain part of the copy"
    )
    parser.add_argument(
        "--texts",
        action="store_true",
        help="copy only the texts without a file; works with a damaged SQLite file",
    )
    examples(
        parser,
        "copy ~/notes.db postgresql://ann@db.example/memory",
        "copy --texts damaged.db new.db",
    )


def run_copy(args: Namespace) -> int:
    settings = opening.settings(args)

    def open_database(path: str, *, create: bool) -> HybridStore:
        if is_server(path):
            space = settings["space"]
        else:
            space = DEFAULTS["space"]
        chunking = {key: settings[key] for key in CHUNKING}
        return HybridStore(path, {"space": space, "provider": "none", **chunking}, create=create)

    if args.texts:
        if is_server(args.source) or address_fault(args.source):
            raise UsageError("--texts works with SQLite files only")
        path = os.path.abspath(os.path.expanduser(args.source))
        remains = read_remains(path)
        with (
            open_database(args.target, create=True) as target,
            target.storage.guarded("cannot write"),
        ):
            answer = copy_texts(path, remains, target)
        is_complete = not answer["warnings"]
        print_with_warnings(args, answer)
        return 0 if is_complete else 1
    with (
        progress_line(args.quiet) as progress,
        open_database(args.source, create=False) as source,
        open_database(args.target, create=True) as target,
        source.storage.guarded(),
        target.storage.guarded("cannot write"),
    ):
        answer = {"from": source.path, "to": target.path, **copy(source, target, progress)}
    print_answer(args, answer)
    return 0
