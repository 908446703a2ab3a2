"""Cut the text of a section into passages that stand alone: they end with a sentence, an item or a
block where one fits.

MERGED Tell whether a sentence ends at a place in a text: 'z.B. Dr. Smith of the U.S. paid 3.5 for
v1.2.3.' is one sentence.

MERGED Find the code and the tables in a section of markdown, and the header that the later rows of
a table need.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..text.characters import UNSPACED, begins_grapheme

CLOSING = "\"'”’»)]}*_`"
ENDS, WIDE_ENDS = ".!?…؟۔।", "。！？｡"  # the wide ones need no space after them
WIDE_CLOSING = CLOSING + "」』）】》〉"
BEFORE = 24  # characters that are looked at

ABBREVIATION = re.compile(
    r"(?:^|[^\w.])(?:(?:[^\W\d_]\.){0,4}[^\W\d_]"  # J. (an initial), e.g., z.B., U.S.A.
    r"|al|approx|bzgl|bzw|ca|cf|dr|eig|evtl|geb|ggf|ggü|hr|fr|inkl|exkl|mind|max|min|mio|mr|mrs|ms|mt|prof|resp|sog|st|str|usf"
    r"|viz|vgl|vs|zzgl|gen|gov|sen|rep|capt|col|lt|sgt|rev|hon|incl|excl|est|dept)\.$",
    re.IGNORECASE,
)
BEFORE_NUMBER = re.compile(
    r"(?:^|[^\w.])(?:nos?|nr|figs?|pp?|abb|vol|ch|chap|sec|eqs?|art|abs|bd|kap|tel|ed|ver|ref|tab|line|ln|ziff|anm)\.$",
    re.IGNORECASE,
)
NUMBERING = re.compile(r"(?:^|\n)[ \t>*_]*\d{1,9}\.$")  # of a list item
DAY = re.compile(r"(?:^|\D)\d{1,2}\.$")
MONTH = re.compile(r"Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez")
FIRST_CHARACTER = re.compile(r"[\s>*_\"'“„‘«(\[`#~-]{0,16}")


def ends_sentence(text: str, end: int) -> bool:
    """Whether text[:end] ends with a sentence. If the next word is in lower case, the answer is no."""
    before = text[max(end - BEFORE, 0) : end].rstrip(WIDE_CLOSING)
    last = before[-1:]
    if not last or last not in ENDS:
        return last != "" and last in WIDE_ENDS
    first = FIRST_CHARACTER.match(text, end).end()  # type: ignore[union-attr]  # it matches anywhere
    after = text[first : first + 3]
    if after[:1].islower():
        return False
    if last != ".":
        return True
    return not (
        ABBREVIATION.search(before)
        or NUMBERING.search(before)
        or (after[:1].isdigit() and BEFORE_NUMBER.search(before))
        or (MONTH.match(after) and DAY.search(before))
    )


LONGEST_HEADER = 1000  # characters of a row that may be a header

FENCED = re.compile(
    r"\n[ \t>]*+(?:(?:[-+*]|\d{1,9}[.)])[ \t]++)?(?P<fence>`{3,}+(?=[^`\n]*(?:\n|\Z))|~{3,}+)"
)
DELIMITER_ROW = re.compile(  # GitHub Flavored Markdown 0.29, 4.10 Tables
    r"\n[ \t>]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+(?=\n)"
)
TABLE_END = re.compile(r"\n(?=[ \t>]*+\n)")
SPACES = re.compile(r"[ \t]+")


class Block(NamedTuple):
    """text[start:end], fenced code or a table, from the start of its first line to the line break
    after its last one.
    """

    start: int
    first: int  # where the first line of code or the first row below the header begins
    end: int
    header: str  # what a later part of a table repeats: '| a | b |\n|---|---|\n'; "" for code


def blocks(text: str, start: int, stop: int) -> list[Block]:
    """The blocks of text[start:stop] in their order. A line break stands before `start`."""
    found: list[Block] = []
    if text.find("```", start, stop) >= 0 or text.find("~~~", start, stop) >= 0:
        found = _fences(text, start, stop)
    if text.find("|", start, stop) >= 0:
        found = sorted(found + _tables(text, start, stop, found))
    return found


def _fences(text: str, start: int, stop: int) -> list[Block]:
    found = []
    pos = start - 1
    while opening := FENCED.search(text, pos, stop):
        fence = opening["fence"]
        closed = re.compile(rf"\n[ \t>]*+{fence[0]}{{{len(fence)},}}+[ \t]*+(?=\n|\Z)").search(
            text, opening.end(), stop
        )
        pos = closed.end() if closed else stop
        first = text.find("\n", opening.end(), pos) + 1
        found.append(Block(opening.start() + 1, first or pos, pos, ""))
    return found


def _tables(text: str, start: int, stop: int, code: list[Block]) -> list[Block]:
    found = []
    fences = iter([*code, Block(stop + 1, stop + 1, stop + 1, "")])
    fence = next(fences)
    pos = start
    while row := DELIMITER_ROW.search(text, pos, stop):
        while fence.end <= row.start():
            fence = next(fences)
        header = (
            text.rfind("\n", max(start, row.start() - LONGEST_HEADER), row.start()) + 1 or start
        )
        pos = row.end()
        if row.start() < fence.start and text.find("|", header, row.start()) >= 0:
            bound = min(fence.start - 1, stop)
            last = TABLE_END.search(text, row.end(), bound)
            end = last.start() if last else bound
            found.append(
                Block(header, row.end() + 1, end, _repeated(text[header : row.start()], row[0]))
            )
            pos = max(end, pos)
    return found


def _repeated(header: str, delimiter: str) -> str:
    """Header and delimiter row without the spaces that align the columns."""
    columns = delimiter.strip("\n \t>|").count("|") + 1
    return f"{SPACES.sub(' ', header.strip())}\n{'|---' * columns}|\n"


NONSPACE = re.compile(r"\S")
WORD_START = re.compile(rf"(?<!\S)\S|[{UNSPACED}]")
LAST_BREAK = re.compile(rf".*[\s{UNSPACED}]", re.DOTALL)
LAST_CLAUSE = re.compile(r".*(?:[;:,–—](?=\s)|[，、；：]|\n)", re.DOTALL)
LONGEST_END = 6  # characters: a full stop, what closes quotes and brackets, a space
_CLOSING, _WIDE_CLOSING = re.escape(CLOSING), re.escape(WIDE_CLOSING + WIDE_ENDS)
END = (
    rf"[\n{ENDS}{WIDE_ENDS}](?:(?<=\n)|(?<=[{ENDS}])[{_CLOSING}]{{0,4}}(?=[ \t])"
    rf"|(?<=[{WIDE_ENDS}])[{_WIDE_CLOSING}]{{0,4}}(?!\n))"
)
ANY_END = re.compile(END)
LAST_END = re.compile(f".*{END}", re.DOTALL)
REST_OF_ROW = re.compile(r"[ \t]*+\|[ \t]*+(?=\n|\Z)")
DELIMITERS = re.compile(r"[\s>|:-]*+\Z")
NEXT_LINE = re.compile(
    r"[ \t>]*+(?:(?P<begins>\n|\Z|\||<|```|~~~|(?:[-*+•]|\d{1,9}[.)])[ \t])|[^\w\n]*(?P<letter>\w))?"
)

Passage = tuple[int, int, str]  # start, end, and the header above it if it begins inside of a table


def passages(
    text: str,
    start: int,
    first: int,
    tail: int,
    stop: int,
    size: int,
    overlap: int,
    find_blocks: Callable[[str, int, int], list[Block]] = blocks,
) -> Iterator[Passage]:
    """The passages of text[start:stop]: headings up to `first`, text up to `tail`, and headings
    again.

    `find_blocks` gives the code and the tables in a part of the text, by default those of markdown.
    """
    last = start + len(text[start:stop].rstrip())
    if last - start <= size:
        if last > start:
            yield start, last, ""
        return
    inside = find_blocks(text, text.rfind("\n", 0, first) + 1, last)
    before_headings = len(text[start:tail].rstrip()) + start - 1 if tail < stop else last
    origin, new = start, first
    while True:
        header = _header(inside, origin, size) if inside else ""
        limit = origin + size - len(header)
        if last <= limit:
            yield origin, last, header
            return
        end = _natural_end(text, new, min(limit, before_headings), size, inside)
        if not end and start < origin < new:
            origin = new  # there is no room for the overlap
            continue
        after = end = end or cut(text, origin, new, limit)
        if end == origin:  # the indentation leaves no room
            origin = new = new + len(text[new:last]) - len(text[new:last].lstrip())
            continue
        yield origin, end, header
        if rest := REST_OF_ROW.match(text, end, last):
            after = rest.end()
            if after == last:
                return
        before, new = origin, next_text(text, after, last, size)
        if (
            inside
            and (block := _block(inside, new))
            and new < block.first
            and DELIMITERS.match(text, new, block.first)
        ):
            new = next_text(text, block.first, last, size)  # a delimiter row alone says nothing
        origin = new
        if overlap and not (inside and (_block(inside, end - 1) or _block(inside, new))):
            origin = _sentence_start(text, max(new - overlap, before + 1), end, new)


def next_text(text: str, pos: int, stop: int, size: int) -> int:
    """Where the next text at or after `pos` begins: at the start of its line or, if the line is too
    long, at its first word.
    """
    found = NONSPACE.search(text, pos, stop)
    if not found:
        return stop
    start = text.rfind("\n", max(pos - 1, 0), found.start()) + 1
    if start >= pos and found.start() - start < size:
        return start
    on_space = (
        size > 1 and found.start() > max(pos, start) and not begins_grapheme(text, found.start())
    )
    return found.start() - on_space  # a combining mark keeps the space that it stands on


def _block(inside: list[Block], at: int) -> Block | None:
    number = bisect_right(inside, (at + 1,)) - 1
    return inside[number] if number >= 0 and at < inside[number].end else None


def _header(inside: list[Block], at: int, size: int) -> str:
    block = _block(inside, at)
    return block.header if block and block.first <= at and 2 * len(block.header) <= size else ""


def _natural_end(text: str, new: int, limit: int, size: int, inside: list[Block]) -> int:
    """The last good end of text[new:limit], or 0. Code that fits into a passage stays whole."""
    if inside and (block := _block(inside, limit)):
        is_moved = block.start > new and not block.header and block.end - block.start <= size
        at = 0 if is_moved else text.rfind("\n", max(new, block.first), limit + 1)
        if at > max(new, block.first):
            return _trimmed(text, at, new)
        if block.start <= new:
            return 0
        limit = block.start - 1
    weak, pos = 0, limit + 1
    while pos > new + 1 and (found := LAST_END.match(text, new + 1, pos)):
        at = found.end()
        if is_line := text[at - 1] == "\n":
            at -= 1
        pos = min(at, limit)
        if at > limit:  # nothing needs to follow a wide full stop
            continue
        if inside and (block := _is_inside(inside, at)) and not (block.header and is_line):
            pos = max(block.start, new + 1)
            continue
        end = _trimmed(text, at, new) if is_line else at
        good = _line_ends(text, at, end) if is_line else ends_sentence(text, at)
        if good:
            return end
        weak = weak or (end if good is None else 0)
    return weak


def _is_inside(inside: list[Block], at: int) -> Block | None:
    block = _block(inside, at)
    return block if block and block.start < at else None


def _line_ends(text: str, at: int, end: int) -> bool | None:
    """Whether a line that ends here ends a sentence or an item; None if it may."""
    following = NEXT_LINE.match(text, at + 1)
    assert following
    if text[max(end - 4, 0) : end].rstrip("*_").endswith((":", "：")):
        return None
    if following["begins"] or text.endswith(("```", "~~~"), 0, end) or ends_sentence(text, end):
        return True
    letter = following["letter"]
    return False if letter and letter.islower() else None


def _trimmed(text: str, end: int, start: int) -> int:
    return start + len(text[start:end].rstrip()) if text[end - 1].isspace() else end


def cut(text: str, origin: int, new: int, limit: int) -> int:
    """The end of a passage in which nothing ends: after a clause, or else a word, or else a
    character.
    """
    start = new if limit > new else origin
    middle = (start + limit) // 2
    if (found := LAST_CLAUSE.match(text, middle, limit + 1)) and (
        end := _trimmed(text, min(found.end(), limit), start)
    ) > middle:
        return end
    places = (
        place for base in dict.fromkeys((start, origin)) for place in _word_ends(text, base, limit)
    )
    end = next((place for place in places if begins_grapheme(text, place)), 0)
    end = end or next(
        (place for place in range(limit, start, -1) if begins_grapheme(text, place)), limit
    )
    return origin + len(text[origin:end].rstrip())


def _word_ends(text: str, start: int, limit: int) -> Iterator[int]:
    end = limit + 1
    while last := LAST_BREAK.match(text, start + 1, end):
        end = last.end() - 1
        yield end


def _sentence_start(text: str, start: int, end: int, default: int) -> int:
    """Where the first sentence or line in text[start:end] begins."""
    for found in ANY_END.finditer(text, max(start - LONGEST_END, 0), end):
        at = found.end()
        is_line = text[at - 1] == "\n"
        if _line_ends(text, at - 1, at - 1) if is_line else ends_sentence(text, at):
            begins = next_text(text, found.end(), end, default)
            if start <= begins < end:
                return begins
    return default
