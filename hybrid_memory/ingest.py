"""A folder of files -> the store, incrementally: what is new or changed goes in, what vanished goes out, the rest is skipped."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from . import catalog
from .discovery import Found, Walk
from .document import Document, Prepared
from .errors import SourceError
from .store import HybridStore

GROUP = 64  # documents written in one transaction: a writer beside us waits for milliseconds
SNIFF = 8192  # bytes in which a NUL tells a binary file


class Progress(NamedTuple):
    """How far an ingest came: files looked at, then chunks embedded of those that had no embedding."""

    stage: str  # "files" or "embeddings"
    done: int
    total: int
    chunks: int  # written so far


class Report:
    """What an ingest did; `errors` and `warnings` are lists of {"path", "reason"}."""

    def __init__(self) -> None:
        self.files = self.chunks = self.skipped = self.removed = self.embedded = self.pending = 0
        self.errors: list[dict[str, str]] = []
        self.warnings: list[dict[str, str]] = []

    def error(self, path: str, reason: str) -> None:
        self.errors.append({"path": path, "reason": reason})

    def warning(self, path: str, reason: str) -> None:
        self.warnings.append({"path": path, "reason": reason})


class _Source(NamedTuple):
    """A folder or a file that the user named: `path` resolved, `prefix` what its documents' ids begin with."""

    path: str
    prefix: str | None
    is_file: bool

    def doc_id(self, relative: str) -> str:
        # A name that is not UTF-8 comes with surrogates; an id is text.
        text = relative.replace(os.sep, "/").encode("utf-8", "backslashreplace").decode()
        return text if self.prefix is None else f"{self.prefix}/{text}"


class _BadFileError(Exception):
    """A file that cannot be indexed; the rest goes on."""


