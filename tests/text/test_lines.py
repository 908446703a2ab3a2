"""The lines of a text, without a list of all of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.text.characters import Lines

TEXTS = st.text(st.sampled_from("ab\n\r\f\x0b\x85\u2028"), max_size=40)


def as_list(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if len(lines) > 1 and not lines[-1] else lines


@given(TEXTS, st.integers(0, 20), st.integers(0, 20))
def test_lines_are_those_of_a_list(text: str, first: int, last: int) -> None:
    lines, expected = Lines(text), as_list(text)
    assert [*lines] == lines[:] == expected
    assert len(lines) == len(expected)
    assert lines[first:last] == expected[first:last]
    assert [lines[number] for number in range(len(lines))] == expected
    assert lines[-1] == expected[-1]


def test_a_line_that_is_not_there_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        Lines("a\nb")[2]
