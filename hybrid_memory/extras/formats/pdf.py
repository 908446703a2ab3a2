"""The text of a PDF as markdown, a line for each line on a page. Runs in the process of worker.py.

Headings are the entries of the outline, or else what is set larger than the body. What stands at
the top or foot of many pages is left out. Tables stay lines of words: a PDF does not say where its
columns are.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from ctypes import byref
from itertools import islice
from statistics import median
from typing import Any, NamedTuple
from unicodedata import normalize

from ...documents.document import MAX_TEXT, Extract, ExtractError

LARGER = 1.15  # times the size of the body
LEVELS = 4  # sizes of headings that are told apart
LONGEST_HEADING = 150  # characters
GAP = 1.4  # times the usual distance of lines
EDGE = 2  # lines at the top and at the foot of a page that may be a running head or a page number
REPEATED, SHARE, OF_CHAPTER = (
    3,
    0.3,
    8,
)  # pages that have a running head: at least so many, and this share or so many
MANY_ENTRIES = 20_000  # of an outline

HYPHEN = re.compile("[\ufffe\x02]")  # PDFium's mark of a word that is broken at the end of a line
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
LIKE_MARKDOWN = re.compile(r" {0,3}(?:#{1,6}(?:\s|$)|`{3}|~{3})")
PAGE_NUMBER = re.compile(r"[-–—\s]*(?:[0-9]{1,4}|[ivxlc]{1,6})[-–—\s]*", re.IGNORECASE)
LONGEST_NUMBER = 12  # letters and digits of "Chapter 12" and the like in front of a title
INFO = {"title": "Title", "author": "Author", "subject": "Subject", "keywords": "Keywords"}
DATE = re.compile(r"D:((?:19|20)\d\d)(\d\d)(\d\d)")
NO_TITLE = re.compile(
    r"untitled|microsoft (?:word|powerpoint|excel)|\.(?:docx?|dvi|tex|indd|pdf|odt)\b",
    re.IGNORECASE,
)


Headings = dict[
    tuple[int, int], tuple[int, int]
]  # page and line, from 0 -> level, from 1, and how many lines it has


class Line(NamedTuple):
    """A line of a page: how high its first character is (points), and where the line stands,
    counted from the foot.
    """

    text: str
    size: float
    at: float


def extract(data: bytes) -> Extract:
    """Raises ExtractError for a file that is not a PDF, is damaged or encrypted, or has too much
    text.
    """
    import pypdfium2
    from pypdfium2 import raw

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise ExtractError(
                "it is encrypted; save a copy that needs no password", "encrypted"
            ) from error
        raise ExtractError(f"it cannot be read as a PDF ({error})", "damaged") from error
    pages: list[list[Line]] = []
    length = 0
    for number in range(len(document)):
        try:
            pages.append(list(_lines(document[number], raw)))
        except pypdfium2.PdfiumError:  # a damaged page
            pages.append([])
        length += sum(len(line.text) + 1 for line in pages[-1])
        if length > MAX_TEXT:
            raise ExtractError(f"its text has over {MAX_TEXT:,} characters", "size")
    metadata = _metadata(document.get_metadata_dict())
    without = sum(not page for page in pages)
    pages = _without_running_heads(pages)
    text, starts = _text(pages, _of_outline(pages, _outline(document)) or _of_size(pages))
    return Extract(text, starts, metadata, _warning(without, len(pages)))


def _lines(page: Any, raw: Any) -> Iterator[Line]:
    text_page = page.get_textpage()
    offset = 0  # in the UTF-16 units that PDFium counts
    for line in text_page.get_text_range(errors="replace").split("\r\n"):
        text = " ".join(CONTROL.sub(" ", HYPHEN.sub("", line)).split())
        if text:
            first, box = offset + len(line) - len(line.lstrip()), raw.FS_RECTF()
            raw.FPDFText_GetLooseCharBox(
                text_page, raw.FPDFText_GetCharIndexFromTextIndex(text_page, first), byref(box)
            )
            yield Line(text, abs(box.top - box.bottom), box.bottom)
        offset += len(line.encode("utf-16-le", "surrogatepass")) // 2 + len("\r\n")
    text_page.close()
    page.close()


def _without_running_heads(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """The pages without page numbers, and without lines at their edges that are the same, but for
    digits, on many of them.
    """
    counts = Counter(key for page in pages for key in {_key(page[at]) for at in _edges(page)})
    most = max(REPEATED, min(SHARE * len(pages), OF_CHAPTER))
    kept = []
    for page in pages:
        out = {
            at for at in _edges(page) if counts[_key(page[at])] >= most or _is_page_number(page, at)
        }
        kept.append([line for at, line in enumerate(page) if at not in out])
    return kept


def _edges(page: Sequence[Line]) -> set[int]:
    return {*range(min(EDGE, len(page))), *range(max(len(page) - EDGE, 0), len(page))}


def _is_page_number(page: Sequence[Line], at: int) -> bool:
    return (
        at in (0, len(page) - 1)
        and len(page) > 1
        and PAGE_NUMBER.fullmatch(page[at].text) is not None
    )


def _key(line: Line) -> str:
    return re.sub(r"\d+", "0", line.text)


def _outline(document: Any) -> dict[int, list[tuple[str, int]]]:
    """The entries of the outline by page, from 0: title and level, from 1."""
    found: dict[int, list[tuple[str, int]]] = {}
    for entry in islice(document.get_toc(max_depth=6), MANY_ENTRIES):
        target = entry.get_dest()
        if target is not None and (page := target.get_index()) is not None:
            found.setdefault(page, []).append((entry.get_title(), entry.level + 1))
    return found


def _of_outline(
    pages: Sequence[Sequence[Line]], outline: Mapping[int, Sequence[tuple[str, int]]]
) -> Headings:
    """The lines that have the title of an entry of the outline, or begin or end with it, on its
    page; it may go over three.
    """
    found: Headings = {}
    for number, entries in outline.items():
        page = pages[number] if 0 <= number < len(pages) else ()
        folded = [_folded(line.text) for line in page]
        at = 0
        for title, level in entries:
            wanted = _folded(title)
            places = (
                (first, count) for count in (1, 2, 3) for first in range(at, len(page) - count + 1)
            )
            place = next(
                (p for p in places if wanted and _is_title("".join(folded[p[0] : sum(p)]), wanted)),
                None,
            )
            if place:
                found[number, place[0]] = level, place[1]
                at = sum(place)
    return found


def _is_title(line: str, wanted: str) -> bool:
    """Whether a line is a title, but for a number or a word such as "Chapter" before it."""
    return line == wanted or (line.endswith(wanted) and len(line) - len(wanted) <= LONGEST_NUMBER)


def _folded(text: str) -> str:
    return re.sub(r"[\W_]+", "", normalize("NFKC", text)).casefold()


def _of_size(pages: Sequence[Sequence[Line]]) -> Headings:
    """The lines that are set larger than most of the text, the largest ones first in level; lines
    of one size are one heading.
    """
    sizes = Counter[float]()
    for page in pages:
        for line in page:
            sizes[_rounded(line)] += len(line.text)
    if not sizes:
        return {}
    body = sizes.most_common(1)[0][0]
    larger = Counter(_rounded(line) for page in pages for line in page if _is_larger(line, body))
    levels = {size: level for level, size in enumerate(sorted(larger, reverse=True), 1)}
    found: Headings = {}
    for number, page in enumerate(pages):
        at = 0
        while at < len(page):
            count = next(
                (
                    n
                    for n, line in enumerate(page[at:])
                    if not _is_larger(line, body) or line.size != page[at].size
                ),
                len(page) - at,
            )
            if 0 < count <= 3:
                found[number, at] = min(levels[_rounded(page[at])], LEVELS), count
            at += max(count, 1)
    return found


def _is_larger(line: Line, body: float) -> bool:
    return (
        _rounded(line) >= LARGER * body
        and len(line.text) <= LONGEST_HEADING
        and any(map(str.isalpha, line.text))
    )


def _rounded(line: Line) -> float:
    return round(line.size * 2) / 2


def _text(pages: Sequence[Sequence[Line]], headings: Headings) -> tuple[str, list[int]]:
    """The text, with an empty line around headings and where there is a gap, and the line with
    which each page begins.
    """
    lines: list[str] = []
    starts = []
    for number, page in enumerate(pages):
        starts.append(len(lines) + 1)
        usual = median([gap for gap in map(_gap, page, page[1:]) if gap > 0] or [0.0])
        before, rest = None, 0
        for at, line in enumerate(page):
            if rest:
                rest -= 1
                lines[-2] += f" {line.text}"
            elif (number, at) in headings:
                level, count = headings[number, at]
                lines += [
                    *[""] * bool(lines and lines[-1]),
                    f"{'#' * min(level, 6)} {line.text}",
                    "",
                ]
                rest = count - 1
            else:
                is_apart = before and not 0 <= _gap(before, line) <= GAP * usual
                indent = "    " if LIKE_MARKDOWN.match(line.text) else ""
                lines += [*[""] * bool(is_apart and lines[-1]), indent + line.text]
            before = line
    return "\n".join(lines) + "\n", starts


def _gap(above: Line, below: Line) -> float:
    return above.at - below.at


def _metadata(info: Mapping[str, str]) -> dict[str, Any]:
    found = {key: " ".join(info.get(name, "").split()) for key, name in INFO.items()}
    if NO_TITLE.search(found["title"]):
        found["title"] = ""
    if date := DATE.match(info.get("CreationDate", "")):
        found["created"] = "-".join(date.groups())
    return {key: value for key, value in found.items() if value}


def _warning(without: int, count: int) -> str | None:
    if not without or without * 2 < count:
        return None
    told = "it has no text" if without == count else f"{without} of its {count} pages have no text"
    return f"{told}, as scans have none; `ocrmypdf IN.pdf OUT.pdf` adds what it recognizes"
