"""The stems of words in Cyrillic, Greek, Arabic and Devanagari, by one algorithm per alphabet.
Pure.

FTS5 stems English. In Russian, Greek, Arabic or Hindi a word has more forms than in English, and a
question seldom uses the form in the text. Most texts in each of these scripts are in one language,
so the script decides on the algorithm. Words of other languages lose endings, too, but the same
ones everywhere, so they are still found.

An algorithm is a function from a word after `characters.fold`, in lower case, to its stem.

- Arabic: Larkey, Ballesteros and Connell, "Light stemming for Arabic information retrieval" (2007),
  the stemmer "light10". Articles, a conjunction and endings are removed, as long as two letters
  remain; roots are not looked for. The algorithm expects a normalization, which `fold` does:
  ة is ه here, and ى is ي. It found more than Snowball's.
- Greek: the endings of Ntais, "Development of a stemmer for the Greek language" (2006), completed
  for nouns and adjectives. The longest ending is removed once, as long as three letters remain.
  The algorithm, and the one of Snowball which follows it
  (https://snowballstem.org/algorithms/greek/stemmer.html), removes groups of endings in turn and
  has long lists of exceptions; this simpler form found a little more.
- Hindi: Ramanathan and Rao, "A lightweight stemmer for Hindi" (2003), in the form of Snowball. The
  longest ending is removed, as long as a letter remains:
  https://snowballstem.org/algorithms/hindi/stemmer.html
- Russian: M. F. Porter's algorithm, https://snowballstem.org/algorithms/russian/stemmer.html.
  Endings are searched after the first vowel (the region RV), "ость" after the second syllable (R2).
"""

import re
from functools import lru_cache

from .characters import fold


class Endings:
    """Endings, given as words of a text."""

    def __init__(self, text: str) -> None:
        # The endings by their last letter, longest first
        self._by_last_letter: dict[str, list[str]] = {}
        for ending in sorted(fold(text).split(), key=len, reverse=True):
            self._by_last_letter.setdefault(ending[-1], []).append(ending)

    def of(self, word: str, start: int = 0) -> str:
        """The longest ending of word[start:], or ""."""
        for ending in self._by_last_letter.get(word[-1:], ()):
            if word.endswith(ending, start):
                return ending
        return ""


_ARTICLES = ("ال", "وال", "بال", "كال", "فال", "لل")
_ARABIC_ENDINGS = ("ها", "ان", "ات", "ون", "ين", "يه", "ه", "ي")
_ARABIC_LEAST = 2  # letters that remain


def arabic(word: str) -> str:
    """'والمكتبات' -> 'مكتب', 'مكتبه' -> 'مكتب'"""
    for article in _ARTICLES:
        if word.startswith(article) and len(word) - len(article) >= _ARABIC_LEAST:
            word = word[len(article) :]
            break
    else:
        if word.startswith("و") and len(word) > 3:
            word = word[1:]
    for ending in _ARABIC_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _ARABIC_LEAST:
            word = word[: -len(ending)]
    return word


_GREEK_LEAST = 3  # letters that remain

_GREEK_ENDINGS = Endings(
    """
    α αν ας ε ει εις ες η ην ης ι ο οι ον ος ου ους υ υς ω ων  ηδες ηδων εως εων  μα ματα ματος ματων
    ια ιας ιες ιο ιοι ιος ιου ιους ιων  ικα ικε ικες ικη ικης ικο ικοι ικος ικου ικους ικων
    ισμε ισμο ισμοι ισμος ισμου ισμους ισμων  ιση ισης ισεις ισεων ισεως

    αω αει αμε ατε ανε ετε ουμε ουν ουνε ουσα ουσαν ουσατε ουσε ουσες αγα αγαν αγατε αγε αγες οντας ωντας
    ησα ησαν ησατε ησε ησει ησες ησετε ησουμε ησουν ησω ηστε
    ισα ισαμε ισαν ισατε ισε ισει ισες ισετε ισουμε ισουν ισω ιστε
    ιζα ιζαμε ιζαν ιζατε ιζε ιζει ιζεις ιζες ιζετε ιζουμε ιζουν ιζω ιζεται ιζονται

    αμαι ασαι αται εσαι εστε εται ομαι ομασταν ομαστε ομουν ομουνα ονται ονταν οντουσαν
    οσασταν οσαστε οσουν οσουνα οταν ουμαι ουμαστε ουνται ουνταν
    ιεμαι ιεμαστε ιεσαι ιεται ιομασταν ιομουν ιομουνα ιονταν ιοντουσαν ιοσασταν ιοσαστε ιοσουν ιοσουνα ιοταν
    ιουμα ιουμαστε ιουνται ιουνταν
    ηκαν ηκατε ηθει ηθεις ηθειτε ηθηκα ηθηκαν ηθηκατε ηθηκε ηθηκες ηθουμε ηθουν ηθω
    """
)


def greek(word: str) -> str:
    """'ρυθμισεισ' -> 'ρυθμ', 'εφαρμογων' -> 'εφαρμογ', both folded"""
    return word[: len(word) - len(_GREEK_ENDINGS.of(word, _GREEK_LEAST))]


