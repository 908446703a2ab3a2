"""Find the chunks nearest to a query, and keep the embeddings and their bit planes consistent.

Bit planes propose candidates, and exact cosines rank these. Everything is written inside the
caller's transaction.

`chunks.embedding` is a vector of length 1, as little-endian float32. `chunks.slot` is 8,192 x block
+ place: the place in `vector_blocks` of its code (see bitplanes.py). `live` has a bit for each
place that is in use. All embeddings have the dimension of the first one, until the last one is
dropped.
"""

import json
import sqlite3
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import chain, count
from math import ceil
from typing import TYPE_CHECKING, Any, Protocol

from ..encoding import (
    FLOAT_BYTES,
    SAMPLE,
    UnitVector,
    cosine_similarity,
    decode_embedding,
    encode_embedding,
    unit,
    unit_cosine,
)
from ..rows import as_results, best_first, with_ties
from . import bitplanes, schema
from .bitplanes import PLACES
from .chunks import in_order
from .connection import one_state

if TYPE_CHECKING:
    from .selection import Selection

EVERY_PLACE = (1 << PLACES) - 1
CENTER_SAMPLE = 1024  # embeddings whose mean is the center; with more, searches do not find more

LIVE = "select block, live from vector_blocks order by block"
BLOCK = "select live, planes from vector_blocks where block = ?"
CENTER = "select center from vector_blocks limit 1"
SET_LIVE = "update vector_blocks set live = ? where block = ?"
SET_BLOCK = """
insert into vector_blocks (block, live, center, planes) values (?, ?, ?, ?)
on conflict (block) do update set live = excluded.live, planes = excluded.planes
"""
DELETE_BLOCK = "delete from vector_blocks where block = ?"
DELETE_BLOCKS = "delete from vector_blocks"

IN_BLOCK = "select id, embedding, slot from chunks where slot between ? and ?"
SLOTLESS = "select id, embedding from chunks where embedding is not null and slot is null limit ?"
SLOTS = "select slot from chunks where id in (select value from json_each(?)) and slot is not null"
USED_BLOCKS = "select distinct slot / ? from chunks where slot is not null"
COMMONEST_SIZE = """
select length(embedding) from chunks where embedding is not null group by 1 order by count(*) desc limit 1
"""
SAMPLED = """
select embedding
from   chunks
where  id in (select id from chunks where embedding is not null order by id * 2654435761 % 4294967296 limit ?)
"""  # from all over the store, and the same ones each time
SET_SLOT = "update chunks set slot = ? where id = ?"
SET_BOTH = "update chunks set slot = ?, embedding = ?, truncated = ? where id = ?"
CLEAR = """
update chunks set embedding = null, slot = null, truncated = 0
where  id in (select value from json_each(?)) and embedding is not null
"""
CLEAR_OTHERS = """
update chunks set embedding = null, slot = null, truncated = 0
where  (embedding is not null or slot is not null) and length(embedding) is not ?
"""


def put(conn: sqlite3.Connection, rows: Iterable[tuple[int, bytes, bool]]) -> None:
    """Set the embeddings of chunks; a row is (chunks.id, embedding, whether the text was cut to fit
    the model).

    A chunk gets none if the given one is empty, zero or not finite. Raises ValueError, before
    anything is written, for an embedding whose dimension is not the store's.
    """
    placing = SlotAllocator(conn)
    encoded = {
        id: (placing.normalized(id, embedding), truncated) for id, embedding, truncated in rows
    }
    drop(conn, encoded)
    # Rows grow: pages stay full if they are split from left to right
    in_order = sorted(encoded.items())
    placed = [
        (placing.take(data), data, truncated, id) for id, (data, truncated) in in_order if data
    ]
    conn.executemany(SET_BOTH, placed)
    placing.finish()


