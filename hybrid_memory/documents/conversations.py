"""Conversations with an assistant that were saved as text. Each message has a label of its speaker:

    **User:** ...        User: ...        ## User
    **Assistant:** ...   Assistant: ...   ## Assistant

A text is a conversation only if both speakers have labels of one form, and the first label is near
its beginning. A text in which labels occur later, as in a tutorial, has no roles.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from ..text.characters import lines_at, pattern
from ..text.languages import alternatives, languages
from ..text.roles import ROLES, together
from .chunker import Chunk
from .code import without_code
from .structure import below, markdown_structure

INTRODUCTION = 5  # the most lines above the first label; headings and empty lines do not count

_TIME = r"(?: \([^()\n]{1,40}\))?"
# NAME stands for the name of a speaker
_LABEL = (
    rf"(?i)\n(?:(#{{1,6}}) (NAME){_TIME}:?(?=\n|\Z)"
    rf"|(\*\*)(NAME){_TIME}(?::\*\*|\*\*{_TIME}:)"
    rf"|(NAME){_TIME}:(?=\s))"
)


@cache
def _roles() -> dict[str, str]:
    """The names of speakers that programs write when they save conversations, with their roles."""
    return {
        name.lower(): role
        for language in languages().values()
        for role, names in language.get("speakers", {}).items()
        for name in names
    }


class Turn(NamedTuple):
    """The beginning of a message."""

    line: int  # of the text, from 1
    role: str  # USER or ASSISTANT


def conversation(text: str, skipped: int = 0) -> list[Turn]:
    """Find the messages; [] if a text is not a conversation of a user with an assistant.

    The first `skipped` lines are front matter.
    """
    body = below(text, skipped)
    if len({role for _, _, role in _labels(body)}) < len(ROLES):
        return []
    body = without_code(markdown_structure(body))
    for turns in _turns_by_form(body, skipped).values():
        if len({turn.role for turn in turns}) == len(ROLES):
            above = body.split("\n")[1 : turns[0].line - skipped]
            written = [line for line in above if line.strip() and not line.startswith("#")]
            return turns if len(written) <= INTRODUCTION else []
    return []


def _turns_by_form(body: str, lines: int) -> dict[str, list[Turn]]:
    """The messages below this many lines, by the form of their labels."""
    turns: dict[str, list[Turn]] = {}
    labels = list(_labels(body))
    starts = [start for start, _, _ in labels]
    for line, (_, form, role) in zip(lines_at(body, starts, lines), labels, strict=True):
        turns.setdefault(form, []).append(Turn(line, role))
    return turns


def _labels(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the position of each label in a text with a line break before each line, its form, and
    the role that it names.
    """
    label = pattern(_LABEL.replace("NAME", alternatives(_roles())))
    for match in label.finditer(text):
        heading, of_heading, bold, of_bold, of_plain = match.groups()
        name = of_heading or of_bold or of_plain
        yield match.start() + 1, heading or bold or "", _roles()[name.lower()]


def with_roles(chunks: list[Chunk], turns: list[Turn]) -> list[Chunk]:
    """Set the roles of chunks of a conversation; without turns, it is another text."""
    if not turns:
        return chunks
    starts = [turn.line for turn in turns]
    with_role = []
    for chunk in chunks:
        first = bisect_right(starts, chunk.start_line) - 1  # the message in which the chunk begins
        last = bisect_right(starts, chunk.end_line)
        role = together(turn.role for turn in turns[max(first, 0) : last])
        with_role.append(replace(chunk, role=role))
    return with_role
