"""What cutting has to know of a markup: which lines are headings, what stays whole, and what is noise."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from .blocks import Block


class Heading(NamedTuple):
    """text[start:end], one or more whole lines without the last line break."""

    level: int  # from 1
    title: str
    start: int
    end: int


class Syntax(NamedTuple):
    """Functions that look at a text with a line break before each line."""

    readable: Callable[[str, int], str]  # (text, start): the text without the noise after `start`, in as many lines
    headings: Callable[[str, int], Iterator[Heading]]  # (text, start): in their order
    blocks: Callable[[str, int, int], list[Block]]  # (text, start, stop): code and tables, in their order