_HINDI_ENDINGS = Endings(
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
_AFTER_CONSONANTS = Endings("कर ता ती ते तीं ताएं ताओं ना नी ने नाएं नाओं")
_CONSONANTS = tuple(map(chr, range(0x0915, 0x093A)))


def hindi(word: str) -> str:
    """'किताबों' -> 'किताब', 'लड़कियाँ' -> 'लडक', both folded"""
    ending = _HINDI_ENDINGS.of(word, 1)
    other = _AFTER_CONSONANTS.of(word, 1)
    if len(other) > len(ending) and word[: -len(other)].endswith(_CONSONANTS, 1):
        ending = other
    return word[: len(word) - len(ending)]


_FIRST = re.compile("[^аеиоуыэюя]*[аеиоуыэюя]")
_SECOND = re.compile("[аеиоуыэюя]*[^аеиоуыэюя]+[аеиоуыэюя]+[^аеиоуыэюя]")

# Of two rows, the endings in the second are removed only after а or я, which remains.
_GERUND = Endings("ив ивши ившись ыв ывши ывшись"), Endings("в вши вшись")
_REFLEXIVE = Endings("ся сь")
_ADJECTIVE = Endings(
    "ее ие ые ое ими ыми ей ий ый ой ем им ым ом его ого ему ому их ых ую юю ая яя ою ею"
)
_PARTICIPLE = Endings("ивш ывш ующ"), Endings("ем нн вш ющ щ")
_VERB = (
    Endings(
        "ила ыла ена ейте уйте ите или ыли ей уй ил ыл им ым "
        "ен ило ыло ено ят ует уют ит ыт ены ить ыть ишь ую ю"
    ),
    Endings("ла на ете йте ли й л ем н ло но ет ют ны ть ешь нно"),
)
_NOUN = Endings(
    "а ев ов ие ье е иями ями ами еи ии и ией ей ой ий й иям "
    "ям ием ем ам ом о у ах иях ях ы ь ию ью ю ия ья я"
)
_OF_NOUNS = Endings("ост ость")
_SUPERLATIVE = Endings("ейш ейше")


def russian(word: str) -> str:
    """'обновлениями' -> 'обновлен', 'обновленный' -> 'обновлен'"""
    first = _FIRST.match(word)
    if not first:
        return word
    rv = first.end()
    second = _SECOND.match(word, rv)
    r2 = second.end() if second else len(word)
    word = _without(word, _inflection(word, rv))
    word = word.removesuffix("и") if len(word) > rv else word
    word = _without(word, _OF_NOUNS.of(word, max(rv, r2)))
    if superlative := _SUPERLATIVE.of(word, rv):
        word = _without(word, superlative)
    elif len(word) > rv and word.endswith("ь"):
        return word[:-1]
    return word[:-1] if word.endswith("нн", rv) else word


def _without(word: str, ending: str) -> str:
    return word[: len(word) - len(ending)]


def _inflection(word: str, rv: int) -> str:
    """The ending of a gerund, else of an adjective, verb or noun, with "ся" if it is reflexive."""
    if gerund := _after_a(word, rv, *_GERUND):
        return gerund
    reflexive = _REFLEXIVE.of(word, rv)
    word = _without(word, reflexive)
    ending = _ADJECTIVE.of(word, rv)
    if ending:
        ending = _after_a(_without(word, ending), rv, *_PARTICIPLE) + ending
    return (ending or _after_a(word, rv, *_VERB) or _NOUN.of(word, rv)) + reflexive


def _after_a(word: str, rv: int, always: Endings, after_a: Endings) -> str:
    """The longest ending of both rows; "" if it is one of the second row that does not follow а or
    я.
    """
    ending = always.of(word, rv)
    other = after_a.of(word, rv)
    if len(ending) >= len(other):
        return ending
    return other if _without(word, other).endswith(("а", "я"), rv) else ""


SHORTEST = 3  # letters: shorter words are left as they are

# The alphabet of each algorithm, folded. Marks of Devanagari are letters of the private-use area
# after folding.
_ALPHABETS = {
    "russian": "абвгдежзийклмнопрстуфхцчшщъыьэюя",
    "greek": "αβγδεζηθικλμνξοπρστυφχψω",
    "arabic": "ءابتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "hindi": "".join(map(chr, (*range(0x0904, 0x093A), *range(0xE000, 0xE070)))),
}
_LANGUAGES = {letter: language for language, alphabet in _ALPHABETS.items() for letter in alphabet}


_ALGORITHMS = {"russian": russian, "greek": greek, "arabic": arabic, "hindi": hindi}


@lru_cache(30_000)
def stemmed(token: str) -> str:
    """The stem of a token of folded text; a token in another alphabet is unchanged."""
    word = token.lower()
    language = _LANGUAGES.get(word[:1])
    if language and len(word) >= SHORTEST and not word.strip(_ALPHABETS[language]):
        return _ALGORITHMS[language](word)
    return token
