"""Give chunks their embeddings: those of one document, those that are pending, or all anew by another model."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..embedding.identity import EMBEDDED_ANEW, MISFIT, NOT_MIXED, OTHER_DIMENSIONS, conflict, identity_of
from ..embedding.protocol import Embedder
from ..storage.protocol import Storage
from ..storage.rows import Vectors
from ..storage.vector import FLOAT_BYTES, encode_embedding

BATCH = 128  # chunks embedded between two commits
SMALL_BATCH = 16  # the same where time is short
NEWEST = 2**63 - 1  # above every chunks.id


class Embedded(NamedTuple):
    """How many chunks got an embedding, and what went wrong, each problem once."""

    chunks: int
    problems: list[str]


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
    vectors = embedder.embed_batch(list(missing.values()), seconds=seconds)
    found = {
        content_hash: (encode_embedding(vector), number in embedder.truncated)
        for number, (content_hash, vector) in enumerate(zip(missing, vectors, strict=True))
        if vector
    }
    return Made(found, [content_hash for content_hash in missing if content_hash not in found], embedder.problem)


def accepts(storage: Storage, embedder: Embedder, vectors: Vectors, fingerprint: str | None = None) -> bool:
    """Whether these vectors of the embedder fit the store, inside a transaction. The first ones give it its identity.

    `fingerprint` is the embedder's, if it is known; an older store that has none takes it over.
    """
    if not vectors:
        return True
    if not _fits(storage, embedder, vectors):
        return False
    theirs = storage.embeddings.identity()
    if not theirs or (fingerprint and "fingerprint" not in theirs):
        identity = identity_of(embedder) | {"dims": _dims(vectors)}
        storage.embeddings.set_identity(identity | ({"fingerprint": fingerprint} if fingerprint else {}))
    return True


def _fits(storage: Storage, embedder: Embedder, vectors: Vectors) -> bool:
    theirs = storage.embeddings.identity()
    return not vectors or not theirs or (conflict(theirs, embedder) is None and theirs["dims"] == _dims(vectors))


def _dims(vectors: Vectors) -> int:
    return len(next(iter(vectors.values()))[0]) // FLOAT_BYTES


def mark_unembeddable(storage: Storage, embedder: Embedder, without: Sequence[bytes]) -> None:
    """Mark texts that the model gave no vector for, if it is one that never will. Inside a transaction."""
    if embedder.is_final and not conflict(storage.embeddings.identity(), embedder):
        storage.embeddings.mark_unembeddable(without)


def embed_pending(
    storage: Storage,
    embedder: Embedder | None,
    progress: Callable[[int], None] = lambda count: None,
    seconds: float | None = None,
) -> Embedded:
    """Embed the chunks that have no embedding, the newest first, in batches that are committed one by one.

    After `seconds`, if given, the rest stays pending. Embeddings of another identity are discarded as soon as the embedder has
    made its first vector, but not by a call that has only seconds. `progress` is called with the number of chunks of each
    batch. Without an embedder nothing happens.
    """
    if embedder is None:
        return Embedded(0, [])
    ready, problem = switch_model(storage, embedder)
    count, before = 0, NEWEST
    problems = [problem] if problem else []
    if not ready or not storage.embeddings.pending(before, 1, tried=not embedder.is_final):
        return Embedded(0, problems)
    fingerprint = embedder.fingerprint()
    if is_another_model(storage, fingerprint):
        if seconds is not None:
            return Embedded(0, [NOT_MIXED])
        ready, problem = switch_model(storage, embedder, always=True)
        if not ready:  # its vectors must not stand beside those of the first model
            return Embedded(0, [problem or NOT_MIXED])
        problems.append(EMBEDDED_ANEW)
    size, deadline = BATCH if seconds is None else SMALL_BATCH, time.monotonic() + (seconds or 0)
    while batch := storage.embeddings.pending(before, size, tried=not embedder.is_final):
        left = None if seconds is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            break
        texts = {chunk.content_hash: chunk.text for chunk in batch}
        made = new_vectors(storage, embedder, texts, left)
        problems += [made.problem] if made.problem and made.problem not in problems else []
        if not _fits(storage, embedder, made.vectors) and seconds is None and OTHER_DIMENSIONS not in problems:
            ready, problem = switch_model(storage, embedder, always=True)
            if not ready:
                return Embedded(count, [*problems, problem or MISFIT])
            problems.append(OTHER_DIMENSIONS)
            before = NEWEST
            continue
        vectors = {**storage.embeddings.known(texts), **made.vectors}
        if not vectors and not embedder.is_final:
            break  # a server that embeds none of so many is down, or has another model
        with storage.transaction():
            if not accepts(storage, embedder, vectors, fingerprint):
                return Embedded(count, [*problems, MISFIT])
            chunks = storage.embeddings.still_pending(batch)
            found = [(chunk.id, *vectors[chunk.content_hash]) for chunk in chunks if chunk.content_hash in vectors]
            storage.embeddings.put(found)
            mark_unembeddable(storage, embedder, made.without)
        count += len(found)
        before = batch[-1].id
        progress(len(batch))
    return Embedded(count, problems)


def is_another_model(storage: Storage, fingerprint: str | None) -> bool:
    """Whether the store's embeddings were made by another model of the same name."""
    theirs = (storage.embeddings.identity() or {}).get("fingerprint")
    return bool(theirs and fingerprint and theirs != fingerprint)


def embed_all(storage: Storage, embedder: Embedder, progress: Callable[[int], None]) -> Embedded:
    """Discard all embeddings as soon as the embedder has embedded a probe, and make them anew."""
    ready, problem = switch_model(storage, embedder, always=True)
    return embed_pending(storage, embedder, progress) if ready else Embedded(0, [problem] if problem else [])


def switch_model(storage: Storage, embedder: Embedder, *, always: bool = False) -> tuple[bool, str | None]:
    """Discard the embeddings of another model as soon as this one has embedded a probe; with `always`, those of the same, too.

    Gives whether the embedder's vectors fit now, and if not, why.
    """
    if always or conflict(storage.embeddings.identity(), embedder):
        if not any(embedder.embed_batch(["probe"])):
            return False, embedder.problem
        with storage.transaction():
            if always or conflict(storage.embeddings.identity(), embedder):  # else another process did it meanwhile
                storage.embeddings.discard_all()
    return True, None
