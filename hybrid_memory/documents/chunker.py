"""Split markdown into chunks at its headings. A chunk is one slice of the source, so that its lines can be cited.

ATX headings and fenced code are recognized: a `#` inside a fence is not a heading. Setext headings, HTML blocks, and headings
inside lists and quotes are treated as text. This module does not use storage or embeddings.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..text.characters import UNSPACED, begins_grapheme, with_plain_newlines
from . import frontmatter

MAX_HEADING = 1000  # characters: a longer line is cut like text, and a heading does not wait longer than this for its text
LONGEST_PATH = 300  # characters of a heading or a heading path, which goes with every chunk
SEPARATOR = " > "

# CommonMark 0.31, 4.2 ATX headings and 4.5 Fenced code blocks. A list item may begin with a fence (5.2).
HEADING_OR_FENCE = re.compile(
    r"^ {0,3}(?:(?P<level>#{1,6})(?:[ \t](?P<heading>.*))?$"
    r"|(?P<bullet>(?:[-+*]|\d{1,9}[.)]) {1,4})?(?P<fence>`{3,}(?=[^`\n]*$)|~{3,}))",
    re.MULTILINE,
)
NONSPACE = re.compile(r"\S")
LAST_BREAK = re.compile(rf".*[\s{UNSPACED}]")
WORD_START = re.compile(rf"(?<!\S)\S|[{UNSPACED}]")


class Chunk(NamedTuple):
    """A piece of a document. Lines start_line..end_line of the source contain the text."""

    text: str
    heading: str  # the nearest one above
    index: int  # type: ignore[assignment]  # hides tuple.index
    heading_path: str  # "Setup > GPU server > SSH"
    start_line: int  # from 1, front matter counted
    end_line: int


class Section(NamedTuple):
    """A heading line, text[start:body], and the text below it, text[body:end]. The text before the first heading has level 0."""

    level: int
    heading: str
    start: int
    body: int
    end: int


def chunk_text(text: str, chunk_size: int = 512, overlap: int = 50) -> list[Chunk]:
    """Cut markdown into chunks of up to `chunk_size` characters; each begins with up to `overlap` of the one before it.

    Only chunks of the same section overlap. A heading without a text of its own becomes part of the next chunk, and only such
    headings can make a chunk larger than `chunk_size`. Front matter is left out. Raises ValueError for an overlap that leaves
    no room for new text.
    """
    text = with_plain_newlines(text)
    return chunks_after(text, frontmatter.parse(text).lines, chunk_size, overlap)


def chunks_after(text: str, skipped: int, chunk_size: int, overlap: int, title: str = "") -> list[Chunk]:
    """`chunk_text` of a text with plain newlines, without its first `skipped` lines. `title` begins the heading paths."""
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be at least 1, not {chunk_size}")
    if not 0 <= overlap < chunk_size:
        raise ValueError(f"overlap must be at least 0 and below chunk_size ({chunk_size}), not {overlap}")
    chunks: list[Chunk] = []
    line, counted = 1, 0
    for start, end, heading, path in _spans(text, skipped, chunk_size, overlap, title):
        line += text.count("\n", counted, start)
        counted = start
        end_line = line + text.count("\n", start, end)
        chunks.append(Chunk(text[start:end], heading, len(chunks), path, line, end_line))
    return chunks


def _spans(text: str, skipped: int, size: int, overlap: int, title: str = "") -> Iterator[tuple[int, int, str, str]]:
    """Start, end, heading and heading path of every chunk."""
    reach = max(size, MAX_HEADING)
    path: list[Section] = []
    waiting: int | None = None  # start of the headings that have no text yet
    for section in _sections(text, skipped, reach):
        if section.level:
            path = [above for above in path if above.level < section.level] + [section]
            waiting = section.start if waiting is None else waiting
        trail = _heading_path([above.heading for above in path if above.heading], title)
        first = _next_text(text, section.body, section.end, size)
        if waiting is not None and (first == len(text) or first - waiting > reach):
            yield waiting, section.body, section.heading, trail
            waiting = None
        head = first if waiting is None else section.start
        for start, end in _fill(text, head, first, section.end, size, overlap):
            yield start if waiting is None else waiting, end, section.heading, trail
            waiting = None


def _sections(text: str, skipped: int, reach: int) -> Iterator[Section]:
    pos = start = body = sum(len(line) + 1 for line in text.split("\n", skipped)[:skipped])
    level, heading = 0, ""
    while found := HEADING_OR_FENCE.search(text, pos):
        if found["fence"]:
            pos = _fence_end(text, found)
            continue
        yield Section(level, heading, start, body, found.start())
        level, heading, start, pos = len(found["level"]), _title(found["heading"] or ""), found.start(), found.end()
        body = pos if pos - start <= reach else start
    yield Section(level, heading, start, body, len(text))


def _fence_end(text: str, opening: re.Match[str]) -> int:
    """Where the code ends: at a fence at least as long as the opening one, or else where its list item or the document ends."""
    fence = opening["fence"]
    indent = opening.start("fence") - opening.start() if opening["bullet"] else 0
    closing = rf"^ {{0,{indent + 3}}}{fence[0]}{{{len(fence)},}}+[ \t]*+$"
    if indent:
        closing += rf"|^(?= {{0,{indent - 1}}}\S)"
    match = re.compile(closing, re.MULTILINE).search(text, opening.end())
    return match.end() if match else len(text)


def _title(raw: str) -> str:
    """The heading's text without its closing sequence: "Setup ##" -> "Setup", but "C#" stays."""
    title = raw.strip()
    opened = title.rstrip("#")
    if not opened or opened[-1].isspace():
        title = opened.rstrip()
    return _clipped(title, LONGEST_PATH)


