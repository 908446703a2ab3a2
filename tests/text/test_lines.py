"""The lines of a text, without a list of all of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.text.characters import Lines, text_of_bytes, with_plain_newlines

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


@given(
    st.lists(
        st.sampled_from(
            [b"a", b"\r", b"\n", b"\r\n", "ä\u2028".encode(), b"\xff", b"\xe4\xb8", b"\xed\xa0\x80"]
        )
    ).map(b"".join),
    st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"]),
)
def test_lines_of_bytes_are_those_of_their_text(data: bytes, mark: bytes) -> None:
    expected = as_list(with_plain_newlines(text_of_bytes(mark + data)))
    assert [*Lines(mark + data)] == expected
    assert [*Lines(text_of_bytes(mark + data))] == expected


def test_an_unpaired_surrogate_stays_in_its_line() -> None:
    assert [*Lines("a\n\ud800")] == ["a", "\ud800"]


def test_a_line_that_is_not_there_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        Lines("a\nb")[2]
