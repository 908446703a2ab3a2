"""Whether a note is in the store and current; if not, the rule that keeps it out, and the way out.
Changes nothing.

`missing` lists the files of the ingested folders that are not in the store, each with that rule; it
reads no file that is in the store.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from glob import escape
from shlex import quote
from typing import Any, NamedTuple

from ...documents.document import OTHER_SETTINGS, OTHER_VERSION, why_cut_again
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
    Wanted,
    open_regular,
)
from ...documents.formats import has_enough_new, open_file, refusal
from ...documents.ignores import LISTS
from ...documents.markdown import parse
from ...documents.sources import chunking_of, default_collection, ingest_command, walk_of
from ...documents.workspaces import FOLDERS
from ...errors import NotFoundError, QueryError
from ...paths import is_in
from ...storage.rows import StoredDocument
from ...storage.source import Refusal, Source, refusal_limits
from ...storage.targets import find
from ...store import HybridStore, retry_once
from ...sync.plan import by_depth
from ...sync.texts import chunking_of_texts
from ...text.characters import hasher

NEW = "new"  # no rule keeps it out; at the last ingest it was missing or unreadable
TAKEN = "id taken"
UNREADABLE = "unreadable"

CUT_AGAIN = {OTHER_SETTINGS: "settings", OTHER_VERSION: "version"}  # the rules of these reasons
REASONS = {
    HIDDEN: "names that begin with a dot are left out",
    **dict.fromkeys(SKIPPED_FOLDERS, "folders with this name are left out"),
    GENERATED: "a tool made it, such as a virtual environment, or the trace of a session",
    EVICTED: "only iCloud has the file; open it on this machine to download it",
    "pattern": "no pattern of the folder matches its name",
    "excluded": "--exclude leaves it out",
    LINK: "symbolic links are not followed",
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
    "unreadable": "give yourself permission to read it, then ",
    "package": "then ",
}

# Of a document in the store; None for a file that is not in the store
KEYS = ("source", "chunks", "pending", "date", "indexed_at")

BLOCK = 1 << 20  # bytes of a file in memory at a time


class Missing(NamedTuple):
    """A file that is not in the store, or a folder left out with all its files."""

    path: str
    source: Source
    rule: str
    reason: str


class SourcePath(NamedTuple):
    """A path as seen from a source: `names` lead from the source's folder to it."""

    source: Source
    path: str
    names: list[str]


class Verdict(NamedTuple):
    """The reason why a note is left out, or a remark about it, and the way out; None if there is
    none.
    """

    rule: str | None = None
    reason: str | None = None
    way_out: str | None = None


def missing(store: HybridStore) -> list[Missing]:
    """Everything below the ingested folders that is not in the store. A folder that is left out
    represents all its files.
    """
    indexed = {file.path for file in store.storage.catalog.source_files()}
    refusals = store.storage.sources.refusals()
    files: dict[str, Missing] = {}
    left_out: dict[str, Missing] = {}
    for source in store.storage.sources.all():
        if not os.path.lexists(source.path):
            continue
        walk = walk_of(source)
        for file in walk.file(source.path) if source.is_file else walk:
            if file.path not in indexed:
                relative = os.path.basename(file.path) if source.is_file else file.relative
                doc_id = source.doc_id(relative)
                files[file.path] = of_file(store, source, file.path, doc_id, refusals)
        for path, rule in walk.left_out.items():
            if path not in indexed:
                left_out[path] = Missing(path, source, rule, REASONS[rule])
        for path, reason in walk.unread:
            files[path] = Missing(path, source, UNREADABLE, reason)
    others = [file for path, file in left_out.items() if path not in files]
    return [*files.values(), *others]


def of_file(
    store: HybridStore, source: Source, path: str, doc_id: str, refusals: Mapping[str, Refusal]
) -> Missing:
    """Find out why a file is not in the store, although no rule of its folder leaves it out. Reads
    the file, unless `refusals`, the last ingest's by path, have a reason.
    """
    owner = store.storage.documents.get(doc_id)
    if owner and owner.path != path:
        holder = owner.path or "a text added by `store`"
        return Missing(path, source, TAKEN, f"its id {doc_id!r} belongs to {holder}")
    refusal_before = refusals.get(path)
    if refusal_before and _still_holds(refusal_before, path, store.config):
        return Missing(path, source, refusal_before.kind, refusal_before.reason)
    refused = refusal(path, store.config["max_file_bytes"], source.follow_symlinks)
    kind, reason = refused or (NEW, REASONS[NEW])
    return Missing(path, source, kind, reason)


