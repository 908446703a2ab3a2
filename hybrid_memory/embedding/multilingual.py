"""The embedder without a server for notes in languages other than English: the sum of the vectors
of a text's tokens, which are stored in multilingual.bin in the same folder.

A text is folded (text/characters.py) and converted to lower case, so that tokens have the same
letters as in the keyword index. Words are cut from left to right into the longest tokens; a token
that continues a word begins with "##". Chinese characters and Kanji have no words: each character
is a token, and so is each pair of neighbours in the table. In the other scripts without spaces a
token may begin anywhere.

The tokens' vectors were trained so that texts with the same meaning have similar vectors in all
languages of the table, from the vectors of multilingual-e5-small (Wang et al., "Multilingual E5
Text Embeddings", 2024) and from translations; training/ rebuilds them.

The file has the layout of builtin.bin, without runs of characters.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import chain, islice

from ..text.characters import fold, pattern
from ..text.scripts import HAN, JOINED, KANA
from .builtin import FOLDED, MOST_TOKENS, MOST_WORDS, BoundedCache, BuiltinEmbedder, Table

FILE = "multilingual.bin"
MODEL = "builtin-multilingual-256-v1"
UNSPACED = KANA + JOINED
WORD = r"[\w\ue000-\uf8ff]+"
_RUN = f"([{HAN}]+)|([{UNSPACED}]+)|[^{HAN}{UNSPACED}]+"
CONTINUES = "##"
LONGEST_TOKEN = 24  # characters


def words(text: str) -> Iterator[str]:
    """Yield the folded words of a text; of Chinese characters, single characters and pairs.

    'Über 大熊猫' -> 'uber', '大', '熊', '猫', '大熊', '熊猫'
    """
    for word in pattern(WORD).findall(fold(text).lower()):
        if word.isascii():
            yield word
            continue
        for run in pattern(_RUN).finditer(word):
            if run[1]:
                yield from run[1]
                yield from map("".join, zip(run[1], run[1][1:], strict=False))
            else:
                yield run[0]


def numbers(word: str, longest: Callable[[str], tuple[int, int]]) -> list[int]:
    """The numbers of the tokens of one of the `words`; -1 for a character without a token.

    `longest` gives the length of the longest token at the beginning of a text, and its number; the
    length is 0 if there is no token.
    """
    run = None if word.isascii() else pattern(_RUN).match(word)
    if run and run[1] and len(word) > 1:
        length, number = longest(word)
        return [number] if length == len(word) else []
    mark = "" if run and (run[1] or run[2]) else CONTINUES
    before = ""
    found = []
    at = 0
    while at < len(word):
        length, number = longest(before + word[at : at + LONGEST_TOKEN])
        length -= len(before)
        found.append(number if length > 0 else -1)
        at += max(length, 1)
        before = mark
    return found


class MultilingualEmbedder(BuiltinEmbedder):
    """The built-in embedder with another table and other tokens."""

    provider = "builtin-multilingual"

    def __init__(self, path: str | None = None, cache_size: int = 256) -> None:
        super().__init__(path or os.path.join(os.path.dirname(__file__), FILE), cache_size)
        self.model = MODEL

    def tokenize(self, text: str) -> list[str]:
        """The text's tokens, with [UNK] for a character without a token."""
        return [
            self.table.token(number) if number >= 0 else "[UNK]"
            for word in words(text)
            for number in numbers(word, self._longest)
        ]

    @cached_property
    def table(self) -> Table:
        return Table(self.path, FOLDED)

    @cached_property
    def _numbers(self) -> BoundedCache[str, list[int]]:
        return BoundedCache(lambda word: numbers(word, self._longest), MOST_WORDS)

    def _longest(self, text: str) -> tuple[int, int]:
        data = text.encode(errors="surrogatepass")
        length, number = self.table.longest_prefix(data)
        return len(data[:length].decode()), number

    def _sum_of_words(self, words: Iterable[str]) -> int:
        return self._sum(chain.from_iterable(map(self._numbers.__getitem__, words)))

    def _sum_of_all(self, text: str) -> int:
        return self._sum_of_words(words(text))

    def _sum_of_first(self, text: str) -> int:
        """The sum of the first MOST_TOKENS words, which have at least that number of tokens."""
        return self._sum_of_words(islice(words(text), MOST_TOKENS))
