"""Keep the chunks' embeddings and find those nearest to a query: bit planes propose, exact cosines decide.

An embedding is little-endian float32 of unit length, in `chunks.embedding`; `chunks.slot` (8,192 x block + place) is where
`vector_blocks` has its code (bitplanes.py tells what that is). The two are written together, inside the caller's transaction:
nothing here commits. All embeddings of a store have one dimension, that of the first; once the last is dropped it is open
again. Knows nothing of models, nor where vectors come from.
"""

import sqlite3
import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import nsmallest
from importlib import import_module
from itertools import chain, count
from math import dist, hypot, inf
from typing import TYPE_CHECKING, Any

from . import bitplanes
from .bitplanes import PLACES

if TYPE_CHECKING:
    from .embedder import Embedder

FLOAT_BYTES = 4
EVERY_PLACE = (1 << PLACES) - 1
UNIT = 1e-6  # a vector whose length is this near to 1 is stored as it is
SAMPLE = 1024  # vectors whose mean is the center; more of them find no more
FIRST = 200  # candidates, at least twice the limit; then as many again, and so on
DEPTH = 10  # a limit below this is searched like this one: fewer results say too little about the candidates to come
STEADY = 50  # enough candidates: the last lot brought no more than one in 50 of the results
MOSTLY_DEAD = 4  # a block is merged with another when it is down to one in 4 places
BATCH = 2048  # rows of an exact scan at a time, to bound its memory
SLACK = 1e-5  # float32 sums are off by less

BLOCKS = "select block, live, center, planes from vector_blocks order by block"
LIVE_OF = "select live from vector_blocks where block = ?"
BLOCK = "select live, planes from vector_blocks where block = ?"
LIVE = "select block, live from vector_blocks"
CENTER = "select center from vector_blocks limit 1"
SET_LIVE = "update vector_blocks set live = ? where block = ?"
SET_BLOCK = """
insert into vector_blocks (block, live, center, planes) values (?, ?, ?, ?)
on conflict (block) do update set live = excluded.live, planes = excluded.planes
"""
DELETE_BLOCK = "delete from vector_blocks where block = ?"
DELETE_BLOCKS = "delete from vector_blocks"

SET_EMBEDDING = "update chunks set embedding = ?, truncated = ? where id = ?"
SET_SLOT = "update chunks set slot = ? where id = ?"
CLEAR = """
update chunks set embedding = null, slot = null, truncated = 0
where  id in (select value from json_each(?)) and embedding is not null
"""
CLEAR_ODD = "update chunks set embedding = null, truncated = 0 where length(embedding) <> ?"
CLEAR_SLOTS = "update chunks set slot = null where slot between ? and ?"
CLEAR_EMPTY_SLOTS = "update chunks set slot = null where slot is not null and embedding is null"

ALL = "select id, embedding, slot from chunks where embedding is not null"
BY_ID = """
select id, embedding from chunks where id in (select value from json_each(?)) and embedding is not null
"""
BY_SLOT = """
select chunks.id, chunks.embedding from json_each(?) as slots cross join chunks on chunks.slot = slots.value
"""
IN_BLOCK = "select id, embedding, slot from chunks where slot between ? and ? order by slot"
SLOTLESS = "select id, embedding from chunks where embedding is not null and slot is null limit ?"
SLOTS = "select slot from chunks where id in (select value from json_each(?)) and slot is not null"
USED_BLOCKS = "select distinct slot / ? from chunks where slot is not null"
COMMON_SIZE = """
select length(embedding) from chunks where embedding is not null group by 1 order by count(*) desc limit 1
"""
# Spread over the ids, and the same chunks again if asked again.
SAMPLED = """
select embedding
from   chunks
where  id in (select id from chunks where embedding is not null order by id * 2654435761 % 4294967296 limit ?)
"""
UNPAIRED = "select id from chunks where (slot is null) <> (embedding is null)"
ASTRAY = "select id, slot from chunks where slot / ? not in (select block from vector_blocks)"
RESULT = "select doc_id, chunk_id, heading, content from chunks where id = ?"

