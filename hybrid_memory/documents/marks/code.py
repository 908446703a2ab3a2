"""Blank out the code of a markdown text, in which brackets and # mean something else. Takes time in proportion to the text."""

import re

from ..cutting.fences import FENCE, fence_end

FENCE_START = re.compile(rf"\n {{0,3}}{FENCE}")
# Patterns begin with the character that is rare. Up to the next run of as many backticks in the line; longer runs are none, so a
# line is looked at ten times at most.
CODE_SPAN = re.compile(r"`(?<!``)(`{0,8})(?!`)[^\n]*?(?<!`)`\1(?!`)")
# CommonMark 0.31, 4.4 Indented code blocks: after a blank line. Below an item of a list it is a part of the item.
INDENTED = re.compile(r"\n[ \t]*+\n(?: {4}|\t)[ \t]*+\S[^\n]*+(?:\n(?:[ \t]*+\n)*+(?: {4}|\t)[ \t]*+\S[^\n]*+)*+")
LIST_ITEM = re.compile(r"\s|(?:[-+*]|\d{1,9}[.)])\s")
LOOK_BACK = 1000  # characters in which the line above a block begins


def without_code(text: str) -> str:
    """A text that begins with a line break, with spaces in place of its code, so that every character keeps its place."""
    if "`" in text or "~~~" in text:
        text = CODE_SPAN.sub(lambda span: " " * len(span[0]), _without_fences(text))
    if "\n    " in text or "\n\t" in text:
        text = INDENTED.sub(_without_indented, text)
    return text


def _without_fences(text: str) -> str:
    kept, pos = [], 0
    while found := FENCE_START.search(text, pos):
        end = fence_end(text, found)
        kept += [text[pos : found.start()], _blank(text[found.start() : end])]
        pos = end
    return "".join([*kept, text[pos:]])


def _without_indented(block: re.Match[str]) -> str:
    above = block.string[max(block.start() - LOOK_BACK, 0) : block.start()].rstrip()
    return block[0] if LIST_ITEM.match(above[above.rfind("\n") + 1 :]) else _blank(block[0])


def _blank(text: str) -> str:
    return "\n".join(" " * len(line) for line in text.split("\n"))
