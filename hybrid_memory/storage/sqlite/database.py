"""How the parts that both engines share run SQL in SQLite."""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from ..database import Database
from .schema import path_from_column, path_to_column


class SQLiteDatabase(Database):
    """The open connection of a database file. Parameters are a dict or a sequence, as in `sqlite3`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def all(self, statement: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement, parameters or ()).fetchall()

    def first(self, statement: str, parameters: Any = None) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self.connection.execute(
            statement, parameters or ()
        ).fetchone()
        return row

    def dicts(self, statement: str, parameters: Any = None) -> list[dict[str, Any]]:
        cursor = self.connection.execute(statement, parameters or ())
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def run(self, statement: str, parameters: Any = None) -> None:
        self.connection.execute(statement, parameters or ())

    def encode_path(self, path: str | None) -> str | bytes | None:
        return path_to_column(path)

    def decode_path(self, value: Any) -> str | None:
        return path_from_column(value)

    def encode_ids(self, ids: Sequence[int]) -> str:
        return json.dumps(list(ids))