class Ingest:
    """Makes a store the mirror of folders (or files), then embeds what has no embedding.

    `patterns` match file names, `exclude` names or paths below the folder. With `incremental`, files whose time and size are
    as before are not read again. Documents of files that are gone are removed, unless `keep_missing`. `progress` is called
    after each file and each batch of embeddings.
    """

    def __init__(
        self,
        store: HybridStore,
        *,
        patterns: Sequence[str] = ("*.md",),
        exclude: Sequence[str] = (),
        incremental: bool = False,
        follow_symlinks: bool = False,
        keep_missing: bool = False,
        progress: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self.store, self.patterns, self.exclude, self.incremental = store, patterns, exclude, incremental
        self.follow_symlinks, self.keep_missing, self.progress = follow_symlinks, keep_missing, progress
        self.report = Report()

    def run(self, paths: Sequence[str], collection: str | None = None) -> Report:
        """Raises SourceError, before anything is written, for a path that is not there or whose prefix is another folder's."""
        sources = [self._source(path, collection) for path in paths]
        owners: dict[str | None, str] = {}
        for source in sources:
            if not source.is_file and owners.setdefault(source.prefix, source.path) != source.path:
                raise SourceError(
                    f"{owners[source.prefix]} and {source.path} would have the same document ids; "
                    "ingest one of them by itself, with --collection NAME"
                )
        for source in sources:
            self._mirror(source)
        self._embed()
        return self.report

    def _source(self, path: str, collection: str | None) -> _Source:
        resolved = os.path.realpath(os.path.expanduser(path))
        try:
            mode = os.stat(resolved).st_mode
        except OSError as error:
            raise SourceError(f"cannot ingest {path}: {error.strerror}") from error
        if stat.S_ISREG(mode):
            return _Source(resolved, collection, True)
        if not stat.S_ISDIR(mode):
            raise SourceError(f"cannot ingest {path}: neither a folder nor a regular file")
        source = _Source(resolved, collection or os.path.basename(resolved) or "root", False)
        catalog.is_claimed(self.store.connection, str(source.prefix), resolved)
        return source

    def _mirror(self, source: _Source) -> None:
        if source.is_file:
            status = os.stat(source.path)
            found = [Found(os.path.basename(source.path), source.path, status.st_mtime, status.st_size)]
            known = catalog.of_id(self.store.connection, source.doc_id(found[0].relative))
            self._index(source, found, known)
            return
        walk = Walk(source.path, self.patterns, self.exclude, self.follow_symlinks)
        found = list(walk)
        self.report.skipped += walk.links_skipped
        for path, reason in walk.unread:
            self.report.error(path, reason)
        known = catalog.of_collection(self.store.connection, str(source.prefix))
        self._index(source, found, known)
        if not self.keep_missing:
            self._remove_vanished(source, walk, {source.doc_id(file.relative) for file in found}, known.values())

    def _index(self, source: _Source, found: Sequence[Found], known: dict[str, catalog.Known]) -> None:
        group: list[Prepared] = []
        touched: list[tuple[str, float, int]] = []
        for number, file in enumerate(found, 1):
            doc_id = source.doc_id(file.relative)
            prepared = self._prepared(doc_id, file, source.prefix, known.get(doc_id), touched)
            if prepared:
                group.append(prepared)
            if len(group) + len(touched) >= GROUP or (number == len(found) and (group or touched)):
                self._write(source, group, touched)
                group, touched = [], []
            self.progress(Progress("files", number, len(found), self.report.chunks))

    def _prepared(
        self, doc_id: str, file: Found, collection: str | None, known: catalog.Known | None, touched: list[tuple[str, float, int]]
    ) -> Prepared | None:
        """The file as a document; None if it cannot be indexed, or is as it was: then `touched` has its new time, if any."""
        owner = known or catalog.of_id(self.store.connection, doc_id).get(doc_id)
        if owner and owner.path != file.path:
            self.report.error(file.path, _taken(doc_id, owner))
            return None
        current = known is not None and self.incremental and known.chunking == self.store.chunking
        if known and current and (known.mtime, known.size) == (file.mtime, file.size):
            self.report.skipped += 1
            return None
        try:
            data = _read(file, self.store.config["max_file_bytes"])
        except FileNotFoundError:
            self.report.warning(file.path, "vanished before it was read")
            return None
        except (OSError, _BadFileError) as error:
            self.report.error(file.path, getattr(error, "strerror", None) or str(error))
            return None
        digest = hashlib.blake2b(data, digest_size=16).digest()
        if known and current and known.content_hash == digest:
            self.report.skipped += 1
            touched.append((doc_id, file.mtime, file.size))
            return None
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            text = data.decode(errors="replace")
            self.report.warning(file.path, f"not UTF-8 at byte {error.start}: read with replacement characters")
        path = catalog.path_to_column(file.path)
        return self.store.prepare(Document(doc_id, text, {}, path, file.mtime, file.size, digest, collection))

    def _write(self, source: _Source, group: Iterable[Prepared], touched: Iterable[tuple[str, float, int]]) -> None:
        conn = self.store.connection
        with self.store.transaction():
            if not source.is_file and not catalog.is_claimed(conn, str(source.prefix), source.path):
                catalog.claim(conn, str(source.prefix), source.path)
            for prepared in group:
                self.store.put(prepared)
                self.report.files += 1
                self.report.chunks += len(prepared.chunks)
            for doc_id, mtime, size in touched:
                catalog.touch(conn, doc_id, mtime, size)

    def _remove_vanished(self, source: _Source, walk: Walk, present: set[str], known: Iterable[catalog.Known]) -> None:
        """Documents whose file this walk would have found, were it still there."""
        unread = tuple(path + os.sep for path, _ in walk.unread)
        ours = [
            document
            for document in known
            if document.path and document.path.startswith(source.path + os.sep) and walk.matches(os.path.basename(document.path))
        ]
        gone = [d.doc_id for d in ours if d.doc_id not in present and not (str(d.path) + os.sep).startswith(unread)]
        patterns = " or ".join(self.patterns)
        if not present and not walk.unread and not ours:
            self.report.warning(source.path, f"no file here matches {patterns}")
        elif not present and not walk.unread:
            self.report.error(
                source.path, f"no file here matches {patterns} any more; the {len(ours)} documents from here were kept"
            )
        elif gone:
            with self.store.transaction():
                for doc_id in gone:
                    self.store.remove(doc_id)
            self.report.removed += len(gone)

    def _embed(self) -> None:
        pending = self.store.stats()["pending_count"]
        done = 0

        def on_batch(count: int) -> None:
            nonlocal done
            done += count
            self.progress(Progress("embeddings", done, pending, self.report.chunks))

        self.report.embedded = self.store.embed_pending(on_batch)
        self.report.pending = self.store.stats()["pending_count"]


def _taken(doc_id: str, owner: catalog.Known) -> str:
    of = f"of {owner.path}" if owner.path else "that was put in by `store`"
    return f"its id {doc_id!r} is that of the document {of}; give this one another with --collection NAME"


def _read(file: Found, max_bytes: int) -> bytes:
    """The file's bytes, all of one state. Raises _BadFileError or OSError."""
    if file.size > max_bytes:
        raise _BadFileError(f"{file.size:,} bytes, over max_file_bytes ({max_bytes:,})")
    descriptor = os.open(file.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a FIFO put in its place cannot block us
    with open(descriptor, "rb") as stream:
        data = stream.read(max_bytes + 1)
        after = os.fstat(descriptor)
    if b"\0" in data[:SNIFF]:
        raise _BadFileError("binary: it has NUL bytes")
    if not stat.S_ISREG(after.st_mode) or (after.st_mtime, after.st_size) != (file.mtime, len(data)):
        raise _BadFileError("changed while it was read; the next ingest takes it")
    return data
