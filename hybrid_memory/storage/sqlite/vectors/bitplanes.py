"""Find the vectors most likely nearest to a query with bitwise operations on big integers. Pure; knows no storage.

Dot products are what makes a vector search slow in Python. So all vectors are first put in the order of a rough dot
product, and only a few hundred need the exact one. Each is cut to one bit for each dimension, and Python's int, which
does `&` and `^` on thousands of bits at a time, serves as the vector unit.

The code. A *block* has 8,192 *places* of one vector each. For dimension j it has one int, the *plane* of j, whose bit i
tells whether component j of the vector at place i is above the center's; the center is the mean of some of the vectors.

    dimension      0     1     2               place     2  1  0
    place 0      0.9  -0.1   0.3               plane 0   0  0  1
    place 1     -0.2   0.5   0.4       ->      plane 1   1  1  0
    place 2     -0.7   0.2  -0.1               plane 2   0  1  1         (about the center 0, 0, 0)

Signs keep angles: the more of them two vectors share, the smaller the angle between them (Charikar, "Similarity estimation
techniques from rounding algorithms", 2002). Without the center, a component common to all vectors would give all of them
the same signs.

The score. Cutting one side to bits loses much less than cutting both (Gordo et al., "Asymmetric distances for binary
embeddings", 2014). So dimension j has a weight, the query's component as an integer of -3..3, and

    score of a place = sum of |weight j| over the dimensions j where its bit is the weight's sign

where 1 is the sign of positive weights. For negative ones the plane is flipped, and then it is all sums of planes.

The sums. Those of a block are taken at once, in *counters*: bit i of counter b is bit b of the score of place i. A full
adder makes two planes of three: a ^ b ^ c, which counts as much as they do, and their majority, which counts twice. Adding
768 planes up takes 384 adders and leaves one counter and 384 carries, those take 192 adders, and so on: five operations on
1 KiB for each plane, in place of 8,192 additions. It is the carry-save adder tree by which Harley and Seal count the bits
of long arrays (Warren, "Hacker's Delight", 2nd ed., section 5-1). A plane of weight 3 = 2 + 1 enters it at two levels.

The best. The highest k scores are chosen on the counters, from the highest down (O'Neil and Quass, "Improved query
performance with variant indexes", 1997). Of the places that tie so far, those with the counter's bit set beat the rest:
when they are k or fewer, all are chosen, and the rest go on to compete for what is left of k; when they are more, they
alone go on. Each step is an `&` and an `int.bit_count`. Center and weights are the same for all blocks, hence so is the
scale of their scores, and k is chosen from all blocks together.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import add, gt, mul

PLACES = 8192  # to a block: 1 KiB a plane. Longer ints are little faster, and a change rewrites the whole block
WEIGHT_BITS = 2  # 3 make a scan a third longer to save one candidate in five; 1 takes many more
DIGITS = bytes.maketrans(b"\0\1", b"01")


def mean(vectors: Iterable[Sequence[float]]) -> list[float]:
    """By component; of one vector or more."""
    rest = iter(vectors)
    total, n = list(next(rest)), 1
    for vector in rest:
        total, n = list(map(add, total, vector)), n + 1
    return [component / n for component in total]


def code(vector: Sequence[float], center: Sequence[float]) -> bytes:
    """A digit for each dimension: [0.9, -0.1, 0.0] about 0 -> b"100". In a sparse vector, what is zero stays 0."""
    return bytes(map(gt, vector, center)).translate(DIGITS)


def insert(planes: bytes, codes: Mapping[int, bytes], width: int) -> bytes:
    """A block's planes, one after the other (b"" at first), with these codes at these places, in `width` bytes each."""
    dims = len(next(iter(codes.values())))
    old_width = len(planes) // dims
    first, last = min(codes), max(codes)
    blank = b"0" * dims
    digits = b"".join(codes.get(place, blank) for place in range(last, first - 1, -1))  # the order in which int() reads
    others = ~mask(codes)
    result = bytearray()
    for j in range(dims):
        plane = int.from_bytes(planes[j * old_width : (j + 1) * old_width], "little") & others
        plane |= int(digits[j::dims], 2) << first
        result += plane.to_bytes(width, "little")
    return bytes(result)


def differing(planes: bytes, others: bytes, width: int) -> int:
    """The mask of the places that have another code in the others."""
    result = 0
    for start in range(0, len(planes), width):
        plane, other = planes[start : start + width], others[start : start + width]
        result |= int.from_bytes(plane, "little") ^ int.from_bytes(other, "little")
    return result


def weights(query: Sequence[float], center: Sequence[float]) -> dict[int, int]:
    """By dimension, where not 0: the query in integers, less what it has of the center, along which all vectors are alike.

    That is all of the center for a query that is like the vectors. For one less like them, as questions are, subtracting
    all would leave it pointing away from the center, and from every vector with it.
    """
    share = sum(map(mul, query, center)) / (sum(map(mul, center, center)) or 1.0)
    share = min(max(share, 0.0), 1.0)
    rest = [q - share * c for q, c in zip(query, center, strict=True)]
    largest = max(map(abs, rest)) or 1.0
    rounded = (round(component / largest * (2**WEIGHT_BITS - 1)) for component in rest)
    return {j: weight for j, weight in enumerate(rounded) if weight}


def counters(planes: bytes, width: int, weights: Mapping[int, int]) -> list[int]:
    """The scores of a block's places, lowest bits first. The same weights give every block as many counters."""
    ones = (1 << 8 * width) - 1
    levels: list[list[int]] = [[] for _ in range(WEIGHT_BITS)]  # planes that count 1, planes that count 2
    entered = [[level for b, level in enumerate(levels) if weight >> b & 1] for weight in range(2**WEIGHT_BITS)]
    for j, weight in weights.items():
        plane = int.from_bytes(planes[j * width : (j + 1) * width], "little")
        if weight < 0:
            plane, weight = plane ^ ones, -weight
        for level in entered[weight]:
            level.append(plane)
    result: list[int] = []
    carries: list[int] = []
    while levels or carries:
        total, carries = _add((levels.pop(0) if levels else []) + carries)
        result.append(total)
    return result


def _add(planes: list[int]) -> tuple[int, list[int]]:
    """By places: the lowest bit of the sum, and the planes that add up to half of what remains."""
    total = planes.pop() if len(planes) % 2 else 0
    carries = []
    pairs = iter(planes)
    for a, b in zip(pairs, pairs, strict=True):
        half = a ^ b
        carries.append(a & b | half & total)
        total ^= half
    return total, carries


def best(blocks: Sequence[Sequence[int]], among: Sequence[int], k: int) -> list[int]:
    """The k places with the highest scores, and what ties with the last, as a mask for each block.

    `blocks` are the counters of one block or more, `among` the masks of the places to choose from.
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
    return [c | t for c, t in zip(chosen, tied, strict=True)] if k else chosen


def ranked(blocks: Sequence[Sequence[int]], among: Sequence[int], k: int) -> Iterator[list[int]]:
    """All places by falling scores: the best k, as many again, then twice as many, and so on, as `best` gives them."""
    seen = 0
    while any(among):
        chosen = best(blocks, among, k)
        among = [a ^ c for a, c in zip(among, chosen, strict=True)]
        seen += k
        k = seen
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
