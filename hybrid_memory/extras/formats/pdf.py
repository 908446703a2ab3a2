"""Read the text of a PDF as markdown, with one line for each line on a page.

Lines are in reading order. Headings are the entries of the outline, or else lines in larger type
than the body. Lines repeated at the top or foot of many pages are left out. Tables remain lines of
words, because a PDF does not mark columns.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from ctypes import byref
from itertools import groupby
from statistics import median
from typing import Any, NamedTuple
from unicodedata import normalize

import pypdfium2
from pypdfium2 import raw

from ...storage.prepared import Extract
from .blocks import paragraph
from .extracted import MAX_TEXT, ExtractError

LARGER = 1.15  # times the size of the body
LEVELS = 4  # levels of headings by size
LONGEST_HEADING = 150  # characters
GAP = 1.4  # times the usual distance of lines
EDGE = 2  # lines at the top and foot of a page that may be running heads or page numbers
# Pages with the same running head: at least REPEATED, and this share of all pages or CHAPTER_PAGES
REPEATED = 3
SHARE = 0.3
CHAPTER_PAGES = 8
MOST_LINES = 3  # of a heading
MANY_LINES = 3000  # of a page; longer pages are not sorted
OVERLAP = 0.5  # share of the narrower line's width that two lines in one column have in common

HYPHEN = re.compile("[\ufffe\x02]")  # PDFium's mark for a word divided at the end of a line
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
PAGE_NUMBER = re.compile(r"[-–—\s]*(?:[0-9]{1,4}|[ivxlc]{1,6})[-–—\s]*", re.IGNORECASE)
LONGEST_NUMBER = 12  # letters and digits before a title, as of "Chapter 12"
INFO = {"title": "Title", "author": "Author", "subject": "Subject", "keywords": "Keywords"}
DATE = re.compile(r"D:((?:19|20)\d\d)(\d\d)(\d\d)")
NO_TITLE = re.compile(
    r"untitled|microsoft (?:word|powerpoint|excel)|\.(?:docx?|dvi|tex|indd|pdf|odt)\b",
    re.IGNORECASE,
)

# Page and line, from 0 -> level, from 1, and number of lines
Headings = dict[tuple[int, int], tuple[int, int]]


class PageLine(NamedTuple):
    """A line of a page. In points: the height of its first character, the distance from the foot,
    and the left and right ends.
    """

    text: str
    size: float
    at: float
    left: float = 0.0
    right: float = 0.0


def extract(data: bytes) -> Extract:
    """Extract the text, the pages and the properties of a file with these bytes.

    Raises ExtractError for a file that is not a PDF, is damaged or encrypted, or has too much text.
    """
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise ExtractError(
                "it is encrypted; save a copy without a password", "encrypted"
            ) from error
        raise ExtractError(f"it cannot be read as a PDF ({error})", "damaged") from error
    pages: list[list[PageLine]] = []
    length = 0
    for number in range(len(document)):
        try:
            pages.append(in_reading_order(list(_lines(document[number]))))
        except pypdfium2.PdfiumError:  # a damaged page
            pages.append([])
        length += sum(len(line.text) + 1 for line in pages[-1])
        if length > MAX_TEXT:
            raise ExtractError(f"its text has over {MAX_TEXT:,} characters", "size")
    metadata = _metadata(document.get_metadata_dict())
    empty_count = sum(not page for page in pages)
    pages = _without_running_heads(pages)
    text, starts = _text(
        pages, _outline_headings(pages, _outline(document)) or _size_headings(pages)
    )
    return Extract(text, starts, metadata, _warnings(empty_count, len(pages)))


def _lines(page: Any) -> Iterator[PageLine]:
    text_page = page.get_textpage()
    offset = 0  # in the UTF-16 units that PDFium counts
    for line in text_page.get_text_range(errors="replace").split("\r\n"):
        text = " ".join(CONTROL.sub(" ", HYPHEN.sub("", line)).split())
        if text:
            first = _box(text_page, offset + len(line) - len(line.lstrip()))
            last = _box(text_page, offset + _units(line.rstrip()) - 1)
            size = abs(first.top - first.bottom)
            yield PageLine(text, size, first.bottom, first.left, max(last.right, first.right))
        offset += _units(line) + len("\r\n")
    text_page.close()
    page.close()


def _units(text: str) -> int:
    """The length of a text in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _box(text_page: Any, place: int) -> Any:
    """The box on the page of the character at this place in the text."""
    box = raw.FS_RECTF()
    character = raw.FPDFText_GetCharIndexFromTextIndex(text_page, place)
    raw.FPDFText_GetLooseCharBox(text_page, character, byref(box))
    return box


