"""What is written to a store beside what an ingest writes: one document, a deletion, the embeddings
of what is pending.

Where another model made the store's embeddings, a second set grows beside them. They answer until
that set is complete and takes their place in one transaction. A run that is killed, or loses its
server, leaves the set for the next run to go on with.
"""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from shlex import quote
from typing import Any, NamedTuple

from .documents.document import Document, Prepared, date_keys_of
from .documents.files import Wanted
from .embedding.protocol import MISFIT, NOT_MIXED, Embedder, conflict, identity_of, name_of
from .errors import Message, SourceError, WayOut
from .storage.encoding import FLOAT_BYTES, encode_embedding
from .storage.protocol import Storage
from .storage.rows import Identity, Vectors
from .storage.source import Source, StoredDocument, is_in, real_path
from .text.dates import document_date

BATCH = 128  # chunks embedded between two commits
SMALL_BATCH = 16  # the same where time is short
NEWEST = 2**63 - 1  # above every chunks.id


class Embedded(NamedTuple):
    """How many chunks got an embedding, and what went wrong, each problem once.

    `fits` is False if the embedder's vectors turned out not to fit the store's. `notes` tell what
    was done besides.
    """

    chunks: int
    problems: list[str]
    fits: bool = True
    notes: tuple[str, ...] = ()


class NewVectors(NamedTuple):
    """What a model gave for texts that the store has no embedding of."""

    vectors: Vectors
    # Content hashes of the texts that the model was asked about and gave no vector for
    not_embedded: list[bytes]
    problem: str | None


class TimeLimit:
    """So many seconds from now on; None: as long as it takes."""

    def __init__(self, seconds: float | None) -> None:
        self._end: float | None = None
        self.batch_size = BATCH
        if seconds is not None:
            self._end = time.monotonic() + seconds
            self.batch_size = SMALL_BATCH

    @property
    def left(self) -> float | None:
        """The seconds that are left, at least 0; None without a limit."""
        if self._end is None:
            return None
        return max(self._end - time.monotonic(), 0.0)


def new_vectors(
    storage: Storage, embedder: Embedder, texts: Mapping[bytes, str], seconds: float | None = None
) -> NewVectors:
    """Ask the model about the texts (by content hash) that the store has no embedding of."""
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
    """Ask the model about texts, by content hash."""
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
    """Return whether these vectors of the embedder fit the store, inside a transaction. The first
    ones give it its identity.

    `fingerprint` is the embedder's, if it is known; an older store that has none takes it over.
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
    """Return the dimensions of the first of them."""
    return len(next(iter(vectors.values()))[0]) // FLOAT_BYTES


def mark_unembeddable(storage: Storage, embedder: Embedder, not_embedded: Sequence[bytes]) -> None:
    """Mark texts that the model gave no vector for, if it is one that never will. Inside a
    transaction.
    """
    if embedder.is_final and not conflict(storage.embeddings.identity(), embedder):
        storage.embeddings.mark_unembeddable(not_embedded)


def embed_pending(
    storage: Storage,
    embedder: Embedder,
    progress: Callable[[int], None] = lambda count: None,
    seconds: float | None = None,
) -> Embedded:
    """Embed the chunks that have no embedding, the newest first, in batches that are committed one
    by one.

    After `seconds`, if given, the rest stays pending; without it, the model is asked whether it is
    still the one of the store even where nothing is. `progress` is called with the number of
    chunks of each batch. Nothing happens where the embedder's vectors do not fit the store's.
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
            break  # a server that embeds none of so many is down, or has another model
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
    """Return whether the store's embeddings were made by another model of the same name."""
    theirs = (storage.embeddings.identity() or {}).get("fingerprint")
    return bool(theirs and fingerprint and theirs != fingerprint)


