"""Lines in which an author declares that something has changed: struck-through text with its
replacement, and tasks.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .characters import fold

LONGEST_LINE = 1000  # characters; a longer line is not compared
FEWEST_WORDS = 3  # of a former line; a shorter one stands in many places by chance
FEWEST_WORDS_OF_TASK = 2

TASK = re.compile(
    r"^[ \t>]*(?:[-*+]|\d+[.)])[ \t]+"
    r"(?:\[([^\]\n])\]|\{\{\[\[(TODO|DONE)\]\]\}\})[ \t]+(\S.*)$",  # the second form is Roam's
    re.MULTILINE,
)
OPEN = frozenset(
    (*" /><", "TODO")
)  # every other mark than these and CLOSED has a meaning of its own
CLOSED = frozenset((*"xX-", "DONE"))  # [x] is done, [-] is cancelled
# The day of a task, as the Tasks plugin of Obsidian writes it, and the name of a block
STAMP = re.compile(r"(?:[✅❌➕⏳🛫📅📆]\ufe0f?\s*)+\d{4}-\d\d-\d\d|\s\^[\w-]+$")
STRUCK = re.compile(r"~~([^~\n]+)~~")
# What comes before the text of a line: the marks of a quote, a list and a task, and the time of a note
MARKER = re.compile(
    r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+(?:\d{1,2}:\d\d[ \t]+)?)?(?:\[[^\]\n]\][ \t]+)?"
)
# After a statement struck whole, these begin a remark, a number or the rest of a link around it
REMARK = ("(", "[", "]", "#")
ADDRESS = re.compile(r"\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)")  # of a markdown link: no words
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
WORD = re.compile(r"\w+")


class Strike(NamedTuple):
    """A statement with a struck-through part, as words: the statement up to the end of that part,
    and the rest of the line, to the end of its sentence.
    """

    former: list[str]
    rest: list[str]

    @property
    def text(self) -> str:
        return " ".join(self.former + self.rest)

    def replaces(self, line: Sequence[str]) -> bool:
        """Whether a line is this one as it was: the former part, and at most an end of the rest
        (the rest begins with the replacement).
        """
        count = len(self.former)
        end = list(line[count:])
        return (
            len(line) >= FEWEST_WORDS
            and list(line[:count]) == self.former
            and len(end) < len(self.rest)
            and self.rest[len(self.rest) - len(end) :] == end
        )


def strikes(text: str) -> Iterator[Strike]:
    """Yield each struck-through statement, or statement with a struck-through part, that is followed
    by a replacement in its line.
    """
    for line in _lines(text):
        for match in STRUCK.finditer(line):
            *_, before = SENTENCE_END.split(STRUCK.sub(" ", line[: match.start()]))
            after, *_ = SENTENCE_END.split(STRUCK.sub(" ", line[match.end() :]))
            rest = words(after)
            if not rest or (not words(before) and after.lstrip(" *_").startswith(REMARK)):
                continue
            for statement in SENTENCE_END.split(match[1]):
                former = words(f"{before} {statement}")
                before = ""
                if former:
                    yield Strike(former, rest)


def words(text: str) -> list[str]:
    """Return the words of a text, folded and in lower case."""
    return WORD.findall(fold(text).lower())


def statements(text: str) -> Iterator[str]:
    """Yield the sentences of a text, line by line, without marks of lists and tasks."""
    for line in _lines(text):
        yield from SENTENCE_END.split(line)


def _lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if len(line) <= LONGEST_LINE:
            yield ADDRESS.sub("]", MARKER.sub("", line))


def tasks(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each task of a text, and whether it is closed.

    '- [x] Renew the lease ✅ 2026-03-08' -> ('renew the lease', True)
    """
    for mark, word, task in TASK.findall(text):
        state = mark or word
        key = words(STAMP.sub("", task))
        if len(key) >= FEWEST_WORDS_OF_TASK and state in OPEN | CLOSED:
            yield " ".join(key), state in CLOSED
