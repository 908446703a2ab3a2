"""The memories of this user in files: those that the settings name, that `init` recorded for
workspaces, and those beside the default database.

The workspaces are listed in a JSON file there. A folder belongs to the workspace around it; a git
worktree belongs to the workspace of its repository.

Only the owner at a terminal is told about another memory than the one that was searched. Agents,
hooks and servers are not: a memory belongs to its project. Nor is the page, which whoever has the
server's token may read, also from another machine.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from shlex import quote
from time import monotonic
from typing import Any

from .. import config, paths
from ..documents.workspaces import folders_around
from ..errors import HybridMemoryError
from ..search.request import Request
from ..search.result import SOME, match
from ..store import HybridStore

FILE = "workspaces.json"
SECONDS = 1.0  # for searching all other memories; one takes 20 to 50 ms of CPU
MARGIN = 0.3  # of confidence, by which another memory must be surer


def recorded() -> dict[str, str]:
    """The path of the memory of each workspace, by the real path of the workspace."""
    with suppress(OSError, ValueError), open(_file(), encoding="utf-8") as file:
        rows = json.load(file)
        if isinstance(rows, dict):
            return rows
    return {}


def workspace_of(folder: str) -> str | None:
    """The real path of the recorded workspace to which a folder belongs; None if it belongs to none."""
    return _workspace_of(folder, recorded())


def _workspace_of(folder: str, workspaces: Mapping[str, str]) -> str | None:
    around = folders_around(os.path.expanduser(folder))
    return next((top for top in around if top in workspaces), None)


def memory_of(folder: str) -> str | None:
    """The path of the memory of the workspace to which a folder belongs."""
    workspaces = recorded()
    top = _workspace_of(folder, workspaces)
    return workspaces[top] if top else None


def record(top: str, database: str) -> None:
    """Record the memory of a workspace, by its real path."""
    path = _file()
    with paths.locked(os.path.dirname(path)):  # two may run `init` at the same time
        workspaces = recorded()
        if workspaces.get(top) == database:
            return
        new = f"{path}-{os.getpid()}"
        with open(new, "w", encoding="utf-8", opener=_open_for_owner) as file:
            json.dump(workspaces | {top: database}, file, indent=2)
        os.replace(new, path)


def _file() -> str:
    return os.path.join(os.path.dirname(paths.standard_database()), FILE)


def _open_for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def memories(path: str) -> list[str]:
    """The paths of all memories, the one at `path` first."""
    found = [path, *config.known_databases(paths.checkouts()), *recorded().values()]
    folder = os.path.dirname(paths.standard_database())
    with suppress(OSError):
        names = [name for name in sorted(os.listdir(folder)) if name.endswith(".db")]
        found += [os.path.join(folder, name) for name in names]
    return list(dict.fromkeys(os.path.realpath(file) for file in found if os.path.isfile(file)))


def described(path: str, settings: config.Settings) -> dict[str, Any]:
    """The path of a memory, its size, its number of documents, the ingested folders and when it was
    last written; `problem` tells why it cannot be read.
    """
    files = [file for file in (path, f"{path}-wal") if os.path.exists(file)]
    written = max(os.stat(file).st_mtime for file in files)
    about: dict[str, Any] = {
        "db_path": path,
        "db_size_bytes": sum(os.path.getsize(file) for file in files),
        "updated": datetime.fromtimestamp(written, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "doc_count": None,
        "folders": [],
        "problem": None,
    }
    try:
        with HybridStore(path, settings, read_only=True) as store, store.storage.guarded():
            about["doc_count"] = store.storage.catalog.counts()["doc_count"]
            about["folders"] = [source.path for source in store.storage.sources.all()]
    except HybridMemoryError as error:
        about["problem"] = str(error)
    return about


def surer_elsewhere(
    store: HybridStore, query: str, request: Request, confidence: float
) -> str | None:
    """Name the other memory with the surest passage, if that is clearly surer than `confidence`. The
    line names no note of that memory.

    Asked in a wrong one of three memories (60 questions each), 155 of 360 searches name the right
    memory and 5 another one; asked in the right one, 2 of 180 name another one. With a margin of
    .2, these are 194, 18 and 14.
    """
    request = request._replace(limit=3, rerank=False, min_confidence=0.0, floor=0.0)
    surest = None
    end = monotonic() + SECONDS
    for path in memories(store.path)[1:]:
        left = end - monotonic()
        if left <= 0:
            break
        with (
            suppress(HybridMemoryError),
            HybridStore(path, config.Settings(store.config), read_only=True) as other,
        ):
            other.limit_queries(left)
            for result in other.answer(query, request).results:
                if surest is None or result["confidence"] > surest[0]:
                    surest = result["confidence"], path
    if surest is None or surest[0] < max(SOME, confidence + MARGIN):
        return None
    best, path = surest
    return (
        f"{path} has a surer passage (confidence {best:g}, {match(best)}); "
        f"`hybrid-memory --db {quote(path)} search` searches it"
    )
