"""Find the chunks nearest to a query: bit planes propose, exact cosines decide.

Reads what blocks.py keeps, and stands for it: both are `vector` to the rest of the package. Knows nothing of models.
"""

import sqlite3
import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from heapq import nsmallest
from importlib import import_module
from math import dist
from typing import TYPE_CHECKING, Any

from . import bitplanes
from .bitplanes import PLACES
from .blocks import (
    FLOAT_BYTES,
    LIVE,
    as_json,
    by_block,
    check,
    decode_embedding,
    drop,
    encode_embedding,
    put,
    read_center,
    read_planes,
    rebuild,
    unit,
)

if TYPE_CHECKING:
    from .embedder import Embedder

__all__ = [
    "FLOAT_BYTES",
    "VectorSearch",
    "check",
    "cosine_similarity",
    "decode_embedding",
    "drop",
    "encode_embedding",
    "put",
    "rebuild",
]

FIRST = 100  # candidates of a search, or twice its limit; then as many again, then twice as many, and so on
DEPTH = 20  # a smaller limit is searched like this one: fewer results tell too little about the candidates to come
NEWS = 0.03  # of the results: no more of them among the last candidates, and there were enough
SAMPLE = 32  # embeddings: their mean cosine is within 0.02 of that of all
BATCH = 2048  # rows of an exact scan that are in memory at a time
SLACK = 1e-5  # sums of float32 are off by less

ALL = "select id, embedding, slot from chunks where embedding is not null"
BY_ID = "select id, embedding from chunks where id in (select value from json_each(?)) and embedding is not null"
NEXT_SLOTS = "select (select min(slot) from chunks where slot >= value) from json_each(?)"
BY_SLOT = "select id, embedding from (select value from json_each(?)) cross join chunks on slot = value"
RESULT = "select doc_id, chunk_id, heading, content from chunks where id = ?"

Vector = tuple[float, ...]
Row = tuple[int, bytes]  # chunks.id, embedding
Hit = tuple[int, float]  # chunks.id, cosine


def cosine_similarity(a: Sequence[float], b: Sequence[float]) -> float:
    """[1, 0], [1, 1] -> 0.707; 0.0 if either is zero. ValueError if they differ in length."""
    if len(a) != len(b):
        raise ValueError(f"no cosine between vectors of {len(a)} and {len(b)} dimensions")
    unit_a, unit_b = unit(a), unit(b)
    return _cosine(unit_a, unit_b) if unit_a and unit_b else 0.0


def _cosine(a: Vector, b: Vector) -> float:
    """Of unit vectors, by |a - b|^2 = 2 - 2ab: `dist` takes two thirds of the time of a sum of products."""
    return 1 - dist(a, b) ** 2 / 2


def _hits(query: Vector, rows: Iterable[Row]) -> list[Hit]:
    """Embeddings of another dimension are passed over."""
    embedding = struct.Struct(f"<{len(query)}f")
    return [(id, _cosine(query, embedding.unpack(data))) for id, data in rows if len(data) == embedding.size]


def _rank(hit: Hit) -> tuple[float, int]:
    id, cosine = hit
    return -cosine, id


