"""The lines of a text, as citations count them, and the citation of a passage, with the pages that
it stands on.
"""

import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from typing import overload

from .characters import with_plain_newlines


class Lines(Sequence[str]):
    """The lines as citations count them: a form feed or one of Unicode's separators does not end a
    line.

    They are cut out when they are asked for, because a list of all of them can take far more memory
    than the text. A slice is a list of lines that follow each other; steps are not supported.
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
        return (
            self._text[self._start(wanted.start) : self._start(wanted.stop) - 1].split("\n")
            if wanted
            else []
        )

    def _start(self, line: int) -> int:
        """Where a line begins. The part of the text in which it may begin is halved until it is one
        character.
        """
        low, high = (0, len(self._text)) if line else (0, 0)
        while high - low > 1:
            middle = (low + high) // 2
            breaks = self._text.count("\n", low, middle)
            if breaks < line:
                low = middle
                line = line - breaks
            else:
                high = middle
        return high


OF_PAGES = r"(?: \(pp?\. [0-9]{1,9}(?:-[0-9]{1,9})?\))?"  # at the end of a citation


def citation(doc_id: str, start_line: int, end_line: int, pages: Sequence[int] = ()) -> str:
    """'memory/a.md#L12-L30', or of a document whose pages begin with these lines:
    'papers/a.pdf#L12-L30 (pp. 1-2)'
    """
    return f"{doc_id}#L{start_line}-L{end_line}{_pages(page(pages, start_line), page(pages, end_line))}"


def page(pages: Sequence[int], line: int) -> int:
    """The page, from 1, that a line is on, if pages begin with these lines: [1, 40, 80], 40 -> 2. 0
    if there are no pages.
    """
    return bisect(pages, line)


def within(citation_of_whole: str, place: str) -> str:
    """The citation of a part, with the pages of the whole."""
    pages = re.search(OF_PAGES + r"\Z", citation_of_whole)
    return place + (pages[0] if pages else "")


def _pages(first: int, last: int) -> str:
    if not first:
        return ""
    return f" (p. {first})" if first == last else f" (pp. {first}-{last})"
