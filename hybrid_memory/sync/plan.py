"""Decide what an ingest reads: the sources for the user's paths, the files below them, and which
are due.

Names, times and sizes decide; only a transcript that has grown a little is opened, to count its new
text. A file that several sources reach belongs to the deepest of them that takes it.
"""

import os
import stat
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from shlex import quote
from typing import Any, NamedTuple

from ..documents.document import mark_of, why_cut_again, without_mark
from ..documents.files import BY_OTHERS, FoundFile, Walk, Wanted
from ..documents.formats import format_of, has_enough_new, vault_format
from ..documents.sources import default_collection, outlives_files, walk_of
from ..documents.workspaces import is_workspace_name
from ..errors import SourceError
from ..paths import is_in
from ..storage.documents import Documents
from ..storage.interface import Storage
from ..storage.rows import StoredDocument
from ..storage.source import KnownSources, Refusal, Source, real_path, refusal_limits
from ..text.characters import storable_name
from .report import LITTLE_NEW, Report

MANY = 10  # notes; fewer are soon read again if they come back
BATCH = 500  # files whose documents are read at a time


def select_sources(
    paths: Sequence[str],
    template: Source,
    collection: str | None,
    known: KnownSources,
    report: Report,
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
            if outlives_files(source) or not _has_documents(source, storage.documents):
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
    of_deeper: int = 0  # the number of files that belong to a deeper source
    confirmed: bool = False  # the user has ingested this folder again
    # Unchanged files whose dates show the order of day and month, or can be read in either way
    marked: Sequence[tuple[str, FoundFile, StoredDocument]] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the folder has no file at all."""
        return not (self.files or self.unchanged or self.of_deeper)

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

    def newly_left_out(self) -> dict[str, str]:
        """The rules of BY_OTHERS that now leave out files of documents, by the ids."""
        if self.source.is_file or self.source.keep_missing:
            return {}
        rules = {document.doc_id: self._rule_of(document) for document in self.missing}
        return {doc_id: rule for doc_id, rule in rules.items() if rule in BY_OTHERS}

    def _rule_of(self, document: StoredDocument) -> str:
        """The rule that leaves out an existing file, or a folder around it; "" if there is none."""
        path = str(document.path)
        left_out = self.walk.left_out
        rule = next((left_out[at] for at in (path, *_above(path)) if at in left_out), "")
        return rule if rule and os.path.isfile(path) else ""

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

        If the folder has no file for this source, or lacks most of them, its disk may not be
        mounted: then only documents go whose files are there and left out.
        """
        if self.source.is_file or self.source.keep_missing:
            return []
        if self.is_empty or self.most_vanished():
            return [each.doc_id for each in self.missing if self._rule_of(each)]
        return self.vanished()

    def most_vanished(self) -> list[str]:
        """The vanished documents if they are so many that they stay until the user confirms it: more
        than half, and MANY or more. Otherwise [].
        """
        if self.source.is_file or self.source.keep_missing or self.confirmed or self.is_empty:
            return []
        vanished = self.vanished()
        present = self.unchanged + len(self.files) + self.of_deeper
        return vanished if len(vanished) >= max(MANY, present + 1) else []


class Owners:
    """Decides which of several sources a file belongs to: the deepest one that takes it, and of two
    in one place the one whose collection comes first.
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        by_key = {_key(source): source for source in sources}
        deepest_first = sorted(
            by_key.values(), key=lambda source: (-len(source.path), source.collection or "")
        )
        self._wanted = [(source, walk_of(source).wanted) for source in deepest_first]
        self._follow_links = any(source.follow_symlinks for source in deepest_first)
        self._real_folder = cache(os.path.realpath)

    @property
    def may_differ(self) -> bool:
        """Whether a file may be reached by several sources."""
        tops = Counter(source.path for source, _ in self._wanted)
        if len(self._wanted) > 1 and self._follow_links:
            return True
        return any(
            count > 1 or any(above in tops for above in _above(top)) for top, count in tops.items()
        )

    def of(self, path: str) -> Source | None:
        """The source that a file belongs to; None for a file outside of all sources, which a link
        leads to.
        """
        real = self._real(path) if self._follow_links else path
        return next((other for other, wanted in self._wanted if _takes(other, wanted, real)), None)

    def owns(self, source: Source, path: str) -> bool:
        """Whether a file that a source reaches belongs to it."""
        owner = self.of(path)
        return owner is None or _key(owner) == _key(source)

    def is_of_other(self, source: Source, document: StoredDocument) -> bool:
        """Whether another source has its file under the id of this document."""
        owner = self.of(document.path) if document.path else None
        if owner is None or _key(owner) == _key(source):
            return False
        return owner.id_of(str(document.path)) == document.doc_id

    def _real(self, path: str) -> str:
        found = os.path.join(self._real_folder(os.path.dirname(path)), os.path.basename(path))
        return os.path.realpath(found) if os.path.islink(found) else found


def _takes(source: Source, wanted: Wanted, path: str) -> bool:
    if source.is_file:
        return path == source.path
    return is_in(path, source.path) and wanted.takes(path)


def _above(path: str) -> Iterable[str]:
    while (folder := os.path.dirname(path)) != path:
        yield folder
        path = folder


def _key(source: Source) -> Key:
    return source.collection, source.path


def displaced(listing: Listing, owners: Owners, documents: Documents) -> list[str]:
    """The ids under which other sources have files that belong to this one."""
    source = listing.source
    return [
        document.doc_id
        for document in documents.from_path(source.path)
        if document.path
        and listing.has(document.path)
        and document.doc_id != source.id_of(document.path)
        and owners.owns(source, document.path)
    ]


def by_depth(storage: Storage) -> list[Source]:
    """All sources, the deepest first, which is the order in which they take a file."""
    return sorted(
        storage.sources.all(), key=lambda source: (-len(source.path), _key(source)[0] or "")
    )


class DueRules(NamedTuple):
    """When a file is due. `chunking` is the required chunking of its document; None: any."""

    incremental: bool  # do not read files with unchanged time and size
    everything: bool  # read growing files however little is new
    chunking: str | None = None

    def is_current(self, known: StoredDocument) -> bool:
        """Whether the document of an unchanged file may stay as it is."""
        if self.chunking is None:
            return self.incremental
        return self.incremental and why_cut_again(known.chunking, self.chunking) is None

    def is_unchanged(self, file: FoundFile, known: StoredDocument) -> bool:
        """Whether a file need not be opened, because it has the time and the size of its document."""
        is_same = known.size == file.size and known.mtime == file.mtime
        return is_same and self.is_current(known)


def list_files(
    source: Source, rules: DueRules, documents: Documents, report: Report, owners: Owners | None
) -> Listing:
    """Walk a source, without the files that belong to others. A folder that cannot be listed is an
    error in the report. `owners` is None if no file is reached by several sources.
    """
    vault_format.cache_clear()
    walk = walk_of(source)
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
    marked: list[tuple[str, FoundFile, StoredDocument]] = []
    unchanged = of_deeper = 0
    while some := list(islice(rest, BATCH)):
        own = [file for file in some if owners is None or owners.owns(source, file.path)]
        of_deeper += len(some) - len(own)
        batch = [(source.doc_id(file.relative), file) for file in own]
        stored = documents.several([doc_id for doc_id, _ in batch if doc_id in found])
        for doc_id, file in batch:
            found[doc_id] = True
            document = stored.get(doc_id)
            if document and document.path == file.path and rules.is_unchanged(file, document):
                unchanged += 1
                if mark_of(document.chunking):
                    marked.append((doc_id, file, document))
                continue
            files.append(file)
            if document:
                known[doc_id] = document
    for path, reason in walk.unread:
        report.error(path, reason, "unreadable")
    missing = [
        document
        for document in documents.several(
            [doc_id for doc_id, is_found in found.items() if not is_found]
        ).values()
        if owners is None or not owners.is_of_other(source, document)
    ]
    return Listing(source, walk, files, known, unchanged, found, missing, of_deeper, marked=marked)


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
    is_cut_alike = without_mark(known.chunking) == without_mark(chunking)
    return known.content_hash == content_hash and not is_cut_alike


def is_due(
    file: FoundFile,
    known: StoredDocument | None,
    rules: DueRules,
    report: Report,
    follow_symlinks: bool,
) -> bool:
    """Whether to read a new or changed file. If not, it counts as skipped; if it cannot be examined,
    it is an error.
    """
    if known is None or rules.everything:
        return True
    due = None
    with report.reading(file.path):
        due = has_enough_new(file.path, known.size, file.mtime, file.size, follow_symlinks)
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
