"""The lines of a text, cut out when they are asked for. A list of all of them can take far more memory than the text."""

from collections.abc import Iterator, Sequence
from typing import overload

from .characters import with_plain_newlines


class Lines(Sequence[str]):
    """The lines as citations count them: a form feed or one of Unicode's separators does not end a line.

    A slice is a list of lines that follow each other; steps are not supported.
    """

    def __init__(self, text: str) -> None:
        self._text = with_plain_newlines(text).removesuffix("\n") + "\n"
        self._count = self._text.count("\n")

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        return iter(self[:])

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        wanted = range(self._count)[place]
        if isinstance(wanted, int):
            return self._text[self._start(wanted) : self._start(wanted + 1) - 1]
        return self._text[self._start(wanted.start) : self._start(wanted.stop) - 1].split("\n") if wanted else []

    def _start(self, line: int) -> int:
        """Where a line begins. The part of the text in which it may begin is halved until it is one character."""
        low, high = (0, len(self._text)) if line else (0, 0)
        while high - low > 1:
            middle = (low + high) // 2
            breaks = self._text.count("\n", low, middle)
            if breaks < line:
                low, line = middle, line - breaks
            else:
                high = middle
        return high
