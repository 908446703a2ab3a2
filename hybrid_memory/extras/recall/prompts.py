"""What a prompt asks of a memory: whether to look at all, by which words, and how surely the passages
found bear on it.

Most prompts to a coding agent are about the code in front of it. Their words (test, function, fix)
stand in many notes, too, and tell nothing there: they do not make a passage surer. An order (fix it)
is seldom a question for the notes, and an identifier that no note has speaks of the code at hand. A
question about the world (what is the capital of Peru?) is told by a name that the notes do not know,
one about the notes by words such as "my" and "we". The more chunks a memory has, the nearer is the
nearest of them to any prompt.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from math import exp, log10
from typing import TYPE_CHECKING, Any, NamedTuple

from ...storage.keyword import stems
from ...text.query import Query

if TYPE_CHECKING:
    from ...store import HybridStore

SHORTEST = 10  # characters of a prompt that is looked at
MOST_WORDS = 24  # of a prompt that is searched for as it stands
END = 300  # characters of a longer one that are read at its beginning, and at its end
TELLING_WORDS = 12  # that stand for a longer one
# What speaks for the passages and against them: by logistic regression on the judged questions of five
# memories of 70 to 30,000 chunks, and on prompts about code and the world asked of each; then rounded
NEAREST = 9  # times the nearness of the nearest passage
WORDS = 6  # if MOST_TELLING telling words stand in one passage
MOST_TELLING = 4
PERSONAL = 3  # times the share of words that are none of work, if one is such as "my"
ORDER = -4
FOREIGN = -4  # names that no chunk has
CODE = -1  # each identifier that no chunk has, up to MOST_CODE
MOST_CODE = 2
CHUNKS = -1.4  # each time that the memory is ten times larger
BARE = 3  # a prompt of up to BARE_WORDS words, all of which stand in one passage
BARE_WORDS = 3
START = -0.8
NAME = re.compile(r"(?<![.!?:\n])[ ]['\"(]?([A-Z][a-z]{2,})")  # not at the beginning of a sentence
IDENTIFIER = re.compile(r"`[^`\n]+`|\w+\(|\b[a-z]+[A-Z]\w*|\w+_\w+|\w+\.[a-z]{1,4}\b")
PERSONAL_WORDS = frozenset(
    {"we", "us", "our", "my", "mine", "he", "him", "his", "she", "her", "ours"}
)
POSSESSIVE = frozenset({"our", "my", "his", "her"})
DAYS = frozenset(
    """January February March April June July August September October November December Monday Tuesday
    Wednesday Thursday Friday Saturday Sunday""".split()
)
POLITE = frozenset(
    "please now can could you would let let's just then also and ok okay yes we".split()
)
ORDERS = frozenset(
    """add align apply bring build bump catch center change check clean commit compare compute continue
    convert create cut debug deduplicate delete deploy disable document draw enable encode explain expose
    extract fetch fix format generate give go handle hide implement import improve increase inject inline
    install lower make merge migrate mock move no open optimise optimize parse pin pull push put rebase
    refactor reduce reformat remove rename render reorder replace reset resolve reuse revert review rewrite
    roll run sanitize set shorten show simplify skip sort split squash stop stream strip swap trim try turn
    undo unify update upgrade use validate wrap write yes""".split()
)
LEAST_NUMBER = 3  # digits of a number that tells something
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
cargo checkbox checkout cors div docstring eslint flexbox git golang goroutine heap html hydrate kwargs
localhost lodash macro mutex mypy npm numpy pandas pip pytest rebase regex regexp segfault semaphore
sequential socket spinner sql squash stash stdin stdout svg thread tooltip tsx typo vite webpack websocket
change first last next new good bad one three second third same different like please thing way
"""


def is_question_for_memory(prompt: str) -> bool:
    """Return whether to look: not for a few characters, and not for a command such as /compact."""
    prompt = prompt.strip()
    return len(prompt) >= SHORTEST and not SLASH_COMMAND.match(prompt)


