"""Make the store the mirror of folders: what is new or changed goes in, what vanished goes out, all
else is left alone.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from ..documents.document import Prepared
from ..documents.files import Found
from ..documents.formats import format_of
from ..embedding.protocol import conflict
from ..errors import SourceError
from ..messages import Progress, counted
from ..storage.source import Source, StoredDocument
from ..store import HybridStore
from .plan import Listing, Rules, is_due, is_recut, left_out, listed, remembered, selected, settled
from .reading import Job, Outcome, Reader, read
from .report import Report
from .writing import Recut, Writer

if TYPE_CHECKING:
    from ..embedding.builtin import BuiltinEmbedder
    from .reading import Workers


class Due(NamedTuple):
    """A file that is to be taken in, and what the store has of it. One that grows has no job."""

    doc_id: str
    file: Found
    known: StoredDocument | None
    job: Job | None


class Ingest:
    """Makes a store the mirror of folders (or files), then embeds what has no embedding.

    `patterns` match file names, `exclude` names or paths below the folder. With `incremental`,
    files whose time and size are as they were are not read again, unless other chunk settings make
    them due (`rechunk`). Documents of files that are gone are removed, unless `keep_missing`. Files
    that grow are read once enough is new in them, or always with `everything`. `sizes`, chunk size
    and overlap, also hold for later ingests of these paths; without them, those of an earlier
    ingest or the settings. With two `workers` or more, files are read by so many processes if much
    is due; the store gets the same either way. `progress` is called after each file and each batch
    of embeddings.
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
        sizes: tuple[int, int] | None = None,
        workers: int = 1,
        progress: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self.report = Report()
        self._store, self._progress = store, progress
        self._like = Source(
            "",
            None,
            False,
            tuple(patterns),
            tuple(exclude),
            follow_symlinks,
            keep_missing,
            *(sizes or ()),
        )
        self._rules, self._rechunk = Rules(incremental, everything), rechunk
        self._workers = workers
        self._embeds = False
        self._reached: dict[str, Progress] = {}  # by stage

    def run(self, paths: Sequence[str], collection: str | None = None) -> Report:
        """Ingest these paths. Of several, one that does not exist is an error in the report, and
        the others go on.

        Raises SourceError, before anything is written, if that leaves none, or for a collection
        that another folder has.
        """
        self._embeds = True
        listings = self.mirror(
            selected(paths, self._like, collection, self._store.storage.sources, self.report)
        )
        self._tell_of_others(listings)
        for listing in listings:
            if not (listing.found or listing.others or listing.walk.unread or listing.ours()):
                self.report.warning(
                    listing.source.path,
                    f"no file here matches {_either(listing.source)}",
                    "nothing matches",
                )
        self._embed()
        return self.report

    def update(self) -> Report:
        """Ingest everything that was ingested before, each folder or file as it was.

        What is gone is an error in the report, and the others go on. Raises SourceError if there is
        nothing to do it for.
        """
        storage = self._store.storage
        if not (storage.sources.all() or storage.chunks.count()):
            raise SourceError(
                "nothing was ingested yet; `hybrid-memory ingest --path DIR` says what to take in"
            )
        self._embeds = True
        self._tell_of_others(self.mirror(remembered(storage.sources, self.report)))
        self._embed()
        return self.report

    def mirror(self, sources: Iterable[Source]) -> list[Listing]:
        """Everything but the embeddings."""
        writer = Writer(self._store.storage, self.report)
        storage = self._store.storage
        listings = [
            listed(storage.sources.sized(source), storage.documents, self.report)
            for source in sources
        ]
        listings = settled(listings, storage)
        total, done = sum(len(listing.found) for listing in listings), 0
        with self._processes() as workers:
            for listing in listings:
                self._take_in(listing, writer, workers, done, total)
                done += len(listing.found)
        for listing in (
            listings
        ):  # last, because what moved from one source to another has its embeddings in the first
            self._remove_vanished(listing, writer)
        if self.report.files or self.report.removed:
            writer.settle(
                self._store.config["old_embeddings_mb"], self._store.config["old_embeddings_days"]
            )
        self.report.leave_out(left_out(listings))
        return listings

    def _processes(self) -> "AbstractContextManager[Workers | None]":
        if self._workers < 2:
            return nullcontext()
        from .reading import Workers

        return closing(Workers(self._workers))

    def _take_in(
        self, listing: Listing, writer: Writer, workers: "Workers | None", before: int, total: int
    ) -> None:
        """Read and write what is due."""
        rules = self._rules
        if self._rechunk:
            rules = rules._replace(chunking=listing.source.chunking(self._store.config))
        reader = Reader(self._store, listing.source, rules, self.report)
        recut = Recut(self._store, writer, self.report)
        builtin = writer.embedder = self._builtin
        files = self._due(listing, reader, writer)
        outcomes: Iterable[tuple[Due | None, Outcome | None]] = ((due, None) for due, _ in files)
        if workers:
            outcomes = workers.outcomes(files, reader.way, builtin.path if builtin else None)
        try:
            for number, (due, outcome) in enumerate(outcomes, before + 1):
                if due:
                    self._take_in_file(listing, due, outcome, reader, writer, recut)
                if number == before + len(listing.found):
                    recut.flush(listing.source)
                    writer.flush(listing.source)
                self._tell(Progress("files", number, total, self.report.chunks))
        except KeyboardInterrupt:
            writer.flush(listing.source)  # what was read before is not lost
            raise
        writer.remember(listing.source)

    def _due(
        self, listing: Listing, reader: Reader, writer: Writer
    ) -> Iterator[tuple[Due | None, Job | None]]:
        """For each file what is to be done, if anything; with a job for one that fits into memory."""
        source = listing.source
        files = [(source.doc_id(file.relative), file) for file in listing.found]
        known_paths = {doc_id: document.path for doc_id, document in listing.known.items()}
        taken = writer.taken(
            (doc_id, file.path) for doc_id, file in files if known_paths.get(doc_id) != file.path
        )
        for doc_id, file in files:
            known = listing.known.get(doc_id)
            if (doc_id, file.path) in taken or not is_due(
                file, known, reader.rules, self.report, source.follow_symlinks
            ):
                yield None, None
            elif format_of(file.path).grows:
                yield Due(doc_id, file, known, None), None
            else:
                job = reader.job(doc_id, file, known, embed=known is None)
                yield Due(doc_id, file, known, job), job

    def _take_in_file(
        self,
        listing: Listing,
        due: Due,
        outcome: Outcome | None,
        reader: Reader,
        writer: Writer,
        recut: Recut,
    ) -> None:
        source, (doc_id, file, known, job) = listing.source, due
        if job is None:
            grown = reader.growing(
                doc_id,
                file,
                known,
                recut.spooled,
                lambda document, row: writer.grown(source, document, row, file.path),
            )
            if grown:
                writer.add(source, grown)
            return
        found, vectors, without, errors, warnings = outcome or read(
            reader.way, job, writer.embedder
        )
        self.report.errors += errors
        self.report.warnings += warnings
        if (
            isinstance(found, Prepared)
            and known
            and is_recut(known, found.row["content_hash"], found.row["chunking"])
        ):
            recut.add(source, found)
        elif found:
            writer.add(source, found, vectors, without)

    @property
    def _builtin(self) -> "BuiltinEmbedder | None":
        """The built-in model if it is to embed what is new; then new documents are embedded as they
        are read.
        """
        embedder = self._store.embedder if self._embeds else None
        if embedder is None or embedder.provider != "builtin":
            return None
        from ..embedding.builtin import BuiltinEmbedder

        if not isinstance(embedder, BuiltinEmbedder):
            return None
        embeddings = self._store.storage.embeddings
        identity = embeddings.identity()
        is_changing = embeddings.spare.next_identity() or (
            identity and conflict(identity, embedder)
        )
        return None if is_changing else embedder

    def _remove_vanished(self, listing: Listing, writer: Writer) -> None:
        """Remove the documents of files that the walk did not find."""
        source = listing.source
        if not (source.is_file or listing.found or listing.others):
            if ours := listing.ours():
                drop = f"`hybrid-memory delete --path {quote(source.path)}` takes them out"
                kept = f"the {len(ours)} documents from here were kept; {drop}"
                self.report.error(
                    source.path,
                    f"no file here matches {_either(source)} any more; {kept}",
                    "nothing matches",
                )
        elif gone := listing.leaving():
            writer.remove(gone)

    def _tell_of_others(self, listings: Iterable[Listing]) -> None:
        for listing in listings:
            for source, count in listing.others:
                of = source.path + (
                    f" (collection {source.collection})" if source.collection else ""
                )
                self.report.warning(
                    listing.source.path,
                    f"{count} files are in the memory already, as documents of {of}",
                )

    def _embed(self) -> None:
        def on_total(total: int) -> Callable[[int], None]:
            on_batch = counted("embeddings", total, self._tell, self.report.chunks)
            if total:
                on_batch(0)
            return on_batch

        self.report.embedded_by(self._store.embed(on_total))
        self.report.pending = self._store.storage.embeddings.count_pending()

    def _tell(self, progress: Progress) -> None:
        self._reached[progress.stage] = progress
        self._progress(progress)

    def reached(self) -> str:
        """How far it came, for whoever interrupts it: "120 of 500 files, 80 of 300 embeddings"."""
        return (
            ", ".join(f"{at.done:,} of {at.total:,} {stage}" for stage, at in self._reached.items())
            or "nothing"
        )


def _either(source: Source) -> str:
    return " or ".join(source.patterns)