Embedding = bytes | Sequence[float]
Vector = tuple[float, ...]
Row = tuple[int, bytes]  # chunks.id, embedding
Hit = tuple[float, int]  # -cosine, chunks.id: the least is the best


def encode_embedding(vector: Sequence[float]) -> bytes:
    """Little-endian float32. OverflowError for a component beyond its range."""
    return struct.pack(f"<{len(vector)}f", *vector)


def decode_embedding(data: bytes) -> list[float]:
    """The inverse of `encode_embedding`. ValueError if the bytes are not whole floats."""
    if len(data) % FLOAT_BYTES:
        raise ValueError(f"{len(data)} bytes are no float32 vector: not a multiple of {FLOAT_BYTES}")
    return list(struct.unpack(f"<{len(data) // FLOAT_BYTES}f", data))


def cosine_similarity(a: Sequence[float], b: Sequence[float]) -> float:
    """[1, 0], [1, 1] -> 0.707; 0.0 if one of them is zero. ValueError if they differ in length."""
    if len(a) != len(b):
        raise ValueError(f"no cosine between vectors of {len(a)} and {len(b)} dimensions")
    unit_a, unit_b = _unit(a), _unit(b)
    return _cosine(unit_a, unit_b) if unit_a and unit_b else 0.0


def _unit(vector: Sequence[float]) -> Vector | None:
    """Scaled to length 1; None if there is no direction to keep."""
    length = hypot(*vector)
    if not 0 < length < inf:  # NaN is neither
        return None
    return tuple(vector) if abs(length - 1) < UNIT else tuple(component / length for component in vector)


def _cosine(a: Vector, b: Vector) -> float:
    """Of unit vectors: |a - b|^2 = 2 - 2ab. `dist` takes two thirds of the time of a sum of products."""
    return 1 - dist(a, b) ** 2 / 2


def _cosines(query: Vector, rows: Iterable[Row]) -> Iterator[tuple[int, float]]:
    """(chunks.id, cosine); passes over embeddings of another dimension."""
    embedding = struct.Struct(f"<{len(query)}f")
    return ((id, _cosine(query, embedding.unpack(data))) for id, data in rows if len(data) == embedding.size)


def _hits(query: Vector, rows: Iterable[Row]) -> list[Hit]:
    return [(-cosine, id) for id, cosine in _cosines(query, rows) if cosine > 0]


