"""The files of the ingested folders that are not in the store, each with the rule that keeps it out. Reads no file that is in."""

import os
from typing import TYPE_CHECKING, NamedTuple

from ..documents.formats import format_of, refusal
from ..documents.walk import Walk
from ..documents.wanted import LINK, SPECIAL
from ..storage.source import Source

if TYPE_CHECKING:
    from ..store import HybridStore

NEW = "new"  # nothing keeps it out: it was not there, or could not be read, at the last ingest
TAKEN = "id taken"
UNREADABLE = "unreadable"

REASONS = {
    "hidden": "folders whose name begins with a dot are left out",
    "node_modules": "folders of this name are left out",
    "pattern": "no pattern of the folder matches its name",
    "excluded": "--exclude leaves it out",
    LINK: "symbolic links are not followed",
    SPECIAL: "only regular files are read",
    NEW: "it has not been read yet",
}


class Missing(NamedTuple):
    """A file, or a folder with all that is in it, that is not in the store."""

    path: str
    source: Source
    rule: str
    reason: str


def missing(store: "HybridStore") -> list[Missing]:
    """Everything below the ingested folders that is not in. A folder that is left out stands for what is in it."""
    known = {file.path for file in store.storage.catalog.source_files()}
    files: dict[str, Missing] = {}
    left_out: dict[str, Missing] = {}
    for source in store.storage.sources.all():
        if source.patterns is None:  # an older version did not note them
            continue
        walk = Walk(source.path, source.patterns, source.exclude, source.follow_symlinks)
        for file in walk.file(source.path) if source.is_file else walk:
            relative = os.path.basename(file.path) if source.is_file else file.relative
            if file.path not in known:
                files[file.path] = of_file(store, source, file.path, source.doc_id(relative))
        left_out |= {
            path: Missing(path, source, rule, REASONS[rule]) for path, rule in walk.left_out.items() if path not in known
        }
        files |= {path: Missing(path, source, UNREADABLE, reason) for path, reason in walk.unread}
    return [*files.values(), *(found for path, found in left_out.items() if path not in files)]


def of_file(store: "HybridStore", source: Source, path: str, doc_id: str) -> Missing:
    """Why a file that no rule of its folder leaves out is not in. Reads the file."""
    owner = store.storage.documents.get(doc_id)
    if owner and owner.path != path:
        return Missing(path, source, TAKEN, f"its id {doc_id!r} is that of {owner.path or 'a text that was put in by `store`'}")
    kind, reason = refusal(path, store.config["max_file_bytes"], source.follow_symlinks) or (NEW, REASONS[NEW])
    return Missing(path, source, kind, reason)


def is_up_to_date(path: str, mtime: float, size: int, status: os.stat_result) -> bool:
    """Whether a file is as it was when it was indexed, or has too little new text to be read again. Raises OSError."""
    if (status.st_mtime, status.st_size) == (mtime, size):
        return True
    return not format_of(path).is_due(path, size, status.st_mtime, status.st_size, follow_symlinks=True)