class VectorSearch:
    """The chunks nearest to a query by the cosine of their embeddings."""

    def __init__(self, conn: sqlite3.Connection, embedder: "Embedder") -> None:
        self._conn = conn
        self._embedder = embedder

    def search(self, query: str, limit: int = 10, *, exact: bool = False) -> list[dict[str, Any]]:
        """`nearest` for a text: doc_id, chunk_id, heading, text, score, source. Empty if it could not be embedded."""
        vector = self._embedder.embed(query)
        results = []
        with _one_state(self._conn):
            for id, score in self.nearest(vector, limit, exact=exact):
                row = self._conn.execute(RESULT, (id,)).fetchone()
                chunk = dict(zip(("doc_id", "chunk_id", "heading", "text"), row, strict=True))
                results.append({**chunk, "score": score, "source": "vector"})
        return results

    def nearest(
        self, vector: Sequence[float], limit: int = 10, *, exact: bool = False, slots: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """(chunks.id, cosine) of the nearest, best first, equal ones by id; cosines > 0 only.

        `slots` are the chunks.slot to choose from, None all. `exact` compares every embedding, with numpy if it is there.
        Nothing is near an empty, zero or not finite vector. ValueError for one that has not the store's dimension.
        """
        with _one_state(self._conn):
            query = self._query(vector)
            if query is None or limit < 1:
                return []
            found = self._scan(query, limit, slots) if exact else self._propose(query, limit, slots)
            return [(id, cosine) for id, cosine in found[:limit] if cosine > 0]

    def scores(self, vector: Sequence[float], chunk_ids: Iterable[int]) -> dict[int, float]:
        """The cosine of each of the chunks that has an embedding. ValueError as for `nearest`."""
        query = self._query(vector)
        return dict(_hits(query, self._conn.execute(BY_ID, (as_json(chunk_ids),)))) if query else {}

    def sample(self, vector: Sequence[float]) -> dict[int, float]:
        """The cosines of SAMPLE chunks or fewer, spread over the store: how near a query is to what it has nothing to do with."""
        (last,) = self._conn.execute("select max(slot) from chunks").fetchone()
        query = self._query(vector)
        if query is None:
            return {}
        strides = as_json(range(0, last + 1, last // SAMPLE + 1))
        slots = [slot for (slot,) in self._conn.execute(NEXT_SLOTS, (strides,))]  # of those that are free, the next in use
        return dict(_hits(query, self._conn.execute(BY_SLOT, (as_json(slots),))))

    def _query(self, vector: Sequence[float]) -> Vector | None:
        dims = len(read_center(self._conn)) // FLOAT_BYTES
        if not vector or not dims:
            return None
        if len(vector) != dims:
            raise ValueError(f"the query has {len(vector)} dimensions, the store's embeddings have {dims}")
        return unit(vector)

    def _propose(self, query: Vector, limit: int, slots: Collection[int] | None) -> list[Hit]:
        """Take candidates for as long as they change the results.

        So where the codes say little (tight clusters, few dimensions) a search takes longer, and still finds.
        """
        depth = max(limit, DEPTH)
        found: list[Hit] = []
        for candidates in self._candidates(query, max(FIRST, 2 * limit), slots):
            hits = _hits(query, self._conn.execute(BY_SLOT, (as_json(candidates),)))
            bar = max(found[-1][1], 0.0) if len(found) == depth else 0.0
            found = nsmallest(depth, found + hits, key=_rank)
            if sum(cosine > bar for _, cosine in hits) <= NEWS * depth:
                break
        return found

    def _candidates(self, query: Vector, n: int, slots: Collection[int] | None) -> Iterator[Collection[int]]:
        """All slots in the order of the bit planes: the best n, as many again, twice as many, and so on."""
        if slots is not None and len(slots) <= n:
            yield slots
            return
        allowed = None if slots is None else by_block(slots)
        weights = bitplanes.weights(query, decode_embedding(read_center(self._conn)))
        blocks, places, counters = [], [], []
        for block, live in self._conn.execute(LIVE).fetchall():
            mask = int.from_bytes(live, "little")
            if allowed is not None:
                mask &= bitplanes.mask(allowed.get(block, ()))
            if mask:
                blocks.append(block)
                places.append(mask)
                counters.append(bitplanes.counters(read_planes(self._conn, block), len(live), weights))
        for chosen in bitplanes.ranked(counters, places, n):
            yield [b * PLACES + place for b, mask in zip(blocks, chosen, strict=True) for place in bitplanes.places(mask)]

    def _scan(self, query: Vector, limit: int, slots: Collection[int] | None) -> list[Hit]:
        allowed = None if slots is None else set(slots)
        size = FLOAT_BYTES * len(query)
        found: list[Hit] = []
        cursor = self._conn.execute(ALL)
        while batch := cursor.fetchmany(BATCH):
            rows = [(id, data) for id, data, slot in batch if len(data) == size and (allowed is None or slot in allowed)]
            found = nsmallest(limit, found + _hits(query, _likely(query, rows, limit)), key=_rank)
        return found


@contextmanager
def _one_state(conn: sqlite3.Connection) -> Iterator[None]:
    """For all statements together: another process may put other chunks into the slots between two of them."""
    if conn.in_transaction:
        yield
        return
    conn.execute("begin")
    try:
        yield
    finally:
        conn.execute("rollback")  # nothing was written


def _likely(query: Vector, rows: list[Row], limit: int) -> list[Row]:
    """The nearest `limit` of the rows and a few more, by numpy; all rows where there is no numpy."""
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