PROBE = {b"": "probe"}
# Of all chunks: a set that lacks fewer, because the model refuses their texts, counts as complete
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
    """Embed what has no embedding; if `wanted` is not what made the store's embeddings, or if
    `anew`, then all by `wanted`.

    `fitting` gives the embedder that made the store's, for chunks that are new while these answer.
    `on_total` gets the number of chunks that are to be embedded, and gives what is called with the
    size of each batch. After `seconds` the rest is left.
    """
    embeddings = storage.embeddings
    limit = TimeLimit(seconds)
    identity = embeddings.identity()
    following = embeddings.spare.next_identity()
    goes_on = following is not None and conflict(following, wanted) is None
    first = Embedded(0, [])
    if identity is None or not (anew or goes_on or conflict(identity, wanted)):
        if following:  # the settings were changed back
            with storage.transaction():
                embeddings.spare.drop_next()
        first = embed_pending(storage, wanted, on_total(embeddings.count_pending()), seconds)
        if first.fits or seconds is not None:
            return first
    elif not anew:
        old = fitting()
        if old and not conflict(identity, old):
            first = embed_pending(storage, old, on_total(embeddings.count_pending()), seconds)
    second = change_over(storage, wanted, on_total, limit, anew=anew)
    problems = second.problems
    if not second.fits:
        problems = list(dict.fromkeys([*first.problems, *problems]))
    return Embedded(first.chunks + second.chunks, problems, second.fits, second.notes)


def change_over(
    storage: Storage, embedder: Embedder, on_total: OnTotal, limit: TimeLimit, *, anew: bool = False
) -> Embedded:
    """Make all embeddings by this embedder, and then let them take the place of the store's.

    `fits` of the answer says whether they did. Fewer than MOST_REFUSED that the model refuses are
    pending then.
    """
    following = _following(storage, embedder, limit, anew=anew)
    if following is None:
        problems_of_probe = [embedder.problem] if embedder.problem else []
        return Embedded(0, problems_of_probe, fits=False)
    spare = storage.embeddings.spare
    count = 0
    problems: dict[str, None] = {}
    refused: set[bytes] = set()
    progress = on_total(spare.count_lacking(following))
    while not _taken_over(storage, following, refused):
        before = NEWEST
        while batch := spare.lacking(following, before, limit.batch_size):
            before = batch[-1].id
            texts = {
                chunk.content_hash: chunk.text
                for chunk in batch
                if chunk.content_hash not in refused
            }
            if not texts:
                continue
            seconds_left = limit.left
            if seconds_left == 0.0:
                return _unfinished(storage, following, count, problems)
            new = make_vectors(embedder, texts, seconds_left)
            if new.problem:
                problems[new.problem] = None
            if new.vectors and dims_of(new.vectors) != following["dims"]:
                problems[MISFIT] = None
                return _unfinished(storage, following, count, problems)
            if not (new.vectors or embedder.is_final or _answers(embedder, limit)):
                return _unfinished(storage, following, count, problems)
            vectors = dict(new.vectors)
            if embedder.is_final:  # it has none for these texts, and never will
                vectors |= dict.fromkeys(new.not_embedded, (b"", False))
            else:
                refused.update(new.not_embedded)
            with storage.transaction():
                # Another process may have begun another set, or have finished this one.
                if spare.next_identity() != following:
                    return _unfinished(storage, following, count, problems)
                spare.put(following, vectors)
            count += sum(chunk.content_hash in new.vectors for chunk in batch)
            progress(len(batch))
        if len(refused) > MOST_REFUSED * storage.chunks.count():
            return _unfinished(storage, following, count, problems)
    note = f"all chunks have embeddings by {name_of(following)} now"
    return Embedded(count, list(problems), notes=(note,))


def _answers(embedder: Embedder, limit: TimeLimit) -> bool:
    """Return whether the server embeds a text that no model refuses."""
    return bool(make_vectors(embedder, PROBE, limit.left).vectors)


def building(storage: Storage) -> dict[str, Any] | None:
    """Return what `stats` tells of a set of embeddings that is not complete: the model, and how
    many chunks it has, of how many.
    """
    following = storage.embeddings.spare.next_identity()
    if following is None:
        return None
    total = storage.chunks.count()
    return {
        "model": name_of(following),
        "done": total - storage.embeddings.spare.count_lacking(following),
        "of": total,
    }


def _following(
    storage: Storage, embedder: Embedder, limit: TimeLimit, *, anew: bool
) -> Identity | None:
    """Return the identity of the set that this embedder goes on with, or begins; None if it gives
    no vector.
    """
    probe = make_vectors(embedder, PROBE, limit.left)
    if not probe.vectors:
        return None
    identity = _identity(embedder, probe.vectors, embedder.fingerprint())
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
    """Return whether the set was complete and has taken the place of the store's. Looked at under
    the lock: others store texts, too.
    """
    if not _is_complete(storage, following, refused):
        return False
    with storage.transaction():
        complete = _is_complete(storage, following, refused)
        spare = storage.embeddings.spare
        if complete and spare.next_identity() == following:
            storage.embeddings.take_over(following)
    return complete