def in_reading_order(lines: Sequence[PageLine]) -> list[PageLine]:
    """Sort the lines of a page from drawing order, in which the file has them, into reading order:
    browsers draw boxes such as code after all text around them.

    From the first line that is above its predecessor on, each line is inserted into the gap in its
    column. A line that fits no gap, as in a second column, is added at the end.
    """
    if len(lines) > MANY_LINES:
        return list(lines)
    ordered: list[PageLine] = []
    goes_down = True
    for line in lines:
        goes_down = goes_down and (not ordered or line.at <= ordered[-1].at)
        if goes_down:
            place = len(ordered)
        else:
            place = _gap_for(line, ordered)
        ordered.insert(place, line)
    return ordered


def _gap_for(line: PageLine, ordered: Sequence[PageLine]) -> int:
    """The index at which to insert a line; the end if no gap fits."""
    column = [number for number, other in enumerate(ordered) if _are_one_column(line, other)]
    below = [number for number in column if ordered[number].at < line.at]
    is_gap = below and below == column[-len(below) :]
    if is_gap:
        return below[0]
    return len(ordered)


def _are_one_column(line: PageLine, other: PageLine) -> bool:
    common = min(line.right, other.right) - max(line.left, other.left)
    return common > OVERLAP * min(line.right - line.left, other.right - other.left)


def _without_running_heads(pages: Sequence[list[PageLine]]) -> list[list[PageLine]]:
    """Remove page numbers, and lines at the edges of pages that are repeated on many pages, apart
    from digits. If nothing else remains on any page, return all lines.
    """
    counts = Counter(key for page in pages for key in {_key(page[at]) for at in _edges(page)})
    most = max(REPEATED, min(SHARE * len(pages), CHAPTER_PAGES))
    shortened = []
    for page in pages:
        edges = _edges(page)
        lines = []
        for at, line in enumerate(page):
            is_head = at in edges and counts[_key(line)] >= most
            if not is_head and not _is_page_number(page, at):
                lines.append(line)
        shortened.append(lines)
    if any(shortened):
        return shortened
    return list(pages)


def _edges(page: Sequence[PageLine]) -> set[int]:
    return {*range(min(EDGE, len(page))), *range(max(len(page) - EDGE, 0), len(page))}


def _is_page_number(page: Sequence[PageLine], at: int) -> bool:
    return (
        at in (0, len(page) - 1)
        and len(page) > 1
        and PAGE_NUMBER.fullmatch(page[at].text) is not None
    )


def _key(line: PageLine) -> str:
    return re.sub(r"\d+", "0", line.text)


def _outline(document: Any) -> dict[int, list[tuple[str, int]]]:
    """The entries of the outline by page, from 0, as title and level, from 1."""
    entries: dict[int, list[tuple[str, int]]] = {}
    for entry in document.get_toc(max_depth=6):
        target = entry.get_dest()
        page = target.get_index() if target else None
        if page is not None:
            entries.setdefault(page, []).append((entry.get_title(), entry.level + 1))
    return entries


def _outline_headings(
    pages: Sequence[Sequence[PageLine]], outline: Mapping[int, Sequence[tuple[str, int]]]
) -> Headings:
    """The headings from the outline: lines that are, or end with, the title of an entry for their
    page. A title may extend over several lines.
    """
    headings: Headings = {}
    for number, entries in outline.items():
        if not 0 <= number < len(pages):
            continue
        titles = [_folded(title) for title, _ in entries]
        places = _places([_folded(line.text) for line in pages[number]], max(map(len, titles)))
        begin = 0
        for title, (_, level) in zip(titles, entries, strict=True):
            place = _first(places, title, begin)
            if place is not None:
                at, count = place
                headings[number, at] = level, count
                begin = at + count
    return headings


