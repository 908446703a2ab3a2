"""The hook for prompts in the settings of a project: writes it, and takes it out again.

The settings are those of Claude Code, .claude/settings.json; whatever else is in them stays.
"""

import json
import os
from shlex import join
from typing import Any

from ...errors import HybridMemoryError

FILE = os.path.join(".claude", "settings.json")
EVENT = "UserPromptSubmit"
END = " recall 2>/dev/null || true"  # an exit status other than 0 would keep the prompt back
SECONDS = 5


def write_hook(folder: str, command: list[str]) -> dict[str, Any]:
    """Add the hook to the settings of a project, in place of one that was written before.

    `command` are the words that start the program. Return the `path` and what was `written`. Raises
    HybridMemoryError for settings that cannot be read or written.
    """
    path = os.path.join(os.path.abspath(folder), FILE)
    settings = _without_hook(_read(path))
    entry = {"hooks": [{"type": "command", "command": join(command) + END, "timeout": SECONDS}]}
    settings.setdefault("hooks", {}).setdefault(EVENT, []).append(entry)
    _write(path, settings)
    return {"path": path, "written": {"hooks": {EVENT: [entry]}}}


def remove_hook(folder: str) -> dict[str, Any]:
    """Take the hook out of the settings of a project. Return the `path`, and whether it was
    `removed`. Raises HybridMemoryError for settings that cannot be read or written.
    """
    path = os.path.join(os.path.abspath(folder), FILE)
    before = _read(path)
    after = _without_hook(_read(path))
    if after == before:
        return {"path": path, "removed": False}
    _write(path, after)
    return {"path": path, "removed": True}


def _without_hook(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings without our hook, and without lists that it leaves empty."""
    try:
        entries = settings["hooks"][EVENT]
        kept = [entry for entry in entries if not _is_ours(entry)]
    except (KeyError, TypeError):
        return settings
    if kept == entries:
        return settings
    settings["hooks"][EVENT] = kept
    if not kept:
        del settings["hooks"][EVENT]
    if not settings["hooks"]:
        del settings["hooks"]
    return settings


def _is_ours(entry: dict[str, Any]) -> bool:
    commands = [str(hook.get("command", "")) for hook in entry.get("hooks", [])]
    return any("hybrid" in command and command.endswith(END) for command in commands)


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            settings = json.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise HybridMemoryError(f"cannot read {path}: {error}; nothing was changed") from error
    if not isinstance(settings, dict):
        raise HybridMemoryError(f"{path} has no settings in it; nothing was changed")
    return settings


def _write(path: str, settings: dict[str, Any]) -> None:
    """Write the settings at once, so that no reader finds half of them."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            file.write(json.dumps(settings, indent=2, ensure_ascii=False) + "\n")
        os.replace(f"{path}.new", path)
    except OSError as error:
        raise HybridMemoryError(f"cannot write {path}: {error.strerror}") from error
