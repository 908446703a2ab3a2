"""Remembers the results of a function of pieces of text, because the same pieces come again and again."""

from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")
MOST = 30_000  # results kept, some 100 to 250 bytes each; then all are forgotten
LONGEST = 80  # characters of a piece whose result is kept


class Memo(dict[str, Value]):
    """A dictionary that calls `make` for a missing piece. Faster than the caches of functools."""

    def __init__(self, make: Callable[[str], Value]) -> None:
        self._make = make

    def __missing__(self, piece: str) -> Value:
        made = self._make(piece)
        if len(self) >= MOST:
            self.clear()
        if len(piece) <= LONGEST:
            self[piece] = made
        return made
