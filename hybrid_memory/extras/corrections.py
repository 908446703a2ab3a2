"""A correction: an old statement of the memory, struck through, and the text that replaces it.

It is written where the statement stands if this is a line of a markdown note; otherwise both belong
in a new line elsewhere. text/declarations.py reads what is written here.
"""

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from ..browse.passage import read
from ..documents.metadata import metadata_of
from ..documents.structure import markdown_structure
from ..documents.suffixes import own_suffix
from ..errors import HybridMemoryError, SourceError
from ..storage.targets import find, split_target
from ..store import HybridStore
from ..surface.quotes import lines_of
from ..text import languages
from ..text.characters import citation, with_plain_newlines
from ..text.declarations import MARKER, SENTENCE_END, STRUCK, words
from .edits import edit

LONGEST_STATEMENT = 300  # characters that are copied; of a longer one, the sentence that changes
LINE_BREAK = re.compile(r"(\r\n|\r|\n)")
NEW_ITEM = re.compile(r"[ \t>]*(?:[-*+]|\d+[.)])[ \t]")


class Cited(NamedTuple):
    """The lines that are to be replaced, as the memory has them now."""

    doc_id: str
    citation: str
    path: str | None  # None: in no file of this machine
    start: int
    lines: Sequence[str]
    is_current: bool  # the file is as it was indexed

    def statement(self, text: str) -> str:
        """What these lines state, without marks and struck-through parts: all of it if it is short,
        otherwise the sentence that shares the most words with `text`.
        """
        stated = [MARKER.sub("", STRUCK.sub("", line)).strip() for line in self.lines]
        whole = " ".join(filter(None, stated))
        if len(whole) > LONGEST_STATEMENT:
            new = set(words(text))
            sentences = [part for line in stated for part in SENTENCE_END.split(line)]
            whole = max(sentences, key=lambda sentence: len(new.intersection(words(sentence))))
            whole = whole[:LONGEST_STATEMENT]
        return whole.replace("~~", "")


def cited(store: HybridStore, target: str, text: str) -> Cited:
    """Read the statement that a citation names: its lines, without headings around them. Raises
    QueryError or SourceError, also if there are several; then the error cites the one that has most
    in common with `text`.
    """
    with store.storage.snapshot():
        _, place = find(store.storage, target)
    if not place.part and split_target(target.strip())[0] == target.strip():
        raise SourceError(f"{target} does not name lines; cite the line that changes: {target}#L12")
    # A single line, where `get` would read on from it
    most = 200 if place.part or place.end else 1
    part = read(store, target, max_lines=most)
    path = None if "host" in part else part["path"]
    lines = part["text"].split("\n")
    found = _statements(lines, is_note=not own_suffix(path or ""))
    if not found:
        raise SourceError(f"{part['citation']} has no statement; cite the line that changes")
    first = part["start_line"]
    if len(found) > 1:
        new = set(words(text)).difference(languages.words("function_words"))
        start, end = max(
            found, key=lambda span: len(new.intersection(words(" ".join(lines[slice(*span)]))))
        )
        raise SourceError(
            f"{part['citation']} has several statements; cite the one that changes, such as "
            f"{citation(part['doc_id'], first + start, first + end - 1)}: {lines[start].strip()!r}"
        )
    [(start, end)] = found
    is_current = not part["changed"]
    return Cited(
        part["doc_id"], part["citation"], path, first + start, lines[start:end], is_current
    )


def _statements(lines: Sequence[str], *, is_note: bool) -> list[tuple[int, int]]:
    """The first line of each statement, and the line after its last: a list item, a paragraph, or
    all text of a file that is not a note.
    """
    structure = markdown_structure("\n".join(["", *lines]))
    line_breaks = [
        [structure.text.count("\n", 0, place) for place in (heading.start, heading.end)]
        for heading in structure.headings
    ]
    headings = {number for first, last in line_breaks for number in range(first - 1, last)}
    found: list[tuple[int, int]] = []
    for number, line in enumerate(lines):
        if not words(line) or number in headings:
            continue
        is_new = not found or (is_note and (found[-1][1] < number or NEW_ITEM.match(line)))
        if is_new:
            found.append((number, number + 1))
        else:
            found[-1] = (found[-1][0], number + 1)
    return found


def correct(former: Cited, text: str) -> int | None:
    """Strike through the cited lines in their file, add the text, and return its number of lines;
    None if the file cannot be edited there. Lines that were corrected so before stay as they are.
    """
    if former.path is None or own_suffix(former.path) or not former.is_current:
        return None
    end = former.start + len(former.lines) - 1
    first, *more = text.splitlines()

    def change(before: str) -> str:
        parts = LINE_BREAK.split(before)
        rows, breaks = parts[::2], parts[1::2]
        own = slice(former.start - 1, end)
        kinds = [is_fixed for _, _, is_fixed in lines_of(with_plain_newlines(before))]
        if rows[own] != list(former.lines) or any(kinds[own]):
            raise ValueError("the cited lines are code, a table, or other ones by now")
        if former.start <= metadata_of(before).lines:
            raise ValueError("the cited lines are front matter")
        if rows[end - 1].endswith(f"~~ {first}"):
            return before
        indent = " " * len(re.match(r"[ \t]*(?:[-*+][ \t]+)?", rows[former.start - 1])[0])  # type: ignore[index]
        rows[own] = map(_struck, rows[own])
        line_break = breaks[0] if breaks else "\n"
        rows[end - 1] = (
            f"{rows[end - 1]} {line_break.join([first, *(indent + row for row in more)])}"
        )
        return "".join(row + end for row, end in zip(rows, [*breaks, ""], strict=True))

    try:
        edit(former.path, change)
    except HybridMemoryError:
        return None
    return len(former.lines) + len(more)


def _struck(line: str) -> str:
    """A line with its text struck through, except what is already.

    '- 14:02 Port: 22' -> '- 14:02 ~~Port: 22~~'
    """
    mark = MARKER.match(line)
    start = mark.end() if mark else 0
    parts = re.split(r"(~~[^~\n]+~~)", line[start:])
    struck = [
        part if number % 2 or not part.strip() else re.sub(r"\S(?:.*\S)?", r"~~\g<0>~~", part)
        for number, part in enumerate(parts)
    ]
    return line[:start] + "".join(struck)


def is_reached_by_link(path: str, folder: str) -> bool:
    """Whether symbolic links lead from this path, below the folder, to a place outside of it."""
    above = os.path.join(os.path.realpath(folder), "")
    return not os.path.realpath(path).startswith(above)
