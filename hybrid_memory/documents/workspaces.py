"""Decide to which workspace a session's transcript belongs: the folder in which the session began,
or a folder around it.

Agents keep the transcripts of all workspaces in one place. The folder names there are ambiguous:
Claude Code replaces every character but ASCII letters and digits with "-".
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
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


def folders_around(folder: str) -> Iterator[str]:
    """Yield the real path of a folder, and those of the folders around it, innermost first. The
    repository follows its git worktree.
    """
    try:
        place = os.path.realpath(folder)
    except ValueError:  # a NUL, which no path has
        return
    passed: set[str] = set()
    while place not in passed:
        yield place
        passed.add(place)
        place = _repository(place) or os.path.dirname(place)


def _repository(worktree: str) -> str | None:
    """The folder of the repository that has this git worktree; None for any other folder."""
    link = os.path.join(worktree, ".git")
    if not os.path.isfile(link):
        return None
    with suppress(OSError, ValueError):
        records = os.path.join(worktree, _line(link).removeprefix("gitdir: "))
        knows_it = os.path.realpath(_line(os.path.join(records, "gitdir"))) == link
        common = os.path.realpath(os.path.join(records, _line(os.path.join(records, "commondir"))))
        if knows_it and os.path.basename(common) == ".git":
            return os.path.dirname(common)
    return None


def _line(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read(LONGEST_PATH).strip()


class Workspace:
    """A folder. Paths are compared as the file system does: links, case and Unicode forms differ
    only if they differ for it.
    """

    def __init__(self, top: str) -> None:
        self._top = normalize("NFC", top)
        self._status = _status(top)
        self.has = cache(self._has)

    def _has(self, folder: str) -> bool:
        """Whether a folder belongs to the workspace. Neither needs to exist."""
        return any(map(self._is_at, folders_around(folder)))

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
