"""Split a text into chunks at its headings. A chunk is one slice of the readable text, so that its
lines can be cited.

A text is divided into *sections*, each a heading with what is below it. Sections with text become
*parts*, and a part is cut into *passages*, not inside a short *block* of code or a table
(passages.py). Each passage becomes a *chunk*.

The text is markdown, or of another `Syntax`. ATX headings and fenced code are recognized: a `#`
inside a fence is not a heading. Setext headings, HTML blocks, and headings inside lists and quotes
are treated as text. This module does not use storage or embeddings.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .noise import CLOSING_TAGS, FENCE, fence_end, readable
from .passages import Block, Part, blocks, cut, next_text, passages
from .terms import SEPARATOR


class Heading(NamedTuple):
    """text[start:end], one or more whole lines without the last line break."""

    level: int  # from 1
    title: str
    start: int
    end: int


class Syntax(NamedTuple):
    """The functions that know a markup; they look at a text with a line break before each line.

    `readable` takes the text and a place, and leaves out the noise after it but no line. `headings`
    takes the same, `blocks` also the place where to stop; both give what they find in its order.
    """

    readable: Callable[[str, int], str]
    headings: Callable[[str, int], Iterator[Heading]]
    blocks: Callable[[str, int, int], list[Block]]


LONGEST_HEADING = 1000  # characters: a longer line is text
LONGEST_WAIT = 1000  # characters, or a chunk: so much later, a text is no longer that of a heading
LONGEST_PATH = 300  # characters of a heading or a heading path, which goes with every chunk

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
    header: str = ""  # of a table: the text of later rows begins with it, their lines do not
    date: str | None = None  # YYYY-MM-DD, of a passage that has a day of its own


class Section(NamedTuple):
    """A heading line, text[start:body], and the text below it, text[body:end]. A line that is too long
    for a heading is text: `body` is `start`. The text before the first heading has level 0.
    """

    level: int
    heading: str
    start: int
    body: int
    end: int


def chunks_of(
    text: str,
    skipped: int,
    chunk_size: int,
    overlap: int,
    title: str = "",
    syntax: Syntax | None = None,
) -> list[Chunk]:
    """Cut a text with plain newlines into chunks of at most `chunk_size` characters. `overlap` are the
    characters that a chunk may repeat from the one before it.

    The first `skipped` lines, a front matter, are left out but counted. `title` begins the heading
    paths. The text is in markdown unless another `syntax` is given.
    """
    syntax = syntax or MARKDOWN  # which stands at the end of this module
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be at least 1, not {chunk_size}")
    if not 0 <= overlap < chunk_size:
        raise ValueError(
            f"overlap must be at least 0 and below chunk_size ({chunk_size}), not {overlap}"
        )
    skipped_lines = text.split("\n", skipped)[:skipped]
    start = sum(len(line) + 1 for line in skipped_lines)
    # The patterns look for the line break before a line, so one is put in front. By that, `start` is the
    # place of the line break before the first line that is not skipped, and the first line has number 1.
    text = syntax.readable(f"\n{text}", start)
    chunks: list[Chunk] = []
    line = 0
    counted = 0  # where in the text `line` has been counted to
    sections = _sections(text, start, syntax.headings(text, start))
    for part in _parts(text, sections, chunk_size, title):
        for passage in passages(text, part, chunk_size, overlap, syntax.blocks):
            line += text.count("\n", counted, passage.start)
            counted = passage.start
            end_line = line + text.count("\n", passage.start, passage.end)
            content = passage.header + text[passage.start : passage.end]
            if CLOSING_TAGS.fullmatch(content):
                continue
            chunks.append(
                Chunk(content, part.heading, len(chunks), part.path, line, end_line, passage.header)
            )
    return chunks


def _parts(text: str, sections: Iterator[Section], size: int, title: str) -> Iterator[Part]:
    """Yield the sections that have text.

    Headings without a text of their own belong to the section that follows. Those at the end belong
    to the last section.
    """
    above: list[Section] = []  # the headings that a section is below, its own the last
    untaken: int | None = None  # start of the headings that have no text yet
    last: Part | None = None  # held back, because headings at the end belong to it
    for section in sections:
        if section.level:
            above = [heading for heading in above if heading.level < section.level] + [section]
            untaken = section.start if untaken is None else untaken
        body = next_text(text, section.body, section.end, size)
        has_text = body < section.end
        # Characters of headings without text
        waited = 0 if untaken is None else section.end - untaken
        if not has_text and waited <= max(size, LONGEST_WAIT):
            continue
        if last:
            yield last
        start = body if untaken is None else untaken
        path = _heading_path(above, title)
        # Until headings at the end of the text are added, it ends where its text does
        last = Part(start, body, section.end, section.end, section.heading, path)
        untaken = None
    end = len(text)
    if last:
        yield last if untaken is None else last._replace(end=end)
    elif untaken is not None:
        path = _heading_path(above, title)
        yield Part(untaken, body=end, tail=end, end=end, heading=section.heading, path=path)


def _headings(text: str, start: int) -> Iterator[Heading]:
    """Yield the headings of markdown."""
    pos = start
    while line := HEADING_OR_FENCE.search(text, pos):
        if line["fence"]:
            pos = fence_end(text, line)
        else:
            pos = line.end()
            yield Heading(len(line["level"]), _title(line["heading"] or ""), line.start() + 1, pos)


def _sections(text: str, start: int, headings: Iterable[Heading]) -> Iterator[Section]:
    """Yield what stands after `start` and before the first heading, and the section of each heading."""
    section = Section(0, "", start + 1, start + 1, len(text))
    for heading in headings:
        yield section._replace(end=heading.start)
        is_too_long = heading.end - heading.start > LONGEST_HEADING
        body = heading.start if is_too_long else heading.end
        title = _clipped(heading.title, LONGEST_PATH)
        section = Section(heading.level, title, heading.start, body, len(text))
    yield section


def _title(raw: str) -> str:
    """Return a heading's text without its closing sequence: "Setup ##" -> "Setup", "C#" -> "C#"."""
    title = raw.strip()
    opened = title.rstrip("#")
    if not opened or opened[-1].isspace():
        title = opened.rstrip()
    return title


def _heading_path(above: list[Section], title: str) -> str:
    """Join the headings below the document's title, unless the first of them says the same. The
    nearest ones are kept whole.

    "Setup", "GPU server" in "Notes" -> "Notes > Setup > GPU server"
    """
    headings = [section.heading for section in above if section.heading]
    joined = SEPARATOR.join(headings) + SEPARATOR
    if title and not joined.casefold().startswith((title + SEPARATOR).casefold()):
        headings = [title, *headings]
    path = headings[-1] if headings else ""
    for heading in reversed(headings[:-1]):
        room = LONGEST_PATH - len(path) - len(SEPARATOR)
        if room > 0:
            path = _clipped(heading, room) + SEPARATOR + path
        if len(heading) > room:
            break
    return path


def _clipped(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    return text[: cut(text, 0, 0, room - 1)] + "…"


MARKDOWN = Syntax(readable, _headings, blocks)
