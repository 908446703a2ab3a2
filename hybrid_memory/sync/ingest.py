"""Make the store the mirror of folders: add what is new or changed, remove what vanished.

All sources are listed first: unchanged files are counted, and each other file is assigned to one
source. Then, source by source: decide which files are due, read them, here or in worker processes,
and write them, many in one transaction. A document whose text is only re-chunked is held back until
its new chunks have embeddings. Then vanished documents are removed. Last, chunks without an
embedding are embedded; the built-in model embeds new documents while they are read.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..documents.document import chunk_row, document_row, mark_of, why_cut_again
from ..documents.files import BadFileError, FoundFile, open_regular, time_left
from ..documents.ignores import LISTS
from ..documents.sources import chunking_of, ingest_command, outlives_files
from ..documents.suffixes import grows
from ..embedding.builtin import BuiltinEmbedder
from ..embedding.identity import conflict, with_fallback_note
from ..errors import SourceError
from ..messages import Progress, count_batches
from ..options import TEXT, Option, fields_given
from ..storage.prepared import Prepared
from ..storage.rows import StoredDocument
from ..storage.source import Source
from ..store import HybridStore
from ..text.characters import marked_encoding, plural, text_of_bytes
from ..text.dates import IN_EITHER
from . import plan
from .plan import DueRules, Listing, Refusals
from .reading import Job, Outcome, ReadOptions, Unchanged, read
from .report import UNCHANGED, Report
from .texts import rechunk_stored_texts
from .writing import RechunkBuffer, Writer

if TYPE_CHECKING:
    from ..documents.formats import GrowingReading
    from .workers import Workers


GLOBS = Option(TEXT, "names of files", repeated=True)
PORTION = 10_000  # chunks of a growing file in one transaction
SAMPLED_FILES = 100
NAMED = 3  # notes in one line; the others are only counted
SAMPLED_BYTES = 4_000  # of each


class Ingest:
    """Makes a store the mirror of folders (or files), then embeds the chunks without an embedding.

    `patterns` match file names, `exclude` names or paths below the folder. Every file is read,
    chunked and written again; with `incremental`, files with unchanged time and size are not read,
    and files with unchanged content are not written, unless other chunk settings make them due
    (`rechunk`). Documents of deleted files are removed, unless `keep_missing`. Lists such as
    `.gitignore` leave out files, unless `no_ignore`. Files that grow are
    read once they have enough new text, or always with `everything`. `sizes`, chunk size and
    overlap in characters, also apply to later ingests of these paths; without them, the sizes of an
    earlier ingest or the settings apply. With a `workspace`, the paths are folders of transcripts,
    and only sessions that began in it are read, now and later. With two or more `workers`, that
    many processes read files if much is due; the store gets the same content either way. `progress`
    is called after each file and each batch of embeddings.
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
        no_ignore: bool = False,
        sizes: tuple[int, int] | None = None,
        workspace: str | None = None,
        workers: int = 1,
        progress: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        given = {"patterns": patterns, "exclude": exclude}
        fields_given((dict.fromkeys(given, GLOBS),), given, "an ingest")
        self.report = Report()
        self._store = store
        self._progress = progress
        chunk_size, chunk_overlap = sizes or (None, None)
        self._template = Source(
            path="",
            collection=None,
            is_file=False,
            patterns=tuple(patterns),
            exclude=tuple(exclude),
            follow_symlinks=follow_symlinks,
            keep_missing=keep_missing,
            no_ignore=no_ignore,
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            workspace=workspace,
        )
        self._rules = DueRules(incremental, everything)
        self._rechunk = rechunk
        self._workers = workers
        self._embeds = False
        self._may_leave_out = False  # remove notes that other programs' lists now leave out
        self._total = 0  # files
        self._done = 0

    def run(self, paths: Sequence[str], collection: str | None = None) -> Report:
        """Ingest these paths. If one of several does not exist, the report has an error and the
        others are ingested.

        Raises SourceError, before anything is written, if no path remains, or if another folder has
        the collection.
        """
        check_paths(paths)
        self._may_leave_out = True
        sources = plan.select_sources(
            paths, self._template, collection, self._store.storage.sources, self.report
        )
        listings = self.mirror(sources, embeds=True, confirmed=True)
        for listing in listings:
            if listing.is_empty and not (listing.walk.unread or listing.has_documents()):
                self.report.warning(
                    listing.source.path,
                    f"no file here matches {_either(listing.source)}",
                    "nothing matches",
                )
        self._cut_texts_anew()
        self._embed()
        return self.report

    def update(self) -> Report:
        """Ingest everything that was ingested before, each folder or file with its own options.

        A missing folder is an error in the report; the others are ingested. Raises SourceError if
        nothing was ingested or stored yet.
        """
        storage = self._store.storage
        if not (storage.sources.all() or storage.chunks.count()):
            raise SourceError("nothing was ingested yet; run `hybrid-memory ingest --path DIR`")
        sources = plan.known_sources(storage, self.report)
        self.mirror(sources, embeds=True)
        self._cut_texts_anew()
        self._embed()
        return self.report

    def mirror(
        self, sources: Iterable[Source], *, embeds: bool = False, confirmed: bool = False
    ) -> list[Listing]:
        """Index the files that are due and remove vanished documents.

        Nothing is embedded, except that with `embeds` a built-in model embeds new documents as they
        are read. If most notes of a folder are gone, they are only removed if this is `confirmed`.
        """
        self._embeds = embeds
        storage, settings = self._store.storage, self._store.config
        writer = Writer(storage, self.report)
        self._refusals = Refusals(storage, settings)
        chosen = [storage.sources.with_earlier_choices(source) for source in sources]
        every_owner = plan.Owners([*storage.sources.all(), *chosen])
        owners = every_owner if every_owner.may_differ else None
        listings = [
            plan.list_files(
                source, self._rules_for(source), storage.documents, self.report, owners
            )._replace(confirmed=confirmed)
            for source in chosen
        ]
        self._total = sum(listing.unchanged + len(listing.files) for listing in listings)
        if self._embeds and storage.embeddings.identity() is None:
            self._store.incoming_texts = sample_texts(listings)
        with self._processes(listings) as workers:
            for listing in listings:
                self._read_source(listing, writer, workers)
        # Last, because a file that moved to another source reuses the embeddings of the first
        for listing in listings:
            self._remove_vanished(listing, writer)
            if owners and (displaced := plan.displaced(listing, owners, storage.documents)):
                writer.remove(displaced)
            self._refusals.forget_gone(listing)
        self._refusals.save()
        if self.report.files or self.report.removed:
            writer.tidy_spares(settings["old_embeddings_mb"], settings["old_embeddings_days"])
        self.report.leave_out(plan.count_left_out(listings))
        return listings

    def _processes(self, listings: Iterable[Listing]) -> AbstractContextManager["Workers | None"]:
        """Other processes to read files; None if there is nothing to read, or only this one may."""
        if self._workers < 2 or not any(listing.files for listing in listings):
            return nullcontext()
        from .workers import Workers

        return closing(Workers(self._workers))

    def _read_source(self, listing: Listing, writer: Writer, workers: "Workers | None") -> None:
        """Read and write the files of a source that are due."""
        rules = self._rules_for(listing.source)
        source_ingest = SourceIngest(
            self._store, listing, rules, writer, self._refusals, self.report
        )
        writer.embedder = self._builtin
        try:
            if listing.unchanged:
                self.report.skip(UNCHANGED, listing.unchanged)
                self._done += listing.unchanged
                self._tell_files(writer)
            for due, outcome in self._outcomes(source_ingest, workers):
                if due:
                    source_ingest.index(due, outcome)
                self._done += 1
                self._tell_files(writer)
            source_ingest.finish()
        except KeyboardInterrupt:
            writer.flush(listing.source)  # keep what was read so far
            raise
        source_ingest.remember_source()

    def _rules_for(self, source: Source) -> DueRules:
        if self._rechunk:
            return self._rules._replace(chunking=chunking_of(source, self._store.config))
        return self._rules

    def _outcomes(
        self, source_ingest: "SourceIngest", workers: "Workers | None"
    ) -> Iterator[tuple["Due | None", Outcome | None]]:
        """Yield the work for each file, with its outcome if a worker has done it."""
        if workers is None:
            yield from ((due, None) for due in source_ingest.decisions())
            return
        builtin = self._builtin
        model = (builtin.provider, builtin.path) if builtin else None
        jobs = ((due, due and due.job) for due in source_ingest.decisions())
        yield from workers.outcomes(jobs, source_ingest.options, model)

    @property
    def _builtin(self) -> "BuiltinEmbedder | None":
        """The built-in model, if it should embed new documents as they are read."""
        embedder = self._store.embedder if self._embeds else None
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
        gone = listing.to_remove()
        left_out = {} if self._may_leave_out else listing.newly_left_out()
        if left_out:
            gone = [doc_id for doc_id in gone if doc_id not in left_out]
            self.report.notes.append(_newly_left_out_line(source, left_out))
        if listing.is_empty and not source.is_file:
            kept = {*gone, *left_out}
            vanished = [doc_id for doc_id in listing.vanished() if doc_id not in kept]
            if vanished and not outlives_files(source):
                number = plural(len(vanished), "document from here was", "documents from here were")
                them = "it" if len(vanished) == 1 else "them"
                reason = (
                    f"no file here matches {_either(source)} any more; "
                    f"{number} kept; `hybrid-memory delete --path {quote(source.path)}` "
                    f"removes {them}"
                )
                self.report.error(source.path, reason, "nothing matches")
        elif most := len(listing.most_vanished()):
            reason = (
                f"{most} notes are gone at once, more than half, and kept; "
                f"`{ingest_command(source)}` removes them"
            )
            self.report.error(source.path, reason, "most are gone")
        if gone:
            writer.remove(gone)

    def _cut_texts_anew(self) -> None:
        """Re-chunk texts without a file if the settings changed.

        Sizes given to this ingest apply to its paths alone.
        """
        if self._rechunk and self._template.chunk_size is None:
            rechunk_stored_texts(self._store, self.report)

    def _embed(self) -> None:
        def on_total(total: int) -> Callable[[int], None]:
            on_batch = count_batches("embeddings", total, self._progress, self.report.chunks)
            if total:
                on_batch(0)
            return on_batch

        self.report.embedded_by(self._store.embed(on_total))
        self.report.pending = self._store.storage.embeddings.count_pending()
        self._check_server()

    def _check_server(self) -> None:
        """Report, once, that the server which embeds queries is down or no longer has the model."""
        embedder = self._store.fitting_embedder
        if embedder is None or embedder.is_final:
            return
        problems = self.report.embedding_problems
        identity = self._store.storage.embeddings.identity()
        if self.report.embedded or not (identity or problems):
            return
        # Ollama lists its models without loading one, which an `update` every few minutes must not do
        if embedder.fingerprint() or embedder.is_available():
            return
        reason = embedder.problem or f"{embedder.provider} {embedder.model} does not answer"
        line = with_fallback_note(reason, identity)
        if reason in problems:
            problems[problems.index(reason)] = line
        else:
            problems.append(line)

    def _tell_files(self, writer: Writer) -> None:
        chunks = self.report.chunks + writer.waiting_chunks
        self._progress(Progress("files", self._done, self._total, chunks))


