"""Copy a store into another one, whatever their engines: documents, chunks, embeddings, and what is
known of their folders.

What the other store has already is not written again, so a copy that was interrupted goes on where
it was. In the end every document is read from both stores and compared.
"""

import json
import os
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from ..config import DEFAULTS, is_server
from ..errors import StoreError
from ..messages import Progress
from ..storage.protocol import Storage
from ..storage.source import Whole
from ..storage.sqlite.connection import development_texts
from ..store import HybridStore
from ..surface import opening
from ..surface.arguments import Parser, examples
from ..surface.streams import print_answer

GROUP = 64  # documents in a transaction


def copy(
    source: HybridStore,
    target: HybridStore,
    progress: Callable[[Progress], None] = lambda progress: None,
) -> dict[str, Any]:
    """Counts of `documents`, `chunks` and `embeddings` that were compared, and of documents
    `written` this time.

    Raises StoreError for a target with embeddings of another model, and for a document that is not
    the same after all.
    """
    identity, theirs = source.storage.embeddings.identity(), target.storage.embeddings.identity()
    if identity and theirs and identity != theirs:
        raise StoreError(
            f"{target.path} has embeddings of another model than {source.path}; copy to a new store"
        )
    with source.storage.snapshot():
        ids = sorted(source.storage.catalog.ids())
        written = 0
        for start in range(0, len(ids), GROUP):
            some = ids[start : start + GROUP]
            lacking = [
                each
                for doc_id in some
                if (each := source.storage.documents.whole(doc_id))
                and not _has(target.storage, each)
            ]
            if lacking:
                _write(target.storage, lacking, identity)
            written += len(lacking)
            progress(Progress("documents", start + len(some), len(ids)))
        with target.storage.transaction():
            for one in source.storage.sources.all():
                if news := target.storage.sources.news(one):
                    target.storage.sources.remember(news)
        found = {"documents": 0, "chunks": 0, "embeddings": 0, "written": written}
        for number, doc_id in enumerate(ids, 1):
            whole = source.storage.documents.whole(doc_id)
            if whole is None or not _has(target.storage, whole):
                raise StoreError(f"the copy of {doc_id!r} is not the same; run the command again")
            found["documents"] += 1
            found["chunks"] += len(whole.prepared.chunks)
            found["embeddings"] += sum(
                chunk["content_hash"] in whole.vectors for chunk in whole.prepared.chunks
            )
            progress(Progress("documents compared", number, len(ids)))
    return found


def _write(storage: Storage, documents: list[Whole], identity: Any) -> None:
    with storage.transaction():
        if (
            identity
            and storage.embeddings.identity() is None
            and any(each.vectors for each in documents)
        ):
            storage.embeddings.set_identity(identity)
        for prepared, vectors in documents:
            storage.documents.put(prepared, vectors)


def _has(storage: Storage, whole: Whole) -> bool:
    """Whether the store has the document with the same chunks and embeddings."""
    own = storage.documents.whole(whole.prepared.row["doc_id"])
    return own is not None and _content(own) == _content(whole)


def _content(whole: Whole) -> tuple[Any, ...]:
    row, chunks, *_, links = whole.prepared
    described = tuple(
        row[key]
        for key in ("content_hash", "collection", "date", "metadata", "chunking", "extract")
    )
    marked = sorted(links.titles), links.links, sorted(links.tags)
    return (
        described,
        marked,
        [
            (chunk["content_hash"], chunk["start_line"], chunk["end_line"], chunk["date"])
            for chunk in chunks
        ],
        whole.vectors,
    )


def copy_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] FROM TO"
    parser.add_argument("source", metavar="FROM", help="the database that is copied")
    parser.add_argument(
        "target", metavar="TO", help="the other database, which may have a part of the copy already"
    )
    examples(
        parser,
        "copy ~/notes.db postgresql://ann@db.example/memory",
        "copy postgresql://ann@db.example/memory new.db",
    )


def run_copy(args: Namespace) -> int:
    from ..surface.terminal import progress_line

    settings = opening.settings(args)

    def opened(path: str, *, create: bool) -> HybridStore:
        space = settings["space"] if is_server(path) else DEFAULTS["space"]
        return HybridStore(path, {"space": space, "provider": "none"}, create=create)

    texts = [] if is_server(args.source) else list(development_texts(args.source))
    if texts:
        with opened(args.target, create=True) as target:
            for doc_id, text, metadata in texts:
                target.store(doc_id, text, json.loads(metadata))
        print_answer(
            args, {"from": os.path.abspath(args.source), "to": target.path, "documents": len(texts)}
        )
        return 0
    with (
        progress_line(args.quiet) as progress,
        opened(args.source, create=False) as source,
        opened(args.target, create=True) as target,
        source.storage.guarded(),
        target.storage.guarded("cannot write"),
    ):
        answer = {"from": source.path, "to": target.path, **copy(source, target, progress)}
    print_answer(args, answer)
    return 0
