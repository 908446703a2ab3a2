"""Turns text into the tokens of the keyword index. Documents and queries are treated alike. Pure.

SQLite's FTS5 with `porter unicode61` changes text to lower case, removes most Latin diacritics and
stems English words. Four things are missing, and this module does them before FTS5 gets the text:

- Marks. FTS5 cuts words at combining marks that it does not recognize (Arabic, Hindi, Thai) and keeps
  some that it should fold (Greek tonos, đ, ı). Marks that only modify a letter are removed; vowel
  signs, which distinguish words, become letters of the private-use area.
- Scripts without spaces. A sequence of characters of these scripts is called a run. A run of
  Chinese, Japanese or Korean becomes overlapping pairs of characters (grams), and a run of Thai,
  Lao, Khmer or Burmese becomes overlapping triples. Shorter grams end a run, so that a gram begins
  at each of its characters.
- Stems of words in other alphabets, by `stemming`.
- Symbols. `C++`, `HEAD~3` and `bob@example.com` become one token in addition to their parts. In
  that token, letters of the private-use area replace the symbols. `getUserName` is also indexed as
  `get User Name`. The name of a document is one token too.

The tokens are only for the index. Results show the original text.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, filterfalse
from typing import NamedTuple

from .characters import fold, pattern
from .scripts import GRAM_RUN, has_gram_run, has_stemmed_alphabet
from .written_days import may_have_days, split_at_days

_IN_TOKEN = r"[^\W_]|[\ue000-\uf8ff]"
TOKEN = f"(?:{_IN_TOKEN})+"
_ASCII_TOKEN = r"[A-Za-z0-9]+"
# TOKEN in a text without underscores: one character set is twice as fast as two
_WORD = r"[\w\ue000-\uf8ff]+"
# Separate pieces, as white space does: signs that markdown puts around words
_SEPARATORS = '[](){}<>"“”„«»`|,;'
_PIECE = rf"[^\s{re.escape(_SEPARATORS)}]+"
# The same for ASCII, as most texts are. Byte tables are ten times as fast as patterns.
_ASCII_WORDS = bytes(code if chr(code).isalnum() else 0x20 for code in range(0x80)).ljust(0x100)
_ASCII_PIECES = bytes(
    0x20 if chr(code).isspace() or chr(code) in _SEPARATORS else code for code in range(0x80)
).ljust(0x100)
# Punctuation of the sentence, not part of an identifier
_LEADING, _TRAILING = ("*_':!?", "*_':!?.")
_HYPHENED = r"[^\W\d_]+(?:-[^\W\d_]+)*"
PIECES_KEPT = 30_000  # results kept: the same pieces of text come again and again
# `fold` maps no mark to these letters
_SYMBOLS = {code: chr(0xF800 + code) for code in range(0x21, 0x7F) if not chr(code).isalnum()}
LONGEST_IDENTIFIER = 80  # characters
LONGEST_NAME = 240  # characters of a path
# These letters replace no symbol; FTS5 does not stem a token that ends in one
_SPACER, _NAME_END = ("\uf8fe", "\uf8ff")
_NAME = _SYMBOLS | dict.fromkeys(map(ord, " -_"), _SPACER)
_EXTENSION = r"(?<=[^/])\.[A-Za-z]\w{0,7}\Z"
_NOTOKEN = r"(?:[^\w\ue000-\uf8ff]|_)+"
_CAMEL = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+"
HUMP = re.compile("[A-Z](?<=[a-z0-9].)")  # a capital in a word: few characters to look at
_CAMEL_WORD = r"\b[A-Za-z]\w*?[a-z0-9][A-Z]\w*"


WORD = "word"
GRAM = "gram"  # a part of a run
TAIL = "tail"  # a shorter gram at the end of a run
SHORT = "short"  # a whole run that is shorter than a gram


class Token(NamedTuple):
    """A token of folded text: `text` is folded[start:end]."""

    start: int
    end: int
    text: str
    kind: str


def searchable(text: str) -> str:
    """Convert a text to folded tokens, separated by single spaces.

    'Réglage: 東京都' -> 'Reglage 東京 京都 都'
    """
    return _searchable(fold(text))


def indexed(text: str) -> str:
    """The `searchable` text as stored in the keyword index: words in other alphabets than Latin are
    stemmed, and written days are one token each (text/written_days.py).

    'Настройки SSH' -> 'настройк SSH'
    """
    return _indexed(fold(text))


def _indexed(folded: str) -> str:
    """The tokens of folded text, with those of days in place of their numbers."""
    parts = [(stemmed(_searchable(part)), of_days) for part, of_days in split_at_days(folded)]
    return " ".join(filter(None, chain.from_iterable(parts)))


def stemmed(words: str) -> str:
    """Stem folded tokens, separated by single spaces, as the keyword index has them; FTS5 stems the
    Latin ones.
    """
    if words.isascii() or not has_stemmed_alphabet(words):
        return words
    from . import stemming

    return " ".join(map(stemming.stemmed, words.split(" ")))


def has_token(folded: str) -> bool:
    """Whether a folded text has a letter or a digit. Most begin with one; that saves the pattern."""
    return folded[:1].isalnum() or pattern(_IN_TOKEN).search(folded) is not None


def whole_tokens(folded: str) -> list[str]:
    """The tokens of folded text, without cutting runs into grams."""
    if folded.isascii():
        return folded.encode().translate(_ASCII_WORDS).decode().split()
    return pattern(TOKEN).findall(folded)


def _searchable(folded: str) -> str:
    if folded.isascii():
        return b" ".join(folded.encode().translate(_ASCII_WORDS).split()).decode()
    words = pattern(_WORD).findall(folded.replace("_", " "))
    if has_gram_run(folded):
        words = [
            token
            for word in words
            for token in (_in_grams(word) if pattern(GRAM_RUN).search(word) else (word,))
        ]
    return " ".join(words)


def _in_grams(word: str) -> Iterator[str]:
    position = 0
    for run in pattern(GRAM_RUN).finditer(word):
        if run.start() > position:
            yield word[position : run.start()]
        n = 2 if run[1] else 3
        text = run[0]
        position = run.end()
        for start in range(len(text)):
            yield text[start : start + n]
    if position < len(word):
        yield word[position:]


def tokens_with_identifiers(text: str) -> tuple[str, str]:
    """The `indexed` text, and additional tokens for its identifiers: each as one token, and the words
    of its camelCase.

    'call getUserName() of a/b.c' -> 'call getUserName of a b c', 'get User Name a\\uf82fb\\uf82ec'
    """
    folded = fold(text)
    simple = _with_ascii_signs(folded)
    pieces = _pieces(simple)
    camel: Iterable[str] = ()
    if HUMP.search(text):  # in the original text, because folding may move the end of a word
        words = pieces if text.isascii() else text.split()
        camel = filter(None, map(camel_words, filterfalse(str.islower, words)))
    signed = list(filterfalse(str.isalnum, pieces))
    tokens = filter(None, map(_symbolic, signed))
    is_plain = not may_have_days(folded, pieces, signed)
    indexed_text = stemmed(_searchable(simple)) if is_plain else _indexed(folded)
    return indexed_text, " ".join([*camel, *tokens])


def _with_ascii_signs(folded: str) -> str:
    """Replace the signs outside of ASCII, such as dashes and emoji, so that a text in Latin script
    takes the fast paths. No sign is part of a token.
    """
    if not folded.isascii():
        for character in set(folded):
            if character > "\x7f":
                folded = folded.replace(character, _ascii_sign(character))
    return folded


def symbolic(folded: str) -> list[str]:
    """One token for each piece of folded text that contains symbols, except words joined by
    hyphens, which are ordinary.
    """
    return [token for token in map(_symbolic, _pieces(folded)) if token]


def _pieces(folded: str) -> list[str]:
    if folded.isascii():
        return folded.encode().translate(_ASCII_PIECES).replace(b". ", b" ").decode().split()
    return pattern(_PIECE).findall(folded)


@lru_cache(PIECES_KEPT)
def _symbolic(piece: str) -> str:
    if piece.isalnum():
        return ""
    piece = piece.rstrip(_TRAILING).lstrip(_LEADING)
    if (
        piece.isalnum()
        or len(piece) > LONGEST_IDENTIFIER
        or pattern(_HYPHENED).fullmatch(piece)
        or not has_token(piece)
    ):
        return ""
    token = piece.translate(_SYMBOLS)
    return token if token != piece and pattern(TOKEN).fullmatch(token) else ""


@lru_cache(PIECES_KEPT)
def camel_words(text: str) -> str:
    """The words of the camelCase in a text.

    'call getUserName()' -> 'get User Name'
    """
    return " ".join(
        part
        for word in pattern(_CAMEL_WORD).findall(text)
        for part in pattern(_CAMEL).findall(word)
    )


@lru_cache(PIECES_KEPT)
def _ascii_sign(character: str) -> str:
    """A space for a separator, U+0001 for another sign, and a letter itself."""
    if has_token(character):
        return character
    return " " if character.isspace() or character in _SEPARATORS else "\x01"


def name(path: str) -> str:
    """Convert a path, file name or stem to one token, in which spaces, hyphens and underscores are
    the same letter.

    The token is "" if the path has no letter or digit, or more than LONGEST_NAME characters.

    'notes/Getting-started.md' -> 'notesGettingstartedmd'
    """
    folded = fold(path).strip(" \t\n\"'`")
    if len(folded) > LONGEST_NAME or not has_token(folded):
        return ""
    token = folded.translate(_NAME)
    if not (folded.isascii() and folded.isprintable()):
        token = pattern(_NOTOKEN).sub(_SPACER, token)
    return token + _NAME_END


def names(*paths: str) -> list[str]:
    """The `name` tokens of a document: for its paths, its file name, and its file name without
    extension.
    """
    file_name = paths[-1].rpartition("/")[2]
    return [
        token for token in dict.fromkeys(map(name, (*paths, file_name, stem(file_name)))) if token
    ]


def stem(path: str) -> str:
    """A path without its extension.

    'a/b.md' -> 'a/b', '.profile' -> '.profile', 'phase 7.2' -> 'phase 7.2'
    """
    return pattern(_EXTENSION).sub("", path)


def tokens(folded: str) -> list[Token]:
    """The tokens of folded text, in the order in which FTS5 counts them."""
    if folded.isascii():
        return [
            Token(*match.span(), match[0], WORD) for match in pattern(_ASCII_TOKEN).finditer(folded)
        ]
    found = []
    for match in pattern(TOKEN).finditer(folded):
        position = match.start()
        for run in pattern(GRAM_RUN).finditer(folded, *match.span()):
            if run.start() > position:
                found.append(Token(position, run.start(), folded[position : run.start()], WORD))
            n = 2 if run[1] else 3
            for start in range(*run.span()):
                end = min(start + n, run.end())
                if end - start == n:
                    kind = GRAM
                elif start == run.start():
                    kind = SHORT
                else:
                    kind = TAIL
                found.append(Token(start, end, folded[start:end], kind))
            position = run.end()
        if position < match.end():
            found.append(Token(position, match.end(), folded[position : match.end()], WORD))
    return found
