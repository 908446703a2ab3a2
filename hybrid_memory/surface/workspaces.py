"""The workspaces that were given to `init`, and the memory of each.

They are listed in a JSON file beside the default database. A folder belongs to the workspace around
it; a git worktree belongs to the workspace of its repository.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress

from ..documents.workspaces import folders_around
from ..paths import locked, standard_database

FILE = "workspaces.json"


def recorded() -> dict[str, str]:
    """The path of the memory of each workspace, by the real path of the workspace."""
    with suppress(OSError, ValueError), open(_file(), encoding="utf-8") as file:
        rows = json.load(file)
        if isinstance(rows, dict):
            return rows
    return {}


def workspace_of(folder: str) -> str | None:
    """The real path of the recorded workspace to which a folder belongs; None if it belongs to none."""
    return _top_in(recorded(), folder)


def memory_of(folder: str) -> str | None:
    """The path of the memory of the workspace to which a folder belongs."""
    memories = recorded()
    top = _top_in(memories, folder)
    return None if top is None else memories[top]


def _top_in(memories: Mapping[str, str], folder: str) -> str | None:
    if not memories:
        return None
    return next(
        (top for top in folders_around(os.path.expanduser(folder)) if top in memories), None
    )


def record(top: str, database: str) -> None:
    """Record the memory of a workspace, by its real path."""
    path = _file()
    with locked(os.path.dirname(path)):  # two may run `init` at the same time
        memories = recorded()
        if memories.get(top) == database:
            return
        new = f"{path}-{os.getpid()}"
        with open(new, "w", encoding="utf-8", opener=_open_for_owner) as file:
            json.dump(memories | {top: database}, file, indent=2)
        os.replace(new, path)


def _file() -> str:
    return os.path.join(os.path.dirname(standard_database()), FILE)


def _open_for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