def _still_holds(refusal: Refusal, path: str, settings: Mapping[str, Any]) -> bool:
    """Whether a file that the last ingest refused would be refused again."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    limits = refusal_limits(settings)
    return refusal.holds(status.st_mtime, status.st_size, limits, refusal.seconds)


def is_up_to_date(path: str, mtime: float, size: int, status: os.stat_result) -> bool:
    """Whether a file has not changed since it was indexed, or has too little new text to be read
    again. Raises OSError.
    """
    if (status.st_mtime, status.st_size) == (mtime, size):
        return True
    return not has_enough_new(path, size, status.st_mtime, status.st_size, follow_symlinks=True)


def holds_what_was_indexed(document: StoredDocument, status: os.stat_result) -> bool:
    """Whether a document's file still has the indexed bytes, with at most too little new text after
    them to be read again. Reads the file.

    Raises OSError and BadFileError.
    """
    path = str(document.path)
    if status.st_size != document.size and not is_up_to_date(
        path, document.mtime, document.size, status
    ):
        return False
    state = hasher()
    left = document.size
    with open_regular(path, follow_symlinks=True) as stream:
        while left and (data := stream.read(min(left, BLOCK))):
            state.update(data)
            left -= len(data)
    return state.digest() == document.content_hash


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
        path = _existing(note)
        if path is None:
            return _document(store, _id_of(store, note))
        places = list(_places(store, path))
        doc_id_of_path = _indexed_as(store, path, places)
        if doc_id_of_path:
            return _document(store, doc_id_of_path)
        return _file(store, path, places)


def _id_of(store: HybridStore, note: str) -> str:
    """Find a document by a note that is not the path of a file. Raises QueryError."""
    try:
        return find(store.storage, note)[0]
    except NotFoundError as error:
        if os.path.basename(note) == note:
            raise
        path = os.path.abspath(os.path.expanduser(note))
        raise NotFoundError(f"there is no file {path}, and {error}") from error


def _existing(note: str) -> str | None:
    """The absolute path, if it exists."""
    # Invalid names; or the working directory no longer exists
    with suppress(ValueError, OSError):
        path = os.path.abspath(os.path.expanduser(note))
        return path if os.path.lexists(path) else None
    return None


def _places(store: HybridStore, path: str) -> Iterator[SourcePath]:
    """Yield the path as seen from each source that contains it, first from the source that would
    ingest it.
    """
    for source in by_depth(store.storage):
        folder = path
        names: list[str] = []
        while os.path.realpath(folder) != source.path and folder != os.path.dirname(folder):
            names.insert(0, os.path.basename(folder))
            folder = os.path.dirname(folder)
        fits = source.is_file == (not names) or os.path.isdir(path)
        if os.path.realpath(folder) == source.path and fits:
            yield SourcePath(source, os.path.join(source.path, *names), names)


def _indexed_as(store: HybridStore, path: str, places: Sequence[SourcePath]) -> str | None:
    """The id of a file's document, by its path, by its path from a source, or by another link."""
    real = os.path.realpath(path)
    for name in (path, *(place.path for place in places), real):
        doc_id = store.storage.catalog.by_path(name)
        if doc_id:
            return doc_id
    for place in places:
        if place.source.follow_symlinks:
            doc_id = _document_of_other_link(store, place.source, real)
            if doc_id:
                return doc_id
    return None


def _document_of_other_link(store: HybridStore, source: Source, real: str) -> str | None:
    """The id of the document of the same file by another link: a walk that follows links reads each
    file once.
    """
    documents = store.storage.documents.of_collection(str(source.collection))
    for document in documents.values():
        if document.path and os.path.realpath(document.path) == real:
            return document.doc_id
    return None


def _file(store: HybridStore, path: str, places: Sequence[SourcePath]) -> dict[str, Any]:
    """The answer for a file that is not in the store: from the source that would ingest it, else
    from the first source that leaves it out.
    """
    first_answer = None
    for place in places:
        left_out = _left_out(place.source, place.names)
        if left_out is None:
            if os.path.isdir(place.path):
                raise QueryError(f"{path} is a folder that no rule leaves out; name a file in it")
            return _file_of(store, path, place, None)
        first_answer = first_answer or _file_of(store, path, place, left_out)
    if first_answer:
        return first_answer
    if os.path.isdir(path):
        command = f"`hybrid-memory ingest --path {quote(path)}`"
        raise QueryError(f"{path} is a folder that was not ingested; {command} ingests it")
    target = _place_to_ingest(os.path.realpath(path))
    way_out = f"`hybrid-memory ingest --path {quote(target)}` ingests it"
    reason = "it is not in any ingested folder"
    return _answer_if_missing(path, None, Verdict("not ingested", reason, way_out))


