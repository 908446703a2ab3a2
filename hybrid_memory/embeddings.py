"""Which chunk has which embedding: the one identity that a store's vectors share, what is known already, what is pending.

Vectors of two models are not comparable, so a store holds those of one. A store whose identity is not the embedder's keeps
its vectors and gets no others until `switch` gives them up for the new ones.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from . import vector

if TYPE_CHECKING:
    from .embedder import Embedder

Vectors = dict[bytes, tuple[bytes, bool]]  # content hash -> encoded embedding, was the text cut to fit the model?
Identity = dict[str, Any]

BUILTIN_ADVICE = (
    "embedded by the built-in English model; one that reads whole sentences finds more by meaning: "
    "`ollama pull nomic-embed-text`, then `hybrid-memory reindex --embeddings --provider ollama`"
)

MISFIT = "the model's vectors do not fit the store's any more; `hybrid-memory reindex --embeddings` makes all anew"

NEWEST = 2**63 - 1  # above every id

KNOWN = "select embedding, truncated from chunks where content_hash = ? and embedding is not null limit 1"

PENDING = """
select id, content_hash, heading_path, content
from   chunks
where  embedding is null and unembeddable <= :tried and id < :before
order  by id desc
limit  :batch
"""

GIVE_UP_ALL = """
update chunks set embedding = null, slot = null, truncated = 0, unembeddable = 0 where embedding is not null or unembeddable
"""

ANY_WITHOUT = "select 1 from chunks where embedding is null limit 1"
COUNT_PENDING = "select count(*) from chunks where embedding is null and not unembeddable"
LEAVE_WITHOUT = "update chunks set unembeddable = 1 where content_hash = ? and embedding is null and not unembeddable"

STILL_PENDING = """
select id, content_hash from chunks where id in (select value from json_each(?)) and embedding is null
"""


def embedded_text(heading_path: str, content: str) -> str:
    """What stands for a chunk in front of the model: a chunk alone has lost what it is about."""
    return f"{heading_path}\n\n{content}" if heading_path else content


def of_embedder(embedder: "Embedder") -> Identity:
    """The embedder's identity; one of the caller's own may leave out what it has no use for."""
    return {
        "provider": getattr(embedder, "provider", type(embedder).__name__),
        "model": getattr(embedder, "model", "").removesuffix(":latest"),
        "query_prompt": getattr(embedder, "query_prompt", "{text}"),
        "document_prompt": getattr(embedder, "document_prompt", "{text}"),
    }


def of_store(conn: sqlite3.Connection) -> Identity | None:
    """The identity of the store's embeddings, `dims` included; None before the first."""
    row = conn.execute("select value from meta where key = 'embeddings'").fetchone()
    return json.loads(row[0]) if row else None


def conflict(conn: sqlite3.Connection, embedder: "Embedder") -> str | None:
    """Why the embedder's vectors cannot stand beside the store's, in a line with the way out; None if they can."""
    theirs = of_store(conn)
    if theirs is None:
        return None
    ours, wanted_dims = of_embedder(embedder), getattr(embedder, "wanted_dims", 0)
    if differing := [key for key in ours if ours[key] != theirs[key]]:
        what = " and ".join(f"{key.replace('_', ' ')} {theirs[key]!r}, not {ours[key]!r}" for key in differing)
    elif wanted_dims and wanted_dims != theirs["dims"]:
        what = f"{theirs['dims']} dimensions, not {wanted_dims}"
    else:
        return None
    return f"the store's embeddings were made with {what}: answering by keyword; `hybrid-memory ingest` embeds anew"


def known(conn: sqlite3.Connection, hashes: Iterable[bytes]) -> Vectors:
    """What the store has already, from any document."""
    if of_store(conn) is None:
        return {}
    found = ((h, conn.execute(KNOWN, (h,)).fetchone()) for h in hashes)
    return {h: row for h, row in found if row}


def new(embedder: "Embedder", texts: Mapping[bytes, str]) -> Vectors:
    """What the model gives; a text that it could not embed is missing."""
    vectors = embedder.embed_batch(list(texts.values()))
    truncated = getattr(embedder, "truncated", ())
    return {
        content_hash: (vector.encode_embedding(v), i in truncated)
        for i, (content_hash, v) in enumerate(zip(texts, vectors, strict=True))
        if v
    }


@contextmanager
def within(embedder: "Embedder", seconds: float | None) -> Iterator[None]:
    """Let a batch take `seconds` at most, of an embedder that has a time-out; None: as long as it has."""
    patience = getattr(embedder, "document_timeout", None)
    if seconds is None or patience is None:
        yield
        return
    embedder.document_timeout = min(seconds, patience)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        embedder.document_timeout = patience  # type: ignore[attr-defined]


def problem(embedder: "Embedder | None") -> str | None:
    """Why the embedder's last call fell short."""
    return getattr(embedder, "problem", None)


def adopt(conn: sqlite3.Connection, embedder: "Embedder", vectors: Vectors) -> bool:
    """May these vectors go in? Makes the embedder's identity the store's, if it has none yet. Inside a transaction."""
    if not vectors:
        return True
    dims = len(next(iter(vectors.values()))[0]) // vector.FLOAT_BYTES
    theirs = of_store(conn)
    if theirs is None:
        value = json.dumps(of_embedder(embedder) | {"dims": dims})
        conn.execute("insert into meta (key, value) values ('embeddings', ?)", (value,))
        return True
    return conflict(conn, embedder) is None and theirs["dims"] == dims


def switch(conn: sqlite3.Connection) -> None:
    """Give up all embeddings, for those of another identity to come. Inside a transaction."""
    conn.execute(GIVE_UP_ALL)
    vector.rebuild(conn)
    conn.execute("delete from meta where key = 'embeddings'")


def unchanged(conn: sqlite3.Connection, batch: Sequence[tuple[int, bytes, str]]) -> list[tuple[int, bytes]]:
    """(chunks.id, content hash) of those that still are what `pending` read: another process may have written since."""
    wanted = json.dumps([id for id, _, _ in batch])
    still = set(conn.execute(STILL_PENDING, (wanted,)))
    return [(id, content_hash) for id, content_hash, _ in batch if (id, content_hash) in still]


def pending(conn: sqlite3.Connection, before: int, batch: int, *, tried: bool) -> list[tuple[int, bytes, str]]:
    """(chunks.id, content hash, text to embed) of the next chunks without an embedding, the newest first.

    `tried`: also of those that were left without by an embedder that has none for them.
    """
    rows = conn.execute(PENDING, {"before": before, "batch": batch, "tried": tried})
    return [(id, content_hash, embedded_text(path, content)) for id, content_hash, path, content in rows]


def count_pending(conn: sqlite3.Connection) -> int:
    """How many chunks have an embedding to come."""
    return int(conn.execute(COUNT_PENDING).fetchone()[0]) if conn.execute(ANY_WITHOUT).fetchone() else 0


def leave_without(conn: sqlite3.Connection, hashes: Iterable[bytes]) -> None:
    """Note for those of these texts that have no vector that there is none. Inside a transaction."""
    conn.executemany(LEAVE_WITHOUT, ((content_hash,) for content_hash in hashes))
