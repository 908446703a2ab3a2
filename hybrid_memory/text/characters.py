"""Functions of characters: lines, graphemes, scripts without spaces, and which characters can be stored."""

import re
import unicodedata

# Thai and Lao, Burmese, Khmer, kana, Chinese: scripts that put no spaces between words. For use inside [...].
UNSPACED = r"\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

_NO_BREAK_SPACES = dict.fromkeys((0xA0, 0x2007, 0x202F), " ")
_ZERO_WIDTH_JOINER = "\u200d"
# These patterns are compiled when they are first needed, because many searches do not need them.
_EXTENDS = (  # belongs to the character before it although it is not a mark in unicodedata: joiners, vowels, skin tones, jamo
    "[\u200c\u200d\u0e33\u0eb3\uff9e\uff9f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\u1160-\u11ff\ud7b0-\ud7fb]"
)
_LEADS = "[\u1100-\u115f\ua960-\ua97c\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2]"  # jamo, Arabic number signs
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))  # two make a flag
_LONGEST_FLAG_RUN = 64  # letters that are looked at, so that a text of flags takes linear time
_VIRAMA = 9  # the combining class of the sign that joins two consonants


def storable(text: str) -> str:
    """The text with question marks in place of unpaired surrogates, which UTF-8 and therefore SQLite cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def storable_name(name: str) -> str:
    """A file name with escapes for the bytes that are not UTF-8. Python shows these bytes as unpaired surrogates."""
    return name.encode("utf-8", "backslashreplace").decode()


def with_plain_newlines(text: str) -> str:
    """The text without a byte order mark, and with a line feed at the end of every line. The number of lines stays the same."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def with_plain_space(text: str) -> str:
    """The text with plain newlines and spaces, none at the end of a line, and one blank line where there were several.

    The beginnings of lines stay, as the indentation of code is part of it.
    """
    lines = with_plain_newlines(text).translate(_NO_BREAK_SPACES).split("\n")
    return re.sub("\n{3,}", "\n\n", "\n".join(map(str.rstrip, lines)))


def begins_grapheme(text: str, at: int) -> bool:
    """Whether a reader sees text[at - 1] and text[at] as two characters, so that the text may be cut between them.

    The rules are those of Unicode's UAX 29 as far as unicodedata has the properties. In doubt the answer is no.
    """
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if before.isascii() and after.isascii():
        return before != "\r" or after != "\n"
    if unicodedata.category(after)[0] == "M" or re.match(_EXTENDS, after) or before == _ZERO_WIDTH_JOINER:
        return False
    if after.isalnum() and (re.match(_LEADS, before) or unicodedata.combining(before) == _VIRAMA):
        return False
    if before in _FLAG_LETTERS and after in _FLAG_LETTERS:
        run = text[max(at - _LONGEST_FLAG_RUN, 0) : at]
        return (len(run) - len(run.rstrip(_FLAG_LETTERS))) % 2 == 0
    return True
