"""Substitutes for words that no chunk has: terms of the index that begin with a word, contain it or
are spelled like it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import pairwise

from ..embedding.builtin import BuiltinEmbedder
from ..embedding.multilingual import MultilingualEmbedder
from ..text.query import Query, Term
from .bm25 import stems

LEAST = 3  # letters of a word that may have substitutes
LEAST_MISSPELT = 4
LEAST_BESIDE = 5  # letters of a word that is corrected in a query with known words
LONG = 8  # letters of a word that may have two errors; a shorter one may have one
LEAST_INSIDE = 6  # letters of a dictionary word that is searched inside other words
# The same, if other words of the query are known: an unknown word is then more often new than misspelt
LONG_BESIDE = 9
MANY_WORDS = 1024
ALTERNATIVES = 5  # terms that may replace a word
CORRECTIONS = 3
# What may follow a stem: a vocabulary has stems, a query has words
ENDINGS = ("", "s", "es", "e", "y", "ed", "ing", "er", "ers", "ion", "ions", "ation", "ly", "ment")
LONGEST_ENDING = 5


Vocabulary = Callable[[str, str], str]  # the terms in a range, each between line breaks
Counts = Callable[[Sequence[str]], Mapping[str, int]]  # terms -> the numbers of their chunks
Choice = Callable[[str, str, Vocabulary, Counts], list[str]]  # (word, stem, ...) -> terms


def range_of_terms(word: str) -> tuple[str, str]:
    """The range of terms in a word's alphabet: the first term, and the first one after the last."""
    if word.isascii():
        return "0", "{"
    block = ord(word[0]) & ~0xFF
    return chr(block or 1), chr(block + 0x100)  # PostgreSQL has no texts with a NUL


def similar_terms(
    word: str, stem: str, vocabulary: Vocabulary, counts: Counts, *, is_new: bool
) -> list[str]:
    """The terms to search in place of a word that finds nothing, the likeliest first.

    Terms that begin with the word come first. If there are none and the word `is_new` to the index,
    terms with the same first letter that differ in one letter, or in two if the word is long. Next,
    terms that contain the word; last, terms that differ in the first letter, too. A word in a
    dictionary is not misspelled, and is searched inside other words only if it is long.
    """
    if len(word) < LEAST:
        return []
    of_letter = vocabulary(word[0], chr(ord(word[0]) + 1))
    beginning = _terms_with(f"\n{word}", of_letter)
    if not beginning and len(stem) >= LEAST:
        beginning = _terms_with(f"\n{stem}", of_letter)
    if beginning:
        return _commonest(counts(beginning))
    is_known = _is_in_a_dictionary(word)
    may_be_misspelt = is_new and len(word) >= LEAST_MISSPELT and word.isalpha() and not is_known
    most = _allowed_errors(word)
    alike = _closest(word, stem, of_letter, counts, most) if may_be_misspelt else []
    if alike:
        return alike
    if is_known and len(word) < LEAST_INSIDE:
        return []  # "river" is in "driver" by chance
    whole = vocabulary(*range_of_terms(word))
    containing = _terms_with(word, whole)
    for root in _roots(word):
        containing += _terms_with(f"{root}\n", whole)
    if containing:
        return _commonest(counts(containing))
    return _closest(word, stem, whole, counts, most) if may_be_misspelt else []


def close_spellings(word: str, stem: str, vocabulary: Vocabulary, counts: Counts) -> list[str]:
    """Corrections of a word that no chunk has, in a query with other words that chunks have: terms
    with the same first letter that differ in one letter, or in two if the word is long.

    Most words that are missing from the notes are spelled correctly, so words in a dictionary have
    no corrections.
    """
    if len(word) < LEAST_BESIDE or _is_in_a_dictionary(word):
        return []
    of_letter = vocabulary(word[0], chr(ord(word[0]) + 1))
    return _closest(word, stem, of_letter, counts, 2 if len(word) >= LONG_BESIDE else 1)


@lru_cache(MANY_WORDS)
def _is_in_a_dictionary(word: str) -> bool:
    """Whether a built-in model has a word: one is for English, one for thirty other languages."""
    return BuiltinEmbedder().has_word(word) or MultilingualEmbedder().has_word(word)


def _commonest(counts: Mapping[str, int]) -> list[str]:
    return sorted(counts, key=lambda term: (-counts[term], term))[:ALTERNATIVES]


def correct_words(
    query: Query,
    new: Sequence[Term],
    substitutes_for: Callable[[str, Choice], list[str]],
    *,
    is_found: bool,
) -> Query:
    """The query with substitutes for words that find nothing, where the index has any.

    `new` are the words that no chunk has; `is_found` is true if chunks match other words.
    `substitutes_for` returns the substitutes of a word, given a function that chooses the terms.
    Words in double quotes stay as they are.
    """
    substitutes = dict(query.substitutes)
    words = query.limited_words
    is_part = not query.is_typed and (is_found or not query.may_be_misspelt)
    if is_part and len(new) == len(words):
        return query  # about something else
    for word in new if is_part or query.is_typed else words:
        written = word.tokens[0]
        choice: Choice = partial(similar_terms, is_new=word in new)
        if is_part:
            choice = close_spellings
        is_fixed = written in query.exact_words or (is_part and written not in query.plain_words)
        others = [] if is_fixed else substitutes_for(written.lower(), choice)
        if others:
            substitutes[written] = others
    return query.with_substitutes(substitutes)


