"""Embedding the chunks that have no embedding yet, and changing a store over to another model.

If another model made the store's embeddings, a second set is built beside them. The old embeddings
are used until the new set is complete and replaces them in one transaction. If a run is killed or
loses its server, the next run continues the set.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..embedding.identity import MISFIT, NOT_MIXED, conflict, identity_of, is_namesake, name_of
from ..embedding.interface import Embedder
from ..errors import Message, WayOut
from ..storage.encoding import FLOAT_BYTES, encode_embedding
from ..storage.interface import Storage
from ..storage.rows import Identity, Vectors

BATCH = 128  # chunks embedded between two commits
SMALL_BATCH = 16  # the same with a time limit
NEWEST = 2**63 - 1  # above every chunks.id


class Embedded(NamedTuple):
    """The number of chunks that got an embedding, and the problems, without duplicates.

    `fits` is False if the embedder's vectors do not fit the store. `notes` report what else was
    done.
    """

    chunks: int
    problems: list[str]
    fits: bool = True
    notes: tuple[str, ...] = ()


class NewVectors(NamedTuple):
    """The vectors from a model for texts without an embedding in the store."""

    vectors: Vectors
    # Content hashes of the texts for which the model returned no vector
    not_embedded: list[bytes]
    problem: str | None


class TimeLimit:
    """A limit in seconds from now; None for no limit."""

    def __init__(self, seconds: float | None) -> None:
        self._end: float | None = None
        self.batch_size = BATCH
        if seconds is not None:
            self._end = time.monotonic() + seconds
            self.batch_size = SMALL_BATCH

    @property
    def left(self) -> float | None:
        """The remaining seconds, at least 0; None without a limit."""
        if self._end is None:
            return None
        return max(self._end - time.monotonic(), 0.0)


def new_vectors(
    storage: Storage, embedder: Embedder, texts: Mapping[bytes, str], seconds: float | None = None
) -> NewVectors:
    """Embed the texts, by content hash, that have no embedding in the store."""
    known = storage.embeddings.known(texts)
    missing = {
        content_hash: text for content_hash, text in texts.items() if content_hash not in known
    }
    if not missing:
        return NewVectors({}, [], None)
    problem = conflict(storage.embeddings.identity(), embedder)
    if problem:
        return NewVectors({}, [], problem)
    return make_vectors(embedder, missing, seconds)


def make_vectors(
    embedder: Embedder, texts: Mapping[bytes, str], seconds: float | None = None
) -> NewVectors:
    """Embed texts, by content hash."""
    vectors = embedder.embed_batch(list(texts.values()), seconds=seconds)
    encoded: Vectors = {}
    not_embedded = []
    for number, (content_hash, vector) in enumerate(zip(texts, vectors, strict=True)):
        if vector:
            encoded[content_hash] = encode_embedding(vector), number in embedder.truncated
        else:
            not_embedded.append(content_hash)
    return NewVectors(encoded, not_embedded, embedder.problem)


def accepts(
    storage: Storage, embedder: Embedder, vectors: Vectors, fingerprint: str | None = None
) -> bool:
    """Whether these vectors of the embedder fit the store, inside a transaction. The first vectors
    define the store's identity.

    `fingerprint` is the embedder's, if it is known; an older store without one adopts it.
    """
    if not vectors:
        return True
    theirs = storage.embeddings.identity()
    if theirs and (conflict(theirs, embedder) or theirs["dims"] != dims_of(vectors)):
        return False
    if not theirs or (fingerprint and "fingerprint" not in theirs):
        storage.embeddings.set_identity(_identity(embedder, vectors, fingerprint))
    return True


def _identity(embedder: Embedder, vectors: Vectors, fingerprint: str | None) -> Identity:
    identity = identity_of(embedder) | {"dims": dims_of(vectors)}
    if fingerprint:
        identity["fingerprint"] = fingerprint
    return identity


def dims_of(vectors: Vectors) -> int:
    """The dimensions of the first vector."""
    return len(next(iter(vectors.values()))[0]) // FLOAT_BYTES


def mark_unembeddable(storage: Storage, embedder: Embedder, not_embedded: Sequence[bytes]) -> None:
    """Mark the texts without a vector if this model will never embed them. Inside a transaction."""
    if embedder.is_final and not conflict(storage.embeddings.identity(), embedder):
        storage.embeddings.mark_unembeddable(not_embedded)


def embed_pending(
    storage: Storage,
    embedder: Embedder,
    progress: Callable[[int], None] = lambda count: None,
    seconds: float | None = None,
) -> Embedded:
    """Embed the chunks without an embedding, the newest first, in batches that are committed one by
    one.

    After `seconds`, if given, the rest stays pending. Without it, the model is checked against the
    store's even if nothing is pending. `progress` is called with the number of chunks of each
    batch. Does nothing if the embedder's vectors do not fit the store.
    """
    may_ask_again = not embedder.is_final
    if seconds is not None and not storage.embeddings.pending(NEWEST, 1, tried=may_ask_again):
        return Embedded(0, [])
    fingerprint = embedder.fingerprint()
    if is_another_model(storage, fingerprint):
        return Embedded(0, [NOT_MIXED], fits=False)
    limit = TimeLimit(seconds)
    count = 0
    before = NEWEST
    problems: dict[str, None] = {}
    if embedder.is_final and embedder.problem:  # why no better model embeds
        problems[embedder.problem] = None
    while batch := storage.embeddings.pending(before, limit.batch_size, tried=may_ask_again):
        seconds_left = limit.left
        if seconds_left == 0.0:
            break
        texts = {chunk.content_hash: chunk.text for chunk in batch}
        new = new_vectors(storage, embedder, texts, seconds_left)
        if new.problem:
            problems[new.problem] = None
        vectors = {**storage.embeddings.known(texts), **new.vectors}
        if not vectors and may_ask_again:
            break  # a server that embeds no text of a whole batch is down, or has another model
        with storage.transaction():
            if not accepts(storage, embedder, vectors, fingerprint):
                return Embedded(count, [*problems, MISFIT], fits=False)
            rows = [
                (chunk.id, *vectors[chunk.content_hash])
                for chunk in storage.embeddings.still_pending(batch)
                if chunk.content_hash in vectors
            ]
            storage.embeddings.put(rows)
            mark_unembeddable(storage, embedder, new.not_embedded)
        count += len(rows)
        before = batch[-1].id
        progress(len(batch))
    return Embedded(count, list(problems))


def is_another_model(storage: Storage, fingerprint: str | None) -> bool:
    """Whether the store's embeddings were made by another model of the same name."""
    return is_namesake(storage.embeddings.identity(), fingerprint)


