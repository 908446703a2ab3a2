"""How the parts that both engines share run SQL in one space of a PostgreSQL server."""

from collections.abc import Sequence
from typing import Any

from ...storage.database import Database
from .connection import Connection, from_column, here, text, to_column


class SpaceDatabase(Database):
    """The connection to one space. All statements may use the parameters `space` and `host`; texts
    are sent without what PostgreSQL cannot store.
    """

    def __init__(self, connection: Connection, space: int) -> None:
        self.connection = connection
        self.space = space
        self._owner = {"space": space, "host": here()}

    def _all_of(self, parameters: Any) -> dict[str, Any]:
        given = self._owner | (parameters or {})
        return {
            name: text(value) if isinstance(value, str) else value for name, value in given.items()
        }

    def all(self, statement: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        return self.connection.all(statement, self._all_of(parameters))

    def first(self, statement: str, parameters: Any = None) -> tuple[Any, ...] | None:
        return self.connection.once(statement, self._all_of(parameters))

    def dicts(self, statement: str, parameters: Any = None) -> list[dict[str, Any]]:
        return self.connection.dicts(statement, self._all_of(parameters))

    def run(self, statement: str, parameters: Any = None) -> None:
        self.connection.execute(statement, self._all_of(parameters))

    def encode_path(self, path: str | None) -> bytes | None:
        return to_column(path)

    def decode_path(self, value: Any) -> str | None:
        return from_column(value)

    def encode_ids(self, ids: Sequence[int]) -> list[int]:
        return list(ids)