def parts_of_similar(word: str, stem: str) -> list[str]:
    """Texts for finding candidates: every term that `similar_terms` may return has at least one of
    them.
    """
    swapped = _stems_of_swapped(word)
    pieces = [word[start:end] for start, end in _pieces(word, _allowed_errors(word))]
    return [word, stem, *_roots(word), *pieces, *swapped]


def _roots(word: str) -> list[str]:
    """The word without each ending that it has: 'hunter' -> 'hunt'."""
    endings = [ending for ending in ENDINGS if ending and word.endswith(ending)]
    roots = [word.removesuffix(ending) for ending in endings]
    return [root for root in roots if len(root) >= LEAST_MISSPELT]


def _pieces(word: str, most: int) -> Iterable[tuple[int, int]]:
    """Start and end of the pieces of a word: one piece more than the errors that are allowed."""
    count = most + 1
    return pairwise(len(word) * number // count for number in range(count + 1))


def _allowed_errors(word: str) -> int:
    return 2 if len(word) >= LONG else 1


@lru_cache(64)
def _stems_of_swapped(word: str) -> frozenset[str]:
    """The stems of all words that differ from this one by two swapped letters: of "sevrers", among
    others "server".
    """
    swapped = (
        f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}" for at in range(len(word) - 1)
    )
    return frozenset(stems(swapped).values())


def _closest(word: str, stem: str, vocabulary: str, counts: Counts, most: int) -> list[str]:
    """The terms with the fewest differences from a word; of equal ones, the most frequent first.

    Two errors leave at least one of three pieces unchanged. So only terms that share a piece, at
    nearly the same place, are compared.
    """
    candidates: set[str] = set()
    for start, end in _pieces(word, most):
        piece = word[start:end]
        for term in _terms_with(piece, vocabulary):
            is_near = -most <= term.find(piece) - start <= most
            if is_near and -most <= len(word) - len(term) <= most + LONGEST_ENDING:
                candidates.add(term)
    swapped = _stems_of_swapped(word)
    for swapped_stem in swapped:
        candidates.update(_terms_with(f"\n{swapped_stem}\n", vocabulary))
    all_errors = {}
    own_letters = dict.fromkeys(map(ord, word + stem))
    for term in candidates:
        if len(term.translate(own_letters)) > most:  # too many of its letters are in neither
            continue
        errors = 1
        if term not in swapped:
            errors = min(
                differences(word, term, ENDINGS, most), differences(stem, term, ("",), most)
            )
        if errors <= most and len(term) >= LEAST:
            all_errors[term] = errors
    fewest = min(all_errors.values(), default=0)
    return _commonest(counts([term for term in all_errors if all_errors[term] == fewest]))[
        :CORRECTIONS
    ]


def _terms_with(piece: str, vocabulary: str) -> list[str]:
    """The terms of a vocabulary that contain a text, or begin or end with it if it has a line break."""
    terms = []
    at = vocabulary.find(piece)
    while at >= 0:
        start = vocabulary.rfind("\n", 0, at + 1) + 1
        end = vocabulary.find("\n", start)
        terms.append(vocabulary[start:end])
        at = vocabulary.find(piece, end)
    return terms


def differences(word: str, term: str, endings: Iterable[str], most: int) -> int:
    """The number of letters in which a word differs from a term with one of these endings:
    inserted, omitted, replaced, or swapped with the next one. More than `most` if that holds for
    every ending.

    'sailign', 'sail' -> 1, from 'sailing'
    """
    first = list(range(len(word) + 1))
    before, last = _rows("", term, word, first, first)
    fewest = most + 1
    for ending in endings:
        if abs(len(term) + len(ending) - len(word)) <= most:
            _, whole = _rows(term, ending, word, before, last)
            fewest = min(fewest, whole[-1])
    return fewest


def _rows(
    written: str, rest: str, word: str, before: list[int], last: list[int]
) -> tuple[list[int], list[int]]:
    """The last two rows of the table of differences, continued by the rest of a term."""
    previous = written[-1:]
    for letter in rest:
        row = [last[0] + 1]
        for at, other in enumerate(word, 1):
            cost = min(last[at] + 1, row[at - 1] + 1, last[at - 1] + (letter != other))
            if at > 1 and previous == other and letter == word[at - 2]:
                cost = min(cost, before[at - 2] + 1)
            row.append(cost)
        before, last, previous = last, row, letter
    return before, last
