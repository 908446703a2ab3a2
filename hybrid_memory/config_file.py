"""A config file as it is on the disk, whose db_path may be an address; what its keys may be is checked in config.py."""

import json
import os
import re
import stat
from reprlib import repr as short_repr

from .errors import ConfigError
from .typed.names import Any


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
    if isinstance(values.get("db_path"), str) and not is_server(values["db_path"]):
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


def is_server(database: str) -> bool:
    """Whether a database is the address of a PostgreSQL server, and no file."""
    return database.startswith(("postgresql://", "postgres://"))


def public_name(address: str) -> str:
    """The address as it may be shown: user, hosts and database, and none of the parameters, which may hold a password.

    'postgresql://ann:secret@db.example/memory?sslmode=require' -> 'postgresql://ann@db.example/memory'
    """
    scheme, _, rest = address.partition("://")
    place = rest.partition("?")[0]
    user, at, host = place.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}{at}{host}"


def shown(database: str) -> str:
    """The database as it may be shown, a file as it is given."""
    return public_name(database) if is_server(database) else database


def absolute(database: str) -> str:
    """The database by a name that holds in every working directory."""
    return database if is_server(database) else os.path.abspath(database)


def without_password(database: str) -> str:
    """The same without the passwords of an address, which libpq finds elsewhere."""
    if not is_server(database):
        return database
    place, mark, parameters = database.partition("?")
    public, kept = public_name(place), [each for each in parameters.split("&") if not re.match("(ssl)?password=", each)]
    return public + mark * any(kept) + "&".join(kept)
