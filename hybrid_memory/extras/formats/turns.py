"""Turns of a session that add nothing to the memory: the user only asks, and the agent answers from
the memory, or finds nothing.

If such a turn were stored, the next search for the same question would find the question itself.
Whatever may be news is kept: a question with a clause, a negation, a proposal ("how about"), a number
or a comma, since it may state something, and an answer for which the agent used another tool.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ...text.roles import USER
from .inserted import HEADING

LONGEST_ANSWER = 2000  # characters; a longer one has more than a note says
LONGEST_REFUSAL = (
    200  # characters of an answer that says that nothing was found; a longer one says more
)
ONLY_ASKS = re.compile(
    r"\s*\"?(?:(?:hello|hey|hi|ok|okay|and|so)\s+)?"
    r"(?:(?:about|at|by|for|from|in|into|of|on|to|under|with)\s+)?"
    r"(?:who|whose|whom|what|which|when|where|why|how)"
    r"(?:'s|'re)?\b[^,;:.!?()\"\d\n]{0,120}\?\"?\s*",  # opencode quotes the words of a command line
    re.IGNORECASE,
)
STATES = re.compile(  # a clause, a proposal, a negation
    r"\b(?:that|because|since|after|before|if|now|although|though|while|until|but|and"
    r"|(?:how|what) about|not|\w+n['\u2019]t)\b",
    re.IGNORECASE,
)
FOUND_NOTHING = re.compile(
    r"\b(?:could(?: not|n't) find|can(?:not|'t) find|found no|did(?: not|n't) find"
    r"|do(?: not|n't) (?:know|have)|no (?:note|record|mention|memory)|nothing (?:in|about|on))\b",
    re.IGNORECASE,
)
# In a line of a transcript
PASSAGES = HEADING.partition(",")[0]  # the rest may be escaped
MEMORY = re.compile(
    r"(?:\b|_)memory_(?:search|get|list)\b|\bhybrid-memory [^\"]{0,200}?\b(?:search|get|recall)\b"
)
TOOL = re.compile(
    r'"type": ?"(?:tool_use|toolCall|function_call|custom_tool_call|local_shell_call)"'
    r'|"toolCalls": ?\[\s*\{'
)


class TranscriptMessage(NamedTuple):
    """A message of a user or an assistant, on one line of a transcript."""

    line: int  # of the file, from 1
    role: str  # USER or ASSISTANT
    text: str
    # The session's title at this line, so that a later title does not change earlier chunks
    title: str
    date: str | None = None  # YYYY-MM-DD; of the previous message, if this one has no time

    @property
    def label(self) -> str:
        """The speaker, as in front of each message of a chunk."""
        return f"{self.role.capitalize()}: "


def without_echoes(
    lines: Iterable[tuple[bytes, TranscriptMessage | None]],
) -> Iterator[TranscriptMessage]:
    """Yield the messages on the lines of a session, except those of turns that add nothing."""
    turn: list[TranscriptMessage] = []  # a question, and its answer so far, that may add nothing
    has_recalled = False
    for line, message in lines:
        if message and message.role == USER:
            yield from _news(turn, has_recalled)
            turn = []
            has_recalled = False
        if message and (turn or (message.role == USER and _only_asks(message.text))):
            turn.append(message)
        elif message:
            yield message
        if turn:
            words = line.decode(errors="replace")
            has_recalled = has_recalled or _is_from_memory(words)
            is_long = sum(len(part.text) for part in turn) > LONGEST_ANSWER
            if is_long or _uses_another_tool(words):
                yield from turn
                turn = []
    yield from _news(turn, has_recalled)


def _news(turn: Sequence[TranscriptMessage], has_recalled: bool) -> Sequence[TranscriptMessage]:
    """A turn that only asks; nothing of it if the memory answered it, or nothing was found."""
    answer = "\n".join(message.text for message in turn[1:])
    is_refusal = len(answer) <= LONGEST_REFUSAL and FOUND_NOTHING.search(answer)
    if answer and (has_recalled or is_refusal):
        return []
    return turn


def _only_asks(text: str) -> bool:
    """Whether a message is one question that states nothing.

    "On which port does heron listen?" -> True, "Anna moved to Bergen, who waters the plants?" -> False
    """
    return bool(ONLY_ASKS.fullmatch(text)) and not STATES.search(text)


def _is_from_memory(line: str) -> bool:
    """Whether a line has passages of the memory, or a call of its tools."""
    return PASSAGES in line or bool(TOOL.search(line) and MEMORY.search(line))


def _uses_another_tool(line: str) -> bool:
    return bool(TOOL.search(line)) and not _is_from_memory(line)
