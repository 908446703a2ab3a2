"""Read a table that is written in HTML as rows of a pipe table, each on the line on which it begins."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from .headings import unescaped

BEGIN = re.compile(r" {0,3}<table\b", re.IGNORECASE)
END = re.compile(r"</table\s*>", re.IGNORECASE)
PART = re.compile(r"<(/?)(tr|t[dh])\b[^<>]*>", re.IGNORECASE)
TAG = re.compile(r"</?[A-Za-z][^<>]*>")


class _Row(NamedTuple):
    line: int
    cells: list[str]


def as_pipe_table(lines: Sequence[str]) -> tuple[int, list[str]] | None:
    """Rewrite the lines of an HTML table: the header with a delimiter row below it, then each further
    row on the line on which it begins; the other lines become empty. Text above the first row, such as
    a caption, stays on its line. Returns the index of the header, and as many lines as were given.

    None if the header and the delimiter row have no lines of their own, or if there is text between
    rows.
    """
    text = "\n".join(lines)
    rows: list[_Row] = []
    outside: list[tuple[int, str]] = []  # each text outside cells, with its line
    is_cell = False
    line = done = 0
    for part in PART.finditer(text):
        html = text[done : part.start()].rstrip()
        if is_cell:
            rows[-1].cells[-1] = _plain(html)
        elif piece := _plain(html):
            outside.append((line + html.count("\n"), piece))
        line += text.count("\n", done, part.end())
        done = part.end()
        is_cell = False
        if part[1]:
            continue
        if part[2].lower() == "tr":
            rows.append(_Row(line, []))
        elif rows:
            rows[-1].cells.append("")
            is_cell = True
    if is_cell:
        rows[-1].cells[-1] = _plain(text[done:])
    elif _plain(text[done:]):
        return None
    rows = [row for row in rows if any(row.cells)]
    if len(rows) < 2:
        return None
    header = min(rows[0].line, rows[1].line - 2)
    if header < 0 or any(at >= header for at, _ in outside):
        return None
    table = [""] * len(lines)
    for at, piece in outside:
        table[at] = f"{table[at]} {piece}".strip()
    table[header] = _row(rows[0].cells)
    table[header + 1] = f"|{'---|' * len(rows[0].cells)}"
    for row in rows[1:]:
        table[row.line] = f"{table[row.line]} {_row(row.cells)}".strip()
    return header, table


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(html: str) -> str:
    """The words of a piece of HTML in one line."""
    words = " ".join(TAG.sub(" ", html).split())
    return unescaped(words).replace("|", r"\|")
