"""How the parts of a store run SQL in one space of a PostgreSQL server, and the form in which values
are sent: paths, texts, arrays.

Documents and sources belong to a user of a machine, because a path has no meaning on another one;
`here` is that owner.
"""

import os
import platform
import sys
from array import array
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from getpass import getuser
from struct import Struct
from typing import Any

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

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
    return os.fsdecode(bytes(value))


def text(value: str) -> str:
    """The text without what PostgreSQL cannot store: NUL and unpaired surrogates."""
    return _encoded(value).decode()


class Array(bytes):
    """An array in the server's binary form. Long arrays are made and read in a fraction of the time
    that their text form takes. The statement gives the type: `%(ids)s::bigint[]`.
    """


class _ArrayDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Array) -> Array:
        return obj


psycopg.adapters.register_dumper(Array, _ArrayDumper)

NO_NUL = "\ufffd".encode()
BYTEA, BIGINT, INTEGER, TEXT, DOUBLE = 17, 20, 23, 25, 701  # the server's OIDs of these types
UNIT = 4  # bytes; each number has one or two of these units
# The header of an array: dimensions, whether it may have nulls, type, length, first index
_HEADER = Struct(">iiIii")
_LENGTH = Struct(">i")
_NULL = _LENGTH.pack(-1)


def integers(values: Iterable[int]) -> Array:
    """An array of integers of 32 bits."""
    return _numbers(INTEGER, "i", values)


def bigints(values: Iterable[int]) -> Array:
    """An array of integers of 64 bits."""
    return _numbers(BIGINT, "q", values)


def doubles(values: Iterable[float]) -> Array:
    """An array of floating-point numbers of 64 bits."""
    return _numbers(DOUBLE, "d", values)


def _numbers(type: int, code: str, values: Iterable[float]) -> Array:
    """An array of numbers, each preceded by its length."""
    numbers = array(code, values)
    if sys.byteorder == "little":
        numbers.byteswap()
    units = array("i", numbers.tobytes())
    each = numbers.itemsize // UNIT
    written = array("i", _LENGTH.pack(numbers.itemsize)) * (len(numbers) * (1 + each))
    for place in range(each):
        written[place + 1 :: each + 1] = units[place::each]
    return Array(_HEADER.pack(1, 0, type, len(numbers), 1) + written.tobytes())


def texts(values: Iterable[str | None]) -> Array:
    """An array of texts, converted as by `text`."""
    return values_of(TEXT, (value if value is None else _encoded(value) for value in values))


def _encoded(value: str) -> bytes:
    """The result of `text`, in UTF-8."""
    try:
        encoded = value.encode()
    except UnicodeEncodeError:
        encoded = storable(value).encode()
    return encoded.replace(b"\0", NO_NUL)


def byteas(values: Iterable[bytes | None]) -> Array:
    """An array of byte strings."""
    return values_of(BYTEA, values)


def values_of(type: int, values: Iterable[bytes | None]) -> Array:
    """An array of values of this type, each in its binary form."""
    given = list(values)
    written = []
    for value in given:
        if value is None:
            written.append(_NULL)
        else:
            written += (_LENGTH.pack(len(value)), value)
    return Array(_HEADER.pack(1, 1, type, len(given), 1) + b"".join(written))


class SpaceDatabase(Database):
    """The connection to one space. All statements may use the parameters `space` and `host`; texts
    are sent without what PostgreSQL cannot store.
    """

    def __init__(self, connection: Connection, space: int) -> None:
        self.connection = connection
        self.space = space
        self._owner = {"space": space, "host": here()}

    def execute(self, statement: str, parameters: Any = ()) -> "psycopg.Cursor[tuple[Any, ...]]":
        """Run a statement. In a transaction that writes, only fetching rows waits for the server."""
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
