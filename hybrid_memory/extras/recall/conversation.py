"""Keep the conversation that a plugin passes to `recall`, for hosts whose sessions are in a database.

A plugin adds the session's `messages` to the event at the end of a turn: [{"role", "text",
"timestamp"}], with the names of the `tools` that were called, and `recalled` if passages were added.
The new ones are appended to a transcript in the form of pi, with secrets masked. The transcript
belongs to this program, and `disconnect` removes it.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from ..formats.inserted import HEADING
from ..hosts import Host, hosts
from .state import append

LONGEST_NAME = 120  # characters of a session's id in the name of its file


def folder_of(host: Host) -> str | None:
    """The folder of the transcripts that this program writes for a host; None if the host writes
    them itself.
    """
    for kept in host.transcripts:
        if kept.is_ours:
            return host.path(kept.paths)
    return None


def with_transcript(host: str | None, hook: Mapping[str, Any]) -> dict[str, Any]:
    """Add `transcript_path` to the fields of a hook of a host whose transcripts this program writes,
    after writing the `messages` of the hook.
    """
    folder = folder_of(hosts()[host]) if host else None
    session = hook.get("session_id")
    if not folder or not isinstance(session, str) or not session:
        return dict(hook)
    name = re.sub("[^A-Za-z0-9_-]", "-", session)[-LONGEST_NAME:]
    path = os.path.join(folder, f"{name}.jsonl")
    if hook.get("messages"):
        _extend(path, hook)
    return {**hook, "transcript_path": path}


def _extend(path: str, hook: Mapping[str, Any]) -> None:
    """Append the messages after the last one that the file has already."""
    known: set[str] = set()
    with suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
        known.update(file)
    new: list[str] = []
    for message in reversed(hook["messages"]):
        line = _line(message)
        if line in known:
            break
        new += [*_used(message), line]
    if not known:
        session = {
            "type": "session",
            "version": 3,
            "id": hook["session_id"],
            "cwd": hook.get("cwd"),
        }
        new.append(f"{json.dumps(session)}\n")
    append(path, "".join(reversed(new)))


def _used(message: Mapping[str, Any]) -> Iterator[str]:
    """What a message used, as lines below it, by which the reader knows an answer from the memory."""
    if message.get("recalled"):
        yield f"{json.dumps({'type': 'custom', 'text': HEADING})}\n"
    for name in message.get("tools") or ():
        yield f"{json.dumps({'type': 'toolCall', 'name': name})}\n"


def _line(message: Mapping[str, Any]) -> str:
    """A message as a line of the transcript, with secrets masked."""
    from ..formats.redaction import redact

    content = [{"type": "text", "text": redact(message["text"])}]
    record = {
        "type": "message",
        "timestamp": message.get("timestamp"),
        "message": {"role": message["role"], "content": content},
    }
    return f"{json.dumps(record)}\n"
