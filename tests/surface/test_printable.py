"""Texts without anything that a terminal would obey."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.surface.streams import json_text, printable, single_line


def is_obeyed(character: str) -> bool:
    """Whether it is a control character, a line or paragraph separator, or a mark of direction."""
    in_bidi_control = unicodedata.bidirectional(character) in (
        "LRE",
        "RLE",
        "LRO",
        "RLO",
        "PDF",
        "LRI",
        "RLI",
        "FSI",
        "PDI",
    )
    return (
        unicodedata.category(character) in ("Cc", "Zl", "Zp")
        or in_bidi_control
        or character in "\u200e\u200f\u061c"
    )


OBEYED = [character for character in map(chr, range(0x10000)) if is_obeyed(character)]


@pytest.mark.parametrize(
    ("text", "lines", "line"),
    [
        ("a\r\nb\rc\u2028d\u2029e\n", "a\nb\nc\nd\ne\n", "a b c d e "),
        ("a\tb  c", "a\tb  c", "a b c"),
        ("\033[31mred\x9b2J", "\ufffd[31mred\ufffd2J", "\ufffd[31mred\ufffd2J"),
        ("x\u202ey\u200fz", "xyz", "xyz"),
        ("👩\u200d💻 é 東\u3000京", "👩\u200d💻 é 東\u3000京", "👩\u200d💻 é 東 京"),
    ],
)
def test_what_a_terminal_would_obey_is_replaced(text: str, lines: str, line: str) -> None:
    assert (printable(text), single_line(text)) == (lines, line)


def test_nothing_that_a_terminal_would_obey_is_left() -> None:
    text = "".join(OBEYED)
    assert set(filter(is_obeyed, printable(text))) == {"\t", "\n"}
    assert not any(map(is_obeyed, single_line(text)))
    assert set(filter(is_obeyed, json_text([text], indent=2))) == {"\n"}
    assert not any(map(is_obeyed, json_text({text: text})))


@given(
    st.recursive(
        st.text(st.sampled_from(OBEYED) | st.characters(), max_size=9),
        lambda value: st.lists(value, max_size=3),
    )
)
def test_escaped_json_means_the_same(value: object) -> None:
    assert json.loads(json_text(value)) == value
