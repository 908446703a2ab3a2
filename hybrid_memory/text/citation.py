"""The citation of a passage, and the pages that it stands on."""

import re
from bisect import bisect
from collections.abc import Sequence

OF_PAGES = r"(?: \(pp?\. [0-9]{1,9}(?:-[0-9]{1,9})?\))?"  # at the end of a citation


def citation(doc_id: str, start_line: int, end_line: int, pages: Sequence[int] = ()) -> str:
    """'memory/a.md#L12-L30', or of a document whose pages begin with these lines: 'papers/a.pdf#L12-L30 (pp. 1-2)'"""
    return f"{doc_id}#L{start_line}-L{end_line}{_pages(page(pages, start_line), page(pages, end_line))}"


def page(pages: Sequence[int], line: int) -> int:
    """The page, from 1, that a line is on, if pages begin with these lines: [1, 40, 80], 40 -> 2. 0 if there are no pages."""
    return bisect(pages, line)


def within(citation_of_whole: str, place: str) -> str:
    """The citation of a part, with the pages of the whole."""
    pages = re.search(OF_PAGES + r"\Z", citation_of_whole)
    return place + (pages[0] if pages else "")


def _pages(first: int, last: int) -> str:
    if not first:
        return ""
    return f" (p. {first})" if first == last else f" (pp. {first}-{last})"
