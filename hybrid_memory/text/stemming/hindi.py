"""Hindi: Ramanathan and Rao, "A lightweight stemmer for Hindi" (2003), in the form of Snowball.

The longest ending is taken off, as long as a letter is left: https://snowballstem.org/algorithms/hindi/stemmer.html
"""

from ..analyzer import fold
from .endings import Endings

_ENDINGS = Endings(
    fold(
        """
        ा ि ी ु ू े ो ्  अ आ इ ई उ ऊ ए ओ
        आँ ाँ इयाँ आइयाँ ाइयाँ ियाँ  आं ां उआं ुआं इयां आइयां ाइयां ियां
        ईं ीं आईं ाईं  एं ें आएं ाएं उएं ुएं  ओं ों आओं ाओं उओं ुओं इयों आइयों ाइयों ियों
        आई ाई आए ाए इए िए आइए ाइए आओ ाओ आया ाया  अकर आकर ाकर
        अता आता ाता अती आती ाती अते आते ाते अतीं आतीं ातीं अताएं अताओं
        अना आना ाना अनी अने आने ाने अनाएं अनाओं
        एगा ेगा आएगा ाएगा एगी ेगी आएगी ाएगी  ओगे ोगे आओगे ाओगे ओगी ोगी आओगी ाओगी
        ऊंगा ूंगा आऊंगा ाऊंगा ऊंगी ूंगी आऊंगी ाऊंगी  एंगे ेंगे आएंगे ाएंगे एंगी ेंगी आएंगी ाएंगी
        """
    )
)
_AFTER_CONSONANTS = Endings(fold("कर ता ती ते तीं ताएं ताओं ना नी ने नाएं नाओं"))
_CONSONANTS = tuple(map(chr, range(0x0915, 0x093A)))


def stem(word: str) -> str:
    """'किताबों' -> 'किताब', 'लड़कियाँ' -> 'लडक', both folded"""
    ending, other = _ENDINGS.of(word, 1), _AFTER_CONSONANTS.of(word, 1)
    if len(other) > len(ending) and word[: -len(other)].endswith(_CONSONANTS, 1):
        ending = other
    return word[: len(word) - len(ending)]
