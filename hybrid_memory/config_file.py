"""A config file as it is on the disk; what its keys may be is checked in config.py."""

import json
import os
import stat
from reprlib import repr as short_repr
from typing import Any

from .errors import ConfigError


def read(path: str) -> dict[str, Any]:
    """The keys of a config file. A relative db_path in it is relative to the folder of the file."""
    path = os.path.expanduser(path)
    try:
        with open(path, encoding="utf-8-sig", opener=_open_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ConfigError(f"the config file {path} is not a regular file")
            values = json.load(file, object_pairs_hook=_each_once)
    except OSError as error:
        raise ConfigError(f"cannot read the config file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"the config file {path} is not UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise ConfigError(f"the config file {path} is nested too deeply") from error
    except ValueError as error:
        problem = "its name contains a NUL" if "\0" in path else f"it is not valid JSON: {error}"
        raise ConfigError(f"cannot read the config file {path}: {problem}") from error
    if not isinstance(values, dict):
        raise ConfigError(f"the config file {path} must contain one JSON object")
    if isinstance(values.get("db_path"), str):
        values["db_path"] = os.path.join(os.path.dirname(os.path.abspath(path)), os.path.expanduser(values["db_path"]))
    return values


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file. If it is a FIFO, do not wait until another program writes to it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise ValueError(f"the key {short_repr(key)} is there twice")
        values[key] = value
    return values
