"""Split a text into chunks at its headings. Each chunk is one slice of the readable text, so that
its lines can be cited.

A text is divided into *sections*, each a heading and the text below it. Sections with text become
*parts*, and a part is cut into *passages*, but not inside a short *block* of code or a table
(passages.py). Each passage becomes a *chunk*.

The text is in markdown (structure.py), or in another markup. This module does not use storage or
embeddings.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ..text.terms import SEPARATOR
from .noise import CLOSING_TAGS
from .passages import Part, clipped, next_text, passages
from .structure import LONGEST_HEADING, Heading, Markup, below, markdown_structure

LONGEST_WAIT = 1000  # characters (or one chunk) between headings without text and the next text
LONGEST_PATH = 300  # characters of a heading or a heading path, which every chunk repeats


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document. Lines start_line..end_line of the source contain the text."""

    text: str
    heading: str  # the nearest heading above
    index: int
    heading_path: str = ""  # "Setup > GPU server > SSH"
    start_line: int = 1  # counted with the front matter
    end_line: int = 1
    header: str = ""  # lines above it, such as of a table, that `text` repeats; not in its lines
    date: str | None = None  # YYYY-MM-DD, if the passage has another day than the document
    role: str | None = None  # who speaks in it, see roles.py; None: not a conversation
    items: str = ""  # the first lines of the list items in which it begins: "Garage > Shelf one"


class Section(NamedTuple):
    """A heading line, text[start:body], and the text below it, text[body:end].

    A heading that is too long is text: then `body` is `start`. The text before the first heading
    has level 0.
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
    markup: Markup = markdown_structure,
) -> list[Chunk]:
    """Cut a text with plain newlines into chunks of at most `chunk_size` characters. A chunk may
    repeat up to `overlap` characters from the end of the previous one.

    The first `skipped` lines, the front matter, are left out but counted. `title` begins the
    heading paths. The text is in markdown unless another `markup` is given.
    """
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be at least 1, not {chunk_size}")
    if not 0 <= overlap < chunk_size:
        raise ValueError(
            f"overlap must be at least 0 and below chunk_size ({chunk_size}), not {overlap}"
        )
    structure = markup(below(text, skipped))
    text = structure.text
    chunks: list[Chunk] = []
    line = skipped
    counted = 0  # position up to which `line` has been counted
    sections = _sections(text, structure.headings)
    for part in _parts(text, sections, chunk_size, title):
        for passage in passages(text, part, chunk_size, overlap, structure.blocks):
            line += text.count("\n", counted, passage.start)
            counted = passage.start
            end_line = line + text.count("\n", passage.start, passage.end)
            content = passage.header + text[passage.start : passage.end]
            if CLOSING_TAGS.fullmatch(content):
                continue
            chunks.append(
                Chunk(
                    content,
                    part.heading,
                    len(chunks),
                    part.path,
                    line,
                    end_line,
                    passage.header,
                    items=passage.items,
                )
            )
    return chunks


def _parts(text: str, sections: Iterator[Section], size: int, title: str) -> Iterator[Part]:
    """Yield the sections that have text.

    Headings without text belong to the next section with text. Those at the end belong to the last
    section.
    """
    above: list[Section] = []  # the headings around the section
    pending: int | None = None  # start of the headings without text so far
    last: Part | None = None  # held back, because it takes the headings at the end
    for section in sections:
        if section.level:
            above = [heading for heading in above if heading.level < section.level] + [section]
            pending = section.start if pending is None else pending
        body = next_text(text, section.body, section.end, size)
        has_text = body < section.end
        # Characters of the headings without text
        waited = 0 if pending is None else section.end - pending
        if not has_text and waited <= max(size, LONGEST_WAIT):
            continue
        if last:
            yield last
        start = body if pending is None else pending
        path = _heading_path(above, title)
        # Headings at the end of the text are added below
        last = Part(start, body, section.end, section.end, _nearest(above), path)
        pending = None
    end = len(text)
    if last:
        yield last if pending is None else last._replace(end=end)
    elif pending is not None:
        path = _heading_path(above, title)
        yield Part(pending, body=end, tail=end, end=end, heading=section.heading, path=path)


def _sections(text: str, found: Iterable[Heading]) -> Iterator[Section]:
    """Yield the text above the first heading, then the section of each heading."""
    section = Section(0, "", 1, 1, len(text))
    for heading in found:
        yield section._replace(end=heading.start)
        is_too_long = heading.end - heading.start > LONGEST_HEADING
        body = heading.start if is_too_long else heading.end
        title = clipped(heading.title, LONGEST_PATH)
        section = Section(heading.level, title, heading.start, body, len(text))
    yield section


def _nearest(above: list[Section]) -> str:
    """The heading of the innermost section, or around one that only ends another."""
    lines = [
        section.heading for section in above if section.heading or section.start < section.body
    ]
    return lines[-1] if lines else ""


def _heading_path(above: list[Section], title: str) -> str:
    """Join the headings, with the document's title first unless they begin with it. If the path is
    too long, the innermost headings are kept.

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
            path = clipped(heading, room) + SEPARATOR + path
        if len(heading) > room:
            break
    return path
