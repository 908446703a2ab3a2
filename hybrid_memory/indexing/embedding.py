"""Give chunks their embeddings: those of one document, or those that are pending."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..embedding.identity import MISFIT, NOT_MIXED, conflict, identity_of
from ..embedding.protocol import Embedder
from ..storage.protocol import Storage
from ..storage.rows import Vectors
from ..storage.vector import FLOAT_BYTES, encode_embedding

BATCH = 128  # chunks embedded between two commits
SMALL_BATCH = 16  # the same where time is short
NEWEST = 2**63 - 1  # above every chunks.id


class Embedded(NamedTuple):
    """How many chunks got an embedding, and what went wrong, each problem once.

    `fits` is False if the embedder's vectors turned out not to fit the store's. `notes` tell what was done besides.
    """

    chunks: int
    problems: list[str]
    fits: bool = True
    notes: tuple[str, ...] = ()


class Made(NamedTuple):
    """What a model gave for texts that the store has no embedding of."""

    vectors: Vectors
    without: list[bytes]  # content hashes of the texts that the model was asked about and gave no vector for
    problem: str | None


def new_vectors(storage: Storage, embedder: Embedder, texts: Mapping[bytes, str], seconds: float | None = None) -> Made:
    """Ask the model about the texts (by content hash) that the store has no embedding of."""
    known = storage.embeddings.known(texts)
    missing = {content_hash: text for content_hash, text in texts.items() if content_hash not in known}
    if not missing:
        return Made({}, [], None)
    if problem := conflict(storage.embeddings.identity(), embedder):
        return Made({}, [], problem)
    return made(embedder, missing, seconds)


def made(embedder: Embedder, texts: Mapping[bytes, str], seconds: float | None = None) -> Made:
    """Ask the model about texts, by content hash."""
    vectors = embedder.embed_batch(list(texts.values()), seconds=seconds)
    found = {
        content_hash: (encode_embedding(vector), number in embedder.truncated)
        for number, (content_hash, vector) in enumerate(zip(texts, vectors, strict=True))
        if vector
    }
    return Made(found, [content_hash for content_hash in texts if content_hash not in found], embedder.problem)


def accepts(storage: Storage, embedder: Embedder, vectors: Vectors, fingerprint: str | None = None) -> bool:
    """Whether these vectors of the embedder fit the store, inside a transaction. The first ones give it its identity.

    `fingerprint` is the embedder's, if it is known; an older store that has none takes it over.
    """
    if not vectors:
        return True
    theirs = storage.embeddings.identity()
    if theirs and (conflict(theirs, embedder) or theirs["dims"] != dims_of(vectors)):
        return False
    if not theirs or (fingerprint and "fingerprint" not in theirs):
        identity = identity_of(embedder) | {"dims": dims_of(vectors)}
        storage.embeddings.set_identity(identity | ({"fingerprint": fingerprint} if fingerprint else {}))
    return True


def dims_of(vectors: Vectors) -> int:
    """The dimensions of the first of them."""
    return len(next(iter(vectors.values()))[0]) // FLOAT_BYTES


def mark_unembeddable(storage: Storage, embedder: Embedder, without: Sequence[bytes]) -> None:
    """Mark texts that the model gave no vector for, if it is one that never will. Inside a transaction."""
    if embedder.is_final and not conflict(storage.embeddings.identity(), embedder):
        storage.embeddings.mark_unembeddable(without)


def embed_pending(
    storage: Storage,
    embedder: Embedder,
    progress: Callable[[int], None] = lambda count: None,
    seconds: float | None = None,
) -> Embedded:
    """Embed the chunks that have no embedding, the newest first, in batches that are committed one by one.

    After `seconds`, if given, the rest stays pending. `progress` is called with the number of chunks of each batch. Nothing
    happens where the embedder's vectors do not fit the store's.
    """
    count, before, problems = 0, NEWEST, dict[str, None]()
    if not storage.embeddings.pending(before, 1, tried=not embedder.is_final):
        return Embedded(0, [])
    fingerprint = embedder.fingerprint()
    if is_another_model(storage, fingerprint):
        return Embedded(0, [NOT_MIXED], fits=False)
    size, deadline = BATCH if seconds is None else SMALL_BATCH, time.monotonic() + (seconds or 0)
    while batch := storage.embeddings.pending(before, size, tried=not embedder.is_final):
        left = None if seconds is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            break
        texts = {chunk.content_hash: chunk.text for chunk in batch}
        new = new_vectors(storage, embedder, texts, left)
        problems |= {new.problem: None} if new.problem else {}
        vectors = {**storage.embeddings.known(texts), **new.vectors}
        if not vectors and not embedder.is_final:
            break  # a server that embeds none of so many is down, or has another model
        with storage.transaction():
            if not accepts(storage, embedder, vectors, fingerprint):
                return Embedded(count, [*problems, MISFIT], fits=False)
            chunks = storage.embeddings.still_pending(batch)
            found = [(chunk.id, *vectors[chunk.content_hash]) for chunk in chunks if chunk.content_hash in vectors]
            storage.embeddings.put(found)
            mark_unembeddable(storage, embedder, new.without)
        count += len(found)
        before = batch[-1].id
        progress(len(batch))
    return Embedded(count, list(problems))


def is_another_model(storage: Storage, fingerprint: str | None) -> bool:
    """Whether the store's embeddings were made by another model of the same name."""
    theirs = (storage.embeddings.identity() or {}).get("fingerprint")
    return bool(theirs and fingerprint and theirs != fingerprint)