def _place_to_ingest(path: str) -> str:
    """The folder of an agent's notes around a file, where tomorrow's note will be; else the file."""
    folder = os.path.dirname(path)
    while folder != os.path.dirname(folder):
        if os.path.basename(folder).lower() in FOLDERS:
            return folder
        folder = os.path.dirname(folder)
    return path


def _file_of(
    store: HybridStore, path: str, place: SourcePath, left_out: Missing | None
) -> dict[str, Any]:
    doc_id = place.source.doc_id("/".join(place.names) or os.path.basename(place.path))
    if left_out is None:
        refusals = store.storage.sources.refusals()
        left_out = of_file(store, place.source, place.path, doc_id, refusals)
    reason = left_out.reason
    way_out = _way_out(store, left_out, doc_id)
    if left_out.rule == PATTERN:
        refused = refusal(place.path, store.config["max_file_bytes"], True)
        if refused:
            reason += f", and it would be refused: {refused[1]}"
            way_out = None
    return _answer_if_missing(path, doc_id, Verdict(left_out.rule, reason, way_out))


def _left_out(source: Source, names: Sequence[str]) -> Missing | None:
    """The first folder on the way to the file, or the file itself, that a rule leaves out."""
    wanted = walk_of(source).wanted
    path = source.path
    for name in names:
        path = os.path.join(path, name)
        rule = wanted.refusal(name, path, os.path.isdir(path))
        if rule == EXCLUDED:
            others = _other_excludes(source, path)
            globs = ", ".join(glob for glob in source.exclude if glob not in others)
            return Missing(path, source, rule, f"--exclude {globs} leaves it out")
        if rule in LISTS:
            line = wanted.ignored(path, os.path.isdir(path))
            return Missing(path, source, rule, f"{line and line.line} leaves it out")
        if rule:
            subject = "" if name == names[-1] else f"{path}: "
            return Missing(path, source, rule, subject + REASONS[rule])
        if os.path.islink(path) and not source.follow_symlinks:
            reason = f"{path} is a symbolic link, and symbolic links are not followed"
            return Missing(path, source, LINK, reason)
    if os.path.isdir(path):
        return None
    if not os.path.isfile(path):
        return Missing(path, source, SPECIAL, REASONS[SPECIAL])
    with suppress(OSError, BadFileError):  # in that case `of_file` reports a refusal
        rule = wanted.refusal_of_session(path)
        if rule:
            return Missing(path, source, rule, REASONS[rule])
    return None


def _other_excludes(source: Source, path: str) -> tuple[str, ...]:
    """The source's globs that do not exclude this path."""
    name = os.path.basename(path)
    return tuple(
        glob
        for glob in source.exclude
        if not Wanted(source.path, ["*"], [glob]).refusal(name, path, False)
    )


def _way_out(store: HybridStore, file: Missing, doc_id: str) -> str | None:
    path, source, rule, _ = file
    again = f"`{ingest_command(source)}` ingests it"
    if rule in LISTS:
        return f"`{ingest_command(source._replace(no_ignore=True))}` ingests it"
    if rule in (OTHER_WORKSPACE, UNKNOWN_WORKSPACE, CONFLICT) or (
        rule == HIDDEN and os.path.isfile(path)
    ):
        return f"`hybrid-memory ingest --path {quote(path)}` ingests it"
    if rule in (HIDDEN, GENERATED, TEMPLATES, SKILL, *SKIPPED_FOLDERS):
        name = default_collection(path, False, source.patterns)
        return f"`{ingest_command(source._replace(path=path, collection=name))}` ingests the folder"
    if rule == PATTERN:
        ending = os.path.splitext(path)[1]
        pattern = f"*{escape(ending)}" if ending else escape(os.path.basename(path))
        return (
            f"`{ingest_command(source._replace(patterns=(*source.patterns, pattern)))}` ingests it"
        )
    if rule == EXCLUDED:
        return (
            f"`{ingest_command(source._replace(exclude=_other_excludes(source, path)))}` ingests it"
        )
    if rule == LINK:
        return f"`{ingest_command(source._replace(follow_symlinks=True))}` follows links"
    if rule in (SPECIAL, EVICTED):
        return None
    if rule == TAKEN:
        owner = store.storage.documents.get(doc_id)
        if owner and owner.path:
            command = f"hybrid-memory ingest --path {quote(path)} --collection NAME"
            return f"`{command}` gives it another id"
        return f"`hybrid-memory delete --doc-id {quote(doc_id)}` frees the id; then {again}"
    if rule == "size":
        setting = f"HYBRID_MEMORY_MAX_FILE_BYTES={os.path.getsize(path)}"
        return f"`{setting} {ingest_command(source)}` ingests it"
    return FIRST_STEPS.get(rule, "") + again


