"""Lines that fit a terminal, whatever the script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.text.characters import begins_grapheme
from hybrid_memory.text.width import clipped, columns, wrapped


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("gpu", 3), ("東京", 4), ("ｇｐｕ", 6), ("한국", 4), ("cafe\u0301", 4), ("🚀", 2), ("a\u200bb", 2)],
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
        ("東京のサーバー", 6, ["東京の", "サーバ", "ー"]),
        ("東京のサーバー", 7, ["東京の", "サーバ", "ー"]),  # half a character does not fit
        ("gpu 東京の", 8, ["gpu 東京", "の"]),
        ("xe\u0301e\u0301", 2, ["xe\u0301", "e\u0301"]),
    ],
)
def test_wrapped(text: str, room: int, expected: list[str]) -> None:
    assert wrapped(text, room) == expected


@given(st.text(st.sampled_from("ab 東京é\u0301🚀ー한")), st.integers(2, 12))
def test_every_line_fits_and_no_character_is_lost(text: str, room: int) -> None:
    lines = wrapped(text, room)
    assert all(columns(line) <= room for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(st.text(st.sampled_from("ab 東京é\u0301🚀ー한")), st.integers(3, 12))
def test_what_is_clipped_fits_and_says_so(text: str, room: int) -> None:
    shown = clipped(text, room)
    assert columns(shown) <= room
    assert shown == text or (shown.endswith("…") and text.startswith(shown[:-1]))
    assert shown == text or begins_grapheme(text, len(shown) - 1)
