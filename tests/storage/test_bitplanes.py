import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.storage.sqlite import bitplanes

WEIGHT = st.integers(-3, 3)


def planes_of(codes: list[bytes], width: int = 8) -> bytes:
    return bitplanes.insert(b"", dict(enumerate(codes)), width)


def counters_of(codes: list[bytes], weights: list[int]) -> list[int]:
    return bitplanes.counters(
        planes_of(codes), 8, {j: weight for j, weight in enumerate(weights) if weight}
    )


def scores_of(counters: list[int], n: int) -> list[int]:
    return [
        sum((counter >> place & 1) << b for b, counter in enumerate(counters)) for place in range(n)
    ]


@st.composite
def blocks(draw: st.DrawFn) -> tuple[list[list[bytes]], list[int]]:
    """Codes of one to three blocks, and weights."""
    dims = draw(st.integers(1, 30))
    code = st.integers(0, 2**dims - 1).map(lambda number: f"{number:0{dims}b}".encode())
    codes = draw(st.lists(st.lists(code, min_size=1, max_size=30), min_size=1, max_size=3))
    return codes, draw(st.lists(WEIGHT, min_size=dims, max_size=dims))


def expected_score(code: bytes, weights: list[int]) -> int:
    return sum(
        abs(weight)
        for bit, weight in zip(code, weights, strict=True)
        if (bit == ord("1")) == (weight > 0)
    )


def test_the_planes_of_three_vectors_as_the_docstring_draws_them() -> None:
    vectors = [[0.9, -0.1, 0.3], [-0.2, 0.5, 0.4], [-0.7, 0.2, -0.1]]
    planes = planes_of([bitplanes.code(vector, [[0, 0, 0]]) for vector in vectors], 1)
    assert list(planes) == [0b001, 0b110, 0b011]


@given(blocks())
def test_counters_hold_the_weighted_sums(drawn: tuple[list[list[bytes]], list[int]]) -> None:
    for codes, weights in [(codes, drawn[1]) for codes in drawn[0]]:
        scores = scores_of(counters_of(codes, weights), len(codes))
        assert scores == [expected_score(code, weights) for code in codes]


@given(blocks(), st.integers(1, 100), st.randoms(use_true_random=False))
def test_best_are_the_highest_scores_of_all_blocks_and_those_that_tie_with_the_last(
    drawn: tuple[list[list[bytes]], list[int]], k: int, rnd: random.Random
) -> None:
    codes, weights = drawn
    allowed = [[place for place in range(len(block)) if rnd.random() < 0.8] for block in codes]
    counters = [counters_of(block, weights) for block in codes]
    chosen = bitplanes.best(counters, [bitplanes.mask(places) for places in allowed], k)
    scores = sorted(
        (expected_score(codes[b][p], weights) for b, places in enumerate(allowed) for p in places),
        reverse=True,
    )
    bar = scores[:k][-1] if scores else 0
    for block, places, mask in zip(codes, allowed, chosen, strict=True):
        assert list(bitplanes.places(mask)) == [
            place for place in places if expected_score(block[place], weights) >= bar
        ]


@given(blocks(), st.integers(1, 5))
def test_ranked_gives_every_place_once_in_falling_order(
    drawn: tuple[list[list[bytes]], list[int]], k: int
) -> None:
    codes, weights = drawn
    counters = [counters_of(block, weights) for block in codes]
    lots = [
        [
            expected_score(codes[b][place], weights)
            for b, mask in enumerate(chosen)
            for place in bitplanes.places(mask)
        ]
        for chosen in bitplanes.ranked(
            counters, [bitplanes.mask(range(len(block))) for block in codes], k
        )
    ]
    flat = [score for lot in lots for score in sorted(lot, reverse=True)]
    assert flat == sorted(
        (expected_score(code, weights) for block in codes for code in block), reverse=True
    )


def test_ranked_adds_half_of_what_it_has_given() -> None:
    # The counters of the scores 0 to 63, so that no place ties with the last one of a lot
    counters = [[bitplanes.mask(n for n in range(64) if n >> bit & 1) for bit in range(6)]]
    lots = bitplanes.ranked(counters, [bitplanes.mask(range(64))], 8)
    assert [chosen[0].bit_count() for chosen in lots] == [8, 4, 6, 9, 14, 21, 2]


def test_a_vector_of_few_dimensions_has_a_number_from_0_to_3_for_each_distance() -> None:
    limits = bitplanes.thresholds([0.0, 0.0, 0.0, 0.0], 8)  # far is farther than 1/2
    signs_and_fine_bits = bitplanes.code([-0.7, -0.3, 0.3, 0.7], limits)
    signs, fine = signs_and_fine_bits[:4], signs_and_fine_bits[4:]
    numbers = [
        2 * int(sign) + int(bit) for sign, bit in zip(signs.decode(), fine.decode(), strict=True)
    ]
    assert numbers == [0, 1, 2, 3]


def test_with_many_dimensions_there_are_only_signs() -> None:
    for dims, count in ((511, 1022), (512, 512)):
        center = [0.0] * dims
        assert bitplanes.plane_count(dims) == count
        assert len(bitplanes.code(center, bitplanes.thresholds(center, count))) == count
        assert set(bitplanes.weights([1.0] * dims, center, count)) == set(range(count))


@pytest.mark.parametrize(
    ("query", "center", "expected"),
    [
        ([3.0, -1.0, 0.0], [0.0, 0.0, 0.0], {0: 3, 1: -1}),  # no center
        (
            [0.9, 0.3, 0.0],
            [0.6, 0.0, 0.0],
            {0: 3, 1: 3},
        ),  # more of the center than the center itself: all of it taken
        ([0.3, 0.6, 0.0], [0.6, 0.0, 0.0], {1: 3}),  # half of it: only what there is
        ([-0.6, 0.6, 0.0], [0.6, 0.0, 0.0], {0: -3, 1: 3}),  # turned away from it: nothing taken
        ([0.6, 0.0, 0.0], [0.6, 0.0, 0.0], {}),
    ],
)
def test_weights_are_the_query_less_its_share_of_the_center(
    query: list[float], center: list[float], expected: dict[int, int]
) -> None:
    assert bitplanes.weights(query, center, len(query)) == expected
    signs = {j: 2 * weight for j, weight in expected.items()}
    fine = {len(query) + j: weight for j, weight in expected.items()}
    assert bitplanes.weights(query, center, 2 * len(query)) == signs | fine
