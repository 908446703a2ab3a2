"""Find the chunks nearest to a query: bit planes give candidates, and exact cosines order these. Reads what blocks.py keeps."""

import sqlite3
import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import nsmallest
from importlib import import_module
from math import ceil

from ....typed.names import TYPE_CHECKING, Any, Protocol
from ...vector import FLOAT_BYTES, SAMPLE, UnitVector, decode_embedding, unit, unit_cosine
from ..connection import one_state
from . import bitplanes
from .bitplanes import PLACES
from .blocks import LIVE, as_json, by_block, read_center, read_planes

if TYPE_CHECKING:
    from ..selection import Selection

FIRST = 100  # candidates in the first batch, or twice the limit if that is more
DEPTH = 20  # a smaller limit is searched like this one: with fewer results, it is too early to tell whether more will come
NEWS = 0.03  # the search ends with a batch that changed no greater share of the results
BATCH = 2048  # rows of an exact scan that are in memory at a time
SLACK = 1e-5  # the error of a sum of float32 is smaller

CHOSEN_SLOTS = "select slot from chunks where slot is not null and id {}"
ALL = "select id, embedding, slot from chunks where embedding is not null"
BY_ID = "select id, embedding from chunks where id in (select value from json_each(?)) and embedding is not null"
BY_SLOT = "select id, embedding from (select value from json_each(?)) cross join chunks on slot = value"
# Hashes are in no order of meaning, and the same in every engine. A text that stands in many places counts once.
SAMPLED = """
select id, embedding
from   (select min(id) as id from chunks where embedding is not null group by content_hash order by content_hash limit ?)
       cross join chunks using (id)
"""
CHUNK = "select doc_id, chunk_id, heading, content from chunks where id = ?"

Row = tuple[int, bytes]  # chunks.id, embedding
Scored = tuple[int, float]  # chunks.id, cosine


class QueryEmbedder(Protocol):
    """What VectorSearch asks of an embedder."""

    def embed(self, text: str) -> list[float]: ...


def _hits(query: UnitVector, rows: Iterable[Row]) -> list[Scored]:
    """The cosine of each row; embeddings of another dimension are left out."""
    embedding = struct.Struct(f"<{len(query)}f")
    return [(id, unit_cosine(query, embedding.unpack(data))) for id, data in rows if len(data) == embedding.size]


def _rank(hit: Scored) -> tuple[float, int]:
    id, cosine = hit
    return -cosine, id