def _is_complete(storage: Storage, following: Identity, refused: set[bytes]) -> bool:
    count = -1 if refused else 1  # all that lack an embedding, or the first one
    lacking = storage.embeddings.spare.lacking(following, NEWEST, count)
    return all(chunk.content_hash in refused for chunk in lacking)


def _unfinished(
    storage: Storage, following: Identity, count: int, problems: Mapping[str, None]
) -> Embedded:
    state = building(storage) or {"done": 0, "of": 0}
    told = Message(
        f"{state['done']:,} of {state['of']:,} chunks have an embedding by {name_of(following)}; "
        "the embeddings that were there answer until all have",
        WayOut("update", "update", "goes on"),
        ", and ",
    )
    return Embedded(count, [*problems, told], fits=False)


class StoredText(NamedTuple):
    """A text that was stored without a file, and the metadata that were given with it."""

    content: str
    metadata: Mapping[str, Any]


class OvertakenError(Exception):
    """Another process has stored the same document since it was read."""


def stored_text(storage: Storage, doc_id: str) -> StoredText | None:
    """Return the text of this id; None if there is none, or if it is a file's document."""
    # A refresh that finds no change needs no parser.
    from .documents.front_matter import front_matter

    if storage.catalog.by_id(doc_id) is None:
        return None
    row = storage.catalog.document(doc_id)
    if row.path is not None or row.content is None:
        return None
    of_text = front_matter(row.content).metadata
    metadata = storage.catalog.outline(doc_id)["metadata"]
    given = {key: value for key, value in metadata.items() if of_text.get(key) != value}
    return StoredText(row.content, given)


def revised(
    document: Document, before: StoredText | None, *, append: bool, keeps_metadata: bool
) -> Document:
    """Return what is to be stored of a document that perhaps is there already."""
    if before is None:
        return document
    if keeps_metadata:
        document = document._replace(metadata={**before.metadata, **document.metadata})
    if append and before.content.strip():
        document = document._replace(text=f"{before.content.rstrip()}\n\n{document.text}")
    return document


def put_document(
    storage: Storage,
    embedder: Embedder | None,
    prepared: Prepared,
    source: Source | None = None,
    *,
    follows: StoredText | None = None,
) -> list[str]:
    """Write a document with its embeddings, which are computed before the write lock is taken.
    Gives what went wrong.

    `source` is the file that it came from, which is remembered; else the document replaces the text
    that it `follows`. Raises OvertakenError if another text is there, SourceError for the id of
    another file's document, which would no longer be searched, and for a file that is in the store
    already, with another id or as part of a folder.
    """
    new = NewVectors({}, [], None)
    fingerprint = None
    if embedder:
        new = new_vectors(storage, embedder, prepared.texts)
        fingerprint = embedder.fingerprint() if new.vectors else None
    if is_another_model(storage, fingerprint):
        new = NewVectors({}, [], NOT_MIXED)
    problems = []
    if new.problem:
        problems.append(new.problem)
    with storage.transaction():
        _make_room(storage, prepared.row["doc_id"], source)
        if source is None and stored_text(storage, prepared.row["doc_id"]) != follows:
            raise OvertakenError
        if source is None and prepared.row["date"] is None:
            day = _stored_on(storage, prepared.row)
            prepared = prepared._replace(row=prepared.row | {"date": day})
        vectors = new.vectors
        if embedder and not accepts(storage, embedder, vectors, fingerprint):
            vectors = {}
            problems.append(MISFIT)
        storage.documents.put(prepared, vectors)
        if source:
            storage.sources.remember(source)
        if embedder:
            mark_unembeddable(storage, embedder, new.not_embedded)
    return problems


def put_again(storage: Storage, prepared: Prepared, *, follows: StoredText) -> None:
    """Write a text without a file that is only read and cut anew, with the embeddings that are
    known of its chunks. It is as old as before.

    Raises OvertakenError if another process has changed or removed the text meanwhile.
    """
    doc_id = prepared.row["doc_id"]
    with storage.transaction():
        if stored_text(storage, doc_id) != follows:
            raise OvertakenError
        if prepared.row["date"] is None:
            day = _stored_before(storage, prepared)
            prepared = prepared._replace(row=prepared.row | {"date": day})
        storage.documents.put_again(prepared)


