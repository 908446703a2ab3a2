"""The built-in model for the languages of the notes."""

import re
from collections import Counter
from collections.abc import Iterable

FIRST_NOT_LATIN = "\u0370"  # Greek; the later blocks with Latin letters are rare
# The most frequent words of English, and of the other languages in Latin letters, without those that
# English or short notes have, too. Each list has about a fifth of the words of a text.
ENGLISH = "the and that with this of to is for it you was not are be have from by we they what"
OTHER_LATIN = """
de la que el en los del las con para una por como su al lo más se está
de la le les des et du est dans pour qui sur une par pas que ce avec au il
de que os da em um para com não uma na no por mais dos como mas ao das é
di che la il è non per un della una sono con del le da si nel più come ha
der die und das ist nicht ein eine den mit von zu auf für im des dem sich auch es
de het een van en is niet dat op te zijn voor met die er aan ook als bij om
och att det som på av är en för den med inte till ett har om jag vi så
og det at er til på af ikke en der de for med som den har et jeg vi fra
ja on ei että se oli ovat mutta kun hän niin kuin joka myös tai olla
ja on ei et see ka oli kui mis aga või siis nii ta
nie się jest że na do to jak z w i ale o po co tak za od są dla
a se na je že to v s z do o jako ale pro by si jsem jsou podle
a sa na je že to v s z do ako ale pre by som sú podľa
és hogy az nem egy is ez de van meg csak mint már volt el
și în de la cu nu este un pe din care mai pentru că o să sunt fi
ve bir bu için ile da de çok ne daha olarak gibi olan var ama kadar
yang dan di ini itu dengan untuk dari tidak pada dalam akan adalah ke juga
của là và các không có được cho một những trong người với này đã khi
i je u na da se za su od kao što ne nije koji sa
"""
LEAST_WORDS = 3  # frequent words by which a text is judged
LEAST_SHARE = 0.08  # of the words, for another language
MOST_OTHER = 0.15  # share of texts that are not English and still get the English model
# Of scripts without spaces
WIDE = r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]"


def builtin_for(texts: Iterable[str]) -> str:
    """The built-in provider for the languages of some texts of the notes: the multilingual one, which
    has English, too, if over MOST_OTHER of the texts are in other languages.
    """
    english = frozenset(ENGLISH.split())
    others = [frozenset(line.split()) for line in OTHER_LATIN.strip().split("\n")]
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
