"""How the files of a source are found and read."""

import os
from collections.abc import Mapping
from shlex import join
from typing import Any

from ..storage.source import Source
from ..text.characters import storable_name
from .document import chunking
from .files import Walk
from .formats import format_of
from .suffixes import grows


def walk_of(source: Source) -> Walk:
    """The walk over its files."""
    return Walk(
        source.path,
        source.patterns,
        source.exclude,
        source.follow_symlinks,
        source.workspace,
        source.no_ignore,
    )


def outlives_files(source: Source) -> bool:
    """Whether its documents stay, without an error, when their files are gone. Agents delete
    transcripts after some weeks.
    """
    names = [source.path] if source.is_file else source.patterns
    return (source.is_file or source.keep_missing) and all(map(grows, names))


def chunking_of(source: Source, settings: Mapping[str, Any]) -> str:
    """How its texts are read and split, as in `documents.chunking`."""
    return chunking(*source.sizes(settings), settings["date_keys"])


def ingest_command(source: Source, *, incremental: bool = True) -> str:
    """The command that ingests it again with the same settings; if not `incremental`, one that reads
    every file.
    """
    words = ["hybrid-memory", "ingest", "--path", source.path]
    if source.patterns != ("*.md",):
        for pattern in source.patterns:
            words += ["--pattern", pattern]
    for glob in source.exclude:
        words += ["--exclude", glob]
    if source.collection != default_collection(source.path, source.is_file, source.patterns):
        words += ["--collection", str(source.collection)]
    return join(
        [
            *words,
            *["--follow-symlinks"] * source.follow_symlinks,
            *["--keep-missing"] * source.keep_missing,
            *["--no-ignore"] * source.no_ignore,
            *["--incremental"] * incremental,
        ]
    )


def default_collection(path: str, is_file: bool, patterns: tuple[str, ...]) -> str | None:
    """What ids begin with if the user names no collection: the folder's name, or what the format of
    all its files prescribes.
    """
    names = {format_of(name).collection for name in ([path] if is_file else patterns)}
    if len(names) == 1:
        of_format = names.pop()
        if of_format:
            return of_format
    if is_file:
        return None
    return storable_name(os.path.basename(path) or "root")