def _heading_path(headings: list[str], title: str) -> str:
    """The headings below the document's title, unless the first of them says the same. The nearest ones are kept whole.

    ["Setup", "GPU server"], "Notes" -> "Notes > Setup > GPU server"
    """
    if title and not f"{SEPARATOR.join(headings)}{SEPARATOR}".casefold().startswith(f"{title}{SEPARATOR}".casefold()):
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
    return text if len(text) <= room else text[: _cut(text, 0, room - 1, room - 1)] + "…"


def _fill(text: str, head: int, start: int, stop: int, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """The spans of text[start:stop], the text under one heading. The first one begins at `head`, the heading, if that fits."""
    origin, previous, new = head, head, start
    span: tuple[int, int] | None = None
    while new < stop:
        cut = _is_long(text, new, stop, size)
        end = _cut(text, new, size - (new - origin), size) if cut else _line_end(text, new, stop)
        if end - origin > size:
            origin = _word_start(text, max(start, end - size), previous, new)
        if span and origin > span[0]:  # otherwise the new span begins with the whole previous one
            yield span
        span = origin, end if cut else _last_line_end(text, end, origin + size, stop)
        previous, new = span[1], _next_text(text, span[1], stop, size)
        if previous - max(origin, start) > overlap:
            origin = _word_start(text, previous - overlap, previous, new)
    if span:
        yield span


def _next_text(text: str, pos: int, stop: int, size: int) -> int:
    """Where the next text at or after `pos` begins: at the start of its line or, if the line is too long, at its first word."""
    found = NONSPACE.search(text, pos, stop)
    if not found:
        return stop
    start = text.rfind("\n", max(pos - 1, 0), found.start()) + 1
    if start >= pos and not _is_long(text, start, stop, size):
        return start
    on_space = size > 1 and found.start() > max(pos, start) and not begins_grapheme(text, found.start())
    return found.start() - on_space  # a combining mark keeps the space that it stands on


def _is_long(text: str, start: int, stop: int, size: int) -> bool:
    return stop - start > size and text.find("\n", start, start + size + 1) < 0


def _line_end(text: str, start: int, stop: int) -> int:
    end = text.find("\n", start, stop)
    return stop if end < 0 else end


def _last_line_end(text: str, start: int, limit: int, stop: int) -> int:
    """The end of the last line that is not blank and ends within `limit`."""
    bound = stop if stop <= limit else text.rfind("\n", start, limit + 1)
    return _line_end(text, start + len(text[start:bound].rstrip()), bound)


def _cut(text: str, start: int, room: int, size: int) -> int:
    """The end of a piece of a line that is longer than `size`: within `room` characters if a word ends there."""
    end = next((i for i in _cuts(text, start, room, size) if begins_grapheme(text, i)), start + size)
    return start + len(text[start:end].rstrip())


def _cuts(text: str, start: int, room: int, size: int) -> Iterator[int]:
    """The possible ends, the best first: where words end within `room`, where they end within `size`, where characters end."""
    for limit in (room, size):
        end = start + limit + 1
        while last := LAST_BREAK.match(text, start + 1, end):
            end = last.end() - 1
            yield end
    yield from range(start + size, start, -1)


def _word_start(text: str, start: int, end: int, default: int) -> int:
    words = WORD_START.finditer(text, start, end)
    return next((word.start() for word in words if begins_grapheme(text, word.start())), default)
