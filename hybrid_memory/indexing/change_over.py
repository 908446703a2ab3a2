"""Keep all chunks embedded, by the model that the settings choose.

Where another model made the store's embeddings, a second set grows beside them. They answer until that set is complete and takes
their place in one transaction. A run that is killed, or loses its server, leaves the set for the next run to go on with.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from ..embedding.identity import MISFIT, conflict, identity_of, name_of
from ..embedding.protocol import Embedder
from ..storage.protocol import Storage
from ..storage.rows import Identity
from .embedding import BATCH, NEWEST, SMALL_BATCH, Embedded, dims_of, embed_pending, made

PROBE = {b"": "probe"}
MOST_REFUSED = 0.01  # of all chunks: a set that lacks fewer, because the model refuses their texts, counts as complete

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
    """Embed what has no embedding; if `wanted` is not what made the store's embeddings, or if `anew`, then all by `wanted`.

    `fitting` gives the embedder that made the store's, for chunks that are new while these answer. `on_total` gets the number of
    chunks that are to be embedded, and gives what is called with the size of each batch. After `seconds` the rest is left.
    """
    spare, identity, started = storage.embeddings.spare, storage.embeddings.identity(), time.monotonic()
    following = spare.next_identity()
    goes_on = following is not None and conflict(following, wanted) is None
    first = Embedded(0, [])
    if identity is None or not (anew or goes_on or conflict(identity, wanted)):
        if following:  # the settings were changed back
            with storage.transaction():
                spare.drop_next()
        first = embed_pending(storage, wanted, on_total(storage.embeddings.count_pending()), seconds)
        if first.fits or seconds is not None:
            return first
    elif not anew and (old := fitting()) and not conflict(identity, old):
        first = embed_pending(storage, old, on_total(storage.embeddings.count_pending()), seconds)
    left = None if seconds is None else seconds - (time.monotonic() - started)
    second = change_over(storage, wanted, on_total, left, anew=anew)
    problems = second.problems if second.fits else [*first.problems, *second.problems]
    return Embedded(first.chunks + second.chunks, list(dict.fromkeys(problems)), second.fits, second.notes)


def change_over(
    storage: Storage, embedder: Embedder, on_total: OnTotal, seconds: float | None = None, *, anew: bool = False
) -> Embedded:
    """Make all embeddings by this embedder, and then let them take the place of the store's.

    `fits` of the answer says whether they did. Fewer than MOST_REFUSED that the model refuses are pending then.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    following = _following(storage, embedder, deadline, anew=anew)
    if following is None:
        return Embedded(0, [embedder.problem] if embedder.problem else [], fits=False)
    spare = storage.embeddings.spare
    count, problems, refused = 0, dict[str, None](), set[bytes]()
    progress = on_total(spare.count_lacking(following))
    while not _taken_over(storage, following, refused):
        before = NEWEST
        while batch := spare.lacking(following, before, BATCH if deadline is None else SMALL_BATCH):
            before = batch[-1].id
            texts = {chunk.content_hash: chunk.text for chunk in batch if chunk.content_hash not in refused}
            if not texts:
                continue
            if deadline is not None and time.monotonic() >= deadline:
                return _unfinished(storage, following, count, problems)
            new = made(embedder, texts, _left(deadline))
            problems |= {new.problem: None} if new.problem else {}
            if new.vectors and dims_of(new.vectors) != following["dims"]:
                return _unfinished(storage, following, count, problems | {MISFIT: None})
            if not (new.vectors or embedder.is_final or made(embedder, PROBE, _left(deadline)).vectors):
                return _unfinished(storage, following, count, problems)  # its server is down
            with storage.transaction():
                if spare.next_identity() != following:  # another process has begun another one, or has finished this one
                    return _unfinished(storage, following, count, problems)
                spare.put(following, new.vectors | (dict.fromkeys(new.without, (b"", False)) if embedder.is_final else {}))
            refused.update(() if embedder.is_final else new.without)
            count += sum(chunk.content_hash in new.vectors for chunk in batch)
            progress(len(batch))
        if len(refused) > MOST_REFUSED * storage.chunks.count():
            return _unfinished(storage, following, count, problems)
    note = f"all chunks have embeddings by {name_of(following)} now"
    return Embedded(count, list(problems), notes=(note,))


def building(storage: Storage) -> dict[str, Any] | None:
    """What `stats` tells of a set of embeddings that is not complete: the model, and how many chunks it has, of how many."""
    following = storage.embeddings.spare.next_identity()
    if following is None:
        return None
    total = storage.chunks.count()
    return {"model": name_of(following), "done": total - storage.embeddings.spare.count_lacking(following), "of": total}


def _following(storage: Storage, embedder: Embedder, deadline: float | None, *, anew: bool) -> Identity | None:
    """The identity of the set that this embedder goes on with, or begins; None if it gives no vector."""
    probe = made(embedder, PROBE, _left(deadline))
    if not probe.vectors:
        return None
    fingerprint = embedder.fingerprint()
    identity = identity_of(embedder) | {"dims": dims_of(probe.vectors)} | ({"fingerprint": fingerprint} if fingerprint else {})
    with storage.transaction():
        known = storage.embeddings.spare.next_identity()
        if known and _model(known) == identity:
            return known
        if anew:
            identity["anew"] = time.time()  # or what left the store before would count as made
        storage.embeddings.spare.begin_next(identity)
    return identity


def _model(identity: Mapping[str, Any]) -> Identity:
    return {key: value for key, value in identity.items() if key != "anew"}


def _taken_over(storage: Storage, following: Identity, refused: set[bytes]) -> bool:
    """Whether the set was complete and has taken the place of the store's. Looked at under the lock: others store texts, too."""
    spare, batch = storage.embeddings.spare, -1 if refused else 1
    if any(chunk.content_hash not in refused for chunk in spare.lacking(following, NEWEST, batch)):
        return False
    with storage.transaction():
        complete = all(chunk.content_hash in refused for chunk in spare.lacking(following, NEWEST, batch))
        if complete and spare.next_identity() == following:
            storage.embeddings.take_over(following)
    return complete


def _unfinished(storage: Storage, following: Identity, count: int, problems: Mapping[str, None]) -> Embedded:
    state = building(storage) or {"done": 0, "of": 0}
    told = (
        f"{state['done']:,} of {state['of']:,} chunks have an embedding by {name_of(following)}; the embeddings that were there "
        "answer until all have, and `hybrid-memory update` goes on"
    )
    return Embedded(count, [*problems, told], fits=False)


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(deadline - time.monotonic(), 0.0)
