"""What `connect` writes for an agent, and how `disconnect` takes it out again.

`disconnect` restores each file byte for byte if nothing else changed it since; otherwise it removes
only our entries. What is needed for that is kept in one file of the state folder.
"""

import hashlib
import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from shlex import join
from typing import Any, NamedTuple

from ..errors import HybridMemoryError
from ..paths import CHECKOUT, in_checkout
from .agent_text import skill_for
from .edits import BOM, edit
from .entries import NAME, SILENT, with_json, with_toml, without_json, without_toml
from .hosts import File, Host, filled
from .json_text import values_of
from .recall.conversation import folder_of
from .recall.state import state_folder

RECORD = "connected.json"
FORMATS = {".json": (with_json, without_json), ".toml": (with_toml, without_toml)}
# The line of a plugin module that names the command of this program
COMMAND = "const COMMAND = {};"


class Change(NamedTuple):
    """A change of one file. `add` returns its text with our entries. `remove` returns it without
    them, with the values that they replaced in the text from before, the second argument. A file
    that `is_whole` has nothing else.
    """

    path: str
    add: Callable[[str], str]
    remove: Callable[[str, str], str]
    is_whole: bool = False

    def has_entries(self) -> bool:
        """Whether the file has entries of `connect`, of any installation."""
        text = read(self.path) or ""
        return self.remove(text, "") != text


class Target(NamedTuple):
    """What is connected: a host, for the user (`workspace` None) or for one workspace. `command`
    starts this program with the memory to use.
    """

    host: Host
    workspace: str | None
    command: Sequence[str]

    def changes(self) -> list[Change]:
        """The changes that connect the host, one for each file."""
        return [self._change(file) for file in self.host.files]

    def transcripts(self) -> list[str]:
        """The folder of the conversations that `recall` kept for the host of a user, if there is
        one. `disconnect` removes it.
        """
        folder = None if self.workspace else folder_of(self.host)
        return [folder] if folder and os.path.isdir(folder) else []

    def _change(self, file: File) -> Change:
        path = self.host.path(file.user)
        if self.workspace is not None:
            path = os.path.join(self.workspace, file.project)
        if file.copy:
            return _whole(path, self._copied(file.copy))
        add, remove = FORMATS[os.path.splitext(file.user[-1])[1]]
        tree = filled(
            file.values,
            {
                "{program}": self.command[0],
                "{arguments}": self.command[1:],
                "{hook}": hook_command(self.host, self.command),
            },
        )
        return Change(
            path,
            lambda text: add(text, tree, file.defaults),
            lambda text, before: remove(text, tree, before),
        )

    def _copied(self, name: str) -> str:
        """The text of a delivered file, with the command of this installation. Raises
        HybridMemoryError if the installation lacks the file.
        """
        text = read(_delivered(name))
        if text is None:
            raise HybridMemoryError(f"{_delivered(name)} is missing; install {NAME} again")
        command = COMMAND.format(json.dumps(self.command))
        text = text.replace(COMMAND.format(json.dumps([NAME])), command)
        return skill_for(text, join(self.command))


def hook_command(host: Host, command: Sequence[str]) -> str:
    """The command of a hook. It is the same for all events, and after every update, as hosts ask
    again about a hook whose command has changed.
    """
    return f"{join(command)} recall --host {host.name}{SILENT}"


def _delivered(name: str) -> str:
    """The path of a file that is delivered with the program."""
    top = CHECKOUT
    if not in_checkout():
        top = os.path.join(os.path.dirname(os.path.dirname(__file__)), "share")
    return os.path.realpath(os.path.join(top, name))


def _whole(path: str, text: str) -> Change:
    """A file with this text alone. A file that does not name this program is left alone."""

    def add(before: str) -> str:
        if before and NAME not in before:
            raise ValueError("another program wrote it")
        return text

    return Change(path, add, lambda text, before: "" if NAME in text else text, is_whole=True)


def is_connected(host: Host, workspace: str | None = None) -> bool:
    """Whether every file of a host's settings has our entries."""
    with suppress(HybridMemoryError, ValueError):
        changes = Target(host, workspace, [NAME]).changes()
        return all(change.has_entries() for change in changes)
    return False


def has_plugin(host: Host) -> bool:
    """Whether the host's own manager of plugins has installed ours for the user."""
    if not host.plugin:
        return False
    path = host.path(host.plugin["file"])
    values: Any = None
    with suppress(HybridMemoryError, ValueError):
        text = read(path) or ""
        values = tomllib.loads(text) if path.endswith(".toml") else values_of(text)
    for key in host.plugin["key"]:
        items = values.items() if isinstance(values, Mapping) else ()
        values = next((value for name, value in items if fnmatchcase(name, key)), None)
    return bool(values)


def read(path: str) -> str | None:
    """The text of a file; None if it is missing. Raises HybridMemoryError."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read().removeprefix(BOM)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise HybridMemoryError(f"cannot read {path}: {error}; nothing was changed") from error


def disconnected(change: Change, text: str | None) -> str | None:
    """The text of a file after `disconnect`; None if the file is removed. Raises ValueError for a
    file of another form.
    """
    if text is None:
        return None
    known = _record().get(change.path, {})
    is_new = known.get("existed") is False
    if known.get("after") == _hash(text):
        if is_new:
            return None
        if "before" in known:
            return str(known["before"])
    after = change.remove(text, known.get("before", ""))
    if (change.is_whole or is_new) and after.strip() in ("", "{}"):
        return None
    return after


def connect(change: Change) -> None:
    """Change a file, and keep what restores it. Without a record, all in the file is the user's."""
    record = _record()
    text = read(change.path)
    before = disconnected(change, text) if change.path in record else text
    folders = list(_missing_folders(os.path.dirname(change.path)))
    edit(change.path, change.add)
    after = read(change.path) or ""
    if after == text:
        return
    known = {"folders": record.get(change.path, {}).get("folders", folders)}
    known |= {"after": _hash(after), "existed": before is not None}
    if before is not None and change.remove(after, "") != before:
        known["before"] = before
    _keep(record | {change.path: known})


def disconnect(change: Change) -> None:
    """Restore a file, and remove it and its folder if `connect` created them."""
    before = read(change.path)
    record = _record()
    known = record.pop(change.path, {})
    if before is not None and disconnected(change, before) is None:
        os.unlink(os.path.realpath(change.path))
        for folder in known.get("folders", []):
            with suppress(OSError):  # something else is in it
                os.rmdir(folder)
    elif before is not None:
        edit(change.path, lambda text: disconnected(change, text) or "")
    _keep(record)


def _missing_folders(folder: str) -> Iterator[str]:
    """Yield a folder that does not exist and those around it, the innermost first."""
    while folder and not os.path.isdir(folder):
        yield folder
        folder = os.path.dirname(folder)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _record_path() -> str:
    return os.path.join(os.path.dirname(state_folder()), RECORD)


def _record() -> dict[str, Any]:
    with suppress(ValueError, HybridMemoryError):
        return values_of(read(_record_path()) or "")
    return {}


def _keep(record: Mapping[str, Any]) -> None:
    text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    edit(_record_path(), lambda before: text, is_private=lambda text: True)
