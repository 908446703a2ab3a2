"""What models said of queries, kept in the database so that a repeated query needs neither a server
nor a network library.

A row is the embedding of a query by a model, or for a query and a reranker the scores of passages,
each under a hash of its text. Best effort: what cannot be written at once is not written. Keys are
hashes, because queries are as private as memories.
"""

import json
import time
from collections.abc import Callable, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Protocol

from ..text.characters import digest
from .vector import decode_embedding, encode_embedding

if TYPE_CHECKING:
    from .rows import Identity

SCORE = Struct("<16sd")  # the hash of a text, its score
MOST_SCORES = 300  # in a row, of the passages that were asked for last
FRESH = (
    86_400.0  # seconds in which a further use is not noted, so that a read does not become a write
)


class QueryCache(Protocol):
    """Implements `storage.embeddings.QueryCache`; an engine adds the two methods that have SQL."""

    def vector(
        self, identity: "Identity", query: str, embed: Callable[[str], list[float]]
    ) -> list[float]:
        key = _key(identity, query)
        encoded, used_at = self._kept(key)
        if not encoded:
            encoded = encode_embedding(embed(query))
        if encoded and time.time() - used_at > FRESH:
            self._keep(key, encoded)
        return decode_embedding(
            encoded
        )  # a new vector, too, so that the second answer is the same as the first

    def scores(
        self,
        reranker: str,
        query: str,
        texts: Sequence[str],
        score: Callable[[list[str]], list[float]],
    ) -> list[float]:
        key = _key({"reranker": reranker}, query)
        encoded, used_at = self._kept(key)
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
            self._keep(key, b"".join(SCORE.pack(*row) for row in rows))
        return [known[hash] for hash in hashes]

    def _kept(self, key: bytes) -> tuple[bytes, float]:
        """What is kept under a key, and when it was used; b"" if nothing is."""

    def _keep(self, key: bytes, value: bytes) -> None:
        """Keep a value under a key, if nobody else writes."""


def _key(identity: "Identity", query: str) -> bytes:
    return digest(f"{json.dumps(identity)}\0{query}".encode())