def _answer_if_missing(path: str, doc_id: str | None, verdict: Verdict) -> dict[str, Any]:
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
    document = store.storage.documents.get(doc_id)
    row = store.storage.catalog.entry(doc_id)
    path = row["path"]
    source = _source_of(store, path, row["collection"]) if path else None
    outdated = None
    if document and path:
        outdated = _outdated(store, document, source or Source(path, row["collection"], True, ()))
    elif document and "host" not in row:
        outdated = _cut_again(document, chunking_of_texts(store), "`hybrid-memory update`")
    answer = {
        "path": path,
        "doc_id": doc_id,
        "in_memory": True,
        "current": outdated is None,
        **(outdated or _remark(store, row, document))._asdict(),
        **{key: row.get(key) for key in KEYS},
        "source": source.path if source else None,
    }
    if "host" in row:
        answer["host"] = row["host"]
    return answer


def _source_of(store: HybridStore, path: str, collection: str | None) -> Source | None:
    for source in store.storage.sources.all():
        if source.collection == collection and is_in(path, source.path):
            return source
    return None


def _outdated(store: HybridStore, document: StoredDocument, source: Source) -> Verdict | None:
    """Explain why a document differs from its file, or why this is unknown. Reads the file, because
    a changed text may have the same size and time.
    """
    path = str(document.path)
    again = f"`{ingest_command(source)}`"
    try:
        status = os.stat(path)
        is_current = holds_what_was_indexed(document, status)
    except (FileNotFoundError, NotADirectoryError) as error:
        if not os.path.isdir(source.path):
            again = f"`hybrid-memory delete --path {quote(source.path)}`"
        way_out = "kept because of --keep-missing" if source.keep_missing else f"{again} removes it"
        return Verdict("gone", f"its file: {error.strerror}", way_out)
    except (OSError, BadFileError) as error:
        problem = getattr(error, "strerror", None) or error
        reason = f"its file cannot be read, so it may have changed: {problem}"
        return Verdict(UNREADABLE, reason, f"{FIRST_STEPS[UNREADABLE]}{again} reads it again")
    if not is_current:
        reason = "its file has changed since it was read"
        if (status.st_mtime, status.st_size) == (document.mtime, document.size):
            reason += ", with the same size and time"
            again = f"`{ingest_command(source, incremental=False)}`"
        return Verdict("changed", reason, f"{again} reads it again")
    return _cut_again(document, chunking_of(source, store.config), again)


def _cut_again(document: StoredDocument, wanted: str, command: str) -> Verdict | None:
    reason = why_cut_again(document.chunking, wanted)
    if reason is None:
        return None
    return Verdict(CUT_AGAIN[reason], f"it was {reason}", f"{command} cuts it again")


def _remark(store: HybridStore, row: dict[str, Any], document: StoredDocument | None) -> Verdict:
    """A remark about a document that is current."""
    if not row["chunks"]:
        return Verdict("empty", "it has no text, so no search finds it")
    if row["path"]:
        if document and os.path.getsize(row["path"]) > document.size:
            return Verdict(reason="its file has grown, but too little to be read again yet")
        return _warning(store, row["path"])
    host = row.get("host")
    if host:
        reason = f"its file is on another host; only {host} can check whether it has changed"
        return Verdict(reason=reason)
    text = store.storage.catalog.document(row["doc_id"]).content or ""
    for reason in parse(text, {}).warnings:
        return Verdict("front matter", reason)
    return Verdict()


def _warning(store: HybridStore, path: str) -> Verdict:
    """The first warning of an ingest that reads this file."""
    for reason, rule in warnings_of(store, path):
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