def _places(lines: Sequence[str], longest: int) -> dict[tuple[str, int], list[int]]:
    """Map each possible title of at most `longest` characters, by its text and its number of lines,
    to the lines where it begins, in order. A number or a word such as "Chapter" may precede the
    title.
    """
    places: dict[tuple[str, int], list[int]] = {}
    for at in range(len(lines)):
        joined = ""
        for count, line in enumerate(lines[at : at + MOST_LINES], 1):
            joined += line
            if len(joined) > longest + LONGEST_NUMBER:
                break
            for begin in range(min(LONGEST_NUMBER + 1, len(joined))):
                places.setdefault((joined[begin:], count), []).append(at)
    return places


def _first(
    places: Mapping[tuple[str, int], Sequence[int]], title: str, begin: int
) -> tuple[int, int] | None:
    """The first line of a title from `begin` on, and its number of lines, preferably one."""
    for count in range(1, MOST_LINES + 1):
        for at in places.get((title, count), ()):
            if at >= begin:
                return at, count
    return None


def _folded(text: str) -> str:
    return re.sub(r"[\W_]+", "", normalize("NFKC", text)).casefold()


def _size_headings(pages: Sequence[Sequence[PageLine]]) -> Headings:
    """The headings by size: lines in larger type than most of the text. The largest size is level
    1. Consecutive lines of one size are one heading.
    """
    sizes = Counter[float]()
    for page in pages:
        for line in page:
            sizes[_rounded(line)] += len(line.text)
    if not sizes:
        return {}
    body = sizes.most_common(1)[0][0]
    larger = {_rounded(line) for page in pages for line in page if _is_larger(line, body)}
    levels = {size: level for level, size in enumerate(sorted(larger, reverse=True), 1)}
    headings: Headings = {}
    for number, page in enumerate(pages):
        at = 0
        for (is_larger, _), group in groupby(
            page, lambda line: (_is_larger(line, body), line.size)
        ):
            lines = list(group)
            if is_larger and len(lines) <= MOST_LINES:
                headings[number, at] = min(levels[_rounded(lines[0])], LEVELS), len(lines)
            at += len(lines)
    return headings


def _is_larger(line: PageLine, body: float) -> bool:
    return (
        _rounded(line) >= LARGER * body
        and len(line.text) <= LONGEST_HEADING
        and any(map(str.isalpha, line.text))
    )


def _rounded(line: PageLine) -> float:
    return round(line.size * 2) / 2


def _text(pages: Sequence[Sequence[PageLine]], headings: Headings) -> tuple[str, list[int]]:
    """The text, with empty lines around headings and at gaps, and the first line of each page."""
    lines: list[str] = []
    starts = []
    for number, page in enumerate(pages):
        starts.append(len(lines) + 1)
        usual = median([gap for gap in map(_gap, page, page[1:]) if gap > 0] or [0.0])
        before = None
        rest = 0  # remaining lines of the heading
        for at, line in enumerate(page):
            if rest:
                rest -= 1
                lines[-2] += f" {line.text}"
            elif (number, at) in headings:
                level, count = headings[number, at]
                if lines and lines[-1]:
                    lines.append("")
                lines.append(f"{'#' * min(level, 6)} {line.text}")
                lines.append("")
                rest = count - 1
            else:
                is_apart = before is not None and not 0 <= _gap(before, line) <= GAP * usual
                if is_apart and lines[-1]:
                    lines.append("")
                lines += paragraph(line.text)
            before = line
    return "\n".join(lines) + "\n", starts


def _gap(above: PageLine, below: PageLine) -> float:
    return above.at - below.at


def _metadata(info: Mapping[str, str]) -> dict[str, Any]:
    metadata = {key: " ".join(info.get(name, "").split()) for key, name in INFO.items()}
    if NO_TITLE.search(metadata["title"]):
        metadata["title"] = ""
    date = DATE.match(info.get("CreationDate", ""))
    if date:
        metadata["created"] = "-".join(date.groups())
    return {key: value for key, value in metadata.items() if value}


def _warnings(empty_count: int, count: int) -> list[tuple[str, str]]:
    """Warn if half of the pages or more have no text."""
    if not empty_count or empty_count * 2 < count:
        return []
    if empty_count == count:
        pages = "it has no text"
    else:
        pages = f"{empty_count} of its {count} pages have no text"
    way_out = "as in scans; `ocrmypdf IN.pdf OUT.pdf` adds recognized text"
    return [(f"{pages}, {way_out}", "no text")]
