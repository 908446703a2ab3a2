"""The embeddings of chunks: their common identity, those that are known, and those that are pending.

Spare embeddings belong to no chunk: they are those of deleted texts and those of the next model, by
identity and content hash.
"""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from ..text.characters import digest
from ..text.terms import embedded_text
from .database import Database
from .rows import Identity, Pending, Vectors


def model_key(identity: Identity) -> bytes:
    """The key of an identity in the table of spare embeddings."""
    return digest(json.dumps(identity, sort_keys=True).encode())


class SpareEmbeddings(ABC):
    """Embeddings that no chunk uses, by identity and content hash.

    These are the embeddings of deleted texts, which may come back, and the next set: embeddings by
    a new model, which replace the current ones when the set is complete. b"" marks a text that the
    model can never embed. An engine adds the statements.
    """

    NEXT: ClassVar[str]
    SET_NEXT: ClassVar[str]
    FORGET_NEXT: ClassVar[str]
    DROP_MODEL: ClassVar[str]
    DROP_UNUSED: ClassVar[str]
    LACKING: ClassVar[str]  # the columns that `pending_chunks` reads
    COUNT_LACKING: ClassVar[str]

    def __init__(self, database: Database) -> None:
        self._db = database

    @abstractmethod
    def known(self, identity: Identity, hashes: Iterable[bytes]) -> Vectors:
        """The embeddings of these texts, where they exist."""

    @abstractmethod
    def put(self, identity: Identity, vectors: Vectors) -> None:
        """Store embeddings."""

    @abstractmethod
    def keep(self, identity: Identity, ids: Iterable[int]) -> None:
        """Copy the embeddings of chunks, by chunks.id, which have this identity."""

    def drop_unused(self) -> None:
        """Delete the embeddings of all texts that no chunk has."""
        self._db.run(self.DROP_UNUSED)

    @abstractmethod
    def trim(self, identity: Identity, megabytes: float, days: float) -> None:
        """Delete embeddings older than `days`, the oldest beyond `megabytes`, and those that chunks
        of this identity use again. The next set stays.
        """

    def next_identity(self) -> Identity | None:
        """The identity of the next set, or None."""
        row = self._db.first(self.NEXT)
        return json.loads(row[0]) if row else None

    def _next_model(self) -> bytes | None:
        """The key of the next set, or None."""
        identity = self.next_identity()
        return model_key(identity) if identity else None

    def begin_next(self, identity: Identity) -> None:
        """Start a next set, dropping an unfinished one."""
        self.drop_next()
        self._db.run(self.SET_NEXT, {"value": json.dumps(identity)})

    def drop_next(self) -> None:
        """Abandon the next set."""
        identity = self.next_identity()
        if identity and "anew" in identity:  # no later set has this identity
            self._db.run(self.DROP_MODEL, {"model": model_key(identity)})
        self._db.run(self.FORGET_NEXT)

    def lacking(self, identity: Identity, before: int, batch: int) -> list[Pending]:
        """At most `batch` chunks (all if -1) with an id below `before` whose text has no embedding
        in this set, the newest first.
        """
        wanted = {"model": model_key(identity), "before": before, "batch": batch}
        return pending_chunks(self._db.all(self.LACKING, wanted))

    def count_lacking(self, identity: Identity) -> int:
        """The number of chunks whose text has no embedding in this set."""
        return self._db.number(self.COUNT_LACKING, {"model": model_key(identity)})

    def activate(self, identity: Identity) -> None:
        """Give every chunk the embedding of its text in this set, which then ends."""
        self._give_to_chunks(model_key(identity))
        self._db.run(self.DROP_MODEL, {"model": model_key(identity)})
        self._db.run(self.FORGET_NEXT)

    @abstractmethod
    def _give_to_chunks(self, model: bytes) -> None:
        """Replace the embedding of every chunk by the one of its text in this set, or by none."""


