"""Make the store the mirror of folders: what is new or changed goes in, what vanished goes out, all else is left alone."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from shlex import quote

from ..documents.document import Prepared
from ..documents.formats import format_of
from ..indexing.embedding import embed_pending
from ..progress import Progress, counted
from ..storage.source import Source
from ..store import HybridStore
from .plan import Listing, Rules, is_due, listed
from .reading import Reader, Unchanged
from .report import Report
from .selection import selected
from .walk import Found
from .writing import Writer


class Ingest:
    """Makes a store the mirror of folders (or files), then embeds what has no embedding.

    `patterns` match file names, `exclude` names or paths below the folder. With `incremental`, files whose time and size are
    as they were are not read again, unless other chunk settings make them due (`rechunk`). Documents of files that are gone
    are removed, unless `keep_missing`. Files that grow are read once enough is new in them, or always with `everything`.
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
        self.report = Report()
        self._store, self._progress = store, progress
        self._like = Source("", None, False, tuple(patterns), tuple(exclude), follow_symlinks, keep_missing)
        self._rules = Rules(incremental, everything, store.chunking if rechunk else None)
        self._reached: dict[str, Progress] = {}  # by stage

    def run(self, paths: Sequence[str], collection: str | None = None) -> Report:
        """Ingest these paths. Of several, one that does not exist is an error in the report, and the others go on.

        Raises SourceError, before anything is written, if that leaves none, or for a collection that another folder has.
        """
        for listing in self.mirror(selected(paths, self._like, collection, self._store.storage.sources, self.report)):
            if not (listing.found or listing.walk.unread or listing.ours()):
                self.report.warning(listing.source.path, f"no file here matches {_either(listing.source)}")
        self._embed()
        return self.report

    def mirror(self, sources: Iterable[Source]) -> list[Listing]:
        """Everything but the embeddings."""
        with closing(Writer(self._store.storage, self.report)) as writer:
            listings = [listed(source, self._store.storage.documents, self.report) for source in sources]
            total, done = sum(len(listing.found) for listing in listings), 0
            for listing in listings:
                self._take_in(listing, writer, done, total)
                done += len(listing.found)
            for listing in listings:  # last, because what moved from one source to another has its embeddings in the first
                self._remove_vanished(listing, writer)
            writer.bring_back()
        return listings

    def _take_in(self, listing: Listing, writer: Writer, before: int, total: int) -> None:
        """Read and write what is due."""
        reader = Reader(self._store, listing.source, self._rules, self.report)
        try:
            for number, file in enumerate(listing.found, before + 1):
                self._take_in_file(listing, file, reader, writer)
                if number == before + len(listing.found):
                    writer.flush(listing.source)
                self._tell(Progress("files", number, total, self.report.chunks))
        except KeyboardInterrupt:
            writer.flush(listing.source)  # what was read before is not lost
            raise
        writer.remember(listing.source)

    def _take_in_file(self, listing: Listing, file: Found, reader: Reader, writer: Writer) -> None:
        source = listing.source
        doc_id = source.doc_id(file.relative)
        known = listing.known.get(doc_id)
        if (known is None or known.path != file.path) and writer.is_taken(doc_id, file.path):
            return
        if not is_due(file, known, self._rules, self.report, source.follow_symlinks):
            return
        found: Prepared | Unchanged | None
        if format_of(file.path).grows:
            found = reader.growing(doc_id, file, known, lambda document, row: writer.grown(source, document, row, file.path))
        else:
            found = reader.whole(doc_id, file, known)
        if found:
            writer.add(source, found)

    def _remove_vanished(self, listing: Listing, writer: Writer) -> None:
        """Remove the documents of files that the walk did not find."""
        source, ours = listing.source, listing.ours()
        if source.is_file:
            return
        if not listing.found:
            if ours:
                drop = f"`hybrid-memory delete --path {quote(source.path)}` takes them out"
                kept = f"the {len(ours)} documents from here were kept; {drop}"
                self.report.error(source.path, f"no file here matches {_either(source)} any more; {kept}")
            return
        gone = listing.vanished()
        if gone and not source.keep_missing:
            writer.remove(gone)

    def _embed(self) -> None:
        embeddings = self._store.storage.embeddings
        pending = embeddings.count_pending()
        on_batch = counted("embeddings", pending, self._tell, self.report.chunks)
        if pending:
            on_batch(0)
        self.report.embedded_by(embed_pending(self._store.storage, self._store.embedder, on_batch))
        self.report.pending = embeddings.count_pending()

    def _tell(self, progress: Progress) -> None:
        self._reached[progress.stage] = progress
        self._progress(progress)

    def reached(self) -> str:
        """How far it came, for whoever interrupts it: "120 of 500 files, 80 of 300 embeddings"."""
        return ", ".join(f"{at.done:,} of {at.total:,} {stage}" for stage, at in self._reached.items()) or "nothing"


def _either(source: Source) -> str:
    return " or ".join(source.patterns or ())
