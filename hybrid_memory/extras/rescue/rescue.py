"""Write a new store with everything that can still be read of a damaged one, and tell what is lost."""

import json
import os
from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING, Any

from ...config import is_server
from ...documents.document import (
    CHUNKER,
    CONTEXT,
    Document,
    Prepared,
    chunking,
    embedded_text,
    prepare,
)
from ...errors import StoreError
from ...indexing import embed_pending
from ...messages import Progress, count_batches
from ...search.packing import joined
from ...storage.rows import Neighbour
from ...storage.sqlite.engine import SQLiteStorage
from ...store import HybridStore
from ...surface.arguments import Parser, examples
from ...surface.arguments import settings as settings_of
from ...surface.streams import advise, print_with_warnings
from ...surface.terminal import progress_line
from ...sync.refresh import problems, refresh
from ...text.characters import plural
from ..environment import without_password
from .rows import Rows, sizes_in

if TYPE_CHECKING:
    from ...config import Settings

UNFINISHED = ".part"  # at the end of the new store's name until it is complete
BATCH = 512  # chunks that get their embeddings in one transaction
NEWEST = 2**63 - 1  # above every chunks.id

NO_END = "the list cannot be read to its end: some may be lost that are not named here"
FROM_CHUNKS = "its text was put together from its chunks, without its front matter"
NO_METADATA = "its metadata cannot be read"
NO_MODEL = "which model made them cannot be read"


def rescue(
    damaged: str,
    out: str,
    settings: "Settings",
    *,
    on_wait: Callable[[str], None],
    progress: Callable[[Progress], None] = lambda progress: None,
) -> tuple[dict[str, Any], list[str]]:
    """Write a new store at `out` with what can be read of the damaged one. Gives counts, what is
    `lost`, and warnings.

    The sources are ingested again, and chunks whose embedding is lost are embedded, if the model
    that made the others answers. The new store has its name once it is complete. Raises StoreError
    if there is such a file, or if nothing can be read.
    """
    if os.path.lexists(out):
        raise StoreError(f"{out} exists already; name a new file")
    if not os.path.exists(damaged):
        raise StoreError(f"no database at {damaged}")
    unfinished = out + UNFINISHED
    _remove(unfinished)  # what a rescue left that was killed
    try:
        with (
            HybridStore(unfinished, settings, on_wait=on_wait) as store,
            store.storage.guarded("cannot write"),
        ):
            storage = store.storage
            assert isinstance(storage, SQLiteStorage)  # the new store is a file
            with Rows(damaged, storage.connection) as found:
                job = Rescue(store, found)
                job.run()
            answer = {"path": os.path.abspath(out)} | job.answer(progress)
        _publish(unfinished, out)
    finally:
        _remove(unfinished)
    return answer, job.warnings


