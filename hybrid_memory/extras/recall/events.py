"""What else an agent's hooks ask for: at the start of a session what is new, at its end and before a
compaction to take in what was said.

The names of the events are those of Claude Code and Codex.
"""

import os
import time
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from ...environment import program
from ...storage.source import is_in, real_path
from ...surface.arguments import SETTINGS, open_store
from ...sync.refresh import refresh
from .sessions import Session, last_start

NAMED = 3  # documents that the line about news names


def answer_event(args: Namespace, hook: Mapping[str, Any]) -> str:
    """Return what a hook of this event prints. Events that are not known print nothing."""
    event = hook["hook_event_name"]
    if event == "SessionStart":
        session = Session(hook.get("session_id") or "")
        if hook.get("source") in ("clear", "compact"):
            session.forget()
            return ""
        return news(args)
    if event in ("PreCompact", "Stop", "SessionEnd") and hook.get("transcript_path"):
        take_in(args, hook["transcript_path"])
    return ""


def news(args: Namespace) -> str:
    """Take in what has changed, and return one line about what is new since a session last began."""
    with open_store(args) as store:
        refresh(store)
        before = last_start(store.path)
        newest = store.storage.catalog.facets()["newest"]
    if before is None:
        return ""
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(before))
    names = [document["doc_id"] for document in newest if document["indexed_at"] > since]
    if not names:
        return ""
    more = " and more" if len(names) > NAMED else ""
    return f"New in the user's notes since {since[:10]}: {', '.join(names[:NAMED])}{more}."


def take_in(args: Namespace, transcript: str) -> None:
    """Begin to take in a transcript, in a process of its own, which the agent does not wait for.

    Only into a memory that exists. Raises StoreError if there is none.
    """
    from subprocess import DEVNULL, Popen

    path = real_path(transcript)
    with open_store(args) as store:
        sources = store.storage.sources.all()
    command = ["ingest", "--path", path, "--pattern", "*.jsonl", "--incremental"]
    if any(is_in(path, source.path) for source in sources):
        command = ["update"]
    if not os.path.isfile(path):
        return
    options = ["--quiet"]
    for option in (*SETTINGS, "config"):
        value = getattr(args, option)
        if value is not None:
            options += [f"--{option.replace('_', '-')}", str(value)]
    Popen(
        [*program(for_cron=True), *command, *options],
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=DEVNULL,
        start_new_session=True,
    )
