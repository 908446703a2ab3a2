"""Changes one key of a config file. All others stay as they are, and the file is whole at any moment."""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from shutil import copymode
from typing import Any

from .. import config, config_file
from ..errors import ConfigError


def change(path: str, key: str, *value: Any) -> dict[str, Any]:
    """Give a key the value, or take the key out if there is none. Gives `before`, the old value, if the key was there.

    Nothing is written if the file could not be loaded then; but a key can be taken out of a file that is wrong already. A
    file that does not exist is made. Raises UsageError for a wrong value, ConfigError if the file is wrong otherwise, or if it
    cannot be read or written.
    """
    path = os.path.realpath(path)  # a link stays a link
    is_right, text = True, ""
    if os.path.exists(path):
        is_right = _can_be_loaded(path, config_file.read(path))
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    values: dict[str, Any] = json.loads(text or "{}")  # as it is written: `read` makes the path of the database absolute
    before = {"before": values[key]} if key in values else {}
    if value:
        others = {other: of for other, of in values.items() if other != key}
        config.merged((path, others), (config.COMMAND_LINE, {key: value[0]}))
        values[key] = value[0]
    elif before:
        del values[key]
        if is_right:
            config.merged((path, values))
    else:
        return before
    _write(path, json.dumps(values, indent=_indent(text), ensure_ascii=False) + ("\n" if text[-1:] in ("", "\n") else ""))
    return before


def _can_be_loaded(path: str, values: Mapping[str, Any]) -> bool:
    try:
        config.merged((path, values))
    except ConfigError:
        return False
    return True


def _indent(text: str) -> str | int | None:
    """The indentation of the file. One without any line break stays on one line."""
    if not text.strip():
        return 2
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else 2 if "\n" in text.strip() else None


def _write(path: str, text: str) -> None:
    """Write a file beside it that takes its place at once."""
    new = f"{path}.{os.getpid()}.new"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(new, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            copymode(path, new)
        os.replace(new, path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(new)
        raise ConfigError(f"cannot write the config file {path}: {error.strerror}") from error
