"""Split a text into chunks at its headings. A chunk is one slice of the readable text, so that its
lines can be cited.

The text is markdown, or of another `Syntax`. ATX headings and fenced code are recognized: a `#`
inside a fence is not a heading. Setext headings, HTML blocks, and headings inside lists and quotes
are treated as text. This module does not use storage or embeddings.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .noise import FENCE, fence_end, readable
from .passages import Block, blocks, cut, next_text, passages


class Heading(NamedTuple):
    """text[start:end], one or more whole lines without the last line break."""

    level: int  # from 1
    title: str
    start: int
    end: int


class Syntax(NamedTuple):
    """Functions that look at a text with a line break before each line."""

    readable: Callable[
        [str, int], str
    ]  # (text, start): the text without the noise after `start`, in as many lines
    headings: Callable[[str, int], Iterator[Heading]]  # (text, start): in their order
    blocks: Callable[
        [str, int, int], list[Block]
    ]  # (text, start, stop): code and tables, in their order


# Characters: a longer line is cut like text, and a heading does not wait longer than this for its
# text
MAX_HEADING = 1000
LONGEST_PATH = 300  # characters of a heading or a heading path, which goes with every chunk
SEPARATOR = " > "

HEADING_OR_FENCE = re.compile(  # CommonMark 0.31, 4.2 ATX headings
    rf"\n {{0,3}}(?:(?P<level>#{{1,6}})(?:[ \t](?P<heading>.*))?(?=\n|\Z)|{FENCE})"
)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document. Lines start_line..end_line of the source contain the text."""

    text: str
    heading: str  # the nearest one above
    index: int
    heading_path: str = ""  # "Setup > GPU server > SSH"
    start_line: int = 1  # front matter counted
    end_line: int = 1
    header: str = (
        ""  # of a table, in front of its later rows: the text begins with it, the lines do not
    )


class Section(NamedTuple):
    """A heading line, text[start:body], and the text below it, text[body:end]. The text before the
    first heading has level 0.
    """

    level: int
    heading: str
    start: int
    body: int
    end: int


def chunks_after(
    text: str,
    skipped: int,
    chunk_size: int,
    overlap: int,
    title: str = "",
    syntax: Syntax | None = None,
) -> list[Chunk]:
    """`chunk_text` of a text with plain newlines, without its first `skipped` lines. `title` begins
    the heading paths.

    The text is in markdown unless another `syntax` is given.
    """
    syntax = syntax or MARKDOWN
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be at least 1, not {chunk_size}")
    if not 0 <= overlap < chunk_size:
        raise ValueError(
            f"overlap must be at least 0 and below chunk_size ({chunk_size}), not {overlap}"
        )
    start = sum(len(line) + 1 for line in text.split("\n", skipped)[:skipped])
    text = syntax.readable(f"\n{text}", start)  # the patterns look for the line break before a line
    chunks: list[Chunk] = []
    line = counted = 0
    sections = _sections(text, start, syntax.headings(text, start))
    for first, body, tail, stop, heading, path in _with_text(text, sections, chunk_size, title):
        for begin, end, header in passages(
            text, first, body, tail, stop, chunk_size, overlap, syntax.blocks
        ):
            line += text.count("\n", counted, begin)
            counted = begin
            end_line = line + text.count("\n", begin, end)
            chunks.append(
                Chunk(header + text[begin:end], heading, len(chunks), path, line, end_line, header)
            )
    return chunks


def _with_text(
    text: str, sections: Iterator[Section], size: int, title: str
) -> Iterator[tuple[int, int, int, int, str, str]]:
    """The sections that have text: start, start and end of the text, end, heading, and heading
    path.

    Headings without a text of their own belong to the section that follows. Those at the end belong
    to the last section.
    """
    path: list[Section] = []
    waiting: int | None = None  # start of the headings that have no text yet
    held: tuple[int, int, int, str, str] | None = None
    for section in sections:
        if section.level:
            path = [above for above in path if above.level < section.level] + [section]
            waiting = section.start if waiting is None else waiting
        body = next_text(text, section.body, section.end, size)
        if body < section.end or (
            waiting is not None and section.end - waiting > max(size, MAX_HEADING)
        ):
            if held:
                yield *held[:3], held[2], *held[3:]
            trail = _heading_path([above.heading for above in path if above.heading], title)
            held = body if waiting is None else waiting, body, section.end, section.heading, trail
            waiting = None
    if held:
        yield *held[:3], held[2] if waiting is None else len(text), *held[3:]
    elif waiting is not None:
        trail = _heading_path([above.heading for above in path if above.heading], title)
        yield waiting, len(text), len(text), len(text), section.heading, trail


def _headings(text: str, start: int) -> Iterator[Heading]:
    """The headings of markdown."""
    pos = start
    while found := HEADING_OR_FENCE.search(text, pos):
        pos = found.end()
        if found["fence"]:
            pos = fence_end(text, found)
        else:
            yield Heading(
                len(found["level"]), _title(found["heading"] or ""), found.start() + 1, pos
            )


def _sections(text: str, start: int, headings: Iterable[Heading]) -> Iterator[Section]:
    """The sections of the text after `start` that begin with these headings, and what stands before
    the first.
    """
    begin = body = start + 1
    level, title = 0, ""
    for heading in headings:
        yield Section(level, title, begin, body, heading.start)
        level, title, begin = heading.level, _clipped(heading.title, LONGEST_PATH), heading.start
        body = heading.end if heading.end - begin <= MAX_HEADING else begin
    yield Section(level, title, begin, body, len(text))


def _title(raw: str) -> str:
    """The heading's text without its closing sequence: "Setup ##" -> "Setup", but "C#" stays."""
    title = raw.strip()
    opened = title.rstrip("#")
    if not opened or opened[-1].isspace():
        title = opened.rstrip()
    return title


def _heading_path(headings: list[str], title: str) -> str:
    """The headings below the document's title, unless the first of them says the same. The nearest
    ones are kept whole.

    ["Setup", "GPU server"], "Notes" -> "Notes > Setup > GPU server"
    """
    if title and not f"{SEPARATOR.join(headings)}{SEPARATOR}".casefold().startswith(
        f"{title}{SEPARATOR}".casefold()
    ):
        headings = [title, *headings]
    path = headings[-1] if headings else ""
    for heading in reversed(headings[:-1]):
        room = LONGEST_PATH - len(path) - len(SEPARATOR)
        if room > 0:
            path = f"{_clipped(heading, room)}{SEPARATOR}{path}"
        if len(heading) > room:
            break
    return path


def _clipped(text: str, room: int) -> str:
    return text if len(text) <= room else text[: cut(text, 0, 0, room - 1)] + "…"


MARKDOWN = Syntax(readable, _headings, blocks)
