"""The command `copy`: copy a store to another one, also between engines: documents, chunks,
embeddings, and the settings of ingested folders.

Documents that the target already has are skipped, so an interrupted copy resumes where it stopped.
At the end every document is read from both stores and compared. What cannot be read, in a damaged
database, is left out and named.
"""

import json
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from ..addresses import is_server
from ..config import DEFAULTS
from ..errors import StoreError
from ..messages import Progress
from ..storage.interface import Storage
from ..storage.prepared import DocumentExport
from ..storage.rows import Vectors
from ..store import HybridStore
from ..surface import opening
from ..surface.arguments import Parser, examples
from ..surface.streams import print_with_warnings
from ..surface.terminal import progress_line

GROUP = 64  # documents per transaction
CHUNKING = ("chunk_size", "chunk_overlap", "date_keys")  # settings for chunking and dates


def copy(
    source: HybridStore,
    target: HybridStore,
    progress: Callable[[Progress], None] = lambda progress: None,
    *,
    texts_only: bool = False,
) -> dict[str, Any]:
    """Copy all documents, or only the texts without a file. Return the numbers of `documents`,
    `chunks` and `embeddings` compared, and of documents `written` by this call; `warnings` name
    the documents that cannot be read.

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
        names = source.storage.catalog.names()
        ids = sorted(doc_id for doc_id, _, is_file in names if not (is_file and texts_only))
        written = 0
        warnings: list[str] = []
        for start in range(0, len(ids), GROUP):
            group = ids[start : start + GROUP]
            documents = [_read(source, doc_id, warnings) for doc_id in group]
            missing = [each for each in documents if each and not _has_equal(target, each)]
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
        counts = _compare(source, target, ids, progress)
    return counts | {"written": written, "warnings": warnings}


def _read(source: HybridStore, doc_id: str, warnings: list[str]) -> DocumentExport | None:
    """Read a document; None, and a warning, if it cannot be read."""
    try:
        with source.storage.guarded():
            document = source.storage.documents.whole(doc_id)
            if document:
                json.loads(document.prepared.row["metadata"])  # which nothing else here reads
            return document
    except StoreError as error:
        warnings.append(f"{doc_id} is left out: {error}")
        return None


def _compare(
    source: HybridStore,
    target: HybridStore,
    ids: list[str],
    progress: Callable[[Progress], None],
) -> dict[str, int]:
    """Compare the documents of both stores and count them. Raises StoreError if one differs."""
    counts = {"documents": 0, "chunks": 0, "embeddings": 0}
    for number, doc_id in enumerate(ids, 1):
        document = _read(source, doc_id, [])
        if document is None:
            continue
        if not _has_equal(target, document):
            raise StoreError(f"the copy of {doc_id!r} differs; run the command again")
        hashes = [chunk["content_hash"] for chunk in document.prepared.chunks]
        counts["documents"] += 1
        counts["chunks"] += len(hashes)
        counts["embeddings"] += sum(digest in document.vectors for digest in hashes)
        progress(Progress("documents compared", number, len(ids)))
    return counts


def _has_equal(store: HybridStore, document: DocumentExport) -> bool:
    """Whether the store has this document with the same chunks and embeddings."""
    existing = store.storage.documents.whole(document.prepared.row["doc_id"])
    return existing is not None and _content(existing) == _content(document)


def _write(storage: Storage, documents: list[DocumentExport], identity: Any) -> None:
    with storage.transaction():
        has_vectors = any(document.vectors for document in documents)
        if identity and has_vectors and storage.embeddings.identity() is None:
            storage.embeddings.set_identity(identity)
        vectors: Vectors = {}
        for document in documents:
            vectors |= document.vectors
        storage.documents.put_all((document.prepared for document in documents), vectors)


def _content(document: DocumentExport) -> tuple[Any, ...]:
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


def copy_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] FROM TO"
    parser.add_argument("source", metavar="FROM", help="the database to copy")
    parser.add_argument(
        "target", metavar="TO", help="the database to copy to; it may contain part of the copy"
    )
    parser.add_argument(
        "--texts",
        action="store_true",
        help="copy only the texts without a file",
    )
    examples(
        parser,
        "copy ~/notes.db postgresql://ann@db.example/memory",
        "copy --texts old.db new.db",
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

    with (
        progress_line(args.quiet) as progress,
        open_database(args.source, create=False) as source,
        open_database(args.target, create=True) as target,
        source.storage.guarded(),
        target.storage.guarded("cannot write"),
    ):
        found = copy(source, target, progress, texts_only=args.texts)
        answer = {"from": source.path, "to": target.path, **found}
    is_complete = not answer["warnings"]
    print_with_warnings(args, answer)
    return 0 if is_complete else 1