PROBE = {b"": "probe"}
# Share of all chunks whose texts the model may refuse; with more, a set is not complete
MOST_REFUSED = 0.01

OnTotal = Callable[[int], Callable[[int], None]]


def embed(
    storage: Storage,
    wanted: Embedder,
    fitting: Callable[[], Embedder | None],
    *,
    on_total: OnTotal = lambda total: lambda count: None,
    seconds: float | None = None,
    anew: bool = False,
) -> Embedded:
    """Embed the chunks without an embedding; if `wanted` differs from the model of the store's
    embeddings, or with `anew`, embed all chunks by `wanted`.

    `fitting` returns the embedder that made the store's embeddings, for new chunks as long as these
    are used. `on_total` is called with the number of chunks to embed, and returns a function that
    is called with the size of each batch. After `seconds`, the rest is left.
    """
    embeddings = storage.embeddings
    limit = TimeLimit(seconds)
    identity = embeddings.identity()
    next_identity = embeddings.spare.next_identity()
    continues = next_identity is not None and conflict(next_identity, wanted) is None
    first = Embedded(0, [])
    if identity is None or not (anew or continues or conflict(identity, wanted)):
        if next_identity:  # the settings were changed back
            with storage.transaction():
                embeddings.spare.drop_next()
        first = embed_pending(storage, wanted, on_total(embeddings.count_pending()), seconds)
        if first.fits or seconds is not None:
            return first
    elif not anew:
        old = fitting()
        if old and not conflict(identity, old):
            first = embed_pending(storage, old, on_total(embeddings.count_pending()), seconds)
    second = switch_model(storage, wanted, on_total, limit, anew=anew)
    problems = second.problems
    if not second.fits:
        problems = list(dict.fromkeys([*first.problems, *problems]))
    return Embedded(first.chunks + second.chunks, problems, second.fits, second.notes)


def switch_model(
    storage: Storage, embedder: Embedder, on_total: OnTotal, limit: TimeLimit, *, anew: bool = False
) -> Embedded:
    """Make all embeddings by this embedder, then replace the store's embeddings by them.

    `fits` of the result is true if they were replaced. Chunks that the model refuses, at most
    MOST_REFUSED of all, are pending then.
    """
    identity = _begin_or_continue(storage, embedder, limit, anew=anew)
    if identity is None:
        return Embedded(0, [embedder.problem] if embedder.problem else [], fits=False)
    new_set = _NewSet(storage, embedder, identity, limit)
    progress = on_total(storage.embeddings.spare.count_lacking(identity))
    while not _activate_if_complete(storage, identity, new_set.refused):
        if not new_set.fill(progress):
            return new_set.unfinished()
    note = f"all chunks now have embeddings by {name_of(identity)}"
    return Embedded(new_set.count, list(new_set.problems), notes=(note,))


