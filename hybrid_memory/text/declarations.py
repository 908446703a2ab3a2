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
FEWEST_WORDS_BEFORE = 2  # a struck part; a statement struck whole is often followed by a remark
OPEN = frozenset(
    (*" /><", "TODO")
)  # every other mark than these and CLOSED has a meaning of its own
CLOSED = frozenset((*"xX-", "DONE"))  # [x] is done, [-] is cancelled
# The day of a task, as the Tasks plugin of Obsidian writes it, and the name of a block
STAMP = re.compile(r"(?:[✅❌➕⏳🛫📅📆]\ufe0f?\s*)+\d{4}-\d\d-\d\d|\s\^[\w-]+$")
STRUCK = re.compile(r"~~([^~\n]+)~~")
MARKER = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(?:\[[^\]\n]\][ \t]+)?")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
WORD = re.compile(r"\w+")


class Strike(NamedTuple):
    """A line with a struck-through part, as words: the line up to the end of that part, and the rest
    of the line.
    """

    former: list[str]
    rest: list[str]

    def replaces(self, line: Sequence[str]) -> bool:
        """Whether a line is this one as it was: the former part, and at most an end of the rest
        (the rest begins with the replacement).
        """
        count = len(self.former)
        end = list(line[count:])
        return (
            list(line[:count]) == self.former
            and len(end) < len(self.rest)
            and self.rest[len(self.rest) - len(end) :] == end
        )


def strikes(text: str) -> Iterator[Strike]:
    """Yield each struck-through part of a text that is followed by a replacement in its line."""
    for line in statements(text):
        for match in STRUCK.finditer(line):
            before = STRUCK.sub(" ", line[: match.start()])
            former = words(f"{before} {match[1]}")
            rest = words(STRUCK.sub(" ", line[match.end() :]))
            if rest and len(words(before)) >= FEWEST_WORDS_BEFORE and len(former) >= FEWEST_WORDS:
                yield Strike(former, rest)


def words(text: str) -> list[str]:
    """Return the words of a text, folded and in lower case."""
    return WORD.findall(fold(text).lower())


def statements(text: str) -> Iterator[str]:
    """Yield the sentences of a text, line by line, without marks of lists and tasks."""
    for line in text.split("\n"):
        if len(line) <= LONGEST_LINE:
            yield from SENTENCE_END.split(MARKER.sub("", line))


def tasks(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each task of a text, and whether it is closed.

    '- [x] Renew the lease ✅ 2026-03-08' -> ('renew the lease', True)
    """
    for mark, word, task in TASK.findall(text):
        state = mark or word
        key = words(STAMP.sub("", task))
        if len(key) >= FEWEST_WORDS_OF_TASK and state in OPEN | CLOSED:
            yield " ".join(key), state in CLOSED
