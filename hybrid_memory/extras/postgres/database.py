"""How the parts of a store run SQL in one space of a PostgreSQL server, and the form in which values
are sent: paths, texts, arrays.

Documents and sources belong to a user of a machine, because a path has no meaning on another one;
`here` is that owner.
"""

import os
import platform
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from getpass import getuser
from typing import Any

import psycopg

from ...storage.database import Database
from ...text.characters import storable
from .connection import Connection


@cache
def here() -> str:
    """This user and machine.

    'ann@laptop'
    """
    try:
        user = getuser()
    except (OSError, KeyError, ImportError):  # a container's user may have no name
        user = str(os.getuid())
    return f"{user}@{platform.node()}"


def to_column(path: str | bytes | None) -> bytes | None:
    """A path as the file system's bytes."""
    if path is None:
        return None
    return os.fsencode(path)


def from_column(value: bytes | None) -> str | None:
    """The inverse of `to_column`."""
    if value is None:
        return None
    return os.fsdecode(value)


def text(value: str) -> str:
    """The text without what PostgreSQL cannot store: NUL and unpaired surrogates."""
    return storable(value).replace("\0", "\ufffd")


def texts(values: Iterable[str | None]) -> list[str | None]:
    """Texts for an array, each as by `text`."""
    return [value if value is None else text(value) for value in values]


def numbers(values: Iterable[float]) -> str:
    """An array of numbers. A list of many takes psycopg five times as long. The statement gives the
    type: `%(ids)s::bigint[]`.
    """
    return f"{{{','.join(map(str, values))}}}"


class SpaceDatabase(Database):
    """The connection to one space. All statements may use the parameters `space` and `host`; texts
    are sent without what PostgreSQL cannot store.
    """

    def __init__(self, connection: Connection, space: int) -> None:
        self.connection = connection
        self.space = space
        self._owner = {"space": space, "host": here()}

    def execute(self, statement: str, parameters: Any = ()) -> "psycopg.Cursor[tuple[Any, ...]]":
        """Run a statement."""
        given = self._owner | dict(parameters)
        cleaned = {
            name: text(value) if isinstance(value, str) else value for name, value in given.items()
        }
        return self.connection.execute(statement, cleaned)

    def all(self, statement: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        return self.execute(statement, parameters).fetchall()

    def dicts(self, statement: str, parameters: Any = ()) -> list[dict[str, Any]]:
        cursor = self.execute(statement, parameters)
        rows = cursor.fetchall()
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def run(self, statement: str, parameters: Any = ()) -> None:
        self.execute(statement, parameters)

    def run_at_once(self, statements: Sequence[str], parameters: Any) -> bool:
        if self.connection.in_transaction or self.connection.is_standby:
            return False
        with suppress(psycopg.Error), self.connection.plain_transaction():
            self.connection.execute("set local lock_timeout = 1")
            for statement in statements:
                changed = self.execute(statement, parameters).rowcount
            return changed == 1
        return False

    def encode_path(self, path: str | None) -> bytes | None:
        return to_column(path)

    def decode_path(self, value: Any) -> str | None:
        return from_column(value)

    def encode_list(self, values: Sequence[Any]) -> list[Any]:
        return [text(value) if isinstance(value, str) else value for value in values]
