"""From the paths that a user names to the sources that are ingested."""

import os
import stat
from collections.abc import Collection, Iterator, Sequence
from shlex import quote

from ..documents.formats import format_of
from ..errors import SourceError
from ..storage.protocol import Sources
from ..storage.source import Source, default_collection, real_path
from ..text.characters import storable_name
from .report import Report


def selected(paths: Sequence[str], like: Source, collection: str | None, known: Sources, report: Report) -> list[Source]:
    """A source, or several, for each path, ingested in the way that `like` says.

    Of several paths, one that cannot be ingested is an error in the report. Raises SourceError if that leaves none, and for a
    collection that another folder has.
    """
    sources: dict[Source, None] = {}
    owners: dict[str | None, str] = {}
    for path in paths:
        try:
            found = _sources_of(path, like, collection)
        except SourceError as error:
            if len(paths) == 1:
                raise
            report.error(path, str(error), "gone")
            continue
        for source in found if collection else map(known.of_own_name, found):
            if source.is_file:  # it may have been stored under an id of its own
                stored = next(iter(known.all(source.collection or "", source.path)), source)
                source = source._replace(own_id=stored.own_id, metadata=stored.metadata)
            sources[source] = None
            if not source.is_file and owners.setdefault(source.collection, source.path) != source.path:
                raise SourceError(
                    f"{owners[source.collection]} and {source.path} would have the same document ids; "
                    "ingest one of them by itself, with --collection NAME"
                )
            known.check_claim(source)
    if not sources:
        raise SourceError("; ".join(error["reason"] for error in report.errors))
    return list(sources)


def remembered(known: Sources, report: Report, paths: Collection[str] = ()) -> Iterator[Source]:
    """Everything that was ingested before (or what was ingested of these paths), as it was.

    What is gone is an error in the report, and what nobody noted the patterns of a warning, each with the way out.
    """
    for source in known.all():
        if paths and source.path not in paths:
            continue
        try:
            resolve(source.path)
        except SourceError as error:
            way_out = f"`hybrid-memory delete --path {quote(source.path)}`"
            report.error(source.path, f"{error}; if it is gone for good: {way_out}", "gone")
            continue
        if source.patterns is None:
            report.warning(source.path, f"an older version did not note its patterns; once `{source.command()}`")
            continue
        yield source


def _sources_of(path: str, like: Source, collection: str | None) -> list[Source]:
    """One source; but files of formats with collections of their own, such as transcripts beside notes, are a second one."""
    resolved, is_file = resolve(path)
    source = like._replace(path=resolved, collection=collection and storable_name(collection))
    if is_file:
        name = source.collection or default_collection(resolved, True, ())
        return [source._replace(collection=name, is_file=True, patterns=(), exclude=())]
    if collection:
        return [source]
    by_collection: dict[str | None, list[str]] = {None: []}
    for pattern in source.patterns or ():
        by_collection.setdefault(format_of(pattern).collection, []).append(pattern)
    return [
        source._replace(collection=default_collection(resolved, False, tuple(patterns)), patterns=tuple(patterns))
        for patterns in by_collection.values()
        if patterns
    ]


def resolve(path: str) -> tuple[str, bool]:
    """The path without links, and whether it is a file. Raises SourceError for what is neither a folder nor a regular file."""
    resolved = real_path(path)
    try:
        mode = os.stat(resolved).st_mode
    except OSError as error:
        raise SourceError(f"cannot ingest {path}: {error.strerror}") from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise SourceError(f"cannot ingest {path}: neither a folder nor a regular file")
    return resolved, stat.S_ISREG(mode)
