"""Whose files these are: documents and sources belong to a user of a machine, as a path means nothing on another one."""

import os
from functools import cache


@cache
def here() -> str:
    """This user and machine.

    'ann@laptop'
    """
    import platform
    from getpass import getuser

    try:
        user = getuser()
    except (OSError, KeyError, ImportError):  # a container's user may have no name
        user = str(os.getuid())
    return f"{user}@{platform.node()}"


def to_column(path: str | bytes | None) -> bytes | None:
    """A path as the file system has it."""
    return None if path is None else os.fsencode(path)


def from_column(value: bytes | None) -> str | None:
    """The inverse of `to_column`."""
    return None if value is None else os.fsdecode(bytes(value))
