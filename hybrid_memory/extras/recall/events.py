"""What a hook does at the start of a session, at its end, after an answer and before a compaction."""

import os
import time
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from ...documents.formats import format_of
from ...paths import is_in
from ...storage.source import Source, real_path
from ...store import HybridStore
from ...surface.memories import workspace_of
from ...surface.opening import open_store
from ...surface.output import title_of
from ...surface.streams import single_line
from ...sync.ingest import Ingest, remember
from ...sync.refresh import refresh
from ..formats.inserted import NEWS
from ..formats.transcripts import FORMAT
from ..places import notes_of_hosts, with_free_collections
from .state import RecallSession, last_start, note_refusal
from .transcripts import RefusedError, SessionTranscript, transcript

NAMED = 3  # documents listed in the line about new notes


def start(args: Namespace, hook: Mapping[str, Any]) -> str:
    """What to tell at the start of a session, or after a compaction of its context."""
    if hook.get("source") in ("clear", "compact"):
        RecallSession(hook.get("session_id") or "", hook.get("transcript_path")).forget()
        return ""
    return news(args)


def news(args: Namespace) -> str:
    """Update the memory, and return a line about notes that changed since a session last began, or
    about a memory that cannot answer.
    """
    with open_store(args) as store:
        _cover_notes(store, args.workspace)
        refresh(store)
        if not store.storage.chunks.count():
            return "hybrid-memory: the memory is empty; `hybrid-memory init` ingests notes"
        before = last_start(store.path)
        if before is None:
            return ""
        changed = [
            file
            for file in store.storage.catalog.source_files()
            if file.mtime > before and format_of(file.path) is not FORMAT
        ]
        changed.sort(key=lambda file: -file.mtime)
        titles = [_title(store, file.doc_id) for file in changed[:NAMED]]
    if not titles:
        return ""
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(before))
    more = " and more" if len(changed) > NAMED else ""
    return f"{NEWS} since {since}: {', '.join(titles)}{more}."


def _title(store: HybridStore, doc_id: str) -> str:
    metadata = store.storage.catalog.outline(doc_id)["metadata"]
    return single_line(title_of(store, doc_id, metadata) or os.path.basename(doc_id))


def ingest_transcript(args: Namespace, named: Any) -> str:
    """Ingest a transcript into the existing memory of the workspace in which the session began.

    Tells nothing. A file that is not an agent's transcript is refused, and the refusal is recorded. Raises
    NoWorkspaceError if that workspace has no memory, and StoreError if it does not exist.
    """
    try:
        found = transcript(named)
    except RefusedError as error:
        with open_store(args) as store:
            note_refusal(store.path, str(named), str(error))
        return ""
    if found is None:
        return ""
    args.workspace = found.workspace or args.workspace
    with open_store(args) as store:
        job = Ingest(store, incremental=True, everything=True)
        _cover_notes(store, args.workspace)
        if _cover(store, found):
            job.update()
        else:
            job.run([found.path])
    return ""


def _cover_notes(store: HybridStore, folder: str) -> None:
    """Make the places where agents keep notes for the workspace around a folder sources, unless
    sources cover them already. Agents create them long after `init`.
    """
    top = workspace_of(folder) or real_path(folder)
    sources = store.storage.sources.all()
    places = list(notes_of_hosts(top))
    for place in with_free_collections(places, sources, top):
        if place.files and not place.is_ingested_by(sources):
            is_file = os.path.isfile(place.path)
            remember(store, Source(place.path, place.collection, is_file, place.patterns))


def _cover(store: HybridStore, found: SessionTranscript) -> bool:
    """Make the folder of a transcript a source that keeps what the agent deletes, unless a source
    covers it already, and return whether one does.

    Of a folder with the sessions of all workspaces, only those of this one are covered. Sessions
    that began beside that workspace are left to themselves.
    """
    workspace = found.workspace and (workspace_of(found.workspace) or found.workspace)
    for source in store.storage.sources.all():
        if not is_in(found.path, source.path):
            continue
        if source.is_file or source.workspace is None:
            return True
        if workspace is None:
            return False
        if is_in(workspace, source.workspace):
            return True
        if source.path == found.folder.path and not is_in(source.workspace, workspace):
            return False
    if found.folder.has_all_workspaces and workspace is None:
        return False
    source = Source(
        found.folder.path,
        found.folder.collection,
        is_file=False,
        patterns=("*.jsonl",),
        keep_missing=True,
        workspace=workspace if found.folder.has_all_workspaces else None,
    )
    remember(store, source)
    return source in store.storage.sources.all()
