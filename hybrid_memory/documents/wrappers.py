"""Take out of a user's message what a program put into it. Takes time in proportion to the length of the message.

Claude Code puts text between tags and adds a line when the user interrupts it. OpenClaw begins a message from a channel with
its time, and adds lines that end in "(untrusted …):", each with a block of JSON below it.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from operator import itemgetter

NAME = (
    "system-reminder|command-[a-z]+|local-command-[a-z]+|bash-[a-z]+|task-notification|ide_[a-z_]+|user-prompt-submit-hook"
    "|active_memory_plugin|relevant-memories"
)
OPENING = re.compile(rf"<({NAME})\b")
CLOSING = re.compile(rf"</({NAME})>")
BLOCK = re.compile(r"\):\n```json\n")
END_OF_BLOCK = re.compile(r"\n```$", re.MULTILINE)
INTERRUPTED = re.compile(r"^\[Request interrupted by user[^\]\n]*\]$", re.MULTILINE)
TIME = re.compile(r"\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d[^\]\n]*\] ?")

Span = tuple[int, int]


def without_wrappers(text: str) -> str:
    """'[Mon 2026-03-05 10:00 UTC] hello <bash-stdout>a</bash-stdout>' -> 'hello '"""
    spans = [*_tagged(text), *_blocks(text), *(found.span() for found in INTERRUPTED.finditer(text))]
    if time := TIME.match(text):
        spans.append(time.span())
    kept, pos = [], 0
    for start, end in sorted(spans, key=itemgetter(0)):
        if start >= pos:
            kept.append(text[pos:start])
            pos = end
    return "".join([*kept, text[pos:]])


def _tagged(text: str) -> Iterator[Span]:
    """From each opening tag to the next closing tag of the same name."""
    closing: dict[str, list[Span]] = {}
    for tag in CLOSING.finditer(text):
        closing.setdefault(tag[1], []).append(tag.span())
    content = 0  # behind the ">" of the opening tag
    for tag in OPENING.finditer(text):
        if content <= tag.end():
            content = text.find(">", tag.end()) + 1
            if not content:
                return
        tags = closing.get(tag[1], [])
        number = bisect_left(tags, (content, 0))
        if number < len(tags):
            yield tag.start(), tags[number][1]


def _blocks(text: str) -> Iterator[Span]:
    """From the beginning of each line that ends in "(untrusted …):" to the end of the block of JSON below it."""
    ends = [found.span() for found in END_OF_BLOCK.finditer(text)]
    for block in BLOCK.finditer(text):
        line = text.rfind("\n", 0, block.start()) + 1
        bracket = text.rfind(")", line, block.start())
        number = bisect_left(ends, (block.end(), 0))
        if number < len(ends) and text.find("(untrusted", max(bracket, line), block.start()) >= 0:
            yield line, ends[number][1]
