"""The characters of scripts, as ranges for use inside [...], and what they decide. Pure.

Patterns of so many characters take long to compile: `pattern` compiles them when a text that is not
ASCII needs them.
"""

import re

from .characters import pattern

HAN = "\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af"
KANA = "\u3041-\u30ff\u31f0-\u31ff"
# Thai, Lao, Burmese and Khmer, with the letters that `fold` makes of their marks
JOINED = "\u0e00-\u0eff\ue500-\ue5ff\u1000-\u109f\ue700-\ue79f\u1780-\u17ff\uee80-\ueeff"
PAIRED = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3041-\u30ff\u3100-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U000323af"
)
# Scripts without spaces between words, in a text that is not folded
UNSPACED = (
    "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# First and last letters of the alphabets of text/stemming.py
STEMMED = (("\u0370", "\u04ff"), ("\u0600", "\u06ff"), ("\u0900", "\u097f"))
_STEMMED_WORD = f"[{''.join(f'{first}-{last}' for first, last in STEMMED)}\ue000-\uf8ff]+"
# A run to cut into grams: group 1 into pairs, group 2 into triples
GRAM_RUN = f"([{PAIRED}]+)|([{JOINED}]+)"


def has_gram_run(folded: str) -> bool:
    """Whether a folded text has a run to cut into grams. Most texts are decided without the pattern:
    they have no character of the blocks of these scripts, nor a letter for one of their marks.
    """
    may_have = not folded.isascii() and any(
        "\u0e00" <= c < "\u2000"
        or "\u2e80" <= c < "\ue000"
        or "\ue500" <= c < "\ufb00"  # with the letters for marks of JOINED
        or c >= "\U00020000"
        for c in set(folded)
    )
    return may_have and pattern(GRAM_RUN).search(folded) is not None


def word_start(text: str) -> re.Pattern[str]:
    """The pattern of the beginning of a word; in scripts without spaces, of each character."""
    return pattern(r"(?<!\S)\S" if text.isascii() else rf"(?<!\S)\S|[{UNSPACED}]")


def last_break(text: str) -> re.Pattern[str]:
    """The pattern of a text up to the last white space or character of a script without spaces."""
    return pattern(r"(?s).*\s" if text.isascii() else rf"(?s).*[\s{UNSPACED}]")


def is_unspaced(character: str) -> bool:
    """Whether a character belongs to a script without spaces between words."""
    return not character.isascii() and pattern(f"[{UNSPACED}]").match(character) is not None


def has_stemmed_alphabet(folded: str) -> bool:
    """Whether a folded text has a letter of a word that `stemming` may change."""
    return any(first <= c <= last for c in set(folded) for first, last in STEMMED)


def in_stemmed_alphabet(word: str) -> bool:
    """Whether all letters of a folded word are in an alphabet that `stemming` knows."""
    return not word.isascii() and pattern(_STEMMED_WORD).fullmatch(word) is not None
