"""The lines of a text, as citations count them."""

import pytest

from hybrid_memory.text.characters import split_lines, text_of_bytes


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("\n", [""]),
        ("a\n\nb\n", ["a", "", "b"]),
        ("a\r\nb\rc\n\n", ["a", "b", "c", ""]),
        ("\ufeffa\fb\x0b\x85\u2028c\nd", ["a\fb\x0b\x85\u2028c", "d"]),
        ("a\n\ud800", ["a", "\ud800"]),
    ],
)
def test_lines_of_a_text(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("ä\n".encode(), "ä\n"),
        ("\ufeffä".encode(), "\ufeffä"),
        ("\ufeffä".encode("utf-16-le"), "ä"),
        ("\ufeffä".encode("utf-16-be"), "ä"),
        (b"\xff\xe4\xb8a", "\ufffd\ufffda"),
    ],
)
def test_the_text_of_bytes(data: bytes, text: str) -> None:
    assert text_of_bytes(data) == text