class VectorSearch:
    """The chunks nearest to a query by the cosine of their embeddings.

    A search takes more than one statement. In a transaction these see one state of the store; without one, a chunk written
    in between may be missed, but no score is wrong.
    """

    def __init__(self, conn: sqlite3.Connection, embedder: "Embedder") -> None:
        self._conn = conn
        self._embedder = embedder

    def search(self, query: str, limit: int = 10, *, exact: bool = False) -> list[dict[str, Any]]:
        """`nearest` for a text: doc_id, chunk_id, heading, text, score, source. Empty if the text could not be embedded."""
        results = []
        for id, score in self.nearest(self._embedder.embed(query), limit, exact=exact):
            row = self._conn.execute(RESULT, (id,)).fetchone()
            results.append(dict(zip(("doc_id", "chunk_id", "heading", "text"), row, strict=True)))
            results[-1] |= {"score": score, "source": "vector"}
        return results

    def nearest(
        self, vector: Sequence[float], limit: int = 10, *, exact: bool = False, slots: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """(chunks.id, cosine) of the nearest, best first, equal ones by id; cosines > 0 only.

        `slots` are the chunks.slot to choose from, None all of them. `exact` compares every embedding, with numpy if it is
        there. Nothing is near an empty, zero or not finite vector. ValueError for one of another dimension than the store's.
        """
        query = self._query(vector)
        if query is None or limit < 1:
            return []
        found = self._scan(query, limit, slots) if exact else self._propose(query, limit, slots)
        return [(id, -negative) for negative, id in found[:limit]]

    def scores(self, vector: Sequence[float], chunk_ids: Iterable[int]) -> dict[int, float]:
        """The cosine of each of the chunks that has an embedding. ValueError as for `nearest`."""
        query = self._query(vector)
        return dict(_cosines(query, self._conn.execute(BY_ID, (_json(chunk_ids),)))) if query else {}

    def _query(self, vector: Sequence[float]) -> Vector | None:
        dims = _dims(self._conn)
        if not vector or not dims:
            return None
        if len(vector) != dims:
            raise ValueError(f"the query has {len(vector)} dimensions, the store's embeddings have {dims}")
        return _unit(vector)

    def _propose(self, query: Vector, limit: int, slots: Collection[int] | None) -> list[Hit]:
        """Exact cosines for lot after lot of candidates, for as long as that changes the results.

        So where the codes say little (tight clusters, few dimensions) a search takes longer, and still finds.
        """
        depth = max(limit, DEPTH)
        found: list[Hit] = []
        for lot in self._lots(query, max(FIRST, 2 * limit), slots):
            hits = _hits(query, self._conn.execute(BY_SLOT, (_json(lot),)))
            bar = found[-1][0] if len(found) == depth else 0.0
            found = nsmallest(depth, found + hits)
            if sum(negative < bar for negative, _ in hits) <= depth // STEADY:
                break
        return found

    def _lots(self, query: Vector, first: int, slots: Collection[int] | None) -> Iterator[Collection[int]]:
        """The slots by falling score on the bit planes: `first` of them, as many again, twice as many, and so on."""
        if slots is not None and len(slots) <= first:
            yield slots
            return
        allowed = None if slots is None else _by_block(slots)
        weights: list[int] = []
        blocks, among, counters = [], [], []
        for block, live, center, planes in self._conn.execute(BLOCKS):
            weights = weights or bitplanes.weights(query, decode_embedding(center))
            places = int.from_bytes(live, "little")
            if allowed is not None:
                places &= bitplanes.mask(allowed.get(block, ()))
            if places:
                blocks.append(block)
                among.append(places)
                counters.append(bitplanes.counters(planes, weights))
        size, seen = first, 0
        while any(among):
            chosen = bitplanes.best(counters, among, size)
            among = [a ^ c for a, c in zip(among, chosen, strict=True)]
            seen += size
            size = seen
            yield [b * PLACES + place for b, c in zip(blocks, chosen, strict=True) for place in bitplanes.places(c)]

    def _scan(self, query: Vector, limit: int, slots: Collection[int] | None) -> list[Hit]:
        allowed = None if slots is None else set(slots)
        size = FLOAT_BYTES * len(query)
        found: list[Hit] = []
        cursor = self._conn.execute(ALL)
        while batch := cursor.fetchmany(BATCH):
            rows = [(id, e) for id, e, slot in batch if len(e) == size and (allowed is None or slot in allowed)]
            found = nsmallest(limit, found + _hits(query, _likely(query, rows, limit)))
        return found


def _likely(query: Vector, rows: list[Row], limit: int) -> list[Row]:
    """At least the nearest `limit` of the rows, by numpy; all of them where there is no numpy."""
    try:
        numpy = import_module("numpy")
    except ImportError:
        return rows
    if len(rows) <= limit:
        return rows
    matrix = numpy.frombuffer(b"".join(data for _, data in rows), "<f4").reshape(len(rows), -1)
    cosines = matrix @ numpy.array(query, "<f4")
    least = cosines[numpy.argpartition(cosines, -limit)[-limit]] - SLACK
    return [rows[i] for i in numpy.flatnonzero(cosines >= least)]


def put(conn: sqlite3.Connection, rows: Iterable[tuple[int, Embedding, bool]]) -> list[int]:
    """Give chunks their embeddings: (chunks.id, embedding, was the text cut to fit the model?).

    Returns the ids refused: an embedding that is empty, zero or not finite counts as none. ValueError if one has another
    dimension than the store's, before anything is written.
    """
    dims = _dims(conn)
    units: dict[int, tuple[bytes, bool]] = {}
    refused = []
    for id, embedding, truncated in rows:
        unit = _unit(decode_embedding(embedding) if isinstance(embedding, bytes) else embedding)
        if unit is None:
            refused.append(id)
            continue
        dims = dims or len(unit)
        if len(unit) != dims:
            raise ValueError(f"the embedding of chunk {id} has {len(unit)} dimensions, not {dims}")
        units[id] = encode_embedding(unit), truncated
    drop(conn, [*units, *refused])
    before = sum(_counts(conn).values())
    conn.executemany(SET_EMBEDDING, [(data, truncated, id) for id, (data, truncated) in units.items()])
    if _centerings(before) < _centerings(before + len(units)):
        rebuild(conn)
    elif units:
        _place(conn, [(id, data) for id, (data, _) in units.items()], _center(conn))
    return refused


def drop(conn: sqlite3.Connection, chunk_ids: Iterable[int]) -> None:
    """Take embedding and slot from chunks; call it before their rows are deleted."""
    ids = _json(chunk_ids)
    freed = _by_block(slot for (slot,) in conn.execute(SLOTS, (ids,)))
    conn.execute(CLEAR, (ids,))
    for block, live in conn.execute(LIVE).fetchall():
        if block in freed:
            remaining = int.from_bytes(live, "little") & ~bitplanes.mask(freed[block])
            conn.execute(SET_LIVE, (remaining.to_bytes(len(live), "little"), block))
            _compact(conn, block)


def rebuild(conn: sqlite3.Connection) -> None:
    """Make the blocks anew from the embeddings, about a new center. Chunks keep their slots.

    Of embeddings of several dimensions the commonest remain; the others are dropped.
    """
    (size,) = conn.execute(COMMON_SIZE).fetchone() or (0,)
    conn.execute(CLEAR_ODD, (size,))
    conn.execute(CLEAR_EMPTY_SLOTS)
    conn.execute(DELETE_BLOCKS)
    if size:
        center = encode_embedding(bitplanes.mean(decode_embedding(data) for (data,) in conn.execute(SAMPLED, (SAMPLE,))))
        for (block,) in conn.execute(USED_BLOCKS, (PLACES,)).fetchall():
            _write(conn, block, {slot % PLACES: data for _, data, slot in _chunks_in(conn, block)}, center)
        while rows := conn.execute(SLOTLESS, (PLACES,)).fetchall():
            _place(conn, rows, center)


def check(conn: sqlite3.Connection) -> list[str]:
    """What is wrong with embeddings, slots and blocks, a line each. `rebuild` mends all of it."""
    problems = [f"chunk {id} has an embedding or a slot, but not both" for (id,) in conn.execute(UNPAIRED)]
    problems += [f"chunk {id} has slot {slot} in a block that is not there" for id, slot in conn.execute(ASTRAY, (PLACES,))]
    dims, common_center = _dims(conn), _center(conn)
    for block, live, center, planes in conn.execute(BLOCKS):
        width = len(live)
        if center != common_center or len(planes) != dims * width:
            problems.append(f"block {block} has another center or size than it should have")
            continue
        chunks = {slot % PLACES: (id, decode_embedding(data)) for id, data, slot in _chunks_in(conn, block)}
        unpaired = bitplanes.mask(chunks) ^ int.from_bytes(live, "little")
        problems += [f"slot {block * PLACES + place} is live or taken, but not both" for place in bitplanes.places(unpaired)]
        codes = {}
        for place, (id, vector) in chunks.items():
            if len(vector) != dims or abs(hypot(*vector) - 1) > 10 * UNIT:
                problems.append(f"chunk {id} has an embedding of {len(vector)} dimensions and length {hypot(*vector):.3g}")
            elif place < 8 * width:
                codes[place] = bitplanes.code(vector, decode_embedding(center))
        if codes:
            wrong = bitplanes.differing(planes, bitplanes.insert(b"", codes, width), width) & bitplanes.mask(codes)
            problems += [f"chunk {chunks[place][0]} has another code than its embedding" for place in bitplanes.places(wrong)]
    return problems


def _place(conn: sqlite3.Connection, rows: list[Row], center: bytes) -> None:
    """In the roomiest block, the rest in new ones: the chunks of a document come to one block or two."""
    counts = _counts(conn)
    roomiest = sorted(counts, key=lambda block: counts[block])[:1]
    for block in chain(roomiest, count(max(counts, default=-1) + 1)):
        if not rows:
            return
        (live,) = conn.execute(LIVE_OF, (block,)).fetchone() or (b"",)
        free = bitplanes.places(EVERY_PLACE & ~int.from_bytes(live, "little"))
        taken = dict(zip(free, rows, strict=False))
        rows = rows[len(taken) :]
        if taken:
            _write(conn, block, {place: data for place, (_, data) in taken.items()}, center)
            conn.executemany(SET_SLOT, [(block * PLACES + place, id) for place, (id, _) in taken.items()])


def _write(conn: sqlite3.Connection, block: int, embeddings: dict[int, bytes], center: bytes) -> None:
    """Code the embeddings of these places. A plane is as many bytes as the last place needs, in powers of two."""
    live, planes = conn.execute(BLOCK, (block,)).fetchone() or (b"", b"")
    width = max(len(live), 1 << (max(embeddings) >> 3).bit_length())
    middle = decode_embedding(center)
    codes = {place: bitplanes.code(decode_embedding(data), middle) for place, data in embeddings.items()}
    live = (int.from_bytes(live, "little") | bitplanes.mask(embeddings)).to_bytes(width, "little")
    conn.execute(SET_BLOCK, (block, live, center, bitplanes.insert(planes, codes, width)))


def _compact(conn: sqlite3.Connection, block: int) -> None:
    """Move what is left of a mostly dead block to the roomiest other, if it has room: each move fills a hole for good."""
    counts = _counts(conn)
    n = counts.pop(block)
    if n <= PLACES // MOSTLY_DEAD and n <= PLACES - min(counts.values(), default=PLACES):
        center = _center(conn)
        rows = [(id, data) for id, data, _ in _chunks_in(conn, block)]
        conn.execute(CLEAR_SLOTS, (block * PLACES, block * PLACES + PLACES - 1))
        conn.execute(DELETE_BLOCK, (block,))
        _place(conn, rows, center)


def _centerings(n: int) -> int:
    """How often the center was taken while a store grew to n: at 1, 4, 16, 64, 256 and 1,024. First texts are seldom typical."""
    return (min(n, SAMPLE).bit_length() + 1) // 2


def _dims(conn: sqlite3.Connection) -> int:
    return len(_center(conn)) // FLOAT_BYTES


def _center(conn: sqlite3.Connection) -> bytes:
    (center,) = conn.execute(CENTER).fetchone() or (b"",)
    return bytes(center)


def _counts(conn: sqlite3.Connection) -> dict[int, int]:
    """Live places by block."""
    return {block: int.from_bytes(live, "little").bit_count() for block, live in conn.execute(LIVE)}


def _chunks_in(conn: sqlite3.Connection, block: int) -> sqlite3.Cursor:
    return conn.execute(IN_BLOCK, (block * PLACES, block * PLACES + PLACES - 1))


def _by_block(slots: Iterable[int]) -> dict[int, list[int]]:
    """[3, 8195] -> {0: [3], 1: [3]}"""
    blocks: dict[int, list[int]] = {}
    for slot in slots:
        blocks.setdefault(slot // PLACES, []).append(slot % PLACES)
    return blocks


def _json(numbers: Iterable[int]) -> str:
    """For json_each: a list of parameters of any length."""
    return str(list(numbers))
