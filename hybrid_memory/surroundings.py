"""A chunk with those before and after it, as one text with its lines. Reads the database; ranks nothing."""

import re
import sqlite3
from typing import NamedTuple

AROUND = """
select   content, start_line, end_line
from     chunks
where    doc_id = :doc_id and id between :id - :count and :id + :count
order by id
"""
_NO_SPACE = re.compile(r"[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


class Passage(NamedTuple):
    text: str
    start_line: int
    end_line: int


def around(conn: sqlite3.Connection, doc_id: str, id: int, count: int) -> Passage:
    """The chunk of this chunks.id and up to `count` on either side, what they repeat of each other left out.

    Blank lines between them are there again, so that the text has as many lines as it says.
    """
    rows = [Passage(*row) for row in conn.execute(AROUND, {"doc_id": doc_id, "id": id, "count": count})]
    joined = rows[0]
    for following in rows[1:]:
        joined = _joined(joined, following)
    return joined


def _joined(one: Passage, other: Passage) -> Passage:
    breaks = other.start_line - one.end_line
    if breaks > 0:
        text = one.text + "\n" * breaks + other.text
    else:
        repeated = next(
            (n for n in range(min(len(one.text), len(other.text)), 0, -1) if _repeats(one.text, other.text, n, -breaks)), 0
        )
        unspaced = _NO_SPACE.match(one.text[-1:]) or _NO_SPACE.match(other.text[:1])
        text = one.text + ("" if repeated or unspaced else " ") + other.text[repeated:]
    return Passage(text, one.start_line, max(one.end_line, other.end_line))


def _repeats(text: str, following: str, length: int, breaks: int) -> bool:
    return text.endswith(following[:length]) and following.count("\n", 0, length) == breaks
