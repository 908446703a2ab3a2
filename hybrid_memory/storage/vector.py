"""Vectors: their encoding, unit length and cosine; and the cache of query embeddings and reranker
scores.

The cache is in the database, so that a repeated query needs neither a server nor a network library.
A row has the embedding of a query by a model, or a reranker's scores of passages for a query, each
under a hash of the passage. Caching is best effort: what cannot be written at once is skipped. Keys
are hashes, because queries are as private as memories.
"""

import json
import struct
import time
from collections.abc import Callable, Sequence
from math import dist, frexp, fsum, hypot, inf, ldexp, sqrt
from operator import mul
from struct import Struct
from typing import TYPE_CHECKING, Protocol

from ..text.characters import digest

if TYPE_CHECKING:
    from .rows import Identity

FLOAT_BYTES = 4
UNIT = 1e-7  # a length within this of 1 counts as 1: rounding to float32 may cause it

# Embeddings in a sample, the same in every engine. Their mean cosine differs from the mean of all
# embeddings by less than 0.02
SAMPLE = 32

UnitVector = tuple[float, ...]


class BadEmbeddingError(ValueError):
    """Bytes that are not an encoded embedding."""


def encode_embedding(vector: Sequence[float]) -> bytes:
    """Encode as little-endian float32. Raises OverflowError for a component out of range."""
    return struct.pack(f"<{len(vector)}f", *vector)


def decode_embedding(data: bytes) -> list[float]:
    """Undo `encode_embedding`. Raises BadEmbeddingError if the bytes are not whole floats."""
    if len(data) % FLOAT_BYTES:
        raise BadEmbeddingError(
            f"{len(data)} bytes are not a float32 vector: their number is not a multiple of {FLOAT_BYTES}"
        )
    return list(struct.unpack(f"<{len(data) // FLOAT_BYTES}f", data))


def unit(vector: Sequence[float]) -> UnitVector | None:
    """Scale a vector to length 1; None if it is empty, zero or not finite."""
    length = hypot(*vector)
    if not 0 < length < inf:  # false for NaN, too
        return None
    if abs(length - 1) < UNIT:
        return tuple(vector)
    return tuple(component / length for component in vector)


def unit_cosine(a: UnitVector, b: UnitVector) -> float:
    """The cosine of two unit vectors, by |a - b|^2 = 2 - 2ab. `dist` takes two thirds of the time
    of a sum of products.
    """
    return 1 - dist(a, b) ** 2 / 2


def cosine_similarity(a: Sequence[float], b: Sequence[float]) -> float:
    """The cosine of two vectors: [1, 0], [1, 1] -> 0.707; 0.0 if either is zero. Raises ValueError
    if they differ in length.

    Exactly 0 for orthogonal vectors, 1 for equal and -1 for opposite ones; `unit_cosine` is
    accurate only to about 1e-8.
    """
    if len(a) != len(b):
        raise ValueError(f"no cosine between vectors of {len(a)} and {len(b)} dimensions")
    a = _scaled(a)
    b = _scaled(b)
    if not a or not b:
        return 0.0
    lengths = sqrt(fsum(map(mul, a, a)) * fsum(map(mul, b, b)))
    return max(-1.0, min(fsum(map(mul, a, b)) / lengths, 1.0))


def _scaled(vector: Sequence[float]) -> list[float]:
    """Scale a vector by a power of two, which rounds nothing and keeps its square in range; [] if
    it has no direction.
    """
    top = max(map(abs, vector), default=0.0)
    if not 0 < top < inf or not hypot(*vector) > 0:
        return []
    shift = -frexp(top)[1]
    return [ldexp(component, shift) for component in vector]


SCORE = Struct("<16sd")  # the hash of a text, its score
MOST_SCORES = 300  # in a row; those of the passages that were scored last
# Seconds before another use updates `used_at`, so that most reads do not write
FRESH = 86_400.0


class QueryCache(Protocol):
    """Implements `protocol.QueryCache`. An engine adds the two methods with SQL."""

    def vector(
        self, identity: "Identity", query: str, embed: Callable[[str], list[float]]
    ) -> list[float]:
        key = _key(identity, query)
        encoded, used_at = self._load(key)
        if not encoded:
            encoded = encode_embedding(embed(query))
        if encoded and time.time() - used_at > FRESH:
            self._save(key, encoded)
        # Decode a new vector, too, so that the first answer equals the later ones
        return decode_embedding(encoded)

    def scores(
        self,
        reranker: str,
        query: str,
        texts: Sequence[str],
        score: Callable[[list[str]], list[float]],
    ) -> list[float]:
        key = _key({"reranker": reranker}, query)
        encoded, used_at = self._load(key)
        known: dict[bytes, float] = dict(SCORE.iter_unpack(encoded))
        hashes = [digest(text.encode()) for text in texts]
        new = {hash: text for hash, text in zip(hashes, texts, strict=True) if hash not in known}
        if new:
            given = score(list(new.values()))
            if not given:
                return []
            known |= zip(new, given, strict=True)
        if new or time.time() - used_at > FRESH:
            rows = list({**{hash: known[hash] for hash in hashes}, **known}.items())[:MOST_SCORES]
            self._save(key, b"".join(SCORE.pack(*row) for row in rows))
        return [known[hash] for hash in hashes]

    def _load(self, key: bytes) -> tuple[bytes, float]:
        """The value under a key, and when it was last used; b"" if it is missing."""

    def _save(self, key: bytes, value: bytes) -> None:
        """Store a value under a key, unless another process is writing."""


def _key(identity: "Identity", query: str) -> bytes:
    return digest(f"{json.dumps(identity)}\0{query}".encode())
