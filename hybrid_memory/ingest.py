"""A folder of files -> the store, incrementally: what is new or changed goes in, what vanished goes out, the rest is skipped."""

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from . import catalog, embeddings, vector
from .catalog import SESSIONS, TRANSCRIPT, Source, default_collection
from .discovery import Found, Walk
from .document import Document, Prepared, chunk_row, document_row
from .errors import SourceError
from .files import BadFileError, open_regular, read
from .leftovers import Leftovers
from .store import HybridStore

if TYPE_CHECKING:
    from .growing import Growing

GROUP = 64  # documents written in one transaction: a writer beside us waits for milliseconds


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


Touched = tuple[str, float, int]  # document id, and its file's new time and size


class _Listing(NamedTuple):
    """What is in a source now, and what the store has of it."""

    source: Source
    walk: Walk
    found: list[Found]
    known: dict[str, catalog.Known]

    def ours(self) -> list[catalog.Known]:
        """The documents from below this folder whose name its patterns match."""
        above = os.path.join(self.source.path, "")
        return [
            document
            for document in self.known.values()
            if document.path and document.path.startswith(above) and self.walk.matches(os.path.basename(document.path))
        ]


class Ingest:
    """Makes a store the mirror of folders (or files), then embeds what has no embedding.

    `patterns` match file names, `exclude` names or paths below the folder. With `incremental`, files whose time and size are
    as before are not read again, unless other chunk settings make them due (`rechunk`). Documents of files that are gone are
    removed, unless `keep_missing`. Transcripts that go on are taken once there is enough news in them, or with `everything`.
    `progress` is called after each file and each batch of embeddings.
    """

    def __init__(
        self,
        store: HybridStore,
        *,
        patterns: Sequence[str] = ("*.md",),
        exclude: Sequence[str] = (),
        incremental: bool = False,
        rechunk: bool = True,
        everything: bool = False,
        follow_symlinks: bool = False,
        keep_missing: bool = False,
        progress: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self.store, self.incremental, self.everything, self.progress = store, incremental, everything, progress
        self._like = Source("", None, False, tuple(patterns), tuple(exclude), follow_symlinks, keep_missing)
        self.report = Report()
        self._reached: dict[str, Progress] = {}  # by stage
        self._chunking = store.chunking if rechunk else None

    def run(self, paths: Sequence[str], collection: str | None = None) -> Report:
        """Of several paths, one that is not there is an error in the report, and the others go on.

        Raises SourceError, before anything is written, if that leaves none, or for a prefix that is another folder's.
        """
        for listing in self.mirror(self._sources(paths, collection)):
            if not (listing.found or listing.walk.unread or listing.ours()):
                self.report.warning(listing.source.path, f"no file here matches {_either(listing.source)}")
        self._embed()
        return self.report

    def mirror(self, sources: Iterable[Source]) -> list[_Listing]:
        """All but the embeddings."""
        leftovers = Leftovers(self.store.connection)
        try:
            listings = [self._listed(source) for source in sources]
            total, done = sum(len(listing.found) for listing in listings), 0
            for listing in listings:
                self._index(listing, leftovers, done, total)
                done += len(listing.found)
            for listing in listings:  # last, for what moved from one source to another has its embeddings in the first
                self._remove_vanished(listing, leftovers)
            self._bring_back(leftovers)
        finally:
            leftovers.close()
        return listings

    def _sources(self, paths: Sequence[str], collection: str | None) -> list[Source]:
        sources: dict[Source, None] = {}
        owners: dict[str | None, str] = {}
        for path in paths:
            try:
                found = self._sources_of(path, collection)
            except SourceError as error:
                if len(paths) == 1:
                    raise
                self.report.error(path, str(error))
                continue
            for source in found:
                sources[source] = None
                if not source.is_file and owners.setdefault(source.collection, source.path) != source.path:
                    raise SourceError(
                        f"{owners[source.collection]} and {source.path} would have the same document ids; "
                        "ingest one of them by itself, with --collection NAME"
                    )
                catalog.check_claim(self.store.connection, source)
        if not sources:
            raise SourceError("; ".join(error["reason"] for error in self.report.errors))
        return list(sources)

    def _sources_of(self, path: str, collection: str | None) -> list[Source]:
        """Notes and transcripts of a folder are two, unless they have a collection. Raises SourceError for what is neither a
        folder nor a regular file.
        """
        resolved, is_file = resolve(path)
        source = self._like._replace(path=resolved, collection=collection and catalog.as_text(collection))
        if is_file:
            name = source.collection or default_collection(resolved, True, resolved.endswith(TRANSCRIPT))
            return [source._replace(collection=name, is_file=True, patterns=(), exclude=())]
        if collection:
            return [source]
        sessions = tuple(pattern for pattern in source.patterns or () if pattern.endswith(TRANSCRIPT))
        notes = tuple(pattern for pattern in source.patterns or () if pattern not in sessions)
        wanted = ((default_collection(resolved, False, False), notes), (SESSIONS, sessions))
        return [source._replace(collection=name, patterns=patterns) for name, patterns in wanted if patterns]

    def _listed(self, source: Source) -> _Listing:
        conn = self.store.connection
        walk = Walk(source.path, source.patterns or (), source.exclude, source.follow_symlinks)
        if source.is_file:
            name = os.path.basename(source.path)
            found = [file._replace(relative=name) for file in walk.file(source.path)]
            return _Listing(source, walk, found, catalog.of_id(conn, source.doc_id(name)))
        found = list(walk)
        self.report.skipped += walk.links_skipped
        for path, reason in walk.unread:
            self.report.error(path, reason)
        return _Listing(source, walk, found, catalog.of_collection(conn, str(source.collection)))

    def _index(self, listing: _Listing, leftovers: Leftovers, before: int, total: int) -> None:
        group: list[Prepared] = []
        touched: list[Touched] = []

        def write() -> None:
            if group or touched:
                self._write(listing.source, leftovers, lambda: self._put(group, touched))
                group.clear()
                touched.clear()

        try:
            for number, file in enumerate(listing.found, before + 1):
                doc_id = listing.source.doc_id(file.relative)
                known = listing.known.get(doc_id)
                if self._is_to_be_read(doc_id, file, known):
                    if file.path.endswith(TRANSCRIPT):
                        self._index_transcript(doc_id, file, listing.source, known, touched, leftovers)
                    elif prepared := self._prepared(doc_id, file, listing.source, known, touched):
                        group.append(prepared)
                if len(group) + len(touched) >= GROUP or number == before + len(listing.found):
                    write()
                self._tell(Progress("files", number, total, self.report.chunks))
        except KeyboardInterrupt:
            write()  # what was read is not lost
            raise
        if catalog.to_remember(self.store.connection, listing.source):
            self._write(listing.source, leftovers, lambda: None)

    def _is_to_be_read(self, doc_id: str, file: Found, known: catalog.Known | None) -> bool:
        if (known is None or known.path != file.path) and self._is_taken(doc_id, file.path):
            return False
        if known and self._is_current(known) and (known.mtime, known.size) == (file.mtime, file.size):
            self.report.skipped += 1
            return False
        return True

    def _is_current(self, known: catalog.Known) -> bool:
        """Is it to stay, if its file is as it was?"""
        return self.incremental and self._chunking in (None, known.chunking)

    def _prepared(
        self, doc_id: str, file: Found, source: Source, known: catalog.Known | None, touched: list[Touched]
    ) -> Prepared | None:
        """The file as a document; None if it cannot be indexed, or is as it was: then `touched` has its new time."""
        try:
            data, mtime, size = read(file.path, self.store.config["max_file_bytes"], source.follow_symlinks)
        except FileNotFoundError:
            self.report.warning(file.path, "vanished before it was read")
            return None
        except (OSError, BadFileError) as error:
            self.report.error(file.path, getattr(error, "strerror", None) or str(error))
            return None
        import hashlib

        digest = hashlib.blake2b(data, digest_size=16).digest()
        if known and self._is_current(known) and known.content_hash == digest:
            self.report.skipped += 1
            touched.append((doc_id, mtime, size))
            return None
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            text = data.decode(errors="replace")
            self.report.warning(file.path, f"not UTF-8 at byte {error.start}: read with replacement characters")
        path = catalog.path_to_column(file.path)
        return self.store.prepare(Document(doc_id, text, {}, path, mtime, size, digest, source.collection))

    def _index_transcript(
        self,
        doc_id: str,
        file: Found,
        source: Source,
        known: catalog.Known | None,
        touched: list[Touched],
        leftovers: Leftovers,
    ) -> None:
        """Write it at once, and only what is new of it: it may be larger than the memory."""
        from . import transcripts
        from .dates import document_date
        from .growing import Growing

        config, path = self.store.config, catalog.path_to_column(file.path)
        try:
            if known and not self.everything and not transcripts.is_due(file.path, known.size, file.mtime, file.size):
                self.report.skipped += 1
                return
            with open_regular(file.path, source.follow_symlinks) as stream, closing(Growing(self.store, doc_id)) as growing:
                status = os.fstat(stream.fileno())
                transcript = transcripts.Transcript(stream, status.st_size)
                chunks = transcripts.chunks(transcript, config["chunk_size"], config["chunk_overlap"])
                count = growing.spool(chunk_row(doc_id, chunk) for chunk in chunks)
                if transcript.left_out:
                    self.report.warning(file.path, f"lines left out, for they are no JSON or too long: {transcript.left_out}")
                if known and self._is_current(known) and known.content_hash == transcript.digest:
                    self.report.skipped += 1
                    touched.append((doc_id, status.st_mtime, status.st_size))
                    return
                said = {"title": transcript.title} if transcript.title else {}
                of_file = (path, status.st_mtime, status.st_size, transcript.digest, source.collection)
                date = document_date(doc_id, {})
                if not date or len(date) < len("YYYY-MM-DD"):  # digits of a UUID may look like a month
                    date = transcript.date or date
                row = document_row(Document(doc_id, "", said, *of_file), said, date, self.store.chunking, count)
                self._write(source, leftovers, lambda: self._put_grown(growing, row, file.path))
        except FileNotFoundError:
            self.report.warning(file.path, "vanished before it was read")
        except (OSError, BadFileError) as error:
            self.report.error(file.path, getattr(error, "strerror", None) or str(error))

    def _write(self, source: Source, leftovers: Leftovers, put: Callable[[], None]) -> None:
        """`put` in a transaction, with all that goes with it."""
        conn = self.store.connection
        with self.store.transaction():
            leftovers.collect()
            catalog.check_claim(conn, source)
            if news := catalog.to_remember(conn, source):
                catalog.remember(conn, news)
            put()

    def _put(self, group: Iterable[Prepared], touched: Iterable[Touched]) -> None:
        for prepared in group:
            path = catalog.path_from_column(prepared.row["source_path"])
            if not self._is_taken(prepared.row["doc_id"], str(path)):  # another process may have been first
                self.store.put(prepared)
                self.report.files += 1
                self.report.chunks += len(prepared.chunks)
        for doc_id, mtime, size in touched:
            catalog.touch(self.store.connection, doc_id, mtime, size)

    def _put_grown(self, growing: "Growing", row: dict[str, Any], path: str) -> None:
        if self._is_taken(row["doc_id"], path):
            return
        written = growing.write(row)
        if written is None:
            self.report.warning(path, "another process took it in meanwhile")
            return
        self.report.files += 1
        self.report.chunks += written

    def _is_taken(self, doc_id: str, path: str) -> bool:
        """Is this the id of a document that did not come from `path`? Then it is an error."""
        owner = catalog.of_id(self.store.connection, doc_id).get(doc_id)
        if owner is None or owner.path == path:
            return False
        if owner.path:
            told = f"of {owner.path}; give this one another with --collection NAME"
        else:
            from shlex import quote

            told = f"that was put in by `store`; `hybrid-memory delete --doc-id {quote(doc_id)}` makes room for the file"
        self.report.error(path, f"its id {doc_id!r} is that of the document {told}")
        return True

    def _remove_vanished(self, listing: _Listing, leftovers: Leftovers) -> None:
        """Remove the documents of files that the walk did not find."""
        source, walk, ours = listing.source, listing.walk, listing.ours()
        if source.is_file:
            return
        if not listing.found:
            if ours:
                from shlex import quote

                drop = f"`hybrid-memory delete --path {quote(source.path)}` takes them out"
                kept = f"the {len(ours)} documents from here were kept; {drop}"
                self.report.error(source.path, f"no file here matches {_either(source)} any more; {kept}")
            return
        present = {source.doc_id(file.relative) for file in listing.found}
        unread = tuple(os.path.join(path, "") for path, _ in walk.unread)
        gone = [d.doc_id for d in ours if d.doc_id not in present and not os.path.join(str(d.path), "").startswith(unread)]
        if gone and not source.keep_missing:
            with self.store.transaction():
                leftovers.collect()
                self.store.remove(*gone)
            self.report.removed += len(gone)

    def _bring_back(self, leftovers: Leftovers) -> None:
        while leftovers.wanted():
            with self.store.transaction():
                vector.put(self.store.connection, leftovers.wanted())

    def _embed(self) -> None:
        pending, done = self.pending(), 0

        def on_batch(count: int) -> None:
            nonlocal done
            done += count
            self._tell(Progress("embeddings", done, pending, self.report.chunks))

        if pending:
            on_batch(0)
        self.report.embedded = self.store.embed_pending(on_batch)
        self.report.pending = self.pending()

    def _tell(self, progress: Progress) -> None:
        self._reached[progress.stage] = progress
        self.progress(progress)

    def reached(self) -> str:
        """How far it came, for who interrupts it: "120 of 500 files, 80 of 300 embeddings"."""
        return ", ".join(f"{at.done:,} of {at.total:,} {stage}" for stage, at in self._reached.items()) or "nothing"

    def pending(self) -> int:
        return embeddings.count_pending(self.store.connection)


def _either(source: Source) -> str:
    return " or ".join(source.patterns or ())


def resolve(path: str) -> tuple[str, bool]:
    """The path without links, and whether it is a file. Raises SourceError for what is neither a folder nor a regular file."""
    resolved = catalog.real_path(path)
    try:
        mode = os.stat(resolved).st_mode
    except OSError as error:
        raise SourceError(f"cannot ingest {path}: {error.strerror}") from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise SourceError(f"cannot ingest {path}: neither a folder nor a regular file")
    return resolved, stat.S_ISREG(mode)
