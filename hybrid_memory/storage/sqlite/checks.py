"""Checks for damage and for contradictions between tables."""

import sqlite3
from math import hypot

from ...text.characters import plural
from ..encoding import FLOAT_BYTES, UNIT, decode_embedding
from ..rows import MISCOUNT
from . import bitplanes, word_list
from .bitplanes import PLACES
from .connection import waiting
from .vectors import chunks_in, read_center, read_planes, slots_of

OLDEST_SQLITE = (3, 38)
INTEGRITY = "pragma integrity_check(10)"
FTS_INTEGRITY = "insert into chunks_fts (chunks_fts) values ('integrity-check')"
# FTS5 has a row in this small table for each row of the index
NOT_INDEXED = (
    "select count(*) from (select id from chunks except select id from chunks_fts_docsize)"
)
NOT_STORED = "select count(*) from (select id from chunks_fts_docsize except select id from chunks)"
WITHOUT_DOCUMENT = (
    "select distinct doc_id from chunks where doc_id not in (select doc_id from documents)"
)
MISCOUNTED = """
select doc_id from documents d
where  chunk_count <> (select count(*) from chunks c where c.doc_id = d.doc_id)
"""
BLOCKS = "select block, live, center, length(planes) from vector_blocks"
SLOTS_IN_BLOCK = "select slot from chunks where slot between ? and ?"
UNPAIRED = "select id from chunks where (slot is null) <> (embedding is null)"
ASTRAY = """
select id, slot from chunks where slot is not null and slot / ? not in (select block from vector_blocks)
"""


class Checks:
    """Implements `interface.Checks`."""

    intact = "the database is intact"

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    def engine(self) -> tuple[str, str]:
        version = f"SQLite {sqlite3.sqlite_version} with FTS5"
        oldest = ".".join(map(str, OLDEST_SQLITE))
        if sqlite3.sqlite_version_info < OLDEST_SQLITE:
            return version, f"use a Python whose SQLite is {oldest} or later"
        return version, ""

    def integrity(self) -> list[str]:
        lines = (line for (text,) in self._conn.execute(INTEGRITY) for line in text.splitlines())
        # "*** in database main ***" is a title; new versions of SQLite also check the keyword
        # index, which `keyword_index` does here.
        return [
            line
            for line in lines
            if line != "ok" and not line.startswith("***") and "inverted index" not in line
        ]

    def keyword_index(self) -> tuple[bool | None, str]:
        try:
            with waiting(self._conn, 1.0):
                self._conn.execute(FTS_INTEGRITY)
            differing = word_list.count_differing(self._conn)
        except sqlite3.OperationalError as error:
            # SQLite treats the check as a write, which may not be possible
            return None, f"not checked: {error}"
        except sqlite3.DatabaseError as error:
            return False, str(error)
        if differing:
            words = plural(differing, "word differs", "words differ")
            return False, f"the list of its words is wrong: {words} from the index"
        return True, "FTS5's own check passes"

    def keyword_index_differences(self) -> tuple[int, int]:
        return self._count(NOT_INDEXED), self._count(NOT_STORED)

    def rows(self) -> list[str]:
        problems = []
        for (doc_id,) in self._conn.execute(WITHOUT_DOCUMENT):
            problems.append(f"the chunks of {doc_id!r} have no note")
        for (doc_id,) in self._conn.execute(MISCOUNTED):
            problems.append(MISCOUNT.format(doc_id))
        return problems

    def vectors(self, *, thorough: bool) -> list[str]:
        return check_vectors(self._conn, thorough=thorough)

    def _count(self, statement: str) -> int:
        return int(self._conn.execute(statement).fetchone()[0])


def check_vectors(conn: sqlite3.Connection, *, thorough: bool = True) -> list[str]:
    """A line for each inconsistency between embeddings, slots and blocks. `rebuild` repairs them,
    except wrong lengths.

    Only a thorough check reads the embeddings, which are most of the database.
    """
    problems = [
        f"chunk {id} has slot {slot}, but there is no such block"
        for id, slot in conn.execute(ASTRAY, (PLACES,))
    ]
    if thorough:
        problems += [
            f"chunk {id} has an embedding or a slot, but not both"
            for (id,) in conn.execute(UNPAIRED)
        ]
    common = read_center(conn)
    dims = len(common) // FLOAT_BYTES
    for block, live, own, size in conn.execute(BLOCKS):
        if own != common or size != bitplanes.plane_count(dims) * len(live):
            problems.append(f"block {block} has the wrong center or size")
            continue
        in_use = bitplanes.mask(
            slot % PLACES for (slot,) in conn.execute(SLOTS_IN_BLOCK, slots_of(block))
        )
        if int.from_bytes(live, "little") != in_use:
            problems.append(f"block {block} has other live places than the slots of its chunks")
        if thorough:
            problems += _check_codes(conn, block, len(live), common)
    return problems


def _check_codes(conn: sqlite3.Connection, block: int, width: int, common: bytes) -> list[str]:
    """A line for each embedding of a block that is invalid or that its code does not match."""
    chunks = {slot % PLACES: (id, data or b"") for id, data, slot in chunks_in(conn, block)}
    planes = read_planes(conn, block)
    limits = bitplanes.thresholds(decode_embedding(common), len(planes) // width)
    problems = []
    codes = {}
    for place, (id, data) in chunks.items():
        vector = decode_embedding(data) if len(data) == len(common) else []
        if not abs(hypot(*vector) - 1) <= 2 * UNIT:  # written so that NaN is found, too
            problems.append(
                f"chunk {id} has an embedding of another dimension, or its length is not 1"
            )
        elif place < 8 * width:
            codes[place] = bitplanes.code(vector, limits)
    if codes:
        wrong = bitplanes.places(
            bitplanes.differing(planes, bitplanes.insert(planes, codes, width), width)
        )
        problems += [
            f"chunk {chunks[place][0]} has a code that does not match its embedding"
            for place in wrong
        ]
    return problems