class SlotAllocator:
    """Assigns places to vectors, first in the block with the most free places and then in new
    blocks, and writes their codes at the end.

    This way the chunks of a document are in one or two blocks, and each block is written once.
    Until `finish`, nothing else may change blocks or slots. `center` is the center of all blocks,
    if it is known not to change.
    """

    def __init__(self, conn: sqlite3.Connection, center: bytes = b"") -> None:
        self._conn = conn
        self._fixed = center
        self._codes: dict[int, dict[int, bytes]] = {}  # by block and place
        self._slots = self._free()
        self._size = len(read_center(conn)) // FLOAT_BYTES

    def normalized(self, chunk: object, embedding: bytes) -> bytes | None:
        """The embedding of a chunk at length 1, as it is stored; None if it is empty, zero or not
        finite.

        Raises ValueError if its dimension is not the store's, or that of the first embedding.
        """
        vector = unit(decode_embedding(embedding))
        if vector is None:
            return None
        self._size = self._size or len(vector)
        if len(vector) != self._size:
            raise ValueError(
                f"the embedding of chunk {chunk} has {len(vector)} dimensions, the others have {self._size}"
            )
        return encode_embedding(vector)

    def take(self, data: bytes) -> int:
        """Assign a slot to a stored embedding. Its code is that of the rounded values, as in a
        rebuild.
        """
        slot = next(self._slots)
        block, place = divmod(slot, PLACES)
        self._codes.setdefault(block, {})[place] = bitplanes.code(
            decode_embedding(data), self._limits
        )
        return slot

    def finish(self) -> None:
        """Write the codes of all slots taken. By now their chunks must have embeddings and
        slots.
        """
        before = _last_place(self._conn)
        after = max(
            (block * PLACES + max(codes) + 1 for block, codes in self._codes.items()), default=0
        )
        if not self._fixed and _centerings(before) < _centerings(after):
            rebuild(self._conn)
        else:
            for block, codes in self._codes.items():
                _write(self._conn, block, codes, self._center)
        self._codes = {}
        self._slots = self._free()

    def _free(self) -> Iterator[int]:
        """Yield the free slots."""
        self._center = self._fixed or read_center(self._conn)
        self._limits = _thresholds(self._center)
        counts = _counts(self._conn)
        roomiest = sorted(counts, key=lambda block: counts[block])[:1]
        for block in chain(roomiest, count(max(counts, default=-1) + 1)):
            live, _ = self._conn.execute(BLOCK, (block,)).fetchone() or (b"", b"")
            for place in bitplanes.places(~int.from_bytes(live, "little") & EVERY_PLACE):
                yield block * PLACES + place


def drop(conn: sqlite3.Connection, chunk_ids: Iterable[int]) -> None:
    """Remove the embeddings and slots of these chunks. Call it before their rows are deleted."""
    ids = json.dumps(list(chunk_ids))
    freed = by_block(slot for (slot,) in conn.execute(SLOTS, (ids,)))
    conn.execute(CLEAR, (ids,))
    touched = [(block, live) for block, live in conn.execute(LIVE) if block in freed]
    for block, live in touched:
        remaining = int.from_bytes(live, "little") & ~bitplanes.mask(freed[block])
        if remaining:
            conn.execute(SET_LIVE, (remaining.to_bytes(len(live), "little"), block))
        else:
            conn.execute(DELETE_BLOCK, (block,))


def rebuild(conn: sqlite3.Connection) -> None:
    """Rebuild all blocks from the embeddings, with their mean as the center. Chunks keep their
    slots.

    If embeddings have several dimensions, those of the most common one are kept and the others are
    dropped.
    """
    (size,) = conn.execute(COMMONEST_SIZE).fetchone() or (0,)
    conn.execute(CLEAR_OTHERS, (size,))
    conn.execute(DELETE_BLOCKS)
    if size:
        sample = conn.execute(SAMPLED, (CENTER_SAMPLE,))
        center = encode_embedding(bitplanes.mean(decode_embedding(data) for (data,) in sample))
        for (block,) in conn.execute(USED_BLOCKS, (PLACES,)).fetchall():
            _write(conn, block, _codes(conn, block, center), center)
        while slotless := conn.execute(SLOTLESS, (PLACES,)).fetchall():
            _place(conn, slotless, center)


