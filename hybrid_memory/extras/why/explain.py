"""Whether a note is in the store and current; if not, the rule that keeps it out, and the way out.
Changes nothing.

`missing` lists the files of the ingested folders that are not in the store, each with that rule; it
reads no file that is in the store.
"""

import os
from collections.abc import Sequence
from contextlib import closing, suppress
from glob import escape
from shlex import quote
from typing import Any, NamedTuple

from ...documents.document import why_cut_again
from ...documents.files import (
    CONFLICT,
    EVICTED,
    EXCLUDED,
    GENERATED,
    HIDDEN,
    LINK,
    OTHER_WORKSPACE,
    PATTERN,
    SKILL,
    SKIPPED_FOLDERS,
    SPECIAL,
    TEMPLATES,
    UNKNOWN_WORKSPACE,
    BadFileError,
)
from ...documents.formats import open_file, refusal
from ...documents.ignores import LISTS
from ...documents.markdown import parse
from ...documents.sources import default_collection, ingest_command, walk_of
from ...documents.workspaces import FOLDERS
from ...errors import NotFoundError, QueryError
from ...paths import is_in
from ...storage.rows import StoredDocument
from ...storage.source import Source
from ...storage.targets import find
from ...store import HybridStore, retry_once
from ...sync.plan import by_depth
from ...sync.texts import chunking_of_texts
from .states import STATES, source_of, state_of

NEW = "new"  # no rule keeps it out; at the last ingest it was missing or unreadable
TAKEN = "id taken"
UNREADABLE = "unreadable"

REASONS = {
    HIDDEN: "names that begin with a dot are left out",
    **dict.fromkeys(SKIPPED_FOLDERS, "folders with this name are left out"),
    GENERATED: "a tool made it, such as a virtual environment, or the trace of a session",
    EVICTED: "only iCloud has the file; open it on this machine to download it",
    PATTERN: "no pattern of the folder matches its name",
    EXCLUDED: "--exclude leaves it out",
    LINK: "it is a symbolic link that is not followed",
    SPECIAL: "only regular files are read",
    **dict.fromkeys(LISTS, "a list of files to ignore leaves it out"),
    SKILL: "it is a skill of agents, a folder with a SKILL.md",
    CONFLICT: "a sync program made this copy of the file beside it",
    TEMPLATES: "it is the template folder in the vault's settings",
    OTHER_WORKSPACE: "its session began in a folder outside the workspace",
    UNKNOWN_WORKSPACE: "it does not name the folder in which its session began",
    NEW: "it has not been read yet",
}

FIRST_STEPS = {  # before the ingest of a file
    "encoding": "save it as text in UTF-8, then ",
    UNREADABLE: "give yourself permission to read it, then ",
    "package": "then ",
}

# Of a document in the store; None for a file that is not in the store
KEYS = ("source", "chunks", "pending", "date", "indexed_at")


class Missing(NamedTuple):
    """A file that is not in the store, or a folder left out with all its files."""

    path: str
    source: Source
    rule: str
    reason: str


class Verdict(NamedTuple):
    """The reason why a note is left out, or a remark about it, and the way out; None if there is
    none.
    """

    rule: str | None = None
    reason: str | None = None
    way_out: str | None = None


def missing(store: HybridStore, only: str | None = None) -> list[Missing]:
    """Everything below the ingested folders that is not in the store, or `only` what has this path
    or is a folder around it. A folder that is left out represents all its files. What would be
    ingested comes before what a source leaves out.
    """
    indexed = {file.path for file in store.storage.catalog.source_files()}
    files: dict[str, Missing] = {}
    left_out: dict[str, Missing] = {}

    def is_asked_for(path: str) -> bool:
        return path not in indexed and (only is None or is_in(only, path))

    for source in by_depth(store.storage):
        is_elsewhere = only is not None and not is_in(only, source.path)
        if is_elsewhere or not os.path.lexists(source.path):
            continue
        walk = walk_of(source)
        for file in walk.file(source.path) if source.is_file else walk:
            if is_asked_for(file.path) and file.path not in files:
                files[file.path] = _of_file(store, source, file.path)
        for path, reason in filter(lambda each: is_asked_for(each[0]), walk.unread):
            files[path] = Missing(path, source, UNREADABLE, reason)
        for path, rule in walk.left_out.items():
            if is_asked_for(path):
                line = walk.wanted.ignored(path, os.path.isdir(path)) if rule in LISTS else None
                reason = f"{line.line} leaves it out" if line else REASONS[rule]
                left_out.setdefault(path, Missing(path, source, rule, reason))
    others = [file for path, file in left_out.items() if path not in files]
    return [*files.values(), *others]


