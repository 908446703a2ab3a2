"""Propose the vectors likely to be nearest to a query, by bitwise arithmetic on big integers. Pure; knows no storage.

The dot product with every stored vector is what makes a search slow in Python. This module ranks all of them by a rough
dot product first, so that only a few hundred need the exact one. Each vector is reduced to one bit per dimension, and
Python's int, which does `&`, `|` and `^` on thousands of bits at a time, is the vector unit.

The code. A *block* has up to 8,192 places, one vector each. For every dimension j it holds one int, the *plane* of j: bit i
tells whether component j of the vector at place i is above the center's, the center being the mean of some stored vectors.
Signs of vectors keep their angles (Charikar, "Similarity estimation techniques from rounding algorithms", 2002); without
the center, a component that all vectors share would set the same bits in all of them and say nothing.

    dimension         0     1     2               place       4 3 2 1 0
    at place 0      0.9  -0.1   0.3               plane 0     . . 0 0 1
    at place 1     -0.2   0.5   0.4       ->      plane 1     . . 1 1 0
    at place 2     -0.7   0.2  -0.1               plane 2     . . 0 1 1        (center 0)

The score. Only the stored side is cut to bits (an "asymmetric" distance: Gordo et al., "Asymmetric distances for binary
embeddings", 2014). The query gives dimension j the weight w[j], an integer of -7..7 in proportion to its component, and

    score of a vector = sum of w[j] where its bit is 1, and of -w[j] where a negative weight meets a 0

which grows with the query's dot product with the signs. Where w[j] < 0, `counters` flips the plane, so it only ever adds.

The sum. All scores of a block are counted side by side: counter b is an int whose bit i is bit b of place i's score. Three
ints of the same worth become two, as in any full adder: a ^ b ^ c, worth as much, and the majority of a, b and c, worth
twice that. So 768 planes of worth 1 take some 384 adders and leave 384 carries of worth 2, these take 192, and so on: five
operations on 1 KiB for each weighted plane, instead of 8,192 additions. This is the carry-save adder tree that Harley and
Seal count bits with (Warren, "Hacker's Delight", 2nd ed., 5-1); a weight of 6 enters at worth 4 and at worth 2.

The choice. `best` finds the k highest scores on the counters themselves, from the top bit down (O'Neil and Quass, "Improved
query performance with variant indexes", 1997, algorithm 4.3). Of the places that are tied so far, those with the bit set
beat the others: if no more than k, all are in and the rest compete for what remains; if more, the rest is out. One
`int.bit_count` a step and block decides. All blocks share center and weights, so this is one ranking over all of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import add, gt, mul

PLACES = 8192  # to a block: 1 KiB a plane; longer ints gain little speed, and a block is rewritten whole
WEIGHT_BITS = 3  # on real embeddings 2 find a little less, 4 nothing more
DIGITS = bytes.maketrans(b"\0\1", b"01")


def mean(vectors: Iterable[Sequence[float]]) -> list[float]:
    """The mean of at least one vector, by component."""
    rest = iter(vectors)
    total, n = list(next(rest)), 1
    for n, vector in enumerate(rest, 2):  # noqa: B007
        total = list(map(add, total, vector))
    return [component / n for component in total]


def code(vector: Sequence[float], center: Sequence[float]) -> bytes:
    """One digit for each dimension: [0.9, -0.1, 0.3], center 0 -> b"101". Above, not at: zeros of sparse vectors are 0."""
    return bytes(map(gt, vector, center)).translate(DIGITS)


def insert(planes: bytes, codes: Mapping[int, bytes], width: int) -> bytes:
    """The planes with the codes written to their places, each plane made `width` bytes long; b"" is a block's beginning."""
    dims = len(next(iter(codes.values())))
    old = len(planes) // dims
    first, last = min(codes), max(codes)
    blank = b"0" * dims
    digits = b"".join(codes.get(place, blank) for place in range(last, first - 1, -1))  # int() reads the highest first
    keep = ~mask(codes)
    result = bytearray()
    for j in range(dims):
        plane = int.from_bytes(planes[j * old : (j + 1) * old], "little") & keep
        plane |= int(digits[j::dims], 2) << first
        result += plane.to_bytes(width, "little")
    return bytes(result)


def differing(a: bytes, b: bytes, width: int) -> int:
    """The mask of the places whose codes differ between two blocks of planes."""
    result = 0
    for start in range(0, len(a), width):
        result |= int.from_bytes(a[start : start + width], "little") ^ int.from_bytes(b[start : start + width], "little")
    return result


def weights(query: Sequence[float], center: Sequence[float]) -> list[int]:
    """The query in whole numbers, less its share of the center.

    Along the center all vectors look alike, so signs there are noise. Subtracting the whole center is right for a query
    that is like the vectors; one that has less of it (questions often do) would come to point away from it.
    """
    share = sum(map(mul, query, center)) / (sum(map(mul, center, center)) or 1.0)
    share = min(max(share, 0.0), 1.0)
    rest = [q - share * c for q, c in zip(query, center, strict=True)]
    largest = max(map(abs, rest)) or 1.0
    return [round(component / largest * (2**WEIGHT_BITS - 1)) for component in rest]


def counters(planes: bytes, weights: Sequence[int]) -> list[int]:
    """The scores of a block's places, bit by bit, lowest first. As many ints for every block, given the same weights."""
    width = len(planes) // len(weights)
    ones = (1 << 8 * width) - 1
    levels: list[list[int]] = [[] for _ in range(WEIGHT_BITS)]  # level b: the planes that count 2 ** b
    entered = [[level for b, level in enumerate(levels) if w >> b & 1] for w in range(2**WEIGHT_BITS)]
    for j, weight in enumerate(weights):
        if weight:
            plane = int.from_bytes(planes[j * width : (j + 1) * width], "little")
            if weight < 0:
                plane ^= ones
            for level in entered[abs(weight)]:
                level.append(plane)
    return _sum(levels)


def _sum(levels: list[list[int]]) -> list[int]:
    result: list[int] = []
    carries: list[int] = []
    while carries or len(result) < len(levels):
        terms = carries + (levels[len(result)] if len(result) < len(levels) else [])
        total, carries = terms.pop() if len(terms) % 2 else 0, []
        pairs = iter(terms)
        for a, b in zip(pairs, pairs, strict=True):
            half = a ^ b
            carries.append(a & b | half & total)
            total ^= half
        result.append(total)
    return result


def best(blocks: Sequence[Sequence[int]], among: Sequence[int], k: int) -> list[int]:
    """Of the places `among` (a mask for each block's counters), the k with the highest scores and all tied with the k-th."""
    chosen = [0] * len(among)
    tied = list(among)
    for level in reversed(range(len(blocks[0]) if blocks else 0)):
        higher = [places & counter[level] for places, counter in zip(tied, blocks, strict=True)]
        n = sum(map(int.bit_count, higher))
        if n > k:
            tied = higher
        else:
            k -= n
            chosen = [c | h for c, h in zip(chosen, higher, strict=True)]
            tied = [t ^ h for t, h in zip(tied, higher, strict=True)]
    return [c | t for c, t in zip(chosen, tied, strict=True)] if k else chosen


def mask(places: Iterable[int]) -> int:
    """[0, 3] -> 0b1001"""
    bits = bytearray(PLACES // 8)
    for place in places:
        bits[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(bits, "little")


def places(mask: int) -> list[int]:
    """0b1001 -> [0, 3]"""
    digits = bin(mask)[:1:-1]  # lowest first
    found, place = [], digits.find("1")
    while place >= 0:
        found.append(place)
        place = digits.find("1", place + 1)
    return found