def remember(store: HybridStore, source: Source) -> None:
    """Make a folder or file a source without reading it; it need not exist. Later updates do.

    Does nothing if another folder has its collection.
    """
    sources = store.storage.sources
    source = sources.of_own_name(source)
    with suppress(SourceError):
        sources.check_claim(source)
        with store.storage.transaction():
            sources.remember(source)


def check_paths(paths: object) -> None:
    """Raise TypeError for a single string: it would be read letter by letter."""
    if isinstance(paths, str):
        raise TypeError(f"paths: {paths!r} is not a list of paths")


def _newly_left_out_line(source: Source, rules: Mapping[str, str]) -> str:
    notes = plural(len(rules), "note stays", "notes stay")
    names = sorted(rules)[:NAMED]
    if len(rules) > NAMED:
        names.append(f"{len(rules) - NAMED:,} more")
    by_rule = ", ".join(f"{count:,} {rule}" for rule, count in Counter(rules.values()).items())
    line = (
        f"{notes} in the memory, although now left out by rule ({by_rule}): {', '.join(names)}; "
        f"`{ingest_command(source)}` removes {'it' if len(rules) == 1 else 'them'}"
    )
    if all(rule in LISTS for rule in rules.values()):
        line += ", with --no-ignore keeps them"
    return line