class VectorIndex:
    """The embeddings in a database, or those of the chunks that are chosen."""

    def __init__(self, conn: sqlite3.Connection, chosen: "Selection | None" = None) -> None:
        self._conn = conn
        self._chosen = chosen

    def nearest(self, vector: Sequence[float], limit: int = 10, *, exact: bool = False) -> list[Scored]:
        """(chunks.id, cosine) of the nearest chunks with a cosine above 0, best first, equal ones by id.

        `exact` compares every embedding, with numpy if it is installed. An empty, zero or infinite vector has no results.
        Raises ValueError for a vector that does not have the store's dimension.
        """
        with one_state(self._conn):
            query = self._query(vector)
            if query is None or limit < 1:
                return []
            slots = None
            if self._chosen and (exact or not self._chosen.is_broad):
                slots = [slot for (slot,) in self._conn.execute(CHOSEN_SLOTS.format(self._chosen.listed))]
            found = self._scan(query, limit, slots) if exact else self._best(query, limit, slots)
            return [(id, cosine) for id, cosine in found[:limit] if cosine > 0]

    def cosines(self, vector: Sequence[float], chunk_ids: Iterable[int]) -> dict[int, float]:
        """The cosine of each of these chunks that has an embedding. Raises ValueError as `nearest` does."""
        query = self._query(vector)
        return dict(_hits(query, self._conn.execute(BY_ID, (as_json(chunk_ids),)))) if query else {}

    def of(self, chunk_id: int) -> Sequence[float] | None:
        """The embedding of a chunk, or None."""
        row = self._conn.execute(BY_ID, (as_json([chunk_id]),)).fetchone()
        return row and decode_embedding(row[1])

    def sample(self, vector: Sequence[float]) -> dict[int, float]:
        """The cosines of at most SAMPLE chunks from all over the store. They tell how near a query is to chunks in general."""
        query = self._query(vector)
        return dict(_hits(query, self._conn.execute(SAMPLED, (SAMPLE,)))) if query else {}

    def _query(self, vector: Sequence[float]) -> UnitVector | None:
        dims = len(read_center(self._conn)) // FLOAT_BYTES
        if not vector or not dims:
            return None
        if len(vector) != dims:
            raise ValueError(f"the query has {len(vector)} dimensions, the store's embeddings have {dims}")
        return unit(vector)

    def _best(self, query: UnitVector, limit: int, slots: Collection[int] | None) -> list[Scored]:
        unlisted = self._chosen if slots is None else None
        if unlisted and unlisted.share == 1:  # as far as a sample tells; often it is enough to look at the results
            found = self._propose(query, limit, None, None)
            if len(unlisted.among(id for id, _ in found)) == len(found):
                return found
        return self._propose(query, limit, slots, unlisted)

    def _propose(
        self, query: UnitVector, limit: int, slots: Collection[int] | None, unlisted: "Selection | None"
    ) -> list[Scored]:
        """Compute the cosines of candidates, batch by batch, until a batch hardly changes the results.

        If the codes tell vectors apart badly (dense clusters, few dimensions), this takes more batches but finds the same.
        Candidates are the chunks at these slots, or those of all that are in the unlisted selection.
        """
        depth = max(limit, DEPTH)
        found: list[Scored] = []
        first = max(FIRST, 2 * limit)
        for candidates in self._candidates(query, ceil(first / unlisted.share) if unlisted else first, slots):
            join, parameters = unlisted.join if unlisted else ("", [])
            hits = _hits(query, self._conn.execute(f"{BY_SLOT} {join}", (as_json(candidates), *parameters)))
            bar = max(found[-1][1], 0.0) if len(found) == depth else 0.0
            found = nsmallest(depth, found + hits, key=_rank)
            if sum(cosine > bar for _, cosine in hits) <= NEWS * depth:
                break
        return found

    def _candidates(self, query: UnitVector, n: int, slots: Collection[int] | None) -> Iterator[Collection[int]]:
        """All slots, ordered by the bit planes: the best n, then n more, then twice as many, and so on."""
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

    def _scan(self, query: UnitVector, limit: int, slots: Collection[int] | None) -> list[Scored]:
        allowed = None if slots is None else set(slots)
        size = FLOAT_BYTES * len(query)
        found: list[Scored] = []
        cursor = self._conn.execute(ALL)
        while batch := cursor.fetchmany(BATCH):
            rows = [(id, data) for id, data, slot in batch if len(data) == size and (allowed is None or slot in allowed)]
            found = nsmallest(limit, found + _hits(query, _likely(query, rows, limit)), key=_rank)
        return found


class VectorSearch(VectorIndex):
    """Search by text; an embedder makes the vector of the query."""

    def __init__(self, conn: sqlite3.Connection, embedder: QueryEmbedder) -> None:
        super().__init__(conn)
        self._embedder = embedder

    def search(self, query: str, limit: int = 10, *, exact: bool = False) -> list[dict[str, Any]]:
        """The results of `nearest` for a text: doc_id, chunk_id, heading, text, score, source. Empty if it cannot be embedded."""
        vector = self._embedder.embed(query)
        results = []
        with one_state(self._conn):
            for id, score in self.nearest(vector, limit, exact=exact):
                row = self._conn.execute(CHUNK, (id,)).fetchone()
                chunk = dict(zip(("doc_id", "chunk_id", "heading", "text"), row, strict=True))
                results.append({**chunk, "score": score, "source": "vector"})
        return results


def _likely(query: UnitVector, rows: list[Row], limit: int) -> list[Row]:
    """The nearest `limit` rows and a few more, chosen with numpy; all rows if numpy is not installed."""
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
