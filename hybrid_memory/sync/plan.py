"""Decide what an ingest reads: the sources for the user's paths, the files below them, and which
are due.

Names, times and sizes decide; only a transcript that has grown a little is opened, to count its new
text. A file that several sources reach goes to one of them: the one that already has it as a
document, else the innermost.
"""

import os
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from shlex import quote
from typing import Any, NamedTuple

from ..documents.files import FoundFile, Walk
from ..documents.formats import format_of, vault_format
from ..documents.workspaces import is_workspace_name
from ..errors import SourceError
from ..storage.interface import Documents, Sources, Storage
from ..storage.source import (
    Refusal,
    Source,
    StoredDocument,
    default_collection,
    is_in,
    real_path,
    refusal_limits,
)
from ..text.characters import storable_name
from .report import LITTLE_NEW, Report

BATCH = 500  # files whose documents are read at a time


def select_sources(
    paths: Sequence[str], template: Source, collection: str | None, known: Sources, report: Report
) -> list[Source]:
    """The sources for these paths, one or more for each, with the options of `template`.

    If one of several paths cannot be ingested, the report has an error. Raises SourceError if no
    path remains, or if another folder has the collection.
    """
    sources: dict[Source, None] = {}
    owners: dict[str | None, str] = {}
    for path in paths:
        try:
            found = _sources_of(path, template, collection)
        except SourceError as error:
            if len(paths) == 1:
                raise
            report.error(path, str(error), "gone")
            continue
        for source in found if collection else map(known.of_own_name, found):
            if source.is_file:  # `store` may have given it an id
                stored = next(iter(known.all(source.collection or "", source.path)), source)
                source = source._replace(own_id=stored.own_id, metadata=stored.metadata)
            sources[source] = None
            if (
                not source.is_file
                and owners.setdefault(source.collection, source.path) != source.path
            ):
                raise SourceError(
                    f"{owners[source.collection]} and {source.path} would have the same document ids; "
                    "ingest one of them by itself, with --collection NAME"
                )
            known.check_claim(source)
    if not sources:
        raise SourceError("; ".join(error["reason"] for error in report.errors))
    return list(sources)


def known_sources(
    storage: Storage, report: Report, paths: Collection[str] = ()
) -> Iterator[Source]:
    """Yield every ingested source (or those of these paths) with its stored options.

    A source that no longer exists is an error in the report, with the way out, unless it never had
    a document or keeps its documents.
    """
    for source in storage.sources.all():
        if paths and source.path not in paths:
            continue
        try:
            resolve(source.path, source.follow_symlinks)
        except SourceError as error:
            if source.outlives_files or not _has_documents(source, storage.documents):
                continue
            way_out = f"`hybrid-memory delete --path {quote(source.path)}`"
            report.error(source.path, f"{error}; if it is gone for good: {way_out}", "gone")
            continue
        yield source


def _has_documents(source: Source, documents: Documents) -> bool:
    if source.is_file:
        return documents.get(source.doc_id(os.path.basename(source.path))) is not None
    return any(
        source.has(document.doc_id, str(document.path))
        for document in documents.of_collection(str(source.collection)).values()
    )


def uncovered(sources: Collection[Source]) -> list[str]:
    """The files and folders of agents' workspaces that no source covers, if another one there is a
    source.
    """
    named = [source for source in sources if is_workspace_name(os.path.basename(source.path))]
    found = []
    for top in sorted({os.path.dirname(source.path) for source in named}):
        with suppress(OSError):
            for name in sorted(filter(is_workspace_name, os.listdir(top))):
                path = os.path.join(top, name)
                if not any(is_in(os.path.realpath(path), source.path) for source in sources):
                    found.append(path)
    return found


def _sources_of(path: str, template: Source, collection: str | None) -> list[Source]:
    """The source of a path; files of formats with their own collection, such as transcripts beside
    notes, are a second source.
    """
    resolved, is_file = resolve(path, template.follow_symlinks)
    source = template._replace(path=resolved, collection=collection and storable_name(collection))
    if is_file:
        name = source.collection or default_collection(resolved, True, ())
        chosen = source._replace(patterns=(), exclude=(), workspace=None)
        return [chosen._replace(collection=name, is_file=True)]
    if collection:
        return [source]
    by_collection: dict[str | None, list[str]] = {None: []}
    for pattern in source.patterns:
        by_collection.setdefault(format_of(pattern).collection, []).append(pattern)
    return [
        source._replace(
            collection=default_collection(resolved, False, tuple(patterns)),
            patterns=tuple(patterns),
        )
        for patterns in by_collection.values()
        if patterns
    ]


