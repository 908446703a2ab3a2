"""Postings in blocks: a row holds up to SIZE chunks of a term, as one integer for each.

From the highest bit down, such an entry is how far the chunk's id is above that of the block's first chunk, the chunk's length in
tokens (18 bits), and how often it has the term, each column with its weight, in quarters (14 bits). The chunks of a block ascend.
A row for each posting would be six times as large, and most of the work of writing it would be the row's.

Every transaction that adds chunks writes blocks of its own. Once a term has LOOSE small ones, they are merged, so that a posting
is written some four times in its life, as in a log-structured merge tree (O'Neil et al., 1996).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

SIZE = 128  # entries of a block: more would not fit into a row without being stored apart from it
SMALL = 64  # entries: a block with fewer is merged with others
LOOSE = 16  # small blocks of a term
WEIGHT_BITS, LENGTH_BITS = 14, 18
MOST_WEIGHT, MOST_LENGTH = (1 << WEIGHT_BITS) - 1, (1 << LENGTH_BITS) - 1

PLACE = WEIGHT_BITS + LENGTH_BITS  # bits below that of the chunk's place
PAYLOAD = (1 << PLACE) - 1
CHUNK = f"(first + (entry >> {PLACE}))"
WEIGHT = f"((entry & {MOST_WEIGHT})::float8 / 4)"
LENGTH = f"((entry >> {WEIGHT_BITS}) & {MOST_LENGTH})"

# Blocks of the rows (term, space, chunk, payload) of `loose`.
PACKED = f"""
select term, space, first, max(chunk), array_agg((chunk - first) << {PLACE} | payload order by chunk)
from   (select *, min(chunk) over (partition by term, block) as first
        from (select *, (row_number() over (partition by term order by chunk) - 1) / {SIZE} as block from loose) numbered) placed
group  by term, space, block, first
"""
MERGE = f"""
with gone as (
    delete from postings where term = any(%(terms)s) and cardinality(entries) < {SMALL} returning term, space, first, entries
), loose as (
    select term, space, {CHUNK} as chunk, entry & {PAYLOAD} as payload
    from   (select term, space, first, unnest(entries) as entry from gone) one
), merged as (
    update terms set loose = 0 where id = any(%(terms)s)
)
insert into postings (term, space, first, last, entries) {PACKED}
"""


class Block(NamedTuple):
    """A row of the table, its entries as an array is written."""

    term: int
    first: int
    last: int
    entries: str


def payload(length: int) -> int:
    """What the entry of a chunk of so many tokens says besides its place, the weight left open."""
    return min(length, MOST_LENGTH) << WEIGHT_BITS


def blocks(term: int, entries: Sequence[int]) -> Iterator[Block]:
    """The blocks of a term's entries, which ascend and have whole ids as their places."""
    for start in range(0, len(entries), SIZE):
        some = entries[start : start + SIZE]
        first = some[0] >> PLACE
        base = first << PLACE
        yield Block(term, first, some[-1] >> PLACE, f"{{{','.join([str(entry - base) for entry in some])}}}")


def decoded(rows: str, *columns: str) -> str:
    """SQL for the postings (chunk, weight, length, and these columns) in the blocks that a FROM clause gives."""
    more = "".join(f", {column}" for column in columns)
    return f"""
        select {CHUNK} as chunk, {WEIGHT} as weight, {LENGTH} as length{more}
        from   (select first, unnest(entries) as entry{more} from {rows}) block
    """
