"""The cache of query embeddings and reranker scores.

It is in the database, so that a repeated query needs neither a server nor a network library. A row
has the embedding of a query by a model, or a reranker's scores of passages for a query, each under
a hash of the passage. Caching is best effort: what cannot be written at once is skipped. Keys are
hashes, because queries are as private as memories.
"""

import json
import time
from collections.abc import Callable, Sequence
from struct import Struct
from typing import TYPE_CHECKING, ClassVar

from ..text.characters import digest
from .encoding import decode_embedding, encode_embedding

if TYPE_CHECKING:
    from .database import Database
    from .rows import Identity

SCORE = Struct("<16sd")  # the hash of a text, its score
MOST_SCORES = 300  # in a row; those of the passages that were scored last
# Seconds before another use updates `used_at`, so that most reads do not write
FRESH = 86_400.0


class QueryCache:
    """The embeddings and reranker scores of the `size` queries used last. Needs no transaction, and
    never waits for another writer. An engine adds the statements.
    """

    GET: ClassVar[str]  # the value under a key, and when it was last used
    PUT: ClassVar[str]
    EVICT: ClassVar[str]

    def __init__(self, database: "Database", size: int) -> None:
        self._db = database
        self._size = size

    def vectors(
        self,
        identity: "Identity",
        queries: Sequence[str],
        embed: Callable[[list[str]], list[list[float]]],
    ) -> list[list[float]]:
        """The embeddings of queries. Those that are not cached are made by one call of `embed`, and
        cached unless another process is writing.
        """
        found = {query: self._load(_key(identity, query)) for query in queries}
        new = [query for query, (encoded, _) in found.items() if not encoded]
        if new:
            embedded = map(encode_embedding, embed(new))
            found |= {query: (encoded, 0.0) for query, encoded in zip(new, embedded, strict=True)}
        for query, (encoded, used_at) in found.items():
            if encoded and time.time() - used_at > FRESH:
                self._save(_key(identity, query), encoded)
        # Decode a new vector, too, so that the first answer equals the later ones
        return [decode_embedding(found[query][0]) for query in queries]

    def scores(
        self,
        reranker: str,
        query: str,
        texts: Sequence[str],
        score: Callable[[list[str]], list[float]],
    ) -> list[float]:
        """A reranker's score of each text for a query. `score` computes those that are not cached,
        which are then cached. [] if `score` returns [].
        """
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
        value, used_at = self._db.first(self.GET, {"key": key}) or (b"", 0.0)
        return value, used_at

    def _save(self, key: bytes, value: bytes) -> None:
        """Store a value under a key, unless another process is writing."""
        if self._size:
            given = {"key": key, "value": value, "now": time.time(), "size": self._size}
            self._db.run_at_once([self.PUT, self.EVICT], given)


def _key(identity: "Identity", query: str) -> bytes:
    return digest(f"{json.dumps(identity)}\0{query}".encode())
