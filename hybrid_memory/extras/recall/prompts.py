"""What a prompt asks of a memory: whether to look at all, by which words, and how surely the passages
found bear on it.

Most prompts to a coding agent are about the code in front of it. Their words (test, function, fix)
stand in many notes, too, and tell nothing there: they do not make a passage surer, and the more of
them a prompt has, the surer a passage must be. A question needs less than an order does, because
whoever asks in other words than the notes have (who looks after my teeth?) shares none with them.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ...search.stages import confidence
from ...storage.keyword import stems
from ...text.query import Query

if TYPE_CHECKING:
    from ...store import HybridStore

SHORTEST = 10  # characters of a prompt that is looked at
MOST_WORDS = 24  # of a prompt that is searched for as it stands
END = 300  # characters of a longer one that are read at its beginning, and at its end
TELLING_WORDS = 12  # that stand for a longer one
# How much the share of words of work takes from the sureness of a passage, and what a question adds:
# by logistic regression on half of tests/quality's questions and of its prompts about code
WORK = 0.5
QUESTION = 0.2
QUESTION_MARKS = ("?", "？", "؟")
QUESTION_WORDS = frozenset({"how", "what", "when", "where", "which", "who", "whom", "whose", "why"})
FAULTS = ("error", "exception")  # what names of faults end with: TypeError
SLASH_COMMAND = re.compile(r"/[\w:.-]+(?:\s|\Z)")

# Words of ordinary work on code, in any form: "tests" and "testing" are "test".
WORK_WORDS = """
add align animation api append apply argument array assert async attribute await background bar boolean
bottom branch browser bug build bump bundle button cache call callback catch center check class clean
click clone close code color colour column command comment commit compile compiler component compute
condition config configure console constant constructor continue convert copy correct count coverage
crash create css cursor data debug declare default define delete dependency deploy deprecated diff
directory docstring document documentation dropdown duplicate edit element email empty endpoint enum
error example exception execute explain export expression extend extract fail failing failure fast
feature fetch field file fill filter find fix fixture flag float folder font footer format forward
framework frontend function generate generic global handle handler hard header helper hook hover icon
implement import improve include indentation index inherit initialise initialize inline input insert
instance integer integration interface issue iterate iterator javascript json key label layout left
length library line link lint linter list load local log logging loop main make map margin match memory
merge message method middleware migrate migration missing mock modal mode module move name navbar nested
null number object old open operator optimise optimize option order output overflow package padding page
pagination parallel parameter parse parser pass path pattern performance placeholder plot pointer port
print private process program project promise property public pull push python query queue quick raise
range read readme recursion refactor reference regex release reload remove rename render repeat replace
repo repository request reset resolve response rest return reuse reverse revert review rewrite right route
row run rust save schema scope screen script scroll search section segmentation select send serialize
server service set settings setup shell show sidebar signature simplify size skip slow snapshot sort
source split stack start state statement static step stop store stream string struct structure style
submit suite support switch symbol sync syntax table tag target task template test text throw timeout
toggle token tokenizer tool top trace traceback translate trait try tuple turn two type typescript
undefined undo unit update upgrade upload use user utility valid validate validation value variable
vector verbose verify version view wait warning website width work worker wrap write wrong
change first last next new good bad one three second third same different like please thing way
"""


def is_question_for_memory(prompt: str) -> bool:
    """Return whether to look: not for a few characters, and not for a command such as /compact."""
    prompt = prompt.strip()
    return len(prompt) >= SHORTEST and not SLASH_COMMAND.match(prompt)


class Reading(NamedTuple):
    """What a prompt was read as.

    `query` is what to search for, "" if that is nothing. `share` says how much of the prompt this
    stands for, and `work` how many of its words are words of work, both 0 to 1.
    """

    query: str
    share: float
    work: float
    is_question: bool


def read(prompt: str, store: "HybridStore") -> Reading:
    """Return what to search for: the prompt, or the words of a long one that tell most.

    Who pastes a log asks before or after it. So of a long prompt, the beginning and the end are
    read, and those of their words that fewest chunks have are taken, in their order. Words of work,
    numbers, and words that no chunk has find nothing; but if most words are such that no chunk has,
    the prompt is hardly about the memory.
    """
    prompt = prompt.strip()
    is_short = len(prompt) <= 2 * END
    ends = Query(prompt if is_short else f"{prompt[:END]} {prompt[-END:]}")
    with store.storage.snapshot():
        counts = store.storage.keyword().counts(ends)
    is_work = work_among(counts)
    words = [word for word in counts if not is_work(word)]
    work = 1 - len(words) / max(len(counts), 1)
    if is_short and len(ends.words) <= MOST_WORDS:
        return Reading(prompt, 1.0, work, is_question(prompt))
    words = [word for word in words if not word.isdigit()]
    present = [word for word in words if counts[word]]
    telling = set(sorted(present, key=lambda word: counts[word])[:TELLING_WORDS])
    query = " ".join(word for word in present if word in telling)
    return Reading(query, len(present) / max(len(words), 1), work, is_question(prompt))


def is_question(prompt: str) -> bool:
    """Return whether a prompt ends with a question mark, or begins with a word such as "when", maybe
    after another one.
    """
    words = prompt[:END].lower().split()[:2]
    return prompt.endswith(QUESTION_MARKS) or not QUESTION_WORDS.isdisjoint(words)


def bearing(reading: Reading, results: Iterable[Mapping[str, Any]]) -> float:
    """Return how surely the results bear on the prompt: the sureness of the surest, less for a
    prompt about work, more for a question; 0 at least.
    """
    sureness = reading.share * surest(results) - WORK * reading.work
    if reading.is_question:
        sureness += QUESTION
    return max(sureness, 0.0)


def surest(results: Iterable[Mapping[str, Any]]) -> float:
    """Return the confidence of the surest result, in which words of work do not count; 0 if there
    is none. The results must have been asked for with `explain`.
    """
    explained = [result["explain"] for result in results]
    is_work = work_among(word for explanation in explained for word in explanation["terms"])
    best = 0.0
    for explanation in explained:
        terms = explanation["terms"]
        telling = [word for word in terms if not is_work(word)]
        share = 0.0
        if terms:
            share = len(telling) / len(terms)
        best = max(best, confidence(explanation["coverage"] * share, explanation["nearness"]))
    return best


def work_among(words: Iterable[str]) -> Callable[[str], bool]:
    """Return what tells of each of these words whether it is one of work, in any form."""
    work_words = WORK_WORDS.split()
    stem_of = stems({*(word.lower() for word in words), *work_words})
    work = {stem_of.get(word, word) for word in work_words}

    def is_work(word: str) -> bool:
        word = word.lower()
        return word.endswith(FAULTS) or stem_of.get(word, word) in work

    return is_work