def read_center(conn: sqlite3.Connection) -> bytes:
    """The center, encoded like an embedding. It is the same for all blocks, and empty if there are
    no blocks.
    """
    (center,) = conn.execute(CENTER).fetchone() or (b"",)
    return bytes(center)


def read_planes(conn: sqlite3.Connection, block: int) -> bytes:
    """The planes of a block. A select would take half as long again, because it copies the whole
    row.
    """
    with conn.blobopen("vector_blocks", "planes", block, readonly=True) as blob:
        return blob.read()


def by_block(slots: Iterable[int]) -> dict[int, list[int]]:
    """Places by block: [3, 8195] -> {0: [3], 1: [3]}"""
    blocks: dict[int, list[int]] = {}
    for slot in slots:
        blocks.setdefault(slot // PLACES, []).append(slot % PLACES)
    return blocks


def _place(conn: sqlite3.Connection, rows: list[tuple[int, bytes]], center: bytes) -> None:
    """Assign slots to chunks that have embeddings."""
    placing = SlotAllocator(conn, center)
    conn.executemany(SET_SLOT, [(placing.take(data), id) for id, data in rows])
    placing.finish()


def _write(conn: sqlite3.Connection, block: int, codes: Mapping[int, bytes], center: bytes) -> None:
    """Write codes at these places. The width of the planes is a power of two with room for the last
    place.
    """
    live, planes = conn.execute(BLOCK, (block,)).fetchone() or (b"", b"")
    width = max(len(live), 1 << (max(codes) // 8).bit_length())
    live = (int.from_bytes(live, "little") | bitplanes.mask(codes)).to_bytes(width, "little")
    conn.execute(SET_BLOCK, (block, live, center, bitplanes.insert(planes, codes, width)))


def _codes(conn: sqlite3.Connection, block: int, center: bytes) -> dict[int, bytes]:
    """The codes of a block's embeddings, by place."""
    limits = _thresholds(center)
    rows = chunks_in(conn, block)
    return {slot % PLACES: bitplanes.code(decode_embedding(data), limits) for _, data, slot in rows}


def _plane_count(center: bytes) -> int:
    return bitplanes.plane_count(len(center) // FLOAT_BYTES)


def _thresholds(center: bytes) -> list[Sequence[float]]:
    return bitplanes.thresholds(decode_embedding(center), _plane_count(center))


def _centerings(n: int) -> int:
    """How often the center of a store with n places has been computed: at 1, 4, 16, 64, 256 and
    1,024.
    """
    return (min(n, CENTER_SAMPLE).bit_length() + 1) // 2


def _last_place(conn: sqlite3.Connection) -> int:
    """The number of places up to the last one in use. Unlike the number of embeddings, it stays the
    same while documents are replaced.
    """
    return max(
        (
            block * PLACES + int.from_bytes(live, "little").bit_length()
            for block, live in conn.execute(LIVE)
        ),
        default=0,
    )


def _counts(conn: sqlite3.Connection) -> dict[int, int]:
    """The number of live places of each block."""
    return {block: int.from_bytes(live, "little").bit_count() for block, live in conn.execute(LIVE)}


def chunks_in(conn: sqlite3.Connection, block: int) -> sqlite3.Cursor:
    return conn.execute(IN_BLOCK, slots_of(block))


def slots_of(block: int) -> tuple[int, int]:
    return block * PLACES, block * PLACES + PLACES - 1


FIRST = 100  # candidates in the first batch, or twice the limit if that is more
# Smaller limits are searched like this one: with fewer results, one cannot tell whether better ones
# will follow
DEPTH = 20
SMALL_CHANGE = 0.03  # share of the results; a batch that changes no more ends the search
BATCH = 2048  # rows of an exact scan that are in memory at a time

CHOSEN_SLOTS = "select slot from chunks where slot is not null and id {}"
ALL = "select id, embedding, slot from chunks where embedding is not null"
BY_ID = """
select id, embedding from chunks where id in (select value from json_each(?)) and embedding is not null
"""
BY_SLOT = (
    "select id, embedding from (select value from json_each(?)) cross join chunks on slot = value"
)
# In the order of hashes, which is unrelated to meaning and the same in every engine. A text that
# occurs several times counts once.
SAMPLED_VECTORS = """
select id, embedding
from   (
           select (select id from chunks where content_hash = sampled.content_hash
                   and    embedding is not null order by doc_id, id limit 1) as id
           from   (
                      select content_hash from chunks where embedding is not null
                      group by content_hash order by content_hash limit ?
                  ) sampled
       )
       cross join chunks using (id)
"""

# For a store, and for tables of another program: chunks(doc_id, chunk_id, heading, content,
# embedding, ...)
ROWS = """
select rowid, doc_id, chunk_id, heading, content from chunks where rowid in (select value from json_each(?))
"""

EMBEDDINGS = "select rowid, embedding from chunks where embedding is not null"

Row = tuple[int, bytes]  # chunks.id, embedding
Scored = tuple[int, float]  # chunks.id, cosine


def _hits(query: UnitVector, rows: Iterable[Row]) -> list[Scored]:
    """The cosine of each row, without rows whose embedding has another dimension."""
    embedding = struct.Struct(f"<{len(query)}f")
    return [
        (id, unit_cosine(query, embedding.unpack(data)))
        for id, data in rows
        if len(data) == embedding.size
    ]


def _nearest(hits: list[Scored], count: int) -> list[Scored]:
    """The nearest hits, and all that are as near as the last of them, best first."""
    return with_ties(sorted(hits, key=lambda hit: -hit[1]), count)


class VectorIndex:
    """The embeddings in a database, or of the chunks in a selection."""

    def __init__(self, conn: sqlite3.Connection, selection: "Selection | None" = None) -> None:
        self._conn = conn
        self._selection = selection

    def nearest(
        self, vector: Sequence[float], limit: int = 10, *, exact: bool = False
    ) -> list[Scored]:
        """(chunks.id, cosine) of the nearest chunks with a cosine above 0, best first, equal ones
        in the order of their documents.

        `exact` compares every embedding. An empty, zero or infinite vector has no results. Raises
        ValueError if the vector's dimension is not the store's.
        """
        with one_state(self._conn):
            query = self._query(vector)
            if query is None or limit < 1:
                return []
            slots = None
            if self._selection and (exact or not self._selection.is_broad):
                slots = [
                    slot
                    for (slot,) in self._conn.execute(CHOSEN_SLOTS.format(self._selection.listed))
                ]
            if exact:
                found = self._scan(query, limit, slots)
            else:
                found = self._propose(query, limit, slots)
            near = [hit for hit in found if hit[1] > 0]
            return best_first(near, lambda ids: in_order(self._conn, ids))[:limit]

    def cosines(self, vector: Sequence[float], chunk_ids: Iterable[int]) -> dict[int, float]:
        """The cosines of these chunks, without those that have no embedding. Raises ValueError as
        `nearest` does.
        """
        query = self._query(vector)
        if not query:
            return {}
        return dict(_hits(query, self._conn.execute(BY_ID, (json.dumps(list(chunk_ids)),))))

    def of(self, chunk_id: int) -> Sequence[float] | None:
        """The embedding of a chunk, or None."""
        row = self._conn.execute(BY_ID, (json.dumps([chunk_id]),)).fetchone()
        return row and decode_embedding(row[1])

    def sample(self, vector: Sequence[float]) -> dict[int, float]:
        """The cosines of at most SAMPLE chunks from all over the store, which show how near a query
        is to chunks in general.
        """
        query = self._query(vector)
        if not query:
            return {}
        return dict(_hits(query, self._conn.execute(SAMPLED_VECTORS, (SAMPLE,))))

    def _query(self, vector: Sequence[float]) -> UnitVector | None:
        dims = len(read_center(self._conn)) // FLOAT_BYTES
        if not vector or not dims:
            return None
        if len(vector) != dims:
            raise ValueError(
                f"the query has {len(vector)} dimensions, the store's embeddings have {dims}"
            )
        return unit(vector)

    def _propose(
        self, query: UnitVector, limit: int, slots: Collection[int] | None
    ) -> list[Scored]:
        """Compute the cosines of candidates, batch by batch, until a batch hardly changes the
        results.

        If codes distinguish vectors badly (dense clusters, few dimensions), this takes more batches
        but finds the same. Candidates are the chunks at these slots, or else all of the selection.
        """
        depth = max(limit, DEPTH)
        nearest: list[Scored] = []
        first = max(FIRST, 2 * limit)
        join = ""
        parameters: Sequence[Any] = []
        if self._selection and slots is None:
            first = ceil(first / self._selection.share)
            join, parameters = self._selection.join
        for candidates in self._candidates(query, first, slots):
            rows = self._conn.execute(
                f"{BY_SLOT} {join}", (json.dumps(list(candidates)), *parameters)
            )
            hits = _hits(query, rows)
            bar = 0.0
            if len(nearest) >= depth:
                bar = max(nearest[-1][1], 0.0)
            nearest = _nearest(nearest + hits, depth)
            if sum(cosine > bar for _, cosine in hits) <= SMALL_CHANGE * depth:
                break
        return nearest

    def _candidates(
        self, query: UnitVector, n: int, slots: Collection[int] | None
    ) -> Iterator[Collection[int]]:
        """Yield all slots, ordered by the bit planes: the best n, and then each time half as many as
        all before.
        """
        if slots is not None and len(slots) <= n:
            yield slots
            return
        allowed = None if slots is None else by_block(slots)
        count = bitplanes.plane_count(len(query))
        weights = bitplanes.weights(query, decode_embedding(read_center(self._conn)), count)
        blocks = []
        places = []
        counters = []
        for block, live in self._conn.execute(LIVE).fetchall():
            mask = int.from_bytes(live, "little")
            if allowed is not None:
                mask &= bitplanes.mask(allowed.get(block, ()))
            if mask:
                blocks.append(block)
                places.append(mask)
                counters.append(
                    bitplanes.counters(read_planes(self._conn, block), len(live), weights)
                )
        for chosen in bitplanes.ranked(counters, places, n):
            yield [
                b * PLACES + place
                for b, mask in zip(blocks, chosen, strict=True)
                for place in bitplanes.places(mask)
            ]

    def _scan(self, query: UnitVector, limit: int, slots: Collection[int] | None) -> list[Scored]:
        allowed = None if slots is None else set(slots)
        found: list[Scored] = []
        cursor = self._conn.execute(ALL)
        while batch := cursor.fetchmany(BATCH):
            rows = [(id, data) for id, data, slot in batch if allowed is None or slot in allowed]
            found = _nearest(found + _hits(query, rows), limit)
        return found


class QueryEmbedder(Protocol):
    """What VectorSearch needs of an embedder."""

    def embed(self, text: str) -> list[float]: ...


class VectorSearch(VectorIndex):
    """Search by text over any connection; an embedder makes the query's vector. Writes nothing."""

    def __init__(self, conn: sqlite3.Connection, embedder: QueryEmbedder) -> None:
        super().__init__(conn)
        self._embedder = embedder

    def search(self, query: str, limit: int = 10, *, exact: bool = False) -> list[dict[str, Any]]:
        """The results for a text, best first: doc_id, chunk_id, heading, text, score, source.

        The score is the cosine, above 0. If the text cannot be embedded, there are no results.
        """
        vector = self._embedder.embed(query)
        with one_state(self._conn):
            tables = schema.tables(self._conn)
            if not vector or "chunks" not in tables:
                return []
            if "vector_blocks" in tables:
                scores = self.nearest(vector, limit, exact=exact)
            else:
                cosines = (hit for hit in self._cosines_of_all(vector) if hit[1] > 0)
                scores = nsmallest(limit, cosines, key=lambda hit: (-hit[1], hit[0]))
            ids = json.dumps([id for id, _ in scores])
            return as_results(scores, self._conn.execute(ROWS, (ids,)), "vector")

    def _cosines_of_all(self, vector: list[float]) -> Iterator[tuple[int, float]]:
        for id, data in self._conn.execute(EMBEDDINGS):
            embedding = decode_embedding(data)
            if len(embedding) == len(vector):
                yield id, cosine_similarity(vector, embedding)