class Rescue:
    """Fill a new store from a damaged one: texts, sources, documents of files that are gone,
    embeddings.
    """

    def __init__(self, store: HybridStore, damaged: Rows) -> None:
        self._store = store
        self._damaged = damaged
        self._documents = store.storage.documents
        self._catalog = store.storage.catalog
        self.lost: list[dict[str, Any]] = [
            {"what": problem, "reason": "it cannot be read"} for problem in damaged.problems
        ]
        self.warnings: list[str] = []
        self.sources = 0
        self.kept = 0

    def run(self) -> None:
        """Copy everything but what needs a model."""
        if not self._damaged.knows_all_ids:
            self.lost.append({"what": "documents", "reason": NO_END})
        for doc_id in self._damaged.ids():
            text = self._text(doc_id)
            if text:
                self._put(text)
        with self._store.storage.transaction():
            self.sources = self._damaged.put_sources()
        self.warnings += problems(refresh(self._store, embed_seconds=0.0))
        for doc_id in self._damaged.ids():
            if not self._catalog.by_id(doc_id):
                self._copy(doc_id)
        if not self._damaged.knows_all_sources:
            self._name_folders()
        self._keep_embeddings()

    def _put(self, prepared: Prepared) -> None:
        with self._store.storage.transaction():
            self._documents.put(prepared)

    def _text(self, doc_id: str) -> Prepared | None:
        """Return the document of a text without a file, cut as it was; None if its chunks show that this
        is not the text any more.
        """
        row = self._damaged.document(doc_id)
        if row is None or row["content"] is None:
            return None
        prepared = self._prepared(row, row["content"])
        now = {chunk["chunk_id"]: chunk["content_hash"] for chunk in prepared.chunks}
        before = {
            chunk["chunk_id"]: chunk["content_hash"] for chunk in self._damaged.chunks(doc_id)
        }
        if _is_cut_as_now(row["chunking"]) and not before.items() <= now.items():
            return None
        if "\0" in row["content"] and before.keys() != now.keys():
            return None
        return prepared

    def _copy(self, doc_id: str) -> None:
        """Make from its chunks a document that neither a text nor a file gives any more."""
        row = self._damaged.document(doc_id)
        chunks = self._damaged.chunks(doc_id)
        missing = self._damaged.chunk_count(doc_id) - len(chunks)
        if not chunks and (missing or row is None or row["source_path"] is None):
            reason = "nothing but its id can be read"
            if row:
                reason = "its text cannot be read"
            self.lost.append(
                {"doc_id": doc_id, "path": row and row["source_path"], "reason": reason}
            )
            return
        known = row or _row_of_text(
            doc_id, chunking(self._store.config["chunk_size"], self._store.config["chunk_overlap"])
        )
        reasons = []
        if missing:
            reasons.append(f"{missing} of its chunks cannot be read")
        if known["source_path"] is None:
            neighbours = [
                Neighbour(number, c["content"], c["start_line"], c["end_line"], known["chunking"])
                for number, c in enumerate(chunks)
            ]
            passage = joined(doc_id, neighbours)
            self._put(self._prepared(known, "\n" * (passage.start_line - 1) + passage.text))
            reasons.append(FROM_CHUNKS)
            if row is None:
                reasons.append(NO_METADATA)
        else:
            if missing:  # should the file come back, it must not be taken for what was indexed
                known |= {"file_mtime": 0.0, "content_hash": b""}
            texts = {
                chunk["content_hash"]: embedded_text(chunk["heading_path"], chunk["content"])
                for chunk in chunks
            }
            self._put(Prepared(known | {"chunk_count": len(chunks)}, chunks, texts))
        if reasons:
            self.lost.append(
                {"doc_id": doc_id, "path": known["source_path"], "reason": "; ".join(reasons)}
            )

    def _prepared(self, row: dict[str, Any], text: str) -> Prepared:
        """Return a text without a file, cut as the row says. Without a date of its own it keeps the day on
        which it was stored.
        """
        document = Document(row["doc_id"], text, json.loads(row["metadata"]))
        sizes = sizes_in(row["chunking"])
        prepared = prepare(document, *sizes, self._store.config["date_keys"])
        day = prepared.row["date"] or row.get("date")
        return prepared._replace(row=prepared.row | {"date": day})

    def _name_folders(self) -> None:
        """Name the folders that documents still tell of, where the table that has them cannot be read."""
        known = {source.path for source in self._store.storage.sources.all()}
        folders: dict[str, int] = {}
        for doc_id in self._damaged.ids():
            row = self._damaged.document(doc_id)
            if row and row["source_path"]:
                below = doc_id
                if row["collection"]:
                    below = doc_id.removeprefix(f"{row['collection']}/")
                folder = row["source_path"].removesuffix(f"/{below}")
                folders[folder] = folders.get(folder, 0) + 1
        self.lost.append({"what": "sources", "reason": NO_END})
        for folder, count in sorted(folders.items()):
            if folder not in known:
                documents = plural(count, "document")
                ingest = f"`hybrid-memory ingest --path {quote(folder)}`"
                reason = f"{documents} came from here; {ingest} reads what is there now"
                self.lost.append({"path": folder, "reason": reason})

    def _keep_embeddings(self) -> None:
        embeddings = self._store.storage.embeddings
        identity = self._damaged.identity
        if identity is None:
            if self._damaged.embeddings:
                self.lost.append(
                    {"what": plural(self._damaged.embeddings, "embedding"), "reason": NO_MODEL}
                )
            return
        before = NEWEST
        while batch := embeddings.pending(before, BATCH, tried=True):
            rows = []
            for chunk in batch:
                embedding = self._damaged.embedding(chunk.content_hash)
                if embedding:
                    rows.append((chunk.id, *embedding))
            with self._store.storage.transaction():
                if rows and not embeddings.identity():
                    embeddings.set_identity(identity)
                embeddings.put(rows)
            self.kept += len(rows)
            before = batch[-1].id

    def answer(self, progress: Callable[[Progress], None]) -> dict[str, Any]:
        """Embed what has no embedding, and say what there is now."""
        embedded = 0
        embedder = self._store.fitting_embedder
        if embedder:
            pending = self._store.storage.embeddings.count_pending()
            done = embed_pending(
                self._store.storage, embedder, count_batches("embeddings", pending, progress)
            )
            embedded = done.chunks
            self.warnings += done.problems
        counts = self._store.stats()
        return {
            "documents": counts["doc_count"],
            "chunks": counts["chunk_count"],
            "embeddings_kept": self.kept,
            "embedded": embedded,
            "pending": counts["pending_count"],
            "sources": self.sources,
            "lost": self.lost,
        }


def _is_cut_as_now(chunking: str) -> bool:
    """Return whether the text would be cut in the same way now, by the version of the chunker."""
    return chunking.partition(":")[0] == f"{CHUNKER}.{CONTEXT}"


def _row_of_text(doc_id: str, chunking: str) -> dict[str, Any]:
    return {"doc_id": doc_id, "source_path": None, "metadata": "{}", "chunking": chunking}


def _publish(unfinished: str, out: str) -> None:
    """Give the new store its name, unless another file has it."""
    try:
        os.link(unfinished, out)
    except FileExistsError as error:
        raise StoreError(f"{out} exists already; name a new file") from error
    except OSError:  # a file system without links
        os.rename(unfinished, out)


def _remove(path: str) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            os.remove(path + suffix)


def rescue_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] OUT"
    parser.add_argument("out", metavar="OUT", help="the new file")
    examples(parser, "rescue new.db", "rescue new.db --db damaged.db")


def run_rescue(args: Namespace) -> int:
    settings = settings_of(args)
    database = settings["db_path"]
    if is_server(database):
        raise StoreError(
            "rescue reads damaged SQLite files; of a server, restore a backup "
            "(pg_restore), or copy what it still gives: "
            f"`hybrid-memory copy {quote(without_password(database))} {quote(args.out)}`"
        )
    path = os.path.abspath(database)
    with progress_line(args.quiet) as progress:
        answer, warnings = rescue(
            path, args.out, settings, on_wait=lambda line: advise(args, line), progress=progress
        )
    remove = f"rm -f {quote(path + '-wal')} {quote(path + '-shm')}"
    move = f"mv {quote(answer['path'])} {quote(path)}"
    print_with_warnings(
        args, answer | {"warnings": [*warnings, f"to put it in place: `{remove} && {move}`"]}
    )
    if answer["lost"]:
        return 1
    return 0