def _stored_before(storage: Storage, prepared: Prepared) -> str:
    """Return the day on which a text that says no date was stored.

    Its date so far is that day, unless a key gave it that counts no longer.
    """
    row = prepared.row
    known = storage.documents.several([row["doc_id"]])[row["doc_id"]]
    day = storage.catalog.document(row["doc_id"]).date
    keys = date_keys_of(known.chunking)
    said = document_date(row["doc_id"], json.loads(row["metadata"]), prepared.links.titles, keys)
    if day is None or said is not None:
        stored = datetime.fromisoformat(storage.catalog.entry(row["doc_id"])["modified"])
        day = stored.astimezone().date().isoformat()
    return day


def _stored_on(storage: Storage, row: Mapping[str, Any]) -> str:
    """Return the day on which a text that has no file was stored as it is: today, or the day that
    it has already.
    """
    if storage.catalog.by_id(row["doc_id"]):
        before = storage.catalog.document(row["doc_id"])
        if before.path is None and before.content == row["content"] and before.date:
            return before.date
    return date.today().isoformat()


def _make_room(storage: Storage, doc_id: str, source: Source | None) -> None:
    """Forget the file that the document of this id came from until now. Raises SourceError if the
    document must stay.
    """
    known = storage.documents.get(doc_id)
    owner = None
    if known and known.path:
        owner = next(iter(_files_of(storage, doc_id, known.path)), None)
    if source:
        for other in storage.documents.from_path(source.path):
            if not owner or other.doc_id != doc_id:
                delete = f"`hybrid-memory delete --doc-id {quote(other.doc_id)}`"
                current = "`hybrid-memory update` keeps it current"
                raise SourceError(
                    f"{source.path} is in the memory as {other.doc_id!r}; {current}, and {delete} frees it"
                )
    if known and known.path and not (source and owner):
        raise SourceError(
            f"{doc_id!r} is the document of {known.path}; write to that file, or give the text another id"
        )
    if owner:
        storage.sources.forget(owner)


class Deleted(NamedTuple):
    """What was deleted. `coming_back` is a file that still exists, so that the next ingest of its
    folder takes it in again.
    """

    documents: int
    chunks: int
    coming_back: str | None = None
    sources: int = 0  # that are not looked at any more

    @property
    def warning(self) -> str | None:
        """What the user should know, in a line."""
        if self.coming_back is None:
            return None
        return (
            f"{self.coming_back} is still there, and the next ingest of its folder takes it in again "
            "unless you --exclude it"
        )


def delete_document(storage: Storage, doc_id: str) -> Deleted:
    """Remove a document. Nothing happens if there is none of this id."""
    with storage.transaction():
        document = storage.documents.get(doc_id)
        if document is None:
            return Deleted(0, 0)
        files = []
        if document.path:
            files = _files_of(storage, doc_id, document.path)
        return _delete(storage, [document], files)


def _files_of(storage: Storage, doc_id: str, path: str) -> list[Source]:
    """Return the single files among the sources whose document has this id and path."""
    return [
        source
        for source in storage.sources.all(path=path)
        if source.is_file and source.has(doc_id, path)
    ]


def delete_collection(storage: Storage, collection: str) -> Deleted:
    """Remove all documents of a collection that came from files, and forget its folders and files."""
    with storage.transaction():
        documents = storage.documents.of_collection(collection).values()
        return _delete(storage, list(documents), storage.sources.all(collection))


def delete_path(storage: Storage, path: str) -> Deleted:
    """Remove all documents that came from this file or from below this folder, even if it no longer
    exists.

    Raises SourceError for an empty path.
    """
    path = real_path(path)
    with storage.transaction():
        sources = [source for source in storage.sources.all() if is_in(source.path, path)]
        return _delete(storage, storage.documents.from_path(path), sources)


def _delete(
    storage: Storage, documents: Sequence[StoredDocument], forgotten: Sequence[Source]
) -> Deleted:
    paths = {document.path for document in documents}
    for source in forgotten:
        storage.sources.forget(source)
    wanted = [
        (source.path, Wanted(source.path, source.patterns)) for source in storage.sources.all()
    ]
    coming_back = (
        path
        for path in paths
        if path
        and any(is_in(path, top) and rules.matches(os.path.basename(path)) for top, rules in wanted)
        and os.path.exists(path)
    )
    chunks = storage.documents.remove(*(document.doc_id for document in documents))
    if documents:
        storage.documents.purge()
        storage.embeddings.spare.drop_unused()
    return Deleted(len(documents), chunks, next(coming_back, None), len(forgotten))
