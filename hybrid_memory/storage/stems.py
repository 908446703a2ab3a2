"""Stems of words as the keyword index has them: made by FTS5's own porter tokenizer, in a database in memory."""

import sqlite3
from collections.abc import Iterable

from ..text.analyzer import stemmed

WORDS_AND_STEMS = """
create virtual table words using fts5(word, tokenize = 'porter unicode61 remove_diacritics 2');
create virtual table stems using fts5vocab(words, instance);
"""


def stems(words: Iterable[str]) -> dict[str, str]:
    """Folded token -> stem, as 'servers' -> 'server'. What FTS5 does not take for a token is missing."""
    numbered = list(words)
    conn = sqlite3.connect(":memory:")
    try:
        conn.executescript(WORDS_AND_STEMS)
        conn.executemany("insert into words (rowid, word) values (?, ?)", enumerate(map(stemmed, numbered)))
        return {numbered[number]: stem for number, stem in conn.execute("select doc, term from stems")}
    finally:
        conn.close()
