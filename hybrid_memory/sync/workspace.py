"""What is worth taking in below a folder: an agent's notes, a vault, and the session transcripts of agents. Reads no file."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from ..documents.walk import Walk
from ..errors import SourceError
from ..storage.source import Source, is_in, real_path

FILES = ("memory.md", "agents.md", "tools.md", "user.md")  # of an agent's workspace, in any case
FOLDERS = ("memory", "notes")
VAULT = ".obsidian"  # the folder that makes a folder a vault
SESSIONS = "sessions"  # the kind of a folder of transcripts
NOTES, TRANSCRIPTS = ("*.md",), ("*.jsonl",)


class Place(NamedTuple):
    """A folder or file that can be ingested; `kind` is vault, folder, file or sessions. `size` is in bytes."""

    path: str
    kind: str
    patterns: tuple[str, ...]
    files: int
    size: int
    collection: str | None = None  # None: what `ingest` would choose

    def is_of(self, sources: list[Source]) -> bool:
        """Whether one of the sources takes in this place: itself, or for notes a folder around it."""
        return any(
            source.path == self.path or (is_in(self.path, source.path) and set(self.patterns) <= set(source.patterns or ()))
            for source in sources
        )


def workspace(folder: str, home: str) -> list[Place]:
    """The places of a folder, notes first, then the transcripts of the agents of the user whose home this is.

    A vault is taken as a whole. Where nothing has a name that is known, the folder itself is a place if notes lie in it. Raises
    SourceError if it cannot be listed.
    """
    top = real_path(folder)
    try:
        names = sorted(os.listdir(top))
    except OSError as error:
        raise SourceError(f"cannot look into {folder}: {error.strerror}") from error
    if VAULT in names:
        notes = [_folder(top, "vault")]
    else:
        notes = list(_named(top, names))
        if not notes and any(name.endswith(".md") for name in names):
            notes = [_folder(top, "folder")]
    sessions = [
        _folder(path, SESSIONS, TRANSCRIPTS, collection) for collection, path in _sessions(top, home) if os.path.isdir(path)
    ]
    return [place for place in notes + sessions if place.files]


def _named(top: str, names: list[str]) -> Iterator[Place]:
    for name in names:
        path = os.path.join(top, name)
        if os.path.isdir(os.path.join(path, VAULT)):
            yield _folder(path, "vault")
        elif name.lower() in FOLDERS and os.path.isdir(path):
            yield _folder(path, "folder")
        elif name.lower() in FILES and os.path.isfile(path):
            yield Place(os.path.realpath(path), "file", (), 1, os.path.getsize(path))


def _sessions(top: str, home: str) -> Iterator[tuple[str, str]]:
    """Where OpenClaw, Claude Code and pi keep what was said, each with a collection. Of Claude Code, the project of `top`."""
    agents = os.path.join(home, ".openclaw", "agents")
    with suppress(OSError):
        for agent in sorted(os.listdir(agents)):
            yield "sessions" if agent == "main" else f"sessions-{agent}", os.path.join(agents, agent, "sessions")
    projects = os.path.join(home, ".claude", "projects")
    of_this = os.path.join(projects, re.sub("[^A-Za-z0-9]", "-", top))
    yield "sessions-claude", of_this if os.path.isdir(of_this) else projects
    yield "sessions-pi", os.path.join(home, ".pi", "agent", "sessions")


def _folder(path: str, kind: str, patterns: tuple[str, ...] = NOTES, collection: str | None = None) -> Place:
    path = os.path.realpath(path)
    sizes = [file.size for file in Walk(path, patterns)]
    return Place(path, kind, patterns, len(sizes), sum(sizes), collection)
