"""How the parts of a store that both engines share run their SQL. An engine has a subclass."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any


class Database(ABC):
    """An open database. Statements are in the engine's SQL; parameters are a dict by name, or the
    parameters of the engine's own conditions.
    """

    @abstractmethod
    def all(self, statement: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement."""

    @abstractmethod
    def dicts(self, statement: str, parameters: Any = ()) -> list[dict[str, Any]]:
        """All rows of a statement as dicts, by column name."""

    @abstractmethod
    def run(self, statement: str, parameters: Any = ()) -> None:
        """Run a statement without a result."""

    @abstractmethod
    def run_at_once(self, statements: Sequence[str], parameters: Any) -> bool:
        """Run statements in a transaction of their own, without waiting for other writers. Returns
        whether the last one changed a row; False if nothing can be written now.
        """

    @abstractmethod
    def encode_path(self, path: str | None) -> str | bytes | None:
        """A path as columns have it."""

    @abstractmethod
    def decode_path(self, value: Any) -> str | None:
        """The inverse of `encode_path`."""

    @abstractmethod
    def encode_list(self, values: Sequence[Any]) -> Any:
        """Ids of rows or of documents as one parameter."""

    def first(self, statement: str, parameters: Any = ()) -> tuple[Any, ...] | None:
        """The first row of a statement, or None."""
        return next(iter(self.all(statement, parameters)), None)

    def number(self, statement: str, parameters: Any = ()) -> int:
        """The number that a statement returns."""
        [(value,)] = self.all(statement, parameters)
        return int(value)

    def column(self, statement: str, parameters: Any = ()) -> Iterable[Any]:
        """The values of a statement with one column."""
        return (value for (value,) in self.all(statement, parameters))
