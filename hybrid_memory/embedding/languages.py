"""The built-in model for the languages of the notes."""

import re
from collections import Counter
from collections.abc import Iterable

from ..text.languages import languages, words_of

FIRST_NOT_LATIN = "\u0370"  # Greek; the later blocks with Latin letters are rare
LEAST_WORDS = 3  # frequent words by which a text is judged
LEAST_SHARE = 0.08  # of the words, for another language
MOST_OTHER = 0.15  # share of texts that are not English and still get the English model
# Of scripts without spaces
WIDE = r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]"


def builtin_for(texts: Iterable[str]) -> str:
    """The built-in provider for the languages of some texts of the notes: the multilingual one, which
    has English, too, if over MOST_OTHER of the texts are in other languages.
    """
    frequent = {
        code: words_of(code, "frequent_words")
        for code, language in languages().items()
        if "frequent_words" in language
    }
    english = frequent.pop("en")
    others = list(frequent.values())
    judged = [_is_other(text, english, others) for text in texts]
    known = [is_other for is_other in judged if is_other is not None]
    return "builtin-multilingual" if sum(known) > MOST_OTHER * len(known) else "builtin"


def _is_other(text: str, english: frozenset[str], others: list[frozenset[str]]) -> bool | None:
    """Whether a text is not in English; None if it has too few words to tell.

    Two characters of a script without spaces count as a word.
    """
    words = re.findall(r"[^\W\d_]+", text.lower())
    latin = sum(word[0] < FIRST_NOT_LATIN for word in words)
    wide = len(re.findall(WIDE, text))
    spaced = sum(word[0] >= FIRST_NOT_LATIN and not re.match(WIDE, word) for word in words)
    if wide / 2 + spaced > latin:
        return True
    counts = Counter(words)
    of_english = sum(counts[word] for word in english)
    of_other = max(sum(counts[word] for word in other) for other in others)
    if max(of_english, of_other) < LEAST_WORDS:
        return None
    return of_other > of_english and of_other > LEAST_SHARE * len(words)