def _of_file(store: HybridStore, source: Source, path: str) -> Missing:
    """Find out why a file is not in the store, although no rule of its folder leaves it out. Reads
    the file.
    """
    doc_id = str(source.id_of(path))
    owner = store.storage.documents.get(doc_id)
    if owner and owner.path != path:
        holder = owner.path or "a text added by `store`"
        return Missing(path, source, TAKEN, f"its id {doc_id!r} belongs to {holder}")
    refused = refusal(path, store.config["max_file_bytes"], source.follow_symlinks)
    kind, reason = refused or (NEW, REASONS[NEW])
    return Missing(path, source, kind, reason)


@retry_once
def explain(store: HybridStore, note: str) -> dict[str, Any]:
    """Explain why a note is left out, or describe it. A note is the path of a file, or a document
    as in `get`.

    In the answer, `in_memory` and `current` decide the exit status. `rule` is a word for what keeps
    the note out, makes it out of date or is remarkable about it, `reason` a sentence, and `way_out`
    the remedy; they may be None. Raises QueryError if no such file or document exists, and for a
    folder that no rule leaves out.
    """
    with store.storage.snapshot():
        path = os.path.abspath(os.path.expanduser(note))
        if not os.path.lexists(path):
            return _document(store, _id_of(store, note, path))
        folder, name = os.path.split(path)
        real = os.path.realpath(path)
        for other in (path, os.path.join(os.path.realpath(folder), name), real):
            doc_id = store.storage.catalog.by_path(other)
            if doc_id:
                return _document(store, doc_id)
        # A walk that follows links reads a file by one of its links only
        for file in store.storage.catalog.source_files() if real != path else ():
            if os.path.realpath(file.path) == real:
                return _document(store, file.doc_id)
        return _file(store, path)


def _id_of(store: HybridStore, note: str, path: str) -> str:
    """Find a document by a note that is not the path of a file. Raises QueryError."""
    try:
        return find(store.storage, note)[0]
    except NotFoundError as error:
        if os.path.basename(note) == note:
            raise
        raise NotFoundError(f"there is no file {path}, and {error}") from error


def _file(store: HybridStore, path: str) -> dict[str, Any]:
    """The answer for a file that is not in the store: from the source that would ingest it, else
    from the first source that leaves it out.
    """
    folders = [source.path for source in store.storage.sources.all()]
    place = path
    if not any(is_in(place, folder) for folder in folders):
        folder, name = os.path.split(path)
        place = os.path.join(os.path.realpath(folder), name)
    found = missing(store, only=place)
    if found:
        kept_out, source, rule, reason = found[0]
        if kept_out != place:
            reason = f"{kept_out}: {reason}"
        way_out = _way_out(found[0])
        if rule == PATTERN:
            refused = refusal(place, store.config["max_file_bytes"], True)
            if refused:
                reason += f", and it would be refused: {refused[1]}"
                way_out = None
        return _answer(path, source.id_of(place), Verdict(rule, reason, way_out))
    if os.path.isdir(path):
        if any(is_in(place, folder) for folder in folders):
            raise QueryError(f"{path} is a folder that no rule leaves out; name a file in it")
        command = f"`hybrid-memory ingest --path {quote(path)}`"
        raise QueryError(f"{path} is a folder that was not ingested; {command} ingests it")
    target = _place_to_ingest(os.path.realpath(path))
    way_out = f"`hybrid-memory ingest --path {quote(target)}` ingests it"
    reason = "it is not in any ingested folder"
    return _answer(path, None, Verdict("not ingested", reason, way_out))


def _place_to_ingest(path: str) -> str:
    """The folder of an agent's notes around a file, where tomorrow's note will be; else the file."""
    folder = os.path.dirname(path)
    while folder != os.path.dirname(folder):
        if os.path.basename(folder).lower() in FOLDERS:
            return folder
        folder = os.path.dirname(folder)
    return path


