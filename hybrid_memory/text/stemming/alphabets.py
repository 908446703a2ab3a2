"""The stems of words in Cyrillic, Greek, Arabic and Devanagari: which algorithm is for which alphabet. Pure.

FTS5 stems English. In Russian, Greek, Arabic or Hindi a word has more forms than in English, and a question seldom uses that of
the text. Most texts in each of these scripts are in one language, so the script decides on the algorithm. Words of other
languages lose endings, too, but the same ones wherever they stand, so they are still found.

An algorithm is a module with a function `stem`, from a word as `analyzer.fold` leaves it, in lower case, to its stem. It is
imported when the first word of its script comes, because most searches need none.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module

WORDS_KEPT = 50_000  # words whose stems are remembered, some 250 bytes each
SHORTEST = 3  # letters: shorter words are left as they are

# The alphabet of each algorithm, folded. Marks of Devanagari are letters of the private-use area after folding.
_ALPHABETS = {
    "russian": "абвгдежзийклмнопрстуфхцчшщъыьэюя",
    "greek": "αβγδεζηθικλμνξοπρστυφχψω",
    "arabic": "ءابتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "hindi": "".join(map(chr, (*range(0x0904, 0x093A), *range(0xE000, 0xE070)))),
}
_LANGUAGES = {letter: language for language, alphabet in _ALPHABETS.items() for letter in alphabet}


@cache
def _algorithm(language: str) -> Callable[[str], str]:
    stem: Callable[[str], str] = import_module(f".{language}", __package__).stem
    return stem


class _Stems(dict[str, str]):
    def __missing__(self, token: str) -> str:
        word = token.lower()
        language = _LANGUAGES.get(word[:1])
        found = token
        if language and len(word) >= SHORTEST and not word.strip(_ALPHABETS[language]):
            found = _algorithm(language)(word)
        if len(self) >= WORDS_KEPT:
            self.clear()
        self[token] = found
        return found


_STEMS = _Stems()
stemmed = _STEMS.__getitem__  # a token of folded text -> its stem; what is no word of these alphabets stays as it is
