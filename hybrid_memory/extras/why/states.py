"""How a file can differ from its document: a table of the states, and the state of one file."""

import os
from collections.abc import Iterable, Mapping
from shlex import quote
from typing import Any, NamedTuple

from ...documents.document import OTHER_SETTINGS, OTHER_VERSION, why_cut_again
from ...documents.files import BadFileError, open_regular
from ...documents.formats import has_enough_new
from ...documents.sources import chunking_of, ingest_command, outlives_files
from ...paths import is_in
from ...storage.rows import SourceFile, StoredDocument
from ...storage.source import Source
from ...text.characters import digest


class State(NamedTuple):
    """How a file differs from the store: the rule in the answer of `why`, and what is said of one
    note and of several. `way_out` may contain {update} and {ingest}, the commands that read the
    files of the source, and {path}, its folder.
    """

    rule: str
    one: str
    several: str
    way_out: str
    ok: bool = False

    def way_out_for(self, source: Source) -> str:
        return self.way_out.format(
            update=ingest_command(source),
            ingest=ingest_command(source, incremental=False),
            path=quote(source.path),
        )


NO_FILE = ("gone", "no longer has a file", "no longer have a file")
CUTS_AGAIN = "`{update}` cuts such notes again"
STATES = {
    "new": State(
        "new",
        "is not in the memory yet",
        "are not in the memory yet",
        "`{update}` ingests new files",
    ),
    "changed": State(
        "changed", "is out of date", "are out of date", "`{update}` reads changed files"
    ),
    "rewritten": State(
        "changed",
        "has changed, with the same size and time",
        "have changed, with the same size and time",
        "`{ingest}` reads every file",
    ),
    OTHER_SETTINGS: State(
        "settings", f"was {OTHER_SETTINGS}", f"were {OTHER_SETTINGS}", CUTS_AGAIN
    ),
    OTHER_VERSION: State("version", f"was {OTHER_VERSION}", f"were {OTHER_VERSION}", CUTS_AGAIN),
    "unreadable": State(
        "unreadable",
        "cannot be read, and may have changed",
        "cannot be read, and may have changed",
        "give yourself permission to read, then `{update}`",
    ),
    "kept": State(*NO_FILE, "kept, because of --keep-missing or as a transcript", ok=True),
    "gone": State(*NO_FILE, "`{update}` removes notes without a file"),
    "without a folder": State(
        *NO_FILE, "`hybrid-memory delete --path {path}` removes notes without a file"
    ),
}


def source_of(sources: Iterable[Source], path: str, collection: str | None) -> Source | None:
    """The source of a document's file."""
    for source in sources:
        if source.collection == collection and is_in(path, source.path):
            return source
    return None


def state_of(
    known: SourceFile | StoredDocument, source: Source, settings: Mapping[str, Any]
) -> str | None:
    """How the file of a document differs from it, a key of STATES; None if it is current. A file that
    has grown, but too little to be read again, is current.

    The size and the time decide, or the contents if their hash is `known`.
    """
    path = str(known.path)
    try:
        status = os.stat(path)
        is_same = (status.st_mtime, status.st_size) == (known.mtime, known.size)
        has_new = not is_same and has_enough_new(
            path, known.size, status.st_mtime, status.st_size, follow_symlinks=True
        )
        if isinstance(known, StoredDocument):
            was_only_touched = status.st_size == known.size
            has_new = (has_new and not was_only_touched) or not _begins_as(known, path)
    except (FileNotFoundError, NotADirectoryError):
        if source.keep_missing or outlives_files(source):
            return "kept"
        return "gone" if os.path.isdir(source.path) else "without a folder"
    except (OSError, BadFileError):
        return "unreadable"
    if has_new:
        return "rewritten" if is_same else "changed"
    return why_cut_again(known.chunking, chunking_of(source, settings))


def _begins_as(document: StoredDocument, path: str) -> bool:
    """Whether a file begins with the bytes that were indexed. Raises OSError and BadFileError."""
    with open_regular(path, follow_symlinks=True) as stream:
        return digest(stream.read(document.size)) == document.content_hash
