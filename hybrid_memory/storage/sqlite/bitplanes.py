"""Find the vectors that are most likely nearest to a query, with bitwise operations on big
integers. Reads no database.

A vector search in Python is slow because of the dot products. Therefore all vectors are first
ordered by a rough dot product, and the exact one is computed batch by batch, until a batch changes
little (vectors.py). For the rough one, each vector is reduced to one bit for each dimension.
Python's int does `&` and `^` on thousands of bits at a time, as the vector unit of a processor
would.

The code of a vector is the row of its bits. A *block* has 8,192 *places*, and each place has one
vector. For each dimension j, the block has one int, the *plane* of j. Bit i of this plane is set
if component j of the vector at place i is greater than component j of the center. The center
is the mean of some of the vectors.

    dimension      0     1     2               place     2  1  0
    place 0      0.9  -0.1   0.3               plane 0   0  0  1
    place 1     -0.2   0.5   0.4       ->      plane 1   1  1  0
    place 2     -0.7   0.2  -0.1               plane 2   0  1  1         (about the center 0, 0, 0)

The signs give the angle: the more signs two vectors share, the smaller the angle between them
(Charikar, "Similarity estimation techniques from rounding algorithms", 2002). The center is
subtracted because a component that is large in all vectors would otherwise give all of them the
same sign.

Signs alone distinguish vectors of few dimensions badly. With fewer than 512 dimensions, each has a
second plane, which holds the *fine bits*. Both bits together are a number from 0 to 3: far below
the center, below it, above it, far above it. "Far" is farther than the root mean square of all
components' distances from the center. The four numbers stand for the distances -3, -1, 1 and 3 in
some unit, so a sign counts twice as much as a fine bit. The planes of the signs come first.

The score of a place is a rough dot product. If only one of the two vectors is reduced to bits, much
less is lost than if both are (Gordo et al., "Asymmetric distances for binary embeddings", 2014).
Therefore each plane j has a weight: the query's component of its dimension, as an integer from -3 to
3, doubled for a sign that has a fine bit. And

    score of a place = sum of |weight j| over the planes j where its bit is the sign of weight j

The sign of a positive weight is 1, that of a negative weight is 0. The planes of negative weights
are inverted, so that the scores are sums of planes.

The sums of a whole block are computed at once, in *counters*: bit i of counter b is bit b of the
score of place i. A full adder turns three planes a, b and c of the same value into two: a ^ b ^ c,
which has that value, and their majority, which has twice that value. Adding 768 planes takes 384
adders and gives one counter and 384 carries. Adding these takes 192 adders, and so on. This makes
five operations on 1 KiB for each plane, instead of 8,192 additions. It is the tree of carry-save
adders with which Harley and Seal count the bits of long arrays (Warren, "Hacker's Delight", 2nd
ed., section 5-1). A plane with the weight 3 = 2 + 1 enters the tree at two levels.

The k places with the highest scores are found with the counters, beginning with the counter of the
highest bit (O'Neil and Quass, "Improved query performance with variant indexes", 1997). Among the
places that are equal so far, those where the counter's bit is set have the higher scores. If there
are at most k of them, all are chosen, and the other places compete for the rest of k at the next
counter. If there are more than k, only they compete there. Each step is one `&` and one
`int.bit_count`. All blocks have the same center and the same weights. Their scores can therefore be
compared, and the k places are chosen from all blocks together.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, sqrt
from operator import add, gt, mul

# In a block, so that a plane has 1 KiB. Longer ints are only a little faster, and a change rewrites
# the whole block
PLACES = 8192
# With 3, a scan takes a third longer and needs a fifth fewer candidates; with 1, it needs many more
WEIGHT_BITS = 2
# With this number of dimensions, signs are enough. Fine bits double the time of a scan, and with 256
# dimensions, they leave a quarter of the candidates
MANY_DIMENSIONS = 512
DIGITS = bytes.maketrans(b"\0\1", b"01")


def mean(vectors: Iterable[Sequence[float]]) -> list[float]:
    """The mean of at least one vector, component by component."""
    rest = iter(vectors)
    total = list(next(rest))
    n = 1
    for vector in rest:
        total = list(map(add, total, vector))
        n = n + 1
    return [component / n for component in total]


def plane_count(dims: int) -> int:
    """The number of planes of a block: one or two for each dimension."""
    return dims if dims >= MANY_DIMENSIONS else 2 * dims


def thresholds(center: Sequence[float], planes: int) -> list[Sequence[float]]:
    """The vectors that `code` compares with: the center, and if there are `planes` for fine bits,
    what is far below it and far above it.

    The root mean square of the distances from the center follows from the length of all vectors,
    which is 1.
    """
    dims = len(center)
    if planes == dims:
        return [center]
    far = sqrt(max(1 - sum(map(mul, center, center)), 0.0) / dims)
    return [center, [c - far for c in center], [c + far for c in center]]


def code(vector: Sequence[float], limits: Sequence[Sequence[float]]) -> bytes:
    """A digit for each plane, by the `thresholds`: [0.9, -0.1, 0.0] -> b"100" by [0.0, 0.0, 0.0]."""
    signs, *others = [bytes(map(gt, vector, limit)) for limit in limits]
    fine = b""
    if others:
        # Set for components below the center, but not far below it, and for those far above it
        not_far_below, far_above = map(int.from_bytes, others)
        fine = (int.from_bytes(signs) ^ not_far_below ^ far_above).to_bytes(len(signs))
    return (signs + fine).translate(DIGITS)


def insert(planes: bytes, codes: Mapping[int, bytes], width: int) -> bytes:
    """Put codes at these places into the planes of a block, and return the planes.

    The planes follow each other, in `width` bytes each. The planes of an empty block are b"".
    """
    count = len(next(iter(codes.values())))
    old_width = len(planes) // count
    first = min(codes)
    last = max(codes)
    blank = b"0" * count
    # `int()` reads the highest place first
    digits = b"".join(codes.get(place, blank) for place in range(last, first - 1, -1))
    others = ~mask(codes)
    result = bytearray()
    for j in range(count):
        plane = int.from_bytes(planes[j * old_width : (j + 1) * old_width], "little") & others
        plane |= int(digits[j::count], 2) << first
        result += plane.to_bytes(width, "little")
    return bytes(result)


def differing(planes: bytes, others: bytes, width: int) -> int:
    """The mask of the places whose codes in `planes` and in `others` differ."""
    result = 0
    for start in range(0, len(planes), width):
        plane = planes[start : start + width]
        other = others[start : start + width]
        result |= int.from_bytes(plane, "little") ^ int.from_bytes(other, "little")
    return result


def weights(query: Sequence[float], center: Sequence[float], planes: int) -> dict[int, int]:
    """The weights that are not 0, by plane: the query as integers, without its share of the center.

    All vectors have the center in common, so it does not change their order. If the query is
    similar to the vectors, the whole center is subtracted. A question, for example, is less similar
    to them: if the whole center were subtracted, the rest would point away from the center, and
    therefore away from every vector.
    """
    share = sum(map(mul, query, center)) / (sum(map(mul, center, center)) or 1.0)
    share = min(max(share, 0.0), 1.0)
    rest = [q - share * c for q, c in zip(query, center, strict=True)]
    largest = max(map(abs, rest)) or 1.0
    rounded = [round(component / largest * (2**WEIGHT_BITS - 1)) for component in rest]
    if planes > len(center):
        rounded = [2 * weight for weight in rounded] + rounded
    return {j: weight for j, weight in enumerate(rounded) if weight}


def counters(planes: bytes, width: int, weights: Mapping[int, int]) -> list[int]:
    """The scores of the places of a block, as counters, the one of the lowest bit first.

    With the same weights, every block has the same number of counters.
    """
    ones = (1 << 8 * width) - 1
    # Planes with the value 1, with the value 2, and with the value 4
    levels: list[list[int]] = [[] for _ in range(WEIGHT_BITS + 1)]
    entered = [
        [level for b, level in enumerate(levels) if weight >> b & 1]
        for weight in range(2 ** (WEIGHT_BITS + 1))
    ]
    for j, weight in weights.items():
        plane = int.from_bytes(planes[j * width : (j + 1) * width], "little")
        if weight < 0:
            plane = plane ^ ones
            weight = -weight
        for level in entered[weight]:
            level.append(plane)
    result: list[int] = []
    carries: list[int] = []
    while levels or carries:
        total, carries = _add((levels.pop(0) if levels else []) + carries)
        result.append(total)
    return result


def _add(planes: list[int]) -> tuple[int, list[int]]:
    """For each place, the lowest bit of the sum, and planes (the carries) whose sum is half of the
    rest.
    """
    total = planes.pop() if len(planes) % 2 else 0
    carries = []
    pairs = iter(planes)
    for a, b in zip(pairs, pairs, strict=True):
        half = a ^ b
        carries.append(a & b | half & total)
        total ^= half
    return total, carries


def best(blocks: Sequence[Sequence[int]], among: Sequence[int], k: int) -> list[int]:
    """The k places with the highest scores, and those whose score equals the last of these, as a
    mask for each block.

    `blocks` has the counters of each of one or more blocks, `among` the masks of the places to
    choose from.
    """
    chosen = [0] * len(blocks)
    tied = list(among)
    for counter in zip(*map(reversed, blocks), strict=True):
        higher = [t & c for t, c in zip(tied, counter, strict=True)]
        n = sum(map(int.bit_count, higher))
        if n > k:
            tied = higher
        else:
            k -= n
            chosen = [c | h for c, h in zip(chosen, higher, strict=True)]
            tied = [t ^ h for t, h in zip(tied, higher, strict=True)]
    if k:
        return [c | t for c, t in zip(chosen, tied, strict=True)]
    return chosen


def ranked(blocks: Sequence[Sequence[int]], among: Sequence[int], k: int) -> Iterator[list[int]]:
    """Yield all places, the highest scores first: the best k, and then each time half as many as
    all before, as `best` gives them.
    """
    seen = 0
    while any(among):
        chosen = best(blocks, among, k)
        among = [a ^ c for a, c in zip(among, chosen, strict=True)]
        seen += k
        k = ceil(seen / 2)
        yield chosen


def mask(places: Iterable[int]) -> int:
    """[0, 3] -> 0b1001"""
    bits = bytearray(PLACES // 8)
    for place in places:
        bits[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(bits, "little")


def places(mask: int) -> Iterator[int]:
    """0b1001 -> 0, 3"""
    digits = bin(mask)[:1:-1]
    place = digits.find("1")
    while place >= 0:
        yield place
        place = digits.find("1", place + 1)
