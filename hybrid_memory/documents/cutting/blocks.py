"""Find the code and the tables in a section of markdown, and the header that the later rows of a table need."""

import re

from ...typed.names import NamedTuple

LONGEST_HEADER = 1000  # characters of a row that may be a header

FENCED = re.compile(r"\n[ \t>]*+(?:(?:[-+*]|\d{1,9}[.)])[ \t]++)?(?P<fence>`{3,}+(?=[^`\n]*(?:\n|\Z))|~{3,}+)")
DELIMITER_ROW = re.compile(  # GitHub Flavored Markdown 0.29, 4.10 Tables
    r"\n[ \t>]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+(?=\n)"
)
TABLE_END = re.compile(r"\n(?=[ \t>]*+\n)")
SPACES = re.compile(r"[ \t]+")


class Block(NamedTuple):
    """text[start:end], fenced code or a table, from the start of its first line to the line break after its last one."""

    start: int
    first: int  # where the first line of code or the first row below the header begins
    end: int
    header: str  # what a later part of a table repeats: '| a | b |\n|---|---|\n'; "" for code


def blocks(text: str, start: int, stop: int) -> list[Block]:
    """The blocks of text[start:stop] in their order. A line break stands before `start`."""
    found: list[Block] = []
    if text.find("```", start, stop) >= 0 or text.find("~~~", start, stop) >= 0:
        found = _fences(text, start, stop)
    if text.find("|", start, stop) >= 0:
        found = sorted(found + _tables(text, start, stop, found))
    return found


def _fences(text: str, start: int, stop: int) -> list[Block]:
    found = []
    pos = start - 1
    while opening := FENCED.search(text, pos, stop):
        fence = opening["fence"]
        closed = re.compile(rf"\n[ \t>]*+{fence[0]}{{{len(fence)},}}+[ \t]*+(?=\n|\Z)").search(text, opening.end(), stop)
        pos = closed.end() if closed else stop
        first = text.find("\n", opening.end(), pos) + 1
        found.append(Block(opening.start() + 1, first or pos, pos, ""))
    return found


def _tables(text: str, start: int, stop: int, code: list[Block]) -> list[Block]:
    found = []
    fences = iter([*code, Block(stop + 1, stop + 1, stop + 1, "")])
    fence = next(fences)
    pos = start
    while row := DELIMITER_ROW.search(text, pos, stop):
        while fence.end <= row.start():
            fence = next(fences)
        header = text.rfind("\n", max(start, row.start() - LONGEST_HEADER), row.start()) + 1 or start
        pos = row.end()
        if row.start() < fence.start and text.find("|", header, row.start()) >= 0:
            bound = min(fence.start - 1, stop)
            last = TABLE_END.search(text, row.end(), bound)
            end = last.start() if last else bound
            found.append(Block(header, row.end() + 1, end, _repeated(text[header : row.start()], row[0])))
            pos = max(end, pos)
    return found


def _repeated(header: str, delimiter: str) -> str:
    """Header and delimiter row without the spaces that align the columns."""
    columns = delimiter.strip("\n \t>|").count("|") + 1
    return f"{SPACES.sub(' ', header.strip())}\n{'|---' * columns}|\n"