class Embeddings(ABC):
    """The embeddings of the chunks, which all have one identity. An engine adds the statements."""

    IDENTITY: ClassVar[str]
    SET_IDENTITY: ClassVar[str]
    PENDING: ClassVar[str]  # the columns that `pending_chunks` reads
    STILL_PENDING: ClassVar[str]  # chunks.id and content hash
    COUNT_WITHOUT: ClassVar[str]
    COUNT_PENDING: ClassVar[str]
    WAS_LATE: ClassVar[str]
    NOTE_LATE: ClassVar[str]

    def __init__(self, database: Database, spare: SpareEmbeddings) -> None:
        self._db = database
        self.spare = spare

    def identity(self) -> Identity | None:
        """The identity of the embeddings; None before the first."""
        row = self._db.first(self.IDENTITY)
        return json.loads(row[0]) if row else None

    def set_identity(self, identity: Identity) -> None:
        """Set the identity of the embeddings made from now on."""
        self._db.run(self.SET_IDENTITY, {"value": json.dumps(identity)})

    def known(self, hashes: Iterable[bytes]) -> Vectors:
        """The stored embeddings of these texts, by content hash."""
        identity = self.identity()
        wanted = list(hashes)
        if identity is None or not wanted:
            return {}
        found = self._of_chunks(wanted)
        return found | self.spare.known(identity, [hash for hash in wanted if hash not in found])

    @abstractmethod
    def _of_chunks(self, hashes: Sequence[bytes]) -> Vectors:
        """The embeddings of chunks with these texts."""

    def pending(self, before: int, batch: int, *, tried: bool) -> list[Pending]:
        """At most `batch` chunks without an embedding and with an id below `before`, the newest
        first.

        `tried` includes chunks that were marked as unembeddable.
        """
        wanted = {"before": before, "batch": batch, "tried": tried}
        return pending_chunks(self._db.all(self.PENDING, wanted))

    def still_pending(self, batch: Sequence[Pending]) -> list[Pending]:
        """The chunks of the batch that no other process has changed or embedded meanwhile."""
        ids = self._db.encode_list([chunk.id for chunk in batch])
        left = set(self._db.all(self.STILL_PENDING, {"ids": ids}))
        return [chunk for chunk in batch if (chunk.id, chunk.content_hash) in left]

    def count_without(self) -> int:
        """The number of chunks without an embedding, which is faster than `count_pending`: it includes
        those marked as unembeddable.
        """
        return self._db.number(self.COUNT_WITHOUT)

    def count_pending(self) -> int:
        """The number of chunks that wait for an embedding."""
        return self._db.number(self.COUNT_PENDING)

    @abstractmethod
    def put(self, rows: Iterable[tuple[int, bytes, bool]]) -> None:
        """Set the embeddings of chunks: (chunks.id, embedding, whether the text was cut to fit the
        model).
        """

    @abstractmethod
    def mark_unembeddable(self, hashes: Iterable[bytes]) -> None:
        """Mark texts, by content hash, that the model can never embed."""

    def was_server_late(self, seconds: float) -> bool:
        """Whether `note_late_server` was called in the last `seconds`."""
        return self._db.first(self.WAS_LATE, _times(seconds)) is not None

    def note_late_server(self, seconds: float) -> bool:
        """Note that the server of the embeddings is late. Needs no transaction, and never waits for
        another writer. Returns False if that was noted in the last `seconds`, or cannot be written.
        """
        return self._db.run_at_once([self.NOTE_LATE], _times(seconds))

    def keep(self, ids: Iterable[int]) -> None:
        """Copy the embeddings of chunks, by chunks.id, to the spare ones."""
        if identity := self.identity():
            self.spare.keep(identity, ids)

    @abstractmethod
    def restore(self) -> None:
        """Give pending chunks the spare embeddings of their texts."""

    def activate(self, identity: Identity) -> None:
        """Replace the embeddings of all chunks with those of the next set, which has this
        identity.
        """
        self.spare.activate(identity)
        self.set_identity({key: value for key, value in identity.items() if key != "anew"})


def pending_chunks(rows: Iterable[tuple[Any, ...]]) -> list[Pending]:
    """Convert rows of id, content hash, heading path, content and items to chunks with the text to
    embed.
    """
    return [
        Pending(id, content_hash, embedded_text(path, content, items))
        for id, content_hash, path, content, items in rows
    ]


def _times(seconds: float) -> dict[str, float]:
    return {"now": time.time(), "seconds": seconds}
