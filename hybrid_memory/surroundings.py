"""A chunk with those before and after it, as one text with its lines. Reads the database; ranks nothing."""

import re
import sqlite3
from itertools import pairwise
from typing import NamedTuple

from . import catalog
from .chunker import UNSPACED, WORD_START

AROUND = """
select   c.content, c.start_line, c.end_line, d.chunking
from     chunks c join documents d using (doc_id)
where    doc_id = :doc_id and id between :id - :count and :id + :count
order by id
"""
_UNSPACED = re.compile(f"[{UNSPACED}]")


class Passage(NamedTuple):
    text: str
    start_line: int
    end_line: int


def around(conn: sqlite3.Connection, doc_id: str, id: int, count: int) -> Passage:
    """The chunk of this chunks.id and up to `count` on either side, what they repeat of each other left out.

    Blank lines between them are there again, so that the text has as many lines as it says. What was said in a transcript
    stands a blank line apart: its lines are records, most of which say nothing.
    """
    rows = conn.execute(AROUND, {"doc_id": doc_id, "id": id, "count": count}).fetchall()
    size, overlap = map(int, rows[0][3].split(":")[1:])
    passages = [Passage(*row[:3]) for row in rows]
    if doc_id.endswith(catalog.TRANSCRIPT):
        return Passage("\n\n".join(passage.text for passage in passages), passages[0].start_line, passages[-1].end_line)
    text, end = passages[0].text, passages[0].end_line
    for before, passage in pairwise(passages):
        text += _rest(before, passage, size, overlap)
        end = max(end, passage.end_line)
    return Passage(text, passages[0].start_line, end)


def _rest(before: Passage, passage: Passage, size: int, overlap: int) -> str:
    """What the passage adds to the one before it."""
    breaks = passage.start_line - before.end_line
    if breaks > 0:
        return "\n" * breaks + passage.text
    if repeated := _repeated(before.text, passage.text, -breaks, overlap):
        return passage.text[repeated:]
    is_cut_inside_a_word = _UNSPACED.match(passage.text) or len(before.text.split()[-1]) >= size
    return passage.text if is_cut_inside_a_word else f" {passage.text}"


def _repeated(before: str, text: str, breaks: int, overlap: int) -> int:
    """How many characters that the text begins with are the end of the one before: from a word on, over so many line breaks.

    The most that can be: where words repeat themselves, fewer would be the same as well.
    """
    least = len(text) - len(text.split("\n", breaks)[-1]) + 1
    head = text[:16]
    words = WORD_START.finditer(before, max(len(before) - min(overlap, len(text)), 0), len(before) - least + 1)
    for word in words:
        repeated = len(before) - word.start()
        looks_so = before.startswith(head[:repeated], word.start())  # spares a copy
        if looks_so and text.startswith(before[word.start() :]) and text.count("\n", 0, repeated) == breaks:
            return repeated
    return 0
