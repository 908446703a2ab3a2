"""Relevance of a memory to a prompt: whether to search, for which words, and how likely the
passages found are relevant.

Most prompts to a coding agent are about the code in front of it. Their technical words (test,
function, fix) are also frequent in notes and carry no information: they do not raise the relevance.
An order (fix it) is rarely a question for the notes, and an identifier that no note contains
suggests code. A name that no note contains suggests a question about the world (what is the capital
of Peru?); words such as "my" and "we" suggest one about the notes. The more chunks a memory has,
the closer the nearest of them is to any prompt, so the number of chunks counts against relevance.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from math import exp, log10
from typing import TYPE_CHECKING, Any, NamedTuple

from ...storage.bm25 import stems
from ...text.languages import full_names, words_of
from ...text.query import Query

if TYPE_CHECKING:
    from ...store import HybridStore

CHARACTERS = 1200  # of the passages for a prompt
FLOOR = 0.5  # minimum relevance of the passages to the prompt
SHORTEST = 10  # characters of a prompt worth searching for
MOST_WORDS = 24  # of a prompt that is searched for verbatim
END = 300  # characters read at the beginning and at the end of a longer prompt
INFORMATIVE_WORDS = 12  # rarest words searched for in place of a longer prompt
# Weights for and against relevance: by logistic regression on the judged questions of five memories
# of 70 to 30,000 chunks, and on prompts about code and about the world for each; then rounded
NEAREST = 9  # times the nearness of the nearest passage
WORDS = 6  # if one passage contains MOST_TELLING non-technical words; proportionally less for fewer
MOST_INFORMATIVE = 4
PERSONAL = 3  # times the share of non-technical words, in a prompt with a word such as "my"
ORDER = -4
FOREIGN = -4  # a prompt with names that no chunk contains
CODE = -1  # for each identifier that no chunk contains, up to MOST_CODE
MOST_CODE = 2
CHUNKS = -1.4  # for each factor of ten in the number of chunks
BARE = 3  # a prompt of up to BARE_WORDS words that all occur in one passage
BARE_WORDS = 3
START = -0.8
NAME = re.compile(r"(?<![.!?:\n])[ ]['\"(]?([A-Z][a-z]{2,})")  # not at the beginning of a sentence
IDENTIFIER = re.compile(r"`[^`\n]+`|\w+\(|\b[a-z]+[A-Z]\w*|\w+_\w+|\w+\.[a-z]{1,4}\b")
LEAST_NUMBER = 3  # digits of a number that carries information
FAULTS = ("error", "exception")  # endings of names of errors: TypeError
SLASH_COMMAND = re.compile(r"/[\w:.-]+(?:\s|\Z)")


def is_question_for_memory(prompt: str) -> bool:
    """Whether to search for a prompt: it has some length, and is not a command such as /compact."""
    prompt = prompt.strip()
    return len(prompt) >= SHORTEST and not SLASH_COMMAND.match(prompt)


class PromptFeatures(NamedTuple):
    """The features of a prompt.

    `query` is the text to search for; "" for nothing. `share` is the share of the prompt's words
    that any chunk contains, if the query is a selection of them, else 1. `work` is the share of
    technical words. `is_foreign`: at least half of the names in the prompt are in no chunk.
    `is_personal`: it has a word such as "my" or "she". `unknown_code` is the number of identifiers
    that no chunk contains. `is_bare`: it consists of a few words only, as a name or a number does.
    `chunks` is the number of chunks in the memory.
    """

    query: str
    share: float
    work: float
    is_order: bool
    is_foreign: bool
    is_personal: bool
    unknown_code: int
    is_bare: bool
    chunks: int


def read(prompt: str, store: "HybridStore") -> PromptFeatures:
    """Analyse a prompt. The query is the prompt itself, or the rarest words of a long one.

    People who paste a log ask before or after it. So only the beginning and the end of a long
    prompt are read, and their rarest words are searched for, in their order. Technical words,
    numbers and words that no chunk contains are left out; but if no chunk contains most of the
    words, the prompt is probably not about the memory.
    """
    prompt = prompt.strip()
    is_short = len(prompt) <= 2 * END
    text = prompt if is_short else f"{prompt[:END]} {prompt[-END:]}"
    ends = Query(text, is_literal=True)
    with store.storage.snapshot():
        counts = store.storage.keyword().counts(ends)
        chunks = store.storage.chunks.count()
    is_work = work_among([*counts, *words_in(prompt)])
    words = [word for word in counts if not is_work(word)]
    work = 1 - len(words) / max(len(counts), 1)
    is_foreign = False
    query = prompt
    share = 1.0
    if is_short and len(ends.words) <= MOST_WORDS:
        is_foreign = has_foreign_names(prompt, counts)
    else:
        query, share = informative(words, counts)
    return PromptFeatures(
        query,
        share,
        work,
        is_order(prompt),
        is_foreign,
        is_personal(prompt, is_work),
        unknown_code(text, counts),
        len(prompt.split()) <= BARE_WORDS,
        chunks,
    )


def informative(words: Iterable[str], counts: Mapping[str, int]) -> tuple[str, float]:
    """Return the rarest words in the memory, in their order, and the share of the words that any
    chunk contains. `counts` maps each word to its number of chunks.
    """
    words = [word for word in words if not word.isdigit()]
    present = [word for word in words if counts[word]]
    rarest = set(sorted(present, key=lambda word: counts[word])[:INFORMATIVE_WORDS])
    query = " ".join(word for word in present if word in rarest)
    return query, len(present) / max(len(words), 1)


def has_foreign_names(prompt: str, counts: Mapping[str, int]) -> bool:
    """Whether a prompt has names and at least half of them are in no chunk. Days and months are not
    names. `counts` maps the words of the prompt to their number of chunks.
    """
    days = {*full_names("months", "en"), *full_names("weekdays", "en")}
    names = [name for name in NAME.findall(prompt) if name in counts and name not in days]
    unknown = [name for name in names if not counts[name]]
    return len(unknown) > 0 and 2 * len(unknown) >= len(names)


def is_personal(prompt: str, is_work: Callable[[str], bool]) -> bool:
    """Whether a prompt has a personal word such as "my" or "she". "My loop" does not count: "loop"
    is a technical word.
    """
    words = words_in(prompt)
    personal, possessive = words_of("en", "personal_words"), words_of("en", "possessives")
    return any(
        word in personal and not (word in possessive and is_work(next_word))
        for word, next_word in zip(words, [*words[1:], ""], strict=False)
    )


def words_in(prompt: str) -> list[str]:
    """Return the words at the beginning of a prompt in lower case: runs of the letters a to z."""
    return re.findall(r"[a-z]+", prompt[:END].lower())


def is_order(prompt: str) -> bool:
    """Whether a prompt begins with a technical verb, perhaps after polite words, or consists of
    polite words only.
    """
    words = re.findall(r"[\w']+", prompt[:END].lower())
    polite = words_of("en", "polite_words")
    first = next((word for word in words if word not in polite), "go")
    return first in words_of("en", "orders")


def unknown_code(text: str, counts: Mapping[str, int]) -> int:
    """Count the identifiers in a text with a word that no chunk contains. `counts` maps the words
    of the text to their number of chunks.
    """
    lowered = {word.lower(): count for word, count in counts.items()}
    identifiers = IDENTIFIER.findall(text.replace("\n", " "))
    return sum(
        any(lowered.get(word) == 0 for word in re.findall(r"[^\W_]+", identifier.lower()))
        for identifier in identifiers
    )


def relevance_of(reading: PromptFeatures, results: Iterable[Mapping[str, Any]]) -> float:
    """Return the relevance of the results to the prompt: a probability, 0 to 1. The results must
    come from a search with `explain`.

    In a memory without embeddings, half of the coverage replaces the nearness.
    """
    explained = [result["explain"] for result in results]
    is_work = work_among(word for explanation in explained for word in explanation["terms"])
    words = len(Query(reading.query, is_literal=True).words)
    most_informative = 0
    nearest = 0.0
    has_all = False
    for explanation in explained:
        informative = [word for word in explanation["terms"] if not is_work(word)]
        most_informative = max(most_informative, len(informative))
        nearness = explanation["nearness"]
        if nearness is None and informative:
            nearness = explanation["coverage"] / 2
        nearest = max(nearest, nearness or 0.0)
        has_all = has_all or (len(informative) > 0 and len(explanation["terms"]) >= words)
    weight = (
        START
        + NEAREST * reading.share * nearest
        + WORDS * min(most_informative, MOST_INFORMATIVE) / MOST_INFORMATIVE
        + PERSONAL * reading.is_personal * (1 - reading.work)
        + ORDER * reading.is_order
        + FOREIGN * reading.is_foreign
        + BARE * (reading.is_bare and has_all)
        + CODE * min(reading.unknown_code, MOST_CODE)
        + CHUNKS * log10(max(reading.chunks, 1))
    )
    return 1 / (1 + exp(-weight))


def work_among(words: Iterable[str]) -> Callable[[str], bool]:
    """Return a predicate for these words: is the word technical (in any form) or a small number?"""
    work_words = words_of("en", "technical_words")
    stem_of = stems({*(word.lower() for word in words), *work_words})
    work = {stem_of.get(word, word) for word in work_words}

    def is_work(word: str) -> bool:
        word = word.lower()
        if word.isdigit() and len(word) < LEAST_NUMBER:
            return True
        return word.endswith(FAULTS) or stem_of.get(word, word) in work

    return is_work