def resolve(path: str, follow_symlinks: bool = False) -> tuple[str, bool]:
    """Return the path without links, and whether it is a file.

    Raises SourceError if it is neither a folder nor a regular file, or, unless links are followed,
    if it is a link to a file in another folder: a walk would skip such a file too.
    """
    resolved = real_path(path)
    named = os.path.expanduser(path)
    try:
        mode = os.stat(named).st_mode
    except OSError as error:
        raise SourceError(f"cannot ingest {path}: {error.strerror}") from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise SourceError(f"cannot ingest {path}: neither a folder nor a regular file")
    is_file = stat.S_ISREG(mode)
    folder = real_path(os.path.dirname(named) or ".")
    if is_file and not follow_symlinks and not is_in(resolved, folder):
        raise SourceError(
            f"cannot ingest {path}: it is a symbolic link to {resolved}; name that file itself"
        )
    return resolved, is_file


Key = tuple[str | None, str]  # collection and path; unique


class Listing(NamedTuple):
    """The files of a source, and its documents in the store.

    Files with unchanged documents are only counted, so that a large folder needs little memory.
    """

    source: Source
    walk: Walk
    files: list[FoundFile]  # new or changed
    known: dict[str, StoredDocument]  # the documents of these files, by id
    unchanged: int  # the number of other files
    found: dict[str, bool]  # ids of files and documents; whether the walk found the file
    missing: list[StoredDocument]  # the documents without a found file
    # Other sources with files of this one as their documents, and the number of files
    others: tuple[tuple[Source, int], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the folder has no file at all."""
        return not (self.files or self.unchanged or self.others)

    def has(self, path: str) -> bool:
        """Whether the walk found a file with this path."""
        doc_id = self.source.id_of(path)
        return doc_id is not None and self.found.get(doc_id, False)

    def vanished(self) -> list[str]:
        """The ids of the documents below this folder whose file names match its patterns, and whose
        files the walk did not find, except below folders that could not be listed, and files that
        only iCloud has.
        """
        unread = tuple(os.path.join(path, "") for path, _ in self.walk.unread)
        return [
            document.doc_id
            for document in self.missing
            if self._is_ours(document)
            and document.path not in self.walk.evicted
            and not os.path.join(str(document.path), "").startswith(unread)
        ]

    def has_documents(self) -> bool:
        """Whether the store has a document below this folder whose file name matches its patterns."""
        return any(map(self._is_ours, [*self.known.values(), *self.missing]))

    def _is_ours(self, document: StoredDocument) -> bool:
        path = document.path
        if not path or not path.startswith(os.path.join(self.source.path, "")):
            return False
        return self.walk.wanted.matches(os.path.basename(path))

    def to_remove(self) -> list[str]:
        """The ids of the documents that an ingest removes.

        It removes nothing if the folder has no file at all: its disk may not be mounted.
        """
        if self.source.is_file or self.source.keep_missing or self.is_empty:
            return []
        return self.vanished()


def assign_files(listings: Sequence[Listing], storage: Storage) -> list[Listing]:
    """Remove from each listing the files that belong to other sources, and count those in `others`.

    A source keeps the documents that it already has. The store is read only if something differs
    and sources may reach the same files.
    """
    sources = {
        _key(source): source
        for source in [*storage.sources.all(), *(listing.source for listing in listings)]
    }
    differs = any(listing.files or listing.missing for listing in listings)
    if not differs or not _may_meet(sources.values()):
        return list(listings)
    documents, place = _documents(storage, sources), _places()
    listings = [_without_others(listing, documents) for listing in listings]
    removed = {doc_id for listing in listings for doc_id in listing.to_remove()}
    owners = {
        place(sources[key], path): key
        for doc_id, (path, key) in documents.items()
        if doc_id not in removed
    }
    with_documents = set(owners.values())
    done: dict[Key, Listing] = {}
    for listing in sorted(listings, key=lambda listing: _rank(listing.source, with_documents)):
        source, found, others = listing.source, [], Counter[Key]()
        for file in listing.files:
            known = listing.known.get(source.doc_id(file.relative))
            owner = owners.setdefault(place(source, file.path), _key(source))
            if owner == _key(source) or (known and known.path == file.path):
                found.append(file)
            else:
                others[owner] += 1
        counts = tuple((sources[owner], count) for owner, count in others.items())
        done[_key(source)] = listing._replace(files=found, others=counts)
    return [done[_key(listing.source)] for listing in listings]


def by_claim(storage: Storage) -> list[Source]:
    """All sources, in the order in which they claim a new file."""
    sources = {_key(source): source for source in storage.sources.all()}
    with_documents = {key for _, key in _documents(storage, sources).values()}
    return sorted(sources.values(), key=lambda source: _rank(source, with_documents))


def _key(source: Source) -> Key:
    return source.collection, source.path


def _rank(source: Source, with_documents: set[Key]) -> tuple[bool, bool, int]:
    """Sort key of sources that reach the same file; the least one gets it.

    A source with documents comes before one without, since the file may lie beside them; one that
    follows no links before one that does; the innermost folder before those around it.
    """
    return _key(source) not in with_documents, source.follow_symlinks, -len(source.path)


def _may_meet(sources: Iterable[Source]) -> bool:
    sources = list(sources)
    tops = Counter(source.path for source in sources)
    if len(sources) > 1 and any(source.follow_symlinks for source in sources):
        return True
    return any(
        count > 1 or any(above in tops for above in _above(top)) for top, count in tops.items()
    )


def _above(path: str) -> Iterable[str]:
    while (folder := os.path.dirname(path)) != path:
        yield folder
        path = folder


def _documents(storage: Storage, sources: dict[Key, Source]) -> dict[str, tuple[str, Key]]:
    """Map the id of each document that a source has to its path and source."""
    found: dict[str, tuple[str, Key]] = {}
    for file in storage.catalog.source_files():
        for top in filter(None, (file.folder, file.path)):
            source = sources.get((file.collection, top))
            if source and source.has(file.doc_id, file.path):
                found[file.doc_id] = file.path, _key(source)
                break
    return found


def _without_others(listing: Listing, documents: dict[str, tuple[str, Key]]) -> Listing:
    """Remove the documents that belong only to another source of the same collection, such as a
    single file below a folder.
    """
    key = _key(listing.source)

    def may_be_ours(doc_id: str) -> bool:
        return documents.get(doc_id, ("", key))[1] == key or listing.source.is_file

    return listing._replace(
        known={doc_id: known for doc_id, known in listing.known.items() if may_be_ours(doc_id)},
        missing=[document for document in listing.missing if may_be_ours(document.doc_id)],
    )


def _places() -> Callable[[Source, str], str]:
    """Return a function that resolves the links in a path of a source, if the source follows links."""
    real_folder = cache(os.path.realpath)

    def place(source: Source, path: str) -> str:
        if not source.follow_symlinks:
            return path
        found = os.path.join(real_folder(os.path.dirname(path)), os.path.basename(path))
        return os.path.realpath(found) if os.path.islink(found) else found

    return place


class Rules(NamedTuple):
    """When a file is due. `chunking` is the required chunking of its document; None: any."""

    incremental: bool  # do not read files with unchanged time and size
    everything: bool  # read growing files however little is new
    chunking: str | None = None

    def is_current(self, known: StoredDocument) -> bool:
        """Whether the document of an unchanged file may stay as it is."""
        return self.incremental and self.chunking in (None, known.chunking)

    def is_unchanged(self, file: FoundFile, known: StoredDocument) -> bool:
        """Whether a file need not be opened, because it has the time and the size of its document."""
        is_same = known.size == file.size and known.mtime == file.mtime
        return is_same and self.is_current(known)


def list_files(source: Source, rules: Rules, documents: Documents, report: Report) -> Listing:
    """Walk a source. A folder that cannot be listed is an error in the report."""
    vault_format.cache_clear()
    walk = source.walk()
    rest: Iterator[FoundFile]
    if source.is_file:
        name = os.path.basename(source.path)
        rest = (file._replace(relative=name) for file in walk.file(source.path))
        found = {source.doc_id(name): False}
    else:
        rest = iter(walk)
        found = dict.fromkeys(documents.ids_in(str(source.collection)), False)
    files: list[FoundFile] = []
    known: dict[str, StoredDocument] = {}
    unchanged = 0
    while batch := [(source.doc_id(file.relative), file) for file in islice(rest, BATCH)]:
        stored = documents.several([doc_id for doc_id, _ in batch if doc_id in found])
        for doc_id, file in batch:
            found[doc_id] = True
            document = stored.get(doc_id)
            if document and document.path == file.path and rules.is_unchanged(file, document):
                unchanged += 1
                continue
            files.append(file)
            if document:
                known[doc_id] = document
    for path, reason in walk.unread:
        report.error(path, reason, "unreadable")
    missing = documents.several([doc_id for doc_id, is_found in found.items() if not is_found])
    return Listing(source, walk, files, known, unchanged, found, list(missing.values()))


def count_left_out(listings: Collection[Listing]) -> Counter[str]:
    """Count the files and folders that were left out, by rule, except files that another listing
    has.
    """
    entries = {
        path: rule
        for listing in listings
        for path, rule in listing.walk.left_out.items()
        if not any(other.has(path) for other in listings if other is not listing)
    }
    return Counter(entries.values())


def is_recut(known: StoredDocument, content_hash: bytes, chunking: str) -> bool:
    """Whether a document that was read again has the indexed text, chunked differently."""
    return known.content_hash == content_hash and known.chunking != chunking


def is_due(
    file: FoundFile,
    known: StoredDocument | None,
    rules: Rules,
    report: Report,
    follow_symlinks: bool,
) -> bool:
    """Whether to read a new or changed file. If not, it counts as skipped; if it cannot be examined,
    it is an error.
    """
    if known is None:
        return True
    due = None
    with report.reading(file.path):
        due = rules.everything or format_of(file.path).is_due(
            file.path, known.size, file.mtime, file.size, follow_symlinks
        )
    if due is False:
        report.skip(LITTLE_NEW)
    return bool(due)


# Kinds of refusals that last until the file or a limit changes. A missing package is noticed at no
# cost, and the other kinds may pass by themselves.
LASTING = {"size", "encoding", "damaged", "encrypted", "late"}


class Refusals:
    """Remembers refused files, so that they are not read again until something changes."""

    def __init__(self, storage: Storage, settings: Mapping[str, Any]) -> None:
        self._storage = storage
        self._limits = refusal_limits(settings)
        self._by_path = storage.sources.refusals()
        self._is_changed = False

    def of(self, file: FoundFile, seconds: float | None) -> Refusal | None:
        """The reason why the file would be refused again, given this many seconds to read it."""
        refusal = self._by_path.get(file.path)
        if refusal and refusal.holds(file.mtime, file.size, self._limits, seconds):
            return refusal
        return None

    def note(
        self, file: FoundFile, errors: Sequence[Mapping[str, str]], seconds: float | None
    ) -> None:
        """Remember the outcome of reading a file within this many seconds."""
        error = next((error for error in errors if error["kind"] in LASTING), None)
        if error is None or (error["kind"] == "late" and not (seconds and seconds > 0)):
            self._forget(file.path)
            return
        refusal = Refusal(
            file.mtime,
            file.size,
            self._limits,
            error["kind"],
            error["reason"],
            seconds if error["kind"] == "late" else None,
        )
        if self._by_path.get(file.path) != refusal:
            self._by_path[file.path] = refusal
            self._is_changed = True

    def forget_gone(self, listing: Listing) -> None:
        """Forget deleted files of a source."""
        above = os.path.join(listing.source.path, "")
        for path in list(self._by_path):
            is_ours = path.startswith(above) or path == listing.source.path
            if is_ours and not os.path.lexists(path):
                self._forget(path)

    def save(self) -> None:
        """Write the refusals if they changed."""
        if self._is_changed:
            with self._storage.transaction():
                self._storage.sources.remember_refusals(self._by_path)
            self._is_changed = False

    def _forget(self, path: str) -> None:
        if self._by_path.pop(path, None):
            self._is_changed = True
