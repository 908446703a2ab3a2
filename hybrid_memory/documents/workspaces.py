"""Decide to which workspace a session's transcript belongs: the folder in which the session began,
or a folder around it.

Agents keep the transcripts of all workspaces in one place. The folder names there are ambiguous:
Claude Code replaces every character but ASCII letters and digits with "-".
"""

import json
import os
from functools import cache
from typing import BinaryIO
from unicodedata import normalize

# Bytes of a transcript to search. The folder is in each of Claude Code's messages, and in the first
# line of other agents' transcripts.
SEARCHED_BYTES = 20_000_000
LONGEST_PATH = 4096  # characters
FILES = ("MEMORY.md", "AGENTS.md", "TOOLS.md", "USER.md")  # in an agent's workspace; any case
FOLDERS = ("memory", "notes")


def is_workspace_name(name: str) -> bool:
    """Whether files or folders of this name contain the notes in an agent's workspace."""
    return name.lower() in (*FOLDERS, *map(str.lower, FILES))


def session_folder(transcript: BinaryIO) -> str | None:
    """The folder in which the session began; None if its transcript does not have it."""
    left = SEARCHED_BYTES
    while left > 0 and (line := transcript.readline(left)):
        left -= len(line)
        folder = _folder(line)
        if folder:
            return folder
    return None


def _folder(line: bytes) -> str | None:
    """The absolute path under "cwd" in a line, at the top or in its "payload" (Codex)."""
    if b'"cwd"' not in line:
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    for part in (record, record.get("payload")):
        folder = part.get("cwd") if isinstance(part, dict) else None
        if isinstance(folder, str) and len(folder) <= LONGEST_PATH and os.path.isabs(folder):
            return folder
    return None


class Workspace:
    """A folder. Paths are compared as the file system does: links, case and Unicode forms differ
    only if they differ for it.
    """

    def __init__(self, top: str) -> None:
        self._top = normalize("NFC", top)
        self._status = _status(top)
        self.has = cache(self._has)

    def _has(self, folder: str) -> bool:
        """Whether a folder is the workspace or below it. Neither needs to exist."""
        try:
            place = os.path.realpath(folder)
        except ValueError:  # a NUL, which no path has
            return False
        while not self._is_at(place):
            above = os.path.dirname(place)
            if above == place:
                return False
            place = above
        return True

    def _is_at(self, place: str) -> bool:
        status = _status(place)
        if status and self._status:
            return os.path.samestat(status, self._status)
        # Written on another machine, or the folder is gone
        return normalize("NFC", place) == self._top


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None
