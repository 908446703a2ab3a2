import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snowballstemmer import stemmer

from hybrid_memory.storage.bm25 import stems
from hybrid_memory.text import stemming
from hybrid_memory.text.analyzer import indexed, stemmed
from hybrid_memory.text.characters import fold

DOCS = Path(__file__).parents[2] / "docs"
RUSSIAN = "в ив ла ила на ена ть ить ешь ишь нно ее ий ый ой ем ом его ому ая ую нн вш ющ щ ами иями ов ей и ы ь й я ю ость ейш ейше ся сь ё".split()
HINDI = "ा ि ी ु े ो ें ों ाओं ियाँ ता ती ना ने कर अकर ाएगा ेंगे ँ ं ् क त न र ए आ ई".split()


def words(letters: str, parts: list[str]) -> st.SearchStrategy[str]:
    """Words that begin with any letters, and end with several of these parts."""
    beginnings = st.text(st.sampled_from(letters), min_size=1, max_size=6)
    return st.tuples(beginnings, st.lists(st.sampled_from(parts), max_size=4)).map(
        lambda word: word[0] + "".join(word[1])
    )


@given(words("абвгеийклнорстушщыьюя", RUSSIAN))
def test_russian_words_have_the_stems_of_snowball(word: str) -> None:
    assert stemming.russian(fold(word)) == stemmer("russian").stemWord(word)


@given(words("कखगचजटडतथदनपबमयरलवशसह", HINDI))
def test_hindi_words_have_the_stems_of_snowball(word: str) -> None:
    assert stemming.hindi(fold(word)) == fold(stemmer("hindi").stemWord(word))


@pytest.mark.parametrize(
    "forms",
    [
        "настройка настройки настройкой настройками",
        "обновлённый обновленная обновленного обновлёнными",
        "ΡΥΘΜΙΣΗ ρύθμιση ρυθμίσεις ρυθμίσεων ρύθμισης",
        "πρόγραμμα προγράμματα προγραμμάτων προγράμματος",
        "برنامج البرنامج وبرنامج بالبرنامج برنامجها",
        "लड़की लड़कियाँ लड़कियों",
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({indexed(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    "token", ["servers", "Grüße", "2024", "東京", "дом2", "abcдомами", "їжак", "мир\uf82eру", "да"]
)
def test_what_is_no_word_of_these_alphabets_stays_as_it_is(token: str) -> None:
    assert stemmed(fold(token)) == fold(token)


ENDINGS = [
    words("абвгеийклнорстушщыьюя", RUSSIAN),
    words("कखगचजटडतथदनपबमयरलवशसह", HINDI),
    words("αβγδεζηθικλμνξοπρστυφχψω", "ος ου ης ες ων ματα ουμε ηκαν".split()),
    st.text("ءابتثجحخدذرزسشصضطظعغفقكلمنهوي", min_size=1, max_size=10),
    st.text(st.characters(min_codepoint=0x370, max_codepoint=0x97F), min_size=1),
]


@given(st.one_of(ENDINGS))
def test_a_stem_is_the_beginning_of_its_word_or_in_arabic_a_part_of_it(text: str) -> None:
    for word in fold(text).lower().split():
        assert stemmed(word) and stemmed(word) in word


def test_a_stem_without_its_last_letter_begins_each_of_its_words() -> None:
    texts = (path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    found = {word.lower() for text in texts for word in re.findall("[A-Za-z0-9]+", text)}
    assert len(found) > 2000
    assert [word for word, stem in stems(found).items() if not word.startswith(stem[:-1])] == []