class _NewSet:
    """A set of embeddings that is built beside the store's."""

    def __init__(
        self, storage: Storage, embedder: Embedder, identity: Identity, limit: TimeLimit
    ) -> None:
        self.count = 0  # chunks embedded in this run
        self.problems: dict[str, None] = {}
        self.refused: set[bytes] = set()  # content hashes of texts that the model refuses
        self._storage = storage
        self._embedder = embedder
        self._identity = identity
        self._limit = limit

    def fill(self, progress: Callable[[int], None]) -> bool:
        """Embed the chunks that the set lacks; return whether it may be complete now."""
        before = NEWEST
        spare = self._storage.embeddings.spare
        while batch := spare.lacking(self._identity, before, self._limit.batch_size):
            before = batch[-1].id
            texts = {
                chunk.content_hash: chunk.text
                for chunk in batch
                if chunk.content_hash not in self.refused
            }
            if not texts:
                continue
            new = self._vectors(texts)
            if new is None or not self._put(new):
                return False
            self.count += sum(chunk.content_hash in new.vectors for chunk in batch)
            progress(len(batch))
        return len(self.refused) <= MOST_REFUSED * self._storage.chunks.count()

    def _vectors(self, texts: Mapping[bytes, str]) -> NewVectors | None:
        """Embed texts; None if time is up, the server is down, or the vectors do not fit."""
        seconds_left = self._limit.left
        if seconds_left == 0.0:
            return None
        new = make_vectors(self._embedder, texts, seconds_left)
        if new.problem:
            self.problems[new.problem] = None
        if new.vectors and dims_of(new.vectors) != self._identity["dims"]:
            self.problems[MISFIT] = None
            return None
        if new.vectors or self._embedder.is_final or _answers(self._embedder, self._limit):
            return new
        return None

    def _put(self, new: NewVectors) -> bool:
        """Store the vectors, unless another process has begun another set or finished this one."""
        vectors = dict(new.vectors)
        if self._embedder.is_final:  # it will never embed these texts
            vectors |= dict.fromkeys(new.not_embedded, (b"", False))
        else:
            self.refused.update(new.not_embedded)
        spare = self._storage.embeddings.spare
        with self._storage.transaction():
            if spare.next_identity() != self._identity:
                return False
            spare.put(self._identity, vectors)
        return True

    def unfinished(self) -> Embedded:
        state = building(self._storage) or {"done": 0, "of": 0}
        name = name_of(self._identity)
        message = Message(
            f"{state['done']:,} of {state['of']:,} chunks have an embedding by {name}; "
            "searches use the old embeddings until all have one",
            WayOut("update", "update", "continues"),
            ", and ",
        )
        return Embedded(self.count, [*self.problems, message], fits=False)


def _answers(embedder: Embedder, limit: TimeLimit) -> bool:
    """Whether the server embeds a text that no model refuses."""
    return bool(make_vectors(embedder, PROBE, limit.left).vectors)


def building(storage: Storage) -> dict[str, Any] | None:
    """The unfinished set of embeddings for `stats`: the model, and the number of chunks that have
    an embedding, and of all.
    """
    identity = storage.embeddings.spare.next_identity()
    if identity is None:
        return None
    total = storage.chunks.count()
    return {
        "model": name_of(identity),
        "done": total - storage.embeddings.spare.count_lacking(identity),
        "of": total,
    }


def _begin_or_continue(
    storage: Storage, embedder: Embedder, limit: TimeLimit, *, anew: bool
) -> Identity | None:
    """The identity of the set that this embedder continues or begins; None if it returns no vector."""
    probe = make_vectors(embedder, PROBE, limit.left)
    if not probe.vectors:
        return None
    identity = _identity(embedder, probe.vectors, embedder.fingerprint())
    with storage.transaction():
        known = storage.embeddings.spare.next_identity()
        if known and _model(known) == identity:
            return known
        if anew:
            identity["anew"] = (
                time.time()
            )  # otherwise embeddings of deleted texts would count as done
        storage.embeddings.spare.begin_next(identity)
    return identity


def _model(identity: Mapping[str, Any]) -> Identity:
    return {key: value for key, value in identity.items() if key != "anew"}


def _activate_if_complete(storage: Storage, identity: Identity, refused: set[bytes]) -> bool:
    """Replace the store's embeddings by a complete set; return whether it was complete. This is
    checked again under the lock, because other processes may store texts.
    """
    if not _is_complete(storage, identity, refused):
        return False
    with storage.transaction():
        is_complete = _is_complete(storage, identity, refused)
        if is_complete and storage.embeddings.spare.next_identity() == identity:
            storage.embeddings.activate(identity)
    return is_complete


def _is_complete(storage: Storage, identity: Identity, refused: set[bytes]) -> bool:
    count = -1 if refused else 1  # all chunks without an embedding, or only the first
    lacking = storage.embeddings.spare.lacking(identity, NEWEST, count)
    return all(chunk.content_hash in refused for chunk in lacking)
