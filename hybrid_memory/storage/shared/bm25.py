"""What both engines rank by: BM25 as FTS5 computes it, with the weights of our columns."""

from collections.abc import Collection
from math import log

HEADING_WEIGHT, CONTENT_WEIGHT, CONTEXT_WEIGHT = 2.0, 1.0, 0.25
K1 = 1.2  # a term adds less than its idf x (K1 + 1), however often it occurs and whatever the weights
B = 0.75  # how much the length of a chunk counts
CHANCE = 2  # times the logarithm of the number of chunks: with more BM25, it is no chance that a chunk has these words


def idf(count: int, size: int) -> float:
    """The inverse document frequency of FTS5's bm25, for a word that so many of all chunks have."""
    return max(log((size - count + 0.5) / (count + 0.5)), 1e-6)


def enough(counts: Collection[int], size: int) -> float:
    """The BM25 of a hit that tells all that keywords can: that of all words, or what none has by chance, if that is less.

    `counts` says how many of all chunks have each word.
    """
    size = max(size, *counts, 1)
    return min(sum(idf(count, size) for count in counts), CHANCE * log(size + 1))