class Reading(NamedTuple):
    """What a prompt was read as.

    `query` is what to search for, "" if that is nothing. `share` says how much of the prompt this
    stands for, and `work` how many of its words are words of work, both 0 to 1. `is_foreign` says
    that the prompt has names, half of which or more are in no chunk, and `is_personal` that it speaks
    of us. `unknown_code` counts the identifiers that no chunk has, `is_bare` says that the prompt is of
    a few words, as a name or a number is, and `chunks` counts the chunks of the memory.
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


def read(prompt: str, store: "HybridStore") -> Reading:
    """Return what to search for: the prompt, or the words of a long one that tell most.

    Who pastes a log asks before or after it. So of a long prompt, the beginning and the end are
    read, and those of their words that fewest chunks have are taken, in their order. Words of work,
    numbers, and words that no chunk has find nothing; but if most words are such that no chunk has,
    the prompt is hardly about the memory.
    """
    prompt = prompt.strip()
    is_short = len(prompt) <= 2 * END
    text = prompt if is_short else f"{prompt[:END]} {prompt[-END:]}"
    ends = Query(text, is_literal=True)
    with store.storage.snapshot():
        counts = store.storage.keyword().counts(ends)
        chunks = store.storage.chunks.count()
    is_work = work_among([*counts, *words_of(prompt)])
    words = [word for word in counts if not is_work(word)]
    work = 1 - len(words) / max(len(counts), 1)
    is_foreign = False
    query = prompt
    share = 1.0
    if is_short and len(ends.words) <= MOST_WORDS:
        is_foreign = has_foreign_names(prompt, counts)
    else:
        query, share = telling(words, counts)
    return Reading(
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


def telling(words: Iterable[str], counts: Mapping[str, int]) -> tuple[str, float]:
    """Return the words that fewest chunks have, in their order, and the share of the words that any
    chunk has.
    """
    words = [word for word in words if not word.isdigit()]
    present = [word for word in words if counts[word]]
    rarest = set(sorted(present, key=lambda word: counts[word])[:TELLING_WORDS])
    query = " ".join(word for word in present if word in rarest)
    return query, len(present) / max(len(words), 1)


def has_foreign_names(prompt: str, counts: Mapping[str, int]) -> bool:
    """Return whether a prompt has names, and half of them or more are in no chunk; `counts` are of
    its words. A day or a month is no name.
    """
    names = [name for name in NAME.findall(prompt) if name in counts and name not in DAYS]
    unknown = [name for name in names if not counts[name]]
    return len(unknown) > 0 and 2 * len(unknown) >= len(names)


def is_personal(prompt: str, is_work: Callable[[str], bool]) -> bool:
    """Return whether a prompt speaks of somebody by a word such as "my" or "she"; "my loop" is none,
    as a loop is a word of work.
    """
    words = words_of(prompt)
    return any(
        word in PERSONAL_WORDS and not (word in POSSESSIVE and is_work(following))
        for word, following in zip(words, [*words[1:], ""], strict=False)
    )


def words_of(prompt: str) -> list[str]:
    """Return the first words of a prompt in lower case, without marks and digits."""
    return re.findall(r"[a-z]+", prompt[:END].lower())


def is_order(prompt: str) -> bool:
    """Return whether a prompt begins with a verb of work, maybe after a polite word, or has no other
    words than polite ones.
    """
    words = re.findall(r"[\w']+", prompt[:END].lower())
    first = next((word for word in words if word not in POLITE), "go")
    return first in ORDERS


def unknown_code(text: str, counts: Mapping[str, int]) -> int:
    """Return how many identifiers of the text have a word that no chunk has; `counts` are of its words."""
    lowered = {word.lower(): count for word, count in counts.items()}
    identifiers = IDENTIFIER.findall(text.replace("\n", " "))
    return sum(
        any(lowered.get(word) == 0 for word in re.findall(r"[^\W_]+", identifier.lower()))
        for identifier in identifiers
    )


def bearing(reading: Reading, results: Iterable[Mapping[str, Any]]) -> float:
    """Return how surely the results bear on the prompt, 0 to 1; at 0.5 as much speaks for it as
    against it. The results must have been asked for with `explain`.

    In a memory without embeddings, half of the coverage stands for the nearness.
    """
    explained = [result["explain"] for result in results]
    is_work = work_among(word for explanation in explained for word in explanation["terms"])
    most_telling = 0
    nearest = 0.0
    has_all = False
    for explanation in explained:
        telling = [word for word in explanation["terms"] if not is_work(word)]
        most_telling = max(most_telling, len(telling))
        nearness = explanation["nearness"]
        if nearness is None and telling:
            nearness = explanation["coverage"] / 2
        nearest = max(nearest, nearness or 0.0)
        has_all = has_all or (len(telling) > 0 and explanation["coverage"] == 1)
    weight = (
        START
        + NEAREST * reading.share * nearest
        + WORDS * min(most_telling, MOST_TELLING) / MOST_TELLING
        + PERSONAL * reading.is_personal * (1 - reading.work)
        + ORDER * reading.is_order
        + FOREIGN * reading.is_foreign
        + BARE * (reading.is_bare and has_all)
        + CODE * min(reading.unknown_code, MOST_CODE)
        + CHUNKS * log10(max(reading.chunks, 1))
    )
    return 1 / (1 + exp(-weight))


def work_among(words: Iterable[str]) -> Callable[[str], bool]:
    """Return what tells of each of these words whether it is one of work, in any form, or a small number."""
    work_words = WORK_WORDS.split()
    stem_of = stems({*(word.lower() for word in words), *work_words})
    work = {stem_of.get(word, word) for word in work_words}

    def is_work(word: str) -> bool:
        word = word.lower()
        if word.isdigit() and len(word) < LEAST_NUMBER:
            return True
        return word.endswith(FAULTS) or stem_of.get(word, word) in work

    return is_work
