"""BM25 as in FTS5, with our column weights, and stems by FTS5's porter tokenizer."""

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log

from ..text.analyzer import stemmed
from ..text.equality import Form
from ..text.scripts import in_stemmed_alphabet

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


def rarities(
    counts: Mapping[str, int], forms: Iterable[tuple[Form, int]], size: int
) -> dict[str, float]:
    """The inverse document frequency of each word as in Lucene, above 0 even if most chunks have the
    word; {} if no chunk has any of them.

    `counts` has the number of chunks with each word; `forms` are other forms of the words with their
    number of chunks. A word is as rare as its most common form.
    """
    counts = dict(counts)
    for form, count in forms:
        for word in form.words:
            if word in counts:
                counts[word] = max(counts[word], count)
    if not any(counts.values()):
        return {}
    size = max(size, *counts.values())
    return {word: log(1 + (size - n + 0.5) / (n + 0.5)) for word, n in counts.items()}


TOKENIZER = "porter unicode61 remove_diacritics 2"  # of FTS5
WORDS_AND_STEMS = f"""
create virtual table words using fts5(word, content = '', columnsize = 0, tokenize = '{TOKENIZER}');
create virtual table stems using fts5vocab(words, instance);
"""


LONGEST_TERM = 40  # characters of a term that may replace a misspelt word
STEMS_KEPT = 10_000  # some 150 bytes each

# The words that FTS5 was asked for, with their stems: the same words occur in many searches
_stems: dict[str, str] = {}


def stems(words: Iterable[str]) -> dict[str, str]:
    """Folded token -> stem, as 'servers' -> 'server'. Words that are not tokens to FTS5 are
    missing.

    FTS5 is asked only for words that its stemmer may change.
    """
    found: dict[str, str | None] = {}
    for word in words:
        found[word] = stemmed(word).lower() if in_stemmed_alphabet(word) else _stems.get(word)
    new = [word for word, stem in found.items() if stem is None]
    if new:
        asked = _stems_of_fts5(new)
        if len(_stems) > STEMS_KEPT:
            _stems.clear()
        _stems.update(asked)
        found |= asked
    return {word: stem for word, stem in found.items() if stem}


def word_of_stem(stem: str, text: str) -> str:
    """The first word of a chunk's terms that has a stem: 'kubernetes' for 'kubernet'. Otherwise the
    stem itself.
    """
    words = [word for word in dict.fromkeys(text.lower().split()) if word[:2] == stem[:2]]
    stem_of = stems(words)
    return next((word for word in words if stem_of.get(word) == stem), stem)


def _stems_of_fts5(words: Sequence[str]) -> dict[str, str]:
    """The stem of each word; "" for one that is not a token."""
    conn = sqlite3.connect(":memory:")
    try:
        conn.executescript(WORDS_AND_STEMS)
        conn.executemany(
            "insert into words (rowid, word) values (?, ?)", enumerate(map(stemmed, words))
        )
        found = {
            words[number]: stem for number, stem in conn.execute("select doc, term from stems")
        }
        return dict.fromkeys(words, "") | found
    finally:
        conn.close()