def _way_out(file: Missing) -> str | None:
    path, source, rule, _ = file
    by_itself = f"hybrid-memory ingest --path {quote(path)}"
    if rule in (SPECIAL, EVICTED) or (rule == LINK and source.follow_symlinks):
        return None
    if rule == TAKEN:
        return f"`{by_itself} --collection NAME` gives it another id"
    if rule == LINK:
        return f"`{ingest_command(source._replace(follow_symlinks=True))}` follows links"
    if rule == PATTERN:
        ending = os.path.splitext(path)[1]
        pattern = f"*{escape(ending)}" if ending else escape(os.path.basename(path))
        source = source._replace(patterns=(*source.patterns, pattern))
    elif rule in REASONS and rule != NEW:
        if os.path.isdir(path):
            name = default_collection(path, False, source.patterns)
            folder = Source(path, name, False, source.patterns)
            by_itself = ingest_command(folder, incremental=False)
        return f"`{by_itself}` ingests it"  # what is named is ingested, whatever the rules
    limit = ""
    if rule == "size":
        limit = f"HYBRID_MEMORY_MAX_FILE_BYTES={os.path.getsize(path)} "
    return f"{FIRST_STEPS.get(rule, '')}`{limit}{ingest_command(source)}` ingests it"


def _answer(path: str | None, doc_id: str | None, verdict: Verdict) -> dict[str, Any]:
    """The keys of every answer, with the values for a note that is not in the store."""
    return {
        "path": path,
        "doc_id": doc_id,
        "in_memory": False,
        "current": False,
        **verdict._asdict(),
        **dict.fromkeys(KEYS),
    }


def _document(store: HybridStore, doc_id: str) -> dict[str, Any]:
    """The answer for a document in the store."""
    document = store.storage.documents.several([doc_id])[doc_id]
    row = store.storage.catalog.entry(doc_id)
    source = None
    if row["path"]:
        source = source_of(store.storage.sources.all(), row["path"], row["collection"])
    difference = _difference(store, row, document, source)
    answer = {
        **_answer(row["path"], doc_id, difference or _remark(store, row)),
        "in_memory": True,
        "current": difference is None,
        **{key: row.get(key) for key in KEYS},
        "source": source.path if source else None,
    }
    if "host" in row:
        answer["host"] = row["host"]
    return answer


def _difference(
    store: HybridStore, row: dict[str, Any], document: StoredDocument, source: Source | None
) -> Verdict | None:
    """Explain why a document is not current. Reads its file, because a changed text may have the same
    size and time.
    """
    if row["path"]:
        source = source or Source(row["path"], row["collection"], True, ())
        name = state_of(document, source, store.config)
        way_out = STATES[name].way_out_for(source) if name else ""
    else:
        name = why_cut_again(document.chunking, chunking_of_texts(store))
        way_out = "`hybrid-memory update` cuts it again"
    if name is None or "host" in row:
        return None
    return Verdict(STATES[name].rule, f"it {STATES[name].one}", way_out)


def _remark(store: HybridStore, row: dict[str, Any]) -> Verdict:
    """A remark about a document that is current."""
    if not row["chunks"]:
        return Verdict("empty", "it has no text, so no search finds it")
    warnings: Sequence[tuple[str, str]] = []
    if row["path"]:
        warnings = warnings_of(store, row["path"])
    elif "host" in row:
        host = row["host"]
        reason = f"its file is on another host; only {host} can check whether it has changed"
        return Verdict(reason=reason)
    else:
        text = store.storage.catalog.document(row["doc_id"]).content or ""
        warnings = [(reason, "front matter") for reason in parse(text, {}).warnings]
    for reason, rule in warnings:
        return Verdict(rule, reason)
    return Verdict()


def warnings_of(store: HybridStore, path: str) -> list[tuple[str, str]]:
    """The warnings of an ingest that reads this file, each with its kind."""
    max_bytes = store.config["max_file_bytes"]
    with (
        suppress(OSError, BadFileError),
        closing(open_file(path, max_bytes, True, {})) as reading,
    ):
        return reading.warnings
    return []
