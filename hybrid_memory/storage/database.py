"""How the parts of a store that both engines share run their SQL. An engine has a subclass."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any


class Database(ABC):
    """An open database. Statements are in the engine's SQL; parameters are a dict by name, or the
    parameters of the engine's own conditions.
    """

    @abstractmethod
    def all(self, statement: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        """All rows of a statement."""

    @abstractmethod
    def first(self, statement: str, parameters: Any = None) -> tuple[Any, ...] | None:
        """The first row of a statement, or None. Values of parameters are hashable."""

    @abstractmethod
    def dicts(self, statement: str, parameters: Any = None) -> list[dict[str, Any]]:
        """All rows of a statement as dicts, by column name."""

    @abstractmethod
    def run(self, statement: str, parameters: Any = None) -> None:
        """Run a statement without a result."""

    @abstractmethod
    def encode_path(self, path: str | None) -> str | bytes | None:
        """A path as columns have it."""

    @abstractmethod
    def decode_path(self, value: Any) -> str | None:
        """The inverse of `encode_path`."""

    @abstractmethod
    def encode_ids(self, ids: Sequence[int]) -> Any:
        """Row ids as one parameter."""

    def number(self, statement: str, parameters: Any = None) -> int:
        """The number that a statement returns."""
        [(value,)] = self.all(statement, parameters)
        return int(value)

    def column(self, statement: str, parameters: Any = None) -> Iterable[Any]:
        """The values of a statement with one column."""
        return (value for (value,) in self.all(statement, parameters))
