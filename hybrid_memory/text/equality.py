"""Decides when two things that people write are the same. Pure.

- `spelled`: two spellings of one text, such as é as one character or two, capitals, full width
  letters, no-break spaces, and typographic quotes and dashes. Accents do matter here: they do not
  in words of the keyword index, whose fold is `characters.fold`.
- `name_key`: two spellings of a name, a tag or a value, with any white space.
- `heading_key` and `anchor_key`: a heading as its text without marks, and as its anchor.
- `as_written`: a word with signs, such as .NET, C++ or --force.
- `other_forms`: one word or two, as wifi, Wi-Fi and wi fi, or with points, as USA and U.S.A.

What is shown stays as its author wrote it; only keys are compared and stored.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from unicodedata import normalize

from .characters import pattern
from .languages import words

_SIGNS = str.maketrans({
    **dict.fromkeys("‘’‚‛′ʼ´", "'"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    # Invisible characters: soft hyphen, zero-width space, joiners, byte order and direction marks
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u200f\u061c\ufe0f", ""),
})  # fmt: skip
_LINK = r"!?\[([^\]\n]*)\]\((?:[^()\n]|\([^()\n]*\))*\)"  # of markdown
_MARKS = r"[*_`~]+"
_NO_LETTER = r"\W+"


def spelled(text: str) -> str:
    """The text in the one spelling in which texts are compared: NFKC, lower case, plain signs.

    'Été – “Ａ”', in any normalization -> 'été - "a"'
    """
    if text.isascii():
        return text.lower()
    signs = text.translate(_SIGNS)  # before NFKC, which makes two characters of ´ and ″
    return normalize("NFKC", normalize("NFKC", signs).casefold().translate(_SIGNS))


def name_key(text: str) -> str:
    """The key of a name, a tag or a value: `spelled`, with single spaces.

    'O’Brien\u00a0– notes ' -> "o'brien - notes"
    """
    return " ".join(spelled(text).split())


def heading_key(heading: str) -> str:
    """The key of a heading: the text that a reader sees, without links and marks of emphasis.

    'See [the **docs**](https://a.b/c_d)' -> 'see the docs'
    """
    return name_key(pattern(_MARKS).sub("", pattern(_LINK).sub(r"\1", heading)))


def anchor_key(heading: str) -> str:
    """The key of a heading's anchor, or of a heading as its anchor: letters, digits and underscores.

    'C++ & C# – 🎉 Log in!', and its anchor on GitHub, 'c--c---log-in' -> 'cclogin'
    """
    return pattern(_NO_LETTER).sub("", spelled(pattern(_LINK).sub(r"\1", heading)))


def as_written(word: str) -> re.Pattern[str]:
    """A pattern that finds a folded word with its signs: .env, but not in process.env; C+, but not in
    C++.
    """
    before = r"(?<!\w)" if word[0].isalnum() else rf"(?<![\w{re.escape(word[0])}])"
    behind = r"(?!\w)" if word[-1].isalnum() else rf"(?![\w{re.escape(word[-1])}])"
    return re.compile(before + re.escape(word) + behind)


class Form(NamedTuple):
    """Another way to write some words of a query, which stand side by side: `tokens` side by side."""

    words: tuple[str, ...]
    tokens: tuple[str, ...]


_SHORTEST, _LONGEST = 4, 20  # letters of a word that may be two
_LEAST = 2  # letters of each of the two, except
_ALONE = "ext"  # as in e-mail, x-ray, t-shirt
_LONGEST_ABBREVIATION = 5  # letters
_LETTERS_AND_DIGITS = r"([^\W\d_]+)([0-9]+)|([0-9]+)([^\W\d_]+)"
_DOTTED = r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{0,2}"
_END = (",", ";", ":", "!", "?", ".")  # of a clause, whose last word belongs to no word behind it


def other_forms(
    pieces: Sequence[tuple[str, Sequence[str]]], common: frozenset[str], *, may_split: bool = True
) -> Iterator[Form]:
    """Yield the other forms that the words of a query may have in a text. Many exist nowhere.

    `pieces` are the parts of a query between spaces, folded and in lower case, with their tokens.
    `common` are the stop words. Without `may_split`, words of letters alone are not divided.

    set up -> setup; timezone -> time zone; RTX 4090 <-> RTX4090; 2.3.1 <-> v2.3.1; Ph.D. <-> phd
    """
    for number, (piece, tokens) in enumerate(pieces):
        if not tokens:
            continue
        if len(tokens) > 1 and pattern(_DOTTED).fullmatch(piece):
            yield Form(tuple(tokens), ("".join(tokens),))
            continue
        yield from _split(tuple(tokens), common, may_split=may_split)
        for at in range(len(tokens) - 1):
            if _may_join(tokens[at], tokens[at + 1], common, is_hyphened=True):
                yield _joined(tokens[: at + 1], tokens[at + 1 :])
        if number + 1 < len(pieces) and not piece.endswith(_END):
            following = pieces[number + 1][1]
            if following and _may_join(tokens[-1], following[0], common, is_hyphened=False):
                yield _joined(tokens[-1:], following)


def _joined(before: Sequence[str], after: Sequence[str]) -> Form:
    """The last word before a gap and the first one behind it as one, with the rest of a version:
    [python], [3, 11] -> python3 11
    """
    rest = after[1:] if after[0].isdecimal() else ()
    return Form((before[-1], after[0], *rest), (before[-1] + after[0], *rest))


def _may_join(first: str, second: str, common: frozenset[str], *, is_hyphened: bool) -> bool:
    if first.isdecimal() and second.isdecimal():
        return False
    if is_hyphened or (first, second) == ("to", "do"):
        return True
    if first.isdecimal() or second.isdecimal():
        return first not in common and second not in common
    return _is_compound(first, second, common)


def _is_compound(first: str, second: str, common: frozenset[str]) -> bool:
    """Whether two words may be the parts of one."""
    return (
        (first not in common or first in words("first_particles"))
        and (second not in common or second in words("last_particles"))
        and not (first in common and second in common)
    )


def _split(tokens: tuple[str, ...], common: frozenset[str], *, may_split: bool) -> Iterator[Form]:
    """The first word of a piece as several words."""
    word, rest = tokens[0], tokens[1:]
    if word.isdecimal() and rest and all(map(str.isdecimal, rest)):
        yield Form(tokens, (f"v{word}", *rest))
        return
    mixed = None if word.isalpha() else pattern(_LETTERS_AND_DIGITS).fullmatch(word)
    if mixed:
        first, second = mixed[1] or mixed[3], mixed[2] or mixed[4]
        if first == "v" and rest:
            yield Form(tokens, (second, *rest))
        else:
            yield Form(tokens, (first, second, *rest))
        return
    if rest or not word.isalpha() or not word.isascii() or word in common:
        return
    if 1 < len(word) <= _LONGEST_ABBREVIATION:
        yield Form(tokens, tuple(word))
        if len(word) == len("phd"):
            yield Form(tokens, (word[:2], word[2:]))
    if word == "todo":
        yield Form(tokens, ("to", "do"))
    if may_split and _SHORTEST <= len(word) <= _LONGEST:
        for at in range(1 if word[0] in _ALONE else _LEAST, len(word) - _LEAST + 1):
            if _is_compound(word[:at], word[at:], common):
                yield Form(tokens, (word[:at], word[at:]))
