"""Keep the embeddings in the database, and their bit planes consistent with them, inside the caller's transaction.

`chunks.embedding` has the embedding: a vector of length 1, as little-endian float32. `chunks.slot`, which is 8,192 x block +
place, tells where `vector_blocks` has its code (see bitplanes.py). `live` has a bit for each place that is in use. All
embeddings have the dimension of the first one, until the last one is dropped.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count
from math import hypot

from ...vector import FLOAT_BYTES, UNIT, decode_embedding, encode_embedding, unit
from . import bitplanes
from .bitplanes import PLACES

EVERY_PLACE = (1 << PLACES) - 1
SAMPLE = 1024  # embeddings whose mean is the center; with more, searches do not find more
SPARSE = PLACES // 4  # if a block has no more live places than this, they are moved into another block that has room

LIVE = "select block, live from vector_blocks order by block"
BLOCK = "select live, planes from vector_blocks where block = ?"
BLOCKS = "select block, live, center, length(planes) from vector_blocks"
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
SLOTS_IN_BLOCK = "select slot from chunks where slot between ? and ?"
COUNT_UNPAIRED = """
select abs(pairless) from (
    select count(*) - (select count(*) from chunks where embedding is null)
                    - (select count(*) from chunks where slot is not null) as pairless
    from   chunks
)
where  pairless <> 0
"""
UNPAIRED = "select id from chunks where (slot is null) <> (embedding is null)"
ASTRAY = "select id, slot from chunks where slot is not null and slot / ? not in (select block from vector_blocks)"

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
CLEAR_SLOTS = "update chunks set slot = null where slot between ? and ?"


def put(conn: sqlite3.Connection, rows: Iterable[tuple[int, bytes | Sequence[float], bool]]) -> list[int]:
    """Give chunks their embeddings; a row is (chunks.id, embedding, whether the text was cut to fit the model).

    Returns the ids of the chunks that get none because the given embedding is empty, zero or not finite. Raises ValueError,
    before anything is written, for an embedding whose dimension is not that of the store.
    """
    placing = Placing(conn)
    fitting = {id: (placing.fitting(id, embedding), truncated) for id, embedding, truncated in rows}
    drop(conn, fitting)
    in_order = sorted(fitting.items())  # rows grow: pages that are split from the left to the right stay full
    placed = [(placing.take(data), data, truncated, id) for id, (data, truncated) in in_order if data]
    conn.executemany(SET_BOTH, placed)
    placing.finish()
    return [id for id, (data, _) in fitting.items() if not data]


class Placing:
    """Gives vectors places in the block with the most free places, and then in new blocks, and writes their codes at the end.

    This way the chunks of a document are in one or two blocks, and each block is written once. Until `finish`, nothing else may
    change blocks or slots. `center` is that of all blocks, if it is known not to change.
    """

    def __init__(self, conn: sqlite3.Connection, center: bytes = b"") -> None:
        self._conn, self._fixed = conn, center
        self._codes: dict[int, dict[int, bytes]] = {}  # by block and place
        self._slots = self._free()
        self._size = len(read_center(conn)) // FLOAT_BYTES

    def fitting(self, chunk: object, embedding: bytes | Sequence[float]) -> bytes | None:
        """The embedding of a chunk at length 1, as it is stored; None if it is empty, zero or not finite.

        Raises ValueError for one whose dimension is not that of the store, or of the first one.
        """
        vector = unit(decode_embedding(embedding) if isinstance(embedding, bytes) else embedding)
        if vector is None:
            return None
        self._size = self._size or len(vector)
        if len(vector) != self._size:
            raise ValueError(f"the embedding of chunk {chunk} has {len(vector)} dimensions, the others have {self._size}")
        return encode_embedding(vector)

    def take(self, data: bytes) -> int:
        """A slot for an embedding that fits. Its code is that of the rounded values, from which an index is built again."""
        slot = next(self._slots)
        block, place = divmod(slot, PLACES)
        self._codes.setdefault(block, {})[place] = bitplanes.code(decode_embedding(data), self._middle)
        return slot

    def finish(self) -> None:
        """Write the codes of all that were taken, whose chunks have their embeddings and slots by now."""
        taken = sum(map(len, self._codes.values()))
        before = sum(_counts(self._conn).values())
        if not self._fixed and _centerings(before) < _centerings(before + taken):
            rebuild(self._conn)
        else:
            for block, codes in self._codes.items():
                _write(self._conn, block, codes, self._center)
        self._codes, self._slots = {}, self._free()

    def _free(self) -> Iterator[int]:
        """The slots that are free."""
        self._center = self._fixed or read_center(self._conn)
        self._middle = decode_embedding(self._center)
        counts = _counts(self._conn)
        roomiest = sorted(counts, key=lambda block: counts[block])[:1]
        for block in chain(roomiest, count(max(counts, default=-1) + 1)):
            live, _ = self._conn.execute(BLOCK, (block,)).fetchone() or (b"", b"")
            for place in bitplanes.places(~int.from_bytes(live, "little") & EVERY_PLACE):
                yield block * PLACES + place


def drop(conn: sqlite3.Connection, chunk_ids: Iterable[int]) -> None:
    """Remove the embeddings and slots of these chunks. Must be called before the rows of the chunks are deleted."""
    ids = as_json(chunk_ids)
    freed = by_block(slot for (slot,) in conn.execute(SLOTS, (ids,)))
    conn.execute(CLEAR, (ids,))
    touched = [(block, live) for block, live in conn.execute(LIVE) if block in freed]
    for block, live in touched:
        remaining = int.from_bytes(live, "little") & ~bitplanes.mask(freed[block])
        conn.execute(SET_LIVE, (remaining.to_bytes(len(live), "little"), block))
    for block, _ in touched:  # only when all masks are right, because chunks move from one block to another
        _compact(conn, block)


def rebuild(conn: sqlite3.Connection) -> None:
    """Build all blocks again from the embeddings, with the mean of these as the center. Chunks keep their slots.

    If there are embeddings of several dimensions, those of the most common one are kept and the others are dropped.
    """
    (size,) = conn.execute(COMMONEST_SIZE).fetchone() or (0,)
    conn.execute(CLEAR_OTHERS, (size,))
    conn.execute(DELETE_BLOCKS)
    if size:
        sample = conn.execute(SAMPLED, (SAMPLE,))
        center = encode_embedding(bitplanes.mean(decode_embedding(data) for (data,) in sample))
        middle = decode_embedding(center)
        for (block,) in conn.execute(USED_BLOCKS, (PLACES,)).fetchall():
            rows = _chunks_in(conn, block)
            codes = {slot % PLACES: bitplanes.code(decode_embedding(data), middle) for _, data, slot in rows}
            _write(conn, block, codes, center)
        while slotless := conn.execute(SLOTLESS, (PLACES,)).fetchall():
            _place(conn, slotless, center)


def check(conn: sqlite3.Connection, *, thorough: bool = True) -> list[str]:
    """A line for each inconsistency between embeddings, slots and blocks. `rebuild` repairs them, except wrong lengths.

    Embeddings, which are most of the database, are read only by a thorough check.
    """
    problems = [f"chunk {id} has slot {slot}, but there is no such block" for id, slot in conn.execute(ASTRAY, (PLACES,))]
    if thorough:
        problems += [f"chunk {id} has an embedding or a slot, but not both" for (id,) in conn.execute(UNPAIRED)]
    else:
        problems += [f"{count} chunks have an embedding or a slot, but not both" for (count,) in conn.execute(COUNT_UNPAIRED)]
    common = read_center(conn)
    center = decode_embedding(common)
    for block, live, own, size in conn.execute(BLOCKS):
        if own != common or size != len(center) * len(live):
            problems.append(f"block {block} has another center or size than it should have")
            continue
        in_use = bitplanes.mask(slot % PLACES for (slot,) in conn.execute(SLOTS_IN_BLOCK, _slots(block)))
        if int.from_bytes(live, "little") != in_use:
            problems.append(f"block {block} has other live places than its chunks have slots")
        if thorough:
            problems += _check_codes(conn, block, len(live), common)
    return problems


def _check_codes(conn: sqlite3.Connection, block: int, width: int, common: bytes) -> list[str]:
    """The embeddings of a block that are not what they should be, and those that have another code."""
    chunks = {slot % PLACES: (id, data or b"") for id, data, slot in _chunks_in(conn, block)}
    center, problems, codes = decode_embedding(common), [], {}
    for place, (id, data) in chunks.items():
        vector = decode_embedding(data) if len(data) == len(common) else []
        if not abs(hypot(*vector) - 1) <= 2 * UNIT:  # written so that NaN is found, too
            problems.append(f"chunk {id} has an embedding of another dimension, or of another length than 1")
        elif place < 8 * width:
            codes[place] = bitplanes.code(vector, center)
    if codes:
        planes = read_planes(conn, block)
        wrong = bitplanes.places(bitplanes.differing(planes, bitplanes.insert(planes, codes, width), width))
        problems += [f"chunk {chunks[place][0]} has another code than its embedding" for place in wrong]
    return problems


def read_center(conn: sqlite3.Connection) -> bytes:
    """The center, encoded like an embedding. It is the same for all blocks, and empty if there are none."""
    (center,) = conn.execute(CENTER).fetchone() or (b"",)
    return bytes(center)


def read_planes(conn: sqlite3.Connection, block: int) -> bytes:
    """The planes of a block. A select would take half as long again, because it copies the whole row."""
    with conn.blobopen("vector_blocks", "planes", block, readonly=True) as blob:
        return blob.read()


def by_block(slots: Iterable[int]) -> dict[int, list[int]]:
    """Places by block: [3, 8195] -> {0: [3], 1: [3]}"""
    blocks: dict[int, list[int]] = {}
    for slot in slots:
        blocks.setdefault(slot // PLACES, []).append(slot % PLACES)
    return blocks


def as_json(numbers: Iterable[int]) -> str:
    """The numbers as JSON, so that a statement can take any number of them as one parameter."""
    return str(list(numbers))


def _place(conn: sqlite3.Connection, rows: list[tuple[int, bytes]], center: bytes) -> None:
    """Give chunks that have embeddings their slots."""
    placing = Placing(conn, center)
    conn.executemany(SET_SLOT, [(placing.take(data), id) for id, data in rows])
    placing.finish()


def _write(conn: sqlite3.Connection, block: int, codes: dict[int, bytes], center: bytes) -> None:
    """Write codes at these places. The width of the planes is a power of two that has room for the last."""
    live, planes = conn.execute(BLOCK, (block,)).fetchone() or (b"", b"")
    width = max(len(live), 1 << (max(codes) // 8).bit_length())
    live = (int.from_bytes(live, "little") | bitplanes.mask(codes)).to_bytes(width, "little")
    conn.execute(SET_BLOCK, (block, live, center, bitplanes.insert(planes, codes, width)))


def _compact(conn: sqlite3.Connection, block: int) -> None:
    """If a block has few live places, move its chunks to the block with the most free places, if there is room."""
    counts = _counts(conn)
    n = counts.pop(block)
    if n <= min(SPARSE, PLACES - min(counts.values(), default=PLACES)):
        center = read_center(conn)
        rows = [(id, data) for id, data, _ in _chunks_in(conn, block)]
        conn.execute(CLEAR_SLOTS, _slots(block))
        conn.execute(DELETE_BLOCK, (block,))
        _place(conn, rows, center)


def _centerings(n: int) -> int:
    """How often the center of a store with n embeddings has been computed: at 1, 4, 16, 64, 256 and 1,024."""
    return (min(n, SAMPLE).bit_length() + 1) // 2


def _counts(conn: sqlite3.Connection) -> dict[int, int]:
    """The number of live places of each block."""
    return {block: int.from_bytes(live, "little").bit_count() for block, live in conn.execute(LIVE)}


def _chunks_in(conn: sqlite3.Connection, block: int) -> sqlite3.Cursor:
    return conn.execute(IN_BLOCK, _slots(block))


def _slots(block: int) -> tuple[int, int]:
    return block * PLACES, block * PLACES + PLACES - 1
