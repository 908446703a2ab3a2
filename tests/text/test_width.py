"""Lines that fit a terminal, whatever the script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.text.characters import begins_grapheme, clipped, columns, wrapped

ANY_TEXT = st.text(
    st.sampled_from("ab 東京é\u0301🚀ー한\u200d🏽🇩🇪\t\n\u200b\u2028") | st.characters(), max_size=80
)


@pytest.mark.parametrize(
    ("text", "expected"), [("gpu", 3), ("ｇｐｕ", 6), ("cafe\u0301", 4), ("🚀", 2), ("a\u200bb", 2)]
)
def test_columns(text: str, expected: int) -> None:
    assert columns(text) == expected


@pytest.mark.parametrize(
    ("text", "room", "expected"),
    [
        ("", 5, [""]),
        ("one two three", 7, ["one two", "three"]),
        ("one elevenwords", 11, ["one", "elevenwords"]),
        ("one twelve-words", 6, ["one tw", "elve-w", "ords"]),
        ("東京のサーバー", 7, ["東京の", "サーバ", "ー"]),  # half a character does not fit
        ("gpu 東京の", 8, ["gpu 東京", "の"]),
        ("xe\u0301e\u0301", 2, ["xe\u0301", "e\u0301"]),
        ("👍🏽x", 2, ["👍", "🏽", "x"]),  # a grapheme that is wider than a line
        ("gpu 東", -6, ["gp", "u", "東"]),
    ],
)
def test_wrapped(text: str, room: int, expected: list[str]) -> None:
    assert wrapped(text, room) == expected


@given(ANY_TEXT, st.integers(-9, 12))
def test_wrapping_ends_in_lines_that_fit_and_loses_no_character(text: str, room: int) -> None:
    lines = wrapped(text, room)
    assert max(map(columns, lines)) <= max(room, 2)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(st.text(st.sampled_from("ab 東京é\u0301🚀ー한")), st.integers(2, 12))
def test_no_line_begins_inside_a_grapheme(text: str, room: int) -> None:
    word = "".join(text.split())
    at = 0
    for line in wrapped(word, room):
        assert begins_grapheme(word, at)
        at += len(line)


@given(st.text(st.sampled_from("ab 東京é\u0301🚀ー한")), st.integers(-3, 12))
def test_what_is_clipped_fits_and_says_so(text: str, room: int) -> None:
    shown = clipped(text, room)
    assert columns(shown) <= max(room, 1)
    assert shown == text or (shown.endswith("…") and text.startswith(shown[:-1]))
    assert shown == text or begins_grapheme(text, len(shown) - 1)
