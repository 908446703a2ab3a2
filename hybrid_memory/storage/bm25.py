"""BM25 as in FTS5, with our column weights, and stems by FTS5's porter tokenizer."""

import sqlite3
from collections.abc import Collection, Iterable
from math import log

from ..text.analyzer import stemmed

HEADING_WEIGHT, CONTENT_WEIGHT, CONTEXT_WEIGHT = 2.0, 1.0, 0.25
# A term adds less than its idf x (K1 + 1), for any number of occurrences and any weights
K1 = 1.2
B = 0.75  # the influence of a chunk's length
# A BM25 score above this, times the logarithm of the number of chunks, is not a match by chance
CHANCE = 2


def idf(count: int, size: int) -> float:
    """The inverse document frequency, as in FTS5's bm25, of a word in `count` of `size` chunks."""
    return max(log((size - count + 0.5) / (count + 0.5)), 1e-6)


def full_score(counts: Collection[int], size: int) -> float:
    """The BM25 score that counts as a full match: the sum over all words of a query, or the score
    that no chunk reaches by chance, whichever is lower.

    `counts` has the number of chunks with each word.
    """
    size = max(size, *counts, 1)
    return min(sum(idf(count, size) for count in counts), CHANCE * log(size + 1))


WORDS_AND_STEMS = """
create virtual table words using fts5(word, tokenize = 'porter unicode61 remove_diacritics 2');
create virtual table stems using fts5vocab(words, instance);
"""


def stems(words: Iterable[str]) -> dict[str, str]:
    """Folded token -> stem, as 'servers' -> 'server'. Words that are not tokens to FTS5 are
    missing.
    """
    numbered = list(words)
    conn = sqlite3.connect(":memory:")
    try:
        conn.executescript(WORDS_AND_STEMS)
        conn.executemany(
            "insert into words (rowid, word) values (?, ?)", enumerate(map(stemmed, numbered))
        )
        return {
            numbered[number]: stem for number, stem in conn.execute("select doc, term from stems")
        }
    finally:
        conn.close()
