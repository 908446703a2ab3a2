"""English words with a similar meaning, from near_words.bin in the same folder.

The file has the nearest words of each whole word in the vocabulary of builtin.bin, by the cosine of
their vectors, as far as it is LEAST or more. training/ has the program that writes it.

It is little-endian: HEADER and then, for n tokens of builtin.bin, b blocks and m near words:
    u32[b]  the place, among the near words, of the first one of every BLOCK-th token
    u16[m]  the near words, as indexes of tokens: those of the first token, of the second and so on,
            the nearest first
    u8[n]   how many near words each token has
    u8[m]   the cosines of the near words, times COSINES
"""

import mmap
import os
import struct
from functools import cached_property

from .builtin import BuiltinEmbedder

DATA = os.path.join(os.path.dirname(__file__), "near_words.bin")
MAGIC = b"hmnearw1"
# Magic, tokens, blocks, near words, and the median length of the vectors in builtin.bin
HEADER = struct.Struct("<8s3If")
BLOCK = 256  # tokens
LEAST = 0.5  # the lowest cosine in the file
COSINES = 255


class NearWords:
    """The near words of English words, and the lengths of their vectors."""

    def __init__(self) -> None:
        self._embedder = BuiltinEmbedder()

    @cached_property
    def _parts(self) -> tuple[float, memoryview, memoryview, memoryview, memoryview]:
        with open(DATA, "rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        magic, tokens, blocks, near, median = HEADER.unpack(data[: HEADER.size])
        if magic != MAGIC:
            raise ValueError(f"{DATA} is not a table of near words")
        parts = []
        start = HEADER.size
        for size in (4 * blocks, 2 * near, tokens, near):
            parts.append(data[start : start + size])
            start += size
        starts, words, counts, cosines = parts
        return median, starts.cast("I"), words.cast("H"), counts, cosines

    def of(self, word: str) -> list[tuple[str, float]]:
        """The near words of a lower-case word with their cosines, the nearest first; none if the
        word is not a token.
        """
        table = self._embedder.table
        index = table.index(word)
        if index < 0:
            return []
        _, starts, words, counts, cosines = self._parts
        block = index // BLOCK
        start = starts[block] + sum(counts[block * BLOCK : index])
        places = range(start, start + counts[index])
        return [(table.token(words[place]), cosines[place] / COSINES) for place in places]

    def weight(self, word: str) -> float:
        """The length of a word's vector, in medians of the vectors in the table: how much the word
        says. 1 for a word without a vector.
        """
        length = self._embedder.length(word)
        return length / self._parts[0] if length else 1.0