def _either(source: Source) -> str:
    return " or ".join(source.patterns)


def sample_texts(listings: Iterable[Listing]) -> list[str]:
    """The beginnings of some of the files that are text.

    Their languages decide on the built-in model of a store without embeddings.
    """
    files = [(file.path, listing.source) for listing in listings for file in listing.files]
    texts = []
    for path, source in files[:: max(1, len(files) // SAMPLED_FILES)][:SAMPLED_FILES]:
        with suppress(OSError, BadFileError), open_regular(path, source.follow_symlinks) as file:
            beginning = file.read(SAMPLED_BYTES)
            if marked_encoding(beginning) or b"\0" not in beginning:
                texts.append(text_of_bytes(beginning, "ignore"))
    return texts


class Due(NamedTuple):
    """A file to read, and its document in the store.

    A file that grows has no job: only this process reads it.
    """

    doc_id: str
    file: FoundFile
    known: StoredDocument | None
    job: Job | None


class FolderOrders:
    """The order of day and month in the dates of each folder, from documents that show it."""

    def __init__(self) -> None:
        self._shown: dict[str, set[str]] = {}

    def add(self, doc_id: str, mark: str) -> None:
        """Note the mark of a document, as in `dates.Dated`."""
        if mark:
            self._shown.setdefault(doc_id.rpartition("/")[0], set()).add(mark)

    def of(self, doc_id: str) -> str:
        """The order in the folder of a document; "" if its documents show none, or both."""
        shown = self._shown.get(doc_id.rpartition("/")[0], set())
        return next(iter(shown)) if len(shown) == 1 else ""


class SourceIngest:
    """Reads and writes the files of one source. Unreadable files are errors in the report."""

    def __init__(
        self,
        store: HybridStore,
        listing: Listing,
        rules: DueRules,
        writer: Writer,
        refusals: Refusals,
        report: Report,
    ) -> None:
        source = listing.source
        self._listing = listing
        self._source = source
        self._storage = store.storage
        self._rules = rules
        self._writer = writer
        self._refusals = refusals
        self._report = report
        self._cut_again: Counter[str] = Counter()  # files, by reason
        self._recut = RechunkBuffer(
            store, source.path, lambda document: writer.add(source, document), report
        )
        self.options = ReadOptions.of(source, store.config)
        self._orders = FolderOrders()
        self._in_either: dict[str, tuple[Due, Outcome | None]] = {}
        for doc_id, file, known in listing.marked:
            job = Job(doc_id, file.path, file.size, None, embed=False)
            self._note_mark(Due(doc_id, file, known, job), known.chunking, None)

    def decisions(self) -> Iterator[Due | None]:
        """Yield the work for each new or changed file, or None, so that the caller can count them."""
        documents = self._listing.known
        named = [(self._source.doc_id(file.relative), file) for file in self._listing.files]
        taken = self._writer.report_taken(
            (doc_id, file.path)
            for doc_id, file in named
            if doc_id not in documents or documents[doc_id].path != file.path
        )
        for doc_id, file in named:
            known = documents.get(doc_id)
            if (doc_id, file.path) in taken or not self._is_due(file, known):
                yield None
            elif grows(file.path):
                yield Due(doc_id, file, known, job=None)
            else:
                unchanged_hash = self._unchanged_hash(known)
                order = self._orders.of(doc_id)
                job = Job(doc_id, file.path, file.size, unchanged_hash, known is None, order)
                yield Due(doc_id, file, known, job)

    def index(self, due: Due, outcome: Outcome | None) -> None:
        """Read a file, unless a worker has, and write it if its content is new."""
        seconds = _seconds_for_extraction()
        if due.job is None:
            errors_before = len(self._report.errors)
            self._index_growing(due)
            self._refusals.note(due.file, self._report.errors[errors_before:], seconds)
            return
        if outcome is None:
            outcome = read(self.options, due.job, self._writer.embedder)
        self._report.errors += outcome.errors
        self._report.warnings += outcome.warnings
        self._refusals.note(due.file, outcome.errors, seconds)
        if isinstance(outcome.found, Prepared):
            chunking = outcome.found.row["chunking"]
        else:
            chunking = due.known.chunking if due.known and outcome.found else ""
        if self._note_mark(due, chunking, outcome) and isinstance(outcome.found, Prepared):
            return  # written at the end, when the order in its folder is known
        self._write(due, outcome)

    def _note_mark(self, due: Due, chunking: str, outcome: Outcome | None) -> bool:
        """Note the order of day and month that a document shows. Returns whether its date can be read in
        either.
        """
        mark = mark_of(chunking)
        if mark.startswith(IN_EITHER):
            self._in_either[due.doc_id] = due, outcome
            return True
        self._orders.add(due.doc_id, mark)
        return False

    def _settle_dates(self) -> None:
        """Read the files again whose date was read in another order than their folder has now."""
        for doc_id, (due, outcome) in self._in_either.items():
            order = self._orders.of(doc_id)
            read_before = outcome and outcome.found
            if isinstance(read_before, Prepared):
                chunking = read_before.row["chunking"]
            else:
                chunking = due.known.chunking if due.known else ""
            if mark_of(chunking) != f"{IN_EITHER}{order}" and due.job:
                again = read(
                    self.options, due.job._replace(known=None, embed=False, order=order), None
                )
                self._report.errors += again.errors
                if outcome:
                    again = again._replace(
                        vectors=outcome.vectors, not_embedded=outcome.not_embedded
                    )
                self._write(due, again)
            elif outcome and isinstance(read_before, Prepared):
                self._write(due, outcome)
        self._in_either = {}

    def _write(self, due: Due, outcome: Outcome) -> None:
        document = outcome.found
        if isinstance(document, Prepared) and due.known:
            content_hash, cut = document.row["content_hash"], document.row["chunking"]
            if plan.is_recut(due.known, content_hash, cut):
                self._count_cut_again(due.known)
                self._recut.add(document)
                return
        if document:
            self._writer.add(self._source, document, outcome.vectors, outcome.not_embedded)

    def finish(self) -> None:
        """Write the documents that are still held back or buffered, and report why unchanged files
        were cut again.
        """
        for reason, count in self._cut_again.items():
            were = plural(count, "unchanged file was", "unchanged files were")
            self._report.notes.append(f"{were} read again: {reason}")
        self._settle_dates()
        self._recut.flush()
        self._writer.flush(self._source)

    def _count_cut_again(self, known: StoredDocument) -> None:
        reason = why_cut_again(known.chunking, self.options.chunking())
        if reason:
            self._cut_again[reason] += 1

    def remember_source(self) -> None:
        """Store the source's settings, even if none of its documents was written.

        A source that is a single refused file is not stored.
        """
        if self._source.is_file and not all(map(self._is_in, self._listing.files)):
            return
        self._writer.remember(self._source)

    def _is_in(self, file: FoundFile) -> bool:
        """Whether the document with the file's id comes from this file."""
        doc_id = self._source.doc_id(file.relative)
        document = self._listing.known.get(doc_id)
        if document is None or document.path != file.path:
            document = self._storage.documents.get(doc_id)
        return document is not None and document.path == file.path

    def _is_due(self, file: FoundFile, known: StoredDocument | None) -> bool:
        """Whether to read a file. One that would be refused again is an error in the report."""
        if not plan.is_due(file, known, self._rules, self._report, self._source.follow_symlinks):
            return False
        if not self._rules.incremental:
            return True
        refusal = self._refusals.of(file, _seconds_for_extraction())
        if refusal is None:
            return True
        self._report.error(file.path, refusal.reason, refusal.kind)
        return False

    def _index_growing(self, due: Due) -> None:
        """Read a file that grows, and write its new text.

        It is written in portions, so that the next ingest can go on after one that was interrupted,
        unless its stored text may change.
        """
        with (
            self._report.reading(due.file.path),  # turns an error into a line of the report
            closing(cast("GrowingReading", self.options.open(due.file.path))) as reading,
        ):
            first = self._resumed(due, reading)  # index of a chunk
            chunks = reading.chunks(*self.options.sizes)
            rows: Iterator[dict[str, Any]] = (chunk_row(due.doc_id, chunk) for chunk in chunks)
            may_write_portions = due.known is None or first > 0
            while True:
                portion = _portion(rows, reading) if may_write_portions else rows
                count = self._index_portion(due, reading, first, portion)
                if count is None or not reading.has_more:
                    break
                first = count

    def _resumed(self, due: Due, reading: "GrowingReading") -> int:
        """Let the reading leave out what is stored. Returns the index of the first chunk to read."""
        known = due.known
        if not (known and self._rules.incremental and known.chunking == self.options.chunking()):
            return 0
        document = self._storage.documents.growing(due.doc_id, self._source.collection)
        place = document.resumption()
        if place and reading.skip_to(place, known.size, known.content_hash):
            return place.number
        return 0

    def _index_portion(
        self, due: Due, reading: "GrowingReading", first: int, rows: Iterable[dict[str, Any]]
    ) -> int | None:
        """Write chunks from the index `first`. Returns the number of all chunks, or None if nothing
        was written.

        If the file is unchanged and only re-chunked, nothing is written until its new chunks have
        embeddings.
        """
        doc_id, file, known, _ = due
        document = self._storage.documents.growing(doc_id, self._source.collection)
        count = document.compare(rows, first)
        if not reading.has_more:
            for warning in reading.warnings:
                self._report.warning(file.path, *warning)
            if self._is_unchanged(due, reading):
                return None
        recut = known and plan.is_recut(known, reading.digest, self.options.chunking())
        if recut and not self._recut.embed_growing(document):
            return None
        if recut and known and not reading.has_more:
            self._count_cut_again(known)
        date = reading.date(doc_id, self.options.date_keys).day
        file_document = self.options.document(doc_id, file.path, reading)
        row = document_row(file_document, date, self.options.chunking(), count)
        is_written = self._writer.write_growth(self._source, document, row, reading)
        return count if is_written else None

    def _is_unchanged(self, due: Due, reading: "GrowingReading") -> bool:
        """Whether a file that was read, or hashed, need not be written. Its new time is stored."""
        if self._unchanged_hash(due.known) != reading.digest:
            return False
        self._writer.add(self._source, Unchanged(due.doc_id, reading.mtime, reading.size))
        return True

    def _unchanged_hash(self, known: StoredDocument | None) -> bytes | None:
        """The content hash of a file that need not be indexed again."""
        if known and self._rules.is_current(known):
            return known.content_hash
        return None


def _portion(rows: Iterator[dict[str, Any]], reading: "GrowingReading") -> Iterator[dict[str, Any]]:
    """Yield rows until there are enough for one transaction and the file has more text."""
    for number, row in enumerate(rows, 1):
        yield row
        if number >= PORTION and reading.has_more:
            return


def _seconds_for_extraction() -> float | None:
    """The seconds that `files.time_limit` has left for this call; None: unlimited."""
    hurry = time_left.get()
    return hurry.left if hurry else None
