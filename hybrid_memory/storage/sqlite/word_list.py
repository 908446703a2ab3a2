"""A list of the words in the keyword index, with the numbers of their chunks, for correcting
misspelt words.

FTS5 can list its terms, too (fts5vocab), but it counts their chunks by reading every posting. The
table `terms` is complete or empty: it is filled from FTS5 at the end of a command that writes, kept
exact by each later change, and emptied when much of the index is new. While it is empty, FTS5 is
asked.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from ..bm25 import LONGEST_TERM, TOKENIZER

if TYPE_CHECKING:
    from ...text.terms import Terms

# Identifiers and names have these letters. Their parts are terms, too
OF_SYMBOLS = "*[\uf800-\uf8ff]*"
LISTED = f"length(term) <= {LONGEST_TERM} and term not glob '{OF_SYMBOLS}'"

# Counting the chunks of new terms one by one takes longer than filling the table, if they are many
GROWTH = 0.1  # share of the chunks since the last filling
FEW = 1000  # chunks

MAKE_INDEX = f"""
create virtual table words using fts5(
    heading, content, context, content = '', detail = none, tokenize = '{TOKENIZER}'
);
create virtual table vocabulary using fts5vocab(words, row);
"""
ADD_WORDS = "insert into words (heading, content, context) values (?, ?, ?)"
COUNTS = f"select term, doc from vocabulary where {LISTED}"

IS_COMPLETE = "select exists (select 1 from terms)"
ADD = """
insert into terms (term, chunks) values (?, ?)
on conflict (term) do update set chunks = chunks + excluded.chunks
"""
SUBTRACT = "update terms set chunks = chunks - ?2 where term = ?1"
FORGET = "delete from terms where term = ? and chunks <= 0"
CLEAR = "delete from terms"
MAKE_VOCABULARY = "create virtual table temp.counted using fts5vocab (main, chunks_fts, row)"
DROP_VOCABULARY = "drop table if exists temp.counted"  # an error may have rolled it back
FILL = f"insert into terms (term, chunks) select term, doc from temp.counted where {LISTED}"
# Words of the index with another count in the list or none, and words that only the list has
COUNT_DIFFERING = f"""
with found (doc, chunks) as (
    select doc, chunks from temp.counted left join terms using (term) where {LISTED}
)
select count(*) filter (where chunks is not doc) + (select count(*) from terms) - count(chunks)
from   found
where  exists (select 1 from terms)
"""
LISTED_CHUNKS = "select value from meta where key = 'listed_chunks'"
SET_LISTED_CHUNKS = "insert or replace into meta (key, value) values ('listed_chunks', ?)"
SUBTRACT_LISTED_CHUNKS = "update meta set value = value - ? where key = 'listed_chunks'"


def is_complete(conn: sqlite3.Connection) -> bool:
    return bool(conn.execute(IS_COMPLETE).fetchone()[0])


def fill(conn: sqlite3.Connection, size: int) -> None:
    """Fill the empty table. `size` is the number of chunks in the index."""
    with _vocabulary(conn):
        conn.execute(FILL)
    conn.execute(SET_LISTED_CHUNKS, (size,))


def count_differing(conn: sqlite3.Connection) -> int:
    """The number of words whose chunks are miscounted, or that only the list or the index has.
    Takes time in proportion to the store.
    """
    with _vocabulary(conn):
        return int(conn.execute(COUNT_DIFFERING).fetchone()[0])


def clear(conn: sqlite3.Connection) -> None:
    conn.execute(CLEAR)


def add(conn: sqlite3.Connection, chunks: Iterable["Terms"], size: int) -> None:
    """Count the terms of chunks that are now in the index, which has `size` chunks."""
    if not is_complete(conn):
        return
    (listed,) = conn.execute(LISTED_CHUNKS).fetchone()
    if size > (1 + GROWTH) * int(listed) + FEW:
        clear(conn)
    else:
        conn.executemany(ADD, _counts(chunks))


def remove(conn: sqlite3.Connection, chunks: Sequence["Terms"]) -> None:
    """Subtract the terms of chunks that are no longer in the index."""
    if is_complete(conn):
        conn.execute(SUBTRACT_LISTED_CHUNKS, (len(chunks),))
        counts = _counts(chunks)
        conn.executemany(SUBTRACT, counts)
        conn.executemany(FORGET, ((term,) for term, _ in counts))


@contextmanager
def _vocabulary(conn: sqlite3.Connection) -> Iterator[None]:
    """The words that FTS5 lists, as the table temp.counted."""
    conn.execute(MAKE_VOCABULARY)
    try:
        yield
    finally:
        conn.execute(DROP_VOCABULARY)


def _counts(chunks: Iterable["Terms"]) -> list[tuple[str, int]]:
    """The terms of chunks, with the number of chunks that have each."""
    with closing(sqlite3.connect(":memory:")) as words:
        words.executescript(MAKE_INDEX)
        words.executemany(ADD_WORDS, chunks)
        return words.execute(COUNTS).fetchall()
